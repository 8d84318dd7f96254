"""Fine-tune an LLM to choose sources, as `ragsieve_research.retrieve.route.LLMRouter` asks it."""

from collections.abc import Sequence
from pathlib import Path

from ragsieve.types import Query
from ragsieve_research.retrieve.route import Named, router_prompt
from ragsieve_research.train.plans import RouterPlan
from ragsieve_research.train.router import Bools
from ragsieve_research.train.run import Run
from ragsieve_research.train.sft import PromptSample, Tuning, tunable, tune_once

CHECKED = 10  # one question in so many says which state is the best, and is not learnt from


def train_llm_router(
    run: Run,
    queries: Sequence[Query],
    helps: Bools,
    sources: Sequence[Named],
    plan: RouterPlan,
    tuning: Tuning | None = None,
) -> Path:
    """Tune an LLM to say yes of the sources that help, and no of the others; see `tune_once`.

    ``LLMRouter(models.load(plan.base, adapter=...), trained=True)`` with the adapter that it
    returns is the router.

    Args:
        run: Where it works.
        queries: Questions; every tenth is not learnt from: by these the best state is chosen.
        helps: Which sources help each question, ``(n, n_sources)``.
        sources: The sources, by name and description.
        plan: How.
        tuning: More of that, where the plan's epochs are not all there is to say.

    Raises:
        InputError: If there are less than 2 questions.
        ModelError: If the model cannot be loaded.

    Source: PruningRAG (arXiv 2409.13694), section 4.2.1.
    Differs: One decision a source; see `LLMRouter`.
    """
    parts: tuple[list[PromptSample], list[PromptSample]] = ([], [])
    for place, (query, row) in enumerate(zip(queries, helps, strict=True)):
        parts[place % CHECKED == 0].extend(samples(query, row, sources))
    tuning = tuning or Tuning(epochs=plan.epochs, checks=2 * plan.epochs, seed=plan.seed)
    return tune_once(run, tunable(plan.base), parts, tuning=tuning, about={"part": "router"})


def samples(query: Query, helps: Sequence[bool], sources: Sequence[Named]) -> list[PromptSample]:
    """A router's prompts for a question, a source each, with the word to reply."""
    return [
        PromptSample(router_prompt(query, source), "yes" if good else "no")
        for source, good in zip(sources, helps, strict=True)
    ]
