"""BottleNeck (arXiv 2406.01549) worked by hand: IB = I(text; documents) - beta * I(text; answer).

The documents, of 8 tokens, and the answer, of 1, get from the generator, in nats a token:

    text                     documents   answer    I(documents)   I(answer)   IB, beta 1   beta 0.25
    none                     -4          -3        0              0            0            0
    a  "Seals sang it."      -3          -0.5      1              2.5         -1.5          0.375
    b  "It rained."          -3.5        -3.5      0.5            -0.5         1            0.625
    c  "Seals sang it. It rained."
                             -2          -1        2              2            0            1.5

So a is the best text and b the worst: the filter learns to write a, and to prefer it to b. Where
brevity counts four times as much, nothing at all is the best.
"""

from __future__ import annotations

import pytest

from ragsieve.models.fake import ScriptedLLM
from ragsieve.types import Document, Query, Segment
from ragsieve_research.score.bottleneck import answers, bottleneck, restores
from ragsieve_research.systems.bottleneck import bottleneck as system
from tests.tiny import Likelihoods

QUERY, ANSWER = Query("Who sang?"), "Seals"
A, B = "Seals sang it.", "It rained."
C = f"{A} {B}"
GIVEN = [Segment.whole(Document("1", f"{A} Yes.")), Segment.whole(Document("2", "Rain."))]
NATS = {"": (-4.0, -3.0), C: (-2.0, -1.0), A: (-3.0, -0.5), B: (-3.5, -3.5)}


def nats(text: str) -> float:
    """Of each token, what the table says of the text that is read."""
    read = next(t for t in (C, A, B, "") if t in text)
    return NATS[read]["Notes:" not in text]


def test_both_parts_are_gains_a_token() -> None:
    """The table's columns; the documents have 6 and 2 tokens."""
    texts = ["", A, B, C]

    assert [6, 2] == ScriptedLLM([]).count([s.text for s in GIVEN])
    assert [0, 1, 0.5, 2] == restores(Likelihoods(nats), QUERY, GIVEN, texts).tolist()
    assert [0, 2.5, -0.5, 2] == answers(Likelihoods(nats), QUERY, texts, ANSWER).tolist()


@pytest.mark.parametrize(
    ("beta", "scores"), [(1.0, [0, -1.5, 1, 0]), (0.25, [0, 0.375, 0.625, 1.5])]
)
def test_the_score_weighs_them(beta: float, scores: list[float]) -> None:
    """The table's last columns."""
    found = bottleneck(Likelihoods(nats), QUERY, GIVEN, ["", A, B, C], ANSWER, beta=beta)

    assert scores == found.tolist()


def test_the_filter_writes_and_the_generator_reads() -> None:
    """A sentence that was copied is a span of its document."""
    llm, writer = ScriptedLLM([ANSWER]), ScriptedLLM([A])
    result = system(llm, writer=writer).ask(QUERY, [f"{B} {A}"])

    assert [(11, 25)] == [(s.start, s.end) for s in result.kept]
    assert A in llm.prompts[0][0].content
    assert B not in llm.prompts[0][0].content
