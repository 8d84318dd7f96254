"""Data sets of the Hugging Face hub, through its library ``datasets``; no code of theirs is run."""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from ragsieve.errors import InputError, needs_extra
from ragsieve_research.datasets.base import Dataset, Entry, Hub

with needs_extra("hub"):
    import datasets


def load(name: str, hub: Hub, entry: Entry | None = None) -> Dataset:
    """A data set of the hub; fetched at the first pass, then taken from the library's cache.

    Args:
        name: What to call it.
        hub: Where it is and what its columns mean.
        entry: What the table says of it.
    """
    origin = f"{hub.id} ({hub.config}) on the hub" if hub.config else f"{hub.id} on the hub"
    return Dataset(name, origin, lambda: records(_table(hub), hub, name), hub.split, entry)


def records(table: Iterable[Mapping[str, Any]], hub: Hub, name: str) -> Iterator[tuple[int, bytes]]:
    """Numbered lines of JSON in our schema, from 1, of a table with the hub's columns.

    Raises:
        InputError: If a row has other columns than those expected.
    """
    for number, row in enumerate(table, 1):
        try:
            record = hub.convert(row)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(
                f"row {number} of {hub.id} must have the columns that ragsieve expects, "
                f"got {sorted(row)!r:.200}: {error!r:.80}"
            ) from error
        record["id"] = record["id"] or f"{name}-{number}"
        record["metadata"] = {"dataset": name, **record["metadata"]}
        yield number, json.dumps(record, ensure_ascii=False).encode() + b"\n"


@lru_cache(maxsize=4)
def _table(hub: Hub) -> Iterable[Mapping[str, Any]]:
    try:
        table: Iterable[Mapping[str, Any]] = datasets.load_dataset(
            hub.id, hub.config or None, split=hub.split, revision=hub.revision or None
        )
    except (OSError, ValueError, RuntimeError, datasets.exceptions.DatasetsError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise InputError(
            f"{hub.id} must be on the hub and within reach, or its file in a folder named by "
            f"RAGSIEVE_DATA: {reason:.200}"
        ) from error
    return table
