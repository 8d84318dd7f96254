"""Tokenizers of files and of the hub, for models behind a server."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from ragsieve.errors import ModelError, needs_extra, one_line

with needs_extra("openai"):
    from huggingface_hub import hf_hub_download
    from tokenizers import Tokenizer


def tokenizer_file(tokenizer: str | Path) -> Path | str:
    """The file, or a hub id; ``""`` where it is neither."""
    path = Path(tokenizer)
    for file in (path, path / "tokenizer.json"):
        if file.is_file():
            return file
    known = re.fullmatch(r"[\w-][\w.-]*(/[\w.-]+)?", str(tokenizer)) and not path.is_dir()
    return str(tokenizer) if known and isinstance(tokenizer, str) else ""


def read_tokenizer(tokenizer: str | Path) -> Tokenizer:
    """The tokenizer of a file, a folder or a hub id; it neither pads nor truncates.

    Raises:
        ModelError: If there is none.
    """
    try:
        file = tokenizer_file(tokenizer)
        path = Path(file if isinstance(file, Path) else hf_hub_download(file, "tokenizer.json"))
        loaded = Tokenizer.from_buffer(path.read_bytes())
    except (OSError, ValueError) as error:
        reason = one_line(error, 200)
        raise ModelError(f"tokenizer {str(tokenizer)!r} cannot be loaded: {reason}") from error
    loaded.no_truncation()
    loaded.no_padding()
    return loaded


def token_counter(tokenizer: str | Path) -> Callable[[str], int]:
    """Counts a text's tokens, nothing added; see `read_tokenizer`."""
    loaded = read_tokenizer(tokenizer)
    return lambda text: len(loaded.encode(text, add_special_tokens=False).ids)
