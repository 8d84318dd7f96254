"""Sources by name, for commands, servers and benchmarks: an index, or a TOML file of sources."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ragsieve.models.sharing import Share
from ragsieve.schema import Count, Schema
from ragsieve.sources import Load
from ragsieve.system import Source
from ragsieve_research.artifacts.router import (
    check_router,
    named_router,
    router_content,
    router_models,
)
from ragsieve_research.retrieve import indexes
from ragsieve_research.retrieve.corpus import By
from ragsieve_research.retrieve.route import Routed
from ragsieve_research.retrieve.sources import read_sources, source_models, sources_content


class Index(Schema, frozen=True, kw_only=True):
    """An index: its best chunks for a question.

    Args:
        place: Its folder, as `ragsieve index build` left it.
        k: Chunks for a question.
        by: How it is searched; hybrid, or by BM25 where it has no embedder, where None.
    """

    place: str
    k: Count = 20
    by: By | None = None

    def check(self) -> None:
        """Raise `InputError` where there is no index that was built to its end."""
        indexes.ready(Path(self.place))

    def identity(self) -> Mapping[str, Any]:
        """What the index holds, and how it is searched."""
        return {"index": indexes.content(self.place), "k": self.k, "by": self.by}

    def models(self) -> list[str]:
        """Its embedder by name, where it is searched by one."""
        return indexes.index_embedder(self.place, self.by)

    def about(self) -> Mapping[str, Any]:
        """How many documents and passages it holds."""
        with indexes.open_words(self.place) as corpus:
            about = corpus.about()
        return {"documents": about.documents, "passages": about.chunks}

    def open(self, llm: Any, load: Load, share: Share) -> Source:
        """See `ragsieve.sources.SourceKind.open`."""
        return indexes.index_source(self.place, load, k=self.k, by=self.by)


class Sources(Schema, frozen=True, kw_only=True):
    """Sources of a TOML file (`ragsieve_research.retrieve.sources`), asked as a router says.

    Args:
        place: The file.
        router: ``"all"``, ``"only:NAME,NAME"``, ``"llm"``, or a trained router's folder.
        data: Folder of data sets that the file names; see `ragsieve_research.datasets.load`.
    """

    place: str
    router: str = "all"
    data: str | None = None

    @property
    def _folder(self) -> Path | None:
        return Path(self.data) if self.data else None

    def check(self) -> None:
        """Raise `InputError` where file or router cannot be used."""
        sources_content(self.place, data=self._folder)
        check_router(self.router)

    def identity(self) -> Mapping[str, Any]:
        """What the file and the files that it names hold, and the router."""
        return {
            "sources": sources_content(self.place, data=self._folder),
            "router": router_content(self.router),
        }

    def models(self) -> list[str]:
        """Embedders of its indexes and a trained router's model, by name."""
        return [*source_models(self.place), *router_models(self.router)]

    def about(self) -> Mapping[str, Any]:
        """Its file and its router."""
        return {"sources": Path(self.place).name, "router": self.router}

    def open(self, llm: Any, load: Load, share: Share) -> Source:
        """See `ragsieve.sources.SourceKind.open`."""
        sources = read_sources(self.place, load, data=self._folder)
        return Routed(sources, named_router(self.router, llm, sources, share))
