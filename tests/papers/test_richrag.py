"""RichRAG (arXiv 2406.12566) worked by hand: aspects, a search for each, one ordered list.

"Tell me of Summer Breeze" has the aspects "Who sang it?" and "When was it sung?". Vectors count
words, so of four documents, each one chunk, the best one is, for

    the question          a  Summer Breeze is a song.
    Who sang it?          b  Seals sang it.
    When was it sung?     c  It was sung in 1972.
    (no search finds)     d  Rain fell.

The ranker is shown a, b, c in this order of discovery and replies [3] > [2] > [1]; of these the
first two stay.
"""

import pytest

from ragsieve.models.fake import HashingEmbedder, ScriptedLLM
from ragsieve_research.systems.richrag import richrag

QUESTION = "Tell me of Summer Breeze"
TEXTS = ["Summer Breeze is a song.", "Seals sang it.", "It was sung in 1972.", "Rain fell."]
ASPECTS = "1. Who sang it?\n2. When was it sung?"


def searched(*replies, texts=TEXTS, **options):
    llm = ScriptedLLM(replies)
    options = {"k": 1, "keep": 2, **options}
    return richrag(llm, HashingEmbedder(), **options)(QUESTION, texts), llm


def test_what_the_aspects_find_is_ordered_in_one_list():
    """The ranker reads the question with its aspects."""
    result, llm = searched(ASPECTS, "[3] > [2] > [1]")

    assert [TEXTS[2], TEXTS[1]] == [s.text for s in result.kept]
    ranked = "".join(turn.content for turn in llm.prompts[1])
    assert f"{QUESTION} (aspects: Who sang it?; When was it sung?)" in ranked
    assert f"[1] {TEXTS[0]}\n[2] {TEXTS[1]}\n[3] {TEXTS[2]}" in ranked
    assert TEXTS[3] not in ranked
    assert [QUESTION, "Who sang it?", "When was it sung?"] == [
        e["query"] for step in result.trace.steps for e in step.events if e["event"] == "search"
    ]


@pytest.mark.parametrize(
    "reply", ["", "It was sung by Seals.", "\n".join(f"{n}?" for n in "abcdefg")]
)
def test_without_aspects_the_question_is_searched(reply):
    """After a second request; of one result no order is asked."""
    result, llm = searched(reply, reply)

    assert [TEXTS[0]] == [s.text for s in result.kept]
    assert 2 == len(llm.prompts)
    assert "the question is its only aspect" in str(result.trace.steps)


def test_an_aspect_that_is_the_question_is_searched_once():
    """A question of one aspect."""
    result, _ = searched(f"{QUESTION}?", "[2] > [1]", k=2)

    assert 2 == len(result.kept)
