"""RECOMP (arXiv 2310.04408) worked by hand: section 3.1, from labels to what is kept, and 3.2.

The generator gives the gold answer, "Seals and Crofts" of 3 tokens, in nats a token:

    without a document                      -2     in all -6
    a   Summer Breeze is a song of 1972.    -2            -6    gain  0
    b   Seals and Crofts sang it.           -0.5          -1.5  gain  4.5    the positive
    c   A band sang Summer Breeze.          -1            -3    gain  3
    d   It rained.                          -2.5          -7.5  gain -1.5
    e   Breezes are winds.                  -3            -9    gain -3

Negatives are those that fall short of b by more than the margin of 2 nats: below 2.5, so a, d, e;
c is neither. The two hardest are the nearest to the question by the bi-encoder. The question is at
(1, 0), a at (0.6, 0.8), d at (0, 1), e at (0.8, 0.6): e, then a.

Extractive: b at (0.8, -0.6) and c at (0.96, 0.28) make c the nearest of all before training. The
tuned bi-encoder has b at (1, 0) instead: b is kept.

Abstractive: the summary is what the generator reads; where it is empty, it reads nothing.
"""

import pytest

from ragsieve.models.fake import ScriptedLLM
from ragsieve.systems import build
from ragsieve.types import Document, Example, Query
from ragsieve_research.systems.recomp import recomp_abstractive
from ragsieve_research.train.recomp import SentenceLabeller
from tests.tiny import Likelihoods, Places, writing

QUESTION, ANSWER = "Who sang Summer Breeze?", "Seals and Crofts"
A, B = "Summer Breeze is a song of 1972.", "Seals and Crofts sang it."
C, D, E = "A band sang Summer Breeze.", "It rained.", "Breezes are winds."
DOCUMENTS = [f"{A} {B}", f"{C} {D} {E}"]
SONGS = [
    "It rained. Summer Breeze was sung by Seals. Seals sang Summer Breeze.",
    "A breeze is a wind.",
]
NATS = {A: -2.0, B: -0.5, C: -1.0, D: -2.5, E: -3.0}
PLACES = {
    QUESTION: (1, 0),
    A: (0.6, 0.8),
    B: (0.8, -0.6),
    C: (0.96, 0.28),
    D: (0, 1),
    E: (0.8, 0.6),
}


def nats(text):
    """Of each token of the answer, by the sentence that is read."""
    return next((n for s, n in NATS.items() if s in text), -2.0)


def test_labels_are_the_likeliest_and_the_hardest_that_fall_short():
    """Places 0 to 4 are a to e."""
    documents = tuple(Document(str(n), text) for n, text in enumerate(DOCUMENTS))
    example = Example(Query(QUESTION), documents, (ANSWER,))
    labels = SentenceLabeller(
        Likelihoods(nats), Places(PLACES.__getitem__), negatives=2, margin=2.0
    )(example)

    assert [0.0, 4.5, 3.0, -1.5, -3.0] == labels["gains"]
    assert [1, 4, 0] == labels["clues"]
    assert [True, False, False] == labels["useful"]


def test_the_nearest_sentence_is_kept():
    """Before training c, then b."""
    before = build("recomp", Likelihoods(nats), Places(PLACES.__getitem__))(QUESTION, DOCUMENTS)
    tuned = {**PLACES, B: (1, 0)}
    after = build("recomp", Likelihoods(nats), Places(tuned.__getitem__))(QUESTION, DOCUMENTS)

    assert [C] == [s.text for s in before.kept]
    assert [B] == [s.text for s in after.kept]


@pytest.mark.parametrize(("summary", "told"), [("Seals and Crofts did.", 1), ("", 0)])
def test_the_generator_reads_the_summary_or_nothing(summary, told):
    """One document, or the question alone."""
    writer, llm = ScriptedLLM([summary]), ScriptedLLM([ANSWER])
    result = recomp_abstractive(llm, writer=writer).ask(QUESTION, DOCUMENTS)

    assert summary == result.text
    assert told == sum("Documents:" in prompt[0].content for prompt in llm.prompts)


def test_a_budget_cuts_whole_sentences():
    """Of two sentences of 3 tokens a budget of 4 keeps the first."""
    system = recomp_abstractive(writing("Seals did. Crofts too.")).with_budget(4)
    result = system(QUESTION, SONGS)

    assert ["Seals did."] == [s.text for s in result.kept]
    assert 3 == result.tokens.after


def test_a_writer_is_asked_plainly_and_the_generator_with_instructions():
    """As the authors' models were trained, and as any other model needs."""
    llm, writer = writing("Seals."), writing("Crofts.")
    recomp_abstractive(llm)(QUESTION, SONGS)
    recomp_abstractive(llm, writer=writer)(QUESTION, SONGS)

    assert 1 == len(llm.prompts)
    assert "Sum up" in llm.prompts[0][0].content
    assert writer.prompts[0][0].content == (
        f"Question: {QUESTION}\nDocument: It rained. Summer Breeze was sung by Seals. Seals sang "
        "Summer Breeze.\n\nA breeze is a wind.\nSummary:"
    )
