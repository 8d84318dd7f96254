"""Published Provence models: one pass of a cross-encoder scores a passage and all its tokens.

A model is a folder, or a repository of the hub, with ``config.json``, ``tokenizer.json`` and
``model.safetensors``, laid out in one of two ways:

- Provence and XProvence: the encoder's tensors below its usual name (``bert.``, ``deberta.``,
  ``roberta.``), and two heads, ``pooler.dense`` (above the encoder or in it) with ``classifier`` on
  the first token for the passage, and ``token_classifier`` on every token: drop or keep.
- OpenProvence, and semantic highlighting by Zilliz: a reranker below ``ranking_model.``, whose
  configuration is ``base_model_config``, and ``pruning_head.classifier`` on every token.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

import numpy as np

from ragsieve.errors import InputError, ModelError
from ragsieve.models.base import LEADS, Passage
from ragsieve.models.files import log_loading
from ragsieve.models.reopen import once
from ragsieve.models.windows import (
    Logits,
    QuestionWindows,
    Reading,
    Window,
    WindowPruner,
    probabilities,
)
from ragsieve.schema import Probability
from ragsieve.text import safe
from ragsieve_research.models import store
from ragsieve_research.models.loading import BatchedModel, compute, loaded
from ragsieve_research.models.provence_net import WEIGHTS, PairNet, Words, WordTokenizer, load_net

MIN_SCORE = 0.1  # the careful cut of Provence's paper, and of the code of both


@dataclass(frozen=True)
class Provence(WindowPruner, BatchedModel):
    """A sentence pruner and a cross-encoder: `SentencePruner` and `CrossEncoder`.

    A sentence has the mean keep-probability of its tokens; a passage has the sigmoid of its score.
    Each passage is read by itself, in one window where it fits and else in several: its score is
    then its best window's. Windows read lately are remembered, so that ranking and pruning cost one
    pass. Weights are safetensors; no code is run.

    Args:
        model: A folder, or a hub id: ``"naver/provence-reranker-debertav3-v1"``,
            ``"naver/xprovence-reranker-bgem3-v1"``, ``"hotchpotch/open-provence-reranker-v1"`` and
            its other sizes, ``"zilliz/semantic-highlight-bilingual-v1"``, or one trained so.
        vote: From which keep-probability a token votes to keep, in [0, 1]: a sentence then has the
            share of its tokens that do. None: the mean of their probabilities.
        dtype: ``"bfloat16"``, ``"float32"``, or ``"auto"``: float32 on a CPU, else bfloat16.
        batch_tokens: Tokens, with those of padding, that are computed together at most.
        device: ``"cpu"``, ``"cuda"`` …; an accelerator if there is one, where None.

    Raises:
        InputError: If an option breaks its rule.
        ModelError: If the model cannot be loaded.

    Source: Provence (arXiv 2501.16214), section 3; XProvence (arXiv 2601.18886); the tensors and
        inputs are those of their code (naver/bergen, scripts/provence and scripts/xprovence), and
        of OpenProvence's (hotchpotch/open_provence).
    Differs: Words are tokenized one by one, each behind a space, and a question is read as it was
        typed. A title stands before its passage as ``TITLE:``. Windows of a long passage begin with
        the end of the one before. No published weights were tried here, only tiny ones laid out
        like them.
    """

    vote: Probability | None = field(default=None, kw_only=True)

    relative = 0.0  # thresholds are the same for all questions, as in the paper
    leads = LEADS
    _files = (WEIGHTS, "*.json", "*.model", "*.txt")

    @once
    def identity(self) -> str:
        """Model, weights, precision and vote: what numbers depend on."""
        vote = "" if self.vote is None else f":vote={self.vote}"
        return f"provence:{store.marked(self.model)}:{self.computed_dtype}{vote}"

    @once
    def min_score(self) -> float:
        """The probability from which its authors keep a sentence, in [0, 1].

        Raises:
            ModelError: If ``config.json`` cannot be read, or has something else in its place.
        """
        return float(loaded(self.model, _min_score, self.folder / "config.json"))

    def threshold(self, keep_answer: float) -> float:
        """None is known: published models were not calibrated.

        Raises:
            InputError: Always.
        """
        raise InputError(
            f"{self.model!r} was not calibrated and promises no keep_answer, got {keep_answer!r}: "
            "give min_score instead, an option of the system provence"
        )

    def _lay(self, question: str, passages: Sequence[Passage]) -> QuestionWindows:
        tokenizer: WordTokenizer = self._tokenizer
        return tokenizer.lay(question, [[*chain(*_parts(passage))] for passage in passages])

    def _run(self, windows: Sequence[Window]) -> list[Logits]:
        return compute(self.net.run, windows, self.batch_tokens)

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
        net: PairNet = self.net
        options = {"size": net.size, "paired": net.paired}
        tokenizer: WordTokenizer = loaded(self.model, WordTokenizer, self.folder, **options)
        return tokenizer

    @once
    def net(self) -> PairNet:
        log_loading(self.model)
        options = self.folder, self.computed_dtype, self.used_device
        net: PairNet = compute(loaded, self.model, load_net, *options)
        return net


def _min_score(config: Path) -> float:
    """Threshold of a ``config.json``: OpenProvence's has it, misspelt; the paper's has none."""
    values = json.loads(config.read_text(encoding="utf-8"))
    thresholds = [values.get(name) for name in ("default_threadshold", "default_threshold")]
    value = next((value for value in thresholds if value is not None), MIN_SCORE)
    if not 0 <= value <= 1:
        raise ModelError(f"default_threshold must be in [0, 1], got {value!r}")
    return float(value)


def _parts(passage: Passage) -> list[Words]:
    """Words of the title, as it stands before its passage, and of each sentence."""
    title = f"{passage.title}:" if passage.title else ""
    return [safe(text).split() for text in (title, *passage.sentences)]
