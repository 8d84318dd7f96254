"""Prompt, LLM, parse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragsieve.errors import InputError
from ragsieve.models.base import LLM
from ragsieve.pipeline import fit
from ragsieve.prompts import context, render
from ragsieve.trace import note
from ragsieve.types import Answer, Query, Segment

FRAME = 64  # tokens of the chat format around the contents, at most


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

    Raises:
        InputError: If ``max_tokens`` is below 1.
        ModelError: If the model fails; `ContextOverflow` if not even the question fits.

    Source: FineFilter (arXiv 2502.11811v4), appendix B.1.
    """

    llm: LLM
    max_tokens: int = 64
    prompt: str = "reader"
    closed_prompt: str = "reader_closed"

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise InputError(f"max_tokens must be at least 1, got {self.max_tokens!r}")

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> Answer:
        read = self._fitting(query, segments) if segments else []
        if read:
            prompt = render(self.prompt, question=query.text, documents=self.context(read))
        else:
            prompt = render(self.closed_prompt, question=query.text)
        reply = self.llm.complete([prompt], max_tokens=self.max_tokens)[0]
        return Answer(reply.strip(), tuple(read), reply)

    def context(self, segments: Sequence[Segment], /) -> str:
        """The text in which ``segments`` stand in the prompt."""
        return context(segments)

    def count(self, texts: Sequence[str], /) -> list[int]:
        """Tokens of each text in the generator's own tokenizer."""
        return self.llm.count(texts)

    def _fitting(self, query: Query, segments: Sequence[Segment]) -> list[Segment]:
        frame = render(self.prompt, question=query.text, documents="")
        room = self.llm.context - self.max_tokens - FRAME
        room -= sum(self.count([message.content for message in frame]))
        kept = fit(segments, max(0, room), self)
        if len(kept) < len(segments):
            note(f"{len(segments) - len(kept)} segments do not fit the context of {room} tokens")
        return kept
