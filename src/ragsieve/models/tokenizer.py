"""Tokenizers of files and of the hub; tokens in one that is not at hand, by a WordPiece of English.

Generators cut otherwise what an English WordPiece lower-cases, takes whole or does not know:
digits go one by one, capitals in pieces, other scripts by their bytes or a known share of them.
So `familiar` counts these apart: not too few.
"""

import math
import re
from bisect import bisect_right
from collections import Counter
from functools import cache
from pathlib import Path

from tokenizers import Tokenizer

from ragsieve.errors import InputError
from ragsieve.models.files import loading, snapshot

_FILE = "tokenizer.json"
_ID = re.compile(r"[\w-][\w.-]*(/[\w.-]+)?")  # of the hub
# first and last character, and tokens of one where that is not its bytes
_ROWS = Path(__file__).with_name("scripts.tsv").read_text("utf-8").splitlines()
_SCRIPTS = [(int(a, 16), int(b, 16), float(c)) for a, b, c, _ in (r.split("\t") for r in _ROWS)]
_FIRST = [first for first, _, _ in _SCRIPTS]
_FOREIGN = re.compile("[^\x00-\u024f\u0300-\u036f\u1e00-\u1eff]+")
_DIGITS = re.compile(r"[0-9]+")
_CAPITALS = re.compile(r"[A-Z]{3,}")
_NAME = re.compile(r"[A-Z][a-z]")
_CAPITAL = 0.25  # tokens that a capital adds to its word
_SPACE = re.compile(r"\n\n?|\t|  +")
_LONG = re.compile(r"[!-~]{50}")  # a WordPiece gives up on 100


def tokenizer_file(tokenizer: str | Path) -> Path | str:
    """The file, or a hub id.

    Raises:
        InputError: If it is neither.
    """
    path = Path(tokenizer)
    for file in (path, path / _FILE):
        if file.is_file():
            return file
    if isinstance(tokenizer, Path) or path.is_dir() or not _ID.fullmatch(tokenizer):
        rule = f"a {_FILE}, a folder with one or a hub id"
        raise InputError(f"tokenizer must be {rule}, got {str(tokenizer)!r}")
    return tokenizer


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


def familiar(text: str) -> tuple[str, int]:
    """The part of a text that an English WordPiece counts well, and tokens of the rest."""
    tokens = len(_SPACE.findall(text)) + _CAPITAL * len(_NAME.findall(text))
    if not text.isascii():
        others = Counter(character for character in text if character > "\x7f")
        tokens += sum(often * _weight(character) for character, often in others.items())
        text = _FOREIGN.sub(" ", text)
    tokens += sum(map(len, _DIGITS.findall(text)))
    text = _DIGITS.sub(" ", text)
    tokens += sum(-(-len(run) // 2) for run in _CAPITALS.findall(text))
    text = _CAPITALS.sub(" ", text)
    return _LONG.sub(lambda match: match[0] + " ", text), math.ceil(tokens)


@cache
def _weight(character: str) -> float:
    """Tokens of a character that is not ASCII."""
    code = ord(character)
    place = bisect_right(_FIRST, code) - 1
    if place >= 0 and code <= _SCRIPTS[place][1]:
        return _SCRIPTS[place][2]
    return 0.0 if code < _FIRST[0] else len(character.encode("utf-8", "replace"))
