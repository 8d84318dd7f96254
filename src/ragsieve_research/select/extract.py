"""An LLM names the clue sentences."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Any, Literal

from ragsieve.errors import BadReply, InputError
from ragsieve.models.base import LLM, Prompt
from ragsieve.prompts import context, render, titled
from ragsieve.schema import Amount, Count, Options
from ragsieve.system import best_first
from ragsieve.text import normalise
from ragsieve.trace import note, record_drop
from ragsieve.types import Query, Segment
from ragsieve_research.models.choices import reply_tokens
from ragsieve_research.models.parsed import complete_parsed, readable
from ragsieve_research.models.replies import Field, numbers, read_fields
from ragsieve_research.prompts import batched_by_size, numbered

Mode = Literal["point", "write"]

WRITTEN_TOKENS = 1024  # of the sentences that an LLM writes, at most


@dataclass(frozen=True)
class Extract(Options):
    """Keep the segments that an LLM names as useful, the most useful first.

    Two ways to name them, with the same result: ``"write"``, the paper's, copies the sentences, and
    each line is matched to the segments that it repeats, in full or in part; ``"point"``, ours,
    gives their numbers, held to valid ones where the model can be, at a tenth of the output tokens.
    A line that repeats no segment is an invention: dropped and counted in the trace. What does not
    fit the model's context goes in several windows, whose clues are taken in turns. Segments of a
    window whose reply stays unreadable are all kept.

    Args:
        llm: Names the clues; plain, or tuned for it.
        mode: ``"point"`` or ``"write"``.
        max_clues: At most this many a window in mode ``"point"``; at least 1.
        min_keep: Where fewer are named, the best others are kept too; not negative.

    Raises:
        InputError: If an option breaks its rule.
        ModelError: If the model fails.

    Source: FineFilter (arXiv 2502.11811v4), section 4.1 and appendix B.2.
    """

    llm: LLM
    mode: Mode = "point"
    max_clues: Count = 20
    min_keep: Amount = 0

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> list[Segment]:
        if not segments:
            return []
        windows = self.prompts(query, segments)
        if len(windows) > 1:
            note(f"{len(segments)} segments read in {len(windows)} windows")
        named = [self._named(prompt, window) for window, prompt in windows]
        turns = chain.from_iterable(zip_longest(*named))
        kept = list({s.key: s for s in turns if s is not None}.values())
        keys = {s.key for s in kept}
        others = [s for s in best_first(segments) if s.key not in keys]
        missing = max(0, self.min_keep - len(kept))
        for segment in others[missing:]:
            record_drop(segment, "not named as useful")
        return kept + others[:missing]

    def prompts(
        self, query: Query, segments: Sequence[Segment], /
    ) -> list[tuple[list[Segment], Prompt]]:
        """The windows in which segments are read, each with its prompt."""
        return [(w, self._prompt(query, w)) for w in self._windows(query, segments)]

    def _named(self, prompt: Prompt, window: Sequence[Segment]) -> list[Segment]:
        most = len(window)
        rule = f"a JSON list of numbers from 1 to {most}"
        field = Field(rule, numbers(most), ("sentences", "numbers"))
        schema = None if self.mode == "write" else _schema(most, self.max_clues)

        def parse(reply: str) -> list[Segment]:
            if schema is None:
                return self._aligned(reply, window)
            return [window[n - 1] for n in read_fields(reply, field)[0]]

        tokens = reply_tokens(schema) if schema else WRITTEN_TOKENS
        (reply,) = complete_parsed(self.llm, [prompt], parse, max_tokens=tokens, schema=schema)
        return readable(reply, [*window], f"all {most} segments stay")

    def reply(self, window: Sequence[Segment], named: Sequence[int]) -> str:
        """The reply that names the segments at places ``named``, from 0: what is read back as them.

        As many of the first as fit a reply.
        """
        if self.mode == "point":
            return json.dumps([n + 1 for n in named[: self.max_clues]], separators=(",", ":"))
        lines: list[str] = []
        for number, place in enumerate(named, 1):
            lines.append(f"Sentence {number}: {' '.join(window[place].text.split())}")
            if self.llm.count(["\n".join(lines)])[0] >= WRITTEN_TOKENS:
                return "\n".join(lines[:-1])
        return "\n".join(lines) or "NONE"

    def _prompt(self, query: Query, window: Sequence[Segment]) -> Prompt:
        if self.mode == "write":
            return render("extract_write", question=query.text, documents=context(window))
        return render(
            "extract_point", question=query.text, sentences=numbered([titled(s) for s in window])
        )

    def _aligned(self, reply: str, window: Sequence[Segment]) -> list[Segment]:
        """The segments that the reply's lines repeat, in the order of the lines."""
        from ragsieve_research.select.repeats import repeated  # which needs the extras of LLMs

        sources = [normalise(s.text) for s in window]
        lines = [repeated(line, sources) for line in reply.splitlines()]
        clues = [window[place] for places in lines for place in places or ()]
        if not clues and normalise(reply) != "none":  # a refusal and silence name nothing, too
            raise BadReply("sentences of the documents, or the one word NONE", reply)
        if invented := lines.count([]):
            note(f"{invented} written lines repeat no sentence of the documents: dropped")
        return clues

    def _windows(self, query: Query, segments: Sequence[Segment]) -> list[list[Segment]]:
        """Segments in as few windows as the model's context allows, in order."""
        point = reply_tokens(_schema(999, self.max_clues))
        reply = WRITTEN_TOKENS if self.mode == "write" else point
        frame = sum(self.llm.count([m.content for m in self._prompt(query, [])]))
        budget = self.llm.context - reply - frame - 64  # the chat format's own tokens
        if budget < 1:
            raise InputError(
                f"the context of {self.llm.identity} must hold the question, the prompt and "
                f"{reply} tokens of reply, it holds {self.llm.context}"
            )
        costs = self.llm.count([f"[{len(segments)}] {titled(s)}\n\n" for s in segments])
        read: dict[int, int] = {}  # tokens by place
        for place, (segment, cost) in enumerate(zip(segments, costs, strict=True)):
            if cost <= budget:
                read[place] = cost
            else:
                record_drop(segment, f"{cost} tokens, the model reads at most {budget}")
                note(
                    f"segment {segment.key} has {cost} tokens, over the limit of {budget}: not read"
                )
        return [*batched_by_size([segments[place] for place in read], [*read.values()], budget)]


def _schema(most: int, clues: int) -> dict[str, Any]:
    number = {"type": "integer", "minimum": 1, "maximum": most}
    return {"type": "array", "items": number, "maxItems": min(most, clues)}
