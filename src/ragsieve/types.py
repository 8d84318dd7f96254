"""The values of a pipeline: questions, documents, spans of documents, answers, examples."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self, TypedDict, TypeVar

from msgspec import Meta

from ragsieve.errors import InputError
from ragsieve.schema import hints_of, read

JsonAs = Literal["closed", "paths"]
FileNames = Literal["shown", "hidden"]
_RULE = {"rule": '1 to 20 characters of one line, no space at an end, none of " \\ { } < >'}
_PATTERN = r'^(?! )[^\x00-\x1f\x7f-\x9f\u2028\u2029"\\{}<>]{1,20}(?<! )\Z'
Mark = Annotated[str, Meta(pattern=_PATTERN, extra=_RULE)]
G = TypeVar("G")
T = TypeVar("T")
Span = tuple[int, int]
"""A span of a text: its first character, and one past its last."""

Key = tuple[str, int, int]
"""A span among those of a question's documents: its document's id, its start and its end."""


def _require_text(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise InputError(f"{name} must be a string, got {value!r:.80}")


def rounded(score: float) -> float:
    """``score`` to five significant digits: what ranks and thresholds are decided on.

    In another batch, or on another processor, the same input gives scores that differ by about a
    millionth in float32. Scores that differ by no more are equal here, and the earlier segment goes
    first. What remains: a score may lie that near to where rounding parts two, or to a threshold,
    and fall on the other side on another processor; of scores at random about one in 100,000 does.
    """
    return float(f"{score:.5g}")


@dataclass(frozen=True)
class Query:
    """A question.

    Args:
        text: The question; not blank.
        id: The caller's own name for it.
        time: When it was asked, as CRAG's ``query_time`` or by ISO 8601; empty where that does not
            matter. An API's dates ("today", "last month") count from it.
        domain: What it is about, as CRAG's ``domain``; empty where that is not said.

    Raises:
        InputError: If ``text`` is blank, or one of them not a string.
    """

    text: str
    id: str = ""
    time: str = ""
    domain: str = ""

    def __post_init__(self) -> None:
        _require_text("the question", self.text)
        for name in ("id", "time", "domain"):
            _require_text(f"a question's {name}", getattr(self, name))
        if not self.text.strip():
            raise InputError(f"the question must not be blank, got {self.text!r}")

    @property
    def dated(self) -> str:
        """The question with the time, where it has one, on a line below it, as models read it."""
        time = " ".join(self.time.split())
        return f"{self.text}\nAsked on: {time}" if time else self.text


class Listed(NamedTuple):
    """Rows of a document of which those that meet conditions were asked for.

    Args:
        rows: All of them, in order.
        asked: How many were asked for.
        said: The conditions; empty where there are none.
        lines: Whether they are lines of text, and no part of a table or the like.
    """

    rows: tuple[Span, ...]
    asked: int
    said: str = ""
    lines: bool = False

    def shown(self, kept: int) -> str:
        """What a mark says where so many of the rows are shown."""
        whole = kept >= self.asked
        of = f"{kept} of {len(self.rows) if whole else self.asked} rows"
        said = f": {self.said}" if self.said and self.asked != 1 else ""  # one row shows its own
        return of + said if whole or not said else f"{of} that match{said}"


@dataclass(frozen=True)
class Layout:
    """How what is kept of a document is shown.

    Args:
        mark: What stands where text is left out: up to 20 characters of one line, none of them
            ``" \\ { } < >`` or at the ends a space.
        json_as: What is kept of JSON: ``"closed"``, inside its keys with the brackets closed, or
            ``"paths"``, a line ``path: value`` for each value.
        file_names: Whether a line before it names its file and page, of a document that was read
            beside others (``metadata["file"]``): ``"shown"`` or ``"hidden"``.
        compact: Whether rows of one shape stand under their heads once, as JSON of ``columns`` and
            ``rows`` or as CSV, where that is shorter.
        lists: Rows that a question asked for, as `ragsieve.systems.rows.Rows` found them.

    Raises:
        InputError: If one of them is something else.
    """

    mark: Mark = "…"
    json_as: JsonAs = "closed"
    file_names: FileNames = "shown"
    compact: bool = False
    lists: tuple[Listed, ...] = ()
    is_short: ClassVar[bool] = False  # whether little stands around what is kept

    def __post_init__(self) -> None:
        for name in LAYOUT:
            read(hints_of(Layout)[name], getattr(self, name), name)

    def of(self, mark: str) -> str:
        """A format's mark with this one's."""
        return mark.replace("…", self.mark)


LAYOUT = ("mark", "json_as", "file_names", "compact")
USUAL = Layout()
FILE = "file"  # of a document's metadata: its file, and the page there


@dataclass(frozen=True)
class Document:
    """A text that a retriever returned, or that a model wrote from others.

    Args:
        id: The caller's own name for it; unique among the documents of a question.
        text: The text; may be empty.
        title: A title; may be empty.
        source: Where it comes from, for people: a URL, a file, an index.
        rank: Place in the retriever's list, from 0.
        metadata: Whatever the caller wants to find again.
        written_by: Name of the model that wrote ``text``; empty for retrieved documents.
        parents: What a written document was written from; empty for retrieved documents.
        layout: How what is kept of it is shown.

    Raises:
        InputError: If ``id``, ``text``, ``title`` or ``source`` is not a string, ``metadata`` no
            mapping, or there are parents but no writer.
    """

    id: str
    text: str
    title: str = ""
    source: str = ""
    rank: int = 0
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)
    written_by: str = ""
    parents: "tuple[Segment, ...]" = ()
    layout: Layout = field(default=USUAL, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("id", "text", "title", "source"):
            _require_text(f"a document's {name}", getattr(self, name))
        if not isinstance(self.metadata, Mapping):
            raise InputError(f"a document's metadata must be a mapping, got {self.metadata!r:.80}")
        if self.parents and not self.written_by:
            raise InputError(f"document {self.id!r} has parents, so written_by must name its model")

    def origins(self) -> "Iterator[Document]":
        """Itself, what it was written from, what that was, and so on."""
        yield self
        for parent in self.parents:
            yield from parent.document.origins()


@dataclass(frozen=True)
class Segment:
    """A verbatim span of a document: ``document.text[start:end]``.

    Args:
        document: The document it is a span of.
        start: First character, from 0.
        end: One past the last character.
        scores: Named scores in the order they were given, each finite, higher is better.

    Raises:
        InputError: If the span does not lie in the document, or a score is not finite.
    """

    document: Document
    start: int
    end: int
    scores: Mapping[str, float] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.end <= len(self.document.text):
            rule = f"a span must lie in its document of {len(self.document.text)} characters"
            got = f"got {self.start}:{self.end} of document {self.document.id!r}"
            raise InputError(f"{rule}, {got}")
        for name, value in self.scores.items():
            if not math.isfinite(value):
                raise InputError(f"score {name!r} must be finite, got {value!r}")

    @classmethod
    def whole(cls, document: Document) -> Self:
        """The whole document as one span."""
        return cls(document, 0, len(document.text))

    @property
    def text(self) -> str:
        """The span itself, verbatim."""
        return self.document.text[self.start : self.end]

    @property
    def key(self) -> Key:
        """Key of a span among those of one question's documents, whatever their scores."""
        return (self.document.id, self.start, self.end)

    @property
    def score(self) -> float:
        """The score given last.

        Raises:
            InputError: If no scorer has scored the segment yet.
        """
        if not self.scores:
            raise InputError(f"segment {self.key!r} has no score yet: put a scorer before")
        return list(self.scores.values())[-1]

    def scored(self, name: str, value: float) -> Self:
        """The same span with one more score, which becomes ``score``."""
        others = {known: score for known, score in self.scores.items() if known != name}
        return replace(self, scores={**others, name: float(value)})


def best_first(segments: Iterable[Segment]) -> list[Segment]:
    """Segments by falling `rounded` score, equal ones as given; unscored ones behind the scored."""
    return sorted(segments, key=rank_key)


def rank_key(segment: Segment) -> float:
    """Key that sorts segments as `best_first` has them."""
    return -rounded(segment.score) if segment.scores else math.inf


def grouped(items: Iterable[T], key: Callable[[T], G]) -> dict[G, list[T]]:
    """Segments, or other items, by a key, in their order."""
    groups: dict[G, list[T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def of_documents(segments: Iterable[Segment]) -> dict[str, list[Segment]]:
    """Segments by the id of their document, in their order."""
    return grouped(segments, attrgetter("document.id"))


def keys(segments: Iterable[Segment]) -> list[Key]:
    """Keys of the segments, in their order."""
    return [segment.key for segment in segments]


PLACE = attrgetter("start", "end")
"""The span of a segment."""


def in_order(segments: Iterable[Segment]) -> Iterator[tuple[list[Segment], list[Span]]]:
    """The segments of each document as they stand there, and their spans."""
    for some in of_documents(segments).values():
        ordered = sorted(some, key=PLACE)
        yield ordered, [*map(PLACE, ordered)]


@dataclass(frozen=True)
class Tokens:
    """Tokens of the context before and after, in the reader's own tokenizer."""

    before: int
    after: int


@dataclass(frozen=True)
class Answer:
    """A reader's answer, and the segments that it read.

    Args:
        text: The answer.
        segments: The evidence it read, in the order it read it.
        reply: The model's whole reply, where the answer is a part of it.
    """

    text: str
    segments: tuple[Segment, ...] = ()
    reply: str = ""


class StageResult(list[Segment]):
    """The segments that a stage keeps, and what else it gives: a list like any other.

    Args:
        segments: What is kept.
        answer: The answer, where the stage gave one: the reader is not asked then.
        found: Segments that the stage found by itself, kept or not.
    """

    def __init__(
        self,
        segments: Iterable[Segment] = (),
        *,
        answer: Answer | None = None,
        found: Iterable[Segment] = (),
    ) -> None:
        super().__init__(segments)
        self.answer = answer
        self.found = tuple(found)

    @classmethod
    def of(cls, segments: Any, giver: object, what: str = "segments") -> Self:
        """The same; of another iterable of segments, without an answer and with nothing found.

        Raises:
            InputError: If it is no such iterable; ``giver``, a stage or a source, gave it, and
                should give ``what``.
        """
        wrong = segments
        if isinstance(segments, Iterable) and not isinstance(segments, str):
            made = segments if isinstance(segments, cls) else cls(segments)
            wrong = [one for one in made if not isinstance(one, Segment)]
            if not wrong:
                return made
        raise InputError(f"{giver!r} must give {what}, got {wrong!r:.80}")


@dataclass(frozen=True)
class Example:
    """A question with retrieved documents and, where known, its gold answers.

    Args:
        query: The question.
        documents: What was retrieved, best first.
        answers: Gold answers, any of which is right; empty where unknown or unanswerable.
        metadata: Whatever the dataset says beside.
    """

    query: Query
    documents: tuple[Document, ...]
    answers: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)


class CutNumbers(TypedDict, total=False):
    """Numbers at which a system cuts; None stays as it is.

    Args:
        keep_answer: Probability that the evidence survives, in [0.5, 0.99]; the last
            `ragsieve.select.Threshold` that keeps a promise keeps this one, or the next higher of
            hundredths.
        min_score: The least score, in place of a promise: the last threshold is this number,
            whatever else a question has. Of systems without one, it stands in place of how many of
            the best stay.
        min_answerable: See `ragsieve.select.Answerable`.
        first_look: See `ragsieve.score.Pruner`.
        max_tokens: This and the following as in `ragsieve.context.budget.ContextBudget`.
    """

    keep_answer: float | None
    min_score: float | None
    min_answerable: float | None
    first_look: int | None
    max_tokens: int | None
    max_chars: int | None
    max_tokens_per_document: int | None
    max_chars_per_document: int | None
    max_share: float | None
