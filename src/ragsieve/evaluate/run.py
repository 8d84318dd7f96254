"""A system over many questions: a record each, written as it is done, and none made twice."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragsieve.datasets.local import lines, parse_record
from ragsieve.errors import InputError, RagsieveError
from ragsieve.evaluate.answers import accuracy
from ragsieve.pipeline import Result
from ragsieve.types import Example


@dataclass(frozen=True)
class Done:
    """What became of a line of the input.

    Args:
        line: Its number, from 1.
        record: What was written for it; empty where it failed.
        error: Why it failed, where it did.
        again: Whether an earlier run had written it.
    """

    line: int
    record: dict[str, Any]
    error: RagsieveError | None = None
    again: bool = False


def run(
    source: Path,
    output: Path,
    process: Callable[[Example], Result],
    *,
    label: str,
    workers: int = 8,
    limit: int | None = None,
) -> Iterator[Done]:
    """Process every question of ``source``, several at once, and append each to ``output``.

    A line of the output has ``line``, ``id``, ``system``, the result, the gold ``answers`` where
    known and, where one answered, ``accuracy``. Lines written before, by the same ``label`` from
    the same input line, are not made again; a line cut short by a kill is. What fails is not
    written, so that the next run tries it again.

    Args:
        source: JSONL, may be ``.gz``; see `ragsieve.datasets.local.parse_record`.
        output: JSONL; made where missing.
        process: What answers or filters one question; called from several threads.
        label: What makes the results: written down, and compared when a run goes on.
        workers: Questions at once; at least 1.
        limit: Only this many lines of the input; all where None.

    Raises:
        InputError: If an option breaks its rule, a file cannot be used, or ``output`` was made by
            another label.
    """
    if workers < 1:
        raise InputError(f"workers must be at least 1, got {workers!r}")
    if limit is not None and limit < 1:
        raise InputError(f"limit must be at least 1, got {limit!r}")
    written = _written(output, label)
    pending: set[Future[Done]] = set()
    try:
        with output.open("a", encoding="utf-8") as file, ThreadPoolExecutor(workers) as pool:
            try:
                for place, (number, line) in enumerate(lines(source)):
                    if place == limit:
                        break
                    mark = hashlib.sha256(line.strip()).hexdigest()[:16]
                    if (number, mark) in written:
                        yield Done(number, written[number, mark], again=True)
                        continue
                    pending.add(pool.submit(_one, number, line, mark, process, label))
                    if len(pending) >= 2 * workers:
                        done, pending = wait(pending, return_when=FIRST_COMPLETED)
                        yield from (_append(file, future.result()) for future in done)
                for future in list(pending):
                    yield _append(file, future.result())
            finally:
                for future in pending:
                    future.cancel()
    except OSError as error:
        raise InputError(f"{output} cannot be written: {error.strerror}") from error


def _one(
    number: int, line: bytes, mark: str, process: Callable[[Example], Result], label: str
) -> Done:
    try:
        example = parse_record(line)
        result = process(example)
    except RagsieveError as error:
        return Done(number, {}, error)
    record: dict[str, Any] = {
        "line": number,
        "input": mark,
        "id": example.query.id,
        "system": label,
        **result.to_dict(),
    }
    if example.answers:
        record["answers"] = list(example.answers)
        if result.answer is not None:
            record["accuracy"] = accuracy(result.answer.text, example.answers)
    return Done(number, record)


def _append(file: Any, done: Done) -> Done:
    if done.record:
        file.write(json.dumps(done.record) + "\n")
        file.flush()
    return done


def _written(output: Path, label: str) -> dict[tuple[int, str], dict[str, Any]]:
    """Records that are whole, by line and input; the rest of a cut line is taken away."""
    found: dict[tuple[int, str], dict[str, Any]] = {}
    if not output.exists():
        return found
    try:
        data = output.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        for line in whole.splitlines():
            record = json.loads(line)
            if record["system"] != label:
                raise InputError(
                    f"output {output} was made by {record['system']}, not by {label}: "
                    "name another file, or remove it"
                )
            found[record["line"], record["input"]] = record
        if len(whole) < len(data):
            with output.open("r+b") as file:
                file.truncate(len(whole))
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"output {output} must be empty or made by ragsieve, got a line {line!r:.60}"
        ) from error
    return found
