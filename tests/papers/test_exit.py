"""EXIT (arXiv 2412.12559) worked by hand: section 3, from two documents to the answer.

    song   a  Seals and Crofts sang Summer Breeze.     Yes 6, No 2:  6 / 8 = 0.75   stays
           b  They wrote it in 1972.                   Yes 3, No 3:  3 / 6 = 0.5    stays: τ = 0.5
    wind   c  A breeze is a wind.                      Yes 1, No 4:  1 / 5 = 0.2    goes
           d  Summer Breeze was sung in 1972.          Yes 3, No 1:  3 / 4 = 0.75   stays

Sentence b alone says neither who nor what: it is judged behind the whole text of its document.
Reassembly: a, b, d, as they stood; d is as probable as a and comes last all the same.
Calls: 4 of the judge, in one batch, 1 of the generator.
"""

import pytest

from ragsieve.models.fake import ScriptedLLM
from ragsieve_research.systems.exit import exit_sentences

QUESTION = "Who sang Summer Breeze in 1972?"
A, B = "Seals and Crofts sang Summer Breeze.", "They wrote it in 1972."
C, D = "A breeze is a wind.", "Summer Breeze was sung in 1972."
DOCUMENTS = [
    {"id": "song", "title": "Songs", "text": f"{A} {B}"},
    {"id": "wind", "title": "Winds", "text": f"{C} {D}"},
]
WEIGHTS = {A: (6, 2), B: (3, 3), C: (1, 4), D: (3, 1)}  # of Yes and No


def weigh(prompt, options):
    asked = prompt[-1].content.partition("Sentence of this document:")[2]
    assert ("Yes", "No") == tuple(options)
    return next(pair for text, pair in WEIGHTS.items() if f'"{text}"' in asked)


@pytest.fixture(scope="module")
def figure():
    """The whole figure."""
    llm = ScriptedLLM(["Seals and Crofts"])
    judge = ScriptedLLM([], choices=weigh, identity="judge")
    return exit_sentences(llm, extractor=judge).ask(QUESTION, DOCUMENTS), llm, judge


def test_each_sentence_has_its_probability_of_yes(figure):
    """Yes against No, nothing else."""
    step = next(s for s in figure[0].trace.steps if s.stage.startswith("Helpful"))

    assert 4 == len(figure[2].prompts)
    assert {A: 0.75, B: 0.5, C: pytest.approx(0.2), D: 0.75} == {
        s.text: s.scores["helpful"] for s in step.after
    }


def test_what_stays_is_reassembled_in_order(figure):
    """One of four goes, one half is enough; the generator is called once."""
    result, llm, _ = figure
    (gone,) = [v for v in result.verdicts if v.stage]

    assert (C, "score 0.200 is below min_score=0.5") == (gone.segment.text, gone.reason)
    assert f"Songs: {A} {B}\n\nWinds: {D}" == result.text
    assert ("Seals and Crofts", 1) == (result.answer.text, len(llm.prompts))
