"""CRAG (arXiv 2401.15884) worked by hand: algorithm 1 and section 4, the three verdicts.

The evaluator says of each text, in [-1, 1]:

    song   0.9    strips  "Ann wrote it. Bob sang it. It was a hit." 0.9    "It rained." -0.7
    film   0.2    strips  "The film is old. He died. It won." -0.2          "Bob acted." 0.4
    rain  -0.8    strips  "Rain falls." -0.8
    web    found by the rewritten question: "Bob sang it in 1972." 0.7

Thresholds 0.59 and -0.5 for documents, -0.5 for strips:
    song, film, rain   best  0.9 >= 0.59          correct      strips of all three that are >= -0.5
    film, rain         best  0.2, between         ambiguous    the same of film and rain, and web
    rain               best -0.8 < -0.5           incorrect    web alone
Recomposed in order:
    correct    song 1 (0.9), film 1 (-0.2), film 2 (0.4)      song 2 and rain are below -0.5
    the best 2 of them: song 1, film 2

Calls: correct: 3 documents + 5 strips = 8 of the evaluator, 1 answer.
       ambiguous: 2 + 4 = 6, the rewrite and the answer.

Self-CRAG (section 5.2): Self-RAG writes from what the verdict leaves: of rain alone, from the web.
"""

import numpy as np
import pytest

from ragsieve import Document, Segment
from ragsieve.models.fake import HashingEmbedder, ScriptedLLM
from ragsieve.trace import Usage, record_usage
from ragsieve_research.systems.crag import PAPER, crag
from ragsieve_research.systems.self_rag import self_rag
from tests.named import answer

QUESTION, REWRITE = "Who sang the song?", "singer of the song"
S1, S2 = "Ann wrote it. Bob sang it. It was a hit.", "It rained."
F1, F2 = "The film is old. He died. It won.", "Bob acted."
RAIN, WEB = "Rain falls.", "Bob sang it in 1972."
SONG, FILM = f"{S1} {S2}", f"{F1} {F2}"
THRESHOLDS = {**PAPER._asdict(), "lower": -0.5}
SAYS = {SONG: 0.9, S1: 0.9, S2: -0.7, FILM: 0.2, F1: -0.2, F2: 0.4, RAIN: -0.8, WEB: 0.7}


class Evaluator:
    """Says of each text what the table above does."""

    identity = "evaluator"

    def score(self, pairs):
        assert {QUESTION} == {question for question, _ in pairs}
        record_usage([Usage("evaluator", 1) for _ in pairs])
        return np.array([SAYS[text] for _, text in pairs], np.float32)


def search(query, /):
    """The web: knows the rewritten question only."""
    assert REWRITE == query.text
    return [Segment.whole(Document("web", WEB))]


def run(*texts, **options):
    llm = ScriptedLLM([REWRITE, "Bob"] if SONG not in texts else ["Bob"])
    system = crag(
        llm, HashingEmbedder(), evaluator=Evaluator(), fallback=search, **THRESHOLDS, **options
    )
    return system.ask(QUESTION, texts), llm


def calls(result, model):
    return sum(usage.model == model for step in result.trace.steps for usage in step.usages)


def test_correct():
    """Strips below -0.5 go, the others are recomposed in order."""
    result, llm = run(SONG, FILM, RAIN)

    assert f"{S1}\n\n{FILM}" == result.text
    assert (8, 1) == (calls(result, "evaluator"), len(llm.prompts))
    assert {
        S2: "score -0.700 is below min_score=-0.5",
        RAIN: "score -0.800 is below min_score=-0.5",
    } == {v.segment.text: v.reason for v in result.verdicts if v.stage}


def test_the_best_strips():
    """Two of the three, still in order."""
    assert [(S1, pytest.approx(0.9)), (F2, pytest.approx(0.4))] == [
        (s.text, s.score) for s in run(SONG, FILM, RAIN, k=2)[0].kept
    ]


def test_ambiguous():
    """Documents, then what the web says."""
    result, llm = run(FILM, RAIN)

    assert f"{FILM}\n\n{WEB}" == result.text
    assert (6, 2) == (calls(result, "evaluator"), len(llm.prompts))


def test_incorrect():
    """The web alone."""
    result, _ = run(RAIN)

    assert (WEB, "Bob") == (result.text, answer(result))
    assert (2, ["judged incorrect: -0.800 < lower=-0.5"]) == (
        calls(result, "evaluator"),
        [v.reason for v in result.verdicts if v.stage],
    )


def test_self_rag_writes_from_what_was_corrected():
    """The judge says that it should look up, and that what it finds is relevant and used."""

    def write(prompt):
        asked = str(prompt)
        return "Bob did." if WEB in asked else "Rain." if RAIN in asked else REWRITE

    llm = ScriptedLLM(write, choices=lambda _, options: [1.0, *[0.0] * (len(options) - 1)])
    corrected = crag(llm, HashingEmbedder(), evaluator=Evaluator(), fallback=search, **THRESHOLDS)
    system = self_rag(llm, HashingEmbedder(), prune=corrected.stage, reflection="prompted", depth=1)
    result = system.ask(QUESTION, [RAIN])

    assert ("Bob did.", [WEB]) == (result.answer.text, [s.text for s in result.kept])
