"""Thresholds of a sentence pruner, by the probability that the evidence survives.

Source: Conformal risk control (arXiv 2208.02814), section 2.1; see `ragsieve.train.risk`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ragsieve.models.base import SentencePruner
from ragsieve.train.pruner import labelled
from ragsieve.train.risk import Scored, calibrate

PROMISES = tuple(n / 100 for n in range(80, 100))
"""Values of ``keep_answer`` that a table of thresholds has."""


def scored(pruner: SentencePruner, records: Iterable[Mapping[str, Any]]) -> list[Scored]:
    """Questions with documents as the default filter scores their segments, and the evidence.

    Args:
        pruner: What scores.
        records: Questions as `ragsieve.train.pruner.train_pruner` reads them; of each, the passages
            stand in the order of its documents.
    """
    found = []
    for record in records:
        documents = [*labelled(record)]
        if not documents:
            continue
        passages = [passage for passage, _ in documents]
        labels = np.concatenate([labels for _, labels in documents])
        (pruned,) = pruner.prune([record["question"]], [passages])
        found.append(Scored(np.array(pruned.sentences), labels == 1))
    return found


def thresholds(groups: Mapping[str, Sequence[Scored]]) -> dict[str, float]:
    """The threshold for each of `PROMISES`, by its name; it holds in every group of questions.

    Args:
        groups: Questions that nothing was fitted to, by their kind.

    Raises:
        InputError: If a group has too few questions for a promise.
    """
    return {
        f"{promise:.2f}": min(calibrate(some, keep_answer=promise).cut for some in groups.values())
        for promise in PROMISES
    }
