"""Selective-Context: drop the text that a language model expects."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta

from ragsieve import select, split
from ragsieve.answer import Reader
from ragsieve.errors import check_choice
from ragsieve.models.base import LLM
from ragsieve.schema import Options
from ragsieve.system import Pipeline, Stage, System
from ragsieve.systems.base import system
from ragsieve.types import Query, Segment, rounded
from ragsieve_research.score.surprisal import Per, Surprisal
from ragsieve_research.systems.lingua import Joined

Unit = Literal["sentence", "phrase", "token"]
_PARAGRAPH = re.compile(r"[^\n]{1,20000}\n*|\n+")  # what spaCy is given at once
_WORD = re.compile(r"\w+|[^\w\s]")


@system("selective-context", needs="LLM", paper="arXiv 2310.06201", calls="surprisals")
def selective_context(
    llm: LLM,
    *,
    pruner: LLM | None = None,
    unit: Unit = "phrase",
    percent: float = 50.0,
    per: Per = "sum",
) -> System:
    """Keep noun phrases and words that a language model expects less than half of all.

    Args:
        llm: The generator.
        pruner: A language model that has `surprisals`; ``llm`` where None.
        unit: ``"sentence"``; ``"phrase"``: noun phrases, by spaCy's English model, and the words
            between; ``"token"``: words and punctuation marks, which no tokenizer cuts.
        percent: The percentile of all units' self-information, in [0, 100].
        per: Of a unit's tokens the ``"sum"``, or their ``"mean"``.

    Raises:
        InputError: If an option breaks its rule.
        MissingExtra: If spaCy is not installed, where ``unit`` is ``"phrase"``.

    Source: Selective-Context (arXiv 2310.06201), section 3.
    Differs: Tokens are read behind all that stands before them in their document, its title first,
        sentences of which the authors' code reads one by one. The percentile is that of all
        documents together. No token is cut inside a word.
    """
    stages = Pipeline(
        _units(unit),
        Surprisal(pruner or llm, per),
        Percentile(percent),
        select.Order("document"),
        Joined(),
    )
    return System(stages, Reader(llm))


def _units(unit: Unit) -> Stage:
    check_choice(Unit, unit=unit)
    if unit == "sentence":
        return split.Sentences()
    return Phrases() if unit == "phrase" else Phrases("")


@dataclass(frozen=True)
class Percentile(Options):
    """Keep segments scoring at least a percentile of all scores; the order stays.

    Args:
        percent: In [0, 100], linear between scores; 0 keeps all.

    Raises:
        InputError: If ``percent`` breaks its rule, or a segment has no score yet.
    """

    percent: Annotated[float, Meta(ge=0, le=100)]

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> list[Segment]:
        if not segments:
            return []
        scores = [rounded(s.score) for s in segments]
        least = min(rounded(float(np.percentile(scores, self.percent))), max(scores))
        return select.Threshold(least)(query, segments)


@cache
def _spacy(model: str) -> Any:
    """One pipeline for all systems of a process: it takes seconds to load."""
    from ragsieve_research.retrieve.apis.ner import Spacy  # where spaCy is needed

    return Spacy(model)


@dataclass(frozen=True)
class Phrases:
    """Split segments into noun phrases, and the words and punctuation marks between.

    Args:
        model: An installed package of spaCy's, or the folder of an English spaCy pipeline; where
            empty, nothing is a phrase.

    Raises:
        MissingExtra: If spaCy is not installed.
    """

    model: str = "en_core_web_sm"

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> list[Segment]:
        return [
            Segment(s.document, s.start + start, s.start + end)
            for s in segments
            for start, end in self._spans(s.text)
        ]

    def _spans(self, text: str) -> Iterator[tuple[int, int]]:
        at = 0
        for start, end in [*self._noun_phrases(text), (len(text), len(text))]:
            yield from (match.span() for match in _WORD.finditer(text, at, start))
            if start < end:
                yield start, end
            at = end

    def _noun_phrases(self, text: str) -> list[tuple[int, int]]:
        spans: list[tuple[int, int]] = []
        paragraphs = _PARAGRAPH.finditer(text) if self.model else ()
        for start, end in (match.span() for match in paragraphs):
            phrases = _spacy(self.model).noun_phrases(text[start:end])
            spans += [(start + first, start + last) for first, last in phrases]
        return spans
