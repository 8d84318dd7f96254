"""A filter of Arrow columns, questions and texts in, spans out: for Ray Data, Daft, Spark …"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from ragsieve.errors import InputError, check_range, needs_extra
from ragsieve.integrations.base import Adapter
from ragsieve.many import in_order
from ragsieve.tables import row

with needs_extra("arrow"):
    import pyarrow as pa

SPANS = pa.list_(
    pa.struct({"start": pa.int64(), "end": pa.int64(), "score": pa.float64()}),
)
"""Spans of a text: characters ``start`` to ``end``, in its order, with their last scores."""


class Kept(NamedTuple):
    """What is kept of the texts of a row.

    Args:
        spans: For each text, its kept spans as `SPANS` has them.
        reason: Why nothing is: the error, or the reason of the best span; None where something is.
    """

    spans: list[list[dict[str, Any]]]
    reason: str | None


@dataclass(frozen=True)
class Filter:
    """A system by name that pickles as these arguments and is loaded at its first row.

    A process loads it once, however often it is unpickled there. The same batch gives the same
    columns again, and a row that fails stops no other.

    Args:
        system: Its name, or a trained filter.
        llm: The generator, whose tokens a budget counts; see `ragsieve.load`.
        embedder: See `ragsieve.load`.
        options: Options of the system.
        max_tokens: Budget of what is kept of a row.
        query: The column of questions.
        texts: The column of texts, or of lists of texts, which are filtered together.
        workers: Rows at once; at least 1.

    Raises:
        InputError: If there is no such system, model or option, or one breaks its rule.
    """

    system: str = "finefilter"
    llm: str | None = None
    embedder: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    max_tokens: int | None = None
    query: str = "query"
    texts: str = "texts"
    workers: int = 8

    def __post_init__(self) -> None:
        if not isinstance(self.system, str):
            raise InputError(f"system must be a name, got {self.system!r:.80}")
        check_range(self, workers=(1, None))
        _ = self.adapter  # which checks the others

    def __call__(self, batch: Any) -> Any:
        """A table or batch of pyarrow with two more columns: ``kept`` and ``reason``.

        Raises:
            InputError: If it lacks a column, or has one of another type.
        """
        for name in (self.query, self.texts):
            if name not in batch.schema.names:
                raise InputError(f"a batch must have the column {name!r}, got {batch.schema.names}")
        kept, reason = self.columns(batch[self.query], batch[self.texts])
        return batch.append_column("kept", kept).append_column("reason", reason)

    def batches(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Each batch as `__call__` gives it; for Spark's ``mapInArrow``."""
        return map(self, batches)

    def columns(self, query: Any, texts: Any) -> tuple[Any, Any]:
        """Two arrays: spans of each row, and the reason where a row has none.

        Args:
            query: An array of strings.
            texts: An array of strings, whose spans are of type `SPANS`, or of lists of strings,
                whose spans are a list of these, one for each text.

        Raises:
            InputError: If ``texts`` is of another type.
        """
        single = pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type)
        if not single and not hasattr(texts.type, "value_type"):
            raise InputError(f"texts must be strings or lists of strings, got {texts.type}")
        given = [[one] if single else one for one in texts.to_pylist()]
        rows = [*self.rows(query.to_pylist(), given)]
        spans = [(one.spans[0] if one.spans else []) if single else one.spans for one in rows]
        kind = SPANS if single else pa.list_(SPANS)
        return pa.array(spans, kind), pa.array([one.reason for one in rows], pa.string())

    def rows(self, queries: Iterable[Any], texts: Iterable[Sequence[Any] | None]) -> Iterator[Kept]:
        """What is kept of the texts of each question, in order, several at once."""
        return in_order(
            lambda pair: self.row(*pair), zip(queries, texts, strict=True), self.workers
        )

    def row(self, query: Any, texts: Sequence[Any] | None) -> Kept:
        """What is kept of the texts of a question; nothing of what is no text."""
        named = [{"id": str(n), "text": text or ""} for n, text in enumerate(texts or ())]
        values = row(self.adapter.loaded, {"query": query, "documents": named})
        spans: list[list[dict[str, Any]]] = [[] for _ in named]
        if values["error"]:
            return Kept(spans, values["error"])
        for one in values["verdicts"]:
            if one["kept"] and one["document"] in map(str, range(len(named))):
                spans[int(one["document"])].append({k: one[k] for k in ("start", "end", "score")})
        if any(spans) or not any(one["text"].strip() for one in named):
            return Kept(spans, None if any(spans) else "there is no text")
        best = max(values["verdicts"], key=lambda one: one["score"] or 0.0)
        return Kept(spans, f"{best['stage']}: {best['reason']}")

    @property
    def adapter(self) -> Adapter:
        """The adapter with these arguments, one for a process."""
        options = sorted(self.options.items())
        arguments = (self.system, self.llm, self.embedder, options, self.max_tokens)
        return _opened(pickle.dumps(arguments))


@lru_cache(maxsize=4)
def _opened(pickled: bytes) -> Adapter:
    system, llm, embedder, options, max_tokens = pickle.loads(pickled)
    return Adapter(system, llm, embedder, dict(options), max_tokens, on_error="raise")
