"""Labels of a router by the generator's answers, and the regressions fitted to them.

Source: PruningRAG (arXiv 2409.13694), section 4.2.1.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragsieve.errors import InputError, ModelError, needs_extra

with needs_extra("train"):
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV, StratifiedKFold

from ragsieve.models.base import Embedder
from ragsieve.run.batch import accuracy
from ragsieve.system import Pipeline, ReaderLike, Stage
from ragsieve.types import Example, Query
from ragsieve_research.retrieve.route import LightRouter, Named, ask, check_names

NEAREST = 20  # questions that say which source a question without a right answer gets
STRENGTHS = (0.1, 1.0, 10.0, 100.0)  # of the regressions, inverse; chosen by cross-validation
FOLDS = 5

KNOWN = "sources"
"""Key, in an example's metadata, of the names of the sources that help."""

Bools = NDArray[np.bool_]
Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class SourceLabeller:
    """Says of a question from which sources, each alone, the generator answers it correctly.

    Where an example's metadata name its ``sources``, these are right, and nobody is asked.

    Args:
        sources: All there are, the model's own memory among them where it shall be chosen, too.
        reader: Asks the generator.
        stage: Filters the evidence of each source first.

    Raises:
        InputError: If a name comes twice, or an example names other sources.
        ModelError: If a model or a source fails: what a source did not say is no label.

    Source: PruningRAG, section 4.2.1.
    """

    sources: tuple[Named, ...]
    reader: ReaderLike
    stage: Stage = field(default_factory=Pipeline)

    def __post_init__(self) -> None:
        check_names(self.sources)

    def __call__(self, example: Example) -> dict[str, Any]:
        """The labels as JSON values: ``question`` and ``right``, True or False by source."""
        names = [source.name for source in self.sources]
        known = KNOWN in example.metadata
        right = _known(example, names) if known else self._tried(example)
        return {"question": example.query.text, "right": dict(zip(names, right, strict=True))}

    def _tried(self, example: Example) -> list[bool]:
        """Sources that lead the generator to a right answer."""
        results = ask(self.sources, example.query)
        if failed := next((one for one in results if one.error), None):
            raise ModelError(f"source {failed.name} failed: {failed.error}")
        if partly := next((one for one in results if one.warnings), None):
            raise ModelError(f"a source failed in part: {partly.name}: {partly.warnings[0]}")
        kept = [self.stage(example.query, one.segments) for one in results]
        answers = [self.reader(example.query, group) for group in kept]
        return [accuracy(answer.text, example.answers) == 1.0 for answer in answers]


def _known(example: Example, names: Sequence[str]) -> list[bool]:
    """Sources that the example's metadata name."""
    helpful = example.metadata[KNOWN]
    if not isinstance(helpful, list):
        raise InputError(
            f"metadata {KNOWN!r} of question {example.query.id!r} must be a list of names, "
            f"got {helpful!r:.80}"
        )
    if unknown := [name for name in helpful if name not in names]:
        raise InputError(
            f"metadata {KNOWN!r} of question {example.query.id!r} must name sources of "
            f"{', '.join(names)}, got {unknown[0]!r:.80}"
        )
    return [name in helpful for name in names]


@dataclass(frozen=True, eq=False)
class RouterLabels:
    """Questions with what is known of them.

    Args:
        queries: The questions.
        right: Whether the generator answers from each source alone, ``(n, n_sources)``.
        vectors: Of the questions, of unit length, ``(n, dim)``.

    Raises:
        InputError: If the lengths differ, or there is no question.
    """

    queries: tuple[Query, ...]
    right: Bools
    vectors: Vectors

    def __post_init__(self) -> None:
        if not 0 < len(self.queries) == len(self.right) == len(self.vectors):
            raise InputError(
                f"there must be as many labels and vectors as questions, and one at least, "
                f"got {len(self.queries)}, {len(self.right)} and {len(self.vectors)}"
            )

    @classmethod
    def of(
        cls, records: Sequence[dict[str, Any]], names: Sequence[str], embedder: Embedder
    ) -> RouterLabels:
        """Labels that a `SourceLabeller` of sources with these names wrote."""
        queries = tuple(Query(record["question"], record.get("id", "")) for record in records)
        right = np.array([[record["right"][name] for name in names] for record in records], bool)
        vectors = embedder.embed([query.text for query in queries], query=True)
        return cls(queries, right.reshape(len(queries), len(names)), vectors)

    def helps(self, known: RouterLabels | None = None) -> Bools:
        """The sources to choose for each question: at least one, ``(n, n_sources)``.

        Those that led to a right answer; where none did, the one that did most often on the 20
        nearest questions of ``known`` (these ones, itself not counted, where None), on ties the
        one that did most often on all, then the first.
        """
        pool, labels = known or self, self.right.copy()
        overall = pool.right.mean(axis=0)  # (n_sources,)
        for place in np.flatnonzero(~self.right.any(axis=1)):
            near = pool.vectors @ self.vectors[place]  # (n_known,)
            if known is None:
                near[place] = -np.inf
            nearest = np.argsort(-near, kind="stable")[: min(NEAREST, len(near) - (known is None))]
            shares = pool.right[nearest].mean(axis=0) if len(nearest) else overall
            labels[place, np.lexsort((-overall, -shares))[0]] = True
        return labels


def fit_light(
    known: RouterLabels, names: Sequence[str], embedder: Embedder, *, seed: int = 0
) -> LightRouter:
    """A light router: for each source a logistic regression on the question's embedding.

    Classes weigh the same however rare; the strength is chosen by cross-validation where each
    class has enough questions. A source that always or never helps has a constant probability.

    Args:
        known: To learn from.
        names: Of the sources, in the order of its labels.
        embedder: What made its vectors.
        seed: Divides the questions for cross-validation.

    Raises:
        InputError: If there are not as many names as labels.
    """
    labels = known.helps()  # (n, n_sources)
    if labels.shape != (len(known.queries), len(names)):
        raise InputError(f"names must be {labels.shape[-1]}, one a source, got {len(names)}")
    fitted = [_regression(known.vectors, labels[:, n], seed) for n in range(len(names))]
    weights, bias = zip(*fitted, strict=True)
    return LightRouter(embedder, tuple(names), weights, bias)


def _regression(vectors: Vectors, label: Bools, seed: int) -> tuple[tuple[float, ...], float]:
    counts = np.bincount(label, minlength=2)
    if not counts.all():  # half a question of either kind more, as a prior
        share = (counts[1] + 0.5) / (counts.sum() + 1)
        return (0.0,) * vectors.shape[1], float(np.log(share / (1 - share)))
    model: Any = LogisticRegression(C=10.0, class_weight="balanced", max_iter=1000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if counts.min() >= FOLDS:
            folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
            chosen = {"C": list(STRENGTHS)}
            search = GridSearchCV(model, chosen, scoring="balanced_accuracy", cv=folds)
            model = search.fit(vectors, label).best_estimator_
        else:
            model.fit(vectors, label)
    return tuple(map(float, model.coef_[0])), float(model.intercept_[0])


def figures(names: Sequence[str], chosen: Bools, helps: Bools, right: Bools) -> dict[str, Any]:
    """Measure the choice of sources, each array ``(n, n_sources)``.

    Returns:
        By ``"routed"`` and ``"all sources"``: ``exact``: the sources that help and no others were
        chosen; ``covered``: one that helps is among the chosen; ``right``: one of the chosen led to
        a right answer by itself; all as shares of questions; ``asked``: sources a question. By each
        source's name its ``accuracy``: chosen where it helps, and only there. And ``questions``.
    """

    def of(some: Bools) -> dict[str, float]:
        return {
            "exact": float((some == helps).all(axis=1).mean()),
            "covered": float((some & helps).any(axis=1).mean()),
            "right": float((some & right).any(axis=1).mean()),
            "asked": float(some.sum(axis=1).mean()),
        }

    rows: dict[str, Any] = {"routed": of(chosen), "all sources": of(np.ones_like(chosen))}
    agreed = (chosen == helps).mean(axis=0)
    rows |= {f"source {n}": {"accuracy": float(a)} for n, a in zip(names, agreed, strict=True)}
    return {"questions": len(chosen), **rows}
