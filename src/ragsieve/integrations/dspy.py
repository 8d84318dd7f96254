"""DSPy: a retriever that returns what is kept of another retriever's passages."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Any, NamedTuple

from ragsieve.adapter import Adapter, Kept, read_document
from ragsieve.documents import TEXT_KEYS
from ragsieve.errors import InputError, needs_extra, one_line
from ragsieve.system import OnError, System

with needs_extra("dspy"):
    import dspy


class RagsieveRetriever(dspy.Module):  # type: ignore[misc]
    """A retriever whose passages hold only what matters to the question.

    Args:
        retriever: Any callable from a question to passages: `dspy.Retrieve`, one of
            `dspy.retrievers`, or a function, which may be ``async`` where the program is awaited.
            It gives a `dspy.Prediction` with ``passages`` (or ``docs``), or the passages: strings,
            or mappings with ``long_text`` or another of `ragsieve.documents.TEXT_KEYS`.
        system: This and the others as in `ragsieve.adapter.Adapter`.

    Raises:
        InputError: If an option breaks its rule.
    """

    def __init__(
        self,
        retriever: Callable[..., Any],
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

    def forward(self, query: str, **options: Any) -> dspy.Prediction:
        """The retriever's prediction of what is kept, in the order in which it is to be read.

        ``passages`` are the kept texts; passages without text come last, as they were. Other lists
        of the prediction that are as long, such as ``indices``, and fields of mappings, as lists,
        hold the same passages' items, None where a model wrote the passage. ``ragsieve`` has for
        each passage what `ragsieve.adapter.Kept` says of it, and its ``place`` among the retrieved
        ones, from 0; ``report`` has the tokens, ``answerable``, the trace and what failed.

        Args:
            query: The question.
            options: The retriever's own, as ``k``.
        """
        hits = self.retriever(query, **options)
        if inspect.iscoroutine(hits):
            hits.close()
            raise InputError(f"an async retriever needs acall, not a plain call: got {hits!r:.80}")
        return self._filtered(query, hits)

    async def aforward(self, query: str, **options: Any) -> dspy.Prediction:
        """The same; what cannot be awaited runs in a thread."""
        ask = getattr(self.retriever, "acall", None) or dspy.asyncify(self.retriever)
        hits = await ask(query, **options)
        hits = await hits if inspect.isawaitable(hits) else hits  # of an ``async def``
        return await dspy.asyncify(self._filtered)(query, hits)

    def _filtered(self, query: str, hits: Any) -> dspy.Prediction:
        hits = [hits] if isinstance(hits, str) else hits
        known = dict(hits.items()) if isinstance(hits, dspy.Prediction) else {"passages": hits}
        name = "passages" if "passages" in known else "docs"  # as Databricks' has them
        if not isinstance(known.get(name), Iterable):
            raise InputError(f"a retriever must give passages, got {one_line(repr(hits), 120)}")
        rows = [_Row(n, *_parts(one), {}) for n, one in enumerate(known[name])]
        keys = dict.fromkeys(chain.from_iterable(row.fields for row in rows))
        known = {**{key: [row.fields.get(key) for row in rows] for key in keys}, **known}
        filtered = self.sieve(query, rows, _read, _write)
        beside = {
            name: [None if row.place is None else values[row.place] for row in filtered.documents]
            for name, values in known.items()
            if isinstance(values, list | tuple) and len(values) == len(rows)
        }
        texts = [row.passage for row in filtered.documents]
        about = [{"place": row.place, **row.about} for row in filtered.documents]
        own = {name: texts, "passages": texts, "ragsieve": about, "report": filtered.report}
        return dspy.Prediction(**{**known, **beside, **own})


class _Row(NamedTuple):
    place: int | None
    passage: Any
    fields: Mapping[str, Any]
    about: dict[str, Any]


def _parts(passage: Any) -> tuple[Any, dict[str, Any]]:
    """The text of a passage and what is said beside it; the passage itself where it has none."""
    fields = dict(passage.items()) if hasattr(passage, "items") else {}
    for key in ("long_text", *TEXT_KEYS):
        if isinstance(text := fields.get(key), str):
            return text, {name: value for name, value in fields.items() if name != key}
    return passage, {}


def _read(row: _Row) -> dict[str, Any] | None:
    return read_document(None, row.passage, row.fields)


def _write(_: _Row | None, kept: Kept) -> _Row:
    return _Row(kept.place, kept.text, {}, kept.about)
