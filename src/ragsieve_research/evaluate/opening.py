"""Where a benchmark's systems find evidence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ragsieve.schema import Count, Schema
from ragsieve.sources import SourceKind
from ragsieve_research.artifacts.places import Index, Sources
from ragsieve_research.retrieve.corpus import By


class EvidenceOptions(Schema, frozen=True, kw_only=True):
    """The places of a system's evidence: an index, sources, or, where both are empty, none.

    Args:
        index: Folder of an index (`ragsieve index build`): systems search it, and the questions'
            own documents are only what it is measured by.
        retrieve: Chunks that the index returns for a question.
        by: How it is searched; hybrid, or by BM25 where it has no embedder, where None.
        sources: TOML file of sources (`ragsieve_research.retrieve.sources`): each is searched as a
            router says, and the questions' own documents are only what it is measured by.
    """

    index: str = ""
    retrieve: Count = 20
    by: By | None = None
    sources: str = ""

    def source(self, router: str, data: Path | None = None) -> SourceKind | None:
        """The source of evidence; None where it is the questions' documents.

        Args:
            router: Chooses among sources, see `ragsieve_research.artifacts.router.named_router`.
            data: Where data sets lie that sources name; see `ragsieve_research.datasets.load`.
        """
        if self.index:
            return Index(place=self.index, k=self.retrieve, by=self.by)
        if not self.sources:
            return None
        return Sources(place=self.sources, router=router, data=str(data) if data else None)

    def check(self, router: str, data: Path | None = None) -> None:
        """Raise `InputError` where index, sources or router cannot be used; loads no model."""
        if found := self.source(router, data):
            found.check()

    def identity(self, router: str, data: Path | None = None) -> dict[str, Any]:
        """The inputs that results depend on: contents, not places."""
        found = self.source(router, data)
        return dict(found.identity()) if found else {}
