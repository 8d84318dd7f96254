"""Fine-tune an LLM to choose sources, as `ragsieve.retrieve.route.LLMRouter` asks it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ragsieve.errors import InputError
from ragsieve.retrieve.route import Named, asked
from ragsieve.train.router import Bools
from ragsieve.train.sft import Log, Sample, Tuning, tunable, tune
from ragsieve.types import Query

CHECKED = 10  # one question in so many says which state is the best, and is not learnt from


def train_llm_router(
    folder: Path,
    queries: Sequence[Query],
    helps: Bools,
    sources: Sequence[Named],
    *,
    llm: str = "smollm2",
    tuning: Tuning | None = None,
) -> Log:
    """Tune an LLM to say yes of the sources that help, and no of the others.

    ``LLMRouter(models.load(llm, adapter=folder), trained=True)`` is the router.

    Args:
        folder: Becomes the adapter; see `ragsieve.train.sft.tune`.
        queries: Questions; every tenth is not learnt from: by these the best state is chosen.
        helps: Which sources help each question, ``(n, n_sources)``.
        sources: The sources, by name and description.
        llm: A local model: ``"smollm2"``, ``"transformers:…"`` or ``"seq2seq:…"``.
        tuning: How; that of `Tuning` with 2 epochs where None.

    Returns:
        What happened, as `ragsieve.train.sft.tune` gives it.

    Raises:
        InputError: If there are less than 2 questions, or other than one row of labels for each.
        ModelError: If the model cannot be loaded.

    Source: PruningRAG (arXiv 2409.13694), section 4.2.1.
    Differs: One decision a source; see `LLMRouter`.
    """
    if helps.shape != (len(queries), len(sources)) or len(queries) < 2:
        raise InputError(
            f"helps must be at least 2 questions by {len(sources)} sources, got {helps.shape}"
        )
    known = [samples(query, row, sources) for query, row in zip(queries, helps, strict=True)]
    checked = known[::CHECKED]
    learnt = [some for place, some in enumerate(known) if place % CHECKED]
    return tune(
        folder,
        [sample for some in learnt for sample in some],
        [sample for some in checked for sample in some],
        llm=tunable(llm),
        tuning=tuning or Tuning(epochs=2, checks=4),
        about={"part": "router"},
    )


def samples(query: Query, helps: Sequence[bool], sources: Sequence[Named]) -> list[Sample]:
    """What a router asks of a question, a source each, with the word to reply."""
    return [
        Sample(asked(query, source), "yes" if good else "no")
        for source, good in zip(sources, helps, strict=True)
    ]
