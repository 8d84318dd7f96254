"""`ragsieve train generator`, as a user meets it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]
ROW = {"question": "Who sang?", "answers": ["Seals"], "documents": [{"text": "Seals sang."}]}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--context", "own"), "'own' is not one of"),
        (("--target", "reason"), "'reason' is not one of"),
        (("--documents", "0"), "0 is not in the range"),
        (("--llm", "minilm"), "minilm is no LLM"),
        (("--llm", "openai:x"), "llm must be a local one"),
        (("--work", "made"), "--work must be another folder than FOLDER"),
        ((), "data must have a question with documents and answers in"),
    ],
)
def test_bad_input_is_one_line(ragsieve: Command, arguments: tuple[str, ...], message: str) -> None:
    """Before any model is asked; one question cannot be divided."""
    pytest.importorskip("peft")
    Path("q.jsonl").write_text(json.dumps(ROW) + "\n")
    ended = ragsieve("train", "generator", "made", "q.jsonl", *arguments)

    assert 2 == ended.code
    assert message in ended.err
    assert not Path("made").exists()
