"""A threshold adapted to the mean and deviation of the scores."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ragsieve.errors import BadReply
from ragsieve.models.base import LLM, Prompt
from ragsieve.prompts import render
from ragsieve.schema import Options, Weight
from ragsieve.select.base import Selector
from ragsieve.system import best_first
from ragsieve.trace import Cutoff, log_event, note, record_cutoff
from ragsieve.types import Query, Segment, rounded
from ragsieve_research.models.choices import reply_tokens
from ragsieve_research.models.parsed import complete_parsed
from ragsieve_research.models.replies import Field, Kind, number, read_fields

_SHARE = re.compile(r"(?<![\w.,])-?[0-9]{0,4}\.[0-9]{1,9}(?!\.?\w)")


@dataclass(frozen=True)
class Adaptive(Options, Selector):
    """Keep segments at or above a threshold made for their scores; the order stays.

    An LLM is shown the distribution of the scores and proposes the threshold. Without an LLM, or
    where its reply stays unreadable or outside the scores, it is their mean, or mean plus standard
    deviation where they bunch, but never above the best score. The trace says which it was. Where
    all scores are alike, as they are shown, no LLM is called and all segments stay.

    Args:
        llm: Proposes; None for the statistical rule.
        epsilon: Variance below which scores count as bunched, in squared units of the score; not
            negative.

    Raises:
        InputError: If ``epsilon`` is negative or not finite, or a segment has no score yet.
        ModelError: If the model fails.

    Source: ChunkRAG (arXiv 2410.19572), section 3, "Dynamic Threshold Determination".
    Differs: Proposals are held to the range of the scores, which the paper does not speak of; what
        was shown, in hundredths, at or above the proposal stays.
    """

    llm: LLM | None = None
    epsilon: Weight = 0.01

    def verdicts(self, query: Query, segments: Sequence[Segment]) -> list[str]:
        if not segments:
            return []
        scores = [rounded(s.score) for s in best_first(segments)]
        threshold, by = self._threshold(scores)
        kept = sum(rounded(s.score) >= threshold for s in segments)
        record_cutoff(Cutoff("threshold", threshold, "at least", tuple(segments), min_keep=1))
        text = f"threshold {threshold:.3f} ({by}): {kept} of {len(segments)} stay"
        log_event(text, "threshold", threshold=threshold, by=by, kept=kept, of=len(segments))
        level = f"is below the threshold {threshold:.3f} ({by})"
        return [
            "" if rounded(s.score) >= threshold else f"score {s.score:.3f} {level}"
            for s in segments
        ]

    def prompt(self, scores: Sequence[float], /) -> Prompt:
        """The prompt for a threshold of ``scores``, best first."""
        return render(
            "threshold",
            scores=", ".join(str(hundredths(score)) for score in scores),
            mean=str(hundredths(float(np.mean(scores)))),
            deviation=str(hundredths(float(np.std(scores)))),
            lowest=str(hundredths(scores[-1])),
            highest=str(hundredths(scores[0])),
        )

    def _threshold(self, scores: Sequence[float]) -> tuple[float, str]:
        """The threshold for ``scores``, best first, and what it is."""
        if self.llm is None:
            return _statistical(scores, self.epsilon)
        lowest, highest = hundredths(scores[-1]), hundredths(scores[0])  # as they are shown
        if lowest == highest:  # there is nothing to choose from
            return scores[-1], "all scores are alike"

        rule = f"one whole number from {lowest} to {highest}"
        field = Field(rule, _hundredths(lowest, highest), ("threshold",))

        def parse(reply: str) -> float:
            return int(read_fields(reply, field)[0]) / 100

        schema = {"type": "integer", "minimum": lowest, "maximum": highest}
        prompts, most = [self.prompt(scores)], reply_tokens(schema)
        (proposal,) = complete_parsed(self.llm, prompts, parse, max_tokens=most, schema=schema)
        if isinstance(proposal, BadReply):
            note(f"no threshold proposed, the statistical rule stands in: {proposal}")
            return _statistical(scores, self.epsilon)
        shown = [score for score in scores if round(score, 2) >= proposal]
        return min(proposal, *shown), "proposed by the LLM"


def _hundredths(lowest: int, highest: int) -> Kind:
    """A whole number of a range, or a share of one."""
    whole = number(lowest, highest)

    def read(value: Any) -> Any:
        return whole(_SHARE.sub(lambda share: str(round(100 * float(share[0]))), str(value)))

    return read


def hundredths(score: float) -> int:
    """A score as it is shown: engines hold bounds of whole numbers alone."""
    return round(100 * score)


def _statistical(scores: Sequence[float], epsilon: float) -> tuple[float, str]:
    """The statistical rule for ``scores``, best first: at most the best, so that one stays."""
    mean, deviation = float(np.mean(scores)), float(np.std(scores))
    threshold, by = (
        (mean + deviation, "mean + deviation")
        if rounded(deviation**2) < epsilon
        else (mean, "mean")
    )
    threshold = rounded(threshold)
    return (threshold, by) if threshold <= scores[0] else (scores[0], "best score")
