"""The sentence pruner: a probability for each sentence of a passage, and one for the passage.

It is a folder: ``config.json`` of the encoder, ``tokenizer.json``, ``model.onnx`` with two logits a
token, and ``pruner.json`` with the sizes of windows. The first logit says that the token is
evidence; a sentence's logit is the mean over its tokens. The second one, of the first token, says
that the question can be answered from the passage. `ragsieve_research.train.export` makes such a
folder.
"""

import hashlib
import json
import math
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import ArrayLike, NDArray

from ragsieve.errors import InputError, MissingExtra, ModelError
from ragsieve.files import check_sealed, digest, sealed
from ragsieve.models import files, windows
from ragsieve.models.base import LEADS, Passage, promised
from ragsieve.models.reopen import once
from ragsieve.models.windows import NOTHING, Layout, WindowTokenizer, probabilities
from ragsieve.run.concurrency import cores
from ragsieve.schema import Count, Options, Probability, read

if TYPE_CHECKING:
    from ragsieve.models.onnx import Encoder

BUNDLED = {"pruner": "ragsieve"} | {n: f"ragsieve_{n}" for n in ("large", "multilingual")}
"""Names of pruners, and the packages with a folder of theirs in ``weights``."""
CONFIG, TOKENIZER, NET, SETTINGS = "config.json", "tokenizer.json", "model.onnx", "pruner.json"
FILES = (CONFIG, TOKENIZER, NET, SETTINGS)

_PROMISE = re.compile(r"0(\.\d{1,9})?|1(\.0)?", re.ASCII)


Slope = Annotated[float, Meta(gt=0, le=100, extra={"rule": "over 0, at most 100"})]
Bias = Annotated[float, Meta(ge=-100, le=100, extra={"rule": "in [-100, 100]"})]


class Curve(msgspec.Struct, frozen=True):
    """How log-odds of a sentence become those of its being evidence: ``slope * odds + bias``."""

    slope: Slope = 1.0
    bias: Bias = 0.0

    def __call__(self, odds: ArrayLike) -> NDArray[np.float64]:
        """Probabilities for log-odds; 0 of what has no token."""
        values = np.asarray(odds, np.float64)
        return probabilities(np.where(values == NOTHING, values, self.slope * values + self.bias))


class Settings(msgspec.Struct, frozen=True):
    """Contents of ``pruner.json``, which may come from anyone; what else it says passes.

    Args:
        layout: Sizes of windows.
        precision: Of the net's numbers, as ``int8``.
        thresholds: The least score for each promise.
        relative: See `ragsieve.models.base.SentencePruner.relative`.
        curve: Makes probabilities of sentences' logits.
        languages: Codes of `ragsieve.text.language` of what it reads.
    """

    layout: Layout
    precision: str = ""
    thresholds: dict[str, Probability] = {}
    relative: Probability = 0.0
    curve: Curve = Curve()
    languages: tuple[str, ...] = ("en",)

    def __post_init__(self) -> None:
        for promise in self.thresholds:
            if not _PROMISE.fullmatch(promise):
                raise InputError(f"thresholds must be of promises in [0, 1], got {promise[:20]!r}")


@dataclass(frozen=True)
class Pruner(Options, windows.WindowPruner):
    """A sentence pruner on onnxruntime, and a cross-encoder: `SentencePruner` and `CrossEncoder`.

    Each passage is read by itself, in one window where it fits and else in several: the passage
    then counts as its best window does. Windows read lately are remembered, so that ranking and
    pruning a passage of one window costs one pass. Nothing in the folder is run as code.

    Args:
        model: ``"pruner"``, which comes with the package, ``"large"`` or ``"multilingual"`` of the
            extra of that name, a folder or a hub id.
        threads: Windows that are read at a time, at least 1; None: one for each core that the
            process may use.

    Raises:
        InputError: If an option breaks its rule.
        ModelError: If the model cannot be loaded.
        MissingExtra: If a hub id is given and huggingface_hub is not installed.

    Source: One pass for ranking and pruning as in Provence (arXiv 2501.16214), section 3.
    Differs: A sentence goes by the mean of its tokens' logits, not by a vote of its tokens.
    """

    is_concurrent: ClassVar[bool] = True

    model: str = "pruner"
    threads: Count | None = field(default=None, kw_only=True)
    lock: Any = field(default_factory=threading.RLock, init=False, repr=False, compare=False)

    @once
    def identity(self) -> str:
        """The model, twelve hex digits of what its files hold, and its precision."""
        with files.loading(self.model):
            sums = [digest(self.folder / name) for name in FILES]
        own = hashlib.sha256(repr(sums).encode()).hexdigest()[:12]
        return f"pruner:{self.model}@{own}:{self.settings.precision}"

    @once
    def settings(self) -> Settings:
        """What ``pruner.json`` says."""
        with files.loading(self.model):
            return read(Settings, self._sealed(SETTINGS))

    def _sealed(self, *names: str) -> object:
        """Contents of ``pruner.json``, by which these files are checked."""
        values = json.loads((self.folder / SETTINGS).read_bytes())
        check_sealed(self.folder / SETTINGS, values, names)
        return values

    languages = property(attrgetter("settings.languages"))
    relative = property(attrgetter("settings.relative"))

    @property
    def leads(self) -> tuple[float, float]:
        """See `ragsieve.models.base.SentencePruner.leads`."""
        least, most = self.settings.curve([math.log(p / (1 - p)) for p in LEADS])
        return float(least), float(most)

    @property
    def min_score(self) -> float:
        """Provence's careful cut, 0.1 of probabilities that are not calibrated, in [0, 1]."""
        return float(self.settings.curve(math.log(0.1 / 0.9)))

    def threshold(self, keep_answer: float) -> float:
        """See `ragsieve.models.base.SentencePruner.threshold`; ``pruner.json`` holds the table.

        Between two values of the table the more careful one counts.
        """
        table = {float(promise): cut for promise, cut in self.settings.thresholds.items()}
        return promised(table, keep_answer)

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text in the pruner's tokenizer; needs no weights."""
        return self._tokenizer.count(texts)

    def _lay(self, question: str, passages: Sequence[Passage]) -> windows.QuestionWindows:
        return self._tokenizer.lay(question, passages, in_parts=True)

    def _run(self, some: Sequence[windows.Window]) -> list[windows.Logits]:
        return self._net.run(some, self.threads or cores())

    def _shares(self, passage: Passage, reading: windows.Reading) -> list[float]:
        best = [NOTHING] * len(passage.sentences)
        for window, logits in reading:
            for n, start, end in window.spans:
                best[n] = max(best[n], float(logits[start:end, 0].mean()))
        shares: list[float] = self.settings.curve(best).tolist()
        return shares

    @once
    def _tokenizer(self) -> WindowTokenizer:
        with files.loading(self.model):
            layout = self.settings.layout
            self._sealed(CONFIG, TOKENIZER)
            config = json.loads((self.folder / CONFIG).read_bytes())
            most = config.get("max_position_embeddings", layout.size)
            if layout.size > most:
                raise ModelError(f"windows have {layout.size} tokens, the encoder reads {most}")
            return WindowTokenizer.read(self.folder / TOKENIZER, layout)

    @once
    def _net(self) -> "Encoder":
        from ragsieve.models.onnx import Encoder  # not before a text is read

        files.log_loading(self.model)
        with files.loading(self.model):
            file = self.folder / NET
            file.stat()  # what cannot be read is said in the system's words
            self._sealed(NET)
            return Encoder(file)

    @once
    def folder(self) -> Path:
        """Folder of its files."""
        if package := BUNDLED.get(self.model):
            if not (spec := find_spec(package)):
                raise MissingExtra(package, extra=self.model)
            return Path(spec.origin or "").parent / "weights" / self.model
        return files.fetched(self.model, FILES)


def write_settings(folder: Path, values: Mapping[str, Any]) -> None:
    """Write the ``pruner.json`` of a folder whose other files are all there, with their digests."""
    others = (folder / name for name in FILES if name != SETTINGS)
    whole = sealed(folder / SETTINGS, values, others)
    (folder / SETTINGS).write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")


@cache
def bundled() -> Pruner:
    """The pruner that comes with the package, whose tokenizer counts where no other is at hand."""
    return Pruner()


def others() -> list[Pruner]:
    """The pruner of other languages, where its package is installed."""
    return [Pruner("multilingual")] if find_spec(BUNDLED["multilingual"]) else []
