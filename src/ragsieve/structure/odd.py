"""What is unlike its neighbours: rows and lines whose shape or value is rare among many alike.

A reader of sentences cannot tell that one pod of 24 crashed, or that one of 120 lines of a log says
something else. How rare it is can be counted: of lines with as many words, or cells, each position
is a column, and a value, a number far from the others or more than all of them, or a number of
words that few lines have, is odd by ``-log`` of its share, where nearly all other lines are alike.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from statistics import median

from ragsieve.structure import outline, pieces
from ragsieve.structure.linearize import content_words
from ragsieve.structure.row_lines import line_runs
from ragsieve.structure.tree import CODE, JSON, KEY, Node, places
from ragsieve.types import Key, Segment, Span, grouped, in_order

_LEAST = 8  # lines of a run
_RARE = 0.06  # share of lines, at most, that have what is rare, if it is not one alone
_UNLIKE = 0.15  # share of all that are rare in one respect, at most: else nothing is usual
_FAR = 8.0  # median deviations between a number that is far from the others and their median
_MOST = 10  # lines of a text that are kept for being odd
_NAMED = 0.5  # share of lines, at most, that a word picks which the question has
_BESIDE = 4  # words from either end of a line that may be shared
_CHARS = 500  # characters of a line that are looked at
_TOKEN = re.compile(r"[^\s,;|\"'`(){}\[\]<>]+")
_APART = re.compile(r"\s*[|│┃]\s*|\s{2,}|\t")  # cells
_PART = re.compile(r"[^\s,;|\"'`(){}\[\]<>_:=]+")
_NUMBER = re.compile(r"([-+]?\d[\d,]*(?:\.\d+)?)([%A-Za-zµ]{0,3})")
_SAYS = re.compile(r"[^\W_]")  # a rule does not
_DIGITS = re.compile(r"[\w.+-]*\d[\w.+-]*")

_Words = tuple[str, ...]


def odd_keys(question: str, segments: Sequence[Segment]) -> dict[Key, str]:
    """Keys of what is odd in its document, and why, as ``1 of 24``.

    Where words of the question's last line pick some of the other lines, those are asked for:
    nothing is odd that has none of these words. Ten lines of a document at most, the rarest.
    """
    found: dict[Key, str] = {}
    for ordered, spans in in_order(segments):
        for part in pieces(ordered[0].document.text):
            odd, picked = _odd(part.text)
            picks = content_words(last_line(question)) & picked if odd else picked
            for span, said in odd:
                if not picks or picks & _parts(part.text, span):
                    found |= {ordered[n].key: said for n in places(spans, *part.span(*span))}
    return found


def last_line(question: str) -> str:
    """What the user asks: above it an agent's question has the words of its call."""
    return question.rstrip().rpartition("\n")[2]


@lru_cache(maxsize=64)
def _odd(text: str) -> tuple[list[tuple[Span, str]], frozenset[str]]:
    """What is odd in the whole text or in a run of lines without blank ones, the rarest first.

    And the words, in small letters, that some of the lines have which are neither odd nor heads.
    """
    trees = outline(text, small=True)
    roots = [root for root in trees if root.kind in JSON]
    code = any(root.mark.endswith(CODE) for root in trees)
    lines = ([(a, b) for a, b in run if _SAYS.search(text, a, b)] for run in line_runs(text, roots))
    runs = [[(a, min(b, a + _CHARS)) for a, b in run] for run in lines if run]
    whole = [span for run in runs for span in run]
    found = [*_fields(text, roots), *_rare(text, whole, code)]
    found += [one for run in runs if len(run) < len(whole) for one in _rare(text, run, code)]
    best: dict[Span, tuple[float, str]] = {}
    for span, share, said in found:
        best[span] = max(best.get(span, (0.0, "")), (-math.log(share), said))
    tables = [(root.start, root.head) for root in trees if root.kind == "table"]
    heads = {run[0] for run in runs} | {whole[n] for span in tables for n in places(whole, *span)}
    others = heads | best.keys()
    ranked = sorted(best.items(), key=lambda one: (-one[1][0], one[0]))
    odd = [(span, said) for span, (_, said) in ranked if span not in heads][:_MOST]
    usual = [_parts(text, span) for span in whole if span not in others]
    counts = Counter(word for line in usual for word in line)
    picked = (word for word, number in counts.items() if number <= _NAMED * len(usual))
    return odd, frozenset(picked if odd else ())


def _fields(text: str, nodes: Sequence[Node]) -> Iterator[tuple[Span, float, str]]:
    """Fields of JSON whose value is rare among those of the same name."""
    columns: dict[str, list[Span]] = {}
    stack = [*nodes]
    while stack:
        node = stack.pop()
        stack += node.children
        if not node.children and (key := KEY.match(text, node.start)):
            columns.setdefault(key[0], []).append((node.start, node.end))
    for spans in columns.values():
        if len(spans) >= _LEAST:
            yield from _few(spans, [text[slice(*span)] for span in spans])


def _rare(text: str, run: Sequence[Span], code: bool) -> Iterator[tuple[Span, float, str]]:
    """Lines of a run with what is rare in them, the share that has it; no words of code."""
    if len(run) < _LEAST:
        return
    rows = [tuple(_TOKEN.findall(text[slice(*span)])) for span in run]
    yield from _few(run, [len(words) for words in rows])
    for place in () if code else (*range(_BESIDE), *range(-_BESIDE, 0)):
        yield from _beside(run, rows, place)
    cells = [tuple(_APART.split(text[slice(*span)].strip(" |│┃"))) for span in run]
    if len({*map(len, cells)}) > 1 or len(cells[0]) == 1:  # no table
        yield from _columns(run, rows)
    yield from _columns(run, cells)


def _columns(run: Sequence[Span], rows: Sequence[_Words]) -> Iterator[tuple[Span, float, str]]:
    """Those with what is rare in its column, of rows with as many words or cells."""
    for length in {*map(len, rows)}:
        spans = [span for span, own in zip(run, rows, strict=True) if len(own) == length]
        if len(spans) < _LEAST:
            continue
        for column in zip(*(words for words in rows if len(words) == length), strict=True):
            yield from _few(spans, [_DIGITS.sub("0", word) for word in column])
            told = {s: w for s, w in zip(spans, column, strict=True) if _DIGITS.search(w)}
            if 2 * max(Counter(told.values()).values(), default=0) > len(column):
                yield from _few([*told], [*told.values()])
            yield from _far(spans, column)


def _beside(
    run: Sequence[Span], rows: Sequence[_Words], place: int
) -> Iterator[tuple[Span, float, str]]:
    """Lines that share a word at a place from either end, with what is rare beside it."""
    having = (n for n, words in enumerate(rows) if -len(words) <= place < len(words))
    for lines in grouped(having, lambda n: rows[n][place]).values():
        for beside in (place - 1, place + 1):
            if len(lines) >= _LEAST and beside * place >= 0 and beside not in (-1 - place, place):
                some = [n for n in lines if -len(rows[n]) <= beside < len(rows[n])]
                values = [_DIGITS.sub("0", rows[n][beside]) for n in some]
                yield from _few([run[n] for n in some], values) if len(some) >= _LEAST else ()


def _few(spans: Sequence[Span], values: Sequence[object]) -> Iterator[tuple[Span, float, str]]:
    """Those with a value that few have, where nearly all others have values that many have."""
    counts = Counter(values)
    most = max(1.0, _RARE * len(values))
    rare = {value: number for value, number in counts.items() if number <= most}
    if 0 < sum(rare.values()) <= _UNLIKE * len(values):
        for span, value in zip(spans, values, strict=True):
            if value in rare:
                yield span, rare[value] / len(values), f"{rare[value]} of {len(values)}"


def _far(spans: Sequence[Span], column: _Words) -> Iterator[tuple[Span, float, str]]:
    """Those whose number is far from all others, or more than all of them, of one unit.

    A header may stand above them.
    """
    read = {span: _NUMBER.fullmatch(word) for span, word in zip(spans, column, strict=True)}
    numbers = {span: float(m[1].replace(",", "")) for span, m in read.items() if m}
    if len(numbers) < len(spans) - 1 or len({m[2] for m in read.values() if m}) != 1:
        return
    middle = median(numbers.values())
    usual = 1.4826 * median(abs(number - middle) for number in numbers.values())
    far = [abs(number - middle) > _FAR * usual > 0 for number in numbers.values()]
    yield from _few([*numbers], far)
    whole = sum(map(abs, numbers.values()))
    yield from _few([*numbers], [2 * abs(number) > whole for number in numbers.values()])


def _parts(text: str, span: Span) -> set[str]:
    """Words of a line, those of names of fields too."""
    return {*_PART.findall(text[slice(*span)].lower())}
