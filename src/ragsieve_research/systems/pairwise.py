"""Pairwise ranking prompting: a language model compares passages two at a time, in both orders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from ragsieve import select
from ragsieve.answer import Reader
from ragsieve.errors import check_choice
from ragsieve.models.base import LLM, Prompt
from ragsieve.prompts import render
from ragsieve.system import Pipeline, System
from ragsieve.systems.base import system
from ragsieve.types import rounded
from ragsieve_research.models.choices import odds
from ragsieve_research.prompts import begun, fitting, quoted
from ragsieve_research.score.listwise import MAX_WORDS, Listwise

Pairs = Literal["sliding", "all"]


@system("pairwise-ranking-prompting", needs="LLM", paper="arXiv 2306.17563")
def pairwise_ranking_prompting(
    llm: LLM, *, ranker: LLM | None = None, pairs: Pairs = "sliding", k: int = 5
) -> System:
    """Keep the first 5 documents in an order that an LLM gives them by comparing two at a time.

        documents ─ the last two, the two before … ─ k times ─ first k ─ answer

    Args:
        llm: The generator.
        ranker: Compares; ``llm`` where None.
        pairs: ``"sliding"``: k times from the last to the first, neighbours change places where
            the later one is better; ``"all"``: by how many others each is better than.
        k: So many of the ordered documents stay; K of the paper's PRP-Sliding-K.

    Raises:
        InputError: If an option breaks its rule.

    Source: Pairwise ranking prompting (arXiv 2306.17563), sections 3.1 to 3.4: PRP-Sliding-K and
        PRP-Allpair. Its heap sort is not here.
    Differs: See `Preferring`.
    """
    check_choice(Pairs, pairs=pairs)
    how = {"window": 2, "step": 1, "passes": max(1, k)} if pairs == "sliding" else {"window": 10**9}
    ordered = Listwise(Preferring(ranker or llm), **how)
    return System(Pipeline(ordered, select.TopK(k)), Reader(llm))


@dataclass(frozen=True)
class Preferring:
    """An LLM that compares each two passages in both orders: a `ListwiseReranker`.

    A passage has a point for each other that it is better than in both orders, and half a point
    where these contradict each other or cannot be read. Equals stay in their order.

    Args:
        llm: Compares.

    Raises:
        ModelError: If the model fails.

    Source: Pairwise ranking prompting (arXiv 2306.17563), section 3.1 and equation 1.
    Differs: The prompt is ours, with passages as JSON strings, of `MAX_WORDS` each. Where the model
        tells probabilities the likelier letter counts, else the one that it writes.
    """

    llm: LLM

    @property
    def identity(self) -> str:
        """The LLM's."""
        return self.llm.identity

    def rank(self, questions: Sequence[str], texts: Sequence[Sequence[str]]) -> list[list[int]]:
        """See `ListwiseReranker.rank`."""
        return [self._ranked(*item) for item in zip(questions, texts, strict=True)]

    def _ranked(self, question: str, texts: Sequence[str]) -> list[int]:
        pairs = [*combinations(range(len(texts)), 2)]
        turns = [turn for pair in pairs for turn in (pair, pair[::-1])]
        prompts = [self._prompt(question, texts[a], texts[b]) for a, b in turns]
        rows = odds(self.llm, prompts, ["AB"] * len(prompts))
        signs = [np.sign(rounded(row[0] - row[1])) if row else 0 for row in rows]
        points = np.zeros(len(texts))
        for (a, b), there, back in zip(pairs, signs[::2], signs[1::2], strict=True):
            points[[a, b]] += {2: (1, 0), -2: (0, 1)}.get(int(there - back), (0.5, 0.5))
        return [int(place) for place in np.argsort(-points, kind="stable")]

    def _prompt(self, question: str, one: str, other: str) -> Prompt:
        def make(words: int) -> Prompt:
            texts = {"passage": begun(one, words), "other": begun(other, words)}
            return render("prefer", question=quoted(question), **texts)

        return fitting(self.llm, make, MAX_WORDS, reply=8)
