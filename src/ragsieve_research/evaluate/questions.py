"""The questions of a run: drawn, with noise, and written into a file."""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from ragsieve import score
from ragsieve.errors import InputError, naming
from ragsieve.files import replace_lines
from ragsieve.schema import read
from ragsieve.system import best_first
from ragsieve.text import contains_answer, visible_answers
from ragsieve.types import Example, Segment
from ragsieve_research.datasets import Dataset
from ragsieve_research.datasets.base import Lines
from ragsieve_research.datasets.parts import part_of
from ragsieve_research.evaluate.config import Config, Data
from ragsieve_research.evaluate.metrics import METRICS, failed
from ragsieve_research.evaluate.noise import FALSE, Noise, noise_share, poison
from ragsieve_research.evaluate.records import NoiseLevel

_Values = list[str | int | float | bool]


def write(
    path: Path, data: Data, noise: Noise | None, config: Config, folder: Path | None
) -> dict[str, Any]:
    """Write the questions of one data set, as the run says, into a JSONL file.

    Args:
        path: The file; replaced.
        data: Which data set.
        noise: Noise to inject into it.
        config: The run.
        folder: Where data sets lie; see `ragsieve_research.datasets.load`.

    Returns:
        Their number, checksum, origin and licence, what ranked their documents, their name in
        tables, how many have neither documents nor a source, and the share of noise in them where
        it is not the one asked for.

    Raises:
        InputError: If the data set is not found or broken, no question is left, or one's metadata
            break a rule of a metric, or name no groups.
    """
    dataset, grouped = chosen(data, noise, config, folder), grouping(data, folder)
    metrics = [one for one in METRICS.values() if config.answers or one.group != "answer"]
    digest = hashlib.sha256()
    shares: list[float] = []
    without: list[bool] = []

    def checked() -> Iterator[bytes]:
        line = b""
        for number, line in dataset.lines():
            example = dataset.parse(number, line)  # a mistake in the last line shows before a call
            with naming(f"{dataset.origin}, line {number}"):
                grouped(example)
                failed(example, metrics)
            without.append(not (example.documents or data.index or data.sources))
            shares.append(noise_share(example) if noise else 0.0)
            line = line.strip() + b"\n"
            digest.update(line)
            yield line
        if not line:
            left = f" with {noise}" if noise else ""
            raise InputError(f"no question of {data.label} is left{left}")

    count = replace_lines(path, checked())
    level = noise and NoiseLevel(noise.kind, noise.share, noise.position)
    other = noise and f"{fmean(shares):.0%}" != f"{noise.share:.0%}"
    return {
        "label": f"{data.label} ({level})" if level else data.label,
        "noise_share": fmean(shares) if other else None,
        "questions": count,
        "without_documents": sum(without),
        "sha256": digest.hexdigest(),
        "origin": dataset.origin,
        "licence": dataset.entry.licence if dataset.entry else "",
        "ranked": "BM25" if not noise and by_bm25(data, dataset) else "",
    }


def grouping(data: Data, folder: Path | None) -> Callable[[Example], dict[str, Any]]:
    """From a question to the field of its record that names its groups; empty without any.

    A list in the metadata names a group for each of its values.
    """
    entry = data.load(folder).entry
    names = (entry.groups if entry else ()) if data.groups is None else data.groups

    def grouped(example: Example) -> dict[str, Any]:
        given = {n: v for n in names if (v := example.metadata.get(n)) not in (None, "", [])}
        lists = {n: v if isinstance(v, list) else [v] for n, v in given.items()}
        named = {n: [*map(str, read(_Values, v, f"groups: {n}"))] for n, v in lists.items()}
        return {"groups": named} if named else {}

    return grouped


def by_bm25(data: Data, dataset: Dataset) -> bool:
    """Whether the run ranks the documents."""
    return data.rank == "bm25" or (data.rank is None and not dataset.ranked)


def chosen(data: Data, noise: Noise | None, config: Config, folder: Path | None) -> Dataset:
    """The data set as the run chooses from it and changes it."""
    dataset = data.load(folder)
    if data.part != "all":
        dataset = _only(dataset, lambda e: part_of(e.query.text) == data.part)
    if noise:
        dataset = noisy(dataset, noise)
    elif data.documents or by_bm25(data, dataset):
        dataset = ordered(dataset, by_bm25(data, dataset), data.documents)
    if data.only != "all":
        wanted = data.only == "answerable"
        dataset = _only(dataset, lambda e: _answerable(e) is wanted)
    limit = data.questions or config.questions
    dataset = dataset.take(limit, seed=config.seed if config.sample else None)
    return poisoned(dataset, config.seed) if data.poisoned else dataset


def noisy(dataset: Dataset, noise: Noise) -> Dataset:
    """The questions that have documents with the answer, with noise beside these."""

    def read() -> Lines:
        pool = [(n, d) for n, example in dataset.examples() for d in example.documents]
        for number, example in dataset.examples():
            others = [document for owner, document in pool if owner != number]
            if changed := noise(example, others):
                yield number, to_line(changed)

    return replace(dataset, read=read)


def ordered(dataset: Dataset, bm25: bool, most: int | None) -> Dataset:
    """The questions with their documents ranked by BM25, or as they stand; the first so many."""

    def placed(example: Example) -> Example:
        example = ranked(example) if bm25 else example
        return replace(example, documents=example.documents[:most])

    return replace(
        dataset,
        read=lambda: ((n, to_line(placed(dataset.parse(n, line)))) for n, line in dataset.lines()),
    )


def ranked(example: Example) -> Example:
    """The question with its documents by BM25, the best first."""
    segments = score.BM25()(example.query, [Segment.whole(d) for d in example.documents])
    return replace(example, documents=tuple(s.document for s in best_first(segments)))


def poisoned(dataset: Dataset, seed: int = 0) -> Dataset:
    """The questions with the false documents that the data gives for them among the others.

    A question for which it gives none stays as it is: with and without them, figures are of the
    same questions. Where it gives none for any, reading them to the end raises `InputError`.
    """

    def read() -> Lines:
        lines = changes = 0
        for number, line in dataset.lines():
            changed = poison(dataset.parse(number, line), seed)
            lines, changes = lines + 1, changes + (changed is not None)
            yield number, to_line(changed) if changed else line
        if lines and not changes:
            raise InputError(
                f"poisoned needs questions with false documents in their metadata "
                f"({' or '.join(FALSE)}), of {dataset.name} none that is asked has any"
            )

    return replace(dataset, read=read)


def to_line(example: Example) -> bytes:
    """An example as a line of JSON that `ragsieve.run.questions.parse_record` reads."""
    documents = [
        {**d.metadata, "id": d.id, "title": d.title, "text": d.text, "source": d.source}
        for d in example.documents
    ]
    record = {
        "id": example.query.id,
        "question": example.query.text,
        "answers": list(example.answers),
        "documents": documents,
        "metadata": dict(example.metadata),
    }
    return json.dumps(record).encode() + b"\n"


def _only(dataset: Dataset, wanted: Callable[[Example], bool]) -> Dataset:
    """The lines whose examples are wanted, as they are."""

    def read() -> Lines:
        return ((n, line) for n, line in dataset.lines() if wanted(dataset.parse(n, line)))

    return replace(dataset, read=read)


def _answerable(example: Example) -> bool | None:
    """Whether a document holds a gold answer; None where one cannot see that."""
    gold = visible_answers(example.answers)
    held = (contains_answer(f"{d.title}\n{d.text}", gold) for d in example.documents)
    return any(held) if gold else None
