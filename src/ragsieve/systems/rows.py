"""Rows that a question's conditions pick, and what else there is through other stages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ragsieve.models.query_focus import asked
from ragsieve.structure.cells import Run, runs
from ragsieve.structure.conditions import Reading, read
from ragsieve.structure.tree import places
from ragsieve.system import Pipeline
from ragsieve.trace import note, record_drop, set_answerable, step
from ragsieve.types import Document, Key, Listed, Query, Segment, StageResult, grouped

_RANKED = 24  # rows that meet conditions, at most, which the stages inside read to rank them


class Rows(Pipeline):
    """Keep all rows that meet a question's conditions, drop the others; the rest goes on inside.

    Where the question sets conditions on rows of a table, a list of objects, records or lines of
    one template (see `ragsieve.structure.conditions`), they decide: the stages inside read no other
    rows of it, and these only to rank them where they are few. Where the question asks for what no
    single row settles, as the highest or how many, all rows stay that meet the conditions that were
    read. What is shown says how many of how many rows it has, and why.

    Rows that meet conditions get the score ``rows``, from 0.5 to 1, by the stages' score.

    Args:
        stages: For what the conditions do not drop.
        on_error: See `ragsieve.Pipeline`.
    """

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> StageResult:
        picks = _Picks(asked(query.text), segments)
        if not picks.said:
            return super().__call__(query, segments)
        with step(f"{type(self).__name__}()", segments) as record:
            record.after = tuple(s for s in segments if s.key not in picks.dropped)
            for segment in segments:
                if reason := picks.dropped.get(segment.key):
                    record_drop(segment, reason)
            for line in picks.said:
                note(line)
            if picks.met:
                set_answerable(1.0)
        many = picks.met if len(picks.met) > _RANKED else ()
        after = [picks.marked[s.key] for s in segments if s.key not in picks.dropped]
        inside = [s for s in after if s.key not in many]
        result = super().__call__(query, inside) if inside else StageResult()
        kept = {s.key: s for s in result}
        for segment in after:
            if segment.key in picks.stay:
                own = kept.get(segment.key, segment)
                value = own.score if own.scores else 0.0
                value = (1 + value) / 2 if segment.key in picks.met else value
                kept[segment.key] = own.scored("rows", value)
        together = [kept[s.key] for s in after if s.key in kept]
        return StageResult(together, answer=result.answer, found=result.found)


class _Picks:
    """What conditions say of segments.

    Args:
        question: Sets them.
        segments: Of documents.
    """

    def __init__(self, question: str, segments: Sequence[Segment]) -> None:
        self.marked: dict[Key, Segment] = {}  # all, of documents that know their lists
        self.stay: set[Key] = set()
        self.met: set[Key] = set()  # those that meet conditions
        self.dropped: dict[Key, str] = {}
        self.said: list[str] = []
        for document, some in grouped(segments, lambda s: s.document).items():
            found = [(run, read(question, run)) for run in runs(document.text)]
            found = [one for one in found if one[1].conditions or one[1].whole]
            found = [one for one in found if _is_cut(one[0], some)]
            if found:
                lists = tuple(
                    Listed((*run.rows,), len(x.rows), x.said, run.lines) for run, x in found
                )
                document = replace(document, layout=replace(document.layout, lists=lists))
                some = [replace(s, document=document) for s in some]
            self.marked |= {s.key: s for s in some}
            ordered = sorted(some, key=lambda s: (s.start, s.end))
            for run, reading in found:
                self._part(run, reading, ordered, document)

    def _part(
        self, run: Run, reading: Reading, segments: Sequence[Segment], document: Document
    ) -> None:
        """Let segments of a run stay or go."""
        rows = f"{len(reading.rows)} of {len(run.rows)} rows of document {document.id!r:.80}"
        self.said.append(f"{rows}: {reading.said or 'what is asked no single row settles'}")
        spans = [(s.start, s.end) for s in segments]
        head = [run.head] if run.head and reading.rows else []
        asked_for = [*head, *(run.rows[n] for n in sorted(reading.rows))]
        stay = {segments[n].key for span in asked_for for n in places(spans, *span)}
        self.stay |= stay
        self.met |= stay if reading.conditions else set()
        for n in places(spans, run.start, run.end):
            one = segments[n]
            begins = run.start <= one.start or not run.lines  # else it has what stands above
            ends = not re.search(r"\w", run.text[run.end : one.end])
            if one.key not in stay and begins and ends:
                self.dropped[one.key] = f"a row without {reading.said}"


def _is_cut(run: Run, segments: Sequence[Segment]) -> bool:
    """Whether its rows are of several segments."""
    return sum(s.start < run.end and run.start < s.end for s in segments) > 1
