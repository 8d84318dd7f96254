"""What a clue reader learns from: sentences as tokens and hand-made inputs, with targets."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from ragsieve.models.base import Passage
from ragsieve.models.clue_features import features
from ragsieve.models.clue_windows import Layout, Read, Setter, Span, Window
from ragsieve.models.clues import made_safe
from ragsieve.train.lessons import Lesson

OTHER, NOTHING = -1.0, -100.0  # targets of a sentence that is no clue, and of no sentence
DOCUMENTS = 5  # that an epoch reads of a question, at most
_FAR = -1e4  # a logit that counts for nothing in a softmax


@dataclass(frozen=True, eq=False)
class Item:
    """One question as training reads it.

    Args:
        data: Name of its data set.
        read: Its token ids.
        inputs: Hand-made ones, ``(n_sentences, n_inputs)``.
        targets: As `targets` gives them.
        words: Of each sentence, ``(n_sentences,)``.
    """

    data: str
    read: Read
    inputs: NDArray[np.float32]
    targets: NDArray[np.float32]
    words: NDArray[np.int64]

    @classmethod
    def of(cls, lesson: Lesson, setter: Setter, feedback: float = 0.0) -> Item:
        """A lesson, tokenized."""
        question, given = made_safe(lesson.query.text, passages(lesson))
        inputs, words = features(question, given), [len(s.text.split()) for s in lesson.sentences]
        read = setter.read(question, given)
        return cls(lesson.data, read, inputs, targets(lesson, feedback), np.array(words))


def passages(lesson: Lesson) -> list[Passage]:
    """Its sentences below the titles of their documents, in order."""
    groups = groupby(lesson.sentences, key=lambda s: s.document.id)
    spans = [list(group) for _, group in groups]
    return [Passage(some[0].document.title, [s.text for s in some]) for some in spans]


def targets(lesson: Lesson, feedback: float = 0.0) -> NDArray[np.float32]:
    """For each sentence how much it counts as a clue, in [0, 1], or -1 where it is none.

    Args:
        lesson: A question.
        feedback: How much less a clue counts that the generator could not answer from alone, from
            0 to 1; a clue that it was not asked about counts in full.
    """
    found = np.full(len(lesson.sentences), OTHER, np.float32)
    for place in lesson.clues:
        found[place] = 1.0 if lesson.useful.get(place, True) else 1.0 - feedback
    return found


def loss(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Softmax of each clue against the question's other sentences + 0.5 x balanced cross-entropy.

    Within a question clues count in the proportion of their targets, and together as much as the
    best of them.

    Args:
        logits: ``(n_questions, most sentences)``.
        targets: Of the same shape; -100 where there is no sentence.
    """
    clue, other = targets.clamp(min=0), targets == OTHER
    share = clue / clue.sum(1, keepdim=True).clamp(min=1e-6) * clue.amax(1, keepdim=True)
    rivals = logits.masked_fill(~other, _FAR).logsumexp(1, keepdim=True)
    listed = (functional.softplus(rivals - logits) * share).sum(1)
    missed = (functional.softplus(-logits) * share).sum(1)
    wrong = (functional.softplus(logits) * other).sum(1) / other.sum(1).clamp(min=1)
    both = (clue.amax(1) > 0) & other.any(1)
    balanced = (0.5 * missed + 0.5 * wrong).mean()
    return (listed * both).sum() / both.sum().clamp(min=1) + 0.5 * balanced


@dataclass(eq=False)
class Questions(torch.utils.data.Dataset[dict[str, Any]]):
    """Questions as windows.

    Args:
        items: The questions.
        setter: Sets their windows.
        layout: Sizes of these.
        seed: Of the choice of documents in each epoch: those with a clue first, in random order;
            None reads all of them as they stand.
        epoch: That is read, from 0.
    """

    items: Sequence[Item]
    setter: Setter
    layout: Layout
    seed: int | None = None
    epoch: int = field(default=0, init=False)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, n: int) -> dict[str, Any]:
        """``windows``, and ``targets`` of the sentences in them."""
        item = self.items[n]
        sizes = [len(sentences) for _, sentences in item.read.passages]
        parts = np.split(item.targets, np.cumsum(sizes)[:-1])
        chosen = list(range(len(parts))) if self.seed is None else self._chosen(n, parts)
        read = Read(item.read.question, [item.read.passages[d] for d in chosen])
        windows = self.setter.windows(read, self.layout)
        return {"windows": windows, "targets": np.concatenate([parts[d] for d in chosen])}

    def _chosen(self, n: int, parts: Sequence[NDArray[np.float32]]) -> list[int]:
        # not one generator for all, so that a resumed run chooses what the killed one would have
        chance = random.Random(f"{self.seed} {self.epoch} {n}")
        order = chance.sample(range(len(parts)), len(parts))
        good = [d for d in order if (parts[d] > 0).any()][: DOCUMENTS - 1]
        rest = [d for d in order if not (parts[d] > 0).any()][: DOCUMENTS - len(good)]
        return chance.sample([*good, *rest], len(good) + len(rest))


def batch(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Windows of several questions, sentences numbered through; targets as a padded matrix."""
    windows: list[Window] = []
    first = 0
    for row in rows:
        windows += (_moved(window, first) for window in row["windows"])
        first += len(row["targets"])
    return {"windows": windows, "labels": padded(row["targets"] for row in rows)}


def _moved(window: Window, first: int) -> Window:
    spans = [Span(first + n, start, end) for n, start, end in window.spans]
    return Window(window.ids, window.question, spans)


def padded(rows: Iterable[NDArray[np.float32]]) -> torch.Tensor:
    """Targets as ``(n_questions, most sentences)``, -100 where there is no sentence."""
    tensors = [torch.from_numpy(row) for row in rows]
    return torch.nn.utils.rnn.pad_sequence(tensors, batch_first=True, padding_value=NOTHING)


def spread(values: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Values of all sentences, ``(n,)``, in the shape of ``targets``; -100 where there is none."""
    return torch.full_like(targets, NOTHING).masked_scatter(targets > NOTHING, values)
