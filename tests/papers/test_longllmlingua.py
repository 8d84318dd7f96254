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
The 7 tokens kept pass the budget of 6. Spans: "Seals and Crofts sang it in", mean 11/6, and "It",
mean 0, which goes.
"""

from __future__ import annotations

from ragsieve.answer import Reader
from ragsieve.models.fake import ScriptedLLM
from ragsieve.pipeline import Pipeline, System
from ragsieve.score.surprisal import Expected
from ragsieve.select import Order
from ragsieve.systems.lingua import Prune

QUESTION = "Who sang Summer Breeze?"
SINGER, RAIN = "Seals and Crofts sang it in 1972.", "It rained hard."
ALONE = {
    "Seals": 6, "and": 2, "Crofts": 6, "sang": 5, "it": 2, "in": 2, "1972": 4, ".": 1,
    "It": 5, "rained": 5, "hard": 5,
}  # fmt: skip
ASKED = ALONE | {"Seals": 2, "Crofts": 3, "sang": 1}


def nats(before: str, token: str) -> float:
    word = token.strip()
    if before.startswith("Who"):
        return ASKED[word]
    if "Who" in before + word:  # the question, behind a document
        return 1.0 if before.startswith(SINGER) else 3.0
    return ALONE[word]


def test_two_documents_are_pruned_to_six_tokens() -> None:
    """From the order of the documents to the spans that the generator reads."""
    llm = ScriptedLLM([], nats=nats)
    reader = Reader(llm)
    prune = Prune(llm, reader, keep=6, spread=0.25)
    system = System(Pipeline(Expected(llm), Order("score"), prune), reader, 6)
    result = system(QUESTION, [{"id": "rain", "text": RAIN}, {"id": "singer", "text": SINGER}])
    ranked, _, pruned = result.trace.steps

    assert [-3.0, -1.0] == [s.score for s in ranked.after]
    assert (
        ["Seals and Crofts sang it in"]
        == [s.text for s in result.kept]
        == [s.text for s in pruned.after]
    )
    assert 11 / 6 == result.kept[0].score
    assert (12, 6) == (result.tokens.before, result.tokens.after)
    assert 2 + 2 == len(ranked.usages) + len(pruned.usages)
