"""A system's result for a question: kept spans, verdicts with reasons, tokens, trace, answer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Self, Unpack

from ragsieve.documents import Documents
from ragsieve.errors import InputError
from ragsieve.schema import Amount, check_number
from ragsieve.trace import UNANSWERED, Cutoff, Trace, segment_to_dict
from ragsieve.trace import Verdict as Verdict
from ragsieve.types import Answer, CutNumbers, Document, Key, Query, Segment, grouped, of_documents
from ragsieve.types import Tokens as Tokens


@dataclass(frozen=True, repr=False)
class Result:
    """Result of a system for a question.

    Args:
        query: The question.
        documents: The documents as the system took them: in the caller's order, with unique ids,
            those of one id and one text once.
        kept: Verbatim spans in the order in which the reader reads them.
        text: The context made of ``kept``, as it stands in the reader's prompt. Heads, headings and
            marks stand in it, too, which no segment of ``kept`` covers.
        tokens: Tokens of the context before and after.
        trace: What every stage did.
        answer: The reader's answer, where one was asked for.
        again: Cuts again, see `at`; None where the system is not at hand.
    """

    query: Query
    documents: tuple[Document, ...]
    kept: tuple[Segment, ...]
    text: str
    tokens: Tokens
    trace: Trace
    answer: Answer | None = None
    again: "Callable[..., Result] | None" = field(default=None, compare=False, kw_only=True)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "again": None}  # it holds the system with its models

    def at(self, **numbers: Unpack[CutNumbers]) -> "Result":
        """The result of filtering anew with these numbers; a model reads no more than what is cut.

        What comes before the cut is taken from the trace, where it costs nothing; what comes behind
        it, such as order and budget, runs again: parts of what a budget cuts are read. There is no
        answer.

        Args:
            numbers: As of `ragsieve.System.at`.

        Raises:
            InputError: If a number breaks its rule, the system does not cut at such a one, or the
                result was pickled or read from JSON.
        """
        if self.again is None:
            raise InputError("a result that was pickled or read from JSON cannot be cut again")
        return self.again(**numbers)

    @property
    def shown(self) -> list[Segment]:
        """What ``text`` has of the documents, verbatim: ``kept``, the heads and headings above it.

        Of rows in a shorter form their cells; no titles, marks and numbers of lines. A result that
        was read from JSON gives what the usual layout has.
        """
        from ragsieve.structure import verbatim

        documents = of_documents(self.kept).values()
        return [Segment(some[0].document, *span) for some in documents for span in verbatim(some)]

    @property
    def answerable(self) -> float | None:
        """Probability that some document answers, in [0, 1]; None if no stage gives one."""
        return self.trace.answerable

    @property
    def unanswered(self) -> bool:
        """Whether no document seems to answer."""
        return self.answerable is not None and self.answerable < UNANSWERED

    @property
    def costs(self) -> dict[str, Any]:
        """Calls, embedded texts, tokens and seconds of all steps, by their names in a step."""
        steps = [step.to_dict() for step in self.trace.steps]
        names = ("calls", "embedded", "tokens_in", "tokens_out", "seconds")
        return {name: sum(step[name] for step in steps) for name in names}

    @property
    def verdicts(self) -> list[Verdict]:
        """Verdict on every finest span, in the order of the documents."""
        dropped = (drop for step in self.trace.steps for drop in step.dropped)
        verdicts = {drop.segment.key: drop for drop in dropped}
        verdicts.update({s.key: Verdict(s, "", "") for s in self.kept})
        places = {document.id: n for n, document in enumerate(self.documents)}
        spans = sorted(verdicts.values(), key=lambda v: v.segment.start)
        spans.sort(key=lambda v: places.get(v.segment.document.id, 0))
        return sorted(spans, key=lambda v: v.segment.document.rank)

    @property
    def dropped(self) -> list[Verdict]:
        """Verdicts on what was dropped, in the order of the documents."""
        return [verdict for verdict in self.verdicts if verdict.stage]

    def by_document(self) -> dict[Document, list[Segment]]:
        """Kept spans of each document, in the order in which its first one is read.

        Documents of which nothing is kept come last, in their order, with no spans.
        """
        kept = grouped(self.kept, lambda s: s.document)
        return {**kept, **{d: [] for d in self.documents if d not in kept}}

    def borderline(self, n: int = 10) -> list[Verdict]:
        """Verdicts on the ``n`` spans, kept or dropped, that scored nearest to where it was cut.

        Nearest first; none where no stage cut by scores.

        Raises:
            InputError: If ``n`` is negative.
        """
        check_number("n", n, Amount)
        cutoffs = [cutoff for step in self.trace.steps for cutoff in step.cutoffs]
        off: dict[Key, float] = {}
        for cutoff in cutoffs:
            at = _least(cutoff)
            off |= {s.key: abs(s.score - at) for s in cutoff.segments if at is not None}
        near = [verdict for verdict in self.verdicts if verdict.segment.key in off]
        return sorted(near, key=lambda verdict: off[verdict.segment.key])[:n]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A row a verdict, for data frames: place, text, score, and the stage that dropped it."""
        names = ("document", "start", "end", "text", "kept", "score", "stage", "reason")
        rows = []
        for verdict in self.verdicts:
            own = {"kept": not verdict.stage, "stage": verdict.stage, "reason": verdict.reason}
            row = segment_to_dict(verdict.segment) | own
            rows.append({name: row[name] for name in names})
        return rows

    def __repr__(self) -> str:
        tokens = f"tokens={self.tokens.before}->{self.tokens.after}"
        chance = "" if self.answerable is None else f", answerable={self.answerable:.2f}"
        answer = "" if self.answer is None else f", answer={_short(self.answer.text)}"
        spans = f"kept={len(self.kept)} of {len(self.verdicts)} spans"
        return f"Result({_short(self.query.text)}, {spans}, {tokens}{chance}{answer})"

    def _repr_html_(self) -> str:
        """Notebooks show this: the documents, what was dropped struck out, why as a tooltip."""
        kept = f"{self.tokens.after} of {self.tokens.before} tokens kept"
        answer = "" if self.answer is None else f"<p>{_escaped(self.answer.text)}</p>"
        parts = [f"<p><b>{_escaped(self.query.text)}</b> {kept}</p>{answer}"]
        for document, verdicts in groupby(self.verdicts, key=lambda v: v.segment.document):
            spans = " ".join(map(_span_html, verdicts))
            parts.append(f"<p><i>{_escaped(document.title or document.id)}</i><br>{spans}</p>")
        return "<div>" + "".join(parts) + "</div>"

    def to_dict(self, *, documents: bool = True) -> dict[str, Any]:
        """The result as JSON values; ``answer`` only where one was asked for.

        They are as ``docs/reference/result.schema.json`` says, at one ``schema_version``.

        Args:
            documents: Whether to say the documents, too, as `from_dict` needs them; of metadata
                what JSON can.
        """
        from ragsieve.serialization import SCHEMA_VERSION, document_records  # makes schemas

        dropped = (drop.segment for step in self.trace.steps for drop in step.dropped)
        return {
            "schema_version": SCHEMA_VERSION,
            "query": self.query.text,
            **({"query_id": self.query.id} if self.query.id else {}),
            **({"query_time": self.query.time} if self.query.time else {}),
            "kept": [segment_to_dict(s) for s in self.kept],
            "text": self.text,
            "tokens": {"before": self.tokens.before, "after": self.tokens.after},
            **({} if self.answerable is None else {"answerable": round(self.answerable, 4)}),
            "trace": self.trace.to_dict(),
            **({} if self.answer is None else {"answer": self.answer.text}),
            **(document_records(self.documents, (*self.kept, *dropped)) if documents else {}),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], documents: Documents | None = None) -> Self:
        """The result that `to_dict` made, or a server: ``to_dict`` of it gives the same values.

        It cannot be cut again (`at`), and its trace has no more of each step than they say.

        Args:
            values: As JSON gives them.
            documents: Those that were filtered, where the values lack them, as a server's do.

        Raises:
            InputError: If a value breaks the schema, or a span is not its document's.
        """
        from ragsieve.serialization import restored

        record, inputs, kept, trace = restored(values, documents)
        answer = None if record.answer is None else Answer(record.answer)
        query = Query(record.query, record.query_id, record.query_time)
        return cls(query, inputs, kept, record.text, record.tokens, trace, answer)


def _least(cutoff: Cutoff) -> float | None:
    """The score at which a stage cut; None where it did not cut by scores."""
    if not all(segment.scores for segment in cutoff.segments):
        return None
    if cutoff.keeps == "at least":
        return cutoff.at
    scores = sorted((segment.score for segment in cutoff.segments), reverse=True)
    k = int(cutoff.at)
    if cutoff.keeps != "best" or not 0 < k < len(scores):
        return None
    return (scores[k - 1] + scores[k]) / 2


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:59]}…")


def _escaped(text: str) -> str:
    from html import escape

    from ragsieve.text import safe  # loads splitters of sentences

    return escape(safe(text))


def _span_html(verdict: Verdict) -> str:
    text = _escaped(verdict.segment.text)
    if not verdict.stage:
        return f"<span>{text}</span>"
    return f'<del style="opacity:.5" title="{_escaped(verdict.reason)}">{text}</del>'
