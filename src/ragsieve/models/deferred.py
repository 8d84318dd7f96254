"""An LLM that is loaded with its first call; until then a tokenizer file counts tokens."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ragsieve.models import load
from ragsieve.models.base import Prompt, streamed
from ragsieve.models.once import once
from ragsieve.models.pruner import Pruner
from ragsieve.models.wrap import Columns, Wrapper


class Deferred(Wrapper):
    """The LLM ``name``, loaded with its first call; tokens are the bundled pruner's.

    So documents are filtered where no packages for local LLMs are installed.

    Args:
        name: As `ragsieve.models.load` takes it.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._lock = threading.RLock()
        self._counter = Pruner()

    @once
    def model(self) -> Any:
        """The LLM itself."""
        return load(self.name)

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text in the tokenizer of the bundled sentence pruner."""
        return self._counter.count(texts)

    def stream(self, prompt: Prompt, *, max_tokens: int = 128) -> Iterator[str]:
        """See `ragsieve.models.base.streamed`."""
        return streamed(self.model, prompt, max_tokens=max_tokens)

    def __reduce__(self) -> tuple[Any, ...]:
        return Deferred, (self.name,)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def _call(self, method: str, columns: Columns, options: Mapping[str, Any]) -> Sequence[Any]:
        return self._inner(method, columns, options)
