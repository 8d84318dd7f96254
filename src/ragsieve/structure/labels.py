"""Labels: what begins a line as it begins others of the text, a number, a time or words in marks.

What is kept of such a line stands behind its label.
"""

import re
from bisect import bisect_right
from collections import Counter
from functools import lru_cache

from ragsieve.structure.columns import form

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


def label(text: str, place: int) -> tuple[int, int]:
    """Bounds of the label before a place in its paragraph; two of the place where it has none."""
    starts, labels = _labels(text)
    at = bisect_right(starts, place) - 1
    start, end = labels[at] if at >= 0 else (place, place)
    inside = end <= place <= end + _PARAGRAPH and not BLANK.search(text, end, place)
    return (start, end) if inside else (place, place)


def has_labels(text: str) -> bool:
    """Whether a line of a text has a label."""
    return bool(_labels(text)[0])


@lru_cache(maxsize=8)
def _labels(text: str) -> tuple[list[int], list[tuple[int, int]]]:
    """Those of forms that come again, where no sentence goes on from the line above."""
    matches = [
        match
        for match in _LABEL.finditer(text)
        if _ENDED.search(text, max(0, match.start() - _NEAR), match.start())
    ]
    found = [(match["mark"] or form(match[1]), match.span(1)) for match in matches]
    times = Counter(own for own, _ in found)
    labels = [span for own, span in found if times[own] >= _LEAST]
    return [start for start, _ in labels], labels
