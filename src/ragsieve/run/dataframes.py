"""Tables in, tables out: data sets, data frames and Arrow tables with a question a row.

A row has ``question`` (or ``query``), ``documents`` (a list of texts or of objects with ``text``),
and where known ``id``. A row of results is the same everywhere: see `schema`.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from ragsieve.errors import InputError, needs_extra, translated, typed_line
from ragsieve.run.concurrency import Call, in_order
from ragsieve.schema import Count, check_number
from ragsieve.text import json_text

COLUMNS = (
    *("id", "question", "text", "verdicts", "tokens_before", "tokens_after"),
    *("answerable", "answer", "error"),
)
BATCH = 64  # questions that are read, filtered and written together


def schema() -> Any:
    """The Arrow schema of results, a row a question.

    ``id``, ``question``; ``text``: the context; ``verdicts``: a row of `Result.rows` for each span,
    kept or dropped and why; ``tokens_before`` and ``tokens_after`` of the context; ``answerable``:
    the probability that some document answers, in [0, 1]; ``answer``, where one was asked for;
    ``error``: one line where the row was no question or the system failed, then all after
    ``question`` is null.

    Raises:
        MissingExtra: If pyarrow is not installed.
    """
    with needs_extra("arrow"):
        import pyarrow as pa
    text, whole, number = pa.string(), pa.int64(), pa.float64()
    verdict = {
        **{"document": text, "start": whole, "end": whole, "text": text},
        **{"kept": pa.bool_(), "score": number, "stage": text, "reason": text},
    }
    verdicts = pa.list_(pa.struct(verdict))
    kinds = (text, text, text, verdicts, whole, whole, number, text, text)
    return pa.schema(dict(zip(COLUMNS, kinds, strict=True)))


def row(call: Call, record: Mapping[str, Any]) -> dict[str, Any]:
    """A row of results, as `schema` has it, of a row with a question; an error is in the row.

    Args:
        call: A system, or its ``ask``.
        record: The row.
    """
    question = record.get("question", record.get("query"))
    names = {"id": record.get("id"), "question": question}
    found: dict[str, Any] = dict.fromkeys(COLUMNS)
    found |= {key: None if value is None else str(value) for key, value in names.items()}
    try:
        if not {"question", "query"} & record.keys():
            raise InputError(f"a row must have a question, got the columns {sorted(record)!r:.200}")
        filtered = call(question, record.get("documents"))
    except Exception as error:  # anyone's system: it must not stop the other questions
        return found | {"error": typed_line(error)}
    return found | {
        "text": filtered.text,
        "verdicts": filtered.rows,
        "tokens_before": filtered.tokens.before,
        "tokens_after": filtered.tokens.after,
        "answerable": filtered.answerable,
        "answer": filtered.answer.text if filtered.answer else None,
    }


def rows(call: Call, records: Iterable[Mapping[str, Any]], workers: int) -> list[dict[str, Any]]:
    """`row` of each record, so many at once, in their order; lone surrogates are U+FFFD.

    Raises:
        InputError: If ``workers`` is under 1.
    """
    check_number("workers", workers, Count)
    results = in_order(partial(row, call), records, workers)
    return [json.loads(json_text(one)) for one in results]  # strings that Arrow can hold


def map_dataset(call: Call, dataset: Any, *, workers: int = 8, num_proc: int | None = None) -> Any:
    """See `ragsieve.System.map_dataset`."""
    with needs_extra("hub"):
        from datasets import Features

    def batch(columns: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
        cells = zip(*columns.values(), strict=True)
        results = rows(call, (dict(zip(columns, row, strict=True)) for row in cells), workers)
        return {name: [one[name] for one in results] for name in COLUMNS}

    return dataset.map(
        batch,
        batched=True,
        batch_size=BATCH,
        **({"num_proc": num_proc} if num_proc else {}),  # streamed ones have no processes
        remove_columns=dataset.column_names,
        features=Features.from_arrow_schema(schema()),
    )


def map_frame(call: Call, frame: Any, *, workers: int = 8) -> Any:
    """Results of the rows of a frame, in their order, as `like` the frame; pandas' index stays.

    Args:
        call: A system, or its ``ask``; called from several threads.
        frame: A data frame of pandas, or what `as_table` takes.
        workers: Questions at once; at least 1.

    Raises:
        InputError: If ``frame`` is none of these, two of its columns have one name, or ``workers``
            is under 1.
        MissingExtra: If pyarrow is not installed.
    """
    if hasattr(frame, "itertuples") and frame.axes[-1].is_unique:
        # cells of a column may be of several types, which Arrow does not take
        named = [one for one in frame.index.names if one is not None and one not in frame]
        records = [_plain(one) for one in frame.reset_index(level=named).to_dict("records")]
    else:
        records = as_table(frame).to_pylist()
    columns = schema()
    import pyarrow as pa

    return like(frame, pa.Table.from_pylist(rows(call, records, workers), schema=columns))


def as_table(frame: Any) -> Any:
    """A table of pyarrow, of what has Arrow's interface: frames, tables, batches, relations.

    Raises:
        InputError: If it has not, or two of its columns have one name.
        MissingExtra: If pyarrow is not installed.
    """
    with needs_extra("arrow"):
        import pyarrow as pa
    rule = "a data frame or a table of Arrow, as .to_table() and .toArrow() give it"
    rule = f"a frame must be {rule}, got {type(frame).__name__}"
    with translated(InputError, rule, TypeError, ValueError, pa.ArrowException):
        # lazy ones of Polars too
        table = pa.table(frame.lazy().collect() if hasattr(frame, "lazy") else frame)
        if len({*table.column_names}) < table.num_columns:
            raise ValueError(f"columns must differ, got {table.column_names!r:.200}")
    return table


def like(frame: Any, table: Any) -> Any:
    """A table of pyarrow as a frame of the kind of another; as it is, if that kind takes none."""
    import pyarrow as pa

    if hasattr(frame, "itertuples"):
        return table.to_pandas().set_axis(frame.index)
    if isinstance(frame, pa.RecordBatch):
        return pa.record_batch([one.combine_chunks() for one in table.columns], table.schema)
    try:
        return type(frame)(table)
    except (TypeError, ValueError):
        return table


def _plain(value: Any) -> Any:
    """A value of pandas as one of Python, with None for what is missing."""
    from pandas import isna

    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return None if isna(value) else value
