"""Whether a text holds an answer: words and numbers in their places, however they are written.

Patterns are compiled where they are used, as those of many letters take long.
"""

import functools
import re
import unicodedata
from collections.abc import Callable, Iterable

LETTERS = r"\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0eff"  # of scripts without spaces
_UNSPACED = rf"{LETTERS}\U00020e00-\U00020eff"  # with their vowels, as `_Signs` reads them
_HANGUL = r"\uac00-\ud7a3"  # whose words end in particles
_MONEY = r"$\u00a2-\u00a5\u058f\u060b\u0e3f\u20a0-\u20c0"
_SPACELESS, _SYMBOL = f"[{_UNSPACED}]", f"[{_MONEY}]"
_DOT = rf"(?<={_SPACELESS})[\u00b7\u2022\u2027\u30fb](?={_SPACELESS})"
_POINT, _BAR, _COLON, _MINUS, _PLUS, _SHARP = "\u066b\u2044\u2236\u2212\u207a\u266f"  # as read
_READ = f"{_POINT}{_BAR}{_COLON}{_MINUS}{_PLUS}{_SHARP}{_MONEY}"
_DASHES = dict.fromkeys(map(ord, "\u058a\u05be\u2010\u2011\u2012\u2013\u2212\u301c"), "-")
_QUOTES = dict.fromkeys(map(ord, "’‘ʼʻ`´"), "'")
_RAISED = r"(?<=\d)(?=[\u00b2\u00b3\u00b9\u00bc-\u00be\u2070-\u2079\u2150-\u215e])"
_GROUPED = r"[1-9]\d{0,2}(?P<by>[ ,.'])\d{3}(?:(?P=by)\d{3})*|\d{1,2}(?:,\d\d)+,\d{3}"
_NUMBER = (
    rf"(?<!\d)(?<!\d[.,])(?:(?P<whole>{_GROUPED}|\d+)|(?<!\w)(?=[.,]\d))(?:[.,](?P<part>\d+))?"
    rf"(?![.,]?\d)(?: ?(?P<money>[{_MONEY}])(?!\d))?"
)
# what is read as what, in this order
_STEPS: list[tuple[str, str | Callable[[re.Match[str]], str]]] = [
    (r"(?<=n)'(?=t\b)", ""),  # "don't" is not Don's
    (rf"(?<![\w)\u2014])(?<!\d )-(?=[{_MONEY}]?\.?\d)", _MINUS),
    (rf"({_MINUS}?)([{_MONEY}]) ?(?={_MINUS}?\.?\d)", r" \2\1"),
    (_NUMBER, lambda match: _number(match)),
    (r"(?<=\d):(?=\d)", _COLON),
    (r"(?<![\d/])(\d{1,3})/(?=\d{1,3}(?![\d/]))", rf"\1{_BAR}"),
    (r"(?<=[^\W\d_])\+\+?(?!\w)", _PLUS),
    (r"(?<=[^\W\d_])#(?!\w)", _SHARP),
    (r"(?<![^\W_])([^\W\d_])\. ?(?=[^\W\d_]\.)", r"\1-"),  # initials
    (r"(?<=\d) ?- ?(?=\d)|(?<=\w)-[^\S\n]*\n[^\S\n]*(?=\w)", "-"),
    (rf"(?<=[^\W_])(?:[^\w\s{_READ}]|_)(?=[^\W_])", "-"),
    (rf"(?:[^\w{_READ}-]|_|(?<!\w)-|-(?!\w))+", " "),
]
_ARTICLE, _ARTICLES = r"(?<!\S)(?:an?|the) (?=\S)", r"(?:(?:an?|the)(?: |$))+"
_NAMED = r"(?<!\S)[^\w\s]*(?i:{0})(?:[^\w\s]+(?!\S)|\s*\Z)|(?<=[\w,] ){1}(?!\S)"
_GAP = "(?:[- ](?:(?:an?|the) )?)"
_WITHIN_LEFT = rf"[^\W{_UNSPACED}]{{2}}|[{_POINT}{_BAR}{_COLON}{_MINUS}]\d"
_WITHIN_RIGHT = rf"[^\W{_UNSPACED}{_HANGUL}]{{2}}|\d[{_POINT}{_BAR}{_COLON}]|\w[{_PLUS}{_SHARP}]"


def contains_answer(text: str, answers: Iterable[str]) -> bool:
    """Whether a text holds some answer: its words and numbers in their order, each a whole one.

    Case, width, ligatures, stress, points and invisible signs, all but signs within a number, and
    articles before another word do not count. An apostrophe ends a word, so that "Oslo's" and
    "l'Italie" hold the name; it and a hyphen, point or the like within a word may lack ("e-mail"),
    or be a space. Numbers are equal by value: "5 000" is "5,000", "1,50 €" is "€1.50", and neither
    1.5 nor -15 nor 1/5 holds 15. A point before three digits parts thousands. Currencies are
    compared where both have one; "%" does not count. In Chinese, Japanese, Thai and Lao an answer
    may be a part of a run of letters, a dot between names does not count, and a Korean word may go
    on. An answer that is an article ("A") occurs where none can stand: before a mark or the text's
    end, or with a capital behind a word or comma.
    """
    return any(_holds(text, answer) for answer in answers)


def _holds(text: str, answer: str) -> bool:
    if re.fullmatch("an?|the", article := _read(answer)):
        return bool(re.search(_NAMED.format(article, article.title()), text))
    read, (money, pattern) = _read(text), _pattern(answer)
    spaceless = re.search(_SPACELESS, pattern.pattern)
    for match in pattern.finditer(read):
        start, end = match.span()
        left, right = read[max(0, start - 1) : start + 1], read[end - 1 : end + 1]
        within = re.fullmatch(r"\d\d", left) if spaceless else re.fullmatch(_WITHIN_LEFT, left)
        other = money and re.match(_SYMBOL, left) and left[0] != money
        if not (within or other or re.fullmatch(_WITHIN_RIGHT, right)):
            return True
    return False


class _Signs(dict[int, str | None]):
    """What a character is read as, found once for each.

    Stress, points and invisible signs go; a sign for a vowel is a letter, which it is not to `re`.
    """

    def __missing__(self, code: int) -> str | None:
        char = chr(code)
        kind, order = unicodedata.category(char), unicodedata.combining(char)
        hidden = kind == "Cf" or 10 <= order <= 36 or order >= 220 or 0xFE00 <= code <= 0xFE0F
        vowel = 0x20000 + code if kind in ("Mn", "Mc") else code
        self[code] = None if hidden else str(unicodedata.decimal(char, chr(vowel)))
        return self[code]


_SIGNS = _Signs(_DASHES | _QUOTES)


@functools.lru_cache(maxsize=64)
def _read(text: str, dot: str = "") -> str:
    """Words, with "-" for a sign within one and single spaces between, and numbers in one form.

    ``dot`` stands for one between names in a script without spaces.
    """
    text = unicodedata.normalize("NFKC", re.sub(_RAISED, " ", text)).casefold()
    text = unicodedata.normalize("NFC", text).translate(_SIGNS)
    text = re.sub(_DOT, dot, text)
    for pattern, read in _STEPS:
        text = re.sub(pattern, read, text)
    return text.strip()


def _number(match: re.Match[str]) -> str:
    whole = re.sub(r"\D", "", match["whole"] or "0")
    part = (match["part"] or "").rstrip("0")
    return f"{match['money'] or ''}{whole}{_POINT if part else ''}{part}"


@functools.lru_cache(maxsize=1024)
def _pattern(answer: str) -> tuple[str, re.Pattern[str]]:
    """The currency of an answer, and what finds the answer in a text as read."""
    read = _read(answer, "-")
    if not re.fullmatch(_ARTICLES, read):
        read = re.sub(_ARTICLE, "", read)
    money = read[0] if re.match(_SYMBOL, read) else ""
    read = read.removeprefix(money)
    if not re.search(r"\w", read):
        return "", re.compile(r"(?!)")
    return money, re.compile("".join(map(_piece, f" {read}", read, f"{read[1:]} ")))


def _piece(before: str, char: str, after: str) -> str:
    """What a character of an answer finds, with what may stand between it and the next."""
    unit = before.isdigit() and after.isalpha()
    if char == " ":
        return f"{_GAP}?" if unit else _GAP
    if char == "-":
        return "-" if before.isdigit() and after.isdigit() else "[- ]?"
    plain = not (char.isalpha() or after.isalpha()) or re.match(_SPACELESS, char)
    if after in " -" or plain:
        return re.escape(char)
    return re.escape(char) + ("[- ]?" if char.isdigit() else "-?")
