"""HTML tables whose cells stand in each row and column that they span."""

import re
from itertools import pairwise

ATTRIBUTES = r"""(?:"[^"]*"|'[^']*'|[^'">])*+"""
"""Of a tag, to its end."""

_TABLE = re.compile(r"<table\b(?:(?!<table\b).)*?</table\s*>", re.IGNORECASE | re.DOTALL)
_SPAN = re.compile(r"""\b(row|col)span\s*=\s*["']?\s*(\d{1,3})""", re.IGNORECASE)
_UNSEEN = re.compile(  # to the table's end where it is not closed
    r"<!--.*?(?:-->|\Z)|<(script|style)\b.*?(?:</\1\s*>|\Z)", re.IGNORECASE | re.DOTALL
)
_TAG = re.compile(rf"<(/?)(t[dhr]|thead|tbody|tfoot|table)\b{ATTRIBUTES}>", re.IGNORECASE)
_MOST = 1 << 22  # characters of a table with its copies


def spread(html: str) -> str:
    """A page in whose tables a cell is repeated where it spans more than one row or column.

    A cell that is a whole row stands once; a table that holds tables stays as it is.
    """
    return _TABLE.sub(lambda found: _spread(found[0]), html)


def _spread(table: str) -> str:
    if not _SPAN.search(table):
        return table
    seen = _UNSEEN.sub("", table)
    tags = [*_TAG.finditer(seen)]
    rows: list[list[str]] = []
    above: dict[int, tuple[int, str]] = {}  # by column: the last row of a cell, and the cell
    size = 0
    for tag, after in pairwise(tags):
        name = tag[2].lower()
        if name not in ("td", "th", "tr"):
            above = {}  # no cell spans a section
        elif name == "tr" and not tag[1]:
            rows.append([])
        elif not tag[1] and rows:
            spans = {one.lower(): int(count) for one, count in _SPAN.findall(tag[0])}
            wide, deep = max(1, spans.get("col", 1)), max(1, spans.get("row", 1))
            cell = f"<{name}>{seen[tag.end() : after.start()]}</{name}>"
            size += wide * deep * len(cell)
            if size > _MOST:
                return table
            for _ in range(wide):
                _reaching(above, rows)
                above[len(rows[-1])] = len(rows) + deep - 1, cell
                rows[-1].append(cell)
        if name == "tr" and tag[1] and rows:
            _reaching(above, rows)
    kept = (row if len({*map(id, row)}) > 1 else row[:1] for row in rows)
    whole = "".join(f"<tr>{''.join(row)}</tr>" for row in kept)
    return f"{seen[: tags[1].start()]}{whole}</table>"


def _reaching(above: dict[int, tuple[int, str]], rows: list[list[str]]) -> None:
    """Add to the last row the cells above that reach into it, from its end on."""
    while above.get(len(rows[-1]), (0, ""))[0] >= len(rows):
        rows[-1].append(above[len(rows[-1])][1])
