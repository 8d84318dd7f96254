"""Whole methods, each a composition of the rooms: one function a method, one row in `SYSTEMS`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import Parameter, signature
from typing import Any

from ragsieve.errors import InputError
from ragsieve.models.base import LLM, ClueReader, Embedder
from ragsieve.pipeline import Source, System
from ragsieve.systems.baselines import (
    all_documents,
    closed_book,
    clue_sentences,
    nearest_documents,
    oracle,
    top_documents,
    top_sentences,
)
from ragsieve.systems.chunkrag import chunkrag
from ragsieve.systems.demonstrated import icl, instructrag_icl
from ragsieve.systems.finefilter import finefilter
from ragsieve.systems.frameworks import hyde, iter_retgen, rewrite_retrieve_read
from ragsieve.systems.pruningrag import pruningrag
from ragsieve.systems.selfask import self_ask
from ragsieve.systems.selfrag import self_rag
from ragsieve.systems.winnowrag import Winnow, winnowrag

__all__ = [
    "SYSTEMS",
    "Winnow",
    "all_documents",
    "build",
    "chunkrag",
    "closed_book",
    "clue_sentences",
    "finefilter",
    "hyde",
    "icl",
    "instructrag_icl",
    "iter_retgen",
    "nearest_documents",
    "oracle",
    "pruningrag",
    "rewrite_retrieve_read",
    "self_ask",
    "self_rag",
    "top_documents",
    "top_sentences",
    "winnowrag",
]

ROLES = {"embedder": "embedder", "clues": "clue reader"}
"""Models that systems may need beside a generator, by the name of the argument: their kind."""


@dataclass(frozen=True)
class Entry:
    """A system by name.

    Args:
        make: Makes it from a generator, then what ``needs`` names of `ROLES`; keywords are options.
        summary: What it does, in a line.
        needs: Models it runs before the generator reads.
        paper: Where it is from; empty for plain ones.
    """

    make: Callable[..., System]
    summary: str
    needs: str
    paper: str = ""

    @property
    def roles(self) -> tuple[str, ...]:
        """Which models of `ROLES` it needs, in the order in which ``make`` takes them."""
        return tuple(role for role, kind in ROLES.items() if kind in self.needs.split(", "))

    @property
    def knows(self) -> bool:
        """Whether it is told the gold answers, which only a benchmark has."""
        return "gold answers" in self.needs.split(", ")

    @property
    def options(self) -> dict[str, Any]:
        """Its options by name, with their defaults; a source is none of them."""
        found = signature(self.make).parameters.values()
        keywords = [p for p in found if p.kind is Parameter.KEYWORD_ONLY]
        return {p.name: p.default for p in keywords if p.name != "source"}

    @property
    def searches(self) -> bool:
        """Whether it asks a source in a way of its own."""
        return "source" in signature(self.make).parameters


SYSTEMS: dict[str, Entry] = {
    "finefilter-point": Entry(
        finefilter,
        "an untrained LLM names clue sentences by number, and how many of the ranked ones stay",
        "LLM, embedder",
        "arXiv 2502.11811v4",
    ),
    "finefilter-write": Entry(
        partial(finefilter, mode="write", order="score"),
        "the same as printed in the paper: clues are written out, and read best first",
        "LLM, embedder",
        "arXiv 2502.11811v4",
    ),
    "winnowrag": Entry(
        winnowrag,
        "clusters of documents answer, a critic winnows: the documents of the answer that stands",
        "LLM, embedder",
        "arXiv 2511.04700v1",
    ),
    "winnowrag-oracle": Entry(
        winnowrag,
        "the same with a critic that knows the gold answers; for `bench`",
        "LLM, embedder, gold answers",
        "arXiv 2511.04700v1",
    ),
    "chunkrag": Entry(
        chunkrag,
        "semantic chunks that an LLM and a critic rate, above a threshold made for the scores",
        "LLM, embedder",
        "arXiv 2410.19572",
    ),
    "chunkrag-likelihood": Entry(
        partial(chunkrag, rating="likelihood", threshold="statistics", rewrite=False),
        "the same for small LLMs: chunks are rated by how probable they make the question",
        "LLM, embedder",
        "arXiv 2410.19572",
    ),
    "pruningrag": Entry(
        pruningrag,
        "the 3 best windows of each source that was asked, read step by step after worked examples",
        "LLM, embedder",
        "arXiv 2409.13694",
    ),
    "hyde": Entry(
        hyde,
        "chunks found by a passage that the model makes up as the answer",
        "LLM, embedder",
        "arXiv 2212.10496",
    ),
    "rewrite-retrieve-read": Entry(
        rewrite_retrieve_read,
        "chunks found by the question in the model's words",
        "LLM, embedder",
        "arXiv 2305.14283",
    ),
    "iter-retgen": Entry(
        iter_retgen,
        "chunks found by the answer so far with the question, three times",
        "LLM, embedder",
        "arXiv 2305.15294",
    ),
    "self-ask": Entry(
        self_ask,
        "the model asks up to 5 follow-up questions, each is looked up, then it answers",
        "LLM, embedder",
        "arXiv 2210.03350",
    ),
    "self-rag": Entry(
        self_rag,
        "retrieval on demand, sentence by sentence, by a model with reflection tokens",
        "LLM, embedder",
        "arXiv 2310.11511",
    ),
    "self-rag-prompted": Entry(
        partial(self_rag, reflection="prompted"),
        "the same for any LLM: it is prompted for each judgement",
        "LLM, embedder",
        "arXiv 2310.11511",
    ),
    "top-sentences": Entry(
        top_sentences, "the 5 sentences nearest to the question by embedding", "embedder"
    ),
    "clues": Entry(
        clue_sentences,
        "the 5 sentences that most probably answer, by one reading of a trained model",
        "clue reader",
    ),
    "top-documents": Entry(top_documents, "the first 5 documents as retrieved", "nothing"),
    "nearest-documents": Entry(
        nearest_documents,
        "the 5 documents nearest to the question by embedding, or best by a cross-encoder",
        "embedder",
    ),
    "icl": Entry(
        icl,
        "every document whole, after worked questions with their answers",
        "nothing",
        "arXiv 2406.13629",
    ),
    "instructrag-icl": Entry(
        instructrag_icl,
        "every document whole; the model says which help before it answers, after worked examples",
        "nothing",
        "arXiv 2406.13629",
    ),
    "all": Entry(all_documents, "every document whole", "nothing"),
    "closed-book": Entry(closed_book, "no document: the model by itself", "nothing"),
    "oracle": Entry(oracle, "the sentences with a gold answer; for `bench`", "gold answers"),
}


def build(
    name: str,
    llm: LLM,
    embedder: Embedder | None = None,
    options: Mapping[str, Any] | None = None,
    *,
    clues: ClueReader | None = None,
    answers: Mapping[str, Sequence[str]] | None = None,
    source: Source | None = None,
) -> System:
    """The system ``name`` of `SYSTEMS`.

    Args:
        name: Which.
        llm: Its generator.
        embedder: Its embedder, where it needs one.
        options: Options other than their defaults, by name.
        clues: Its clue reader, where it needs one.
        answers: Gold answers by question, where it needs them.
        source: Finds evidence where the caller passes no documents, as an index does.

    Raises:
        InputError: If there is no such system or option, an option breaks its rule, or something
            that it needs is missing.
    """
    if name not in SYSTEMS:
        raise InputError(f"system must be one of {', '.join(SYSTEMS)}, got {name!r}")
    entry = SYSTEMS[name]
    check_options(name, entry, options)
    given = {"embedder": embedder, "clues": clues}
    for role in entry.roles:
        if given[role] is None:
            raise InputError(f"{name} needs {role}, a model of kind {ROLES[role]}, got none")
    if entry.knows and answers is None:
        raise InputError(f"{name} needs the gold answers, which only `ragsieve bench` knows")
    models = [given[role] for role in entry.roles]
    told = [answers] if entry.knows else []
    if entry.searches:
        return entry.make(llm, *models, *told, source=source, **(options or {}))
    return entry.make(llm, *models, *told, **(options or {})).with_source(source)


def check_options(name: str, entry: Entry, options: Iterable[str] | None) -> None:
    """Raise `InputError` where the system ``name`` has no such option."""
    for option in options or ():
        if option not in entry.options:
            known = ", ".join(entry.options) or "none"
            raise InputError(f"options of {name} are {known}, got {option!r}")
