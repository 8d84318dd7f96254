"""Whole methods, each a composition of the rooms: one function a method, one row in `SYSTEMS`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ragsieve.errors import InputError
from ragsieve.models.base import LLM, Embedder
from ragsieve.pipeline import System
from ragsieve.systems.baselines import all_documents, closed_book, top_documents, top_sentences
from ragsieve.systems.finefilter import finefilter

__all__ = [
    "SYSTEMS",
    "all_documents",
    "build",
    "closed_book",
    "finefilter",
    "top_documents",
    "top_sentences",
]


@dataclass(frozen=True)
class Entry:
    """A system by name.

    Args:
        build: Makes it from a generator and an embedder.
        summary: What it does, in a line.
        needs: Models it runs before the generator reads.
        paper: Where it is from; empty for plain ones.
    """

    build: Callable[[LLM, Embedder], System]
    summary: str
    needs: str
    paper: str = ""


SYSTEMS: dict[str, Entry] = {
    "finefilter": Entry(
        finefilter,
        "extract clue sentences, rank them, keep the fewest that answer",
        "LLM, embedder",
        "arXiv 2502.11811v4",
    ),
    "finefilter-write": Entry(
        lambda llm, embedder: finefilter(llm, embedder, mode="write", order="score"),
        "the same as printed in the paper: clues are written out, and read best first",
        "LLM, embedder",
        "arXiv 2502.11811v4",
    ),
    "top-sentences": Entry(
        top_sentences, "the 5 sentences nearest to the question by embedding", "embedder"
    ),
    "top-documents": Entry(
        lambda llm, _: top_documents(llm), "the first 5 documents as retrieved", "nothing"
    ),
    "all": Entry(lambda llm, _: all_documents(llm), "every document whole", "nothing"),
    "closed-book": Entry(
        lambda llm, _: closed_book(llm), "no document: the model by itself", "nothing"
    ),
}


def build(name: str, llm: LLM, embedder: Embedder) -> System:
    """The system ``name`` of `SYSTEMS`, at its defaults.

    Raises:
        InputError: If there is no such system.
    """
    if name not in SYSTEMS:
        raise InputError(f"system must be one of {', '.join(SYSTEMS)}, got {name!r}")
    return SYSTEMS[name].build(llm, embedder)
