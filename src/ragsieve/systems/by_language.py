"""Two ways through a pipeline: for English, and for languages that the model cannot read."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cache
from typing import Self

from ragsieve.models.asked import asked
from ragsieve.pipeline import Cuts, Pipeline
from ragsieve.text import language
from ragsieve.trace import step, warn
from ragsieve.types import Query, Segment, StageResult

logger = logging.getLogger(__name__)


class ByLanguage(Pipeline):
    """Filter English documents by the first stage, those in other languages by the second.

    A question in another language takes all documents to the second stage; the trace and, once a
    process, a warning say so. The order of segments stays.

    Args:
        stages: Two, for English and for the rest; both keep the order of what they keep.
        on_error: See `ragsieve.Pipeline`.
    """

    def at(self, cuts: Cuts) -> tuple[Self, Cuts]:
        """The same at other numbers, each stage at those that it has."""
        changed = [Pipeline(stage).at(cuts) for stage in self.stages]
        rest = [
            None if None in left else left[0] for left in zip(*(c for _, c in changed), strict=True)
        ]
        stages = (pipeline.stages[0] for pipeline, _ in changed)
        return type(self)(*stages, on_error=self.on_error), Cuts(*rest)

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> StageResult:
        english, other = (Pipeline(stage, on_error=self.on_error) for stage in self.stages)
        documents = {s.document.id: s.document for s in segments}
        question = language(asked(query.text))
        foreign = {
            name: code
            for name, document in documents.items()
            if (code := question if question != "en" else language(document.text)) != "en"
        }
        if not foreign:
            return english(query, segments)
        codes = ", ".join(sorted({*foreign.values()}))
        with step("ByLanguage", segments) as record:
            warn(
                f"question or documents are not English ({codes}): {len(foreign)} of "
                f"{len(documents)} documents are filtered by shared characters, and more is kept"
            )
            record.after = tuple(segments)
        _warn_once()
        read = [s for s in segments if s.document.id not in foreign]
        rest = [s for s in segments if s.document.id in foreign]
        kept = {s.key: s for s in (*english(query, read), *other(query, rest))}
        return StageResult(kept[s.key] for s in segments if s.key in kept)

    def rated(self, query: Query, parts: Sequence[Segment], /) -> Sequence[float] | None:
        """By the stage that read their document."""
        english = all(language(text) == "en" for text in (asked(query.text), _text(parts)))
        return Pipeline(self.stages[not english], on_error=self.on_error).rated(query, parts)


def _text(segments: Sequence[Segment]) -> str:
    return segments[0].document.text if segments else ""


@cache
def _warn_once() -> None:
    logger.warning(
        "the sentence pruner reads English: text in other languages is filtered by shared "
        "characters, and more of it is kept"
    )
