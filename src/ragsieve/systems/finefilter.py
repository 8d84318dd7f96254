"""FineFilter: keep the sentences that answer, in one pass or as the paper prints it."""

from __future__ import annotations

from typing import Literal

from ragsieve import score, select, split
from ragsieve.answer import Reader
from ragsieve.errors import InputError
from ragsieve.models.base import LLM, CrossEncoder, Embedder, SentencePruner
from ragsieve.pipeline import Pipeline, Stage, System
from ragsieve.select.order import By
from ragsieve.systems.by_language import ByLanguage
from ragsieve.systems.registry import preset, system


@system("finefilter", needs="sentence pruner", paper="arXiv 2502.11811v4")
def finefilter_one_pass(
    llm: LLM,
    pruner: SentencePruner,
    *,
    keep_answer: float = 0.95,
    cut: select.Cut | None = None,
    min_keep: int = 1,
    order: By = "document",
    max_tokens: int | None = None,
) -> System:
    """Keep what the answer may need, as often as promised, by one reading of each passage.

        documents ─ blocks ─▶ sentence pruner: a probability each ─▶ promised threshold ─▶ reader

    Lists, steps, code and tables are kept or dropped whole. Where question or document is not
    English, shared character n-grams decide instead, and more is kept.

    Args:
        llm: The generator; it is not asked before it answers.
        pruner: Gives every sentence a probability, and the threshold for ``keep_answer``.
        keep_answer: Probability that the evidence survives, from 0.8 to 0.99, as calibrated on
            validation questions of many kinds; see `ragsieve.select.threshold`.
        cut: Keeps the fewest that one generator answers from, in place of the promise; it is fitted
            by ``ragsieve train finefilter``.
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
    cutting = cut or select.Threshold.promised(pruner, keep_answer, min_keep)
    return System(
        Pipeline(
            split.Blocks(),
            ByLanguage(
                Pipeline(score.Pruner(pruner), cutting),
                Pipeline(score.Ngrams(), select.Threshold(0.5, min_keep)),
            ),
            select.Order(order),
        ),
        Reader(llm),
        max_tokens,
    )


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
    max_tokens: int | None = None,
) -> System:
    """Have an LLM name clue sentences by number; rank them, keep the fewest that answer.

    Args:
        llm: The generator; extracts and truncates too, unless others are given.
        embedder: Ranks the clues.
        extractor: Names the clues; ``llm`` where None.
        reranker: Ranks them: a cross-encoder, cosine, BM25, or none: as the extractor named them.
        truncator: Chooses how many of the ranked clues stay, or reads it off their scores;
            ``"llm"`` asks the generator; with ``"none"`` all stay.
        mode: How clues are named; see `select.Extract`.
        min_keep: At least this many clues stay; the paper's 0 lets the generator answer by itself.
        order: In which the generator reads them; the paper's is ``"score"``.
        max_tokens: Budget of the context, in the generator's tokens.

    Raises:
        InputError: If an option breaks its rule.

    Source: FineFilter (arXiv 2502.11811v4), section 4.
    """
    return System(
        Pipeline(
            split.Sentences(),
            select.Extract(extractor or llm, mode=mode, min_keep=min_keep),
            *_ranking(reranker, embedder),
            *_cutting(llm if truncator == "llm" else truncator, min_keep),
            select.Order(order),
        ),
        Reader(llm),
        max_tokens,
    )


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
        "none": (),
    }
    if reranker not in known:
        options = ", ".join(known)
        raise InputError(f"reranker must be a cross-encoder or one of {options}, got {reranker!r}")
    return known[reranker]


def _cutting(truncator: LLM | select.Cut | str, min_keep: int) -> tuple[Stage, ...]:
    if isinstance(truncator, select.Cut):
        return (truncator,)
    if not isinstance(truncator, str):
        return (select.Truncate(truncator, min_keep=min_keep),)
    if truncator == "none":
        return ()
    raise InputError(f"truncator must be an LLM, a cut, llm or none, got {truncator!r}")
