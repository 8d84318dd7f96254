"""Text that a model writes from segments: a document of its own, marked, with its parents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ragsieve.answer import Reader
from ragsieve.documents import unused_id
from ragsieve.models.base import LLM, Cut
from ragsieve.prompts import context
from ragsieve.schema import Count, Options
from ragsieve.text import normalise, safe, sentence_spans
from ragsieve.trace import note, record_drop, record_unreadable
from ragsieve.types import Document, Query, Segment
from ragsieve_research.answer.parts import refuses
from ragsieve_research.models.replies import prose

NOTHING = "none"
"""Reply of a model that has nothing to write; in any case, with any mark."""


@dataclass(frozen=True)
class Write(Options):
    """One text that a model writes from all segments; none where it writes nothing.

    It is no span of the segments: it is the whole of a new document, which names its writer and its
    parents. The trace says of each segment whether it was read. The model writes at most as many
    tokens as it reads, so nothing grows. A reply that is empty, `NOTHING`, or a refusal
    (`refuses`) is none; of one that is cut the last sentence goes. Where not all
    segments fit its context, the best that do are read, of unscored ones the first; so split long
    documents before.

    Args:
        llm: Writes; an encoder-decoder as well.
        prompt: The template of ``ragsieve/prompts`` that asks it, of ``question`` and
            ``documents``.
        max_tokens: Tokens of the text, in the model's own; at least 1.
        name: Id of the new document; primed where a segment's document has it.

    Raises:
        InputError: If ``max_tokens`` is below 1 or there is no such template.
        ModelError: If the model fails, or not even the question fits its context.
    """

    llm: LLM
    prompt: str
    max_tokens: Count = 256
    name: str = "written"

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> list[Segment]:
        length = self.llm.count([context(segments)])[0]
        if not length:
            return []
        most = min(self.max_tokens, length)
        # Without segments it would be asked to answer by itself, so that prompt is this one, too.
        writer = Reader(self.llm, most, self.prompt, self.prompt)
        reply = writer(query, segments)
        text = _text(reply.reply, query.text, context(reply.segments)) if reply.segments else ""
        results = written(
            text, by=self.llm.identity, parents=reply.segments, name=self.name, beside=segments
        )
        reason = "read for what it wrote" if results else "read, but it wrote nothing"
        for segment in reply.segments:  # others were dropped as they do not fit
            record_drop(segment, f"{self.llm.identity}: {reason}")
        if reply.segments and not results:
            note(f"{self.llm.identity} wrote nothing: nothing is kept")
        return results


def _text(reply: str, question: str, evidence: str) -> str:
    """What a reply says beside a label; empty of a refusal and `NOTHING`, unreadable of none."""
    if not (text := prose(reply, "summary")):
        record_unreadable()
        return ""
    if isinstance(reply, Cut):
        text = text[: (sentence_spans(text) or [(0, 0)])[-1][0]]
        note("the text was cut: its last sentence does not count")
    ends = text.rstrip(" .\"'").endswith(NOTHING.upper())
    nothing = ends or NOTHING in map(normalise, text.splitlines())  # beside a remark, too
    parts = {text, text.partition("\n\n")[0]}
    refused = any(refuses(part, question, evidence) for part in parts)
    return "" if nothing or refused else text


def written(
    text: str,
    *,
    by: str,
    parents: Sequence[Segment],
    name: str = "written",
    beside: Sequence[Segment] = (),
) -> list[Segment]:
    """A model's text as one segment of a document of its own; none of blank text.

    Args:
        text: What it wrote; unsafe characters become U+FFFD, white space around it goes.
        by: The model's name.
        parents: What it was written from.
        name: The document's id, numbered where a document of ``parents`` or ``beside`` has it.
        beside: The question's other segments, written ones included.

    Raises:
        InputError: If ``by`` is empty and there are parents.
    """
    text = safe(text).strip()
    if not text:
        return []
    name = unused_id(name, Counter({segment.document.id for segment in (*parents, *beside)}))
    rank = min((segment.document.rank for segment in parents), default=0)
    document = Document(name, text, rank=rank, written_by=by, parents=tuple(parents))
    return [Segment.whole(document)]
