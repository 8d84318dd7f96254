"""Other models in place of those of a benchmark's file."""

from dataclasses import dataclass, field
from typing import Any

import msgspec

from ragsieve import models
from ragsieve.systems.base import PARTS
from ragsieve_research.datasets import DATASETS
from ragsieve_research.evaluate.config import (
    BenchSystem,
    Config,
    Data,
    Generator,
    is_folder,
    label,
    same,
)
from ragsieve_research.evaluate.declared import shared


@dataclass(frozen=True)
class Override:
    """Models in place of a recipe's.

    Args:
        llm: The generator, and every LLM that a system's part has, but those in a folder named
            ``./…``, which are trained. Systems that are then the same run once; a label of another
            says with which model it runs.
        judge: Says whether answers mean the same.
        embedder: Of the run, and of systems that name their own.
        reranker: The cross-encoder, or sentence pruner, of systems that name a cross-encoder.
        layout: Of the run's questions, where a data set of it names none: beir, dpr, kilt …
        fields: Keys that these have something under, as documents=positive_ctxs,negative_ctxs.
        model_options: An option of a model by its name, as openai:NAME.base_url=URL.
    """

    llm: str | None = None
    judge: str | None = None
    embedder: str | None = None
    reranker: str | None = None
    layout: str | None = None
    fields: tuple[str, ...] = ()
    model_options: dict[str, dict[str, Any]] = field(default_factory=dict)

    def applied(self, config: Config) -> Config:
        """The run with these models.

        Raises:
            InputError: If one is not of the kind that it stands for.
        """
        kinds = {"LLM": self.llm, "embedder": self.embedder, "cross-encoder": self.reranker}
        for kind, name in (*kinds.items(), ("LLM", self.judge)):
            if name:
                models.check(name, *PARTS["reranker"] if kind == "cross-encoder" else [kind])

        def other(name: str) -> str:
            own = "" if is_folder(name) else kinds.get(models.kind_of(name))
            return own or name

        def replaced(one: BenchSystem) -> BenchSystem:
            own = {part: other(name) for part, name in one.models.items()}
            new = ", ".join({n: "" for part, n in own.items() if n != one.models[part]})
            name = f"{one.label} (with {new})" if one.label and new else one.label
            return msgspec.structs.replace(one, models=own, label=name)

        labelled = {label(one): replaced(one) for one in config.systems}
        first = sorted(labelled, key=lambda name: name != config.baseline)  # it is the one to stay
        roles = {"embedder": self.embedder or config.embedder, "pruner": config.pruner}
        twice = {n for _, n in same([labelled[n] for n in first], {**roles, "llm": self.llm})}
        systems = [one for one in labelled.values() if label(one) not in twice]
        changes: dict[str, Any] = {"systems": systems}
        changes |= {"baseline": label(labelled[config.baseline])} if config.baseline else {}
        generators = (Generator(llm=self.llm),) if self.llm else config.generators
        options = models.named(config.model_options, self.model_options)
        changes["generators"], changes["model_options"] = shared(generators, options)
        changes["data"] = [self._laid_out(data) for data in config.data]
        changes |= {"judge": self.judge} if self.judge is not None else {}
        changes |= {"embedder": self.embedder} if self.embedder else {}
        return msgspec.structs.replace(config, **changes)

    def _laid_out(self, data: Data) -> Data:
        own = {"layout": data.layout or self.layout or "", "fields": data.fields or self.fields}
        return data if data.name in DATASETS else msgspec.structs.replace(data, **own)
