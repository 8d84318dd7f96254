"""Every Python block of the README runs, and prints what the block after it shows."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
BLOCKS = BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8"))
PYTHON = [place for place, (language, _) in enumerate(BLOCKS) if language == "python"]


@pytest.mark.models
@pytest.mark.parametrize("place", PYTHON)
def test_readme_blocks_print_what_they_show(place: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Python block runs from the clone's root; a text block after it is its output."""
    monkeypatch.chdir(ROOT)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(BLOCKS[place][1], "README.md", "exec"), {"__name__": "readme"})
    follows = BLOCKS[place + 1] if place + 1 < len(BLOCKS) else ("", "")

    assert (follows[1] if follows[0] == "text" else "") == printed.getvalue()


def test_readme_has_a_first_example_of_eight_lines() -> None:
    """The first example is eight lines long, the blank one counted, and shows its output."""
    first = BLOCKS[PYTHON[0]]

    assert (8, "text") == (len(first[1].splitlines()), BLOCKS[PYTHON[0] + 1][0])
