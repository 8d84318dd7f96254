"""Questions for one cell of real tables in eight forms: whether its row is kept, and of how much.

    python benchmarks/lookups.py

The tables are of a Debian machine: its packages and the world's time zones, 8 or 24 rows a text.
"""

from __future__ import annotations

import csv
import io
import json
import random
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import ragsieve

Row = dict[str, str]
FIELDS = ("package", "version", "section", "installed-size", "summary")
ASKED = ("What is the {c} of {k}?", "Which {c} does {k} have?", "Tell me the {c} for {k}.")
QUESTIONS = 16  # a form


def packages() -> list[Row]:
    """The machine's packages."""
    shown = "\\t".join(f"${{{'binary:Summary' if f == 'summary' else f}}}" for f in FIELDS)
    command = ["dpkg-query", "-W", f"-f={shown}\\n"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = (line.split("\t") for line in done.stdout.splitlines())
    return [dict(zip(FIELDS, row, strict=True)) for row in rows if len(row) == len(FIELDS)]


def zones() -> list[Row]:
    """Time zones with countries and coordinates."""
    lines = Path("/usr/share/zoneinfo/zone1970.tab").read_text(encoding="utf-8").splitlines()
    rows = (line.split("\t") for line in lines if line[0] != "#")
    return [{"zone": r[2], "countries": r[0], "coordinates": r[1]} for r in rows]


def separated(mark: str) -> Callable[[Row], str]:
    """A row's cells with a mark between them, in quotes where they need them."""

    def line(row: Row) -> str:
        file = io.StringIO()
        csv.writer(file, delimiter=mark, lineterminator="").writerow(row.values())
        return file.getvalue()

    return line


def yaml(row: Row) -> str:
    """An entry with its fields below."""
    first, *rest = row.items()
    return "\n".join([f"{first[1]}:", *(f"  {key}: {json.dumps(value)}" for key, value in rest)])


def texts(rows: Sequence[Row]) -> dict[str, tuple[str, list[str], str, str]]:
    """The rows in each form: what stands before, each row, what joins them, what stands behind."""
    names = {name: name for name in rows[0]}
    wide = [max(len(row[name]) for row in [names, *rows]) + 2 for name in names]

    def pipes(row: Row) -> str:
        return f"| {' | '.join(row.values())} |"

    def gaps(row: Row) -> str:
        return "".join(v.ljust(w) for v, w in zip(row.values(), wide, strict=True)).rstrip()

    def tags(row: Row, tag: str = "td") -> str:
        return f"<tr>{''.join(f'<{tag}>{value}</{tag}>' for value in row.values())}</tr>"

    forms: dict[str, tuple[Callable[[Row], str], str, str, str]] = {
        "CSV": (separated(","), f"{separated(',')(names)}\n", "\n", ""),
        "TSV": (separated("\t"), f"{separated(chr(9))(names)}\n", "\n", ""),
        "Markdown": (pipes, f"{pipes(names)}\n|{'---|' * len(names)}\n", "\n", ""),
        "columns": (gaps, f"{gaps(names)}\n", "\n", ""),
        "HTML": (tags, f"<table>\n{tags(names, 'th')}\n", "\n", "\n</table>"),
        "JSON": (json.dumps, '{"rows": [', ", ", f'], "total": {len(rows)}}}'),
        "JSON Lines": (json.dumps, "", "\n", ""),
        "YAML": (yaml, "", "\n", "\n"),
    }
    return {
        form: (head, [write(row) for row in rows], joint, tail)
        for form, (write, head, joint, tail) in forms.items()
    }


def main() -> None:
    """Print the table."""
    system, sources = ragsieve.load("finefilter"), [packages(), zones()]
    print("| form | questions | row kept | share of the text |\n|---|---|---|---|")
    for form in texts(sources[0][:3]):
        draw = random.Random(form)
        kept, shares = 0, 0.0
        for number in range(QUESTIONS):
            rows, size = sources[number % 2], draw.choice((8, 24))
            begin = draw.randrange(len(rows) - size)
            some = [{k: v.replace("|", "/") for k, v in r.items()} for r in rows[begin:][:size]]
            key, *columns = some[0]
            asked, column = draw.randrange(size), draw.choice(columns)
            head, written, joint, tail = texts(some)[form]
            question = draw.choice(ASKED).format(c=column, k=some[asked][key])
            text = head + joint.join(written) + tail
            start = len(head) + sum(len(one) + len(joint) for one in written[:asked])
            result = system(question, [text])
            spans = [(s.start, s.end) for s in result.kept]
            end = start + len(written[asked])
            kept += any(a <= start and b >= end for a, b in spans)
            shares += sum(b - a for a, b in spans) / len(text)
        print(f"| {form} | {QUESTIONS} | {kept} | {shares / QUESTIONS:.0%} |", flush=True)


if __name__ == "__main__":
    main()
