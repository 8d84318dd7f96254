"""A data set: numbered lines of JSON from any place."""

from __future__ import annotations

import hashlib
import heapq
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from ragsieve.errors import InputError, naming
from ragsieve.run.questions import lines, parse_json, parse_record
from ragsieve.schema import Count, Schema, check_number
from ragsieve.types import Example
from ragsieve_research.datasets.layouts import Layout, check_answers

Lines = Iterator[tuple[int, bytes]]


class Hub(Schema, frozen=True, rename={"convert": "layout"}):
    """The place of a data set on the Hugging Face hub, and the layout of its rows.

    Args:
        id: Name on the hub, ``owner/name``.
        convert: From a row to a record; see `ragsieve_research.datasets.columns`.
        config: Which of its configurations; the only one where empty.
        split: Which split.
        passages: Whether its rows hold documents; without, the examples have none.
        revision: Commit that the columns were checked against; the newest where empty.
    """

    id: str
    convert: Callable[[Mapping[str, Any]], dict[str, Any]]
    config: str = ""
    split: str = "validation"
    passages: bool = True
    revision: str = ""


class Entry(Schema, frozen=True):
    """A row of the table of data sets.

    Args:
        summary: A line of description.
        licence: Its terms, as far as they are stated.
        measures: Its use for a filter.
        non_commercial: Whether the licence forbids commercial use.
        ranked: Whether the place of a document is its rank; where not, benchmarks and trainings
            rank by BM25 first.
        groups: Metadata of its questions by whose values reports have rows of their own.
        hub: Where the hub has it; None where no copy is known.
        file: Its own JSONL file, which may be ``.gz``; None where folder or hub have it.

    Raises:
        InputError: If ``file`` is text, whose meaning would depend on the current folder.
    """

    summary: str
    licence: str
    measures: str
    non_commercial: bool = False
    ranked: bool = True
    groups: tuple[str, ...] = ()
    hub: Hub | None = None
    file: Path | None = None

    def __post_init__(self) -> None:
        if isinstance(self.file, str):
            raise InputError(f"file must be a Path, as Path(__file__).with_name({self.file!r})")


@dataclass(frozen=True)
class Dataset:
    """Questions with documents, one a line of JSON; read afresh at each pass, one at a time.

    Args:
        name: Its name.
        origin: Where its lines come from, for people: a file, or an id on the hub.
        read: Opens it: numbered lines, from 1, in the schema of `ragsieve.run.questions`.
        split: Which split of it; empty where there is one.
        entry: What the table says of it; None for one's own file.
        ranked: Whether the place of a document is its rank, where no entry says so.
    """

    name: str
    origin: str
    read: Callable[[], Lines] = field(repr=False)
    split: str = ""
    entry: Entry | None = field(default=None, repr=False)
    ranked: bool = True

    @classmethod
    def from_file(cls, path: Path, *, name: str = "", entry: Entry | None = None) -> Dataset:
        """The lines of a JSONL file, which may be ``.gz``; named after it where not said."""
        stem = path.name.removesuffix(".gz").removesuffix(".jsonl")
        return cls(name or stem, str(path), lambda: lines(path), entry=entry)

    @classmethod
    def laid_out(cls, path: Path, layout: Layout) -> Dataset:
        """Records of a file or folder of another layout, as lines in ours; named after it."""

        def read() -> Lines:
            number = 0
            try:
                for number, row in layout.files(path):
                    try:
                        record = layout.record(row)
                    except (InputError, TypeError, ValueError) as error:
                        raise InputError(f"{path}, record {number}: {error}") from error
                    yield number, json.dumps(record).encode() + b"\n"
            except (KeyError, TypeError, AttributeError) as error:
                rule = f"{path} must have the layout named, behind record {number}"
                reason = "no key" if isinstance(error, KeyError) else type(error).__name__
                raise InputError(f"{rule}: {reason} {error}") from error

        return cls(path.name.partition(".")[0], str(path), read, ranked=layout.ranked)

    def __post_init__(self) -> None:
        if self.entry:
            object.__setattr__(self, "ranked", self.entry.ranked)

    def lines(self) -> Lines:
        """Numbered lines of JSON, as `ragsieve.run.questions.parse_record` reads them.

        Raises:
            InputError: If the place they come from cannot be read.
        """
        return self.read()

    def examples(self) -> Iterator[tuple[int, Example]]:
        """Examples with the numbers of their lines, from 1.

        Raises:
            InputError: If a line cannot be read or breaks the schema; names place and line.
        """
        for number, line in self.lines():
            yield number, self.parse(number, line)

    def parse(self, number: int, line: bytes) -> Example:
        """One of its lines as an example; errors as above."""
        with naming(f"{self.origin}, line {number}"):
            example = parse_record(line)
            if not (example.answers or self.entry):
                check_answers(parse_json(line))
            return example

    def __iter__(self) -> Iterator[Example]:
        return (example for _, example in self.examples())

    def count(self) -> int:
        """Count the lines; reads it once.

        Not ``len()``: ``list(dataset)`` would ask for that first and so read everything twice.
        """
        return sum(1 for _ in self.lines())

    def sha256(self) -> str:
        """Checksum of its lines in order, in hexadecimal; reads it once.

        It is that of the unpacked file where no line is blank, so that packing changes nothing.
        """
        digest = hashlib.sha256()
        for _, line in self.lines():
            digest.update(line)
        return digest.hexdigest()

    def take(self, limit: int | None, *, seed: int | None = None) -> Dataset:
        """The first lines, or a sample in the order of its draw; with their numbers either way.

        A larger sample of the same seed begins with the smaller one, so that a run can be extended.

        Args:
            limit: How many at most, at least 1; all where None.
            seed: Draws the sample; the first lines where None.

        Raises:
            InputError: If ``limit`` is less than 1.
        """
        if limit is None:
            return self
        check_number("limit", limit, Count)
        if seed is None:
            return replace(self, read=lambda: islice(self.lines(), limit))

        def draw(numbered: tuple[int, bytes]) -> bytes:
            return hashlib.sha256(f"{seed}:{numbered[0]}".encode()).digest()

        return replace(self, read=lambda: iter(heapq.nsmallest(limit, self.lines(), key=draw)))
