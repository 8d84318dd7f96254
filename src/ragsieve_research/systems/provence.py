"""Provence: one pass of a cross-encoder ranks documents and prunes their sentences."""

from __future__ import annotations

from ragsieve import score, select, split
from ragsieve.answer import Reader
from ragsieve.models.base import LLM, CrossEncoder, SentencePruner
from ragsieve.models.wrap import unwrap
from ragsieve.system import Pipeline, System
from ragsieve.systems.base import system


@system("provence", needs="sentence pruner", paper="arXiv 2501.16214")
def provence(
    llm: LLM,
    pruner: SentencePruner,
    *,
    reranker: CrossEncoder | None = None,
    k: int = 5,
    min_score: float | None = None,
    min_keep: int = 0,
) -> System:
    """Rank documents and prune their sentences by one pass of a cross-encoder.

        [question, document] ─ encoder ─┬─ document's score ─ the k best, best first
                                        └─ probability of each sentence ≥ 0.1 ─ sentences

    Args:
        llm: The generator.
        pruner: Scores documents, and their sentences by what it read then: the one that comes with
            the package, or `ragsieve_research.models.provence.Provence` with published weights.
        reranker: Scores the documents in its place.
        k: So many documents stay.
        min_score: From which probability a sentence stays, in [0, 1]; where None, what the
            configuration of published weights says, else 0.1, of the pruner that comes with the
            package before it is calibrated: the paper's careful cut, of its own weights (0.5 is
            the short one).
        min_keep: At least so many sentences stay, the most probable ones.

    Raises:
        InputError: If an option breaks its rule.

    Source: Provence (arXiv 2501.16214), section 3: unified reranking and pruning.
    Differs: A title is read in front of its passage but is never kept for itself: it stands before
        the kept sentences anyhow. Sentences are those of our splitter.
    """
    if min_score is None:
        min_score = getattr(unwrap(pruner), "min_score", 0.1)
    stages = Pipeline(
        score.Pair(reranker or pruner),
        select.TopK(k),
        split.Sentences(),
        score.Pruner(pruner),
        select.Threshold(min_score, min_keep),
    )
    return System(stages, Reader(llm))
