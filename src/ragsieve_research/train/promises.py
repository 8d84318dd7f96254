"""Thresholds of a sentence pruner, by the probability that the evidence survives.

Source: Conformal risk control (arXiv 2208.02814), section 2.1; see `ragsieve_research.train.risk`.
"""

import json
import math
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ragsieve.errors import InputError
from ragsieve.models.base import SentencePruner
from ragsieve.models.pruner import FILES, SETTINGS, Pruner, write_settings
from ragsieve.select.threshold import PROMISED, lead, shifted
from ragsieve.text import contains_answer, visible_answers
from ragsieve.types import rounded
from ragsieve_research.artifacts.card import page
from ragsieve_research.artifacts.folder import CARD, atomic_dir, check_replaceable
from ragsieve_research.datasets.parts import place_of
from ragsieve_research.evaluate.auc import auc
from ragsieve_research.score.calibrated import Logistic
from ragsieve_research.train.evidence import SALT, Share
from ragsieve_research.train.examples import check_enough, in_turns
from ragsieve_research.train.pruner_samples import labelled
from ragsieve_research.train.risk import ScoredQuestion, calibrate, least_questions
from ragsieve_research.train.scores import fit

LEAST = 0.8
"""The promise that questions to calibrate on must be enough for."""


class Reading(NamedTuple):
    """What a pruner says of a question's sentences, and what is known of them.

    Args:
        units: Document, as its place, and text of each sentence.
        scores: Probability of each.
        holds: Whether it is evidence with an answer, or any evidence where none has one.
        labels: 1 for evidence, 0 for others, -1 for what may repeat the answer.
        lengths: Words of each.
    """

    question: str
    units: list[tuple[int, str]]
    scores: NDArray[np.float64]
    holds: NDArray[np.bool_]
    labels: NDArray[np.float64]
    lengths: NDArray[np.int64]


def scored(pruner: SentencePruner, records: Iterable[Mapping[str, Any]]) -> list[ScoredQuestion]:
    """Questions with documents as the default filter cuts their segments, and the evidence.

    A score is a probability less the share of what leads in the question by which a threshold goes
    with it. Evidence is marked sentences with an answer, or all marked ones where none has one.

    Args:
        pruner: What scores.
        records: Questions as `ragsieve_research.train.pruner.train_pruner` reads them; of each, the
            passages stand in the order of its documents.
    """
    return [*map(partial(levelled, pruner), readings(pruner, records))]


def levelled(pruner: SentencePruner, one: Reading) -> ScoredQuestion:
    """A reading with the levels that are compared with one threshold for all questions."""
    levels, relative = one.scores, pruner.relative
    if relative:
        order = np.argsort(-levels, kind="stable")
        ranked = ((*one.units[place], rounded(levels[place])) for place in order)
        best = lead(one.question, ranked, pruner.leads)
        levels = np.array([shifted(score, best, -relative) for score in levels])
    return ScoredQuestion(levels, one.holds)


def recalibrated(
    folder: Path, groups: Mapping[str, Sequence[Mapping[str, Any]]]
) -> dict[str, list[ScoredQuestion]]:
    """Fit the curve of a pruner's folder to all questions; return them as it then scores them.

    Without a curve that rises, it has none.

    Args:
        folder: Its ``pruner.json`` is written anew, without the curve that it had.
        groups: Questions that the net was not trained on, by their kind.

    Raises:
        InputError: If no sentence is known as evidence, or all are.
    """
    _write_settings(folder, curve=None)
    pruner = Pruner(str(folder))
    known = {kind: [*readings(pruner, some)] for kind, some in groups.items()}
    fitted = curve(one for some in known.values() for one in some)
    if fitted.slope > 0:
        _write_settings(folder, curve=fitted.to_dict())
        pruner = Pruner(str(folder))  # whose `leads` are calibrated
        known = {
            kind: [one._replace(scores=fitted(log_odds(one.scores))) for one in some]
            for kind, some in known.items()
        }
    return {kind: [levelled(pruner, one) for one in some] for kind, some in known.items()}


def _write_settings(folder: Path, **changes: Any) -> None:
    """Change what a pruner's ``pruner.json`` says; what is None goes."""
    settings = json.loads((folder / SETTINGS).read_text(encoding="utf-8")) | changes
    known = {name: value for name, value in settings.items() if value is not None}
    write_settings(folder, known)


def curve(some: Iterable[Reading]) -> Logistic:
    """What makes log-odds of sentences those of their being evidence, by Platt's regression.

    Raises:
        InputError: If no sentence is known as evidence, or all are.
    """
    read = [*some]
    labels = np.concatenate([one.labels for one in read])
    odds = log_odds(np.concatenate([one.scores for one in read]))
    known = labels >= 0
    return fit(odds[known], labels[known])


def log_odds(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log-odds of probabilities, none over 14 in size."""
    clipped = np.clip(scores, 1e-6, 1 - 1e-6)
    return np.asarray(np.log(clipped / (1 - clipped)))


def figures(
    pruner: SentencePruner, records: Iterable[Mapping[str, Any]], keep_answer: float
) -> dict[str, float]:
    """Measure a pruner on questions that nothing was fitted to.

    Returns:
        ``auc``: the mean inside a question, of evidence against other sentences; ``survival``: the
        share of questions with evidence of which a sentence with it stays at ``keep_answer``;
        ``words``: the mean share of words that stay, over all questions; ``questions``: how many
        have evidence. All but the last in [0, 1], NaN of no question.
    """
    threshold = pruner.threshold(keep_answer)
    areas, survived, words = [], [], []
    for one in readings(pruner, records):
        scores, labels, lengths = one.scores, one.labels, one.lengths
        kept = (levelled(pruner, one).scores >= threshold) | (
            np.arange(len(scores)) == scores.argmax()
        )
        words.append((lengths * kept).sum() / max(lengths.sum(), 1))
        if (labels == 1).any():
            survived.append(kept[one.holds].any())
        known = labels >= 0  # neither evidence nor other where it may repeat the answer
        if (area := auc(labels[known], scores[known])) is not None:
            areas.append(area)
    means = {"auc": areas, "survival": survived, "words": words}
    figures = {name: float(np.mean(some)) if some else math.nan for name, some in means.items()}
    return {**figures, "questions": len(survived)}


def readings(pruner: SentencePruner, records: Iterable[Mapping[str, Any]]) -> Iterator[Reading]:
    """What a pruner says of each question; those without text are left out."""
    for record in records:
        documents = [*labelled(record)]
        if not documents:
            continue
        passages = [passage for passage, _ in documents]
        units = [(n, text) for n, one in enumerate(passages) for text in one.sentences]
        labels = np.concatenate([labels for _, labels in documents])
        answers = visible_answers(record.get("answers", []))
        named = (labels == 1) & [contains_answer(text, answers) for _, text in units]
        (pruned,) = pruner.prune([record["question"]], [passages])
        lengths = np.array([len(text.split()) for _, text in units])
        holds = named if named.any() else labels == 1
        scores = np.array(pruned.sentences)
        yield Reading(record["question"], units, scores, holds, labels, lengths)


def thresholds(
    groups: Mapping[str, Sequence[ScoredQuestion]],
    promises: Sequence[float] = PROMISED,
    *,
    confidence: float | None = None,
) -> dict[str, float]:
    """The threshold for each of ``promises``, by its name; it holds in every group of questions.

    Args:
        groups: Questions that nothing was fitted to, by their kind.
        promises: Values of ``keep_answer``.
        confidence: See `ragsieve_research.train.risk.calibrate`.

    Raises:
        InputError: If a group has too few questions for a promise.
    """
    return {
        f"{promise:.2f}": min(
            calibrate(some, keep_answer=promise, confidence=confidence).cut
            for some in groups.values()
        )
        for promise in promises
    }


def possible(
    questions: Sequence[ScoredQuestion], *, confidence: float | None = None
) -> list[float]:
    """Those of `PROMISED` that so many questions are enough for.

    Raises:
        InputError: If they are too few for `LEAST`; it names the number that would do.
    """
    calibrate(questions, keep_answer=LEAST, confidence=confidence)
    promises = []
    for promise in PROMISED:
        try:
            calibrate(questions, keep_answer=promise, confidence=confidence)
        except InputError:  # and all above need more
            break
        promises.append(promise)
    return promises


def check_shares(parts: Mapping[Share, Sequence[Mapping[str, Any]]]) -> None:
    """Check that there are questions enough to train a pruner, calibrate its least promise, check.

    Args:
        parts: Questions as `ragsieve_research.train.pruner.train_pruner` reads them, by
            their purpose.

    Raises:
        InputError: If one has too few: it names it, and the numbers of all.
    """
    records = in_turns([(part, one) for one in some] for part, some in parts.items())
    shown = (part for part, one in records if unscored(one).holds.any())
    rule = (
        "six eighths of all questions to train, one each to calibration and to checking, and to "
        "these of a named data set half of its part validation each; add questions, mark the "
        "evidence of documents ([[start, end], …]), or give answers that stand in them"
    )
    check_enough(shown, _needed(parts), "known evidence", rule)


def _needed(parts: Iterable[Share]) -> dict[str, int]:
    """Questions with known evidence that each part must have."""
    return dict.fromkeys(map(str, parts), 1) | {"calibration": least_questions(LEAST)}


def fill_shares(parts: Mapping[Share, list[dict[str, Any]]], own: Collection[str]) -> int:
    """Move questions with known evidence from training to where they are too few; how many.

    Those of one's own files alone, and in the order of their salted hash, so that the same
    questions are divided in the same way.

    Args:
        parts: Questions by their purpose, which are changed.
        own: Ids of questions of one's own files.
    """
    known = [one for one in parts["train"] if one["id"] in own and unscored(one).holds.any()]
    known.sort(key=lambda one: place_of(one["question"], SALT, 1 << 32))
    moved = 0
    for share in ("checking", "calibration"):
        have = sum(bool(unscored(one).holds.any()) for one in parts[share])
        for _ in range(min(_needed(parts)[share] - have, len(known) - 1)):
            parts[share].append(one := known.pop())
            parts["train"].remove(one)
            moved += 1
    return moved


def unscored(record: Mapping[str, Any]) -> ScoredQuestion:
    """A question that no pruner has read yet, for whether it has evidence."""
    labels = np.concatenate([[0.0], *(labels for _, labels in labelled(record))])
    return ScoredQuestion(np.zeros(len(labels)), labels == 1)


def promise(
    folder: Path, questions: Sequence[ScoredQuestion], *, confidence: float | None = None
) -> list[float]:
    """Give a pruner's folder the thresholds of all promises that these questions allow.

    The thresholds that it had go. Returns the promises.

    Raises:
        InputError: If there are too few questions for `LEAST`.
    """
    promises = possible(questions, confidence=confidence)
    _write_settings(
        folder,
        thresholds=thresholds({"own": questions}, promises, confidence=confidence),
        calibrated_on={"own": sum(bool(q.holds.any()) for q in questions)},
    )
    return promises


def check_free(folder: Path) -> None:
    """Raise `InputError` where a folder holds anything but what `copy` wrote."""
    check_replaceable(folder, "pruner", SETTINGS, lambda: (*FILES, CARD))


def copy(
    pruner: Pruner,
    folder: Path,
    questions: Sequence[ScoredQuestion],
    *,
    confidence: float | None = None,
) -> None:
    """Write a copy of a pruner's folder with thresholds calibrated on other questions.

    Args:
        pruner: What scored them.
        folder: See `check_free`.
        questions: Those that the pruner was not trained on.
        confidence: See `ragsieve_research.train.risk.calibrate`.

    Raises:
        InputError: If ``folder`` is not free, or there are too few questions.
    """
    check_free(folder)
    possible(questions, confidence=confidence)
    with atomic_dir(folder) as fresh:
        for name in FILES:
            shutil.copyfile(pruner.folder / name, fresh / name)
        kept = promise(fresh, questions, confidence=confidence)
        use = (
            f"A copy of ragsieve's sentence pruner `{pruner.identity}` with thresholds for "
            f"`keep_answer` from {kept[0]} to {kept[-1]}, by conformal risk control on "
            f"{sum(bool(q.holds.any()) for q in questions)} questions."
        )
        card = page(f"{pruner.model}, calibrated anew", use, {})
        (fresh / CARD).write_text(card, encoding="utf-8")
