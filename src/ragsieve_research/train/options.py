"""Rules of options, stated by the types of their fields."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from ragsieve import models
from ragsieve.errors import InputError, check_choice


@dataclass(frozen=True)
class Rule:
    """A rule of values, with its words in an error."""

    words: str
    holds: Callable[[Any], bool]

    def check(self, name: str, value: Any) -> None:
        """Raise `InputError` where a value breaks the rule."""
        if not self.holds(value):
            raise InputError(f"{name} must {self.words}, got {value!r}")


@dataclass(frozen=True)
class Model:
    """The kind of model that a name must be of; see `ragsieve.models.check`."""

    kind: str

    def check(self, name: str, value: str) -> None:
        """Raise `InputError` where a model is of another kind; an empty name is none."""
        if value:
            models.check(value, self.kind)


Count = Annotated[int, Rule("be at least 1", lambda value: value >= 1)]
Amount = Annotated[int, Rule("not be negative", lambda value: value >= 0)]
Positive = Annotated[float, Rule("be finite and over 0", lambda value: 0 < value < math.inf)]
Weight = Annotated[float, Rule("be finite and not negative", lambda value: 0 <= value < math.inf)]
Share = Annotated[float, Rule("lie in (0, 1]", lambda value: 0 < value <= 1)]
Distance = Annotated[float, Rule("be from 0 to 2", lambda value: 0 <= value <= 2)]
LLMName = Annotated[str, Model("LLM")]
EmbedderName = Annotated[str, Model("embedder")]


class Options:
    """Base of dataclasses whose fields say their rules; a breach raises `InputError`."""

    def __post_init__(self) -> None:
        for name, hint in get_type_hints(type(self), include_extras=True).items():
            value, kinds = getattr(self, name), [hint, *get_args(hint)]
            if value is None and NoneType in kinds:
                continue
            for kind in kinds:
                for rule in getattr(kind, "__metadata__", ()):
                    rule.check(name, value)
                if get_origin(kind) is Literal:
                    check_choice(kind, **{name: value})
