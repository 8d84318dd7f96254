"""Files: an error that names the file, and permissions as the user's umask has them."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from ragsieve.errors import InputError, one_line

_SIGNS = ("(os error ", "file write failed", "PytorchStreamWriter", "iostream error")


def read_bytes(path: Path) -> bytes:
    """The contents of a file.

    Raises:
        InputError: If it cannot be read: one line that names it.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error


def standard_input() -> BinaryIO:
    """The bytes of standard input.

    Raises:
        InputError: If it is closed.
    """
    if sys.stdin is None:
        raise InputError("standard input cannot be read: it is closed")
    return sys.stdin.buffer


def is_passed() -> bool:
    """Whether standard input is a pipe or a file: no terminal, not closed, and no ``/dev/null``."""
    if sys.stdin is None:
        return False
    try:
        return not stat.S_ISCHR(os.fstat(sys.stdin.fileno()).st_mode)
    except (OSError, ValueError):  # it is no file of the system
        return not sys.stdin.isatty()


@contextmanager
def writing(what: object) -> Iterator[None]:
    """Raise one line that names ``what`` where a write in the block fails, as on a full disk.

    Also where a library that writes weights hides the system's error in one of its own.

    Raises:
        InputError: If a write fails.
    """
    try:
        yield
    except OSError as error:
        raise InputError(f"{what} cannot be written: {error.strerror or error}") from error
    except Exception as error:
        text = one_line(error)
        if isinstance(error, InputError) or not any(sign in text for sign in _SIGNS):
            raise
        raise InputError(f"{what} cannot be written: {text[:200]}") from error


def ordinary(folder: Path) -> None:
    """Give all files in a folder the permissions of a new file: safetensors writes 0600."""
    probe = folder / f".{uuid4().hex[:12]}.new"
    probe.touch(exist_ok=False)
    mode = probe.stat().st_mode & 0o777
    probe.unlink()
    for file in folder.rglob("*"):
        if file.is_file() and not file.is_symlink():
            file.chmod(mode)
