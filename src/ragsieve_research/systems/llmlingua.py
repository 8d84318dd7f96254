"""LLMLingua: keep the tokens that a language model does not expect, without the question."""

from __future__ import annotations

from ragsieve import select
from ragsieve.answer import Reader
from ragsieve.models.base import LLM
from ragsieve.system import Pipeline, System
from ragsieve.systems.base import system
from ragsieve_research.score.surprisal import Surprisal
from ragsieve_research.systems.lingua import Keep, Prune


@system("llmlingua", needs="LLM", paper="arXiv 2310.05736", calls="surprisals")
def llmlingua(
    llm: LLM,
    *,
    pruner: LLM | None = None,
    rate: float = 0.5,
    coarse: float = 2.0,
    max_tokens: int | None = None,
) -> System:
    """Keep the tokens that a language model does not expect, whatever is asked.

    Args:
        llm: The generator.
        pruner: A language model that has `surprisals`; ``llm`` where None.
        rate: Share of the tokens of all documents that stays, in [0, 1]; not used where there is
            ``max_tokens``.
        coarse: Budgets that the documents have together of which tokens are kept; at least 1.
        max_tokens: Budget of the context, in the generator's tokens.

    Raises:
        InputError: If an option breaks its rule.

    Source: LLMLingua (arXiv 2310.05736), section 4: budget controller, iterative token-level
        compression.
    Differs: As `longllmlingua`. No language model is tuned to the generator's style. Instruction
        and question are the reader's, and stay whole.
    """
    reads, reader = pruner or llm, Reader(llm)
    keep = rate if max_tokens is None else max_tokens
    prune = Prune(reads, reader, keep=keep, asks=False, coarse=coarse, spread=0.0)
    ranked = (Surprisal(reads, "mean"), select.Order("document"))
    return System(Pipeline(*ranked, prune, Keep(reader, keep)), reader).with_budget(max_tokens)
