"""Filter data sets and files on a Ray cluster: actors load the models once, and share the work.

A run over files goes on where it was interrupted: the input is cut into parts, and the results of a
part are a file of their own, which is there as a whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
import logging
import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Literal

from ragsieve.documents import AnyDocument
from ragsieve.errors import InputError, ModelError, needs_extra
from ragsieve.result import Result
from ragsieve.run.dataframes import BATCH, rows, schema
from ragsieve.run.questions import load_json
from ragsieve.schema import Count, check_number
from ragsieve.system import System
from ragsieve.trace import Step
from ragsieve.types import Query

with needs_extra("ray"):
    import fsspec
    import pyarrow as pa
    import ray
    import ray.data
    from pyarrow import fs, parquet

Form = Literal["jsonl", "parquet"]
PART_BYTES = 1 << 18
_RUN = "run.json"


@contextmanager
def connected(address: str | None, actors: int) -> Iterator[None]:
    """A cluster until the block ends; without an address, one of this machine.

    Raises:
        ModelError: If the cluster cannot be reached.
    """
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    if ray.is_initialized():
        yield
        return
    own = {"address": address} if address else {"num_cpus": actors, "include_dashboard": False}
    try:
        ray.init(log_to_driver=False, logging_level=logging.ERROR, **own)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise ModelError(
            f"the Ray cluster {address or 'here'} cannot be reached: {error}"
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


def filter(
    dataset: Any,
    system: System,
    *,
    answer: bool = False,
    actors: int = 2,
    workers: int = 4,
    **resources: Any,
) -> Any:
    """Results of a data set of Ray, a row a question; see `ragsieve.run.dataframes.schema`.

    An actor that dies is started again, and what it had not finished is done again.

    Args:
        dataset: Has the columns ``question`` and ``documents``.
        system: Is sent to the actors without weights, which they load themselves.
        answer: Whether the reader answers, as by `ragsieve.System.ask`.
        actors: Processes that filter; at least 1.
        workers: Questions at once in each; at least 1.
        resources: What an actor needs, as ``num_cpus=1`` or ``num_gpus=0.5``.

    Raises:
        InputError: If ``actors`` or ``workers`` is under 1.
    """
    options = {"batch_size": BATCH, "batch_format": "pyarrow", **resources}
    return _mapped(dataset, Rows, (system, answer, workers), actors, options)


@dataclass(frozen=True)
class FileRange:
    """A part of the input: bytes of a file of lines, or row groups of a Parquet file.

    Args:
        number: From 0, in the order of the input.
        path: The file; an URL where it is not local.
        start: First byte, or row group.
        end: One past the last.
    """

    number: int
    path: str
    start: int
    end: int


def filter_files(
    source: str,
    output: str,
    system: System,
    *,
    label: str,
    answer: bool = False,
    actors: int = 2,
    workers: int = 4,
    form: Form = "jsonl",
    part_bytes: int = PART_BYTES,
    resources: Mapping[str, Any] = {},
) -> tuple[int, Iterator[Mapping[str, Any]]]:
    """Filter the questions of files into a folder; parts that are there are not done again.

    ``part-NUMBER.jsonl`` or ``.parquet`` holds the results of a part in its order,
    ``bad-NUMBER.jsonl`` the records that failed, with their reasons.

    Args:
        source: A file of JSONL (``.gz``, too, as one part) or Parquet, a folder of them, or a
            pattern as ``s3://bucket/*.parquet``.
        output: A folder, or its URL.
        system: See `filter`.
        label: Identity of the system: written down, and compared when a run goes on.
        answer: The same.
        actors: The same.
        workers: The same.
        form: Of the results.
        part_bytes: Bytes of lines in a part, about: four are a token of English; at least 1.
        resources: What an actor needs: see `filter`.

    Returns:
        The number of parts, and for each, as it is done, ``number``, ``questions``, ``failed``,
        ``tokens_before``, ``tokens_after``, ``stages``: JSON of `per_stage`, and ``again``: 1
        where an earlier run did it.

    Raises:
        InputError: If there is no input, or the folder holds another run.
    """
    parts = [*parts_of(source, part_bytes)]
    if not parts:
        raise InputError(f"input must have files of .jsonl, .jsonl.gz or .parquet, got {source!r}")
    system_, folder = opened(output)
    system_.create_dir(folder, recursive=True)
    digest = hashlib.sha256(json.dumps([asdict(part) for part in parts]).encode()).hexdigest()
    about = json.dumps({"label": label, "form": form, "parts": len(parts), "input": digest})
    _claim(system_, posixpath.join(folder, _RUN), about, output)
    names = {info.base_name for info in system_.get_file_info(fs.FileSelector(folder))}
    left = [part for part in parts if f"{_name('part', part.number)}.{form}" not in names]

    def results() -> Iterator[Mapping[str, Any]]:
        undone = {*left}
        for part in parts:
            if part not in undone:
                yield {"number": part.number, "again": 1}
        if left:
            rows = ray.data.from_items([asdict(p) for p in left], override_num_blocks=len(left))
            arguments = (system, answer, workers, output, form)
            yield from _mapped(
                rows, _Files, arguments, min(actors, len(left)), {"batch_size": 1, **resources}
            ).iter_rows()

    return len(parts), results()


def parts_of(source: str, part_bytes: int = PART_BYTES) -> Iterator[FileRange]:
    """The parts of the input, in order."""
    number = 0
    for path, size in _inputs(source):
        system, name = opened(path)
        if name.endswith(".parquet"):
            ends = [*range(1, parquet.ParquetFile(name, filesystem=system).num_row_groups + 1)]
        elif name.endswith(".gz"):
            ends = [size]
        else:
            ends = [*range(part_bytes, size, part_bytes), size]
        for start, end in zip([0, *ends], ends, strict=False):
            yield FileRange(number, path, start, end)
            number += 1


def _mapped(
    dataset: Any, actor: Callable[..., Any], arguments: Any, actors: int, options: Any
) -> Any:
    for name, number in (("actors", actors), ("workers", arguments[2])):
        check_number(name, number, Count)
    ray.data.DataContext.get_current().enable_progress_bars = False
    pool = ray.data.ActorPoolStrategy(size=actors)
    return dataset.map_batches(actor, fn_constructor_args=arguments, compute=pool, **options)


class Rows:
    """An actor: a system with its models, loaded with the first question."""

    def __init__(self, system: System, answer: bool, workers: int) -> None:
        self.system = system.ask if answer else system
        self.workers = workers
        self.steps: list[Step] = []  # of the questions since they were last counted

    def call(self, query: Query | str, documents: Sequence[AnyDocument] | None) -> Result:
        """A question's result; what its stages did is kept for the metrics."""
        result = self.system(query, documents)
        self.steps += result.trace.steps
        return result

    def __call__(self, batch: Any) -> Any:
        return pa.Table.from_pylist(self.rows(batch.to_pylist()), schema=schema())

    def rows(self, records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Rows of results, in order."""
        self.steps = []
        return rows(self.call, records, self.workers)


class _Files(Rows):
    """An actor that reads a part of the input and writes its results."""

    def __init__(self, system: System, answer: bool, workers: int, output: str, form: Form) -> None:
        super().__init__(system, answer, workers)
        self.output, self.form = output, form

    def __call__(self, batch: Any) -> Any:
        part = FileRange(*(batch[name].tolist()[0] for name in _FIELDS))
        records = [_parsed(line) for line in lines_of(part)]
        results = self.rows(records)
        bad = [
            {"reason": result["error"], "record": record}
            for record, result in zip(records, results, strict=True)
            if result["error"]
        ]
        if bad:
            _write(self.output, f"{_name('bad', part.number)}.jsonl", _jsonl(bad))
        written = _parquet(results) if self.form == "parquet" else _jsonl(results)
        _write(self.output, f"{_name('part', part.number)}.{self.form}", written)
        sums = {n: sum(r[n] or 0 for r in results) for n in ("tokens_before", "tokens_after")}
        counts = {"number": part.number, "questions": len(results), "failed": len(bad), **sums}
        counts["stages"] = json.dumps(per_stage(self.steps))
        return {key: [value] for key, value in {**counts, "again": 0}.items()}


def per_stage(steps: Iterable[Step]) -> dict[str, dict[str, float]]:
    """Metrics of each stage by its name, summed over questions.

    ``seconds`` are those of a question's own clock: of questions at once, more than one a second.
    """
    sums: dict[str, dict[str, float]] = {}
    for step in steps:
        one = sums.setdefault(step.stage.partition("(")[0], dict.fromkeys(METRICS, 0.0))
        tokens = sum(usage.tokens_in + usage.tokens_out for usage in step.usages)
        values = (step.seconds, len(step.before), len(step.after), len(step.usages), tokens)
        for metric, value in zip(METRICS, values, strict=True):
            one[metric] += value
    return sums


METRICS = ("seconds", "segments_in", "segments_out", "calls", "tokens")
_FIELDS = ("number", "path", "start", "end")


def _jsonl(rows: Sequence[Mapping[str, Any]]) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in rows)


def _parquet(rows: Sequence[Mapping[str, Any]]) -> bytes:
    sink = pa.BufferOutputStream()
    parquet.write_table(pa.Table.from_pylist([*rows], schema=schema()), sink)
    return bytes(sink.getvalue())


def _name(kind: str, number: int) -> str:
    return f"{kind}-{number:08d}"


def _write(folder: str, name: str, data: bytes) -> None:
    """Write a file, as a whole or not at all; a store of objects moves them by a copy."""
    system, path = opened(folder)
    fresh, final = posixpath.join(path, f".{name}"), posixpath.join(path, name)
    with system.open_output_stream(fresh) as file:
        file.write(data)
    system.move(fresh, final)


def _claim(system: Any, path: str, about: str, output: str) -> None:
    """Write what a folder is made from, or see that it is the same."""
    if system.get_file_info(path).type == fs.FileType.File:
        with system.open_input_stream(path) as file:
            if file.read().decode() != about:
                raise InputError(
                    f"output {output} was made by another system or from another input"
                )
    else:
        _write(output, _RUN, about.encode())


def lines_of(part: FileRange) -> Iterator[Any]:
    """Records of a part: lines that begin in it, or rows."""
    system, path = opened(part.path)
    if path.endswith(".parquet"):
        file = parquet.ParquetFile(path, filesystem=system)
        yield from file.read_row_groups([*range(part.start, part.end)]).to_pylist()
        return
    if path.endswith(".gz"):
        with system.open_input_stream(path, compression="gzip") as stream:
            yield from (line for line in stream.read().split(b"\n") if line.strip())
        return
    with system.open_input_file(path) as file:
        file.seek(max(part.start - 1, 0))
        data = file.read(part.end - file.tell())
        while not data.endswith(b"\n") and (more := file.read(1 << 16)):  # the last line goes on
            end, stop, _ = more.partition(b"\n")
            data += end + stop
    if part.start:
        data = data.partition(b"\n")[2]  # the part before has it
    yield from (line for line in data.split(b"\n") if line.strip())


def _parsed(line: Any) -> Mapping[str, Any]:
    """A record; of a line that is none, one that fails as it does."""
    if isinstance(line, dict):
        return line
    try:
        value = load_json(line)
    except InputError:
        value = None
    return value if isinstance(value, dict) else {"line": line.decode("utf-8", "replace")}


def _inputs(source: str) -> Iterator[tuple[str, int]]:
    """Files with their sizes, in order of their names."""
    system, path = opened(source)
    folder, pattern = path, "*"
    if "*" in posixpath.basename(path):
        folder, pattern = posixpath.split(path)
    info = system.get_file_info(folder)
    infos = [info] if info.type == fs.FileType.File else []
    if info.type == fs.FileType.Directory:
        infos = system.get_file_info(fs.FileSelector(folder))
    scheme, mark, rest = source.partition("://") if "://" in source else ("", "", source)
    user = "".join(rest.partition("/")[0].rpartition("@")[:2])
    options = "".join(rest.partition("?")[1:]) if mark else ""
    for one in sorted(infos, key=lambda one: str(one.path)):
        known = one.path.endswith((".jsonl", ".jsonl.gz", ".parquet"))
        if one.type == fs.FileType.File and known and fnmatch(one.base_name, pattern):
            yield f"{scheme}{mark}{user}{one.path}{options}", one.size


def opened(place: str) -> tuple[Any, str]:
    """The file system of a path or URL, and the path there: pyarrow's own, else fsspec's."""
    if "://" not in place:
        return fs.LocalFileSystem(), str(Path(place).absolute())
    try:
        return fs.FileSystem.from_uri(place)  # type: ignore[no-any-return]
    except (pa.ArrowException, OSError) as error:
        try:
            system, path = fsspec.core.url_to_fs(place)
        except (ImportError, ValueError):
            raise InputError(f"{place!r} cannot be opened: {error}") from error
        return fs.PyFileSystem(fs.FSSpecHandler(system)), path
