"""CompAct: a model sums up five documents after another, until its summary is complete."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, groupby
from typing import NamedTuple

from ragsieve import select, split
from ragsieve.answer import Reader
from ragsieve.errors import BadReply
from ragsieve.models.base import LLM, Prompt
from ragsieve.prompts import FRAME, render
from ragsieve.schema import Count, Options
from ragsieve.system import Pipeline, System, fit
from ragsieve.systems.base import system
from ragsieve.trace import log_event, note, record_drop
from ragsieve.types import Query, Segment
from ragsieve_research.answer.parts import refuses, schema
from ragsieve_research.models.parsed import complete_parsed, readable
from ragsieve_research.models.replies import Field, read_fields, text, unquoted
from ragsieve_research.systems.written import written

_REPLY = 512  # tokens of a round's reply at most
_PARTS = ("Summary", "Evaluation")
_LACKING = "Lacking"  # what the evaluation says beside its verdict, where a reply is held to a form
_VERDICT = re.compile(r"\[(IN)?COMPLETE\]")
_SCHEMA = schema(
    {
        "Summary": {"type": "string", "maxLength": 1200},
        "Evaluation": {"type": "string", "enum": ["[COMPLETE]", "[INCOMPLETE]"]},
        _LACKING: {"type": "string", "maxLength": 300},
    }
)


@system("compact", needs="LLM", paper="arXiv 2407.09014")
def compact(
    llm: LLM,
    *,
    writer: LLM | None = None,
    documents: int = 30,
    together: int = 5,
) -> System:
    """Have a model sum up five documents after another, until its summary can answer.

        documents 1–5 ─ summary, evaluation ─ incomplete: with documents 6–10 ─ … ─ complete: read

    What is read is no span of a document: it is a document of its own, marked as written, with what
    it was written from as its parents; see `ragsieve_research.systems.written`.

    Args:
        llm: The generator.
        writer: Writes the summaries: an LLM trained for it, as
            ``"transformers:cwyoon99/CompAct-7b"``, which is asked in the words that it learnt from.
            Where None, ``llm`` does, by a prompt of ours that names the form of the reply.
        documents: So many of the first documents may be read; not negative.
        together: Documents of a round; at least 1.

    Raises:
        InputError: If an option breaks its rule.

    Source: CompAct (arXiv 2407.09014), section 3; 5 documents, 6 rounds, and what the reader reads,
        a summary with its evaluation, are those of the authors' code.
    Differs: See `Compact`. Untrained without a ``writer``.
    """
    stages = Pipeline(
        select.TopK(documents),
        split.Sentences(),
        Compact(writer or llm, writer is not None, together),
        split.Sentences(),
    )
    return System(stages, Reader(llm))


class Summary(NamedTuple):
    """A summary of the documents read so far, with the model's evaluation of it."""

    text: str
    evaluation: str
    complete: bool


@dataclass(frozen=True)
class Compact(Options):
    """One text that a model writes from segments, a few documents a round, until it is complete.

    A round reads the next documents with the last summary and its evaluation. A reply is a summary
    and an evaluation with one verdict, ``[COMPLETE]`` or ``[INCOMPLETE]``; one that cannot be read
    is requested once more, then the last summary stands and the next round follows. Where no
    round's reply can be read, the first one's segments stay as they are; where all summaries are
    empty, nothing stays. The trace tells how many rounds there were. Of a round that does not fit
    the model's context, the best segments that do are read.

    Args:
        llm: Writes.
        trained: Whether it is asked in the words of the authors' training.
        together: Documents of a round; at least 1.

    Raises:
        InputError: If an option breaks its rule.
        ModelError: If the model fails, or not even the question fits its context.

    Source: CompAct (arXiv 2407.09014), section 3.
    Differs: The authors' code takes any text before the word "Evaluation" for a summary, and ends
        a question, or fails, at a reply without that word.
    """

    llm: LLM
    trained: bool = False
    together: Count = 5

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> list[Segment]:
        groups = [[*group] for _, group in groupby(segments, key=lambda s: s.document.id)]
        starts = range(0, len(groups), self.together)
        rounds = [[*chain(*groups[start : start + self.together])] for start in starts]
        summary, read = Summary("", "", complete=False), list[Segment]()
        for number, some in enumerate(rounds, 1):
            reads = self._fitting(query, some, summary)
            last, summary = summary, self._next(query, reads, summary)
            read += reads if summary is not last else []
            log_event(f"round {number}: {summary.evaluation}", "round", summary=summary.text)
            if summary.complete:
                note(f"complete after {number} of {len(rounds)} rounds")
                break
        text = f"{summary.text} {summary.evaluation}" if summary.text else ""
        results = written(text, by=self.llm.identity, parents=read, name="summary", beside=segments)
        if rounds and not read:
            note("no round gave a summary: the documents of the first stay as they are")
            return rounds[0]
        keys = {s.key for s in read}
        for segment in segments:
            why = "read for what it wrote" if segment.key in keys else "not read"
            record_drop(segment, f"{self.llm.identity}: {why}")
        return results

    def _next(self, query: Query, segments: Sequence[Segment], last: Summary) -> Summary:
        """The summary of the last one and the segments; the last one where none can be read."""
        if not segments:
            return last
        form, prompt = None if self.trained else _SCHEMA, self._prompt(query, segments, last)
        parse = partial(_summary, question=query.text, evidence=prompt[-1].content)
        (reply,) = complete_parsed(self.llm, [prompt], parse, max_tokens=_REPLY, schema=form)
        summary = readable(reply, last, "the summary before stands")
        return summary if summary.text or not last.text else last

    def _fitting(self, query: Query, segments: Sequence[Segment], last: Summary) -> list[Segment]:
        """The best segments that fit the model's context."""
        frame = self._prompt(query, [], last)
        used = sum(self.llm.count([turn.content for turn in frame])) + _REPLY + FRAME
        fitting = fit(segments, max(0, self.llm.context - used), Reader(self.llm))
        if left := len(segments) - len(fitting):
            note(f"{left} segments do not fit the context of {self.llm.context} tokens")
        return fitting

    def _prompt(self, query: Query, segments: Sequence[Segment], last: Summary) -> Prompt:
        notes = f"Previous summary: {last.text or 'none'}"
        if last.text:
            notes += f"\n\nEvaluation of previous summary: {last.evaluation}"
        name = "compact"
        if self.trained:
            name = "compact_trained_next" if last.text else "compact_trained"
        documents = Reader(self.llm).context(segments)
        return render(name, question=query.text, documents=documents, notes=notes)


def _summary(reply: str, question: str, evidence: str) -> Summary:
    """The summary of a reply, which may begin with it, as the authors' prompt ends so."""
    fields = Field("text", text, _PARTS[:1]), Field("text", text, _PARTS[1:])
    try:
        summary, evaluation = read_fields(reply, *fields)
    except BadReply:
        summary, evaluation = read_fields(f"Summary: {reply}", *fields)
    verdicts = {match[1] is None for match in _VERDICT.finditer(evaluation)}
    if len(verdicts) != 1:
        raise BadReply("one of [COMPLETE] and [INCOMPLETE] as Evaluation", reply)
    complete, said = verdicts.pop(), unquoted(summary)
    nothing = said.lower() == "none" or refuses(said, question, evidence)
    if complete and nothing:
        raise BadReply("a Summary where the Evaluation is [COMPLETE]", reply)
    with suppress(BadReply):
        evaluation += f" {read_fields(reply, Field('text', text, (_LACKING,), bare=False))[0]}"
    reason = " ".join(_VERDICT.sub(" ", evaluation).split())
    return Summary("" if nothing else summary, reason, complete)
