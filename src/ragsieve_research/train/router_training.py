"""From questions and sources to a trained router's folder; resumable."""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from ragsieve import models, score, select
from ragsieve.models.base import Embedder
from ragsieve.models.wrap import unwrap
from ragsieve.system import Stage
from ragsieve.types import Example
from ragsieve_research.answer.reasoning import Reasoning
from ragsieve_research.artifacts.recipe import Base, Known, Split, TrainedRouter
from ragsieve_research.artifacts.router import check_router_folder, save_router
from ragsieve_research.artifacts.weights import sha256_of
from ragsieve_research.datasets import parts
from ragsieve_research.retrieve.indexes import WordCount
from ragsieve_research.retrieve.route import LightRouter, LLMRouter, Named
from ragsieve_research.retrieve.sources import read_sources, sources_content
from ragsieve_research.split.windows import Windows
from ragsieve_research.systems.pruningrag import Within
from ragsieve_research.train.plans import RouterPlan
from ragsieve_research.train.router import (
    KNOWN,
    Bools,
    RouterLabels,
    SourceLabeller,
    figures,
    fit_light,
)
from ragsieve_research.train.run import Run, counted, limits

FEW = 100  # questions under which a warning is given
MAX_FAILED = 0.1  # share of questions that may fail: they are left out, and tried again next time
LIBRARIES = {"light": ("ragsieve", "scikit-learn"), "llm": ("ragsieve", "torch", "peft")}


def pruned(embedder: Embedder) -> Stage:
    """The generator's view of a source: its best 3 windows of 200 words, by embedding.

    Records of an API stay as they are, as in `ragsieve_research.systems.pruningrag`.

    Source: PruningRAG (arXiv 2409.13694), section 4.2.2.
    """
    return Within(Windows(WordCount(), max_tokens=200), score.Cosine(embedder), select.TopK(3))


def train_router(
    folder: Path, plan: RouterPlan, run: Run, sources: Path, *, data: Path | None = None
) -> TrainedRouter:
    """Train a router of sources, and write it into ``folder``.

    Routers of other forms, and from more questions, are trained in the same ``work`` by the same
    labels.

    Args:
        folder: New, or one of an earlier training.
        plan: How.
        run: What is read, and where it works.
        sources: The TOML file of the sources; see `ragsieve_research.retrieve.sources`.
        data: Where data sets lie that sources name; see `ragsieve_research.datasets.load`.

    Raises:
        InputError: If ``folder`` holds something else, ``work`` is of another training, or there is
            nothing to learn.
        ModelError: If a model or a source fails for too many questions.
    """
    check_router_folder(folder)
    content = sources_content(sources, data=data)  # what labels depend on
    run.check_same_run(
        {"llm": plan.llm, "embedder": plan.embedder, "sources": content}
        | {"prompt": "reasoning_short"}
    )
    run.write_questions(None, _known, documents=False, key=_hash)
    with run.sharing() as share:
        load = cache(lambda name: share(models.load(name)))
        named, embedder = read_sources(sources, load, data=data), load(plan.embedder)
        names = [source.name for source in named]
        labeller = SourceLabeller(
            named, Reasoning(load(plan.llm), examples=0, cot=False), pruned(embedder)
        )
        known, held = (
            RouterLabels.of(_labelled(plan, run, part, most, labeller), names, embedder)
            for part, most in limits(plan.limit).items()
        )
        router: LightRouter | LLMRouter
        if plan.kind == "light":
            adapter, router = None, fit_light(known, names, embedder, seed=plan.seed)
            measured = _measured(router, named, held, held.helps(known))
    if plan.kind == "llm":  # when the other models have been let go
        from ragsieve_research.train.router_llm import train_llm_router

        adapter = train_llm_router(run, known.queries, known.helps(), named, plan)
        router = LLMRouter(models.load(plan.base, adapter=str(adapter)), trained=True)
        measured = _measured(router, named, held, held.helps(known))
    return _saved(folder, plan, run, named, known, measured, router, adapter)


def _labelled(
    plan: RouterPlan, run: Run, part: parts.Part, limit: int | None, labeller: SourceLabeller
) -> list[dict[str, Any]]:
    """Labels of the questions of ``part``; those that an earlier start made stay."""
    by = f"router llm={plan.llm} embedder={plan.embedder}"
    name = run.path(part, "labels").name
    done = run.ask(part, name, labeller, by=by, limit=limit, max_failed=MAX_FAILED)
    return [one.record for one in sorted(done, key=lambda one: one.line) if one.record]


def _known(example: Example, _: Sequence[Example]) -> Example:
    """A question without metadata but for the sources that are known to help."""
    known = {name: value for name, value in example.metadata.items() if name == KNOWN}
    return replace(example, metadata=known)


def _saved(
    folder: Path,
    plan: RouterPlan,
    run: Run,
    sources: Sequence[Named],
    known: RouterLabels,
    measured: dict[str, Any],
    router: LightRouter | LLMRouter,
    adapter: Path | None,
) -> TrainedRouter:
    few = _few(len(known.queries))
    for line in few:
        run.warn(line)
    light = router if isinstance(router, LightRouter) else None
    trained = TrainedRouter(
        form=plan.kind,
        sources=tuple(Known(source.name, source.description) for source in sources),
        base=Base(plan.base, sha256_of(plan.base)),
        generator=Base(plan.llm, sha256_of(plan.llm)),
        identity=light.embedder.identity if light else "",
        data=counted(run.sources, [query.id for query in known.queries]),
        split=Split(parts.SALT, parts.RULE),
        training={**asdict(plan), "questions": len(known.queries)},
        figures=measured,
        versions={name: version(name) for name in LIBRARIES[plan.kind]},
    )
    save_router(folder, trained, light=light, adapter=adapter, limits=few)
    return trained


def _few(questions: int) -> list[str]:
    """The warning of a router that was taught on so many questions, where these are few."""
    if questions >= FEW:
        return []
    return [
        f"it was taught on {questions} questions, which are few: with under {FEW}, it may choose "
        "no better than by chance"
    ]


def _hash(example: Example) -> bytes:
    """An order that has nothing to do with that of the file: the first so many are a sample."""
    return hashlib.sha256(example.query.text.encode("utf-8", "surrogatepass")).digest()


def _measured(
    router: LightRouter | LLMRouter, sources: Sequence[Named], held: RouterLabels, helps: Bools
) -> dict[str, Any]:
    """Figures on questions that were not learnt from, and the seconds of a choice."""
    names = [source.name for source in sources]
    if isinstance(router, LightRouter):  # a cache would remember the questions
        router = replace(router, embedder=unwrap(router.embedder))
    router(held.queries[0], sources)  # loads its model
    start = perf_counter()
    chosen = [router(query, sources) for query in held.queries]
    seconds = (perf_counter() - start) / len(chosen)
    rows = np.array([[name in some for name in names] for some in chosen])  # (n, n_sources)
    return {**figures(names, rows, helps, held.right), "seconds": seconds}
