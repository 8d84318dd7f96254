"""Two ways through a pipeline: for languages that a model reads, and for the rest."""

import logging
import re
from collections.abc import Collection, Sequence
from functools import cache
from operator import attrgetter
from typing import Self

from ragsieve.models.query_focus import asked
from ragsieve.score.ngrams import Ngrams
from ragsieve.structure import outline, pieces
from ragsieve.structure.tree import CODE
from ragsieve.system import Cuts, OnError, Pipeline, Stage
from ragsieve.text import language
from ragsieve.trace import note, step, warn
from ragsieve.types import Document, Query, Segment, StageResult, of_documents

logger = logging.getLogger(__name__)

_SHORT = 60  # characters below which a document's language must be as certain as this:
_CERTAIN = 0.9
_LEAST = 0.15  # share of the characters of a text that stand in words
_RUNNING = re.compile(r"(?<![^\s\"'(])[A-Za-z]+(?=[.,;:!?)\"']*(?:\s|\Z))")


class ByLanguage(Pipeline):
    """Filter documents in some languages by the first stage, those in others by the second.

    A question in another language takes all documents to the second stage; the trace and, once a
    process, a warning say where shared characters decide. The order of segments stays. Scores by
    shared characters are no probabilities: what has them ranks behind what the first stage kept.

    Args:
        stages: Two, for these languages and for the rest; both keep the order of what they keep.
        languages: Codes of `ragsieve.text.language` that the first one reads.
        on_error: See `ragsieve.Pipeline`.
    """

    languages: frozenset[str]

    def __init__(
        self, *stages: Stage, languages: Collection[str] = ("en",), on_error: OnError = "raise"
    ) -> None:
        super().__init__(*stages, on_error=on_error)
        object.__setattr__(self, "languages", frozenset(languages))

    def lenient(self) -> Self:
        """See `ragsieve.Pipeline.lenient`."""
        return self._of(*super().lenient().stages, on_error="keep")

    def at(self, cuts: Cuts) -> tuple[Self, Cuts]:
        """The same at other numbers, each stage at those that it has."""
        changed = [Pipeline(stage).at(cuts) for stage in self.stages]
        others = zip(*(cuts for _, cuts in changed), strict=True)
        rest = [None if None in left else left[0] for left in others]
        return self._of(*(pipeline.stages[0] for pipeline, _ in changed)), Cuts(*rest)

    def _of(self, *stages: Stage, on_error: OnError | None = None) -> Self:
        on_error = on_error or self.on_error
        return type(self)(*stages, languages=self.languages, on_error=on_error)

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> StageResult:
        documents = of_documents(segments)
        question = language(asked(query.text))
        foreign = dict.fromkeys(documents, question)
        if question in self.languages:
            spoken = {name: _language_of(some[0].document) for name, some in documents.items()}
            foreign = {name: code for name, code in spoken.items() if code not in self.languages}
        if not foreign:
            return self._stage(0)(query, segments)
        codes = ", ".join(sorted({*foreign.values()}))
        with step("ByLanguage", segments) as record:
            said = f"not English ({codes}): {len(foreign)} of {len(documents)} documents are"
            if isinstance(self.stages[1], ByLanguage):
                note(f"question or documents are {said} read by another model")
            else:
                said = f"{said} filtered by shared characters"
                warn(f"question or documents are {said}, and more is kept")
                _warn_once()
            record.after = tuple(segments)
        read = [s for s in segments if s.document.id not in foreign]
        rest = [s for s in segments if s.document.id in foreign]
        best = self._stage(0)(query, read)
        kept = {s.key: s for s in (*best, *_behind(best, self._stage(1)(query, rest)))}
        return StageResult(kept[s.key] for s in segments if s.key in kept)

    def rated(self, query: Query, parts: Sequence[Segment], /) -> Sequence[float] | None:
        """By the stage that read their document."""
        codes = {language(asked(query.text)), *(_language_of(one.document) for one in parts[:1])}
        return self._stage(not codes <= self.languages).rated(query, parts)

    def _stage(self, place: int) -> Pipeline:
        """A stage, which is recorded where it does not record its own."""
        stage = self.stages[place]
        return stage if isinstance(stage, Pipeline) else Pipeline(stage, on_error=self.on_error)


def _language_of(document: Document) -> str:
    """Its language; a short one's names and numbers are English, unless it is clearly another.

    Code is English, and so is what has hardly a running word, whatever its names look like.
    """
    text = max(map(attrgetter("text"), pieces(document.text)), key=len)
    coded = sum(root.size for root in outline(text) if root.mark in CODE)
    running = sum(map(len, _RUNNING.findall(text)))
    if not text.isascii():
        running += sum(one.isalpha() and not one.isascii() for one in text)
    if 2 * coded > len(text) or running < _LEAST * len(text):
        return "en"
    return language(text, _CERTAIN if len(text) < _SHORT else None)


def _behind(first: Sequence[Segment], rest: Sequence[Segment]) -> list[Segment]:
    """The rest, those with scores by shared characters below all of the first, where it has any."""
    if (least := min((s.score for s in first if s.scores), default=None)) is None:
        return [*rest]
    return [s.scored("behind", s.score * least / 2) if Ngrams.name in s.scores else s for s in rest]


@cache
def _warn_once() -> None:
    what = "text in languages that no sentence pruner here reads is filtered by shared characters"
    more = "ragsieve[multilingual] brings one for fifteen more"
    logger.warning("%s, and more of it is kept: %s", what, more)
