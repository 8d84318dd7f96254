"""RECOMP's compressor learns from the generator's likelihoods."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ragsieve.models.fake import HashingEmbedder
from ragsieve.types import Document, Example, Query
from ragsieve_research.train.examples import write
from ragsieve_research.train.recomp import SentenceLabeller, first_gain, labelled
from ragsieve_research.train.run import Run
from tests.tiny import Likelihoods

TEXT = "Seals sang it. Rain fell. Snow fell. Seals did."


def nats(text: str) -> float:
    """-1 where "sang it" is read, else -4."""
    return -1 if "sang it" in text else -4


def example(*answers: str, text: str = TEXT, question: str = "Who sang?") -> Example:
    return Example(Query(question, "own:q"), (Document("d", text),), answers)


def test_one_sentence_is_useful_and_those_that_fall_short_are_not() -> None:
    """The answer's one token gains 3 nats by the first sentence and none by the others."""
    labels = SentenceLabeller(Likelihoods(nats), HashingEmbedder())(example(" ", "Seals"))

    assert [3.0, 0.0, 0.0, 0.0] == labels["gains"]
    assert 0 == labels["clues"][0]
    assert {1, 2, 3} == {*labels["clues"][1:]}
    assert [True, False, False, False] == labels["useful"]


@pytest.mark.parametrize(
    ("margin", "text"),
    [(3.0, TEXT), (1.0, "Rain fell. Snow fell."), (1.0, "Seals sang."), (1.0, "")],
)
def test_without_a_difference_there_is_no_pair(margin: float, text: str) -> None:
    """None falls short by more than the margin, all gain the same, there is one, or none."""
    labels = SentenceLabeller(Likelihoods(nats), HashingEmbedder(), margin=margin)(
        example("Seals", text=text)
    )

    assert ([], []) == (labels["clues"], labels["useful"])


def test_labels_are_read_back_whatever_the_answer(tmp_path: Path) -> None:
    """Neither the negative that holds the answer nor a yes or no is left out."""
    asked = [example("Seals"), example("yes", question="Did Seals sing?")]
    labeller = SentenceLabeller(Likelihoods(nats), HashingEmbedder(), negatives=3)
    write(tmp_path / "train.jsonl", asked)
    records = [{"line": n, **labeller(e)} for n, e in enumerate(asked, 1)]
    (tmp_path / "train.labels.jsonl").write_text("\n".join(map(json.dumps, records)))
    found = labelled(Run([], tmp_path), "train")

    assert [{0, 1, 2, 3}] * 2 == [{*example.clues} for example in found]
    assert [[0], [0]] == [[n for n, good in o.useful.items() if good] for o in found]


def test_the_gain_is_of_the_sentence_that_is_put_first(tmp_path: Path) -> None:
    """Of "Seals did." 0.5 nats, of "Rain fell." 1: 0.75; the best of each gain 3 and 1: 2.

    A question without sentences counts nothing.
    """
    asked = [example("x", question="seals did"), example("x", question="rain"), example(text="")]
    gained = [[3.0, 0.0, -1.0, 0.5], [0.0, 1.0, 0.0, 0.0], []]
    write(tmp_path / "validation.jsonl", asked)
    (tmp_path / "validation.labels.jsonl").write_text(
        "\n".join(json.dumps({"line": n, "gains": row}) for n, row in enumerate(gained, 1))
    )

    assert {"gain": 0.75, "most": 2.0} == first_gain(
        Run([], tmp_path), "validation", HashingEmbedder()
    )
