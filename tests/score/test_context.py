"""Segments that others need to be understood."""

from __future__ import annotations

import pytest

from ragsieve.errors import InputError
from ragsieve.score import Coreference, Lead
from ragsieve.split import Blocks, Sentences
from ragsieve.types import Document, Query, Segment

QUERY = Query("When was it built?")


def scored(text: str, *scores: float, blocks: int = 0) -> list[Segment]:
    whole = [Segment.whole(Document("d", text))]
    found = (Blocks(max_chars=blocks) if blocks else Sentences())(QUERY, whole)
    return [s.scored("given", score) for s, score in zip(found, scores, strict=True)]


def values(segments: list[Segment]) -> list[float]:
    return [round(segment.score, 4) for segment in segments]


def test_a_pronoun_brings_the_sentence_before() -> None:
    """0.8 of .5 is .4; the sentence with the pronoun keeps its own."""
    given = scored("The tower is old. It was built in 1881. Nobody came.", 0.1, 0.5, 0.0)

    assert [0.4, 0.5, 0.0] == values(Coreference()(QUERY, given))


def test_several_pronouns_in_a_row_pass_the_score_on() -> None:
    """0.5 of 0.5 of .8 is .2."""
    given = scored("The men came. They built it. These were masons.", 0.0, 0.0, 0.8)

    assert [0.2, 0.4, 0.8] == values(Coreference(share=0.5)(QUERY, given))


def test_a_higher_score_stays() -> None:
    """Nothing is ever lowered, negative scores included."""
    given = scored("The tower is old. It was built in 1881.", 0.9, 0.5)
    negative = scored("The tower is old. It was built in 1881.", -2.0, -1.0)

    assert [0.9, 0.5] == values(Coreference()(QUERY, given))
    assert [-1.0, -1.0] == values(Coreference()(QUERY, negative))


def test_a_pronoun_in_another_paragraph_brings_nothing() -> None:
    """Nor does one in another document, or a word that only begins like one."""
    apart = scored("The tower is old.\n\nIt was built in 1881.", 0.0, 0.5)
    item = scored("The tower is old. Italy is far.", 0.0, 0.5)
    documents = [
        Segment.whole(Document(name, text)).scored("given", score)
        for name, text, score in (("a", "The tower.", 0.0), ("b", "It was built.", 0.5))
    ]

    assert [0.0, 0.5] == values(Coreference()(QUERY, apart))
    assert [0.0, 0.5] == values(Coreference()(QUERY, item))
    assert [0.0, 0.5] == values(Coreference()(QUERY, documents))


def test_the_order_given_does_not_count() -> None:
    """Which sentence follows is told by the document."""
    given = scored("The tower is old. It was built in 1881.", 0.1, 0.5)

    assert [0.5, 0.4] == values(Coreference()(QUERY, given[::-1]))


def test_a_row_brings_its_header() -> None:
    """The rows between get nothing."""
    text = "| n | v |\n| - | - |\n| a | 1 |\n| b | 2 |\n| c | 3 |\n\nHe sang."
    given = scored(text, 0.0, 0.1, 0.7, 0.9, blocks=35)

    assert ["| n | v |\n| - | - |\n| a | 1 |", "| b | 2 |"] == [s.text for s in given[:2]]
    assert [0.7, 0.1, 0.7, 0.9] == values(Lead()(QUERY, given))


def test_a_later_item_brings_the_lists_lead_in() -> None:
    """The first piece has it."""
    given = scored("You need:\n- one. It\n- two\n- three\n- four", 0.0, 0.6, blocks=25)

    assert [0.3, 0.6] == values(Lead(share=0.5)(QUERY, given))


@pytest.mark.parametrize("stage", [Coreference, Lead])
def test_options_are_checked(stage: type[Coreference | Lead]) -> None:
    """The error names option, rule and value."""
    with pytest.raises(InputError, match=r"share must lie in \[0, 1\], got 1.5"):
        stage(share=1.5)
