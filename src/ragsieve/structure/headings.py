"""Headings, marked or plain, and labels: what leads to a place of a text, and joins kept spans.

What begins paragraphs alike heads them, too: a colon ends it, or it stands in a frame of signs. A
label is what begins a line as it begins others of the text, a number, a time or words in marks.
What is kept of such a line stands behind it.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from operator import itemgetter
from typing import NamedTuple
from unicodedata import category, name

from ragsieve.structure.columns import form
from ragsieve.types import Span

_CHAPTERS = "Chapter|Part|Title|Book|Kapitel|Teil|Chapitre|Titre|Capítulo|Título|Capitolo|Глава"
_ARTICLES = (
    "Article|Section|Clause|Rule|Annex|Schedule|Appendix|Artikel|Abschnitt|Anlage|Artículo"
    "|Cláusula|Artigo|Articolo|Статья|Раздел"
)
_EAST = r"第[ ]?[\d〇一二三四五六七八九十百]{1,6}[ ]?[章条條]\b[^\n。]{0,40}"
_HEADING = re.compile(
    r"(?!\n)(?:^[ \t]*(?P<fence>`{3,}|~{3,})(?s:.*?)(?:^[ \t]*(?P=fence)[`~]*[ \t]*$|\Z)"
    r"|<!--(?s:.*?)(?:-->|\Z)"
    r"|^(?P<signs>#{1,6})[ \t].*"
    r"|^[^\s>|#=+*-][^\n]{0,99}\n {0,3}(?P<rule>=+|-{3,})[ \t]*$"
    r"|^(?P<bold>\*\*|__)(?=\w)[^\n*_]{1,80}(?<![.!?,;])(?P=bold):?[ \t]*$"
    r"|^(?P<equals>={2,6})(?![=>])[^\n=]{2,99}(?P<closed>(?P=equals))?[ \t\r]*$"
    r"|^[ \t]*\\(?P<subs>(?:sub)*)section\*?\{(?:[^{}\n]|\{[^{}\n]{0,99}\}){1,200}\}"
    rf"|^[ \t]*(?P<article>(?:(?:(?P<chapter>(?i:{_CHAPTERS}))|(?i:{_ARTICLES})|Art\.|§)[ \t]?"
    r"(?:\d{1,3}[a-z]?|[IVXLC]{1,6}|[A-Z])(?:[ \t]*[-–—:.][ \t]*[^\n.;]{2,80}|\.?)"
    rf"|{_EAST}"
    r"|§[ \t]?\d{1,3}[a-z]?[ \t]+[^\n.;]{2,80})[ \t\r]*"
    r"(?:\n(?=[A-Z][^\n]{2,80}(?<![.;:,\r])\r?\n[ \t\r]*\n)[^\n]+)?)$"  # its title below it
    r"|^(?:(?P<number>\d{1,2}(?:(?:\.\d{1,2})+\.?|\.)?)[ \t]+)?"
    r"(?P<plain>[^\W\d_][^\n|<>{}=;:_\"\t]{2,59}(?<![\s.!?,…]))[ \t\r]*$"
    r"(?=\s*\n[ \t]*(?P<below>\S[^\n]{0,99})))",
    re.MULTILINE,
)
_FIRST = re.compile(r"^(?<![^\r\n]\n)(?<![^\r\n]\r\n)\S.*", re.MULTILINE)  # line of a paragraph
_FRAMED = re.compile(r"([^\w\s]+).*?([^\w\s]+)|.*([:：])")
_SIDE = re.compile("LEFT|RIGHT|LESS|GREATER")  # in the names of signs that mirror each other
_LONGEST = 100  # characters of what heads a paragraph
_PLAIN = 7  # the level of lines in bold or capitals; those with a number have higher ones
_CAPITALS = re.compile(
    r"(?!(?:NOTE|TIP|IMPORTANT|WARNING|CAUTION|DANGER|NB)\b)(?=.*[^\W\d_]{3})(?!.*,\S)"
)
_LATER = re.compile(r"(?!(?:\d+\.)*1\.?\s)\d")
_PROSE = re.compile(r"[-*•(]|.{50}|.*[.!?。！？][\"'”’)]*\s*$")
_WORD = re.compile(r"\w+")
_LEAST = 3  # lines that begin alike
_PARAGRAPH = 2000  # characters of one in which its label is looked for
_NEAR = 40  # characters of a line's end and the blank lines below it
_LABEL = re.compile(
    r"^[ \t]*((?P<mark>\*{1,2}|_{1,2})(?=[^\s*_])[^\n*_]{1,80}(?P=mark)[:.]?"
    r"|(?:[^\W\d]{1,8}\.? |§ ?)?[^\w\s]{0,2}[^\W\d]{0,4}\d[\w.:,/-]*[^\w\s]{0,3})(?=[ \t]+\S)",
    re.MULTILINE,
)
_ENDED = re.compile(r"(?:\A|\n[ \t\r]*\n|[.!?…:;|][\"'”’)*_]*[ \t\r]*\n)\Z")
BLANK = re.compile(r"\n[ \t\r]*\n")


class Heading(NamedTuple):
    """A heading: its first character, its level, its lines, and what stands below it.

    The level is 1 to 6 of a marked one, 6 of a chapter, 7 of a line in bold or capitals, 8 of an
    article, higher of a numbered one.
    """

    start: int
    level: int
    text: str
    gap: str = "\n\n"


def headings(text: str, place: int) -> tuple[Heading, ...]:
    """The headings that lead to a place, outermost first; one that begins there is the last.

    What stands in fences and comments is none.
    """
    chains = _chains(text)
    at = bisect_right(chains, place, key=itemgetter(0))
    return chains[at - 1][1] if at else ()


def all_headings(text: str) -> list[Heading]:
    """All headings of a text, in order."""
    return [chain[-1] for _, chain in _chains(text) if chain]


def has_heads(text: str) -> bool:
    """Whether anything of a text is a heading or a label, and may lead to a place."""
    return bool(_chains(text) or _labels(text))


def label(text: str, place: int) -> tuple[int, int]:
    """Bounds of the label before a place in its paragraph; two of the place where it has none."""
    labels = _labels(text)
    at = bisect_right(labels, place, key=itemgetter(0)) - 1
    start, end = labels[at] if at >= 0 else (place, place)
    inside = end <= place <= end + _PARAGRAPH and not BLANK.search(text, end, place)
    return (start, end) if inside else (place, place)


def between(text: str, end: int, start: int, mark: str, shown: int = -1) -> str:
    """What joins a kept span to the next: the white space there, a mark, or a blank line.

    Below the blank line stand the headings that are left out and lead to what follows: those from
    ``end`` on, or from where the last that is ``shown`` ends, which may lie before.
    """
    gap = text[min(end, start) : max(end, start)]
    above = left_out(text, end if shown < 0 else shown, start)
    if end <= start and not gap.strip() and not above:
        return gap
    begins = not text[text.rfind("\n", 0, start) + 1 : start].strip()
    if end <= label(text, start)[0] < start:
        joint = "\n\n" + above if above or BLANK.search(gap) else f" {mark}\n"
        return joint + labelled(text, start, mark)
    *blank, led = BLANK.split(gap)
    if "\n" not in gap or not (begins or blank or above):
        return f" {mark} "
    left = blank and not above and re.match(r"[ \t]*\w.*\n", led)  # the line that leads to it
    return f"\n\n{above}" + (mark + "\n "[not begins]) * bool(left)


def labelled(text: str, start: int, mark: str) -> str:
    """The label before a place, with what joins it to that; empty where it has none."""
    first, last = label(text, start)
    gap = text[last:start]
    return text[first:last] + (f" {mark} " if gap.strip() else gap)


def left_out(text: str, end: int, start: int, title: str = "") -> str:
    """The headings between two places that lead to the second, a blank line below each.

    None below one that is the first line of its paragraph. Those whose words are all in a title say
    nothing below it.
    """
    return "".join(f"{one.text}{one.gap}" for one in leading(text, end, start, title))


def led(text: str, end: int, start: int, title: str = "") -> list[Span]:
    """Where these headings stand, and the label before the second place."""
    first, last = label(text, start)
    found = [(h.start, h.start + len(h.text)) for h in leading(text, end, start, title)]
    return [*found, *([(first, last)] if end <= first < last else [])]


def leading(text: str, end: int, start: int, title: str = "") -> Iterator[Heading]:
    """The same as they stand there; one in which the second place lies, as far as that."""
    told = {*_WORD.findall(title.casefold())}
    for one in headings(text, start):
        if end <= one.start < start and {*_WORD.findall(one.text.casefold())} - told:
            shown = text[one.start : min(start, one.start + len(one.text))]
            yield one._replace(text=shown.rstrip())


@lru_cache(maxsize=8)
def _chains(text: str) -> list[tuple[int, tuple[Heading, ...]]]:
    """Where what may be a heading begins, and the headings that lead to what follows it."""
    chain: tuple[Heading, ...] = ()
    chains = []
    below, run = (-1, 0), 0  # the line below the last one that may be a heading, and its level
    read = 0
    for match in sorted([*_HEADING.finditer(text), *_firsts(text)], key=re.Match.start):
        first = match.re is _FIRST
        if match.start() < read:  # in a fence, or read already
            continue
        read = match.end()
        if level := _PLAIN if first else _level(text, match):
            run = run + 1 if below == (match.start(), level) else 0
            below = (-1 if first else match.start("below"), level)
            own = Heading(match.start(), level, match[0].rstrip(), "\n" * (2 - first))
            chain = _above(chain, own)
            chain += (own,) if first or _heads(match, run) else ()
            chains.append((own.start, chain))
    return chains


def _firsts(text: str) -> list[re.Match[str]]:
    """First lines of paragraphs that end alike, as half of all do: each heads its paragraph."""
    found = [*_FIRST.finditer(text)]
    signs = [_sign(match[0].rstrip()) for match in found]
    times = Counter(signs)
    heads = zip(found, signs, strict=True)
    return [m for m, sign in heads if sign and max(2, len(found) / 2) <= times[sign]]


def _sign(line: str) -> str:
    """The colon that ends a line, or the signs that frame it; empty of a line without.

    One sign on each side frames as a bracket; a quotation mark does not.
    """
    match = _FRAMED.fullmatch(line) if len(line) <= _LONGEST else None
    if not match or match[3]:
        return match[3] if match else ""
    sides = match[1], match[2][::-1]
    opening, closing = ([_SIDE.sub("", name(one, one)) for one in side] for side in sides)
    bracket = category(line[0]) in ("Ps", "Sm") and line.count(match[2]) == 1
    return match[2] * (opening == closing and (len(opening) > 1 or bracket))


def _level(text: str, match: re.Match[str]) -> int:
    """The level of what may be a heading, else 0; a plain one begins a paragraph."""
    if match["signs"] or match["rule"]:
        return len(match["signs"] or "") or 1 + (match["rule"][0] == "-")
    before = text[text.rfind("\n", 0, max(0, match.start() - 1)) + 1 : match.start()]
    if match["article"]:
        above = match["chapter"] or "章" in match["article"]
        return 0 if before.strip() else _PLAIN + (-1 if above else 1)
    if match["bold"] or match["closed"] or match["subs"] is not None:
        marked = len(match["equals"] or "") or 1 + len(match["subs"] or "") // 3
        return _PLAIN if match["bold"] else marked
    if before.strip() or "  " in match[0].strip():
        return 0
    if match["number"] and match["plain"][0].isupper():
        return _PLAIN + 2 + match["number"].rstrip(".").count(".")
    plain = match["plain"] or ""
    # a title, or who speaks
    named = " -- " in plain or (plain.isupper() and _CAPITALS.match(plain))
    return _PLAIN if named and not match["number"] else len(match["equals"] or "")


def _heads(match: re.Match[str], run: int) -> bool:
    """Whether a plain line has text below and is none of a list, a table or an address."""
    if not match["plain"]:
        return True
    below, number = match["below"], match["number"]
    apart = match.string.count("\n", match.end(), match.start("below")) > 1
    listed = below[0].isdecimal() and not (number and below.startswith(f"{number.rstrip('.')}."))
    if number:
        prose = _PROSE.match(below) and not below[0].islower()
        return run == 0 and not listed and bool(apart or prose)
    return run < 2 and not below.isupper() and bool(apart or not listed or _PROSE.match(below))


def _above(chain: tuple[Heading, ...], own: Heading) -> tuple[Heading, ...]:
    """The headings of a chain that lead to another; plain ones of a kind stand side by side.

    A number behind 1 without one before it begins a section outside of lines in capitals.
    """
    inside = any(one.level > _PLAIN for one in chain) or not _LATER.match(own.text)
    least = own.level if inside else min(own.level, _PLAIN)
    most = _PLAIN if own.level == _PLAIN else max(one.level for one in (*chain, own))
    beside = (n for n, one in enumerate(chain) if least <= one.level <= most)
    return chain[: next(beside, len(chain))]


@lru_cache(maxsize=8)
def _labels(text: str) -> list[Span]:
    """Those of forms that come again, where no sentence goes on from the line above."""
    begun = ((match, match.start()) for match in _LABEL.finditer(text))
    matches = [match for match, at in begun if _ENDED.search(text, max(0, at - _NEAR), at)]
    found = [(match["mark"] or form(match[1]), match.span(1)) for match in matches]
    times = Counter(own for own, _ in found)
    return [span for own, span in found if times[own] >= _LEAST]
