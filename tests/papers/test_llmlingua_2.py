"""LLMLingua-2 (arXiv 2403.12968) worked by hand: section 4.2, the best τN words stay in order.

The classifier below reads "Koechlin drew it in 1884." as these tokens:

    Koech lin | drew | it  | in  | 1884 | .           probability that the token stays
    0.9   0.5 | 0.8  | 0.1 | 0.2 | 0.6  | 0.3

A word has the mean of its tokens, (0.9 + 0.5) / 2 = 0.7 for "Koechlin", so the words rank

    drew 0.8, Koechlin 0.7, 1884 0.6, . 0.3, in 0.2, it 0.1

and of N = 6 tokens of the generator, which counts each word as one, a rate of 0.5 keeps 3.
"""

import pytest

from ragsieve import Document, Query, Segment
from ragsieve.models.base import ClassifiedToken
from ragsieve.models.fake import ScriptedLLM
from ragsieve_research.systems.llmlingua_2 import Words, llmlingua_2

TEXT = "Koechlin drew it in 1884."
TOKENS = {"Koech": 0.9, "lin": 0.5, "drew": 0.8, "it": 0.1, "in": 0.2, "1884": 0.6, ".": 0.3}
QUERY = Query("Who drew it?")


class Table:
    """Reads tokens off the table above; "lin" goes on with its word."""

    identity = "table"

    def classify(self, texts):
        """The table's tokens where they stand."""
        results = []
        for text in texts:
            tokens, at = [], 0
            for token, keep in TOKENS.items():
                if (start := text.find(token, at)) >= 0:
                    at = start + len(token)
                    tokens.append(ClassifiedToken(start, at, keep, token != "lin"))
            results.append(tokens)
        return results


def words(**options):
    """The words with their probabilities."""
    found = Words(Table(), **options)(QUERY, [Segment.whole(Document("d", TEXT))])
    return {segment.text: segment.score for segment in found}


def pruned(*documents, **options):
    return llmlingua_2(ScriptedLLM([]), classifier=Table(), **options)(QUERY, documents or [TEXT])


def test_a_word_has_the_mean_of_its_tokens():
    """Or what its first one has."""
    assert [0.7, 0.8, 0.1, 0.2, 0.6, 0.3] == pytest.approx([*words().values()])
    assert 0.9 == words(pool="first")["Koechlin"]


def test_half_of_the_tokens_stay_in_order():
    """What is next to each other joins; the trace says of the rest what had the budget."""
    result = pruned()

    assert ["Koechlin drew", "1884"] == [s.text for s in result.kept]
    assert ["0.10", "0.20", "0.30"] == sorted(
        v.reason[:4] for v in result.verdicts if v.stage and "better" in v.reason
    )


def test_what_is_forced_is_first_to_stay():
    """A full stop, then the best two; a text within a word is a word of its own. With "lin" the
    words rank lin 1, Koech 0.9, drew 0.8: these three stay."""
    assert ["Koechlin drew", "."] == [s.text for s in pruned(force=["."]).kept]
    assert {"Koech": 0.9, "lin": 1.0} == dict([*words(force=["lin"]).items()][:2])
    assert ["Koechlin drew"] == [s.text for s in pruned(force=["lin"]).kept]


def test_digits_may_be_forced():
    """1884 counts as 1 then, and is kept alone of one token in six."""
    assert ["1884"] == [s.text for s in pruned(rate=1 / 6, digits=True).kept]
    assert ["drew"] == [s.text for s in pruned(rate=1 / 6).kept]


def test_documents_share_one_budget():
    """Of 6 + 2 tokens half, the best four of both documents: drew, Koechlin, 1884 and ".". The
    second document's "it" and "in" have 0.1 and 0.2: nothing of it stays."""
    assert ["Koechlin drew", "1884."] == [s.text for s in pruned(TEXT, "it in").kept]


def test_a_budget_in_tokens_takes_the_place_of_the_rate():
    """Never exceeded, joined spans and all."""
    assert "Koechlin drew" == pruned(max_tokens=2).text
    assert "" == pruned(max_tokens=0).text


def test_nothing_in_nothing_out():
    """Published weights are not loaded for it."""
    pytest.importorskip("torch")

    assert () == llmlingua_2(ScriptedLLM([]))(QUERY, []).kept
