"""Little is kept where no document seems to answer."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from ragsieve.models.base import PASSAGE
from ragsieve.schema import Amount, Options, Probability
from ragsieve.select.base import Selector
from ragsieve.structure.odd import odd_keys
from ragsieve.system import Cuts, best_first
from ragsieve.types import Query, Segment, of_documents, rounded

_NEAR = 0.5  # share of the best score from which others of its document stay
_FIRST = 8  # of which so many, with it


@dataclass(frozen=True)
class Answerable(Options, Selector):
    """Keep all segments where some passage seems to answer, else few.

    How probable it is that a passage answers is its score of `ragsieve.score.Pruner`; segments
    without one stay. Where none seems to, the best ones stay, and of the very best one's document
    others that score at least half of it, of the first eight. One document alone is what was asked
    about: all of it stays, but for where the best need not.

    Args:
        min_answerable: The least probability of the likeliest passage, in [0, 1]; 0 keeps all.
        min_keep: So many of the best stay below it; not negative.
        odd: Whether odd lines stay, as in `ragsieve.select.Threshold`.

    Raises:
        InputError: If an option breaks its rule.
    """

    min_answerable: Probability = 0.05
    min_keep: Amount = 1
    odd: bool = False

    def at(self, cuts: Cuts) -> tuple[Self, Cuts]:
        """See `ragsieve.system.Cutting`."""
        if cuts.min_answerable is None:
            return self, cuts
        return replace(self, min_answerable=cuts.min_answerable), cuts._replace(min_answerable=None)

    def verdicts(self, query: Query, segments: Sequence[Segment]) -> list[str]:
        chance = max((rounded(s.scores.get(PASSAGE, 1.0)) for s in segments), default=1.0)
        if chance >= self.min_answerable or (self.min_keep and len(of_documents(segments)) == 1):
            return [""] * len(segments)
        spared = odd_keys(query.text, segments).keys() if self.odd else set()
        ranked = best_first(segments)
        spared |= {s.key for s in ranked[: self.min_keep]}
        if self.min_keep:
            best, near = ranked[0], ranked[:_FIRST]
            own = (s for s in near if s.document.id == best.document.id)
            spared |= {s.key for s in own if s.score >= _NEAR * best.score}
        reason = f"answerable {chance:.3f} is below min_answerable={self.min_answerable:g}"
        return ["" if s.key in spared else reason for s in segments]
