"""Models that pickle as their options: what another process gets, opens its weights itself."""

from __future__ import annotations

from dataclasses import fields
from functools import partial
from typing import Any, Self


class Reopened:
    """A base of frozen dataclasses whose pickle holds no weights, locks or connections.

    It holds the fields, an API key among them: keep it where you would keep the key. A deep copy
    is the model itself, which threads may share.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        own: Any = self  # a dataclass
        options = {f.name: vars(self)[f.name] for f in fields(own) if f.init}
        return partial(type(self), **options), ()

    def __deepcopy__(self, memo: object) -> Self:
        return self
