"""The reader: prompt, LLM, parsed answer."""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import tee

from ragsieve.models.base import LLM, Cut, Prompt, Streamer, complete_with_room, thinks_first
from ragsieve.models.deferred import opened
from ragsieve.models.thoughts import strip_thinking
from ragsieve.prompts import FRAME, context, render
from ragsieve.schema import Count, Options
from ragsieve.system import fit
from ragsieve.trace import note, warn
from ragsieve.types import Answer, Query, Segment

_MARKS, _ENDS, _TAG = ("<", "[", "◁"), {*">]▷"}, 40  # of tags around thoughts


@dataclass(frozen=True)
class Reader(Options):
    """Answers from the kept segments, in the chat form of the paper's generator.

    Evidence stands in the system message, the question in the user's; without evidence the model
    answers by itself (closed book). Evidence that does not fit the model's context is cut to the
    best segments that do, and the trace tells which went.

    Args:
        llm: The generator.
        max_tokens: Tokens of an answer; at least 1.
        prompt: The template of ``ragsieve/prompts`` with evidence.
        closed_prompt: The template without.

    Raises:
        InputError: If ``max_tokens`` is below 1.
        ModelError: If the model fails; `ContextOverflow` if not even the question fits.

    Source: FineFilter (arXiv 2502.11811v4), appendix B.1.
    """

    llm: LLM
    max_tokens: Count = 64
    prompt: str = "reader"
    closed_prompt: str = "reader_closed"

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> Answer:
        return self.answers(query, [segments])[0]

    def answers(self, query: Query, groups: Sequence[Sequence[Segment]], /) -> list[Answer]:
        """An answer from each group of segments alone; the model is called once for all."""
        read = [self.fitting(query, group) for group in groups]
        prompts = [self.messages(query, group) for group in read]
        replies = complete_with_room(self.llm, prompts, max_tokens=self.max_tokens)
        texts = [self.answer_of(self._said(reply)) for reply in replies]
        return [*map(Answer, texts, map(tuple, read), replies)]

    def stream(self, query: Query, segments: Sequence[Segment], /) -> Generator[str, None, Answer]:
        """See `ragsieve.run.concurrency.Streaming`."""
        read, said, shown = self.fitting(query, segments), "", ""
        prompt, most, first = self.messages(query, read), self.max_tokens, None
        if isinstance(self.llm, Streamer):
            ends = thinks_first(self.llm)
            pieces, heard = tee(self.llm.stream(prompt, max_tokens=most))
            for piece in _without_thoughts(pieces, ends):
                said += piece
                if more := said.strip()[len(shown) :]:
                    shown += more
                    yield more
            *_, last = parts = ["", *heard]
            reply = "".join(parts)
            first = [Cut(reply, last.note) if isinstance(last, Cut) else reply]
        (reply,) = complete_with_room(self.llm, [prompt], max_tokens=most, first=first)
        text = self._said(reply).strip()
        if text and not shown:
            yield text
        elif text != shown:
            warn("thoughts that the model's template opens were among the pieces, not in the text")
        return Answer(text, tuple(read), reply)

    def messages(self, query: Query, segments: Sequence[Segment], /) -> Prompt:
        """The prompt with all of ``segments``; the closed-book prompt if there are none."""
        template = self.prompt if segments else self.closed_prompt
        return self.prompt_of(template, query.dated, self.context(segments))

    def context(self, segments: Sequence[Segment], /) -> str:
        """The text in which ``segments`` stand in the prompt."""
        return context(segments)

    def count(self, texts: Sequence[str], /) -> list[int]:
        """Tokens of each text in the generator's own tokenizer."""
        return self.llm.count(texts)

    def prompt_of(self, template: str, question: str, documents: str) -> Prompt:
        """The prompt that a template makes of a question and the text of its evidence."""
        return render(template, question=question, documents=documents)

    def answer_of(self, reply: str) -> str:
        """The answer in a reply, which has no thoughts."""
        return reply.strip()

    def _said(self, reply: str) -> str:
        """A reply without thoughts; a warning where nothing is left."""
        if not (said := strip_thinking(reply)).strip():
            why = "is thoughts alone, which" if reply.strip() else "says nothing, or thoughts that"
            warn(f"the answer is empty: the reply {why} max_tokens={self.max_tokens} may have cut")
        return said

    def budget(self, query: Query, /) -> int:
        """Tokens that evidence may have, so that it fits the model's context."""
        frame = self.prompt_of(self.prompt, query.dated, "")
        used = sum(self.count([message.content for message in frame]))
        return self.llm.context - self.max_tokens - FRAME - used

    def fitting(self, query: Query, segments: Sequence[Segment], /) -> list[Segment]:
        """The best of the segments that fit the model's context, in their order."""
        if not segments:
            return []
        own = replace(self, llm=opened(self.llm))  # which counts tokens as it will read them
        budget = own.budget(query)
        kept = fit(segments, max(0, budget), own)
        if len(kept) < len(segments):
            room = f"the {max(0, budget)} tokens that question and reply leave"
            report = note if kept else warn  # the model answers by itself
            report(f"{len(segments) - len(kept)} of {len(segments)} segments do not fit {room}")
        return kept


def _without_thoughts(pieces: Iterator[str], ends: bool) -> Iterator[str]:
    """Pieces of a reply behind its thoughts and white space, as soon as they can be no thought.

    Args:
        pieces: Of the reply.
        ends: Whether the model ends thoughts that its template opens, so that all can be one until
            a closing tag. Of others one that nothing opened counts in the first piece alone: later
            it comes too late.
    """
    held, said = "", ""
    for piece in pieces:
        held += piece
        if not (ends or held.lstrip().startswith(_MARKS)) or said or {*piece} & _ENDS:
            said = strip_thinking(held)
            said = "" if ends and said.strip() == held.strip() else said
        open_tag = said.lstrip().startswith(_MARKS) and not {*said[:_TAG]} & _ENDS
        if said.strip() and not (open_tag and len(said) < _TAG):
            yield said
            yield from pieces
            return
