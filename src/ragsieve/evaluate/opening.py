"""From names to a system: its models, and what finds evidence for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ragsieve import artifacts
from ragsieve.artifacts.router import check_router, named_router, router_content
from ragsieve.models.base import LLM
from ragsieve.models.sharing import Share
from ragsieve.pipeline import Source, System
from ragsieve.retrieve.corpus import By
from ragsieve.retrieve.route import Routed
from ragsieve.schema import Count, Schema
from ragsieve.systems.indexes import content, index_source, ready
from ragsieve.systems.sources import read_sources, sources_content

Load = Callable[[str], Any]
"""A model by its specification, shared as its callers need it."""


class EvidenceOptions(Schema, frozen=True, kw_only=True):
    """The places of a system's evidence: an index, sources, or, where both are empty, none.

    Args:
        index: Folder of an index (`ragsieve index build`): systems search it, and the questions'
            own documents are only what it is measured by.
        retrieve: Chunks that the index returns for a question.
        by: How it is searched; hybrid, or by BM25 where it has no embedder, where None.
        sources: TOML file of sources (`ragsieve.systems.sources`): each is searched as a router
            says, and the questions' own documents are only what it is measured by.
    """

    index: str = ""
    retrieve: Count = 20
    by: By | None = None
    sources: str = ""

    def check(self, router: str, data: Path | None = None) -> None:
        """Raise `InputError` where index, sources or router cannot be used; loads no model."""
        if self.index:
            ready(Path(self.index))
        if self.sources:
            sources_content(self.sources, data=data)
            check_router(router)

    def identity(self, router: str, data: Path | None = None) -> dict[str, Any]:
        """The inputs that results depend on: contents, not places."""
        parts: dict[str, Any] = {}
        if self.index:
            parts = {"index": content(self.index), "retrieve": self.retrieve, "by": self.by}
        if self.sources:
            parts["sources"] = sources_content(self.sources, data=data)
            parts["router"] = router_content(router)
        return parts

    def source(
        self, llm: LLM, load: Load, share: Share, router: str, data: Path | None = None
    ) -> Source | None:
        """The source of evidence; its models are loaded when they are needed.

        Args:
            llm: Chooses among sources, where the router is an LLM.
            load: Loads the other models.
            share: Wraps a trained router's models.
            router: Chooses among sources, see `ragsieve.artifacts.router.named_router`.
            data: Where data sets lie that sources name; see `ragsieve.datasets.load`.
        """
        if self.index:
            return index_source(self.index, load, k=self.retrieve, by=self.by)
        if not self.sources:
            return None
        sources = read_sources(self.sources, load, data=data)
        return Routed(sources, named_router(router, llm, sources, share))


def open_system(
    name: str,
    llm: LLM,
    options: Mapping[str, Any],
    models: tuple[Mapping[str, str], Mapping[str, str]],
    load: Load,
    **others: Any,
) -> System:
    """A system of models by their specifications; see `ragsieve.artifacts.build`.

    Args:
        name: One of `ragsieve.systems`, or a trained filter.
        llm: Its generator.
        options: Options other than their defaults.
        models: Of its parts and its roles, as `ragsieve.artifacts.building.models_of` has them.
        load: Loads them.
        others: What else it needs.

    Raises:
        InputError: If there is no such system, option or model.
    """
    parts, roles = ({part: load(model) for part, model in some.items()} for some in models)
    return artifacts.build(name, llm, {**options, **parts}, **roles, **others)
