"""Questions over public tables for the sentence pruner, in the forms that files and programs have.

The sets over tables give rows as lines ``column: cell | …``. Here they become Markdown, CSV, TSV,
HTML, JSON, YAML, ``psql`` and columns of fixed width, the evidence still the same rows; and rows of
the same tables are asked for by their key or value.
"""

from __future__ import annotations

import csv
import html
import io
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

Record = dict[str, Any]
Form = Callable[["Table"], tuple[str, list[str], str]]

WIDEST = 40  # characters of a cell in a form of columns
ROWS = (5, 70)  # of a table that is asked about, at least and at most
LOOK_UPS = (
    "What is the {column} of {key}?", "{key} {column}", "{column} of {key}",
    "what does it say about {key}?", "Which {column} does {key} have?", "find {key}",
    "I need the {column} for {key}, please", "show me the row of {key}",
)  # fmt: skip
REVERSE = (
    "Which {name} has {value} as {column}?", "{name} with {column} {value}",
    "where is {column} {value}?", "list every {name} whose {column} is {value}",
)  # fmt: skip


class Table(NamedTuple):
    """Column names, and cells of each row."""

    columns: list[str]
    rows: list[list[str]]


def table_of(text: str) -> Table | None:
    """The table that is written in lines; None where it is prose."""
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) < 2 or sum(" | " in line for line in lines) < 0.8 * len(lines):
        return None
    cells = [re.split(r"(?:^| )\|(?: |$)", line) for line in lines]
    if all(all(": " in cell or cell.endswith(":") for cell in row) for row in cells):
        pairs = [[cell.partition(":")[::2] for cell in row] for row in cells]
        columns = [*dict.fromkeys(name.strip() for row in pairs for name, _ in row)]
        found = [{name.strip(): value.strip() for name, value in row} for row in pairs]
        return Table(columns, [[row.get(name, "") for name in columns] for row in found])
    width = max(map(len, cells))
    rows = [[*row, *[""] * (width - len(row))] for row in cells]
    return Table([cell.strip() for cell in rows[0]], [[c.strip() for c in r] for r in rows[1:]])


def written(table: Table, form: str) -> tuple[str, list[list[int]]]:
    """A table as text, and where each of its rows stands in it."""
    head, rows, foot = FORMS[form](table)
    text, spans = head, []
    for row in rows:
        spans.append([len(text), len(text) + len(row.rstrip("\n,"))])
        text += row
    return text + foot, spans


def fits(table: Table) -> list[str]:
    """The forms that a table may have: those of columns where no cell is wide."""
    wide = any(len(cell) > WIDEST for row in table.rows for cell in row)
    unnamed = len({*table.columns}) < len(table.columns) or not all(table.columns)
    names = [n for n in FORMS if not (wide and n in ("psql", "fixed"))]
    return [n for n in names if not (unnamed and n in ("json", "jsonl", "yaml", "records"))]


def _separated(sign: str, table: Table) -> tuple[str, list[str], str]:
    lines = []
    for row in [table.columns, *table.rows]:
        out = io.StringIO()
        csv.writer(out, delimiter=sign, lineterminator="\n").writerow(row)
        lines.append(out.getvalue())
    return lines[0], lines[1:], ""


def _markdown(table: Table) -> tuple[str, list[str], str]:
    rows = ["| " + " | ".join(row) + " |\n" for row in [table.columns, *table.rows]]
    return rows[0] + "|" + "---|" * len(table.columns) + "\n", rows[1:], ""


def _html(table: Table) -> tuple[str, list[str], str]:
    def row(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(c)}</{tag}>" for c in cells) + "</tr>\n"

    head = "<table>\n" + row(table.columns, "th")
    return head, [row(cells, "td") for cells in table.rows], "</table>\n"


def _named(table: Table) -> list[dict[str, str]]:
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def _json(table: Table) -> tuple[str, list[str], str]:
    rows = ["  " + json.dumps(row, ensure_ascii=False) for row in _named(table)]
    return "[\n", [*(f"{row},\n" for row in rows[:-1]), rows[-1] + "\n"], "]\n"


def _indented(table: Table) -> tuple[str, list[str], str]:
    rows = [
        re.sub("^", "  ", json.dumps(row, indent=2, ensure_ascii=False), flags=re.MULTILINE)
        for row in _named(table)
    ]
    return "[\n", [*(f"{row},\n" for row in rows[:-1]), rows[-1] + "\n"], "]\n"


def _lines(table: Table) -> tuple[str, list[str], str]:
    return "", [json.dumps(row, ensure_ascii=False) + "\n" for row in _named(table)], ""


def _yaml(table: Table) -> tuple[str, list[str], str]:
    def plain(value: str) -> str:
        return value if re.fullmatch(r"[\w.,() /-]*\w", value) else json.dumps(value)

    rows = [
        "- " + "\n  ".join(f"{plain(k)}: {plain(v)}" for k, v in row.items()) + "\n"
        for row in _named(table)
    ]
    return "", rows, ""


def _psql(table: Table) -> tuple[str, list[str], str]:
    columns = zip(*[table.columns, *table.rows], strict=True)
    wide = [max(map(len, column)) for column in columns]
    lines = [
        " " + " | ".join(c.ljust(w) for c, w in zip(row, wide, strict=True)).rstrip() + "\n"
        for row in [table.columns, *table.rows]
    ]
    rule = "+".join("-" * (w + 2) for w in wide) + "\n"
    return lines[0] + rule, lines[1:], f"({len(table.rows)} rows)\n"


def _fixed(table: Table) -> tuple[str, list[str], str]:
    columns = zip(*[table.columns, *[[c or "-" for c in r] for r in table.rows]], strict=True)
    wide = [max(map(len, column)) + 2 for column in columns]
    lines = [
        "".join((c or "-").ljust(w) for c, w in zip(row, wide, strict=True)).rstrip() + "\n"
        for row in [table.columns, *table.rows]
    ]
    return lines[0], lines[1:], ""


def _records(table: Table) -> tuple[str, list[str], str]:
    rows = ["\n".join(f"{k}: {v}" for k, v in row.items()) + "\n\n" for row in _named(table)]
    return "", rows, ""


FORMS: dict[str, Form] = {
    "markdown": _markdown,
    "csv": lambda table: _separated(",", table),
    "tsv": lambda table: _separated("\t", table),
    "html": _html,
    "json": _json,
    "indented": _indented,
    "jsonl": _lines,
    "yaml": _yaml,
    "psql": _psql,
    "fixed": _fixed,
    "records": _records,
}


def reformed(record: Record, chance: random.Random) -> Record:
    """A question with the tables among its passages in another form, one for all in most cases."""
    form, documents = chance.choice([*FORMS]), []
    for document in record["documents"]:
        table = table_of(document["text"])
        if not table or not table.rows:
            documents.append(document)
            continue
        usable = fits(table)
        some = form if form in usable and chance.random() < 0.8 else chance.choice(usable)
        text, spans = written(table, some)
        lines = [m.span() for m in re.finditer(r"[^\n]*\S[^\n]*", document["text"])]
        lines = lines[len(lines) - len(table.rows) :]
        good = [
            span
            for span, (start, end) in zip(spans, lines, strict=True)
            if any(a < end and start < b for a, b in document["evidence"])
        ]
        documents.append({**document, "text": text, "evidence": good})
    return {**record, "documents": documents}


def joined(passages: Sequence[Record]) -> dict[str, Table]:
    """Tables by title, of all pieces with the same columns."""
    tables: dict[str, Table] = {}
    for passage in passages:
        table = table_of(passage["text"])
        if table and passage["title"] and all(table.columns):
            known = tables.setdefault(passage["title"], Table(table.columns, []))
            if known.columns == table.columns:
                known.rows.extend(row for row in table.rows if row not in known.rows)
    return {
        title: table._replace(rows=table.rows[: ROWS[1]])
        for title, table in tables.items()
        if len(table.rows) >= ROWS[0] and len(table.columns) > 1
    }


def look_ups(tables: dict[str, Table], chance: random.Random, each: int) -> Iterator[Record]:
    """Questions that one row answers by its key, or those with a value."""
    titles = [*tables]
    for title, table in tables.items():
        for number in range(each):
            if not (found := _asked(table, chance)):
                break
            question, places = found
            form = chance.choice(fits(table))
            text, spans = written(table, form)
            shown = f"## {title}\n\n" if chance.random() < 0.3 else ""
            evidence = [[a + len(shown), b + len(shown)] for a, b in (spans[n] for n in places)]
            own = {"id": title, "title": "" if shown else title, "text": shown + text}
            documents = [{**own, "evidence": evidence}]
            for other in chance.sample(titles, 2):
                if other != title:
                    usable = fits(tables[other])
                    some = form if form in usable else chance.choice(usable)
                    other_text, _ = written(tables[other], some)
                    documents.append(
                        {"id": other, "title": other, "text": other_text, "evidence": []}
                    )
            yield {
                "id": f"table:{title}:{number}",
                "question": question,
                "answers": [],
                "documents": documents,
            }


def _asked(table: Table, chance: random.Random) -> tuple[str, list[int]] | None:
    """A question, and the rows that answer it; None where no column names the rows."""
    keys = [
        n
        for n in range(len(table.columns))
        if len({row[n] for row in table.rows}) > 0.9 * len(table.rows)
        and sum(bool(re.search(r"[^\W\d]{3}", row[n])) for row in table.rows) > len(table.rows) / 2
    ]
    if not keys:
        return None
    key = keys[0]
    other = chance.choice([n for n in range(len(table.columns)) if n != key])
    row = chance.randrange(len(table.rows))
    value = table.rows[row][other]
    said = {"column": table.columns[other].lower(), "name": table.columns[key].lower()}
    often = Counter(r[other] for r in table.rows)[value]
    if value and often <= 4 and chance.random() < 0.35:
        places = [n for n, r in enumerate(table.rows) if r[other] == value]
        return chance.choice(REVERSE).format(**said, value=value), places
    name = table.rows[row][key]
    if not name:
        return None
    places = [n for n, r in enumerate(table.rows) if r[key] == name]
    return chance.choice(LOOK_UPS).format(**said, key=name), places
