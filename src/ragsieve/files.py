"""Files: errors that name them, permissions as the umask has them, digests of trained folders."""

import hashlib
import json
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

from ragsieve.errors import InputError, naming, one_line, translated
from ragsieve.schema import Below, T, read

MAX_BYTES = 1 << 28  # that are read of what is no regular file

_SIGNS = ("(os error ", "file write failed", "PytorchStreamWriter", "iostream error")


def read_bytes(path: Path) -> bytes:
    """The contents of a file; of a pipe or a device, which may have no end, `MAX_BYTES` at most.

    Raises:
        InputError: If it cannot be read, or has more: one line that names it.
    """
    try:
        with path.open("rb") as file:
            return bounded(file, str(path))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error


def bounded(file: BinaryIO, name: str) -> bytes:
    """All that an open file has left; see `read_bytes`."""
    with suppress(OSError, ValueError):  # what is no file of the system
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return file.read()
    content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise InputError(f"{name} must have at most {MAX_BYTES:,} bytes, as it is no regular file")
    return content


def read_toml(kind: type[T], path: Path) -> T:
    """A TOML file as ``kind``.

    Raises:
        InputError: If the file cannot be read, is no TOML, or breaks a rule as in
            `ragsieve.schema.read`; the line begins with the file's name.
    """
    import tomllib  # of few calls

    content = read_bytes(path)
    # also what is too long, too deep or not UTF-8
    with translated(InputError, f"{path} must be TOML", ValueError, RecursionError):
        values = tomllib.loads(content.decode("utf-8-sig"))
        json.dumps(values, default=str)  # dotted keys may nest deeper than any value can be shown
    with naming(path):
        return read(kind, values)


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


def replace_lines(path: Path, content: Iterable[bytes], name: str = "") -> int:
    """Other lines for a file, how many; all of them, or none where ``content`` or the disk fails.

    Args:
        path: A device or a pipe gets them one by one.
        content: The lines.
        name: What an error calls the file.

    Raises:
        InputError: If it cannot be written.
    """
    own = path.is_file() or not path.exists()
    # another start's is another
    fresh = path.with_name(f".{path.name}.{uuid4().hex[:12]}.new") if own else path
    count = 0
    try:
        with writing(name or path):
            with fresh.open("xb" if own else "wb") as file:
                for line in content:
                    file.write(line)
                    count += 1
            fresh.replace(path)
        return count
    finally:
        if own:
            fresh.unlink(missing_ok=True)


def digest(file: Path) -> str:
    """SHA-256 of a file in hexadecimal; read once a process while it stays as it is."""
    state = file.stat()
    return _digest(str(file), state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=256)
def _digest(file: str, _changed: int, _size: int) -> str:
    with Path(file).open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def sealed(settings: Path, values: Mapping[str, Any], files: Iterable[Path]) -> dict[str, Any]:
    """Settings of a trained folder with ``files``: SHA-256 of these files, and of all else in it.

    Args:
        settings: The JSON file that the values are for.
        values: JSON values.
        files: Below the same folder.
    """
    names = {file.relative_to(settings.parent).as_posix(): digest(file) for file in files}
    return {**values, "files": {**names, settings.name: _of_values(values)}}


def check_sealed(settings: Path, values: Any, names: Iterable[str] | None = None) -> None:
    """Check files of a trained folder by ``files`` of its settings; nothing where they have none.

    Args:
        settings: The JSON file with the values.
        values: What stands in it, of JSON.
        names: Of files below the folder, which may be that of the settings; all, where None.

    Raises:
        InputError: If one is another than when the folder was written.
    """
    known = values.get("files") if isinstance(values, Mapping) else None
    if not isinstance(known, Mapping):
        return
    read(dict[Below, str], known, "files")
    for name in known if names is None else names:
        own, file = name == settings.name, settings.parent / name
        if not file.is_file():
            raise InputError(f"{name} is missing, which 'files' in {settings.name} names")
        if known.get(name) != (_of_values(values) if own else digest(file)):
            why = f"its sha256 is not that of 'files' in {settings.name}"
            how = "which can be taken out if the change was wanted"
            raise InputError(f"{name} is damaged or changed: {why}, {how}")


def _of_values(values: Mapping[str, Any]) -> str:
    kept = {name: value for name, value in values.items() if name != "files"}
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()
