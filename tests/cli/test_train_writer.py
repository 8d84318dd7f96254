"""`ragsieve train writer`, as a user meets it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

from ragsieve.cli.writer import writer_command

Command = Callable[..., Any]
ROW = {"question": "Who sang?", "answers": ["Seals"], "documents": [{"text": "Seals sang."}]}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--by", "luck"), "'luck' is not one of"),
        (("--documents", "0"), "0 is not in the range"),
        (("--beta", "-1"), "-1.0 is not in the range"),
        (("--llm", "minilm"), "minilm is no LLM"),
        (("--generator", "minilm"), "minilm is no LLM"),
        (("--work", "made"), "--work must be another folder than FOLDER"),
        ((), "data must have a question with documents and answers in"),
    ],
)
def test_bad_input_is_one_line(ragsieve: Command, arguments: tuple[str, ...], message: str) -> None:
    """Before any model is asked; one question cannot be divided."""
    pytest.importorskip("peft")
    Path("q.jsonl").write_text(json.dumps(ROW) + "\n")
    ended = ragsieve("train", "writer", "made", "q.jsonl", *arguments)

    assert 2 == ended.code
    assert message in ended.err
    assert not Path("made").exists()


def test_every_measure_can_be_chosen() -> None:
    """The command knows those of the plan, without importing what trains."""
    from ragsieve.train.writer import By

    [chosen] = [option.type for option in writer_command.params if option.name == "by"]

    assert [*get_args(By)] == [*chosen.choices]  # type: ignore[attr-defined]
