"""Published Provence models: one pass of a cross-encoder scores a passage and all its tokens.

A model is a folder, or a repository of the hub, with ``config.json``, a tokenizer and
``model.safetensors``: the encoder's tensors below its usual name (``bert.``, ``deberta.``), and
two heads, ``pooler.dense`` with ``classifier`` on the first token for the passage, and
``token_classifier`` on every token: drop or keep.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from ragsieve.errors import InputError, check_range
from ragsieve.models.base import Passage
from ragsieve.models.loading import PreciseModel, compute, loaded, marked, once
from ragsieve.models.provence_net import WEIGHTS, TwoHeads, Words, WordTokenizer
from ragsieve.models.window_cache import Logits, Reading, WindowPruner, probabilities
from ragsieve.models.windows import Laid, Window
from ragsieve.text import safe


@dataclass(frozen=True)
class Provence(WindowPruner, PreciseModel):
    """A sentence pruner and a cross-encoder: `SentencePruner` and `CrossEncoder`.

    A sentence has the mean keep-probability of its tokens; a passage has the sigmoid of its score.
    Each passage is read by itself, in one window where it fits and else in several: its score is
    then its best window's. Windows read lately are remembered, so that ranking and pruning cost one
    pass. Weights are safetensors; no code is run.

    Args:
        model: A folder, or a hub id as ``"naver/provence-reranker-debertav3-v1"``.
        vote: From which keep-probability a token votes to keep, in [0, 1]: a sentence then has the
            share of its tokens that do. None: the mean of their probabilities.
        dtype: ``"bfloat16"``, ``"float32"``, or ``"auto"``: float32 on a CPU, else bfloat16.
        device: ``"cpu"``, ``"cuda"`` …; an accelerator if there is one, where None.

    Raises:
        InputError: If an option breaks its rule.
        ModelError: If the model cannot be loaded.

    Source: Provence (arXiv 2501.16214), section 3; the heads are those of its code
        (naver/bergen, scripts/provence).
    Differs: Words are tokenized one by one, each behind a space, and a question is read as it was
        typed. ``naver/provence-reranker-debertav3-v1`` has these tensors by its code; its figures
        were not reproduced here.
    """

    vote: float | None = field(default=None, kw_only=True)

    relative = 0.0  # thresholds are the same for all questions, as in the paper
    _files = (WEIGHTS, "*.json", "*.model", "*.txt")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range(self, vote=(0, 1))

    @once
    def identity(self) -> str:
        """Model, weights, precision and vote: what numbers depend on."""
        vote = "" if self.vote is None else f":vote={self.vote}"
        return f"provence:{marked(self.model)}:{self._dtype}{vote}"

    def threshold(self, keep_answer: float) -> float:
        """None is known: published models were not calibrated.

        Raises:
            InputError: Always.
        """
        raise InputError(
            f"{self.model!r} was not calibrated and promises no keep_answer, got {keep_answer!r}: "
            "give min_score instead, an option of the system provence"
        )

    def _lay(self, question: str, passages: Sequence[Passage]) -> Laid:
        tokenizer: WordTokenizer = self._tokenizer
        return tokenizer.lay(question, [[*chain(*_parts(passage))] for passage in passages])

    def _run(self, windows: Sequence[Window]) -> list[Logits]:
        return compute(self._net.run, windows)

    def _shares(self, passage: Passage, reading: Reading) -> list[float]:
        """Of each sentence, which begin with the second part, what its tokens say."""
        parts = _parts(passage)
        part_of = np.repeat(np.arange(len(parts)), [len(words) for words in parts])  # (n_words,)
        sums = np.zeros((len(parts), 2))  # what tokens say, and how many they are
        for window, logits in reading:
            keep = probabilities(logits[:, 0])
            says = keep if self.vote is None else keep >= self.vote
            for n, start, end in window.spans:
                sums[part_of[n]] += says[start:end].sum(), end - start
        return [float(total / max(tokens, 1)) for total, tokens in sums[1:]]

    @once
    def _tokenizer(self) -> WordTokenizer:
        positions = self._net.encoder.config.max_position_embeddings
        tokenizer: WordTokenizer = loaded(self.model, WordTokenizer, self._folder, positions)
        return tokenizer

    @once
    def _net(self) -> TwoHeads:
        options = self._folder, self._dtype, self._device
        net: TwoHeads = compute(loaded, self.model, TwoHeads.load, *options)
        return net


def _parts(passage: Passage) -> list[Words]:
    """Words of the title, as it stands before its passage, and of each sentence."""
    title = f"{passage.title}:" if passage.title else ""
    return [safe(text).split() for text in (title, *passage.sentences)]
