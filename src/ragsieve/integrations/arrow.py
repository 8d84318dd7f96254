"""A filter of Arrow columns, questions and texts in, spans out: for Ray Data, Daft, Spark …"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from ragsieve.adapter import Adapter, with_own
from ragsieve.errors import InputError, needs_extra
from ragsieve.run.dataframes import as_table, like, rows
from ragsieve.schema import Count, check_number

with needs_extra("arrow"):
    import pyarrow as pa

SPANS = pa.list_(pa.struct({"start": pa.int64(), "end": pa.int64(), "score": pa.float64()}))
"""Spans of a text: characters ``start`` to ``end``, in its order, with their last scores."""


class Kept(NamedTuple):
    """What is kept of the texts of a row.

    Args:
        spans: For each text, its kept spans as `SPANS` has them.
        reason: Why nothing is: the error, or the reason of the best span; None where something is.
    """

    spans: list[list[dict[str, Any]]]
    reason: str | None


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
        own: Options by their own names, as ``keep_answer=0.8``.

    Raises:
        InputError: If there is no such system, model or option, or one breaks its rule.
    """

    def __init__(
        self,
        system: str = "finefilter",
        llm: str | None = None,
        embedder: str | None = None,
        options: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        query: str = "query",
        texts: str = "texts",
        workers: int = 8,
        **own: Any,
    ) -> None:
        check_number("workers", workers, Count)
        self._arguments = (system, llm, embedder, with_own(options, own), max_tokens)
        self.query, self.texts, self.workers = query, texts, workers
        _ = self.adapter  # which checks the others

    def __call__(self, batch: Any) -> Any:
        """A frame with two more columns, ``kept`` and ``reason``, of the kind that it is.

        Args:
            batch: What `ragsieve.run.dataframes.as_table` takes.

        Raises:
            InputError: If it is no such one, lacks a column, has one of another type, or has these.
        """
        table = as_table(batch)
        names = table.column_names
        for name in (self.query, self.texts):
            if name not in names:
                raise InputError(f"a batch must have the column {name!r}, got {names}")
        if taken := {"kept", "reason"} & {*names}:
            raise InputError(f"a batch must not have the column {min(taken)!r}: drop it before")
        kept, reason = self.columns(table[self.query], table[self.texts])
        return like(batch, table.append_column("kept", kept).append_column("reason", reason))

    def batches(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Each batch as `__call__` gives it; for Spark's ``mapInArrow``."""
        return map(self, batches)

    def columns(self, query: Any, texts: Any) -> tuple[Any, Any]:
        """Two arrays: spans of each row, and the reason where a row has none.

        Args:
            query: An array of strings.
            texts: An array of passages, strings or structs as ``{id, title, text}``, whose spans
                are of type `SPANS`, or of lists of passages, whose spans are a list of these, one
                for each; or of nulls alone, whose lists are empty and of nulls.

        Raises:
            InputError: If ``texts`` is of another type.
        """
        kind, is_a = texts.type, pa.types
        if is_a.is_dictionary(kind) or is_a.is_run_end_encoded(kind):
            kind = kind.value_type
        empty = is_a.is_null(kind)  # of a batch in which no row has a text
        single = is_a.is_struct(kind) or str(kind) in ("string", "large_string", "string_view")
        if not (empty or single or hasattr(kind, "value_type")):
            raise InputError(f"texts must be passages or lists of passages, got {texts.type}")
        kept = self.rows(query.to_pylist(), [[one] if single else one for one in texts.to_pylist()])
        spans = [(one.spans[0] if one.spans else []) if single else one.spans for one in kept]
        kind = SPANS if single else pa.list_(pa.null() if empty else SPANS)
        return pa.array(spans, kind), pa.array([one.reason for one in kept], pa.string())

    def rows(self, queries: Iterable[Any], texts: Iterable[Sequence[Any] | None]) -> list[Kept]:
        """What is kept of the passages of each question, in order; nothing of what is null."""
        documents = [*map(_documents, texts)]
        pairs = zip(queries, documents, strict=True)
        records = [{"query": query, "documents": own} for query, own in pairs]
        return [*map(_kept, documents, rows(self.adapter.loaded, records, self.workers))]

    def row(self, query: Any, texts: Sequence[Any] | None) -> Kept:
        """The same of one question."""
        return self.rows([query], [texts])[0]

    @property
    def adapter(self) -> Adapter:
        """The adapter with these arguments, one for a process."""
        try:
            return _opened(json.dumps(self._arguments, sort_keys=True))
        except TypeError as error:
            rule = "system, llm, embedder and options must be JSON values"
            raise InputError(f"{rule}, got {self._arguments[:4]!r:.120}") from error


def _documents(texts: Sequence[Any] | None) -> list[dict[str, Any]]:
    """The passages of a row, whose places are their ids."""
    passages = (one if isinstance(one, Mapping) else {"text": one} for one in texts or ())
    return [{**one, "id": str(n)} for n, one in enumerate(passages)]


def _kept(documents: Sequence[Mapping[str, Any]], values: Mapping[str, Any]) -> Kept:
    """What a row of `ragsieve.run.dataframes.schema` says of documents, whose ids are places."""
    spans: dict[str, list[dict[str, Any]]] = {document["id"]: [] for document in documents}
    reason, verdicts = values["error"], values["verdicts"] or ()
    for one in verdicts:
        if one["kept"] and one["document"] in spans:
            spans[one["document"]].append({k: one[k] for k in ("start", "end", "score")})
    if not reason and not any(spans.values()):
        gone = [one for one in verdicts if not one["kept"] and one["text"].strip()]
        best = max(gone, key=lambda one: one["score"] or 0.0, default=None)
        reason = f"{best['stage']}: {best['reason']}" if best else "there is no text"
    return Kept([*spans.values()], reason)


@lru_cache(maxsize=4)
def _opened(arguments: str) -> Adapter:
    system, llm, embedder, options, max_tokens = json.loads(arguments)
    return Adapter(system, llm, embedder, options, max_tokens, on_error="raise")
