"""Entities of a question: people, works, places, dates, tickers, with their spans."""

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Protocol

from ragsieve.text import safe, words

NAMES = frozenset({"person", "organisation", "place", "work", "event", "product", "group", "name"})
MAX_CHARS = 2000  # of a question are read

_MONTHS = words(
    "january february march april may june july august september october november december"
)
_MONTH = rf"(?P<month>{'|'.join([*_MONTHS, 'sept', *(m[:3] for m in _MONTHS if m != 'may')])})\b\.?"
_DAY, _YEAR = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?", r"(?P<year>1\d{3}|20\d\d)"
_DATES = [
    re.compile(rf"(?<![\w$.,-]){pattern}(?![\w-]|[.,]\d)", re.I)
    for pattern in (
        r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)",
        r"(?P<year>\d{4})-(?P<month>\d\d)",
        rf"{_MONTH} {_DAY},? {_YEAR}",
        rf"{_DAY} (?:of )?{_MONTH},? {_YEAR}",
        rf"{_MONTH},? (?:of )?{_YEAR}",
        _YEAR,
    )
]
_TICKERS = (
    re.compile(r"(?<![\w$])\$([A-Za-z]{1,5}(?:\.[A-Za-z])?)(?!\w)"),
    re.compile(r"\((?:[A-Z]{2,8}: ?)?([A-Z]{1,5}(?:\.[A-Z])?)\)"),
)
_QUOTED = re.compile(
    r"[\"“”]([^\"“”\n]{1,100})[\"“”]|‘([^\n]{1,100}?)’(?!\w)|(?<!\w)'([^\n]{1,100}?)'(?!\w)"
)
_TOKEN = re.compile(r"[^\s\"“”()\[\]]+")
_ENDING = re.compile(r"[?,!;:]\Z|\w{3}\.\Z|['’]s\Z|s['’]\Z")  # behind it no name goes on
JOINTS = frozenset([*words("of the de da di du van von der la le del el al"), "&"])
_COMMON = frozenset(
    words(
        "a about after all also am an and any are as at been before both but by can could did "
        "do does during each every few first for former from give had has have he her his how "
        "i if in into is it its last list many me more most much my name next no not now of "
        "on one or other our out over per said she should since so some tell than that the "
        "their them then there these they this those through to today two under until up us "
        "was we were what when where whether which while who whom whose why will with would "
        "you your"
    )
)
_WEEKDAYS = words("monday tuesday wednesday thursday friday saturday sunday")
_DAYS = {"today": 0, "tonight": 0, "yesterday": -1, "tomorrow": 1}
_WHEN = frozenset([*_MONTHS, *_WEEKDAYS, *_DAYS])
_RELATIVE = re.compile(
    rf"\b(?:(?P<day>{'|'.join(_DAYS)})"
    rf"|(?P<which>last|past|this|next) (?P<unit>year|month|{'|'.join(_WEEKDAYS)})"
    r"|(?P<count>\d{1,3}) (?P<units>day|week|month|year)s? ago)\b",
    re.IGNORECASE,
)
_LENGTHS = {"date": 10, "month": 7, "year": 4}  # of a date by ISO 8601


@dataclass(frozen=True)
class Entity:
    """A thing that a question names.

    Args:
        text: The name as the question has it; ``2024-03-09``, ``2024-03`` or ``2024`` for dates,
            capitals for tickers.
        kind: One of `NAMES`, where ``name`` is a name of unknown kind; or ``date`` (a day),
            ``month``, ``year`` or ``ticker``.
        start: Where it begins in the question, from 0.
        end: One past its last character.
    """

    text: str
    kind: str
    start: int
    end: int


class Entities(Protocol):
    """Finds what a question names."""

    def __call__(self, text: str, /) -> list[Entity]:
        """The entities of ``text`` in its order; none lies in another."""


@dataclass(frozen=True)
class Rules:
    """Entities by rules alone: quotation marks, runs of capitalised words, dates, tickers.

    No model: names are of kind ``name``, and names written small are not found. Dates are those
    with a year, in figures (year first) or with an English month; tickers are ``$ABC``, ``(ABC)``
    and ``(NYSE: ABC)``.
    """

    def __call__(self, text: str, /) -> list[Entity]:
        text = safe(text[:MAX_CHARS])
        return apart([*marked(text), *runs(text)], titles(text))


def marked(text: str) -> list[Entity]:
    """Dates and tickers."""
    matches = (match for pattern in _TICKERS for match in pattern.finditer(text))
    tickers = (Entity(m[1].upper(), "ticker", m.start(), m.end()) for m in matches)
    return [*tickers, *_dates(text)]


def query_date(time: str) -> date | None:
    """The day of a question's ``time``: ISO 8601, or as in ``03/13/2024, 09:30:59 PT``."""
    for form in ("%Y-%m-%d", "%m/%d/%Y"):
        with suppress(ValueError):
            return datetime.strptime(time.strip()[:10], form).date()
    return None


def relative_dates(text: str, today: date) -> list[Entity]:
    """Dates that count from ``today``: ``yesterday``, ``last month``, ``2 years ago``."""
    entities = []
    for match in _RELATIVE.finditer(text):
        with suppress(ValueError, OverflowError):  # before the year 1
            kind, when = _counted(match, today)
            entities.append(Entity(when.isoformat()[: _LENGTHS[kind]], kind, *match.span()))
    return entities


def _counted(match: re.Match[str], today: date) -> tuple[str, date]:
    day, which, unit, count, units = (part and part.lower() for part in match.groups())
    if day:
        return "date", today + timedelta(_DAYS[day])
    sign = {"last": -1, "past": -1, "next": 1}.get(which, 0)
    if unit in _WEEKDAYS:
        ahead = (_WEEKDAYS.index(unit) - today.weekday()) % 7
        return "date", today + timedelta(ahead - 7 if sign < 0 else ahead or 7 * sign)
    steps = -int(count) if count else sign
    unit = unit or units
    if unit in ("day", "week"):
        return "date", today + timedelta(steps * (7 if unit == "week" else 1))
    if unit == "year":
        return "year", date(today.year + steps, 1, 1)
    months = today.year * 12 + today.month - 1 + steps
    return "month", date(months // 12, months % 12 + 1, 1)


def is_common(word: str) -> bool:
    """Whether a word in small letters is by itself no name: a function word, a day, a month."""
    return word in _COMMON | _WHEN


def titles(text: str) -> list[Entity]:
    """Quoted strings."""
    return [
        Entity(match[match.lastindex or 0].strip(" ,.?"), "work", match.start(), match.end())
        for match in _QUOTED.finditer(text)
    ]


def runs(text: str) -> list[Entity]:
    """Runs of capitalised words, with small words between them and figures behind them."""
    tokens: list[list[re.Match[str]]] = [[]]
    for token in _TOKEN.finditer(text):
        word = token.group().strip("'‘*_-") or "-"
        run = tokens[-1]
        if run and not text[run[-1].end() : token.start()].isspace():  # a bracket, a quotation mark
            tokens.append(run := [])
        goes_on = bool(run) and (word in JOINTS or word.rstrip("?.,!;:").isdigit())
        if is_name := word[:1].isupper() or goes_on:
            run.append(token)
        if not is_name or _ENDING.search(word):
            tokens.append([])
    return [entity for entity in (_run(text, run) for run in tokens) if entity]


def apart(entities: Iterable[Entity], sure: Iterable[Entity] = ()) -> list[Entity]:
    """Entities in order: ``sure``, and of those beside them the longest, of equals the first."""
    kept = [entity for entity in sure if entity.text]
    for entity in sorted(entities, key=lambda e: e.start - e.end):
        if entity.text and all(entity.end <= k.start or k.end <= entity.start for k in kept):
            kept.append(entity)
    return sorted(kept, key=lambda e: e.start)


def trimmed(text: str, start: int, end: int, kind: str) -> Entity | None:
    """The entity ``text[start:end]`` without articles, question words and a possessive ending."""
    while opening := re.match(r"\W*(\w+)\W+", text[start:end]):
        if opening.group(1).lower() not in _COMMON:
            break
        start += opening.end()
    named = re.sub(r"(?:['’]s|['’]|-(?:era|style|led|based|born)|\W)+\Z", "", text[start:end])
    named = named.lstrip(" \"'“‘([")
    start = text.find(named, start)
    if not named or is_common(named.lower()):
        return None
    return Entity(named, kind, start, start + len(named))


def _run(text: str, run: list[re.Match[str]]) -> Entity | None:
    while run and run[-1].group() in JOINTS:
        run = run[:-1]
    while run and (run[0].group().strip(".’'").lower() in _COMMON or run[0].group().isdigit()):
        run = run[1:]
    return trimmed(text, run[0].start(), run[-1].end(), "name") if run else None


def _dates(text: str) -> Iterable[Entity]:
    for pattern in _DATES:
        for match in pattern.finditer(text):
            parts = match.groupdict()
            month, day = parts.get("month"), parts.get("day")
            number = 1 if month is None else _month(month)
            try:
                when = date(int(parts["year"]), number, int(day or 1)).isoformat()
            except ValueError:  # no such day
                continue
            kind = "date" if day else "month" if month else "year"
            yield Entity(when[: _LENGTHS[kind]], kind, match.start(), match.end())


def _month(word: str) -> int:
    if word.isdigit():
        return int(word)
    return [month.startswith(word.lower()[:3]) for month in _MONTHS].index(True) + 1
