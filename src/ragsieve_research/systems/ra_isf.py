"""RA-ISF: answer what is known, else from passages that help, else by sub-questions."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ragsieve.answer import Reader
from ragsieve.models.base import LLM, Embedder
from ragsieve.prompts import render, titled
from ragsieve.retriever import AnySource
from ragsieve.schema import Count, Options
from ragsieve.system import Stage, System
from ragsieve.systems.base import system
from ragsieve.trace import log_event, note
from ragsieve.types import Answer, Query, Segment, StageResult
from ragsieve_research.answer.agent import read_text
from ragsieve_research.answer.parts import refuses
from ragsieve_research.models.choices import yes_probability
from ragsieve_research.prompts import quoted
from ragsieve_research.systems.asking import said, sub_questions
from ragsieve_research.systems.iterating import SHOWN, Search, iterating

UNKNOWN = "unknown"
PARTS = 3  # of a question at most


@dataclass(frozen=True)
class SelfFeedback(Options):
    """Answers a question as it is known, from relevant passages, or by the answers of its parts.

    Whether it is known, whether a passage helps, and the parts are asked of the model. A reply that
    cannot be read means: not known; it helps; no parts, so that all that was found is read.

    Args:
        reader: Answers; its model is asked all of this.
        depth: Levels of questions; what is open on the last one is unknown. At least 1.

    Raises:
        InputError: If an option breaks its rule.
    """

    reader: Reader
    depth: Count = 3

    def __call__(self, query: Query, search: Search, /) -> list[Segment]:
        kept: list[Segment] = []
        text = self._solved(query, search, kept, self.depth)
        if text == UNKNOWN:
            note("nothing was found out: the reader answers from what is found")
            return kept or search(query, query)
        return StageResult(kept, answer=Answer(text, tuple(kept)))

    def _solved(self, query: Query, search: Search, kept: list[Segment], level: int) -> str:
        way, text, read = self._answered(query, search, kept, level)
        text = UNKNOWN if refuses(text, query.text, read) else " ".join(text.split())
        line = f"{way}: {query.text[:SHOWN]!r}: {text[:SHOWN]!r}"
        log_event(line, "question", question=query.text, way=way, answer=text)
        return text

    def _answered(
        self, query: Query, search: Search, kept: list[Segment], level: int
    ) -> tuple[str, str, str]:
        """In which way, the answer, and what it is from; segments that are read go to ``kept``."""
        (known,) = yes_probability(self.reader.llm, [render("raisf_known", question=query.dated)])
        if known is not None and known > 0.5:
            return "known", self.reader(query, ()).text, ""
        found = search(query, query)
        helpful = self._helpful(query, found)
        if level == 1 and not helpful:
            return "open", "", ""
        prompt = render("raisf_parts", question=query.dated, most=str(PARTS))
        without = "the question has no parts: all that was found is read"
        parts = [] if helpful else sub_questions(self.reader.llm, prompt, PARTS, without)
        if not parts:
            kept += (read := helpful or found)
            return "read", self.reader(query, read).text, read_text(read)
        solved = [self._solved(replace(query, text=p), search, kept, level - 1) for p in parts]
        notes = "\n".join(map(" ".join, zip(parts, solved, strict=True)))
        prompt = render("raisf_answer", question=query.dated, notes=notes)
        return "parts", said(self.reader.llm, prompt, max_tokens=self.reader.max_tokens), notes

    def _helpful(self, query: Query, found: list[Segment]) -> list[Segment]:
        about, texts = quoted(query.text), [quoted(titled(s)) for s in found]
        prompts = [render("selfrag_relevant", question=about, passage=text) for text in texts]
        values = yes_probability(self.reader.llm, prompts)
        return [s for s, yes in zip(found, values, strict=True) if yes is None or yes > 0.5]


@system("ra-isf", needs="LLM, embedder", paper="arXiv 2403.06840")
def ra_isf(
    llm: LLM,
    embedder: Embedder,
    *,
    source: AnySource | None = None,
    prune: Stage | None = None,
    depth: int = 3,
    k: int = 5,
) -> System:
    """Answer what the model knows, else from passages that help, else by sub-questions.

        question ─ known? ─ search ─ does a passage help? ─ sub-questions, each in the same way

    Args:
        llm: Says whether it knows and what helps, takes questions apart, and answers.
        embedder: See `hyde`; so for ``source``, ``prune``, ``k``.
        source: Asked in place of documents in hand.
        prune: Filters what each search finds.
        depth: Levels of questions; what is open on the last is unknown. At least 1.
        k: Segments of a search that count.

    Raises:
        InputError: If an option breaks its rule.

    Source: RA-ISF (arXiv 2403.06840), section 3: self-knowledge, passage relevance, question
        decomposition; at most 3 levels.
    Differs: The three are prompts to one model, where the paper fine-tunes a model for each. The
        number of sub-questions is bounded; without any, all that was found is read.
    """
    return iterating(SelfFeedback(Reader(llm), depth), llm, embedder, source, prune, k)
