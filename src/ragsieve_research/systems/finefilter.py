"""FineFilter as the paper prints it: an LLM extracts and truncates, a reranker orders."""

from __future__ import annotations

from typing import Literal

from ragsieve import score, select, split
from ragsieve.answer import Reader
from ragsieve.errors import InputError
from ragsieve.models.base import LLM, CrossEncoder, Embedder
from ragsieve.select.order import By
from ragsieve.system import Pipeline, Stage, System
from ragsieve.systems.base import preset, system
from ragsieve_research.select.extract import Extract
from ragsieve_research.select.truncate import Truncate


@system("finefilter-point", needs="LLM, embedder", paper="arXiv 2502.11811v4")
def finefilter(
    llm: LLM,
    embedder: Embedder,
    *,
    extractor: LLM | None = None,
    reranker: CrossEncoder | Literal["cosine", "bm25", "none"] = "cosine",
    truncator: LLM | select.Cut | Literal["llm", "none"] = "llm",
    mode: Literal["point", "write"] = "point",
    min_keep: int = 0,
    order: By = "document",
) -> System:
    """Have an LLM name clue sentences by number; rank them, keep the fewest that answer.

    Args:
        llm: The generator; extracts and truncates too, unless others are given.
        embedder: Ranks the clues.
        extractor: Names the clues; ``llm`` where None.
        reranker: Ranks them: a cross-encoder, cosine, BM25, or none: in the documents' order.
        truncator: Chooses how many of the ranked clues stay, or reads it off their scores;
            ``"llm"`` asks the generator; with ``"none"`` all stay.
        mode: How clues are named; see `select.Extract`.
        min_keep: At least this many clues stay; the paper's 0 lets the generator answer by itself.
        order: In which the generator reads them; the paper's is ``"score"``.

    Raises:
        InputError: If an option breaks its rule.

    Source: FineFilter (arXiv 2502.11811v4), section 4.
    """
    stages = Pipeline(
        split.Sentences(),
        Extract(extractor or llm, mode=mode, min_keep=min_keep),
        *_ranking(reranker, embedder),
        *_cutting(llm if truncator == "llm" else truncator, min_keep),
        select.Order(order),
    )
    return System(stages, Reader(llm))


preset(
    "finefilter-write",
    finefilter,
    "The same as printed in the paper: clues are written out, and read best first",
    mode="write",
    order="score",
)


def _ranking(reranker: CrossEncoder | str, embedder: Embedder) -> tuple[Stage, ...]:
    if not isinstance(reranker, str):
        return (score.Pair(reranker),)
    known: dict[str, tuple[Stage, ...]] = {
        "cosine": (score.Cosine(embedder),),
        "bm25": (score.BM25(),),
        "none": (select.Order("document"),),
    }
    if reranker not in known:
        options = ", ".join(known)
        raise InputError(f"reranker must be a cross-encoder or one of {options}, got {reranker!r}")
    return known[reranker]


def _cutting(truncator: LLM | select.Cut | str, min_keep: int) -> tuple[Stage, ...]:
    if isinstance(truncator, select.Cut):
        return (truncator,)
    if not isinstance(truncator, str):
        return (Truncate(truncator, min_keep=min_keep),)
    if truncator == "none":
        return ()
    raise InputError(f"truncator must be an LLM, a cut, llm or none, got {truncator!r}")
