"""Run a system over many questions: one record each, written when done, resumable."""

import hashlib
import json
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, as_completed, wait
from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Any, Self

from ragsieve.errors import InputError, typed_line
from ragsieve.files import replace_lines, writing
from ragsieve.result import Result
from ragsieve.run.concurrency import until_error
from ragsieve.run.questions import lines, parse_record
from ragsieve.schema import Count, check_number
from ragsieve.text import begins, contains_answer, counted, json_text, normalise, visible_answers
from ragsieve.timeouts import Pool
from ragsieve.types import Example

Record = dict[str, Any]
Process = Callable[[Example], Record]
Failed = Callable[[Example, Exception], Record | None] | None

logger = logging.getLogger(__name__)

_HEAD = b'{"line": '  # how each record begins
_LONG = ("kept", "text", "trace")  # keys of a record that an earlier run's is not held in memory by


@dataclass(frozen=True)
class Done:
    """A line of the input that is done.

    Args:
        line: Its number, from 1.
        record: Its record, of an earlier run without spans, text and trace; empty
            where it failed.
        error: Why it failed, where it did: whatever was raised.
        again: Whether an earlier run had written it.
    """

    line: int
    record: Record
    error: Exception | None = None
    again: bool = False


class Batch:
    """Questions of one JSONL file and the results in another, which belongs to it inside ``with``.

    A line of the output has ``line``, ``id``, ``system``, and the question's values. Records
    that an earlier run of the same ``label`` wrote stay as they are, also those of lines behind the
    ``limit`` or the input's end; a line that a kill, a full disk or a power cut has torn is taken
    away with a warning, and its question is asked again.
    ``.NAME.lock`` beside the output keeps a second run out.

    Args:
        source: JSONL, may be ``.gz``; see `ragsieve.run.questions.parse_record`.
        output: JSONL; created where missing.
        label: Identity of the system: written down, and compared when a run goes on.
        retry: Ask again the questions that failed in an earlier run.

    Raises:
        InputError: On entering, if the output cannot be used: it is the input, another run writes
            it, or it holds anything but records of this label.
    """

    def __init__(self, source: Path, output: Path, *, label: str, retry: bool = False) -> None:
        self.source, self.output, self.label, self.retry = source, output, label, retry
        self._written: dict[int, Record] = {}
        self._open = ExitStack()

    def __enter__(self) -> Self:
        from filelock import FileLock, Timeout  # with all of asyncio

        path = self.output.resolve()  # a link's target is what is written
        with writing(f"output {self.output}"), ExitStack() as stack:
            try:
                if self.output.exists() and not self.output.is_file():
                    raise InputError(f"output {self.output} must be a regular file")
                if path.suffix == ".gz":
                    raise InputError(f"output {self.output} must not end in .gz: it is not packed")
                if not path.parent.is_dir():  # the lock would make it
                    raise InputError(f"output {self.output} must lie in a folder that is there")
                if path.exists() and self.source.exists() and path.samefile(self.source):
                    raise InputError(f"output {self.output} must not be the input")
                path.open("ab").close()  # a lock that cannot be made reads like another run's
                stack.enter_context(FileLock(path.with_name(f".{path.name}.lock"), timeout=0))
                self._written = self._earlier(path)
                self._file = stack.enter_context(path.open("ab", buffering=0))
            except Timeout as error:
                raise InputError(f"output {self.output} is being written by another run") from error
            self._open = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def run(
        self, process: Process, *, failed: Failed = None, workers: int = 8, limit: int | None = None
    ) -> Iterator[Done]:
        """Process every question that is not done, several at once, and write each as it is done.

        Where the caller stops early, questions that are running end unread.

        Args:
            process: What makes a record's values of one question; called from several threads.
            failed: What makes them of a question whose process raised; where there is none, or it
                makes none, nothing is written, so that the next run tries it again.
            workers: Questions at once; at least 1.
            limit: Only this many lines of the input; all where None.

        Raises:
            InputError: If an option breaks its rule, the input cannot be read, the output not be
                written, or a line is another one than when its record was made.
        """
        check_number("workers", workers, Count)
        if limit is not None:
            check_number("limit", limit, Count)
        pending: set[Future[Done]] = set()
        errors: list[Exception] = []
        with closing(Pool(workers)) as pool:
            for number, line in until_error(islice(lines(self.source), limit), errors):
                mark = hashlib.sha256(line.strip()).hexdigest()[:16]
                if record := self._known(number, mark):
                    yield Done(number, record, again=True)
                    continue
                pending.add(pool.submit(self._one, number, line, mark, process, failed))
                if len(pending) >= 2 * workers:
                    ready, pending = wait(pending, return_when=FIRST_COMPLETED)
                    yield from [self._append(future.result()) for future in ready]
            for future in as_completed(pending):
                yield self._append(future.result())
            for error in errors:
                raise error

    def sort(self) -> None:
        """Put what is written in the order of the questions; none of it is held in memory."""
        if [*self._written] == sorted(self._written):
            return
        path, at = self.output.resolve(), 0
        places: list[tuple[int, int]] = []  # of each line its question's number, and where it is
        with writing(f"output {self.output}"), path.open("rb") as file:
            for line in file:
                places.append((int(json.loads(line)["line"]), at))
                at += len(line)
            self._file.close()
            starts = (file.seek(at) for _, at in sorted(places))
            replace_lines(path, (file.readline() for _ in starts))
            self._file = self._open.enter_context(path.open("ab", buffering=0))

    def total(self, limit: int | None = None) -> int | None:
        """Questions of the input; None where it is a pipe, which can be read once."""
        return sum(1 for _ in islice(lines(self.source), limit)) if self.source.is_file() else None

    def left(self, limit: int | None = None) -> int:
        """Questions without a record, of so many of the input, which is a file."""
        return sum(n not in self._written for n in range(1, (self.total(limit) or 0) + 1))

    def _known(self, number: int, mark: str) -> Record | None:
        record = self._written.get(number)
        if record and record["input"] != mark:
            other = (
                f"line {number} of {self.source} is not the one that {self.output} was made from"
            )
            raise InputError(f"{other}: name another output, or remove it")
        return record

    def _one(self, number: int, line: bytes, mark: str, process: Process, failed: Failed) -> Done:
        example, values, error = _processed(line, process)
        if error:
            values = (failed(example, error) if example and failed else None) or {}
        if example is None or not values:
            return Done(number, {}, error)
        head = {"line": number, "input": mark, "id": example.query.id, "system": self.label}
        return Done(number, {**head, **values}, error)

    def _append(self, done: Done) -> Done:
        if done.record:
            line = json_text(done.record).encode() + b"\n"
            self._written[done.line] = {}
            with writing(f"output {self.output}"):
                while line:  # a full disk takes a part of it
                    line = line[self._file.write(line) :]
        return done

    def _earlier(self, path: Path) -> dict[int, Record]:
        """Records of earlier runs by line; what is torn is taken away."""
        records: dict[int, Record] = {}
        torn: dict[int, bytes] = {}
        failed: set[int] = set()
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                record = self._checked(line) if line.endswith(b"\n") else None
                if record is None:
                    torn[number] = line[:80].strip(b"\0\r\n")
                elif self.retry and "error" in record:
                    failed.add(number)
                else:
                    records[record["line"]] = {k: v for k, v in record.items() if k not in _LONG}
        for number, begin in torn.items():
            if not records and begin[: len(_HEAD)] != _HEAD[: len(begin)]:
                raise self._foreign(begin)
            logger.warning("line %d of output %s was torn, it is asked anew", number, self.output)
        if removed := failed.union(torn):
            with path.open("rb") as file:
                lines = enumerate(file, 1)
                replace_lines(path, (line for number, line in lines if number not in removed))
        return records

    def _foreign(self, line: bytes) -> InputError:
        rule = f"output {self.output} must be empty or made by ragsieve"
        return InputError(f"{rule}, got a line {line!r:.60}")

    def _checked(self, line: bytes) -> Record | None:
        """A line as a record of this label; None where it is no JSON."""
        try:
            record: Any = json.loads(line)
        except (ValueError, RecursionError):
            return None
        try:
            label, number, _ = record["system"], record["line"], record["input"]
        except (KeyError, TypeError) as error:
            raise self._foreign(line) from error
        if type(number) is not int:
            raise self._foreign(line)
        if label != self.label:
            made = f"output {self.output} was made by {label}, not by {self.label}"
            raise InputError(f"{made}: name another file, or remove it")
        return dict(record)


def _processed(line: bytes, process: Process) -> tuple[Example | None, Record, Exception | None]:
    """The question of a line, where it is one, its values, and what was raised."""
    example = None
    try:
        example = parse_record(line)
        return example, process(example), None
    except Exception as error:  # anyone's system: it must not stop the other questions
        return example, {}, error


def stream(
    source: Iterable[bytes], process: Process, *, workers: int = 8, limit: int | None = None
) -> Iterator[Done]:
    """Process questions as they come, several at once, and yield each in its place when done.

    Of what fails, the record is its line and its error. The source is read in a thread of its own,
    so that what is done is there while the next question is waited for.

    Args:
        source: Lines of JSON, as `ragsieve.run.questions.parse_record` takes them.
        process: What makes a record's values of one question; called from several threads.
        workers: Questions at once; at least 1.
        limit: Only this many questions; all where None.

    Raises:
        InputError: Behind the questions before, if the source, standard input, cannot be read.
    """
    pool = Pool(workers)
    pending: Queue[Future[Done] | None] = Queue(2 * workers)
    errors: list[Exception] = []

    def one(number: int, line: bytes) -> Done:
        example, values, error = _processed(line, process)
        if error:
            values = {"error": typed_line(error)}
        name = {"id": example.query.id} if example else {}
        return Done(number, {"line": number, **name, **values}, error)

    def read() -> None:
        lines = ((number, line) for number, line in enumerate(source, 1) if line.strip())
        futures = (pool.submit(one, *line) for line in islice(lines, limit))
        for future in until_error(futures, errors):
            pending.put(future)
        pending.put(None)

    Thread(target=read, daemon=True).start()
    with closing(pool):
        while future := pending.get():
            yield future.result()
        for error in errors:
            reason = getattr(error, "strerror", None) or error
            raise InputError(f"standard input cannot be read: {reason}") from error


def accuracy(output: str, answers: Sequence[str]) -> float:
    """1.0 where the output holds a gold answer, else 0.0.

    A gold "yes" or "no" must be the output's first word: "there is no information" is no "no".

    Source: WinnowRAG's accuracy.
    Differs: An answer is held as whole words and numbers (`ragsieve.text.contains_answer`).
    """
    first_word = begins(output, {"yes", "no"}.intersection(map(normalise, answers)))
    return float(first_word or contains_answer(output, visible_answers(answers)))


def judged(example: Example, result: Result) -> Record:
    """A result as a record's values, with gold answers where known and, if answered, accuracy."""
    values = result.to_dict(documents=False)
    if example.answers:
        values["answers"] = list(example.answers)
        if result.answer is not None:
            values["accuracy"] = accuracy(result.answer.text, example.answers)
    return values


class Tally(Counter[str]):
    """Sums over questions that are done.

    ``questions``, those done ``again``, ``failed``, of these ``bad`` ones, and ``written``; of the
    last ones tokens ``before`` and ``after``, those ``skipped`` with a warning, ``judged``, and
    ``right``.
    """

    def add(self, done: Done) -> None:
        """Count one question in."""
        wrong = isinstance(done.error, InputError)
        self.update(questions=1, again=done.again, failed=done.error is not None, bad=wrong)
        if (record := done.record) and done.error is None:
            warned, judged = record.get("trace", {}).get("warnings"), "accuracy" in record
            self.update(record["tokens"], written=1, skipped=bool(warned), judged=judged)
            self["right"] += int(record.get("accuracy", 0))

    def __str__(self) -> str:
        parts = [f"{self['written']:,} of {counted(self['questions'], 'question')}"]
        if self["again"]:
            parts.append(f"{self['again']} of them from before")
        if before := self["before"]:
            kept, share = self["after"], self["after"] / before
            parts.append(f"kept {kept:,} of {counted(before, 'token')} ({share:.1%})")
        if judged := self["judged"]:
            parts.append(f"accuracy {self['right'] / judged:.1%} of {judged}")
        if self["skipped"]:
            parts.append(f"a warning in {self['skipped']}")
        return "; ".join(parts)
