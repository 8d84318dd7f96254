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

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from ragsieve.models.fake import ScriptedLLM
from ragsieve.pipeline import System
from ragsieve.result import Result
from ragsieve_research.systems.finefilter import finefilter

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


class Plane:
    """Sentence-BERT's part: every sentence that it must know, as a unit vector of the plane."""

    identity = "plane"

    def embed(self, texts: Sequence[str], *, query: bool = False) -> np.ndarray:
        return np.array([(COSINES[t], np.sqrt(1 - COSINES[t] ** 2)) for t in texts], np.float32)


def run(odds: Sequence[float]) -> tuple[Result, ScriptedLLM, System]:
    generator = ScriptedLLM(lambda prompt: "Seals and Crofts")
    system = finefilter(
        generator,
        Plane(),
        extractor=ScriptedLLM([WRITTEN]),
        truncator=ScriptedLLM([], choices=lambda prompt, options: odds),
        mode="write",
        order="score",
    )
    return system.ask(QUESTION, DOCUMENTS), generator, system


def test_the_extractor_orders_by_use_and_invents_nothing() -> None:
    """S^c = S6, S2, S5, S1: spans of the documents only; the fifth line is counted."""
    result, _, _ = run(ODDS)
    extract = result.trace.steps[1]

    assert [S6, S2, S5, S1] == [s.text for s in extract.after]
    assert ["1 written lines repeat no sentence of the documents: dropped"] == extract.notes


def test_the_reranker_gives_the_cosines() -> None:
    """sim(q, s) of each clue, in the extractor's order still."""
    result, _, _ = run(ODDS)

    assert [0.5, 0.9, 0.7, 0.1] == pytest.approx([s.score for s in result.trace.steps[2].after])


def test_the_truncator_reads_the_clues_as_ranked() -> None:
    """S^r = S2, S5, S6, S1, each a line."""
    _, _, system = run(ODDS)
    prompt = system.stage.stages[3].llm.prompts[0]  # type: ignore[attr-defined, union-attr]

    assert prompt[0].content.endswith(f"\n[1] {S2}\n[2] {S5}\n[3] {S6}\n[4] {S1}")


@pytest.mark.parametrize(
    ("odds", "expected"),
    [
        (ODDS, [S2, S5]),
        ([0.5, 0.2, 0.1, 0.1, 0.1], []),
        ([0.1, 0.5, 0.1, 0.2, 0.1], [S2]),
        ([0.0, 0.1, 0.1, 0.2, 0.6], [S2, S5, S6, S1]),
    ],
)
def test_the_generator_sees_the_first_k_clues(odds: list[float], expected: list[str]) -> None:
    """K clues, best first; none at all where K = 0, and then a prompt without documents."""
    result, generator, _ = run(odds)
    system = generator.prompts[0][0].content

    assert expected == [s.text for s in result.kept]
    assert ("Documents:" in system) == bool(expected)
    assert sorted(expected, key=system.find) == expected
    assert all(clue in system for clue in expected)
    assert all(other not in system for other in {S1, S2, S3, S4, S5, S6} - {*expected})


def test_tokens_before_and_after_are_those_of_the_compression_ratio() -> None:
    """Words and full stops: S1 6, S2 6, S3 5, S4 7, S5 6, S6 7 are 37; S2 and S5 are 12."""
    result, _, _ = run(ODDS)

    assert (37, 12) == (result.tokens.before, result.tokens.after)
