"""Questions for a sentence pruner."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ragsieve.errors import InputError
from ragsieve_research import datasets
from ragsieve_research.datasets.parts import part_of
from ragsieve_research.train.evidence import records, share_of

TEXT = "Bees make honey. Seals sang it."


def read(tmp_path: Path, *rows: dict[str, Any]) -> list[dict[str, Any]]:
    """What the questions of a file become."""
    path = tmp_path / "q.jsonl"
    path.write_text("".join(json.dumps({"question": "Who?", **row}) + "\n" for row in rows))
    return list(records([datasets.load(path)]))


def test_spans_or_sentences_are_the_evidence(tmp_path: Path) -> None:
    """Marked, supporting, or with the answer; without any a question is left out."""
    rows = [[[17, 31]], []]
    found = read(tmp_path, *({"documents": [{"text": TEXT, "evidence": spans}]} for spans in rows))

    assert rows == [record["documents"][0]["evidence"] for record in found]

    needed = {"text": TEXT, "is_positive": True, "supporting_sentences": ["Seals sang it."]}
    answered = {"text": TEXT, "is_positive": True}
    other = {"text": "Rome.", "is_positive": False}
    documents = [needed, answered, other]
    (found,) = read(tmp_path, {"answers": ["honey"], "documents": documents})

    expected = [[[17, 31]], [[0, 16]], []]
    assert expected == [document["evidence"] for document in found["documents"]]

    documents = [{"text": TEXT}]
    given = [["seals"], ["yes"], ["paris"], []]
    found = read(tmp_path, *({"answers": some, "documents": documents} for some in given))

    assert [["seals"]] == [record["answers"] for record in found]
    assert "evidence" not in found[0]["documents"][0]


@pytest.mark.parametrize(
    ("text", "answer", "more", "expected"),
    [
        ("Education matters. The CAT’s here.", "cats", {}, [[19, 34]]),
        ("Built in 1970. It has 7 floors.", "7", {}, [[15, 31]]),
        ("它在北京。它由王小重设计。", "王小重", {}, [[5, 13]]),
        ("It costs 10 pounds. It is 5 m high.", "no", {"supporting_sentences": [1]}, [[20, 35]]),
    ],
)
def test_an_answer_is_found_as_everywhere(
    tmp_path: Path, text: str, answer: str, more: dict[str, Any], expected: list[list[int]]
) -> None:
    """Normalised, as whole words, in any script; indexes of sentences are no digits."""
    split = {"sentences": [text[:19], text[20:]]}
    document = {"text": text, "is_positive": True, **split, **more}
    marked, bare = ({"answers": [answer], "documents": [d]} for d in (document, {"text": text}))
    found = read(tmp_path, marked, bare)

    assert expected == found[0]["documents"][0]["evidence"]
    assert (answer != "no") + 1 == len(found)


@pytest.mark.parametrize("spans", ["a", [3], [[0]], [[4, 3]], [[-1, 2]], [[0, 99]], [[0, 1.5]]])
def test_evidence_outside_of_the_text_is_refused(tmp_path: Path, spans: Any) -> None:
    """The error names file, line and rule."""
    with pytest.raises(InputError, match=r"q\.jsonl, line 1: evidence must be a list of \[start"):
        read(tmp_path, {"documents": [{"text": TEXT, "evidence": spans}]})


def test_a_hash_divides_the_questions() -> None:
    """Three quarters, an eighth and an eighth, however a question is typed."""
    counts = Counter(share_of(f"Question {n}?") for n in range(4000))

    assert pytest.approx([0.75, 0.125, 0.125], abs=0.02) == [
        counts[share] / 4000 for share in ("train", "calibration", "checking")
    ]
    assert share_of("Who sang it?") == share_of("who  SANG it")


def test_of_a_named_set_a_pruner_meets_what_no_pruner_learned_from(tmp_path: Path) -> None:
    """Its part train teaches, validation calibrates and checks; of an own file all calibrates."""
    rows = [
        {"question": f"{n}?", "answers": ["seals"], "documents": [{"text": TEXT}]}
        for n in range(400)
    ]
    parts = Counter(part_of(row["question"]) for row in rows)
    own = read(tmp_path, *rows)
    (tmp_path / "q.jsonl").rename(tmp_path / "nq.jsonl")
    named = [*records([datasets.load("nq", folder=tmp_path)])]
    shares = Counter(
        (part_of(row["question"]), share_of(row["question"], named=True)) for row in rows
    )

    assert [400, parts["validation"]] == [len(own), len(named)]
    assert {"validation"} == {part_of(record["question"]) for record in named}
    assert [parts["train"], parts["test"]] == [shares["train", "train"], shares["test", None]]
    held = [shares["validation", share] for share in ("calibration", "checking")]
    assert parts["validation"] == sum(held) and min(held) > 10
