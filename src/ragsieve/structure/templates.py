"""Lines of one template, as those of a log, as rows: what differs in them are cells."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from operator import eq

from ragsieve.structure.values import MOMENT
from ragsieve.types import Span

LEAST = 3  # lines of a template
_CHARS = 2000  # characters of a line that are looked at
_ALIKE = 0.5  # share of words that lines of one template have in common, at least
_TEMPLATES = 60  # of a text's lines of one length
_FEW = 0.1  # share of lines, at most, that are different values of a column before a message
_TOKEN = re.compile(rf"{MOMENT.pattern}|\"[^\"\n]{{1,80}}\"|[^\s,;|\"'`(){{}}\[\]=<>]+|=")
_DIGITS = re.compile(r"\d+")

Cell = tuple[str, int, int]
"""A cell of a row: the name of the column, start and end."""
Cells = list[Cell]


def lined(text: str, lines: Sequence[Span]) -> tuple[Span | None, list[tuple[Span, Cells]]]:
    """The line that heads others, if one does, and those with their cells.

    None where less than two thirds of them have a template that two others have.
    """
    tokens = [_tokens(text, *span) for span in lines]
    templates = _templates(text, tokens)
    alike = Counter(templates)
    if sum(n for n in alike.values() if n >= LEAST) * 3 < 2 * len(lines):
        return None, []
    headed = alike[templates[0]] == 1 and _heads(text[slice(*lines[0])])
    rows = [*_rows(text, lines, tokens, templates)]
    return lines[0] if headed else None, rows[headed:]


def _heads(line: str) -> bool:
    """Whether the first line of many, which is unlike them, can name their columns."""
    words = line.split()
    return 2 * sum(bool(re.search(r"\d", word)) for word in words) < len(words)


def _tokens(text: str, start: int, end: int) -> list[Span]:
    return [m.span() for m in _TOKEN.finditer(text, start, min(end, start + _CHARS)) if m[0]]


def _templates(text: str, lines: Sequence[Sequence[Span]]) -> list[int]:
    """The template of each line: others of as many words, half of them the same."""
    known: dict[int, list[tuple[int, list[str]]]] = defaultdict(list)
    exact: dict[tuple[str, ...], int] = {}
    found = []
    for tokens in lines:
        words = tuple(_DIGITS.sub("0", text[slice(*span)]) for span in tokens)
        if words not in exact:
            others = known[len(words)][:_TEMPLATES]
            alike = ((sum(map(eq, words, other)), n) for n, other in others)
            same, number = max(alike, default=(0, 0))
            if not words or same < _ALIKE * len(words):
                number = len(exact)
                known[len(words)].append((number, [*words]))
            exact[words] = number
        found.append(exact[words])
    return found


def _rows(
    text: str, lines: Sequence[Span], tokens: Sequence[Sequence[Span]], templates: Sequence[int]
) -> Iterator[tuple[Span, Cells]]:
    """Cells of each line: what differs in its template, and columns before its message."""
    said = [[text[slice(*span)] for span in some] for some in tokens]
    varies: dict[int, list[bool]] = {}
    for template in {*templates}:
        same = [words for words, own in zip(said, templates, strict=True) if own == template]
        varies[template] = [len({*column}) > 1 for column in zip(*same, strict=True)]
    before = 0
    while _leads({words[before] for words in said if len(words) > before}, len(lines)):
        before += 1
    for line, spans, words, template in zip(lines, tokens, said, templates, strict=True):
        cells: Cells = []
        for place, (span, word) in enumerate(zip(spans, words, strict=True)):
            if word != "=" and (place < before or varies[template][place]):
                name = _name(words, place, varies[template], before)
                cells.append((name, *_bare(text, *span)))
        yield (line[0] + len(text[slice(*line)]) - len(text[slice(*line)].lstrip()), line[1]), cells


def _leads(words: set[str], lines: int) -> bool:
    moments = bool(words) and all(map(MOMENT.fullmatch, words))
    return moments or 0 < len(words) <= max(1, _FEW * lines)


def _name(words: Sequence[str], place: int, varies: Sequence[bool], message: int) -> str:
    """The key or constant word before a word of a message; its number of what stands before."""
    before = place - 1
    if before > 0 and words[before] == "=":
        return words[before - 1]
    if place < message or varies[before]:
        return f"#{place + 1}"
    return words[before].strip(":") if re.search(r"[^\W\d]", words[before]) else f"#{place + 1}"


def _bare(text: str, start: int, end: int) -> Span:
    if end - start > 2 and text[start] == text[end - 1] == '"':
        return start + 1, end - 1
    return start, start + len(text[start:end].rstrip(".:"))
