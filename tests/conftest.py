"""Fixtures that several test files share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ragsieve.datasets.local import lines, parse_record
from ragsieve.types import Example


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real questions: RAGSIEVE_DATA, else ../shared/data beside the repository."""
    named = os.environ.get("RAGSIEVE_DATA")
    folder = Path(named) if named else Path(__file__).parents[2] / "shared" / "data"
    if not any(folder.glob("*.jsonl.gz")):
        pytest.skip(f"no *.jsonl.gz in {folder}: set RAGSIEVE_DATA to a folder of real questions")
    return folder


@pytest.fixture(scope="session")
def records(data: Path) -> dict[str, list[Example]]:
    """Every question with documents of every file, by the file's name."""
    found = {
        path.name.removesuffix(".jsonl.gz"): [
            parse_record(line) for _, line in lines(path) if b'"documents"' in line
        ]
        for path in sorted(data.glob("*.jsonl.gz"))
    }
    return {name: examples for name, examples in found.items() if examples}
