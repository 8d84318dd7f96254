"""FineFilter: extract clues, rank them, keep the fewest that answer."""

from __future__ import annotations

from typing import Literal

from ragsieve import score, select, split
from ragsieve.answer import Reader
from ragsieve.models.base import LLM, Embedder
from ragsieve.pipeline import Pipeline, System
from ragsieve.select.order import By


def finefilter(
    llm: LLM,
    embedder: Embedder,
    *,
    extractor: LLM | None = None,
    truncator: LLM | None = None,
    mode: Literal["point", "write"] = "point",
    min_keep: int = 0,
    order: By = "document",
    max_tokens: int | None = None,
) -> System:
    """Extract clue sentences, rank them, keep the fewest that answer (arXiv 2502.11811v4).

    Args:
        llm: The generator; extracts and truncates too, unless others are given.
        embedder: Ranks the clues.
        extractor: Names the clues.
        truncator: Chooses how many of the ranked clues stay.
        mode: How the extractor names them; see `select.Extract`.
        min_keep: At least this many clues stay; the paper's 0 lets the generator answer by itself.
        order: In which the generator reads them; the paper's is ``"score"``.
        max_tokens: Budget of the context, in the generator's tokens.
    """
    return System(
        Pipeline(
            split.Sentences(),
            select.Extract(extractor or llm, mode=mode, min_keep=min_keep),
            score.Cosine(embedder),
            select.Truncate(truncator or llm, min_keep=min_keep),
            select.Order(order),
        ),
        Reader(llm),
        max_tokens,
    )
