"""FineFilter: keep the sentences that answer, in one pass or as the paper prints it."""

from __future__ import annotations

from typing import Literal, cast

from ragsieve import score, select, split
from ragsieve.answer import Reader
from ragsieve.errors import InputError
from ragsieve.models.base import LLM, ClueReader, Embedder, PairScorer, SentencePruner
from ragsieve.models.wrap import bare
from ragsieve.pipeline import Pipeline, Stage, System
from ragsieve.select.order import By
from ragsieve.systems.by_language import ByLanguage


def finefilter_one_pass(
    llm: LLM,
    pruner: SentencePruner,
    *,
    keep_answer: float = 0.95,
    min_keep: int = 1,
    order: By = "document",
    max_tokens: int | None = None,
) -> System:
    """Keep what the answer may need, by one reading of each passage; the default filter.

        documents ─ blocks ─▶ sentence pruner: a probability each ─▶ promised threshold ─▶ reader

    Lists, steps, code and tables are kept or dropped whole. Where question or document is not
    English, shared character n-grams decide instead, and more is kept.

    Args:
        llm: The generator; it is not asked before it answers.
        pruner: Gives every sentence a probability, and the threshold for ``keep_answer``.
        keep_answer: Probability that the evidence survives, from 0.8 to 0.99, as calibrated on
            validation questions of many kinds; see `ragsieve.select.threshold`.
        min_keep: At least this many segments stay, the most probable ones; with 0 a question that
            no document seems to answer may keep nothing.
        order: In which the generator reads them.
        max_tokens: Budget of the context, in the generator's tokens.

    Raises:
        InputError: If an option breaks its rule.

    Source: FineFilter (arXiv 2502.11811v4), section 4.1; conformal risk control
        (arXiv 2208.02814) for the threshold.
    Differs: A trained encoder gives probabilities where the paper's LLM writes clues out, and the
        cut is a promise to keep the evidence, not a fit to what one generator answers from.
    """
    return System(
        Pipeline(
            split.Blocks(),
            ByLanguage(
                Pipeline(
                    score.Pruner(pruner),
                    select.Threshold(pruner.threshold(keep_answer), min_keep),
                ),
                Pipeline(score.Ngrams(), select.Threshold(0.5, min_keep)),
            ),
            select.Order(order),
        ),
        Reader(llm),
        max_tokens,
    )


def finefilter(
    llm: LLM,
    embedder: Embedder,
    *,
    extractor: LLM | ClueReader | None = None,
    reranker: PairScorer | Literal["auto", "cosine", "bm25", "none"] = "auto",
    truncator: LLM | select.Cut | Literal["auto", "random", "none"] = "auto",
    mode: Literal["point", "write"] = "point",
    min_score: float = 0.1,
    min_keep: int = 0,
    order: By = "document",
    max_tokens: int | None = None,
) -> System:
    """Extract clue sentences, rank them, keep the fewest that answer (arXiv 2502.11811v4).

    Args:
        llm: The generator; extracts and truncates too, unless others are given.
        embedder: Ranks the clues.
        extractor: Names the clues; a clue reader gives each sentence a probability instead.
        reranker: Ranks them: a cross-encoder, cosine, BM25, or none: as the extractor named them;
            ``"auto"`` is the probability of a clue reader, the cosine behind an LLM.
        truncator: Chooses how many of the ranked clues stay, or reads it off their scores; ``llm``
            where ``"auto"``; ``"random"`` and ``"none"`` are the paper's ablations.
        mode: How an LLM names them; see `select.Extract`.
        min_score: From which probability a clue reader's sentence is a clue, in [0, 1].
        min_keep: At least this many clues stay; the paper's 0 lets the generator answer by itself.
        order: In which the generator reads them; the paper's is ``"score"``.
        max_tokens: Budget of the context, in the generator's tokens.

    Raises:
        InputError: If an option breaks its rule.
    """
    extracting: tuple[Stage, ...] = (
        select.Extract(cast(LLM, extractor or llm), mode=mode, min_keep=min_keep),
    )
    if reads := hasattr(bare(extractor), "clues"):  # of a wrapper one cannot see it
        reader = cast(ClueReader, extractor)
        extracting = (score.Clues(reader), select.Threshold(min_score, min_keep))
    if reranker == "auto":
        reranker = "none" if reads else "cosine"
    return System(
        Pipeline(
            split.Sentences(),
            *extracting,
            *_ranking(reranker, embedder),
            *_cutting(llm if truncator == "auto" else truncator, min_keep),
            select.Order(order),
        ),
        Reader(llm),
        max_tokens,
    )


def _ranking(reranker: PairScorer | str, embedder: Embedder) -> tuple[Stage, ...]:
    if not isinstance(reranker, str):
        return (score.Pair(reranker),)
    known: dict[str, tuple[Stage, ...]] = {
        "cosine": (score.Cosine(embedder),),
        "bm25": (score.BM25(),),
        "none": (),
    }
    if reranker not in known:
        options = ", ".join(["auto", *known])
        raise InputError(f"reranker must be a cross-encoder or one of {options}, got {reranker!r}")
    return known[reranker]


def _cutting(truncator: LLM | select.Cut | str, min_keep: int) -> tuple[Stage, ...]:
    if isinstance(truncator, select.Cut):
        return (truncator,)
    if not isinstance(truncator, str):
        return (select.Truncate(truncator, min_keep=min_keep),)
    known: dict[str, tuple[Stage, ...]] = {"random": (select.RandomK(),), "none": ()}
    if truncator not in known:
        options = ", ".join(["auto", *known])
        raise InputError(f"truncator must be an LLM, a cut or one of {options}, got {truncator!r}")
    return known[truncator]
