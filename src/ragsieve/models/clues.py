"""Local clue readers: an encoder reads question and passages once, every sentence gets a number.

A trained one is a folder with ``recipe.json`` (the encoder it is an adapter of, its windows, how
it was made), ``packed.safetensors`` and ``calibration.json``. The adapter adds to the encoder's
weights a product of two thin matrices (``NAME.up``, ``NAME.down``) or a difference (``NAME.diff``).
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

try:
    import torch
    import transformers
except ModuleNotFoundError as error:
    from ragsieve.errors import MissingExtra

    raise MissingExtra(error.name or "torch", extra="local") from error

from ragsieve.errors import InputError, ModelError
from ragsieve.models import store
from ragsieve.models.base import Passage
from ragsieve.models.clue_features import NAMES, features
from ragsieve.models.clue_net import CALIBRATION, WEIGHTS, Net
from ragsieve.models.clue_windows import Layout, Setter, Window
from ragsieve.models.loading import (
    DTYPES,
    compute,
    found_device,
    loaded,
    marked,
    once,
    own_tokenizer,
    precision,
)
from ragsieve.models.wrap import check_columns
from ragsieve.text import safe
from ragsieve.trace import Usage, spend

BUNDLED = ("clues",)  # folders of ragsieve/weights
RECIPE = "recipe.json"


@dataclass(frozen=True)
class ClueEncoder:
    """An encoder that reads a question with its passages: `ragsieve.models.base.ClueReader`.

    A question's windows are computed by themselves, so that no other question changes a number. Of
    questions, titles and sentences that are too long only the first tokens count, and the trace
    says so. Weights are safetensors; no code is run.

    Args:
        model: ``"clues"``, which comes with the package, or a folder.
        dtype: ``"bfloat16"``, ``"float32"``, or ``"auto"``: float32 on a CPU, else bfloat16.
        device: ``"cpu"``, ``"cuda"`` …; an accelerator if there is one, where None.

    Raises:
        InputError: If an option breaks its rule.
        ModelError: If the model cannot be loaded.

    Source: One pass as in Provence (arXiv 2501.16214), on the targets of FineFilter's extractor
        (arXiv 2502.11811v4, section 4.1).
    """

    model: str = "clues"
    dtype: str = field(default="auto", kw_only=True)
    device: str | None = field(default=None, kw_only=True)
    _lock: Any = field(default_factory=threading.RLock, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            raise InputError(f"dtype must be one of {', '.join(DTYPES)}, got {self.dtype!r}")

    @once
    def identity(self) -> str:
        """Adapter, encoder and precision: what probabilities depend on."""
        encoder = marked(self._recipe.encoder)
        return f"clues:{self.model}@{self._digest}+{encoder}:{self._dtype}"

    def clues(
        self, questions: Sequence[str], passages: Sequence[Sequence[Passage]]
    ) -> list[list[float]]:
        """See `ragsieve.models.base.ClueReader.clues`."""
        return self._computed(questions, passages, Net.probabilities)

    def logits(
        self, questions: Sequence[str], passages: Sequence[Sequence[Passage]]
    ) -> list[list[float]]:
        """As `clues`, before calibration: any finite numbers."""
        return self._computed(questions, passages, Net.logits)

    def _computed(
        self,
        questions: Sequence[str],
        passages: Sequence[Sequence[Passage]],
        function: Callable[[Net, Sequence[Window], NDArray[np.float32]], list[float]],
    ) -> list[list[float]]:
        check_columns([questions, passages])
        found, usages = [], []
        for question, given in zip(questions, passages, strict=True):
            asked, read = made_safe(question, given)
            windows, text = self._windows(asked, read)
            found.append(compute(function, self._net, windows, features(asked, read)))
            tokens = sum(len(window.ids) for window in windows)
            usages.append(Usage(self.identity, tokens, note=text))
        spend(usages)
        return found

    def _windows(self, question: str, passages: Sequence[Passage]) -> tuple[list[Window], str]:
        """What is read, and a note of what is not."""
        layout, read = self._recipe.layout, self._setter.read(question, passages)
        notes = []
        if len(read.question) > layout.question:
            notes.append(f"the question has over {layout.question} tokens: only these count")
        if long := sum(len(row) > layout.sentence for _, some in read.passages for row in some):
            notes.append(f"{long} sentences have over {layout.sentence} tokens: only these count")
        return self._setter.windows(read, layout), "; ".join(notes)

    @property
    def _dtype(self) -> str:
        return precision(self.dtype, self._device)

    @property
    def _device(self) -> str:
        return self.device or found_device()

    @once
    def _folder(self) -> Path:
        if self.model in BUNDLED:
            return Path(str(files("ragsieve") / "weights" / self.model))
        folder = Path(self.model).expanduser()
        if not folder.is_dir():
            known = ", ".join(BUNDLED)
            raise InputError(f"a clue reader must be {known} or a folder, got {self.model!r}")
        return folder

    @once
    def _digest(self) -> str:
        """Twelve hex digits of what the files hold; the same wherever they are copied."""
        found = hashlib.sha256()
        for name in (RECIPE, WEIGHTS, CALIBRATION):
            data = loaded(self.model, (self._folder / name).read_bytes)
            found.update(hashlib.sha256(data).digest())
        return found.hexdigest()[:12]

    @once
    def _recipe(self) -> Recipe:
        recipe: Recipe = loaded(self.model, Recipe.read, self._folder)
        return recipe

    @once
    def _encoder_folder(self) -> str:
        folder = store.resolve(self._recipe.encoder)
        weights, wanted = Path(folder, "model.safetensors"), self._recipe.encoder_sha256
        if wanted and weights.is_file():
            found = sha256(weights)
            if found != wanted:  # a difference to other weights would give any number
                raise ModelError(
                    f"model {self.model!r} is made for an encoder with sha256 {wanted[:12]}…, "
                    f"{self._recipe.encoder!r} has {found[:12]}…"
                )
        return str(folder)

    @once
    def _setter(self) -> Setter:
        return setter(self._recipe.encoder, self._encoder_folder)

    @once
    def _net(self) -> Net:
        encoder = compute(
            loaded,
            self._recipe.encoder,
            transformers.AutoModel.from_pretrained,
            self._encoder_folder,
            dtype=torch.float32,
            use_safetensors=True,
        )
        if self._recipe.layout.longest > encoder.config.max_position_embeddings:
            raise ModelError(
                f"windows of {self.model!r} have {self._recipe.layout.longest} tokens, "
                f"{self._recipe.encoder!r} reads {encoder.config.max_position_embeddings}"
            )
        options = (self._folder, encoder, self._setter.padding, self._dtype, self._device)
        net: Net = compute(loaded, self.model, Net.load, *options)
        return net


def made_safe(question: str, passages: Sequence[Passage]) -> tuple[str, list[Passage]]:
    """Question and passages as they are tokenized, and hand-made inputs are computed of them."""
    read = [Passage(safe(title), [safe(text) for text in texts]) for title, texts in passages]
    return safe(question), read


def setter(encoder: str, folder: Path | str) -> Setter:
    """What sets texts as windows of ``encoder``, which lies in ``folder``.

    Raises:
        ModelError: If it has no fast tokenizer with marks of start and end.
    """
    own = loaded(encoder, transformers.AutoTokenizer.from_pretrained, str(folder))
    if not own.is_fast or None in (own.cls_token_id, own.sep_token_id):
        raise ModelError(f"model {encoder!r} needs a tokenizer.json with marks of start and end")
    plain = own_tokenizer(own, plain=True)
    return Setter(plain, own.cls_token_id, own.sep_token_id, own.pad_token_id or 0)


def sha256(file: Path) -> str:
    """Of what a file holds, as hex digits."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


@dataclass(frozen=True)
class Recipe:
    """What of ``recipe.json`` a reader depends on.

    Args:
        encoder: The model that it is an adapter of.
        encoder_sha256: Of its weights; empty where they are not checked.
        layout: Windows that it reads.
        depth: Share of the model's layers that are read, over 0 to 1.
    """

    encoder: str
    encoder_sha256: str
    layout: Layout
    depth: float = 1.0

    @classmethod
    def read(cls, folder: Path) -> Recipe:
        """The recipe in ``folder``; any exception where it is none."""
        values = json.loads((folder / RECIPE).read_text(encoding="utf-8"))
        if tuple(values["inputs"]) != NAMES:
            raise ValueError(
                "it was trained on other inputs than this version of ragsieve computes"
            )
        layout, sha256 = Layout(**values["window"]), values.get("encoder_sha256", "")
        return cls(values["encoder"], sha256, layout, float(values.get("depth", 1.0)))
