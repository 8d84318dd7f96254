"""Surprisal of a segment to a language model, and of the question after it."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ragsieve.models.base import LLM, Nats
from ragsieve.prompts import titled
from ragsieve.schema import Options
from ragsieve.score.base import Scorer
from ragsieve.types import Document, Query, Segment

Per = Literal["sum", "mean"]
STATEMENT = "We can get the answer to this question in the given documents."  # the paper's own


@dataclass(frozen=True)
class Surprisal(Options, Scorer):
    """Self-information of a segment behind what its document says before it, in nats, at least 0.

    A token counts for the segment in which it ends; inside a token, that token counts.

    Args:
        llm: A model that has `surprisals`.
        per: Over the tokens of a segment: their ``"sum"`` or their ``"mean"``.

    Raises:
        InputError: If ``per`` is neither.
        Unsupported: If the model has no `surprisals`.

    Source: Selective-Context (arXiv 2310.06201), section 3: self-information is additive.
    """

    llm: LLM
    per: Per = "sum"
    name: ClassVar[str] = "surprisal"

    def scores(self, query: Query, segments: Sequence[Segment]) -> NDArray[np.float32]:
        """Nats, ``(len(segments),)``."""
        ends: dict[Document, int] = {}
        for segment in segments:
            ends[segment.document] = max(segment.end, ends.get(segment.document, 0))
        prefixes = [(f"{d.title}\n",) if d.title else () for d in ends]
        read = self.llm.surprisals(prefixes, [d.text[:end] for d, end in ends.items()])
        sums = {d: _Sums(tokens) for d, tokens in zip(ends, read, strict=True)}
        nats = [sums[s.document].of(s.start, s.end, self.per == "mean") for s in segments]
        return np.array(nats, np.float32)


class _Sums:
    """Nats of any span of a text."""

    def __init__(self, tokens: Sequence[Nats]) -> None:
        self.ends = [end for _, end, _ in tokens]
        self.until = [0.0, *accumulate(nats for *_, nats in tokens)]

    def of(self, start: int, end: int, mean: bool) -> float:
        first, last = bisect_right(self.ends, start), bisect_right(self.ends, end)
        if first == last and start < end:
            last = min(first + 1, len(self.ends))
        total = max(0.0, self.until[last] - self.until[first])
        return total / max(1, last - first) if mean else total


@dataclass(frozen=True)
class Expected(Scorer):
    """Expectation of the question behind the segment: minus nats a token.

    At most 0; the mean over the question and a statement behind it that the documents answer it,
    which keeps a model from expecting any question behind any text.

    Args:
        llm: A model that has `surprisals`.

    Raises:
        Unsupported: If the model has no `surprisals`.

    Source: LongLLMLingua (arXiv 2310.06839), section 4.1: r_k, with its restrictive statement.
    """

    llm: LLM
    name: ClassVar[str] = "expected"

    def scores(self, query: Query, segments: Sequence[Segment]) -> NDArray[np.float32]:
        """Minus nats a token, ``(len(segments),)``."""
        prefixes = [(titled(s),) for s in segments]
        read = self.llm.surprisals(prefixes, [f"{query.text} {STATEMENT}"] * len(segments))
        means = [float(np.mean([nats for *_, nats in tokens] or [0.0])) for tokens in read]
        return -np.array(means, np.float32)
