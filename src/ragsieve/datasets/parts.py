"""Divide questions into training, validation and test by a salted hash, the same everywhere."""

from __future__ import annotations

import hashlib
from typing import Literal, get_args

from ragsieve.text import normalise

SALT = "ragsieve-finefilter-1"
RULE = (
    "the first 8 hex digits of sha256(salt, a line feed, the normalised question) as a number, "
    "modulo 100: 0 to 49 train, 50 to 59 validation, 60 to 99 test"
)
Part = Literal["train", "validation", "test"]
_ENDS: dict[Part, int] = {"train": 50, "validation": 60, "test": 100}  # of 100 places


def part_of(question: str, salt: str = SALT) -> Part:
    """Which part a question belongs to by `RULE`, whatever data set has it, however it is typed."""
    digest = hashlib.sha256(
        f"{salt}\n{normalise(question)}".encode("utf-8", "surrogatepass")
    ).hexdigest()
    place = int(digest[:8], 16) % 100
    return next(part for part in get_args(Part) if place < _ENDS[part])
