"""A score calibrated to a probability."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from ragsieve.errors import InputError
from ragsieve.models.deferred import identity_of
from ragsieve.schema import Schema, read
from ragsieve.score.base import Scorer
from ragsieve.types import Query, Segment
from ragsieve_research.score.base import logistic, scores_of

Values = NDArray[np.float64]

_LARGEST = 1e100  # with any score that a model gives, nothing overflows


class Logistic(Schema, frozen=True):
    """A logistic curve: its log-odds are ``slope`` times the score, plus ``bias``.

    Args:
        slope: From 0 to 1e100.
        bias: From -1e100 to 1e100.

    Raises:
        InputError: If they break a rule.
    """

    slope: float
    bias: float

    def __post_init__(self) -> None:
        if not (0 <= self.slope <= _LARGEST and abs(self.bias) <= _LARGEST):
            raise InputError(f"slope must not be negative, both finite, got {self!r}")

    def __call__(self, scores: Values) -> Values:
        """Probabilities, of the shape of ``scores``."""
        return logistic(self.slope * np.asarray(scores) + self.bias)

    def to_dict(self) -> dict[str, Any]:
        """JSON values."""
        return msgspec.structs.asdict(self)


class _CurveFile(msgspec.Struct, frozen=True):
    """The fields of a calibration's file that are read."""

    curve: dict[str, Any]
    models: dict[str, str]


@dataclass(frozen=True)
class Calibrated(Scorer):
    """An earlier score as the probability that the segment helps, in [0, 1].

    The curve does not fall, so no two segments change places; on a level one all become equal.

    Args:
        curve: Fitted to labelled questions, as ``ragsieve scorers --calibrate`` does.
        of: Name of the score.

    Raises:
        InputError: If a segment has no such score.

    Source: Platt 1999.
    """

    curve: Logistic
    of: str = field(default="mean", kw_only=True)
    name: ClassVar[str] = "calibrated"

    @classmethod
    def load(cls, path: str | Path, scorers: Sequence[Scorer], *, of: str = "mean") -> Calibrated:
        """From a file that ``ragsieve scorers --calibrate`` wrote.

        Args:
            path: The file.
            scorers: Those whose scores it shall read, or whose scores are averaged before.
            of: Name of the score.

        Raises:
            InputError: If the file cannot be read, or was fitted to other scorers or models.
        """
        try:
            saved = msgspec.json.decode(Path(path).read_bytes(), type=_CurveFile)
            curve = read(Logistic, saved.curve)
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
        except (ValueError, RecursionError, msgspec.MsgspecError) as error:
            raise InputError(f"{path} must be a calibration of scores: {error!r:.100}") from error
        if saved.models != (here := models_of(scorers)):
            fitted = _described(saved.models)
            raise InputError(f"calibration {path} is for {fitted}, got {_described(here)}")
        return cls(curve, of=of)

    def scores(self, query: Query, segments: Sequence[Segment]) -> NDArray[np.float32]:
        """Probabilities, ``(len(segments),)``."""
        return np.asarray(self.curve(scores_of(segments, self.of)), np.float32)


def models_of(scorers: Sequence[Scorer]) -> dict[str, str]:
    """The identity of the model behind each scorer by the scorer's name; empty where it has none.

    A weighted mean has none: what it averages is named by itself.
    """
    return {scorer.name: " and ".join(_identities(scorer)) for scorer in scorers}


def _identities(scorer: Any) -> Iterator[str]:
    for option in fields(scorer):
        value = getattr(scorer, option.name)
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, Scorer):
                yield from _identities(part)
            elif hasattr(part, "identity"):
                yield identity_of(part)


def _described(models: Mapping[str, str]) -> str:
    return ", ".join(f"{n} by {model}" if model else n for n, model in models.items()) or "nothing"
