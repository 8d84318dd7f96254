"""FILCO's filter model learns as FineFilter's extractor does."""

from __future__ import annotations

from typing import Any

import pytest

from ragsieve.errors import InputError
from ragsieve.models.fake import ScriptedLLM
from ragsieve.select import Extract
from ragsieve.train.examples import TrainingExample
from ragsieve.train.filco import Silver
from ragsieve.types import Document, Query, Segment

samples = pytest.importorskip("ragsieve.train.extractor").samples

TEXTS = ["Rain fell.", "Seals sang it.", "Seals did.", "Snow fell."]
SENTENCES = tuple(Segment.whole(Document(str(n), text)) for n, text in enumerate(TEXTS))
LESSON = TrainingExample(Query("Who sang?", "own:q"), ("Seals",), SENTENCES, {})


def test_the_target_is_what_an_extractor_reads_back() -> None:
    """Of two sentences with the answer the first; its line names it when it is written."""
    taught = Silver("strinc")(LESSON)
    [sample] = samples(taught, Extract(ScriptedLLM([]), mode="write"))
    named = Extract(ScriptedLLM([sample.target]), mode="write")(LESSON.query, SENTENCES)

    assert "Sentence 1: Seals sang it." == sample.target
    assert [SENTENCES[1]] == named


def test_more_sentences_may_be_chosen() -> None:
    """Best first: the answer is half of the words of the third, a third of those of the second."""
    taught = Silver("lexical", k=3)(LESSON)

    assert (2, 1) == taught.clues


def test_where_nothing_has_an_answer_nothing_is_to_be_written() -> None:
    """That is a target, too."""
    bare = TrainingExample(LESSON.query, ("Crofts",), SENTENCES, {})
    taught = Silver("strinc")(bare)

    assert [""] == [s.target for s in samples(taught, Extract(ScriptedLLM([]), mode="write"))]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"measure": "luck"}, "measure must be one of strinc, lexical, cxmi, got 'luck'"),
        ({"measure": "strinc", "k": 0}, "k must be at least 1, got 0"),
        ({"measure": "cxmi"}, "measure='cxmi' needs llm, the generator"),
    ],
)
def test_options_are_checked(options: dict[str, Any], message: str) -> None:
    """The error names option, rule and value."""
    with pytest.raises(InputError, match=message):
        Silver(**options)
