"""LongLLMLingua (arXiv 2310.06839) worked by hand: section 4, from two documents to the prompt.

Tokens are words and punctuation marks. The model expects, in nats:

    the question and the statement behind it: 1 a token behind "singer", 3 behind "rain",
    so r_k is -1 and -3, and the singer's document comes first.

    Document "singer", 8 tokens, alone and behind the question:
                 Seals  and  Crofts  sang  it  in  1972  .
        alone      6     2     6      5    2   2    4    1
        asked      2     2     3      1    2   2    4    1
        contrast   4     0     3      4    0   0    0    0
    Document "rain", 4 tokens: 5 5 5 1 both ways, so that contrasts are 0.

Budget: 6 tokens of 12. Coarse, 2 budgets: both documents, 8 + 4 = 12.
Mean share 6 / 12 = 0.5, spread 0.25: the best keeps 0.75 of 8 = 6, the last 0.25 of 4 = 1.
Tokens by contrast: Seals, sang (4), Crofts (3), then those of 0 as they stand: and, it, in.
    rain: It.
The least worth that stays is 0 in both, so that runs are worth the mean of their contrasts:
"Seals and Crofts sang it in" 11/6, "It" 0; "1972." and "rained hard." are worth nothing and go.
The 7 tokens kept pass the budget of 6: "It" goes, too.
"""

import pytest

from ragsieve import Document, Pipeline, Segment, System
from ragsieve.answer import Reader
from ragsieve.models.fake import ScriptedLLM
from ragsieve.select.order import Order
from ragsieve_research.score.surprisal import Expected
from ragsieve_research.systems.lingua import Keep, Prune, Reading, shares_of
from ragsieve_research.systems.longllmlingua import recovered

QUESTION = "Who sang Summer Breeze?"
SINGER, RAIN = "Seals and Crofts sang it in 1972.", "It rained hard."
ALONE = {
    "Seals": 6, "and": 2, "Crofts": 6, "sang": 5, "it": 2, "in": 2, "1972": 4, ".": 1,
    "It": 5, "rained": 5, "hard": 5,
}  # fmt: skip
ASKED = ALONE | {"Seals": 2, "Crofts": 3, "sang": 1}


def nats(before, token):
    word = token.strip()
    if before.startswith("Who"):
        return ASKED[word]
    if "Who" in before + word:  # the question, behind a document
        return 1.0 if before.startswith(SINGER) else 3.0
    return ALONE[word]


def test_two_documents_are_pruned_to_six_tokens():
    """From the order of the documents to the spans that the generator reads."""
    llm = ScriptedLLM([], nats=nats)
    reader = Reader(llm)
    prune = Prune(llm, reader, keep=6, spread=0.25)
    stages = Pipeline(Expected(llm), Order("score"), prune, Keep(reader, 6))
    system = System(stages, reader).with_budget(6)
    result = system(QUESTION, [{"id": "rain", "text": RAIN}, {"id": "singer", "text": SINGER}])
    ranked, _, pruned, kept = result.trace.steps

    assert [-3.0, -1.0] == [s.score for s in ranked.after]
    runs = [("Seals and Crofts sang it in", 11 / 6), ("1972.", 0), ("It", 0), ("rained hard.", 0)]
    assert runs == [(s.text, pytest.approx(s.score, abs=2e-6)) for s in pruned.after]
    assert [True, False, True, False] == [s.score >= 0 for s in pruned.after]
    assert ["Seals and Crofts sang it in"] == [s.text for s in result.kept]
    reasons = ["1e-06 below the least token of its document that stays"] * 2
    reasons.insert(1, "1 tokens more than 6 pass max_tokens=6")
    assert reasons == [d.reason for d in kept.dropped]
    assert (12, 6) == (result.tokens.before, result.tokens.after)
    assert 2 + 2 == len(ranked.usages) + len(pruned.usages)


def test_a_window_is_read_behind_what_was_kept_of_those_before():
    """LLMLingua's algorithm 2, half of each window of 4 tokens kept.

    "Seals and Crofts sang", 6 2 6 5 nats alone: Seals, Crofts. Then "it in 1972.", 2 2 4 1, read
    behind "Seals Crofts": 1972, and of the equal ones the first, it.
    """
    read = []

    def told(before, token):
        read.append((before, token))
        return nats(before, token)

    reading = Reading(ScriptedLLM([], nats=told), "", 4)
    (tokens,) = reading.tokens([Segment.whole(Document("singer", SINGER))], [0.5])
    stays = [SINGER[start:end].strip() for start, end, worth in tokens if worth >= 0]

    assert ["Seals", "Crofts", "it", "1972"] == stays
    assert ("Seals Crofts", " it") == read[4]
    assert ("Seals Crofts it", " in") == read[5]


def test_the_best_document_keeps_the_largest_share():
    """LongLLMLingua's equation 5 with N = 5, mean 0.5, spread 0.3: 0.8 0.65 0.5 0.35 0.2 by rank.

    With a mean of 0.8 the first two would keep more than all, and keep all.
    """
    scores = {"c": 3.0, "a": 5.0, "e": 1.0, "b": 4.0, "d": 2.0}
    documents = [Segment.whole(Document(n, n)).scored("expected", v) for n, v in scores.items()]

    assert [0.5, 0.8, 0.2, 0.65, 0.35] == pytest.approx(shares_of(documents, 0.5, 0.3))
    assert [0.8, 1.0, 0.5, 0.95, 0.65] == pytest.approx(shares_of(documents, 0.8, 0.3))


def test_the_longest_run_of_an_answer_is_recovered():
    """Section 4.4: of the prompt, "Barack Obama" is "Barack Hussein Obama", not another "Barack".

    "Barack" alone is in the prompt twice; the run of two words is the longest, and its shortest
    cover in the document is three words long.
    """
    text = "Barack is a name. Barack Hussein Obama was the 44th president."
    spans = ((0, 6), (18, 24), (33, 38))
    kept = [Segment(Document("d", text), start, end) for start, end in spans]

    assert "It was Barack Hussein Obama." == recovered("It was Barack Obama.", kept)
