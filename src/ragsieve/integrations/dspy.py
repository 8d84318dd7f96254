"""DSPy: a retriever that returns what is kept of another retriever's passages."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ragsieve.adapter import Adapter, Kept, read_document
from ragsieve.errors import InputError, needs_extra
from ragsieve.system import OnError, System

with needs_extra("dspy"):
    import dspy


class RagsieveRetriever(dspy.Module):  # type: ignore[misc]
    """A retriever whose passages hold only what matters to the question.

    Args:
        retriever: Any callable from a question to passages: `dspy.Retrieve`, one of
            `dspy.retrievers`, or a function, which may be ``async`` where the program is awaited.
            It gives a `dspy.Prediction` with ``passages``, or the passages: strings, or mappings
            with ``long_text``.
        system: This and the others as in `ragsieve.adapter.Adapter`.

    Raises:
        InputError: If an option breaks its rule.
    """

    def __init__(
        self,
        retriever: Callable[[str], Any],
        system: System | str = "finefilter",
        llm: str | None = None,
        embedder: str | None = None,
        options: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        on_error: OnError = "keep",
        **own: Any,
    ) -> None:
        super().__init__()
        self.retriever = retriever
        self.sieve = Adapter(system, llm, embedder, options, max_tokens, on_error, **own)

    def forward(self, query: str) -> dspy.Prediction:
        """The retriever's prediction of what is kept, in the order in which it is to be read.

        ``passages`` are the kept texts; passages without text come last, as they were. Other lists
        of the prediction that are as long, such as ``indices``, hold the same passages' items, None
        where a model wrote the passage. ``ragsieve`` has for each passage what
        `ragsieve.adapter.Kept` says of it, and its ``place`` among the retrieved ones,
        from 0; ``report`` has the tokens, ``answerable``, the trace and what failed.
        """
        hits = self.retriever(query)
        if inspect.iscoroutine(hits):
            hits.close()
            raise InputError(f"an async retriever needs acall, not a plain call: got {hits!r:.80}")
        return self._filtered(query, hits)

    async def aforward(self, query: str) -> dspy.Prediction:
        """The same; what cannot be awaited runs in a thread."""
        ask = getattr(self.retriever, "acall", None) or dspy.asyncify(self.retriever)
        hits = await ask(query)
        hits = await hits if inspect.isawaitable(hits) else hits  # of an ``async def``
        return await dspy.asyncify(self._filtered)(query, hits)

    def _filtered(self, query: str, hits: Any) -> dspy.Prediction:
        known = dict(hits.items()) if isinstance(hits, dspy.Prediction) else {"passages": hits}
        rows = [_Row(n, _text(one), {}) for n, one in enumerate(known["passages"])]
        filtered = self.sieve(query, rows, _read, _write)
        beside = {
            name: [None if row.place is None else values[row.place] for row in filtered.documents]
            for name, values in known.items()
            if isinstance(values, list | tuple) and len(values) == len(rows)
        }
        own = {
            "passages": [row.passage for row in filtered.documents],
            "ragsieve": [{"place": row.place, **row.about} for row in filtered.documents],
            "report": filtered.report,
        }
        return dspy.Prediction(**{**known, **beside, **own})


class _Row(NamedTuple):
    place: int | None
    passage: Any
    about: dict[str, Any]


def _text(passage: Any) -> Any:
    return passage.get("long_text", passage) if hasattr(passage, "get") else passage


def _read(row: _Row) -> dict[str, Any] | None:
    return read_document(None, row.passage, {})


def _write(_: _Row | None, kept: Kept) -> _Row:
    return _Row(kept.place, kept.text, kept.about)
