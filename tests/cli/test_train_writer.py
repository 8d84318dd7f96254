"""`ragsieve train writer`, and what it trains."""

from __future__ import annotations

from typing import get_args

from ragsieve.cli.writer import writer_command


def test_every_measure_can_be_chosen() -> None:
    """The command knows those of the plan, without importing what trains."""
    from ragsieve.train.writer import By

    [chosen] = [option.type for option in writer_command.params if option.name == "by"]

    assert [*get_args(By)] == [*chosen.choices]  # type: ignore[attr-defined]
