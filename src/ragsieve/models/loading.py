"""Loading local models: quietly, and with errors of one line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from transformers.utils import logging as _logging

from ragsieve.errors import ModelError

logging: Any = _logging  # its functions have no types


def loaded(name: str, load: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """What ``load`` gives, without its bars and warnings.

    Raises:
        ModelError: If it fails; one line that names the model.
    """
    try:
        with _quiet():
            return load(*args, **options)
    except (OSError, ValueError, RuntimeError, ImportError, KeyError, TypeError) as error:
        reason = " ".join(str(error).split())[:300]
        raise ModelError(f"model {name!r} cannot be loaded: {reason}") from error


@contextmanager
def _quiet() -> Iterator[None]:
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
