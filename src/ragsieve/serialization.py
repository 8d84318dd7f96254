"""A result as JSON: its schema, and a result from such values.

The schema is `docs/reference/result.schema.json`: ``json.dumps(schema(), indent=1)``.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec

from ragsieve.documents import Documents, as_documents
from ragsieve.errors import InputError
from ragsieve.schema import read
from ragsieve.trace import Step, Trace, Usage, Verdict, origin
from ragsieve.types import Document, Key, Segment, Tokens

SCHEMA_VERSION = 1
"""Version of what `ragsieve.Result.to_dict` gives; another where a field changes its meaning."""

Times = Annotated[int, msgspec.Meta(ge=0, le=10**6)]


class _Record(msgspec.Struct, frozen=True, kw_only=True):
    """An object of JSON; what else it has passes, so that a later version may say more."""


class DocumentRecord(_Record, frozen=True, kw_only=True):
    """A document; ``written_by`` names the model that wrote it, ``parents`` from which spans."""

    id: str
    text: str
    title: str = ""
    source: str = ""
    rank: int = 0
    metadata: dict[str, Any] = {}
    written_by: str = ""
    parents: list[Key] = []


class SpanRecord(_Record, frozen=True, kw_only=True):
    """A span: ``text`` is its document's from character ``start`` to ``end``; ``score`` the last.

    ``written_by`` and ``parents`` are those of its document, where a model wrote that.
    """

    document: str
    start: int
    end: int
    text: str
    score: float | None = None
    scores: dict[str, float] = {}
    written_by: str = ""
    parents: list[Key] = []


class DroppedRecord(SpanRecord, frozen=True, kw_only=True):
    """A span that a stage dropped, and why."""

    reason: str


class StepRecord(_Record, frozen=True, kw_only=True):
    """What a stage did and dropped, and what it cost; see `ragsieve.trace.Step`."""

    stage: str
    segments_in: int
    segments_out: int
    calls: Times = 0
    embedded: Times = 0
    cached: Times = 0
    tokens_in: int = 0
    tokens_out: int = 0
    unreadable: int = 0
    seconds: float = 0.0
    notes: list[str] = []
    error: str = ""
    dropped: list[DroppedRecord] = []
    events: list[dict[str, Any]] = []
    warnings: list[str] = []
    answerable: float | None = None


class TraceRecord(_Record, frozen=True, kw_only=True):
    """The stages in order, notes between them, and all warnings."""

    steps: list[StepRecord] = []
    notes: list[str] = []
    warnings: list[str] = []


class ResultRecord(_Record, frozen=True, kw_only=True):
    """A result: kept spans in reading order, and the text that they are read as.

    ``query_id`` and ``query_time``: the question's, where it has them;
    ``answerable``: the probability that some document answers, where a stage gives one;
    ``answer``: the reader's, where it was asked; ``documents``: those that were filtered;
    ``written``: those that models wrote of them.
    """

    schema_version: Literal[1]
    query: str
    query_id: str = ""
    query_time: str = ""
    kept: list[SpanRecord]
    text: str
    tokens: Tokens
    answerable: float | None = None
    trace: TraceRecord = TraceRecord()
    answer: str | None = None
    documents: list[DocumentRecord] = []
    written: list[DocumentRecord] = []


def schema() -> dict[str, Any]:
    """The JSON Schema of `Result.to_dict`."""
    return msgspec.json.schema(ResultRecord)


def document_records(
    documents: Sequence[Document], segments: Iterable[Segment]
) -> dict[str, list[dict[str, Any]]]:
    """``documents`` as JSON values, and ``written``: others of the segments, where there are."""
    others = {(d.id, d.written_by): d for s in segments for d in s.document.origins()}
    for document in documents:  # of which a stage may have copies with another layout
        others.pop((document.id, document.written_by), None)
    values = {"documents": [*map(_document, documents)]}
    return {**values, "written": [*map(_document, others.values())]} if others else values


def _document(document: Document) -> dict[str, Any]:
    metadata = {k: v for k, v in document.metadata.items() if isinstance(k, str) and _is_json(v)}
    same = {name: getattr(document, name) for name in ("id", "text", "title", "source", "rank")}
    return {**same, "metadata": metadata, **origin(document)}


def _is_json(value: Any) -> bool:
    """Whether JSON gives the value again: strings as keys, finite numbers, not too deep."""
    try:
        return bool(json.loads(json.dumps(value, allow_nan=False)) == value)
    except (TypeError, ValueError, RecursionError):
        return False


Restored = tuple[ResultRecord, tuple[Document, ...], tuple[Segment, ...], Trace]


def restored(values: object, documents: Documents | None = None) -> Restored:
    """A record that was read, its documents, kept spans and trace; see `Result.from_dict`."""
    version = values.get("schema_version") if isinstance(values, Mapping) else None
    if version != SCHEMA_VERSION:
        raise InputError(f"schema_version must be {SCHEMA_VERSION}, got {version!r:.80}")
    record = read(ResultRecord, values)
    known = _Documents(record)
    inputs = as_documents(documents) if documents is not None else known.inputs
    known.known |= {(one.id, one.written_by): one for one in inputs}
    trace = Trace()
    trace.steps = [_step(one, known) for one in record.trace.steps]
    trace.notes = [*record.trace.notes]
    return record, inputs, tuple(map(known.span, record.kept)), trace


class _Documents:
    """Documents of a record, by id, and by what wrote them."""

    def __init__(self, record: ResultRecord) -> None:
        every = (*record.written, *record.documents)
        self.records = {(one.id, one.written_by): one for one in every}
        self.known: dict[tuple[str, str], Document] = {}
        self.inputs = tuple(self.find(one.id, one.written_by) for one in record.documents)

    def find(self, name: str, written_by: str) -> Document:
        """A document by its id, with what it was written from."""
        key = (name, written_by)
        if key not in self.known:
            if (one := self.records.pop(key, None)) is None:
                raise InputError(f"documents must have all that are named, got none of id {name!r}")
            parents = tuple(map(self._parent, one.parents))
            about = one.title, one.source, one.rank, one.metadata
            self.known[key] = Document(name, one.text, *about, written_by, parents)
        return self.known[key]

    def _parent(self, key: Key) -> Segment:
        name, start, end = key
        by = next((w for n, w in (*self.known, *self.records) if n == name), "")
        return Segment(self.find(name, by), start, end)

    def span(self, one: SpanRecord) -> Segment:
        """A span with its scores; its text must be the document's."""
        segment = Segment(self.find(one.document, one.written_by), one.start, one.end, one.scores)
        if segment.text != one.text:
            rule = f"text of {segment.key!r} must be its document's"
            raise InputError(f"{rule}, got {one.text!r:.80}")
        return segment


def _step(one: StepRecord, known: _Documents) -> Step:
    dropped = tuple(Verdict(known.span(drop), one.stage, drop.reason) for drop in one.dropped)
    made = [Usage("", 0)] * one.calls + [Usage("", 0, embedded=True)] * one.embedded
    if made:
        made[0] = made[0]._replace(tokens_in=one.tokens_in, tokens_out=one.tokens_out)
    usages = [*made, *[Usage("", 0, cached=True)] * one.cached]
    same = {n: getattr(one, n) for n in one.__struct_fields__ if n in Step.__dataclass_fields__}
    return Step(**same, usages=usages, restored=(one.segments_in, one.segments_out, dropped))
