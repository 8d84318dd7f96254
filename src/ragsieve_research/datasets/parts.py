"""Divide questions into training, validation and test by a salted hash, the same everywhere."""

import hashlib
import re
import string
import unicodedata
from typing import Literal, get_args

SALT = "ragsieve-finefilter-1"
RULE = (
    "the first 8 hex digits of sha256(salt, a line feed, the normalised question) as a number, "
    "modulo 100: 0 to 49 train, 50 to 59 validation, 60 to 99 test"
)
Part = Literal["train", "validation", "test"]
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ENDS: dict[Part, int] = {"train": 50, "validation": 60, "test": 100}  # of 100 places


def part_of(question: str) -> Part:
    """The part of a question by `RULE`, whatever data set has it, however it is typed."""
    place = place_of(question, SALT, 100)
    return next(part for part in get_args(Part) if place < _ENDS[part])


def place_of(question: str, salt: str, places: int) -> int:
    """One of so many places, by a salted hash of the question, normalised as SQuAD does it.

    Not by `ragsieve.text.normalise`: a change there must not move questions to another part.
    """
    plain = unicodedata.normalize("NFKC", question).lower().translate(_PUNCTUATION)
    plain = " ".join(re.sub(r"\b(a|an|the)\b", " ", plain).split())
    text = f"{salt}\n{plain}".encode("utf-8", "surrogatepass")
    return int(hashlib.sha256(text).hexdigest()[:8], 16) % places
