"""Your own JSONL: one question a line, with its documents."""

import bz2
import gzip
import json
import zlib
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from typing import Any

from ragsieve.documents import as_documents, listed_in_json
from ragsieve.errors import InputError, needs_extra, one_line
from ragsieve.schema import check_values
from ragsieve.types import Example, Query

MAX_LINE = 1 << 27
"""Bytes of a line, unpacked, at most: 128 MiB."""

_PACKED: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open}
_TEXT = 40  # characters from which on a string in a list is a text


def lines(path: Path, *, array: bool = False) -> Iterator[tuple[int, bytes]]:
    """Numbered lines of a file, from 1, blank ones left out; ``.gz`` and ``.bz2`` are unpacked.

    Of a ``.parquet`` each row, as a line of JSON.

    Raises:
        MissingExtra: If the file is Parquet and pyarrow is not installed.
        InputError: If the file cannot be read, ends before its ``.gz`` does, has a line of more
            than `MAX_LINE` bytes (a small ``.gz`` can hold one that fills the memory), or is a JSON
            array that was not asked for.
    """
    if path.suffix == ".parquet":
        yield from enumerate(_rows(path), 1)
        return
    try:
        with _PACKED.get(path.suffix, open)(path, "rb") as file:
            for number, line in enumerate(iter(lambda: file.readline(MAX_LINE + 1), b""), 1):
                if len(line) > MAX_LINE:
                    raise InputError(f"line {number} of {path} must have at most {MAX_LINE} bytes")
                if number == 1 and not array and line.lstrip(b"\xef\xbb\xbf \t").startswith(b"["):
                    why = "it is a JSON array, of which `ragsieve questions` writes lines"
                    raise InputError(f"{path} cannot be read by lines: {why}")
                if line.strip():
                    yield number, line
    except (OSError, EOFError, zlib.error) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise InputError(f"{path} cannot be read: {reason}") from error


def _rows(path: Path) -> Iterator[bytes]:
    with needs_extra("arrow"):
        from pyarrow import ArrowException, parquet
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(256):
                yield from (json.dumps(row, default=str).encode() for row in batch.to_pylist())
    except (OSError, ArrowException) as error:
        raise InputError(f"{path} cannot be read: {one_line(error)}") from error


def parse_record(line: bytes) -> Example:
    """A question with its documents, from a line of JSON; see `as_example`.

    Raises:
        InputError: If the line is not UTF-8, not JSON, or breaks the schema.
    """
    return as_example(parse_json(line))


def is_question(value: Any) -> bool:
    """Whether a JSON value is a question with documents, and not a document itself."""
    known = {*value} if isinstance(value, dict) else set()
    return "documents" in known and "text" not in known and bool(known & {"question", "query"})


def as_example(record: Mapping[str, Any]) -> Example:
    """A question with its documents, from a JSON object.

    The keys are ``question`` (or ``query``), ``documents`` (strings, or objects with ``text``, and
    where known ``id``, ``title``, ``source``; of others see `ragsieve.documents.from_json`), and
    where known ``id``, ``answers`` and ``metadata``.

    ``is_positive`` of a document, where known, is a boolean; 0 and 1 are read as such.

    Raises:
        InputError: If it breaks the schema, or has lists of texts under other keys alone.
    """
    check_values(record, "the record")
    question = record.get("question", record.get("query"))
    documents = record.get("documents", [])
    answers = record.get("answers") or []
    metadata = record.get("metadata") or {}
    if question is None:
        raise InputError(f"a record must have a question, got the keys {sorted(record)!r:.200}")
    if not isinstance(documents, list):
        raise InputError(f"documents must be a list, got {documents!r:.80}")
    if "documents" not in record and (keys := ",".join(text_lists(record))):
        rule = f"documents must be named: the record has lists of texts under {keys}"
        by = f"`ragsieve questions` and `bench` read these by --layout or --fields documents={keys}"
        raise InputError(f"{rule}; {by}")
    if not isinstance(answers, list) or not all(isinstance(a, str) for a in answers):
        raise InputError(f"answers must be a list of strings, got {answers!r:.80}")
    if not isinstance(metadata, dict):
        raise InputError(f"metadata must be an object, got {metadata!r:.80}")
    name = "" if record.get("id") is None else str(record["id"])
    time, domain = (str(metadata.get(key) or "") for key in ("query_time", "domain"))
    query = Query(question, id=name, time=time, domain=domain)
    read = [*map(_labelled, listed_in_json(documents))]
    return Example(query, as_documents(read), tuple(answers), metadata)


def text_lists(
    record: Mapping[str, Any], known: Container[str] = ("answers", "metadata")
) -> list[str]:
    """Keys other than those known whose lists hold objects or longer strings, lists within too."""
    lists = ((k, v) for k, v in record.items() if k not in known and isinstance(v, list))
    return [key for key, value in lists if any(map(_holds_text, value))]


def _holds_text(value: Any, depth: int = 2) -> bool:
    if isinstance(value, list):  # as of HotpotQA, title and sentences
        return depth > 0 and any(_holds_text(one, depth - 1) for one in value)
    return isinstance(value, dict) or (isinstance(value, str) and len(value) >= _TEXT)


def _labelled(document: dict[str, Any]) -> dict[str, Any]:
    """A document whose ``is_positive``, if there is one, is a boolean."""
    own = document if "is_positive" in document else document.get("metadata") or {}
    if (label := own.get("is_positive")) is None:
        return document
    if not isinstance(label, int | float) or label not in (0, 1):
        raise InputError(f"is_positive must be 0, 1, true or false, got {label!r:.80}")
    return {**document, "is_positive": bool(label)}


def parse_json(line: bytes) -> Mapping[str, Any]:
    """A JSON object from a line of UTF-8.

    Raises:
        InputError: As `load_json`, or if it is no object.
    """
    value = load_json(line)
    if not isinstance(value, dict):
        raise InputError(f"must be a JSON object, got a {type(value).__name__}")
    return value


def load_json(text: bytes) -> Any:
    """A value from JSON in UTF-8.

    Raises:
        InputError: If the text is not UTF-8, not JSON, or nests too deep.
    """
    try:
        return json.loads(text.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 at byte {error.start}: {text[error.start]:#04x}") from error
    except RecursionError as error:
        raise InputError("not JSON that can be read: it nests too deep") from error
    except ValueError as error:
        raise InputError(f"not JSON: {error}") from error
