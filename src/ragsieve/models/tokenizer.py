"""Tokenizers of files and of the hub."""

from __future__ import annotations

import re
from pathlib import Path

from tokenizers import Tokenizer

from ragsieve.models.files import loading, snapshot

_FILE = "tokenizer.json"


def tokenizer_file(tokenizer: str | Path) -> Path | str:
    """The file, or a hub id; ``""`` where it is neither."""
    path = Path(tokenizer)
    for file in (path, path / _FILE):
        if file.is_file():
            return file
    known = re.fullmatch(r"[\w-][\w.-]*(/[\w.-]+)?", str(tokenizer)) and not path.is_dir()
    return str(tokenizer) if known and isinstance(tokenizer, str) else ""


def read_tokenizer(tokenizer: str | Path) -> Tokenizer:
    """The tokenizer of a file, a folder or a hub id; it neither pads nor truncates.

    Raises:
        ModelError: If there is none.
    """
    with loading(str(tokenizer)):
        file = tokenizer_file(tokenizer)
        path = file if isinstance(file, Path) else snapshot(file, [_FILE]) / _FILE
        loaded = Tokenizer.from_buffer(path.read_bytes())
    loaded.no_truncation()
    loaded.no_padding()
    return loaded
