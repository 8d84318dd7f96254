"""A learned cut point: an LLM chooses how many segments stay."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ragsieve.models.base import LLM, Prompt
from ragsieve.prompts import render
from ragsieve.schema import Amount, Count, Options
from ragsieve.select.base import Selector, past
from ragsieve.system import best_first
from ragsieve.trace import Cutoff, record_cutoff
from ragsieve.types import Query, Segment, rounded
from ragsieve_research.models.choices import odds
from ragsieve_research.models.parsed import readable
from ragsieve_research.prompts import numbered

SHOWN = 20
"""Ranked segments that a truncator sees, in inference and in training."""


@dataclass(frozen=True)
class Truncate(Options, Selector):
    """Keep the first K of the ranked segments, best first; an LLM chooses K from 0 to n at once.

    One forward pass gives the probability of every K, and the most probable is taken; a model
    without `choose` writes the number. Where its reply stays unreadable, or all K are improbable,
    all shown segments stay.

    Args:
        llm: Chooses K; plain, or tuned for it.
        max_clues: So many of the best are shown to it, the rest is dropped; at least 1.
        min_keep: K is at least this; not negative.

    Raises:
        InputError: If an option breaks its rule.
        ModelError: If the model fails, or the shown segments do not fit its context.

    Source: FineFilter (arXiv 2502.11811v4), section 4.3 and appendix B.3.
    Differs: K is chosen from its distribution, not written; the same K for a greedy writer.
    """

    llm: LLM
    max_clues: Count = SHOWN
    min_keep: Amount = 0
    ranked: ClassVar = True

    def verdicts(self, query: Query, segments: Sequence[Segment]) -> list[str]:
        if not segments:
            return []
        shown = best_first(segments)[: self.max_clues]
        most = len(shown)
        k = chosen(self.llm, self.prompt(query, shown), range(most + 1))
        k = max(readable(k, most, f"all {most} segments stay"), min(self.min_keep, len(segments)))
        record_cutoff(Cutoff("k", k, "best", tuple(segments)))
        return past(segments, k, f"the cut point {k}")

    def prompt(self, query: Query, shown: Sequence[Segment], /) -> Prompt:
        """The prompt to choose among ``shown``, best first."""
        return render(
            "truncate",
            question=query.text,
            most=str(len(shown)),
            sentences=numbered([s.text for s in shown]),
        )


def chosen(llm: LLM, prompt: Prompt, numbers: range) -> int | None:
    """The most probable of some numbers as the reply, the smallest on ties; None: unknown."""
    (row,) = odds(llm, [prompt], [[str(number) for number in numbers]])
    if row is None:
        return None
    return max(numbers, key=lambda number: rounded(row[number - numbers.start]))
