"""Systems by name on fakes, and what tests ask of their results."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ragsieve import Query, Result, Segment, System
from ragsieve.errors import StoreError
from ragsieve.models.fake import HashingEmbedder, OverlapPruner
from ragsieve.systems import build
from ragsieve.systems.base import SYSTEMS

OWN = ("self-rag", "self-crag", "pe-rank", "llmlingua-2")  # need a model of their own
NAMES = [n for n in SYSTEMS if n not in OWN and not n.startswith(("langchain-", "llama-index-"))]


def on_fakes(
    name: str, llm: Any, embedder: Any = None, options: dict[str, Any] | None = None
) -> System:
    """A system of `NAMES` that needs no weights."""
    embedder = embedder or HashingEmbedder()
    return build(name, llm, embedder, options, pruner=OverlapPruner(), answers={})


@dataclass
class Finds:
    """A source: finds these segments, and remembers what it was asked."""

    found: Sequence[Segment]
    asked: list[Query] = field(default_factory=list)

    def __call__(self, query: Query, /) -> list[Segment]:
        self.asked.append(query)
        return [*self.found]

    @property
    def questions(self) -> list[str]:
        """The texts that it was asked."""
        return [query.text for query in self.asked]


def asking(question: str, *documents: Any, **more: Any) -> dict[str, Any]:
    """A question's record, as a line of a file has it."""
    return {"question": question, **more, "documents": [*documents]}


def loses(query: Query, /) -> list[Segment]:
    """A source that fails."""
    raise StoreError("the index\nis gone")


def answer(result: Result) -> str:
    """The answer's text."""
    return result.answer.text


def notes(result: Result) -> list[str]:
    """All notes of the trace's steps."""
    return [line for record in result.trace.steps for line in record.notes]
