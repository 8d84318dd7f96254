"""Quality of scorers on labelled questions: do segments that help score above the others?"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from ragsieve import split
from ragsieve.documents import as_documents
from ragsieve.errors import InputError, needs_extra
from ragsieve.score.base import Scorer
from ragsieve.text import contains_answer, visible_answers
from ragsieve.trace import Step, collect_step
from ragsieve.types import Document, Example, Query, Segment, Span
from ragsieve_research.evaluate.auc import auc
from ragsieve_research.evaluate.evidence import gold_sentences, merged, mostly
from ragsieve_research.evaluate.stats import MeanInterval, Values, interval, json_figure
from ragsieve_research.score.named import needed

with needs_extra("bench"):
    from scipy.stats import spearmanr
    from sklearn.metrics import ndcg_score

Labels = Literal["grades", "gold sentences", "positive documents", "answers"]

CHANCE = "chance"
_OF_DOCUMENTS: tuple[Labels, ...] = ("grades", "positive documents")  # labels of documents


@dataclass(frozen=True)
class Labelled:
    """A question's segments, and how much each helps.

    Args:
        query: The question.
        segments: Documents or sentences, as they were retrieved.
        grades: One for each, over 0 where it helps.
    """

    query: Query
    segments: tuple[Segment, ...]
    grades: tuple[float, ...]


def labels_of(examples: Iterable[Example]) -> Labels:
    """Labels of a data set, the finest that any of its questions has.

    Human grades (``relevance`` of a document), then gold sentences, then documents labelled
    ``is_positive``, then gold answers, which a segment may hold.

    Raises:
        InputError: If it has none.
    """
    kinds = {kind for example in examples for kind in _kinds(example)}
    for kind in get_args(Labels):
        if kind in kinds:
            return kind  # type: ignore[no-any-return]
    raise InputError(
        "questions must have labels (relevance, supporting_sentences or is_positive of documents, "
        "or answers that are not yes or no), got none"
    )


def _kinds(example: Example) -> Iterator[Labels]:
    for document in example.documents:
        if document.metadata.get("relevance") is not None:
            yield "grades"
        if document.metadata.get("supporting_sentences"):
            yield "gold sentences"
        if document.metadata.get("is_positive") is not None:
            yield "positive documents"
    if visible_answers(example.answers):
        yield "answers"


def is_labelled(example: Example, labels: Labels) -> bool:
    """Whether a question has labels of a kind; where all documents are negative, no sentence helps.

    Of others nothing is known: what no label is on is not what does not help.
    """
    negative = all(d.metadata.get("is_positive") is False for d in example.documents)
    return labels in _kinds(example) or (labels == "gold sentences" and negative)


def unit_of(labels: Labels) -> str:
    """The units to score: the ``"documents"`` that the labels are of, else ``"sentences"``."""
    return "documents" if labels in _OF_DOCUMENTS else "sentences"


def labelled(example: Example, labels: Labels) -> Labelled:
    """A question's documents or sentences with their grades.

    By gold sentences, a segment helps if it holds half of one, or half of it is gold.

    Raises:
        InputError: If a label is none.
    """
    documents = as_documents(example.documents)
    segments = [Segment.whole(d) for d in documents]
    if labels not in _OF_DOCUMENTS:
        segments = split.Sentences()(example.query, segments)
    gold = {d.id: gold_sentences(d) for d in documents if labels == "gold sentences"}
    answers = visible_answers(example.answers)
    grade: dict[Labels, Callable[[Segment], float]] = {
        "grades": lambda s: _human(s.document),
        "gold sentences": lambda s: float(_is_gold(s, gold[s.document.id])),
        "positive documents": lambda s: float(s.document.metadata.get("is_positive") is True),
        "answers": lambda s: float(contains_answer(s.text, answers)),
    }
    return Labelled(example.query, tuple(segments), tuple(map(grade[labels], segments)))


def _human(document: Document) -> float:
    grade = document.metadata.get("relevance") or 0  # what nobody judged does not help
    if not isinstance(grade, int | float) or not 0 <= grade < math.inf:
        where = f"relevance of document {document.id!r:.80}"
        raise InputError(f"{where} must be a number from 0 up, got {grade!r:.80}")
    return float(grade)


def _is_gold(segment: Segment, gold: Sequence[Span]) -> bool:
    own = segment.start, segment.end
    return any(mostly(one, [own]) for one in gold) or (
        own[0] < own[1] and mostly(own, merged(gold))
    )


@dataclass(frozen=True)
class ScoredSegments:
    """A question's segments as scorers see them.

    Args:
        grades: As `Labelled` has them, ``(segments,)``.
        scores: By scorer, ``(segments,)``; all alike of ``"chance"``.
        seconds: By scorer, of all segments, with the scorers that it needs.
        tokens: The same that its models read and wrote, remembered replies included.
    """

    grades: Values
    scores: Mapping[str, Values]
    seconds: Mapping[str, float]
    tokens: Mapping[str, int]


def scored(question: Labelled, scorers: Mapping[str, Scorer]) -> ScoredSegments:
    """Score a question's segments, of which there is one at least.

    Args:
        question: The question.
        scorers: As `ragsieve_research.score.named.create_scorers` gives them.

    Raises:
        ModelError: If a model fails.
    """
    segments, own = list(question.segments), {}
    scores = {CHANCE: np.zeros(len(segments))}
    for name, scorer in scorers.items():
        with collect_step() as own[name]:
            segments = scorer(question.query, segments)
        scores[name] = np.array([s.score for s in segments])
    seconds = {n: sum(own[part].seconds for part in needed([n])) for n in scorers}
    tokens = {n: sum(_tokens(own[part]) for part in needed([n])) for n in scorers}
    return ScoredSegments(np.array(question.grades), scores, seconds, tokens)


def _tokens(step: Step) -> int:
    return sum(usage.tokens_in + usage.tokens_out for usage in step.usages)


def rho(grades: Values, scores: Values) -> float | None:
    """Spearman's rank correlation, in [-1, 1]; 0 where scores are equal, None where grades are."""
    if not np.ptp(grades):
        return None
    return float(spearmanr(grades, scores).statistic) if np.ptp(scores) else 0.0


def ndcg(grades: Values, scores: Values) -> float | None:
    """Normalised discounted cumulative gain of the first 10, in [0, 1].

    None where grades are equal. A gain is the grade. Equal scores share the discounts of their
    places, so that no order among them counts.

    Source: Järvelin and Kekäläinen 2002; ties as McSherry and Najork 2008.
    """
    return float(ndcg_score([grades], [scores], k=10)) if np.ptp(grades) else None


def hit(grades: Values, scores: Values) -> float | None:
    """Share of the best scored that help, one segment where none is equal; None as for `auc`."""
    helps = grades > 0
    return float(helps[scores == scores.max()].mean()) if helps.any() and not helps.all() else None


MEASURES: dict[str, Callable[[Values, Values], float | None]] = {
    "AUC": auc,
    "rho": rho,
    "NDCG@10": ndcg,
    "hit@1": hit,
}


@dataclass(frozen=True)
class Figures:
    """Quality and cost of a scorer.

    Args:
        scorer: Its name.
        means: By measure, the mean over the questions to which it applies, with its 95% bootstrap
            interval; None where it applies to no question.
        seconds: A segment, with the scorers that it needs.
        tokens: The same that its models read and wrote.
    """

    scorer: str
    means: Mapping[str, MeanInterval | None]
    seconds: float
    tokens: float

    def to_dict(self) -> dict[str, Any]:
        """JSON values."""
        means = {name: mean and json_figure(mean) for name, mean in self.means.items()}
        costs = {"seconds_per_segment": self.seconds, "tokens_per_segment": self.tokens}
        return {"scorer": self.scorer, **means, **costs}


def figures(questions: Sequence[ScoredSegments], name: str) -> Figures:
    """Quality of the scorer ``name``; ``"chance"`` is one that scores everything alike."""
    means = {}
    for measure, function in MEASURES.items():
        results = [function(q.grades, q.scores[name]) for q in questions]
        values = [value for value in results if value is not None]
        exact = measure != "rho"  # whose 0 is the middle of its range
        means[measure] = interval([np.array(values)], exact=exact) if values else None
    segments = max(1, sum(len(q.grades) for q in questions))
    seconds = sum(q.seconds.get(name, 0.0) for q in questions) / segments
    return Figures(name, means, seconds, sum(q.tokens.get(name, 0) for q in questions) / segments)
