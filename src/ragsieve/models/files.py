"""A model's files: a folder of this machine, or what the hub has of them."""

import importlib
import logging
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from ragsieve.errors import InputError, MissingExtra, ModelError, StoreError, needs_extra, one_line

_REACH_S, _KNOWN_S = 5.0, 60.0  # to reach the hub, and for how long that is known

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
        line = f"{name} could not be fetched from the hub: {one_line(error, 300)}"
        raise StoreError(line) from error


def log_loading(model: str) -> None:
    """Say in the log that a model's weights are read now."""
    _log.info("loading %s", model)


@contextmanager
def loading(model: str) -> Iterator[None]:
    """Turn whatever goes wrong in the block into one line that names the model.

    Raises:
        ModelError: Of anything but a missing extra, and of what was turned before.
    """
    away = ""
    try:
        with ExitStack() as stack:
            if "/" in str(model) and not Path(model).exists():
                away = stack.enter_context(_hub())
            yield
    except MissingExtra:
        raise
    except Exception as error:  # tokenizers and onnxruntime raise no class that could be named
        if isinstance(error, ModelError) and error.__cause__ is not None:
            raise
        why = f"{away}, and it is not in the cache here" if away else one_line(error, 300)
        raise ModelError(f"model {model!r} cannot be loaded: {why}") from error


@contextmanager
def _hub() -> Iterator[str]:
    """Have the hub's client go by its cache where the hub is away: it would try for a minute.

    Yields what is wrong; an empty text where the hub can be reached.
    """
    settings = importlib.import_module("huggingface_hub").constants
    now = int(time.monotonic() / _KNOWN_S)
    if settings.HF_HUB_OFFLINE or not (why := _why_away(settings.ENDPOINT, now)):
        yield "HF_HUB_OFFLINE is set" if settings.HF_HUB_OFFLINE else ""
        return
    settings.HF_HUB_OFFLINE = True
    try:
        yield f"{settings.ENDPOINT} cannot be reached ({why})"
    finally:
        settings.HF_HUB_OFFLINE = False


@lru_cache(maxsize=1)
def _why_away(url: str, _now: int) -> str:
    """Why the hub takes no connection, asked once a while; empty where it does."""
    session: Any = importlib.import_module("huggingface_hub").get_session()
    try:
        session.head(url, timeout=_REACH_S)
    except Exception as error:  # of the client's HTTP library
        return one_line(error, 100)
    return ""
