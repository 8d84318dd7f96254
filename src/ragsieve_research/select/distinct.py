"""Drop near-duplicates."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ragsieve.errors import needs_extra
from ragsieve.schema import Options, Share
from ragsieve.select.base import Selector, places
from ragsieve.system import best_first
from ragsieve.trace import Cutoff, record_cutoff, running_step
from ragsieve.types import Query, Segment

with needs_extra("bench"):  # which is light
    from sklearn.feature_extraction.text import TfidfVectorizer


BLOCK = 512  # segments compared with all others at a time: bounds the memory
LEAST = 0.5  # similarity from which the trace records a pair
PAIRS = 5000  # that it records at most: with more, it records none
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_]+|[^\w\s]+|_")


@dataclass(frozen=True, kw_only=True)
class Distinct(Options, Selector):
    """Of two near-duplicates keep the better ranked; the order stays.

    Better ranked is the one with the higher score, or the earlier one where none is scored.

    Args:
        max_similarity: TF-IDF cosine from which two segments are duplicates, in (0, 1].

    Raises:
        InputError: If ``max_similarity`` is out of range.

    Source: ChunkRAG (arXiv 2410.19572), redundancy filtering.
    Differs: Chinese and Japanese go by character; the paper's words need spaces.
    """

    max_similarity: Share = 0.9

    def verdicts(self, query: Query, segments: Sequence[Segment]) -> list[str]:
        ranked = best_first(segments)
        if len(ranked) < 2:
            return [""] * len(segments)
        vectors = TfidfVectorizer(analyzer=_words).fit_transform([s.text for s in ranked])
        dropped: dict[int, str] = {}
        pairs: list[tuple[int, int, float]] = []
        least = min(LEAST, self.max_similarity)
        for start in range(0, len(ranked), BLOCK):
            twins = (vectors[start : start + BLOCK] @ vectors[: start + BLOCK].T).tocsr()
            for place in range(start, min(start + BLOCK, len(ranked))):
                row = twins.getrow(place - start)
                if len(pairs) <= PAIRS and running_step():
                    pairs += _pairs(row, place, least)
                near = sorted(row.indices[row.data >= self.max_similarity - 1e-9])
                better = next((n for n in near if n < place and n not in dropped), None)
                if better is not None:
                    dropped[place] = f"nearly the same as the better {ranked[better].key}"
        if len(pairs) <= PAIRS:
            cutoff = Cutoff("max_similarity", self.max_similarity, "distinct", tuple(segments))
            record_cutoff(replace(cutoff, near=tuple(pairs), least=least))
        return [dropped.get(place - 1, "") for place in places(segments)]


def _pairs(row: Any, place: int, least: float) -> list[tuple[int, int, float]]:
    """The pairs of ``place`` with better ranked segments that are at least so much alike."""
    alike = zip(row.indices.tolist(), row.data.tolist(), strict=True)
    return [(n, place, value) for n, value in alike if n < place and value >= least - 1e-9]


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower()) or [text]
