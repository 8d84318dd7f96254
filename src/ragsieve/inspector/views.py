"""One run as JSON values for the page."""

import math
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from ragsieve.result import Result
from ragsieve.retriever import SOURCE_KEY
from ragsieve.structure import text_of
from ragsieve.system import ReaderLike
from ragsieve.text import safe
from ragsieve.trace import Cutoff, Step
from ragsieve.types import Document, Segment, keys, rounded

_ORDER = re.compile(r"Order\(by='(document|score|ends)'\)")

_CLOSING = re.compile(r"[\s,;\]}]+\Z")


def view(result: Result, name: str = "", *, reader: ReaderLike | None = None) -> dict[str, Any]:
    """A run as JSON values for `page`: documents, every finest span, stages and what they cost.

    Control characters and lone surrogates are U+FFFD. Places in texts count UTF-16 units, as a
    browser does.

    Args:
        result: The run.
        name: What the page calls the system.
        reader: Counts the tokens of each span; without one they are estimated from their length.
    """
    numbers = _ViewNumbers()
    for document in result.documents:
        numbers.document(document)
    spans, steps = _spans(result, numbers), [*_steps(result, numbers)]
    counts = _tokens(result, [segment.text for segment in numbers.segments], reader)
    titles = [f"{one['title']}: " if one["title"] else "" for one in numbers.documents]
    for one, count in zip(numbers.documents, _tokens(result, titles, reader), strict=True):
        one["title_tokens"] = count
    sized = zip(numbers.segments, counts, strict=True)
    values = {
        "name": name,
        "question": result.query.text,
        "answer": result.answer.text if result.answer else None,
        "answerable": result.answerable,
        "unanswered": result.unanswered,
        "tokens": {"before": result.tokens.before, "after": result.tokens.after},
        "documents": numbers.documents,
        "spans": spans,
        "segments": [[*numbers.place(segment), count] for segment, count in sized],
        "kept": [numbers.segment(segment) for segment in result.kept],
        "read": [*_read(result, numbers)],
        "steps": steps,
        "notes": result.trace.notes,
        "warnings": result.trace.warnings,
    }
    return dict(clean(values))


def clean(value: Any) -> Any:
    """The same as JSON values that any reader takes: safe texts, finite numbers."""
    if isinstance(value, str):
        return safe(value)
    if isinstance(value, Mapping):
        return {safe(str(key)): clean(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [clean(inner) for inner in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(value)
    plain = value is None or isinstance(value, bool | int)
    return value if plain else safe(str(value))  # a stage's own, which is no JSON value


@dataclass
class _ViewNumbers:
    """Documents and segments, each once, by number."""

    documents: list[dict[str, Any]] = field(default_factory=list)
    segments: list[Segment] = field(default_factory=list)
    _places: dict[tuple[str, str], int] = field(default_factory=dict)
    _wide: list[list[int]] = field(default_factory=list)
    _numbers: dict[tuple[int, int, int], int] = field(default_factory=dict)

    def document(self, document: Document) -> int:
        """The document's number."""
        text = document.text
        if (key := (document.id, text)) not in self._places:
            self._places[key] = len(self.documents)
            astral = [] if text.isascii() else [n for n, c in enumerate(text) if c > "\uffff"]
            self._wide.append(astral)
            names = ("id", "title", "source", "rank", "text", "written_by")
            values = {name: getattr(document, name) for name in names}
            values["asked"] = str(document.metadata.get(SOURCE_KEY, ""))
            self.documents.append(values)
            values["parents"] = [[*self.place(parent), parent.text] for parent in document.parents]
        return self._places[key]

    def place(self, segment: Segment) -> tuple[int, int, int]:
        """The number of its document, where it starts and where it ends, in UTF-16 units."""
        number = self.document(segment.document)
        wide = self._wide[number]
        start, end = (at + bisect_left(wide, at) for at in (segment.start, segment.end))
        return number, start, end

    def segment(self, segment: Segment) -> int:
        """The segment's number."""
        key = (self.document(segment.document), segment.start, segment.end)
        if key not in self._numbers:
            self._numbers[key] = len(self.segments)
            self.segments.append(segment)
        return self._numbers[key]


def _read(result: Result, numbers: _ViewNumbers) -> Iterator[list[Any]]:
    """What the generator reads of each document: its number, and pieces of text with their span.

    What no span says, as a header or a mark for what is left out, is a piece without one.
    """
    for _, group in groupby(result.kept, key=lambda segment: segment.document.id):
        spans = [*group]
        text = text_of(spans)
        pieces: list[tuple[int | None, str]] = []
        at = 0
        for span in spans:
            said = span.text if text.find(span.text, at) >= 0 else _CLOSING.sub("", span.text)
            place = text.find(said, at)
            if said and place >= 0:
                pieces += [(None, text[at:place]), (numbers.segment(span), said)]
                at = place + len(said)
        kept = [list(piece) for piece in [*pieces, (None, text[at:])] if piece[1]]
        yield [numbers.document(spans[0].document), kept]


def _spans(result: Result, numbers: _ViewNumbers) -> list[dict[str, Any]]:
    """The fate of every finest span, in the order of the documents."""
    fates: dict[int, dict[str, Any]] = {}
    for number, step in enumerate(result.trace.steps):
        for drop in step.dropped:
            fate = {"step": number, "reason": drop.reason, "scores": dict(drop.segment.scores)}
            fates[numbers.segment(drop.segment)] = fate
    for segment in result.kept:
        fates[numbers.segment(segment)] = {"step": None, "scores": dict(segment.scores)}
    order = sorted(fates, key=lambda n: numbers.place(numbers.segments[n]))
    return [{"segment": n, **fates[n]} for n in order]


def _steps(result: Result, numbers: _ViewNumbers) -> Iterator[dict[str, Any]]:
    linked = chain(result)
    for number, step in enumerate(result.trace.steps):
        values = {**step.to_dict(), "warnings": step.warnings}
        del values["dropped"]
        yield values | (_again(step, numbers) if number in linked else {})


def _again(step: Step, numbers: _ViewNumbers) -> dict[str, Any]:
    """The values with which the page runs a step again, or shows what it did."""
    before = {segment.key: segment.scores for segment in step.before}
    values: dict[str, Any] = {
        "before": [numbers.segment(segment) for segment in step.before],
        "after": [numbers.segment(segment) for segment in step.after],
        "scored": any(s.scores != before.get(s.key, s.scores) for s in step.after),
    }
    if by := ordering(step):
        return values | {"order": by, "values": [*map(_score, step.before)]}
    if cuts_apart(step):
        return values | {"cuts": [_cut(cutoff, numbers) for cutoff in step.cutoffs]}
    return values


def _cut(cutoff: Cutoff, numbers: _ViewNumbers) -> dict[str, Any]:
    values = {name: value for name, value in vars(cutoff).items() if name != "segments"}
    score = next((name for s in cutoff.segments for name in [*s.scores][-1:]), "")
    values |= {"promises": cutoff.promises and cutoff.promises._asdict(), "score": score}
    given = [numbers.segment(segment) for segment in cutoff.segments]
    return {**values, "given": given, "values": [*map(_score, cutoff.segments)]}


def _score(segment: Segment) -> float | None:
    return rounded(segment.score) if segment.scores else None


def _tokens(result: Result, texts: Sequence[str], reader: ReaderLike | None) -> list[float]:
    """Tokens of each text: counted, or by its length, as long as the context's on average."""
    if reader:
        return [*map(float, reader.count(texts))]
    known = list(result.kept) or [Segment.whole(d) for d in result.documents]
    chars = sum(len(segment.text) for segment in known)
    chars += sum(len(d.title) + 2 for d in {s.document.id: s.document for s in known}.values())
    tokens = result.tokens.after if result.kept else result.tokens.before
    return [round(len(text) * tokens / chars, 1) if chars else 0.0 for text in texts]


def chain(result: Result) -> range:
    """Places of the last steps of the trace that hand on to each other and end in what was kept."""
    steps = result.trace.steps
    end = len(steps) - (result.answer is not None)  # the last one is the reader's
    start, after = end, keys(result.kept)
    while start and steps[start - 1].before and keys(steps[start - 1].after) == after:
        start -= 1
        after = keys(steps[start].before)
    return range(start, end)


def cuts_apart(step: Step) -> bool:
    """Whether the step's cut-offs are of what went in, each segment in one of them at most."""
    before = {*keys(step.before)}
    cut = [key for cutoff in step.cutoffs for key in keys(cutoff.segments)]
    return bool(cut) and not step.error and len({*cut}) == len(cut) and {*cut} <= before


def ordering(step: Step) -> str:
    """By what the step orders all segments, as `select.Order` says it; empty of other steps."""
    order = _ORDER.fullmatch(step.stage)
    return order[1] if order and {*keys(step.before)} == {*keys(step.after)} else ""
