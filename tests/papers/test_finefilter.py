"""FineFilter (arXiv 2502.11811v4) worked by hand: section 4, from sentences to the first K clues.

Question: who sang Summer Breeze. Six sentences in two documents, S1 to S6:

    A: S1 "It was released in 1972."             B: S4 "A breeze is a light wind."
       S2 "Seals and Crofts sang it."               S5 "The Isley Brothers covered it."
       S3 "The weather was fine."                   S6 "Seals wrote the song with Crofts."

4.1  the extractor writes S6, S2, S5, S1, most useful first, and one sentence of its own: S^c.
4.2  the reranker orders S^c by sim(q, s) = cosine. With q = (1, 0) and unit vectors (c, √(1-c²))
     the cosines are the c themselves: S2 0.9, S5 0.7, S6 0.5, S1 0.1, so S^r = S2, S5, S6, S1.
4.3  the truncator gives P(K = 0 … 4) = 0.1, 0.2, 0.4, 0.2, 0.1; the most probable is K = 2.
     The generator sees the first two clues, S2 and S5, best first.
"""

import math

import pytest

from ragsieve.models.fake import ScriptedLLM
from ragsieve_research.systems.finefilter import finefilter
from tests.tiny import Places

QUESTION = "who sang Summer Breeze"
S1, S2, S3 = "It was released in 1972.", "Seals and Crofts sang it.", "The weather was fine."
S4, S5 = "A breeze is a light wind.", "The Isley Brothers covered it."
S6 = "Seals wrote the song with Crofts."
DOCUMENTS = [{"id": "B", "text": f"{S4} {S5} {S6}"}, {"id": "A", "text": f"{S1} {S2} {S3}"}]
COSINES = {QUESTION: 1.0, S2: 0.9, S5: 0.7, S6: 0.5, S1: 0.1}
ODDS = [0.1, 0.2, 0.4, 0.2, 0.1]
WRITTEN = f"""Sentence 1: {S6}
Sentence 2: {S2}
Sentence 3: The song was recorded in Nashville by a choir.
Sentence 4: {S5}
Sentence 5: {S1}"""


def place(text):
    """Sentence-BERT's part: every sentence that it must know, as a unit vector of the plane."""
    return COSINES[text], math.sqrt(1 - COSINES[text] ** 2)


def run(odds):
    generator = ScriptedLLM(lambda prompt: "Seals and Crofts")
    system = finefilter(
        generator,
        Places(place),
        extractor=ScriptedLLM([WRITTEN]),
        truncator=ScriptedLLM([], choices=lambda prompt, options: odds),
        mode="write",
        order="score",
    )
    return system.ask(QUESTION, DOCUMENTS), generator, system


def test_clues_are_found_ranked_and_shown():
    """S^c = S6, S2, S5, S1, spans of the documents only; sim(q, s) of each; S^r, each a line."""
    result, _, system = run(ODDS)
    _, extract, rerank, *_ = result.trace.steps
    prompt = system.stage.stages[3].llm.prompts[0]

    assert [S6, S2, S5, S1] == [s.text for s in extract.after]
    assert ["1 written lines repeat no sentence of the documents: dropped"] == extract.notes
    assert [0.5, 0.9, 0.7, 0.1] == pytest.approx([s.score for s in rerank.after])
    assert prompt[0].content.endswith(f"\n[1] {S2}\n[2] {S5}\n[3] {S6}\n[4] {S1}")
    # Words and full stops: S1 6, S2 6, S3 5, S4 7, S5 6, S6 7 are 37; S2 and S5 are 12.
    assert (37, 12) == (result.tokens.before, result.tokens.after)


@pytest.mark.parametrize(
    ("odds", "expected"),
    [
        (ODDS, [S2, S5]),
        ([0.5, 0.2, 0.1, 0.1, 0.1], []),
        ([0.1, 0.5, 0.1, 0.2, 0.1], [S2]),
        ([0.0, 0.1, 0.1, 0.2, 0.6], [S2, S5, S6, S1]),
    ],
)
def test_the_generator_sees_the_first_k_clues(odds, expected):
    """K clues, best first; none at all where K = 0, and then a prompt without documents."""
    result, generator, _ = run(odds)
    system = generator.prompts[0][0].content

    assert expected == [s.text for s in result.kept]
    assert ("Documents:" in system) == bool(expected)
    assert sorted(expected, key=system.find) == expected
    assert all(clue in system for clue in expected)
    assert all(other not in system for other in {S1, S2, S3, S4, S5, S6} - {*expected})
