"""BottleNeck: a filter model writes what the answer needs; copied sentences become spans."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ragsieve import select, split
from ragsieve.answer import Reader
from ragsieve.models.base import LLM
from ragsieve.prompts import title_of
from ragsieve.system import Pipeline, System
from ragsieve.systems.base import system
from ragsieve.trace import note
from ragsieve.types import Document, Query, Segment
from ragsieve_research.systems.written import Write

PROMPT = "filter_noise"
"""Template of the filter model's prompt; see `ragsieve_research.systems.written.Write`."""


@system("bottleneck", needs="LLM", paper="arXiv 2406.01549")
def bottleneck(
    llm: LLM,
    *,
    writer: LLM | None = None,
    documents: int = 5,
) -> System:
    """Have a model copy out or write what the answer needs; keep nothing where it writes nothing.

    Sentences that stand in a document word for word are spans of it; others are a document of their
    own, marked as written, with what they were written from as its parents.

    Args:
        llm: The generator.
        writer: The filter model: an LLM with what `ragsieve train writer --by ib` makes;
            ``llm``, prompted, where None.
        documents: So many of the first documents are read; not negative.

    Raises:
        InputError: If an option breaks its rule.

    Source: "An Information Bottleneck Perspective for Effective Noise Filtering on
        Retrieval-Augmented Generation" (arXiv 2406.01549): the noise filter, an LLM that writes the
        compressed text, before the generator.
    Differs: Untrained without a ``writer``. What was copied becomes spans again; the generator
        reads the same sentences in the same order, but those of a document behind its title.
        Prompts are ours. The generator is not tuned here; see `ragsieve_research.train.generator`.
    """
    stages = Pipeline(
        select.TopK(documents),
        split.Sentences(),
        Write(writer or llm, PROMPT, name="filtered"),
        split.Sentences(),
        Located(),
    )
    return System(stages, Reader(llm))


@dataclass(frozen=True)
class Located:
    """Written segments where they stand word for word in their parents' documents, each once.

    White space may differ. What stands nowhere stays as it is written; in several places, the first
    counts.
    """

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> list[Segment]:
        located = [_place(segment) or segment for segment in segments]
        invented = sum(bool(segment.document.written_by) for segment in located)
        if invented:
            note(f"{invented} of {len(located)} sentences are written, not copied")
        once: dict[object, Segment] = {}
        for segment in located:
            once.setdefault(segment.text if segment.document.written_by else segment.key, segment)
        return list(once.values())


def _place(segment: Segment) -> Segment | None:
    """The first span of a parent's document that reads like a written segment."""
    for document in _read(segment.document.parents):
        text = segment.text
        if title := title_of(document):  # a document's first sentence was read behind it
            text = text.removeprefix(f"{title}:")
        if words := text.split():
            wanted = r"(?<!\w)" + r"\s+".join(map(re.escape, words)) + r"(?!\w)"
            if place := re.search(wanted, document.text):
                return Segment(document, *place.span())
    return None


def _read(parents: Iterable[Segment]) -> Iterable[Document]:
    """The documents of ``parents``, each once, in order."""
    return {parent.document.id: parent.document for parent in parents}.values()
