"""Corrective RAG: judge retrieved documents, refine them, or search elsewhere."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, cast

from ragsieve import score, select, split
from ragsieve.answer import Reader
from ragsieve.documents import unused_id
from ragsieve.errors import InputError
from ragsieve.models.base import LLM, CrossEncoder, Embedder
from ragsieve.models.cache import Cached
from ragsieve.models.wrap import unwrap
from ragsieve.retriever import AnySource, as_source
from ragsieve.schema import Count, Options
from ragsieve.system import Pipeline, Source, Stage, System
from ragsieve.systems.base import system
from ragsieve.trace import log_event, note, record_drop, step
from ragsieve.types import Document, Query, Segment, StageResult, rounded
from ragsieve_research.retrieve.rewrite import Rewrite, Rewritten
from ragsieve_research.score.calibrated import Calibrated
from ragsieve_research.score.judge import Relevance

Evaluator = CrossEncoder | LLM | Pipeline


class Cuts(NamedTuple):
    """Thresholds of an evaluator's scores, in its own units.

    Args:
        upper: From here a document is right.
        lower: Below, it is wrong.
        min_score: Strips below this go.
    """

    upper: float
    lower: float
    min_score: float


PAPER = Cuts(0.59, -0.99, -0.5)
"""For the paper's evaluator alone, a T5 trained to say 1 or -1: ``crag(…, **PAPER._asdict())``."""
SHARE = Cuts(0.6, 0.3, 0.3)  # of a cosine, rating or probability: by hand, on retrieved passages


@dataclass(frozen=True)
class JudgedEvidence:
    """Judge retrieved documents as correct, ambiguous or incorrect: keep, add to, or replace them.

    Correct where some document scores at least ``upper``, incorrect where all score below
    ``lower``, else ambiguous. Correct documents pass; incorrect ones go, and what ``fallback``
    finds comes in their place; ambiguous ones pass with it behind them. It is searched once, also
    where nothing was retrieved. Its documents are named ``fallback:ID:…``, by what stands in them.

    Args:
        upper: In units of the last score; finite.
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

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> StageResult:
        if not segments and self.fallback is None:
            return StageResult()
        best = max((rounded(segment.score) for segment in segments), default=-math.inf)
        verdict = "incorrect" if best < self.lower else "ambiguous"
        if best >= self.upper:
            verdict = "correct"
        shown = f"the best of {len(segments)} scores {best:.3f}" if segments else "nothing to judge"
        line = f"{verdict}: {shown}; upper={self.upper}, lower={self.lower}"
        log_event(line, "verdict", verdict=verdict, documents=len(segments))
        if verdict == "correct":
            return StageResult(segments)
        results = self._look_up(query, segments)
        if verdict == "ambiguous":
            return StageResult([*segments, *results], found=results)
        for segment in segments:
            record_drop(segment, f"judged incorrect: {segment.score:.3f} < lower={self.lower}")
        return StageResult(results, found=results)

    def _look_up(self, query: Query, segments: Sequence[Segment]) -> list[Segment]:
        if self.fallback is None:
            note("no fallback: nothing is looked up elsewhere")
            return []
        with step(repr(self.fallback)) as record:
            results = _apart(self.fallback(query), segments)
            record.after = tuple(results)
        return results


def _apart(results: Sequence[Segment], retrieved: Sequence[Segment]) -> list[Segment]:
    """The results, of documents with ids of their own that rank behind those retrieved."""
    used = Counter({segment.document.id for segment in retrieved})
    behind = 1 + max((segment.document.rank for segment in retrieved), default=-1)
    own: dict[Document, Document] = {}
    for document in dict.fromkeys(segment.document for segment in results):
        name = unused_id(f"fallback:{document.id}:{_mark(document)}", used)
        own[document] = replace(document, id=name, rank=behind + document.rank)
    return [Segment(own[s.document], s.start, s.end) for s in results]


def _mark(document: Document) -> str:
    """Eight digits of what is read of it: what two searches find may have the same names."""
    content = repr((document.title, document.text, document.source)).encode()
    return hashlib.sha256(content).hexdigest()[:8]


@dataclass(frozen=True)
class Strips(Options):
    """Split segments into strips of a few sentences; a short one is one strip.

    Args:
        sentences: Of a strip, the last of a document's may have fewer; at least 1.

    Raises:
        InputError: If ``sentences`` is below 1.

    Source: CRAG (arXiv 2401.15884), section 4.4, "Knowledge Refinement": a few sentences; its code
        takes 3.
    """

    sentences: Count = 3

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> list[Segment]:
        strips: list[Segment] = []
        for segment in segments:
            spans = split.Sentences()(query, [segment])
            groups = (
                spans[at : at + self.sentences] for at in range(0, len(spans), self.sentences)
            )
            strips += [Segment(segment.document, g[0].start, g[-1].end) for g in groups]
        return strips


@system("crag", needs="embedder", paper="arXiv 2401.15884")
def crag(
    llm: LLM,
    embedder: Embedder,
    *,
    evaluator: Evaluator | None = None,
    fallback: AnySource | None = None,
    rewrite: bool = True,
    upper: float | None = None,
    lower: float | None = None,
    min_score: float | None = None,
    k: int = 5,
) -> System:
    """Judge the documents; cut right ones to their best strips, look elsewhere for wrong ones.

        documents ─ evaluator ─ correct ──── documents ──────────────┐
                              ├ ambiguous ── documents and fallback ─┼─ strips ─ evaluator
                              └ incorrect ── fallback ───────────────┘     ─ the best k ─ answer

    Args:
        llm: The generator; rewrites the question for ``fallback``.
        embedder: Its cosine judges where there is no ``evaluator``.
        evaluator: Judges documents and strips: a cross-encoder, which needs its own thresholds
            (``"crag:FOLDER"`` of the paper's weights: `PAPER`); a `Pipeline` that ends in
            `score.Calibrated`; or an LLM that rates them as `score.Relevance` says (small ones
            rate all alike).
        fallback: Another source, such as a web search; without one there is nothing else to read.
        rewrite: Whether ``fallback`` is asked by a rewritten question.
        upper: Score from which a document makes the verdict correct; 0.6 for a cosine, a rating or
            a probability.
        lower: Score below which all documents make it incorrect; 0.3.
        min_score: Score below which a strip goes; 0.3.
        k: At most so many strips stay, as they stand in the documents.

    Raises:
        InputError: If an option breaks its rule, or a cross-encoder comes without thresholds.

    Source: CRAG (arXiv 2401.15884), section 4, algorithm 1, and appendix B: upper and lower 0.59
        and -0.99 on PopQA, 0.5 and -0.91 on PubHealth and ARC-Challenge, 0.95 and -0.91 on
        Biography; strips from -0.5, the best 5.
    Differs: The paper's evaluator is a T5-large fine-tuned to say 1 or -1
        (`ragsieve_research.models.sentence_transformers.CRAGEvaluator` reads it), its thresholds
        (`PAPER`) are that model's and no other's; those for cosine, rating and probability are
        ours. Its fallback is a web search by keywords that a larger model writes; here it is any
        source, asked by the question in other words. Documents and what the fallback finds share
        the best k strips.
    """
    judge, is_share = _judge(embedder, evaluator)
    cuts = _cuts(is_share, upper=upper, lower=lower, min_score=min_score)
    search = None if fallback is None else as_source(fallback)
    if search and rewrite:
        search = Rewritten(Rewrite(llm), search)
    stages = Pipeline(
        judge,
        JudgedEvidence(cuts.upper, cuts.lower, search),
        Strips(),
        judge,
        select.Threshold(cuts.min_score),
        select.TopK(k),
        select.Order("document"),
    )
    return System(stages, Reader(llm))


def _judge(embedder: Embedder, evaluator: Evaluator | None) -> tuple[Stage, bool]:
    """The scorer of documents and strips, and whether `SHARE` fits its scores."""
    if evaluator is None:
        return score.Cosine(Cached(embedder)), True
    if isinstance(evaluator, Pipeline):
        return evaluator, isinstance(evaluator.stages[-1], Calibrated)
    if hasattr(unwrap(evaluator), "complete"):  # of a wrapper one cannot see it
        return Relevance(cast(LLM, evaluator)), True
    return score.Pair(cast(CrossEncoder, evaluator)), False


def _cuts(is_share: bool, **options: float | None) -> Cuts:
    for name, value in options.items():
        if value is None and not is_share:
            raise InputError(
                f"{name} must be a number for this evaluator, in its scores' units, or it must be "
                "calibrated (the paper's thresholds are for its own T5), got None"
            )
    return Cuts(**{**SHARE._asdict(), **{k: v for k, v in options.items() if v is not None}})
