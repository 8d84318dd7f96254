"""A model's files: a folder of this machine, or what the hub has of them."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ragsieve.errors import InputError, MissingExtra, ModelError, StoreError, needs_extra, one_line

_log = logging.getLogger(__name__)


def locate(id_or_path: str | Path) -> Path | str:
    """A folder, else the hub id as it is.

    Raises:
        InputError: If a path is given that is no folder.
    """
    text = str(id_or_path)
    folder = Path(text).expanduser()
    if text and folder.is_dir():
        return folder
    if not text or isinstance(id_or_path, Path) or text[0] in "./~\\" or folder.is_absolute():
        raise InputError(f"weights must be a name, a folder or a hub id, no folder at {text!r}")
    return text


def fetched(model: str | Path, files: Iterable[str]) -> Path:
    """Find a model: its folder, or what the hub has of such files of it.

    Raises:
        InputError: As in `locate`.
        ModelError: If the hub has no such model, or cannot be reached.
        MissingExtra: If the hub's client is not installed.
    """
    place = locate(model)
    if isinstance(place, Path):
        return place
    with loading(place):
        return snapshot(place, files)


def snapshot(name: str, files: Iterable[str]) -> Path:
    """Fetch such files of ``OWNER/NAME`` or ``OWNER/NAME@REVISION`` from the hub, once.

    Raises:
        StoreError: If the hub has no such repository, or cannot be reached.
        MissingExtra: If the hub's client is not installed.
    """
    with needs_extra("openai"):
        hub = importlib.import_module("huggingface_hub")
    repo_id, _, revision = name.partition("@")
    options = {"revision": revision or None, "allow_patterns": [*files]}
    try:
        return Path(hub.snapshot_download(repo_id, **options))
    except Exception as error:  # also of the HTTP library that the hub's client uses
        raise StoreError(
            f"{name} could not be fetched from the hub: {one_line(error, 300)}"
        ) from error


def log_loading(model: str) -> None:
    """Say in the log that a model's weights are read now."""
    _log.info("loading %s", model)


@contextmanager
def loading(model: str) -> Iterator[None]:
    """Turn whatever goes wrong in the block into one line that names the model.

    Raises:
        ModelError: Of anything but a missing extra, and of what was turned before.
    """
    try:
        yield
    except MissingExtra:
        raise
    except Exception as error:  # tokenizers and onnxruntime raise no class that could be named
        if isinstance(error, ModelError) and error.__cause__ is not None:
            raise
        raise ModelError(f"model {model!r} cannot be loaded: {one_line(error, 300)}") from error
