"""The reader: prompt, LLM, parsed answer."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace

from ragsieve.errors import InputError, check_range
from ragsieve.models.base import LLM, Message, Prompt, streamed
from ragsieve.models.deferred import opened
from ragsieve.pipeline import fit
from ragsieve.prompts import FRAME, context, render
from ragsieve.trace import note
from ragsieve.types import Answer, Document, Query, Segment

TURN = 16  # tokens of the chat format around each turn of an example


@dataclass(frozen=True)
class Demonstration:
    """A question with its answer, shown to a model as an earlier turn.

    Args:
        question: The question; not blank.
        answer: Its answer; not blank.
        rationale: Which documents help, why the others do not, and what follows; may be empty.
        documents: What the question was answered from; may be none.
        domain: What the question is about, where that counts; may be empty.

    Raises:
        InputError: If ``question`` or ``answer`` is blank.
    """

    question: str
    answer: str
    rationale: str = ""
    documents: tuple[Document, ...] = ()
    domain: str = ""

    def __post_init__(self) -> None:
        for name in ("question", "answer"):
            if not getattr(self, name).strip():
                raise InputError(f"a demonstration's {name} must not be blank, got {self!r:.80}")

    def reply(self, answer_after: str = "") -> str:
        """The reply it stands for: the answer, or the rationale and the answer on a marked line.

        Args:
            answer_after: What the line of the answer begins with; the answer alone where empty.
        """
        if not answer_after:
            return self.answer
        return f"{self.rationale}\n{answer_after} {self.answer}".strip()


@dataclass(frozen=True)
class Reader:
    """Answers from the kept segments, in the chat form of the paper's generator.

    Evidence stands in the system message, the question in the user's; without evidence the model
    answers by itself (closed book). Evidence that does not fit the model's context is cut to the
    best segments that do, and the trace tells which went.

    Args:
        llm: The generator.
        max_tokens: Tokens of an answer; at least 1.
        prompt: The template of ``ragsieve/prompts`` with evidence.
        closed_prompt: The template without.
        examples: Questions already answered: each stands before the question as the template's own
            turns, without what the system says, and the reply.
        answer_after: What the line of the reply begins with that holds the answer, such as
            ``"Answer:"``. The last such line counts; without one the whole reply is the answer,
            and the trace says so. Empty where a reply is all answer.

    Raises:
        InputError: If ``max_tokens`` is below 1, or ``answer_after`` is not one line.
        ModelError: If the model fails; `ContextOverflow` if not even the question fits.

    Source: FineFilter (arXiv 2502.11811v4), appendix B.1.
    """

    llm: LLM
    max_tokens: int = 64
    prompt: str = "reader"
    closed_prompt: str = "reader_closed"
    examples: tuple[Demonstration, ...] = field(default=(), kw_only=True, repr=False)
    answer_after: str = field(default="", kw_only=True, repr=False)

    def __post_init__(self) -> None:
        check_range(self, max_tokens=(1, None))
        if self.answer_after and self.answer_after.split("\n") != [self.answer_after.strip()]:
            raise InputError(f"answer_after must be one line, trimmed, got {self.answer_after!r}")

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> Answer:
        return self.answers(query, [segments])[0]

    def answers(self, query: Query, groups: Sequence[Sequence[Segment]], /) -> list[Answer]:
        """An answer from each group of segments alone; the model is called once for all."""
        read = [self.fitting(query, group) for group in groups]
        prompts = [self.messages(query, group) for group in read]
        replies = self.llm.complete(prompts, max_tokens=self.max_tokens)
        return [
            Answer(self._answer(reply), tuple(group), reply)
            for group, reply in zip(read, replies, strict=True)
        ]

    def stream(self, query: Query, segments: Sequence[Segment], /) -> Generator[str, None, Answer]:
        """See `ragsieve.many.Streaming`; one piece where the answer is a line of the reply."""
        if self.answer_after:
            answer = self(query, segments)
            yield answer.text
            return answer
        read, reply, shown = self.fitting(query, segments), "", ""
        prompt = self.messages(query, read)
        for piece in streamed(self.llm, prompt, max_tokens=self.max_tokens):
            reply += piece
            if more := self._answer(reply)[len(shown) :]:
                shown += more
                yield more
        return Answer(shown, tuple(read), reply)

    def messages(self, query: Query, segments: Sequence[Segment], /) -> Prompt:
        """The prompt with all of ``segments``; the closed-book prompt if there are none."""
        template = self.prompt if segments else self.closed_prompt
        return self._prompt(template, query.text, self.context(segments))

    def context(self, segments: Sequence[Segment], /) -> str:
        """The text in which ``segments`` stand in the prompt."""
        return context(segments)

    def count(self, texts: Sequence[str], /) -> list[int]:
        """Tokens of each text in the generator's own tokenizer."""
        return self.llm.count(texts)

    def _prompt(self, template: str, question: str, documents: str) -> Prompt:
        prompt = render(template, question=question, documents=documents)
        shown: list[Message] = []
        for example in self.examples:
            evidence = self.context([Segment.whole(document) for document in example.documents])
            turns = render(template, question=example.question, documents=evidence)
            shown += [turn for turn in turns if turn.role != "system"]
            shown.append(Message("assistant", example.reply(self.answer_after)))
        head = sum(turn.role == "system" for turn in prompt)  # it comes first in every template
        return (*prompt[:head], *shown, *prompt[head:])

    def budget(self, query: Query, /) -> int:
        """Tokens that evidence may have, so that it fits the model's context."""
        frame = self._prompt(self.prompt, query.text, "")
        turns = len(frame) - len(render(self.prompt, question="", documents=""))
        used = sum(self.count([message.content for message in frame]))
        return self.llm.context - self.max_tokens - FRAME - TURN * turns - used

    def fitting(self, query: Query, segments: Sequence[Segment], /) -> list[Segment]:
        """The best of the segments that fit the model's context, in their order."""
        if not segments:
            return []
        own = replace(self, llm=opened(self.llm))  # which counts tokens as it will read them
        budget = own.budget(query)
        kept = fit(segments, max(0, budget), own)
        if len(kept) < len(segments):
            note(f"{len(segments) - len(kept)} segments do not fit the context of {budget} tokens")
        return kept

    def _answer(self, reply: str) -> str:
        if not self.answer_after:
            return reply.strip()
        # Only the reply is searched, and its last line counts: what documents say is no answer.
        line = rf"^[ \t*_#>-]*{re.escape(self.answer_after)}[ \t*_]*([^\s*_].*)$"
        lines = re.findall(line, reply, re.MULTILINE | re.IGNORECASE)
        if not lines:
            note(f"no line of the reply begins with {self.answer_after!r}: all of it is the answer")
            return reply.strip()
        return str(lines[-1]).strip("*_ \t\r")
