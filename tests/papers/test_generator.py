"""Training the generator worked by hand: what it reads, and what it learns to reply.

One question, "Who sang it?", answer "Ann"; retrieved: "Ann sang it." and "Rain fell."; of another
question: "Snow fell.".

    RetRobust      arXiv 2310.01558, section 3.2: the answer, behind the first that was retrieved,
                   the last, or another question's, one third each
    InstructRAG-FT arXiv 2406.13629, section 2.3: a rationale, then the answer, behind all
    SAIL           arXiv 2305.15225, section 2.2: which documents are informative, then the answer
"""

from __future__ import annotations

import pytest

pytest.importorskip("peft")

from ragsieve.models.fake import ScriptedLLM
from ragsieve.types import Document, Example, Query, Segment
from ragsieve_research.train.generator import chosen, reader, target
from ragsieve_research.train.plans import GeneratorPlan

OWN = Example(
    Query("Who sang it?"), (Document("a", "Ann sang it."), Document("b", "Rain fell.")), ("Ann",)
)
OTHER = Example(Query("Where?"), (Document("c", "Snow fell."),), ("Rome",))


def read(example: Example) -> str:
    """The evidence of a prompt, as the reader lays it out."""
    whole = [Segment.whole(document) for document in example.documents]
    return reader(ScriptedLLM([]), "answer").context(whole)


def test_retrobust_reads_the_best_the_worst_or_a_strange_document() -> None:
    """Over many questions all three come, and what is learned stays the answer."""
    plan = GeneratorPlan(context="mixed", documents=1)
    asked = [Example(Query(f"Who sang {n}?"), OWN.documents, OWN.answers) for n in range(40)]

    assert {"Ann sang it.", "Rain fell.", "Snow fell."} == {
        read(chosen(one, [OTHER], plan)) for one in asked
    }
    assert "Ann" == target(OWN, "answer")


def test_instructrag_says_why_before_it_answers() -> None:
    """And its reader takes the answer from the reply's last line."""
    reply = target(OWN, "rationale", "The first document says that Ann sang it.")

    assert "The first document says that Ann sang it.\nAnswer: Ann" == reply
    assert "Ann" == reader(ScriptedLLM([reply]), "rationale")(OWN.query, []).text


def test_sail_says_which_documents_are_informative() -> None:
    """The first; of the strange one none."""
    strange = Example(OWN.query, OTHER.documents, OWN.answers)

    assert "Informative: 1.\nAnswer: Ann" == target(OWN, "informative")
    assert "Informative: none.\nAnswer: Ann" == target(strange, "informative")
