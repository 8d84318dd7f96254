"""From questions and sources to a trained router's folder; what an earlier start did is kept.

WORK/plan.json                                    what the folder is of
WORK/train.jsonl, validation.jsonl                the questions
WORK/train.labels.jsonl, validation.labels.jsonl  from which sources the generator answers them
WORK/adapter-…                                    of an LLM: what was trained in one way

Routers of other forms, and from more questions, are trained in the same folder by the same labels.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from ragsieve import models, score, select, split
from ragsieve.answer import Reader
from ragsieve.datasets import Dataset, parts
from ragsieve.errors import InputError
from ragsieve.evaluate.questions import to_line
from ragsieve.evaluate.run import Batch, replace_lines
from ragsieve.models.base import Embedder
from ragsieve.models.sharing import sharing
from ragsieve.models.wrap import unwrap
from ragsieve.pipeline import Stage
from ragsieve.retrieve.route import LightRouter, LLMRouter, Named
from ragsieve.systems.indexes import WordCount
from ragsieve.systems.pruningrag import Within
from ragsieve.systems.sources import read_sources, sources_content
from ragsieve.train.artifacts import HELD_OUT, Told
from ragsieve.train.router import Bools, Labeller, Taught, figures, fit_light, questions
from ragsieve.trained import Base, Data, Split, sha256_of
from ragsieve.trained.router import Form, Known, TrainedRouter, check_router_folder, save_router
from ragsieve.trained.weights import verify
from ragsieve.types import Example

FORMS = ("light", "llm")
MAX_FAILED = 0.1  # share of questions that may fail: they are left out, and tried again next time
LIBRARIES = {"light": ("ragsieve", "scikit-learn"), "llm": ("ragsieve", "torch", "peft")}


@dataclass(frozen=True, kw_only=True)
class RouterPlan:
    """How a router is trained.

    Args:
        llm: The generator, by whose answers it learns.
        embedder: A bi-encoder: embeds questions, and finds the best evidence of each source.
        form: ``"light"``: regressions on the question's embedding; ``"llm"``: an LLM by LoRA,
            ``llm`` itself, or the one behind a colon.
        limit: Only so many questions to learn from, and a fifth of that to measure by; all where
            None.
        epochs: Of an LLM; at least 1.
        seed: Of all chance.

    Raises:
        InputError: If an option breaks its rule.
    """

    llm: str = "smollm2"
    embedder: str = "minilm"
    form: str = "light"
    limit: int | None = None
    epochs: int = 2
    seed: int = 0

    def __post_init__(self) -> None:
        if self.form not in FORMS and not self.form.startswith("llm:"):
            raise InputError(f"form must be light, llm or llm:MODEL, got {self.form!r}")
        for name in ("limit", "epochs"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"{name} must be at least 1, got {value!r}")
        models.check(self.llm, "LLM")
        models.check(self.embedder, "embedder")
        for name in {self.llm, self.embedder, self.base}:
            verify(Base(name))  # a name that could not be found again
        if self.kind == "llm":
            from ragsieve.train.sft import tunable

            tunable(self.base)

    @property
    def kind(self) -> Form:
        """The form without its model."""
        return "light" if self.form == "light" else "llm"

    @property
    def base(self) -> str:
        """The model that the router asks: its embedder, or the LLM that is tuned."""
        if self.kind == "light":
            return self.embedder
        return self.form.partition(":")[2] or self.llm


def pruned(embedder: Embedder) -> Stage:
    """What the generator reads of a source: its best 3 windows of 200 words, by embedding.

    Records of an API stay as they are, as in `ragsieve.systems.pruningrag`.

    Source: PruningRAG (arXiv 2409.13694), section 4.2.2.
    """
    return Within(
        split.Windows(WordCount(), max_tokens=200), score.Cosine(embedder), select.TopK(3)
    )


@dataclass(frozen=True)
class RouterTraining:
    """The way from questions to a trained router.

    Args:
        plan: How.
        data: Questions with gold answers.
        sources: The TOML file of the sources; see `ragsieve.systems.sources`.
        work: Folder of this training, and of no other; made where missing.
        workers: Questions at once, where the generator is asked; at least 1.
        told: Runs through questions as they are labelled; it is given the file's name and how many
            there are.
        folder: Where data sets lie that sources name; see `ragsieve.datasets.load`.

    Raises:
        InputError: In `run`, if ``work`` is of another training, or there is nothing to learn.
    """

    plan: RouterPlan
    data: Sequence[Dataset]
    sources: Path
    work: Path
    workers: int = 16
    told: Told | None = None
    folder: Path | None = None

    def run(self, folder: Path) -> TrainedRouter:
        """Take all steps, and write the router into ``folder``."""
        check_router_folder(folder)
        self._claim()
        limit = self.plan.limit
        limits: dict[parts.Part, int | None] = {
            "train": limit,
            "validation": limit and -(-limit // HELD_OUT),
        }
        with sharing(self.workers, cache=self.work / "cache.sqlite") as share:

            @cache
            def load(name: str) -> Any:
                return share(models.load(name))

            sources = read_sources(self.sources, load, data=self.folder)
            names = [source.name for source in sources]
            embedder = load(self.plan.embedder)
            labeller = Labeller(sources, Reader(load(self.plan.llm)), pruned(embedder))
            taught, held = (
                Taught.of(self._labelled(part, most, labeller), names, embedder)
                for part, most in limits.items()
            )
            if self.plan.kind == "light":
                light = fit_light(taught, names, embedder, seed=self.plan.seed)
                found = _measured(light, sources, held, held.helps(taught))
                return self._saved(folder, sources, taught, found, light)
        found = _measured(self._tuned(taught, sources), sources, held, held.helps(taught))
        return self._saved(folder, sources, taught, found)

    def _claim(self) -> None:
        """Note what ``work`` is of, or check that it says the same."""
        path, told = self.work / "plan.json", json.dumps(self._about(), indent=1)
        try:
            self.work.mkdir(parents=True, exist_ok=True)
            if not path.is_file():
                replace_lines(path, [told.encode()])
            if path.read_text(encoding="utf-8") != told:
                raise InputError(f"work must be a new folder or that of this plan, got {self.work}")
        except OSError as error:
            raise InputError(f"work cannot be used: {error.strerror or error}") from error

    def _about(self) -> dict[str, Any]:
        data = [[source.origin, source.sha256()] for source in self.data]
        known = {"llm": self.plan.llm, "embedder": self.plan.embedder}
        return {
            **known,
            "sources": sources_content(self.sources, data=self.folder),
            "data": data,
        }  # what labels depend on

    def _labelled(
        self, part: parts.Part, limit: int | None, labeller: Labeller
    ) -> list[dict[str, Any]]:
        """Labels of the questions of ``part``; those that an earlier start made stay."""
        given, name = self.work / f"{part}.jsonl", f"{part}.labels.jsonl"
        if not given.is_file():
            found = b"".join(map(to_line, sorted(questions(self.data, part), key=_hash)))
            if not found:
                raise InputError(f"data must have a question with a gold answer in part {part}")
            replace_lines(given, [found])
        label = f"router llm={self.plan.llm} embedder={self.plan.embedder}"
        with Batch(given, self.work / name, label=label) as batch:
            done = batch.run(labeller, workers=self.workers, limit=limit)
            labelled = self.told(name, done, batch.total(limit)) if self.told else [*done]
        errors = [one.error for one in labelled if one.error]
        if len(errors) > MAX_FAILED * len(labelled):
            raise errors[0]
        return [one.record for one in sorted(labelled, key=lambda one: one.line) if one.record]

    def _tuned(self, taught: Taught, sources: Sequence[Named]) -> LLMRouter:
        """The LLM, tuned where that is not done."""
        from ragsieve.train.router_llm import train_llm_router
        from ragsieve.train.sft import Tuning

        plan, folder = self.plan, self._adapter(taught)
        if not (folder / "recipe.json").is_file():
            tuning = Tuning(epochs=plan.epochs, checks=2 * plan.epochs, seed=plan.seed)
            given = (taught.queries, taught.helps(), sources)
            train_llm_router(folder, *given, llm=plan.base, tuning=tuning)
        return LLMRouter(models.load(plan.base, adapter=str(folder)), trained=True)

    def _adapter(self, taught: Taught) -> Path:
        """Where the adapter lies that these questions make in this way."""
        way = (self.plan.base, self.plan.epochs, self.plan.seed, [q.id for q in taught.queries])
        return self.work / f"adapter-{hashlib.sha256(repr(way).encode()).hexdigest()[:12]}"

    def _saved(
        self,
        folder: Path,
        sources: Sequence[Named],
        taught: Taught,
        found: dict[str, Any],
        light: LightRouter | None = None,
    ) -> TrainedRouter:
        plan = self.plan
        made = TrainedRouter(
            form=plan.kind,
            sources=tuple(Known(source.name, source.description) for source in sources),
            base=Base(plan.base, sha256_of(plan.base)),
            generator=Base(plan.llm, sha256_of(plan.llm)),
            identity=light.embedder.identity if light else "",
            data=tuple(_counted(source, taught) for source in self.data),
            split=Split(parts.SALT, parts.RULE),
            training={**asdict(plan), "questions": len(taught.queries)},
            figures=found,
            versions={name: version(name) for name in LIBRARIES[plan.kind]},
        )
        save_router(folder, made, light=light, adapter=None if light else self._adapter(taught))
        return made


def _hash(example: Example) -> bytes:
    """An order that has nothing to do with that of the file: the first so many are a sample."""
    return hashlib.sha256(example.query.text.encode("utf-8", "surrogatepass")).digest()


def _counted(source: Dataset, taught: Taught) -> Data:
    licence = source.entry.licence if source.entry else "the user's own"
    learnt = sum(query.id.startswith(f"{source.name}:") for query in taught.queries)
    return Data(source.name, licence, learnt, source.sha256())


def _measured(
    router: LightRouter | LLMRouter, sources: Sequence[Named], held: Taught, helps: Bools
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
