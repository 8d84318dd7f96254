"""Data sets: examples by name or from your own file.

A new data set is an entry of ``table.toml`` and, where the hub has it, a function in
`ragsieve_research.datasets.columns`. Another package adds one by an entry point of the group
``ragsieve.datasets``: its name is the data set's, and it names an `Entry`.
"""

import os
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from ragsieve.errors import InputError, MissingExtra, check_choice, nearest
from ragsieve.registry import Registry
from ragsieve.schema import read
from ragsieve_research.datasets import columns
from ragsieve_research.datasets.base import Dataset, Entry, Hub
from ragsieve_research.datasets.layouts import layout_of

__all__ = ["DATASETS", "GROUP", "Dataset", "Entry", "Hub", "Place", "load"]

Place = Literal["auto", "folder", "hub"]

GROUP = "ragsieve.datasets"
"""Group of the entry points by which other packages add data sets."""

_FOLDER = Path(__file__).parent


DATASETS = Registry("data set", GROUP, Entry, names=r"[\w.-]+")
"""Every data set by its name: those of ragsieve first, then those of other packages."""


def entry_of(name: str, values: dict[str, Any]) -> Entry:
    if "file" in values:
        values["file"] = _FOLDER / values["file"]
    if layout := values.get("hub", {}).get("layout"):
        values["hub"]["layout"] = getattr(columns, layout, layout)
    return read(Entry, values, f"table.toml: {name}")


for _name, _values in tomllib.loads((_FOLDER / "table.toml").read_text(encoding="utf-8")).items():
    DATASETS.register(_name, entry_of(_name, _values))


def load(
    name: str | Path,
    *,
    folder: str | Path | None = None,
    place: Place = "auto",
    layout: str = "",
    fields: Sequence[str] = (),
) -> Dataset:
    """A data set by its name, or your own file.

    An entry's own file comes first. A folder holds ``NAME.jsonl`` or ``NAME.jsonl.gz``, in the
    schema of `ragsieve.run.questions.parse_record`. By ``"auto"`` a named folder is the only
    place; where none is named, the folder in the environment variable RAGSIEVE_DATA comes first,
    the hub next.

    Args:
        name: A name of `DATASETS` (``"sample"`` is bundled), or the path of a JSONL file, which
            may be ``.gz``.
        folder: Where the files lie; RAGSIEVE_DATA where None.
        place: ``"auto"``, ``"folder"`` or ``"hub"``: where to look for a name.
        layout: Of one's own file or folder; see `ragsieve_research.datasets.layouts.LAYOUTS`.
        fields: Keys that it has something under, as ``documents=passages``.

    Raises:
        InputError: If there is no such name or file; it says where was looked.
        MissingExtra: If ``place`` is ``"hub"`` and its library is not installed.
    """
    check_choice(Place, place=place)
    path, entry = Path(name), DATASETS.get(str(name))
    layout = layout or "ragsieve" * (path.suffix == ".json")  # one array, not lines
    if path.is_dir() and layout not in ("beir", "mirage") and not entry:
        raise InputError(f"{name} is a folder: layout beir or mirage reads one")
    if chosen := layout_of(layout, fields):
        return Dataset.laid_out(path, chosen)
    if entry and entry.file:
        return Dataset.from_file(entry.file, name=str(name), entry=entry)
    if entry:
        return _named(str(name), entry, folder, place)
    if path.exists():  # a pipe is as good as a file
        return Dataset.from_file(path)
    if path.suffix in (".jsonl", ".gz"):
        raise InputError(f"no file {str(name)!r} is there: paths count from the current folder")
    raise InputError(
        f"a data set must be a JSONL file or one of {', '.join(DATASETS)}, got {str(name)!r}"
        f"{nearest(str(name), DATASETS)}"
    )


def _named(name: str, entry: Entry, folder: str | Path | None, place: Place) -> Dataset:
    looked = []
    if place != "hub":
        where = os.environ.get("RAGSIEVE_DATA") if folder is None else folder
        for path in [Path(where, f"{name}{end}") for end in (".jsonl", ".jsonl.gz") if where]:
            if path.is_file():
                return Dataset.from_file(path, name=name, entry=entry)
        looked.append(f"{where} has no {name}.jsonl[.gz]" if where else "no folder was named")
    if place == "hub" or (place == "auto" and folder is None):
        try:
            return _on_hub(name, entry)
        except InputError as error:
            looked.append(str(error))
        except MissingExtra as error:
            if place == "hub":
                raise
            looked.append(str(error))
    raise InputError(
        f"data set {name} must be in a folder or on the hub ({'; '.join(looked)}): "
        f"put {name}.jsonl into a folder, and name that by folder or RAGSIEVE_DATA"
    )


def _on_hub(name: str, entry: Entry) -> Dataset:
    if entry.hub is None:
        raise InputError(f"no copy of {name} on the hub is known")
    from ragsieve_research.datasets import hub

    return hub.load(name, entry.hub, entry)
