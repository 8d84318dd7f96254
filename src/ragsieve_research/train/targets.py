"""Targets of FineFilter's parts: clues, useful clues and cut points, by the generator's answers.

Source: FineFilter (arXiv 2502.11811v4), sections 4.1 to 4.3.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from ragsieve import split
from ragsieve.documents import as_documents
from ragsieve.errors import InputError
from ragsieve.models.base import Embedder
from ragsieve.run.batch import accuracy
from ragsieve.schema import Count, Distance, Options
from ragsieve.system import ReaderLike, Stage, best_first
from ragsieve.text import contains_answer, visible_answers
from ragsieve.types import Example, Query, Segment


def clues(
    segments: Sequence[Segment],
    answers: Sequence[str],
    embedder: Embedder | None = None,
    *,
    epsilon: float = 0.0,
) -> list[int]:
    """Places of the segments that hold a gold answer, and of those near to one that does.

    A yes or no is in none: one cannot see where such an answer stands.

    Args:
        segments: The sentences of a question's documents.
        answers: Gold answers.
        embedder: Says what is near; needed where ``epsilon`` is over 0.
        epsilon: Cosine distance up to which a segment counts as near, from 0 to 2; the paper has 0
            for NQ, 0.05 for TriviaQA and 0.1 for HotpotQA.

    Raises:
        InputError: If ``epsilon`` has no embedder.

    Source: FineFilter, section 4.1, KNN-based extraction.
    """
    if epsilon and embedder is None:
        raise InputError(f"epsilon={epsilon!r} needs an embedder")
    visible = visible_answers(answers)
    holding = [n for n, s in enumerate(segments) if contains_answer(s.text, visible)]
    if not embedder or not epsilon or not holding:
        return holding
    vectors = embedder.embed([s.text for s in segments])
    distances = 1 - vectors @ vectors[holding].T  # (n_segments, n_holding)
    near = distances.min(axis=1) <= epsilon
    return sorted({*holding, *np.flatnonzero(near).tolist()})


def sentences_of(example: Example) -> list[Segment]:
    """The sentences of a question's documents, in order."""
    documents = [Segment.whole(document) for document in as_documents(example.documents)]
    return split.Sentences()(example.query, documents)


@dataclass(frozen=True)
class Annotator(Options):
    """Labels of one question for all three parts of FineFilter.

    Each clue alone is given to the generator, then each prefix of the ranking, the empty one too:
    the smallest that it answers correctly from is the cut point, and 0 where none but that does.
    A longer one may fail where a shorter one does not, so all are tried.

    Args:
        reader: Asks the generator.
        ranker: Ranks what is cut: a scorer, as `ragsieve.score.Cosine`; where None nothing is cut,
            and clues alone are given to the generator.
        embedder: Finds clues near to an answer, where ``epsilon`` is over 0.
        epsilon: See `clues`.
        max_clues: Of a question at most, the first ones; of its ranking, the best; at least 1.
        every: Rank all sentences, as a trained extractor does that scores them, not the clues only.
        named: Whether the clues that the generator is given one by one are those that the ranker
            puts out, as section 4.2 has it, and not the sentences with an answer.
        ask: What the generator is given: each clue ``"alone"``, which a reranker learns from, the
            ``"prefixes"`` of the ranking, for a truncator, or ``"both"``.

    Raises:
        InputError: If an option breaks its rule, or an example has no gold answer.
        ModelError: If a model fails.

    Source: FineFilter, sections 4.1 to 4.3.
    """

    reader: ReaderLike
    ranker: Stage | None
    embedder: Embedder | None = None
    epsilon: Distance = 0.0
    max_clues: Count = 20
    every: bool = False
    named: bool = False
    ask: Literal["both", "alone", "prefixes"] = "both"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epsilon and self.embedder is None:
            raise InputError(f"epsilon={self.epsilon!r} needs an embedder")

    def __call__(self, example: Example) -> dict[str, Any]:
        """The labels as JSON values.

        Returns:
            ``sentences``: the document's id, start and end of each; ``clues``: places of the clues
            among them, none where these are not asked alone; ``useful``: for each clue whether the
            generator answers from it alone; ``ranking``: places of what is ranked, best first, and
            ``scores`` of them; ``right``: whether the generator answers from the first 0, 1 … of
            them; ``k``: the cut point. With no prefix asked, ``right`` is empty and ``k`` None.
        """
        if not any(map(str.strip, example.answers)):
            raise InputError(f"question {example.query.id!r} has no gold answer to learn from")
        query, sentences = example.query, sentences_of(example)
        near = clues(sentences, example.answers, self.embedder, epsilon=self.epsilon)
        chosen = near[: self.max_clues]
        place = {s.key: n for n, s in enumerate(sentences)}
        named = sentences if self.every else [sentences[n] for n in chosen]
        ranked = best_first(self.ranker(query, named))[: self.max_clues] if self.ranker else []
        if self.named:
            chosen = [place[s.key] for s in ranked]
        chosen = [] if self.ask == "prefixes" else chosen
        cut = bool(ranked) and self.ask != "alone"
        prefixes = [ranked[:k] for k in range(len(ranked) + 1)] if cut else []
        right = [self._answers(query, prefix, example.answers) for prefix in prefixes]
        return {
            "sentences": [list(s.key) for s in sentences],
            "clues": chosen,
            "useful": [self._answers(query, [sentences[n]], example.answers) for n in chosen],
            "ranking": [place[s.key] for s in ranked],
            "scores": [s.score for s in ranked],
            "right": right,
            "k": next((k for k, good in enumerate(right) if k and good), 0) if cut else None,
        }

    def _answers(self, query: Query, segments: Sequence[Segment], gold: Sequence[str]) -> bool:
        return accuracy(self.reader(query, segments).text, gold) == 1.0


@dataclass
class LabelCounts:
    """Counts of labels, by use.

    Args:
        questions: Labelled in all.
        without_clues: Of these no sentence holds an answer: nothing to learn but to keep nothing.
        one_sided: Clues are there, but all useful or none: no pair for the reranker.
        cuts: How often each cut point was chosen.
    """

    questions: int = 0
    without_clues: int = 0
    one_sided: int = 0
    cuts: Counter[int] = field(default_factory=Counter)

    def add(self, labels: Mapping[str, Any]) -> None:
        """Count one question in."""
        self.questions += 1
        self.without_clues += not labels["clues"]
        self.one_sided += bool(labels["clues"]) and len(set(labels["useful"])) < 2
        if labels["k"] is not None:
            self.cuts[labels["k"]] += 1

    def __str__(self) -> str:
        cuts = ", ".join(f"K={k} in {n}" for k, n in sorted(self.cuts.items()))
        parts = [
            f"{self.questions} questions, {self.without_clues} of them without a clue",
            f"{self.one_sided} whose clues are all useful or none, so not for the reranker",
        ]
        return "; ".join([*parts, f"cut points: {cuts}" if cuts else "no cut points"])
