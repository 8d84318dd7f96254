"""Corrective RAG: judge what was retrieved, refine it, or look elsewhere."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, cast

from ragsieve import score, select, split
from ragsieve.answer import Reader
from ragsieve.errors import InputError
from ragsieve.models.base import LLM, Embedder, PairScorer
from ragsieve.models.memory import MemoryCached
from ragsieve.models.wrap import unwrap
from ragsieve.pipeline import Pipeline, Source, System
from ragsieve.retrieve.rewrite import Rewrite, Rewritten
from ragsieve.score.base import Scorer
from ragsieve.systems.registry import system
from ragsieve.trace import log_event, note, record_drop, step
from ragsieve.types import Document, Query, Segment, rounded


class Cuts(NamedTuple):
    """Where an evaluator's scores are cut, in its own units.

    Args:
        upper: From here a document is right.
        lower: Below, it is wrong.
        strip: Strips below this go.
    """

    upper: float
    lower: float
    strip: float


PAPER = Cuts(0.59, -0.99, -0.5)  # PopQA, of a T5 that was trained to say 1 or -1
SHARE = Cuts(0.6, 0.3, 0.3)  # of a cosine or a rating in [0, 1]: by hand, on retrieved passages


@dataclass(frozen=True)
class Judged:
    """What was retrieved is correct, ambiguous or incorrect: kept, added to, or replaced.

    Correct where some document scores at least ``upper``, incorrect where all score below
    ``lower``, else ambiguous. Correct documents pass; incorrect ones go, and what ``fallback``
    finds comes in their place; ambiguous ones pass with it behind them. It is asked once, and also
    where nothing was retrieved. Its documents are named ``fallback:ID:…``, by what stands in them.

    Args:
        upper: In units of the score given last; finite.
        lower: Finite, at most ``upper``.
        fallback: Another source; without one incorrect documents are replaced by nothing, and the
            trace says that nothing was looked up.

    Raises:
        InputError: If a threshold breaks its rule, or a document has no score yet.

    Source: CRAG (arXiv 2401.15884), section 4.3, "Action Trigger", and algorithm 1.
    """

    upper: float
    lower: float
    fallback: Source | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.lower) and math.isfinite(self.upper)):
            raise InputError(f"thresholds must be finite, got {self.lower!r}, {self.upper!r}")
        if self.lower > self.upper:
            raise InputError(f"lower must be at most upper={self.upper!r}, got {self.lower!r}")

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> list[Segment]:
        if not segments and self.fallback is None:
            return []
        best = max((rounded(segment.score) for segment in segments), default=-math.inf)
        verdict = "incorrect" if best < self.lower else "ambiguous"
        if best >= self.upper:
            verdict = "correct"
        shown = f"the best of {len(segments)} scores {best:.3f}" if segments else "nothing to judge"
        told = f"{verdict}: {shown}; upper={self.upper}, lower={self.lower}"
        log_event(told, "verdict", verdict=verdict, documents=len(segments))
        if verdict == "correct":
            return list(segments)
        found = self._found(query, segments)
        if verdict == "ambiguous":
            return [*segments, *found]
        for segment in segments:
            record_drop(segment, f"judged incorrect: {segment.score:.3f} < lower={self.lower}")
        return found

    def _found(self, query: Query, given: Sequence[Segment]) -> list[Segment]:
        if self.fallback is None:
            note("no fallback: nothing is looked up elsewhere")
            return []
        with step(repr(self.fallback)) as record:  # nothing before: the system counts it as given
            found = _apart(self.fallback(query), given)
            record.after = tuple(found)
        return found


def _apart(found: Sequence[Segment], given: Sequence[Segment]) -> list[Segment]:
    """The same of documents with names of their own, that rank behind those given."""
    taken = {segment.document.id for segment in given}
    behind = 1 + max((segment.document.rank for segment in given), default=-1)
    own: dict[Document, Document] = {}
    for document in dict.fromkeys(segment.document for segment in found):
        name = f"fallback:{document.id}:{_mark(document)}"
        while name in taken:
            name += "'"
        taken.add(name)
        own[document] = replace(document, id=name, rank=behind + document.rank)
    return [Segment(own[s.document], s.start, s.end) for s in found]


def _mark(document: Document) -> str:
    """Eight digits of what is read of it: what two searches find may have the same names."""
    said = repr((document.title, document.text, document.source)).encode()
    return hashlib.sha256(said).hexdigest()[:8]


@dataclass(frozen=True)
class Strips:
    """Split segments into strips of a few sentences; a short one is one strip.

    Args:
        sentences: Of a strip, the last of a document's may have fewer; at least 1.

    Raises:
        InputError: If ``sentences`` is below 1.

    Source: CRAG (arXiv 2401.15884), section 4.4, "Knowledge Refinement": a few sentences; its code
        takes 3.
    """

    sentences: int = 3

    def __post_init__(self) -> None:
        if self.sentences < 1:
            raise InputError(f"sentences must be at least 1, got {self.sentences!r}")

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> list[Segment]:
        strips: list[Segment] = []
        for segment in segments:
            spans = split.Sentences()(query, [segment])
            groups = (
                spans[at : at + self.sentences] for at in range(0, len(spans), self.sentences)
            )
            strips += [Segment(segment.document, g[0].start, g[-1].end) for g in groups]
        return strips


@system(
    "crag",
    "documents are judged: right ones are cut to their best strips, wrong ones replaced",
    needs="embedder",
    paper="arXiv 2401.15884",
)
def crag(
    llm: LLM,
    embedder: Embedder,
    *,
    evaluator: PairScorer | LLM | None = None,
    fallback: Source | None = None,
    rewrite: bool = True,
    upper: float | None = None,
    lower: float | None = None,
    min_score: float | None = None,
    sentences: int = 3,
    k: int = 5,
    max_tokens: int | None = None,
) -> System:
    """Judge what was retrieved; refine it where it is right, look elsewhere where it is wrong.

        documents ─ evaluator ─ correct ──── documents ──────────────┐
                              ├ ambiguous ── documents and fallback ─┼─ strips ─ evaluator
                              └ incorrect ── fallback ───────────────┘     ─ the best k ─ answer

    Args:
        llm: The generator; rewrites the question for ``fallback``.
        embedder: Its cosine judges where there is no ``evaluator``.
        evaluator: Judges documents and strips: a cross-encoder, or an LLM that rates them as
            `score.Relevance` says (small ones rate all alike).
        fallback: Another source, such as a web search; without one there is nothing else to read.
        rewrite: Whether ``fallback`` is asked by a rewritten question.
        upper: Score from which a document makes the verdict correct; where None, the paper's 0.59
            for a cross-encoder, 0.6 for a cosine or a rating in [0, 1].
        lower: Score below which all documents make it incorrect; -0.99, else 0.3.
        min_score: Score below which a strip goes; -0.5, else 0.3.
        sentences: Of a strip.
        k: At most so many strips stay, as they stand in the documents.
        max_tokens: Budget of the context, in the generator's tokens.

    Raises:
        InputError: If an option breaks its rule.

    Source: CRAG (arXiv 2401.15884), section 4, algorithm 1, and appendix B: upper and lower 0.59
        and -0.99 on PopQA, 0.5 and -0.91 on PubHealth and ARC-Challenge, 0.95 and -0.91 on
        Biography; strips from -0.5, the best 5.
    Differs: The paper's evaluator is a T5-large fine-tuned to say 1 or -1 of "question [SEP] text",
        its thresholds are that model's; thresholds for cosine and rating are ours. Its fallback is
        a web search by keywords that a larger model writes; here it is any source, asked by the
        question in other words. Documents and what the fallback finds share the best k strips.
    """
    cuts = SHARE
    judge: Scorer = score.Cosine(MemoryCached(embedder))
    if hasattr(unwrap(evaluator), "complete"):  # of a wrapper one cannot see it
        judge = score.Relevance(cast(LLM, evaluator))
    elif evaluator is not None:
        judge, cuts = score.Pair(cast(PairScorer, evaluator)), PAPER
    if fallback and rewrite:
        fallback = Rewritten(Rewrite(llm), fallback)
    return System(
        Pipeline(
            judge,
            Judged(_or(upper, cuts.upper), _or(lower, cuts.lower), fallback),
            Strips(sentences),
            judge,
            select.Threshold(_or(min_score, cuts.strip)),
            select.TopK(k),
            select.Order("document"),
        ),
        Reader(llm),
        max_tokens,
    )


def _or(given: float | None, otherwise: float) -> float:
    return otherwise if given is None else given
