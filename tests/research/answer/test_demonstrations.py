"""Worked examples: the bundled ones, and a file of one's own."""

import json
from pathlib import Path
from typing import Any

import pytest

from ragsieve.errors import InputError
from ragsieve.text import contains_answer
from ragsieve.types import Example
from ragsieve_research.answer.demonstrations import read_demonstrations, reasoning_examples
from ragsieve_research.answer.examples import Demonstration
from ragsieve_research.datasets import load
from tests.named import asking

SONG, WHY = {"text": "Ann sang it.", "title": "Song"}, "The first document says it."
RECORD = asking("Who sang it?", SONG, "Bob left.", answers=["Ann", "Ann Lee"], rationale=WHY)


def written(folder: Path, *records: Any) -> str:
    path = folder / "own.jsonl"
    path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    return str(path)


def test_the_bundled_ones_are_complete() -> None:
    """Each has two or three documents, one of which its answer does not need, and a rationale."""
    found = read_demonstrations(4, rationales=True)

    assert 4 == len({d.question for d in found})
    for demonstration in found:
        holding = [contains_answer(d.text, [demonstration.answer]) for d in demonstration.documents]

        assert 2 <= len(holding) <= 3
        assert not all(holding)
        assert contains_answer(demonstration.rationale, [demonstration.answer])


SHOWN = [*read_demonstrations(4), *(d for found in reasoning_examples().values() for d in found)]
SHOWN_QUESTIONS = {shown.question.lower().rstrip("?") for shown in SHOWN}


def test_no_example_is_in_the_sample() -> None:
    """An example that is asked later is a given answer; those of the reasoner count, too."""
    asked = {example.query.text.lower().rstrip("?") for example in load("sample")}

    assert set() == asked & SHOWN_QUESTIONS


@pytest.mark.data
def test_no_example_is_in_a_data_set(records: dict[str, list[Example]]) -> None:
    """Nor is any of them a question of the real files."""
    asked = {e.query.text.lower().rstrip("?") for found in records.values() for e in found}

    assert set() == asked & SHOWN_QUESTIONS


def test_a_file_of_ones_own_is_read(tmp_path: Path) -> None:
    """The first answer is shown; the rationale stands in the record or in its metadata."""
    inside = {"question": "Why?", "answers": ["So"], "metadata": {"rationale": "It is so."}}
    first, second = read_demonstrations(2, written(tmp_path, RECORD, inside), rationales=True)

    assert ("Who sang it?", "Ann") == (first.question, first.answer)
    assert WHY == first.rationale
    assert [("Song", "Ann sang it."), ("", "Bob left.")] == [
        (d.title, d.text) for d in first.documents
    ]
    assert Demonstration("Why?", "So", "It is so.") == second


def test_only_as_many_as_shown_are_read(tmp_path: Path) -> None:
    """A training set can be named as it is: what follows the shots is not opened."""
    path = written(tmp_path, RECORD, "no record")

    assert 1 == len(read_demonstrations(1, path))
    assert () == read_demonstrations(0, path)


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in RECORD.items() if name != key}


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ("text", "must be a JSON object, got a str"),
        (without("question"), "a record must have a question, got the keys"),
        (without("answers"), "a worked example must have an answer, got none in answers"),
        (without("rationale"), "a worked example must have a rationale, got ''"),
        ({**RECORD, "rationale": 3}, "a rationale must be a string, got 3"),
        ({**RECORD, "answers": [" "]}, "a demonstration's answer must not be blank, got"),
    ],
)
def test_a_bad_line_is_one_clear_line(tmp_path: Path, record: Any, message: str) -> None:
    """The file and the line are named, then what is wrong."""
    path = written(tmp_path, RECORD, record)
    with pytest.raises(InputError, match=message) as caught:
        read_demonstrations(2, path, rationales=True)

    assert str(caught.value).startswith(f"{path}, line 2: ")
    assert "\n" not in str(caught.value)


def test_a_reply_ends_in_its_answer() -> None:
    """With a marker behind the rationale; where none is wanted, the answer alone."""
    shown = Demonstration("Who?", "Ann", "It says so.")

    assert "Ann" == shown.reply()
    assert "It says so.\nAnswer: Ann" == shown.reply("Answer:")
    assert "Answer: Ann" == Demonstration("Who?", "Ann").reply("Answer:")
