"""What a segment has of the gold answer."""

import pytest

from ragsieve.errors import Unsupported
from ragsieve.models.fake import ScriptedLLM
from ragsieve.types import Query
from ragsieve_research.score.inclusion import CXMI, Inclusion, Overlap, gains
from tests.segments import wholes
from tests.tiny import Likelihoods

QUERY = Query("Who sang Summer Breeze?")
ANSWERS = {QUERY.text: ("Seals and Crofts", "Seals")}


def nats(text):
    """-1 where "Seals sang" is read, -2 without a document, else -3."""
    return -1 if "sang." in text else -3 if "Documents:" in text else -2


def test_overlap_is_the_f1_of_words():
    """3 of 4 words among 5: 2 · 3 / 9; the nearest answer's; repeated as often as in both."""
    given = wholes("Seals sang the Summer Breeze well.", "Rain fell.", "")

    assert [pytest.approx(6 / 9), 0, 0] == [s.score for s in Overlap()(QUERY, given)]

    found = Overlap(ANSWERS)(QUERY, wholes("Seals sang."))

    assert [pytest.approx(2 / 3)] == [s.score for s in found]

    found = Overlap({"q": ("very very",)})(Query("q"), wholes("very very very"))

    assert [pytest.approx(4 / 5)] == [s.score for s in found]

    given = wholes("SEALS AND CROFTS did.", "Seals did.", "It sealsed.", "")

    assert [1, 1, 0, 0] == [s.score for s in Inclusion(ANSWERS)(QUERY, given)]

    given = wholes("There is no river.", "Seals sang.")

    assert [0, 0] == [s.score for s in Inclusion({"q": ("no",)})(Query("q"), given)]


def test_gains_are_differences_of_log_likelihoods():
    """3 tokens: -3, -9 and -6 with none: gains 3 and -3 nats, all at once; of 2000 CXMI is 0."""
    found = gains(Likelihoods(nats), QUERY, wholes("Seals sang.", "Rain."), "Seals and Crofts")

    assert [3.0, -3.0] == found.tolist()

    answers = {QUERY.text: ("word " * 2000,)}
    llm = Likelihoods(nats, context=9000)

    assert [0.0] == [s.score for s in CXMI(llm, answers)(QUERY, wholes("Rain."))]

    llm = ScriptedLLM([])
    gains(llm, QUERY, wholes("One.", "Two."), "x")

    assert 3 == len(llm.prompts)
    assert [True, True, False] == ["Documents:" in p[0].content for p in llm.prompts]


@pytest.mark.parametrize("gold", [{}, {QUERY.text: ()}, {QUERY.text: (" ",)}])
def test_without_a_gold_answer_nothing_has_any_of_it(gold):
    """CXMI asks nothing, and rates less than where a segment makes no difference."""
    llm = ScriptedLLM([])
    given = wholes("Seals sang.")

    assert [0, 0, 0] == [
        scorer(QUERY, given)[0].score
        for scorer in (Inclusion(gold), Overlap(gold), CXMI(llm, gold))
    ]
    assert [] == llm.prompts


def test_cxmi_needs_likelihoods_and_tells_no_gold_answer():
    """The error says what the model can; a trace must not tell answers."""
    llm = ScriptedLLM([], can=frozenset({"complete"}))

    with pytest.raises(Unsupported, match="has no loglik"):
        CXMI(llm, ANSWERS)(QUERY, wholes("Seals sang."))

    assert "Inclusion(answers=<of 1 questions>)" == repr(Inclusion(ANSWERS))
    assert "Overlap(answers=None)" == repr(Overlap())
