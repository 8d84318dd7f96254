"""Filter data sets and files on a Ray cluster: actors load the models once, and share the work.

A run over files goes on where it was interrupted: the input is cut into parts, and the results of a
part are a file of their own, which is there as a whole or not at all.
"""

import hashlib
import json
import logging
import posixpath
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from ragsieve.documents import AnyDocument
from ragsieve.errors import InputError, ModelError, needs_extra, translated
from ragsieve.result import Result
from ragsieve.run.dataframes import BATCH, rows, schema
from ragsieve.run.questions import parse_json
from ragsieve.schema import Count, check_number
from ragsieve.system import System
from ragsieve.trace import Step
from ragsieve.types import Query

with needs_extra("ray"):
    import pyarrow as pa
    import ray
    import ray.data
    from fsspec.core import url_to_fs
    from fsspec.implementations.arrow import ArrowFSWrapper
    from fsspec.utils import read_block
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
    away = f"the Ray cluster {address or 'here'} cannot be reached"
    with translated(ModelError, away, ConnectionError, RuntimeError, ValueError):
        ray.init(log_to_driver=False, logging_level=logging.ERROR, **own)
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
    return dataset.map_batches(
        Rows,
        fn_constructor_args=(system, answer, workers),
        compute=_pool(actors, workers),
        batch_size=BATCH,
        batch_format="pyarrow",
        **resources,
    )


@dataclass(frozen=True)
class FileRange:
    """A part of the input: bytes of a file of lines, or row groups of a Parquet file.

    Args:
        number: From 0, in the order of the input.
        path: The file, as its file system has it.
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
    files, place = opened(source)
    parts = [*parts_of(files, place, part_bytes)]
    if not parts:
        raise InputError(f"input must have files of .jsonl, .jsonl.gz or .parquet, got {source!r}")
    store, folder = opened(output)
    store.makedirs(folder, exist_ok=True)
    digest = hashlib.sha256(json.dumps([asdict(part) for part in parts]).encode()).hexdigest()
    about = json.dumps({"label": label, "form": form, "parts": len(parts), "input": digest})
    _claim(store, folder, about, output)
    names = {posixpath.basename(path) for path in store.ls(folder, detail=False)}
    left = [part for part in parts if f"{_name('part', part.number)}.{form}" not in names]

    def results() -> Iterator[Mapping[str, Any]]:
        undone = {*left}
        yield from ({"number": one.number, "again": 1} for one in parts if one not in undone)
        if left:
            rows = ray.data.from_items([asdict(p) for p in left], override_num_blocks=len(left))
            actor: Any = _Files
            arguments = (Rows(system, answer, workers), files, store, folder, form)
            pool = _pool(min(actors, len(left)), workers)
            done = rows.map(actor, fn_constructor_args=arguments, compute=pool, **resources)
            yield from done.iter_rows()

    return len(parts), results()


def parts_of(files: Any, place: str, part_bytes: int = PART_BYTES) -> Iterator[FileRange]:
    """The parts of the input, in order of the files' names.

    Args:
        files: The file system, as `opened` gives it.
        place: A file of it, a folder of files, or a pattern.
        part_bytes: Of a part of lines, about.
    """
    number = 0
    for path in files.glob(place) if "*" in place else files.find(place, maxdepth=1):
        if path.endswith(".parquet"):
            with files.open(path) as file:
                ends = [*range(1, parquet.ParquetFile(file).num_row_groups + 1)]
        elif path.endswith(".jsonl.gz"):
            ends = [files.size(path)]
        elif path.endswith(".jsonl"):
            ends = [*range(part_bytes, size := files.size(path), part_bytes), size]
        else:
            continue
        for start, end in zip([0, *ends], ends, strict=False):
            yield FileRange(number, path, start, end)
            number += 1


def _pool(actors: int, workers: int) -> Any:
    """So many actors, for `ray.data`."""
    check_number("actors", actors, Count)
    check_number("workers", workers, Count)
    ray.data.DataContext.get_current().enable_progress_bars = False
    return ray.data.ActorPoolStrategy(size=actors)


@dataclass
class Rows:
    """An actor: a system with its models, loaded with the first question.

    Args:
        system: See `filter`.
        answer: The same.
        workers: The same.
        steps: Steps of the questions since `rows` was last called.
    """

    system: System
    answer: bool
    workers: int
    steps: list[Step] = field(default_factory=list, init=False)

    def call(self, query: Query | str, documents: Sequence[AnyDocument] | None) -> Result:
        """A question's result; what its stages did is kept for the metrics."""
        result = (self.system.ask if self.answer else self.system)(query, documents)
        self.steps += result.trace.steps
        return result

    def __call__(self, batch: Any) -> Any:
        return pa.Table.from_pylist(self.rows(batch.to_pylist()), schema=schema())

    def rows(self, records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Rows of results, in order."""
        self.steps = []
        return rows(self.call, records, self.workers)


@dataclass
class _Files:
    """An actor that reads a part of the input and writes its results."""

    filtering: Rows
    files: Any
    store: Any
    folder: str
    form: Form

    def __call__(self, row: Mapping[str, Any]) -> Any:
        part = FileRange(**row)
        records = [_parsed(line) for line in lines_of(self.files, part)]
        results = self.filtering.rows(records)
        reasons = zip((one["error"] for one in results), records, strict=True)
        bad = [{"reason": reason, "record": record} for reason, record in reasons if reason]
        if bad:
            _write(self.store, self.folder, f"{_name('bad', part.number)}.jsonl", _jsonl(bad))
        written = _parquet(results) if self.form == "parquet" else _jsonl(results)
        _write(self.store, self.folder, f"{_name('part', part.number)}.{self.form}", written)
        sums = {n: sum(r[n] or 0 for r in results) for n in ("tokens_before", "tokens_after")}
        counts = {"number": part.number, "questions": len(results), "failed": len(bad), **sums}
        return {**counts, "stages": json.dumps(per_stage(self.filtering.steps)), "again": 0}


def per_stage(steps: Iterable[Step]) -> dict[str, Counter[str]]:
    """Metrics of each stage by its name, summed over questions.

    ``seconds`` are those of a question's own clock: of questions at once, more than one a second.
    """
    sums: dict[str, Counter[str]] = {}
    for step in steps:
        values = step.to_dict()
        values["tokens"] = values["tokens_in"] + values["tokens_out"]
        own = sums.setdefault(step.stage.partition("(")[0], Counter())
        own.update({metric: values[metric] for metric in METRICS})
    return sums


METRICS = ("seconds", "segments_in", "segments_out", "calls", "tokens")


def _jsonl(rows: Sequence[Mapping[str, Any]]) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in rows)


def _parquet(rows: Sequence[Mapping[str, Any]]) -> bytes:
    sink = pa.BufferOutputStream()
    parquet.write_table(pa.Table.from_pylist([*rows], schema=schema()), sink)
    return bytes(sink.getvalue())


def _name(kind: str, number: int) -> str:
    return f"{kind}-{number:08d}"


def _write(store: Any, folder: str, name: str, data: bytes) -> None:
    """Write a file, as a whole or not at all; a store of objects moves them by a copy."""
    fresh = posixpath.join(folder, f".{name}")
    with store.open(fresh, "wb") as file:
        file.write(data)
    store.mv(fresh, posixpath.join(folder, name))


def _claim(store: Any, folder: str, about: str, output: str) -> None:
    """Write what a folder is made from, or see that it is the same."""
    path = posixpath.join(folder, _RUN)
    if not store.exists(path):
        _write(store, folder, _RUN, about.encode())
    elif store.cat_file(path).decode() != about:
        raise InputError(f"output {output} was made by another system or from another input")


def lines_of(files: Any, part: FileRange) -> list[Any]:
    """Records of a part: rows, or lines, of which those that lie across its ends go to one part."""
    with files.open(part.path, compression="infer") as file:
        if part.path.endswith(".parquet"):
            groups = range(part.start, part.end)
            return list(parquet.ParquetFile(file).read_row_groups([*groups]).to_pylist())
        whole = part.path.endswith(".gz")
        data = file.read() if whole else read_block(file, part.start, part.end - part.start, b"\n")
    return [line for line in data.split(b"\n") if line.strip()]


def _parsed(line: Any) -> Mapping[str, Any]:
    """A record; of a line that is none, one that fails as it does."""
    if isinstance(line, dict):
        return line
    with suppress(InputError):
        return parse_json(line)
    return {"line": line.decode("utf-8", "replace")}


def opened(place: str) -> tuple[Any, str]:
    """The file system of a path or URL, as fsspec's, and the path there: pyarrow's where it can."""
    if "://" in place:
        with suppress(pa.ArrowException, OSError):
            files, path = fs.FileSystem.from_uri(place)
            return ArrowFSWrapper(files), path
    with translated(InputError, f"{place!r} cannot be opened", ImportError, ValueError):
        return url_to_fs(place)  # type: ignore[no-any-return]
