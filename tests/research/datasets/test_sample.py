"""The bundled examples: their labels hold."""

import pytest

from ragsieve.text import normalise
from ragsieve.types import Document, Example
from ragsieve_research.datasets import DATASETS, load

EXAMPLES = list(load("sample"))


def positives(example: Example) -> list[Document]:
    return [d for d in example.documents if d.metadata["is_positive"]]


def test_the_sample_has_every_kind_of_question() -> None:
    """Twelve with five to eight documents: two hops, no answer, yes or no, a contradicted one."""
    assert 12 == len({e.query.id for e in EXAMPLES}) == len(EXAMPLES)
    assert [] == [e.query.id for e in EXAMPLES if not 5 <= len(e.documents) <= 8]
    assert [] == [
        e.query.id for e in EXAMPLES if len({d.title for d in e.documents}) < len(e.documents)
    ]

    kinds = [e.metadata for e in EXAMPLES]

    assert 2 == sum(m["hops"] == 2 for m in kinds)
    assert 1 == sum("unanswerable" in m for m in kinds)
    assert 1 == sum(m.get("type") == "yes/no" for m in kinds)
    assert 1 == sum("counterfactual_documents" in m for m in kinds)

    two = [e for e in EXAMPLES if e.metadata["hops"] == 2]

    assert [2, 2] == [len(positives(e)) for e in two]
    assert [1, 1] == [
        sum(any(found(a, d.text) for a in e.answers) for d in positives(e)) for e in two
    ]

    (example,) = [e for e in EXAMPLES if "counterfactual_answer" in e.metadata]
    (document,) = example.metadata["counterfactual_documents"]

    assert found(example.metadata["counterfactual_answer"], document["text"])
    assert [] == [a for a in example.answers if found(a, document["text"])]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.query.id)
def test_supporting_sentences_lie_in_their_documents(example: Example) -> None:
    """Each once, and in positive documents only; most of a question's documents are noise."""
    for document in example.documents:
        sentences = document.metadata.get("supporting_sentences", [])

        assert bool(sentences) == document.metadata["is_positive"]
        assert [1] * len(sentences) == [document.text.count(s) for s in sentences]
    assert len(positives(example)) <= 2


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.query.id)
def test_answers_stand_in_supporting_sentences_and_nowhere_else(example: Example) -> None:
    """But for yes or no; a question without answer has neither answers nor positives."""
    if example.metadata.get("unanswerable"):
        assert ((), []) == (example.answers, positives(example))
        return
    if example.metadata.get("type") == "yes/no":
        assert example.answers in (("yes",), ("no",))
        return
    sentences = [s for d in positives(example) for s in d.metadata["supporting_sentences"]]
    noise = [f"{d.title} {d.text}" for d in example.documents if d not in positives(example)]

    assert any(found(answer, text) for answer in example.answers for text in sentences)
    assert [] == [t for t in noise for answer in example.answers if found(answer, t)]


def found(answer: str, text: str) -> bool:
    return f" {normalise(answer)} " in f" {normalise(text)} "


def test_the_file_is_plain_text() -> None:
    """ASCII, and one line a question, so that it looks the same everywhere."""
    path = DATASETS["sample"].file
    data = path.read_bytes()

    assert data.isascii()
    assert 12 == data.count(b"\n")
