"""FILCO (arXiv 2311.08377) worked by hand: section 2, three measures of four sentences.

The question is "Who sang Summer Breeze?", the gold answer "Seals and Crofts"; the generator gives
its 3 tokens in nats a token: -2 without a document, and

        sentence                             StrInc   words of the answer   CXMI
    a   It was sung in summer.               0        0                     -2.2: 1 / (1 + e^0.6)
    b   Seals and Crofts sang in summer.     1        3 of 6: 2·3 / (6 + 3) -1.5: 1 / (1 + e^-1.5)
    c   Crofts and Seals wrote it.           0        3 of 5: 2·3 / (5 + 3) -1: 1 / (1 + e^-3)
    d   Breezes are winds.                   0        0                     -3: 1 / (1 + e^3)

With the question's own words, who, sang, summer, breeze, as there is no answer when it is asked:
    a 1 of 5: 2·1 / (5 + 4)    b 2 of 6: 2·2 / (6 + 4)    c, d 0

So StrInc keeps b, the words of the answer and CXMI keep c, the words of the question b.
"""

import math
from dataclasses import replace

import pytest

from ragsieve.models.fake import ScriptedLLM
from ragsieve.types import Document, Query, Segment
from ragsieve_research.peers.oracles import filco_cxmi, oracle
from ragsieve_research.score.inclusion import CXMI, Inclusion, Overlap
from ragsieve_research.select.extract import Extract
from ragsieve_research.systems.filco import filco, filco_lexical
from ragsieve_research.train.examples import TrainingExample
from ragsieve_research.train.extractor import samples
from ragsieve_research.train.filco import silver
from tests.named import notes
from tests.tiny import Likelihoods

QUERY = Query("Who sang Summer Breeze?")
ANSWERS = {QUERY.text: ("Seals and Crofts",)}
A, B = "It was sung in summer.", "Seals and Crofts sang in summer."
C, D = "Crofts and Seals wrote it.", "Breezes are winds."
NATS = {A: -2.2, B: -1.5, C: -1.0, D: -3.0}
SEGMENTS = [Segment.whole(Document(text, text)) for text in NATS]
LESSON = TrainingExample(QUERY, ANSWERS[QUERY.text], tuple(SEGMENTS), {})
DOCUMENTS = [f"{A} {B}", f"{C} {D}"]


def nats(text):
    """Of each token of the answer, by the sentence that is read."""
    return next((n for s, n in NATS.items() if s in text), -2.0)


def test_the_three_measures():
    """As in the table."""
    llm = Likelihoods(nats)
    logistic = [1 / (1 + math.exp(x)) for x in (0.6, -1.5, -3, 3)]

    assert [0, 1, 0, 0] == [s.score for s in Inclusion(ANSWERS)(QUERY, SEGMENTS)]
    assert pytest.approx([0, 6 / 9, 6 / 8, 0]) == [
        s.score for s in Overlap(ANSWERS)(QUERY, SEGMENTS)
    ]
    assert pytest.approx([2 / 9, 4 / 10, 0, 0]) == [s.score for s in Overlap()(QUERY, SEGMENTS)]
    assert pytest.approx(logistic) == [s.score for s in CXMI(llm, ANSWERS)(QUERY, SEGMENTS)]


def test_each_keeps_its_best_sentence():
    """The oracles, and the one that needs no answer."""
    llm = Likelihoods(nats)
    systems = [
        oracle(llm, ANSWERS, documents=5, k=1),
        filco_cxmi(llm, ANSWERS),
        filco_lexical(llm),
        filco(ScriptedLLM([f"Sentence 1: {B}"])),
    ]

    assert [[B], [C], [B], [B]] == [
        [s.text for s in system(QUERY, DOCUMENTS).kept] for system in systems
    ]


def test_where_no_sentence_helps_none_is_kept():
    """Both a and d make the answer less likely; the other question shares no word with any."""
    assert () == filco_cxmi(Likelihoods(nats), ANSWERS)(QUERY, [A, D]).kept
    assert () == filco_lexical(ScriptedLLM([]))("Why?", DOCUMENTS).kept


@pytest.mark.parametrize(("measure", "kept"), [("strinc", 1), ("lexical", 2), ("cxmi", 2)])
def test_the_filter_model_learns_the_best_sentence(measure, kept):
    """That of the answer, not of the question; its target is what an extractor reads back."""
    taught = silver(LESSON, measure, Likelihoods(nats))
    (sample,) = samples(taught, Extract(ScriptedLLM([]), mode="write"))
    named = Extract(ScriptedLLM([sample.target]), mode="write")(QUERY, SEGMENTS)

    assert (kept,) == taught.clues
    assert f"Sentence 1: {SEGMENTS[kept].text}" == sample.target
    assert [SEGMENTS[kept]] == named


def test_nothing_and_the_first_of_two_are_learned():
    """The word for nothing, where no sentence has the answer."""
    two = replace(LESSON, sentences=(*SEGMENTS, Segment.whole(Document("e", f"So {B}"))))
    bare = silver(replace(LESSON, answers=("Bob",)), "strinc", ScriptedLLM([]))

    assert (1,) == silver(two, "strinc", ScriptedLLM([])).clues
    assert ["NONE"] == [s.target for s in samples(bare, Extract(ScriptedLLM([]), mode="write"))]


def test_what_the_filter_writes_is_kept_where_it_stands():
    """The sentence lies in the second document; what is in none is dropped and counted."""
    result = filco(ScriptedLLM([f"{C}\nCrofts made this up alone."]))(QUERY, DOCUMENTS)

    assert [("1", 0, len(C))] == [s.key for s in result.kept]
    assert ["1 written lines repeat no sentence of the documents: dropped"] == notes(result)


def test_a_filter_model_writes_where_there_is_one():
    """The generator is not asked then, and only the first documents are read."""
    llm, extractor = ScriptedLLM([]), ScriptedLLM([A])
    result = filco(llm, extractor=extractor, documents=1)(QUERY, DOCUMENTS)

    assert ([A], []) == ([s.text for s in result.kept], llm.prompts)
    assert C not in extractor.prompts[0][-1].content
