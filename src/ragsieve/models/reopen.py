"""Models that are opened once a process: what another process gets, opens its weights itself."""

from dataclasses import fields
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Self

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
