"""Cached properties that are computed once, whatever threads read them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    once = cached_property
else:

    class once(cached_property):
        """A cached property that two threads never compute twice; its owner has a ``lock``."""

        def __get__(self, instance: Any, owner: type[Any] | None = None) -> Any:
            """The value, computed by the first thread, while others wait."""
            if instance is None:
                return self
            with instance.lock:
                return super().__get__(instance, owner)
