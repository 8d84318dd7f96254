"""Rows that a question's conditions pick, and what else there is through other stages."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ragsieve.models.base import PASSAGE
from ragsieve.models.query_focus import asked
from ragsieve.structure.cells import Run, runs
from ragsieve.structure.tree import places
from ragsieve.system import Pipeline, best_first
from ragsieve.trace import record_drop, set_answerable, step
from ragsieve.types import PLACE, Document, Key, Listed, Query, Segment, StageResult, of_documents

if TYPE_CHECKING:
    from ragsieve.structure.conditions import Reading

_RANKED = 24  # rows that meet conditions, at most, which the stages inside read to rank them
_ALONE = 2.0  # times as probable as any other one of its document a passage answers alone
_LIKELY = 0.05  # and so probable at least


class Rows(Pipeline):
    """Keep all rows that meet a question's conditions, drop the others; the rest goes on inside.

    Where the question sets conditions on rows of a table, a list of objects, records or lines of
    one template (see `ragsieve.structure.conditions`), they decide: the stages inside read no other
    rows of it, and these only to rank them where they are few. Of a column's highest or lowest,
    as the question names both, the last rows stay. Where it asks for what else no single row
    settles, as how many, all rows stay that meet the conditions that were read; but for where a
    passage of their document answers so well by itself that no other one comes near. What is shown
    says how many of how many rows it has, and why.

    Rows that meet conditions get the score ``rows``, from 0.5 to 1, by the stages' score, those at
    the end of a column by how near they are to it.

    Args:
        stages: For what the conditions do not drop.
        on_error: See `ragsieve.Pipeline`.
    """

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> StageResult:
        question = asked(query.text)
        picks = _Picks(question, segments)
        if not picks.said:
            return super().__call__(query, segments)
        with step(f"{type(self).__name__}()", segments) as record:
            record.after = tuple(s for s in segments if s.key not in picks.dropped)
            for segment in segments:
                if reason := picks.dropped.get(segment.key):
                    record_drop(segment, reason)
            if picks.met:
                set_answerable(1.0)
        many = picks.met if len(picks.met) > _RANKED else ()
        after = [s for s in segments if s.key not in picks.dropped]
        inside = [s for s in after if s.key not in many]
        result = super().__call__(query, inside) if inside else StageResult()
        if answered := {*_answered(result, inside)}:
            picks = _Picks(question, segments, answered)
        record.notes += picks.said
        kept = {s.key: s for s in result}
        for segment in after:
            if segment.key in picks.stay:
                own = kept.get(segment.key, segment)
                value = picks.met.get(segment.key) or (own.score if own.scores else 0.0)
                value = (1 + value) / 2 if segment.key in picks.met else value
                kept[segment.key] = own.scored("rows", value)
        together = [picks.marked(kept[s.key]) for s in after if s.key in kept]
        return StageResult(together, answer=result.answer, found=result.found)


def _answered(kept: Sequence[Segment], read: Sequence[Segment]) -> Iterator[str]:
    """Documents of which one passage alone answers: none is nearly as probable, or says the same.

    Of a document of which less is kept others may be as probable, so it has to be likely itself.
    """
    probable = (s for s in kept if PASSAGE in s.scores)
    for name, some in of_documents(probable).items():
        best, *others = best_first(some)
        alone = sum(s.text == best.text and s.document.id == name for s in read) == 1
        if alone and best.score >= max([_LIKELY, *(_ALONE * s.score for s in others)]):
            yield name


class _Picks:
    """What conditions say of segments.

    Args:
        question: Sets them.
        segments: Of documents.
        answered: Documents without those rows of which all would stay.
    """

    def __init__(
        self, question: str, segments: Sequence[Segment], answered: Collection[str] = ()
    ) -> None:
        self.documents: dict[str, Document] = {}  # those that know their lists
        self.stay: set[Key] = set()
        self.met: dict[Key, float] = {}  # those that meet conditions, and how near to an end
        self.dropped: dict[Key, str] = {}
        self.said: list[str] = []
        for name, some in of_documents(segments).items():
            document, whole = some[0].document, name not in answered
            ordered, lists = sorted(some, key=PLACE), tuple[Listed, ...]()
            for run in runs(document.text):
                if sum(s.start < run.end and run.start < s.end for s in some) < 2:
                    continue  # no stage drops a part of it
                from ragsieve.structure.conditions import read  # of rows alone

                one = read(question, run)
                if one.conditions or (one.whole and whole):
                    lists += (Listed((*run.rows,), len(one.rows), one.said, run.lines),)
                    self._part(run, one, ordered, document)
            if lists:
                layout = replace(document.layout, lists=lists)
                self.documents[name] = replace(document, layout=layout)

    def marked(self, segment: Segment) -> Segment:
        """The same of a document that knows its lists."""
        return replace(segment, document=self.documents.get(segment.document.id, segment.document))

    def _part(
        self, run: Run, reading: "Reading", segments: Sequence[Segment], document: Document
    ) -> None:
        """Let segments of a run stay or go."""
        rows = f"{len(reading.rows)} of {len(run.rows)} rows of document {document.id!r:.80}"
        self.said.append(f"{rows}: {reading.said or 'what is asked no single row settles'}")
        spans = [*map(PLACE, segments)]
        head = [run.head] if run.head and reading.rows else []
        asked_for = [*head, *(run.rows[n] for n in sorted(reading.rows))]
        stay = {segments[n].key for span in asked_for for n in places(spans, *span)}
        self.stay |= stay
        if not reading.conditions:
            return
        self.met |= dict.fromkeys(stay, 0.0)
        for place, row in [*enumerate(reading.ranked)][::-1]:
            near = 1 - place / len(reading.ranked)
            self.met |= {segments[n].key: near for n in places(spans, *run.rows[row])}
        for n in places(spans, run.start, run.end):
            one = segments[n]
            begins = run.start <= one.start or not run.lines  # else it has what stands above
            ends = not re.search(r"\w", run.text[run.end : one.end])
            if one.key not in stay and begins and ends:
                self.dropped[one.key] = f"a row without {reading.said}"
