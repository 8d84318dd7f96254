"""Words of comparison and denial, and of what no single row settles: `words.tsv`."""

import csv
import re
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from ragsieve.structure.values import SIGNS, Moment, Number

WHOLE = ("whole", "highest", "lowest", "most", "least")
"""Relations of what no single row settles; all but the first are an end of a column."""


class Words(NamedTuple):
    """A row of `words.tsv`."""

    language: str
    relation: str
    place: str
    phrase: str
    example: str


@cache
def table() -> tuple[Words, ...]:
    """Words of comparison and denial, and of what no single row settles."""
    lines = files(__package__).joinpath("words.tsv").read_text("utf-8").splitlines()
    return tuple(Words(*row) for row in csv.reader(lines[1:], delimiter="\t"))


@cache
def pattern(code: str, *relations: str, place: str = "before") -> re.Pattern[str]:
    """What finds words of relations, those of English and of one more language."""
    known = (w for w in table() if w.language in ("en", code) and w.place == place)
    phrases = [w.phrase for w in known if w.relation in relations]
    ranked = sorted(phrases, key=len, reverse=True)
    begins = {p: r"(?<!\w)" * (p[0].isalnum() and p[:2] != "n'") for p in ranked}
    ends = {p: r"(?!\w)" * p[-1].isalnum() for p in ranked}
    bounded = (f"{begins[p]}{re.escape(p)}{ends[p]}".replace("'", "['’]") for p in ranked)
    return re.compile("|".join(bounded) or r"(?!)", re.IGNORECASE)


def sign(phrase: str, place: str, value: Number | Moment) -> str:
    """The sign that a phrase means before or after a number or, where it differs, a date."""
    places = ("date", place) if isinstance(value, Moment) else (place,)
    found = (w for own in places for w in table() if (w.phrase, w.place) == (phrase.lower(), own))
    return next((w.relation for w in found if w.relation in SIGNS), "")


def stems(name: str) -> set[str]:
    """Words of a name, without the s of many."""
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    words = re.findall(r"[^\W\d_]{2,}", parted.lower())
    return {w if len(w) < 4 else w.removesuffix("s") for w in words}


def idle(key: str, asked: set[str]) -> bool:
    """Whether it is a word that any question may have, given the others."""
    return " " not in key and key.isalpha() and key not in asked
