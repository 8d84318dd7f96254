"""Chain of verification: a draft, questions that check it, each answered alone, and the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ragsieve import select
from ragsieve.models.base import LLM
from ragsieve.prompts import render
from ragsieve.system import Pipeline, System
from ragsieve.systems.base import system
from ragsieve.trace import log_event
from ragsieve.types import Answer, Query, Segment
from ragsieve_research.answer.whole import WholeReader
from ragsieve_research.systems.asking import said, sub_questions

QUESTIONS = 5  # that check a draft, at most


@system("cove", paper="arXiv 2309.11495")
def cove(llm: LLM, *, documents: int = 5) -> System:
    """Check the answer by questions, each answered without sight of it, then answer again.

        draft ─ questions that check it ─ an answer to each from the documents alone ─ answer

    Args:
        llm: The generator; asks the questions, too.
        documents: So many of the first are read; not negative. With 0 the model answers from what
            it knows, as in the paper.

    Raises:
        InputError: If an option breaks its rule.

    Source: Chain of verification (arXiv 2309.11495), section 3, the factored form.
    Differs: The paper has no documents; here draft and checks are answered from them. Prompts have
        instructions in place of worked examples, and the number of questions is bounded.
    """
    return System(Pipeline(select.TopK(documents)), Verifying(llm))


@dataclass(frozen=True)
class Verifying(WholeReader):
    """A `Reader` that checks its answer by questions, and answers again from what these showed.

    Where no question can be read, or nothing is said behind them, the draft is the answer.
    """

    def answers(self, query: Query, groups: Sequence[Sequence[Segment]], /) -> list[Answer]:
        """As `Reader.answers`; each is verified."""
        return [self._verified(query, draft) for draft in super().answers(query, groups)]

    def _verified(self, query: Query, draft: Answer) -> Answer:
        about = {"question": query.dated, "text": " ".join(draft.text.split())}
        log_event(f"draft: {about['text']!r}", "draft", draft=about["text"])
        prompt = render("cove_checks", **about, most=str(QUESTIONS))
        checks = sub_questions(self.llm, prompt, QUESTIONS, "the draft is not checked")
        told = []
        for check in checks:
            (known,) = super().answers(replace(query, text=check), [draft.segments])
            told.append(f"{check} {' '.join(known.text.split()) or 'unknown'}")
            log_event(told[-1], "check", question=check, answer=known.text)
        prompt = render("cove_final", **about, notes="\n".join(told))
        final = said(self.llm, prompt, max_tokens=self.max_tokens) if told else ""
        return replace(draft, text=final, reply=final) if final else draft
