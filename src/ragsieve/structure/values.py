"""Numbers with units, dates and times, in the forms that cells and questions have them."""

import math
import operator
import re
from datetime import datetime, timedelta
from typing import NamedTuple

_MONTHS = """
January February March April May June July August September October November December
Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec
Januar Februar März April Mai Juni Juli August September Oktober November Dezember
enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre
janvier février mars avril mai juin juillet août septembre octobre novembre décembre
"""
_MONTH = {
    name: n % 12 + 1 for line in _MONTHS.strip().split("\n") for n, name in enumerate(line.split())
}
_NAMES = "(?:" + "|".join(sorted(_MONTH, key=len, reverse=True)) + r")\b\.?"
MOMENT = re.compile(
    r"(?<![\w.])(?:(?:(?P<y>\d{4})(?P<mark>[-/])(?P<m>\d\d?)(?P=mark)(?P<d>\d\d?)(?!\d)"
    r"|(?P<a>\d\d?)(?P<sign>[./])(?P<b>\d\d?)(?P=sign)(?P<z>\d{4}|\d\d)(?![\d.]\d)"
    rf"|(?P<e>\d\d?)(?:st|nd|rd|th|\.)?[ /-](?:of |de )?(?P<n>{_NAMES})"
    r"(?:(?:,? (?:de )?|[/-])(?P<w>\d{4})(?!\d))?"
    rf"|(?P<o>{_NAMES})[ ]{{1,2}}(?P<f>\d\d?)(?:st|nd|rd|th)?(?![\d:])"
    r"(?:,? (?P<x>\d{4})(?![\d:]))?"
    rf"|(?P<q>{_NAMES})(?:,? (?:of |de )?(?P<r>\d{{4}})(?!\d))?"
    r"|(?P<u>\d{4})-(?P<s>0[1-9]|1[012])(?![\d-]))"
    r"(?:(?:[T:,]|,?[ ])(?=\d\d?:\d\d))?)?"
    r"(?:(?<![\d.])(?P<h>\d\d?):(?P<i>\d\d)(?!\d)(?::(?P<c>\d\d(?:[.,]\d{1,9})?)(?!\d))?(?!:)"
    r"(?:[ ]?(?P<p>[AaPp])\.?[Mm]\b)?"
    r"(?:[ ](?P<v>\d{4})(?!\d))?(?:[ ]?(?P<zone>Z\b|UTC\b|GMT\b|[+-]\d\d:?\d\d\b))?)?"
)
_NUMBER = re.compile(
    r"(?P<sign>[-+−]?)(?P<before>[$€£¥]?)[ ]?(?P<digits>\d[\d.,'’\u00a0]*)"
    r"[ ]?(?P<unit>[%$€£¥°]?[^\W\d_]{0,14})"
)
_UNITS = {  # kind: its units, each so many of the first
    "time": "s sec secs second seconds Sekunden=1 ms msec millisecond milliseconds=.001 us µs=1e-6 "
    "min mins minute minutes Minuten=60 h hr hrs hour hours Stunden=3600 d day days Tage=86400 "
    "week weeks Wochen=604800",
    "bytes": "B byte bytes=1 KB kB K KiB=1024 MB M MiB=1048576 GB G GiB=1073741824 "
    "TB T TiB=1099511627776",
    "share": "% percent Prozent pct=1",
    "money": "€ EUR euro euros $ USD dollar dollars £ GBP pounds ¥ CHF=1",
    "length": "m metre metres meter meters=1 mm=.001 cm=.01 km=1000 ft=.3048 mi mile miles=1609.34",
    "weight": "kg=1 g=.001 mg=1e-6 t=1000 lb lbs=.4536",
    "heat": "°C °F °=1",
}
_UNIT = {
    name: (kind, float(factor))
    for kind, line in _UNITS.items()
    for names, factor in re.findall(r"([^=]+)=(\S+)\s?", line)
    for name in names.split()
}
_SHORT = {"min", "B", "K", "M", "G", "T", "s", "d", "h", "m", "g", "t", "mi"}  # words, too
_GROUPS = re.compile(r"\d{1,3}(?:([.,'’\u00a0])\d{3})(?:\1\d{3})*")


class Number(NamedTuple):
    """A number as it is written, its unit's kind, and how many of the first unit it is."""

    raw: float
    kind: str = ""
    scaled: float = 0.0


class Moment(NamedTuple):
    """A day, month, minute …: from its beginning to its end, both by the clock on the wall.

    Args:
        start: First instant.
        end: One past its last.
        zone: Minutes east of UTC, where it says so.
        form: ``date``, ``time`` without a day, or ``day`` without a year.
    """

    start: datetime
    end: datetime
    zone: int | None = None
    form: str = "date"


def unit_of(name: str) -> str:
    """The unit that the name of a column has, ``size_mb`` or ``Use%``; empty where none."""
    words = re.findall(r"[^\W\d_]+|[%€$£¥°]", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name))
    found = [w for w in words if unit(w) and w not in _SHORT]
    return found[-1] if found else ""


def unit(word: str) -> str:
    """The unit that a word is, as it is known here; empty where none."""
    return next((one for one in (word, word.lower(), word.upper()) if one in _UNIT), "")


def number(text: str, *, comma: bool = False, unit_: str = "") -> Number | None:
    """The number that a text is, with its unit.

    Args:
        text: A cell, or what stands in a question.
        comma: Whether a comma parts decimals where it could part thousands.
        unit_: Its unit where it has none.
    """
    match = _NUMBER.fullmatch(text.strip())
    if not match or ((name := match["unit"] or match["before"]) and not unit(name)):
        return None
    digits = match["digits"].rstrip(".,'’")
    raw = float(_plain(digits, comma)) * (-1 if match["sign"] in ("-", "−") else 1)
    kind, factor = _UNIT.get(unit(name or unit_), ("", 1.0))
    return Number(raw, kind, raw * factor)


def _plain(digits: str, comma: bool) -> str:
    """Digits with a point before decimals."""
    last = max(digits.rfind("."), digits.rfind(","))
    point = digits[last] if last >= 0 else ""
    groups = _GROUPS.fullmatch(digits)
    if groups and (groups[1] != point or len(digits) > 7 or groups[1] == (".,"[not comma])):
        point = ""
    whole, _, rest = digits.rpartition(point) if point else (digits, "", "")
    if whole.count(point) and point:
        whole, rest = whole + rest, ""
    return re.sub(r"\D", "", whole) + ("." + rest if rest else "") or "0"


def moments(text: str) -> list[tuple[int, int, Moment]]:
    """Dates and times in a text, with their places."""
    found = ((m, _moment(m, american=False)) for m in MOMENT.finditer(text) if m[0])
    return [(*m.span(), one) for m, one in found if one]


def moment(text: str, *, american: bool = False) -> Moment | None:
    """The date or time that a text is; with the month before the day where ``american``."""
    match = MOMENT.fullmatch(re.sub(r"^[A-Z][a-z]{2},? (?=[A-Z\d])", "", text.strip(" []")))
    return _moment(match, american=american) if match and match[0] else None


def _moment(match: re.Match[str], *, american: bool) -> Moment | None:
    one = match.groupdict()
    year = one["y"] or one["z"] or one["w"] or one["x"] or one["r"] or one["u"] or one["v"]
    months = (one["m"], one["a"] if american else one["b"], one["s"])
    name = one["n"] or one["o"] or one["q"]
    month = _MONTH[name.rstrip(".")] if name else int(next(filter(None, months), 0))
    day = one["d"] or (one["b"] if american else one["a"]) or one["e"] or one["f"]
    hour = one["h"]
    try:
        full = int(year) + 2000 * (len(year) == 2) if year else 1904
        start = datetime(full, month or 1, int(day or 1))
        if hour:
            noon = 12 * ((one["p"] or "").lower() == "p")
            hours = int(hour) % 12 + noon if one["p"] else int(hour)
            start += timedelta(hours=hours, minutes=int(one["i"]))
            start += timedelta(seconds=float((one["c"] or "0").replace(",", ".")))
    except (ValueError, OverflowError):
        return None
    if hour:
        length = timedelta(microseconds=1) if one["c"] else timedelta(minutes=1)
    else:
        month_after = (start.replace(day=28) + timedelta(days=4)).replace(day=1)
        length = timedelta(days=1) if day else month_after - start
    form = "date" if year else "day" if month else "time"
    return Moment(start, start + length, _zone(one["zone"]), form)


def _zone(name: str | None) -> int | None:
    if not name or name in ("Z", "UTC", "GMT"):
        return 0 if name else None
    hours, minutes = int(name[1:3]), int(name[-2:])
    return (hours * 60 + minutes) * (-1 if name[0] == "-" else 1)


def year(value: float) -> Moment | None:
    """The year that a number is."""
    if value != int(value) or not 1500 <= value < 2200:
        return None
    return Moment(datetime(int(value), 1, 1), datetime(int(value) + 1, 1, 1))


def hour(value: float, *, later: bool) -> Moment | None:
    """An hour of a clock, in the second half of a day where it is ``later``."""
    if value != int(value) or not 0 <= value <= 24:
        return None
    start = datetime(1904, 1, 1) + timedelta(hours=value + 12 * (later and 0 < value < 12))
    return Moment(start, start + timedelta(minutes=1), None, "time")


def alike(one: Moment, other: Moment) -> tuple[Moment, Moment] | None:
    """Two moments on one clock, without what one of them lacks; None where they cannot be."""
    if one.zone is not None and other.zone is not None and one.zone != other.zone:
        by = timedelta(minutes=one.zone - other.zone)
        one = one._replace(start=one.start - by, end=one.end - by)
    forms = {one.form, other.form}
    if forms == {"time"} or forms == {"date"}:
        return one, other
    if "time" in forms:
        if max(one.end - one.start, other.end - other.start) > timedelta(minutes=1):
            return None
        return _moved(one, 1, 1), _moved(other, 1, 1)
    return _moved(one), _moved(other)


def _moved(one: Moment, month: int = 0, day: int = 0) -> Moment:
    """The same in the year 1904, or on one day of it."""
    start = one.start.replace(year=1904, month=month or one.start.month, day=day or one.start.day)
    return one._replace(start=start, end=start + (one.end - one.start))


SIGNS = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}


def holds(cell: Number | Moment | None, sign: str, asked: Number | Moment) -> bool:
    """Whether a cell is in a relation, one of `SIGNS` or ``=``, to what is asked."""
    if isinstance(cell, Moment) and isinstance(asked, Moment):
        return _when(cell, sign, asked)
    if not (isinstance(cell, Number) and isinstance(asked, Number)):
        return False
    a, b = (cell.scaled, asked.scaled) if cell.kind == asked.kind != "" else (cell.raw, asked.raw)
    return math.isclose(a, b) if sign == "=" else SIGNS[sign](a, b)


def _when(cell: Moment, sign: str, asked: Moment) -> bool:
    if not (both := alike(cell, asked)):
        return False
    one, other = both
    if sign == "=":
        return other.start <= one.start < other.end
    after = one.start >= (other.end if sign in (">", "<=") else other.start)
    return after == (sign[0] == ">")
