"""Models whose library is imported with their first call: it takes seconds, or is not installed.

Looking at such a model imports nothing: its calls are a row of its backend, its
identity is its name until it is open, and it is printed, copied and pickled by its name. What its
weights say of it (``context``, ``min_score``) opens it.
"""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from typing import Any, ClassVar

from ragsieve.models import USUAL, full_name, known_identity, load, local_calls
from ragsieve.models.base import CALLS, LLM, Prompt, Streamer
from ragsieve.models.reopen import Reopened, once
from ragsieve.models.wrap import unwrap


@dataclass(frozen=True)
class Deferred(Reopened):
    """A model by its name, imported with its first call.

    Args:
        name: Of a model whose backend has calls; see `ragsieve.models.Backend`.
    """

    name: str
    lock: Any = field(default_factory=threading.RLock, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for call in self._calls:
            object.__setattr__(self, call, partial(self._ask, call))

    @property
    def identity(self) -> str:
        """The model's own once it is open, which results depend on; until then its full name."""
        return str(self.opened.identity) if "opened" in vars(self) else full_name(self.name)

    @once
    def opened(self) -> Any:
        """The model itself."""
        return load(self.name)

    @once
    def known(self) -> str:
        """The model's own identity, if it is known without its library; else empty."""
        return known_identity(self.name)

    @property
    def _calls(self) -> frozenset[str]:
        return local_calls(self.name)

    def _ask(self, call: str, *args: Any, **options: Any) -> Any:
        return getattr(self.opened, call)(*args, **options)


@dataclass(frozen=True)
class DeferredPruner(Deferred):
    """A sentence pruner by its name, imported with its first call."""

    relative = property(attrgetter("opened.relative"))
    leads = property(attrgetter("opened.leads"))
    min_score = property(attrgetter("opened.min_score"))


@dataclass(frozen=True)
class DeferredLLM(Deferred, LLM):
    """An LLM by its name, imported with its first call.

    Args:
        bundled: Whether tokens are counted by the bundled sentence pruner's tokenizer, so that
            counting does not import it.
    """

    bundled: bool = False
    complete: ClassVar[Any]  # of each instance its own

    @property
    def _calls(self) -> frozenset[str]:
        return CALLS if self.bundled else self.can  # which reads entry points

    context = property(attrgetter("opened.context"))
    is_small = property(attrgetter("opened.is_small"))
    thinking = property(attrgetter("opened.thinking"))

    @property
    def can(self) -> frozenset[str]:
        """See `ragsieve.models.base.LLM.can`."""
        return local_calls(self.name) or frozenset({"complete"})  # of a package that is not here

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text."""
        if not self.bundled:
            return list(self.opened.count(texts))
        from ragsieve.models.pruner import bundled  # whose runtime not every reader needs

        return bundled().count(texts)

    def stream(self, prompt: Prompt, *, max_tokens: int = 128) -> Iterator[str]:
        """A reply in pieces; in one where the model is no `Streamer`."""
        if isinstance(self.opened, Streamer):
            return self.opened.stream(prompt, max_tokens=max_tokens)
        return iter(self.opened.complete([prompt], max_tokens=max_tokens))


def deferred(name: str) -> Deferred:
    """The model ``name``, not imported yet."""
    calls = local_calls(name)
    kind = DeferredLLM if "complete" in calls else DeferredPruner if "prune" in calls else Deferred
    return kind(name)


def unasked() -> DeferredLLM:
    """The usual LLM where nobody named one, so that it may never be asked.

    Documents are filtered where no packages for local LLMs are installed: tokens are the bundled
    pruner's, and the usual LLM is not looked for.
    """
    return DeferredLLM(USUAL, bundled=True)


def opened(model: Any) -> Any:
    """The model inside all wrappers, imported where it was deferred."""
    inner = unwrap(model)
    return inner.opened if isinstance(inner, Deferred) else inner


def identity_of(model: Any) -> str:
    """The identity that results depend on; a deferred model is imported only if it needs to be."""
    inner = unwrap(model)
    return (isinstance(inner, Deferred) and inner.known) or str(opened(model).identity)
