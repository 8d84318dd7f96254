"""An adapter as a pydantic model, for LangChain and LlamaIndex."""

from collections.abc import Callable, Mapping
from typing import Any

from ragsieve.adapter import Adapter
from ragsieve.errors import needs_extra
from ragsieve.result import Result
from ragsieve.system import OnError, System

with needs_extra("langchain"):
    from pydantic import BaseModel, Field, PrivateAttr


class AdapterFields(BaseModel):
    """The fields of an adapter; those that are assigned later, or in a copy, count from then on.

    Args:
        on_result: Called with each question's `ragsieve.Result`: what was dropped, why, and what
            all cost; in the thread that filters. Not called where the filter failed.
        system: This and the others as in `ragsieve.adapter.Adapter`.

    Raises:
        InputError: If an option breaks its rule; of an assigned one, where it is used.
    """

    system: Any = "finefilter"  # Adapter checks it: pydantic would look into a System's fields
    llm: str | None = None
    embedder: str | None = None
    options: Mapping[str, Any] = Field(default_factory=dict)
    max_tokens: int | None = None
    on_error: OnError = "keep"
    on_result: Callable[[Result], object] | None = Field(default=None, exclude=True)
    _adapter: Adapter = PrivateAttr()

    def __init__(
        self,
        system: System | str = "finefilter",
        llm: str | None = None,
        embedder: str | None = None,
        options: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        on_error: OnError = "keep",
        on_result: Callable[[Result], object] | None = None,
        **own: Any,
    ) -> None:
        adapter = Adapter(system, llm, embedder, options, max_tokens, on_error, **own)
        super().__init__(**{**adapter.arguments, "on_result": on_result})
        self._adapter = adapter

    @property
    def adapter(self) -> Adapter:
        """The adapter of the fields as they are now."""
        made = self._adapter.arguments
        if made != (now := {name: getattr(self, name) for name in made}):
            self._adapter = Adapter(**{**now, "options": {**now["options"]}})
        return self._adapter
