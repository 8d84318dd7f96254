"""Breaches of the law that what is kept reads as the document says, over real texts of a machine.

    python benchmarks/kinds.py [KIND ...]

Of each of up to twenty files of a kind (of Debian, of installed packages of Python and npm, of this
machine's logs, and of the folder RAGSIEVE_TEXTS) a third of the units is kept, at random, five
times; what a reader sees is then held to a rule of its kind. The table says in how many texts it
broke, and how often in all. Older revisions run it, too. For twenty of each kind RAGSIEVE_TEXTS has
source distributions, each in a folder of its own, got by

    pip download --no-deps --no-binary :all: NAME ...

of email-reply-parser, mail-parser, irclog2html, whatstk, webvtt-py, pysrt (mails and chats),
logparser3, drain3, httpx, black, rich, typer, flask, attrs, tox, hatch, poetry-core, pdm-backend,
mkdocs and pelican (TOML, INI, tracebacks), and in a folder logs what git, Node.js, Java, pip,
PostgreSQL and Python log. Nothing of them is part of this repository.
"""

from __future__ import annotations

import ast
import configparser
import csv
import io
import json
import os
import random
import re
import sys
import sysconfig
import tomllib
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import ragsieve
from ragsieve.split.blocks import Blocks
from ragsieve.types import Document, Query, Segment

PACKAGES = Path(sysconfig.get_paths()["purelib"])
LIBRARY = Path(sysconfig.get_paths()["stdlib"])
ROOTS = {
    "P": PACKAGES,
    "L": LIBRARY,
    "D": Path("/usr/share/doc"),
    "V": Path("/var/log"),
    "U": Path("/usr/lib"),
    "H": Path.home(),
    "S": Path(os.environ.get("RAGSIEVE_TEXTS", "/var/empty")),
}
SIZES = 600, 30_000  # characters of a text
TEXTS, TRIES = 20, 5
LONG = ".log", ".srt", ".vtt"  # of these the beginning is enough
WRAPPED = r"\A(?:.{0,300}\n)+\Z"  # no line as long as minified ones are

Rule = Callable[[str, str], bool]  # of a text and what is shown of it: whether the law holds


def part_of(kept: Any, source: Any) -> bool:
    """Whether each value stands under its own keys, and each record in its own list."""
    if isinstance(kept, dict) and isinstance(source, dict):
        return all(k == "…" or (k in source and part_of(v, source[k])) for k, v in kept.items())
    if isinstance(kept, list) and isinstance(source, list):
        rest = iter(source)
        values = [v for v in kept if not (isinstance(v, str) and v.startswith("… "))]
        return all(any(part_of(value, one) for one in rest) for value in values)
    return bool(kept == source or (isinstance(kept, str) and "…" in kept))


def parsed(read: Callable[[str], Any]) -> Rule:
    """What is shown parses, as a part of the source."""
    return lambda text, shown: part_of(read(shown), read(text))


def yaml(text: str) -> Any:
    """Its documents."""
    import yaml as library

    return [*library.safe_load_all(text)]


def ini(text: str) -> Any:
    """Its sections."""
    parser = configparser.RawConfigParser()  # no key comes twice
    parser.read_string(text)
    return {name: dict(parser[name]) for name in parser.sections()}


def lines(text: str, shown: str) -> bool:
    """Each line is one of the source's, or says that it is cut."""
    known = {"", *(line.strip() for line in text.splitlines())}
    return all(line.strip() in known or "…" in line for line in shown.splitlines())


def rows(text: str, shown: str) -> bool:
    """Rows of commas are whole, below the header."""
    source, kept = ([*csv.reader(io.StringIO(one))] for one in (text, shown))
    known = {tuple(row) for row in source}
    whole = all(tuple(row) in known or (row and "…" in row[0]) for row in kept if row)
    return whole and kept[0] == source[0]


def piped(text: str, shown: str) -> bool:
    """Rows of pipes are whole, each below the header it has in the source."""
    return heads(text) >= heads(shown)


def heads(text: str) -> set[tuple[str, str]]:
    """Each row of a table with the first one of its table."""
    found, head = set(), ""
    for line in map(str.strip, text.splitlines()):
        head = (head or line) if line.startswith("|") else head if line[:1] == "…" else ""
        found |= {(head, line)} if line.startswith("|") else set()
    return found


def cells(text: str, shown: str) -> bool:
    """As many rows, cells, lists and other elements of HTML are opened as are closed."""
    every = {*re.findall(r"</(\w+)", text)}
    names = [n for n in every if tags(text, n) == tags(text, "/" + n)]
    return all(tags(shown, name) == tags(shown, "/" + name) for name in names)


def tags(text: str, name: str) -> int:
    """How often a tag stands in a text."""
    return len(re.findall(rf"<{name}\b(?![^<>]*/>)", text, re.IGNORECASE))


def python(text: str, shown: str) -> bool:
    """It parses, and its lines are the source's."""
    ast.parse(shown)
    return lines(text, shown)


def brackets(text: str, shown: str) -> bool:
    """Its lines are the source's, and brackets of no comment are closed as there."""
    bare, kept = (re.sub(r"/\*.*?\*/", "", one, flags=re.DOTALL) for one in (text, shown))
    pairs = [p for p in ("()", "{}") if bare.count(p[0]) == bare.count(p[1])]
    return lines(text, shown) and all(kept.count(p[0]) == kept.count(p[1]) for p in pairs)


def hunks(text: str, shown: str) -> bool:
    """A changed line stands below the names of its file."""
    return lines(text, shown) and changes(text) >= changes(shown)


def changes(text: str) -> set[tuple[str, str]]:
    """Changed lines with the file they change."""
    found, name = set(), ""
    for line in text.splitlines():
        name = line.split("\t")[0] if line.startswith("+++ ") else name
        found |= {(name, line)} if re.match(r"[-+](?![-+])", line) else set()
    return found


def raised(text: str, shown: str) -> bool:
    """A frame stands below the first line of a traceback."""
    first = shown.find("Traceback (most recent")
    frame = re.search(r'^\s*File "[^"]+", line \d+', shown, re.MULTILINE)
    return not frame or 0 <= first < frame.start() or "Traceback" not in text[: text.find(frame[0])]


def header(text: str, shown: str) -> bool:
    """Lines of a mail's header are whole; quoted lines keep their mark."""
    quoted = [line for line in text.splitlines() if line.startswith(">")]
    known = {line.strip("> ") for line in quoted} - {line.strip() for line in text.splitlines()}
    return not any(line.strip() in known for line in shown.splitlines())


def spoken(text: str, shown: str) -> bool:
    """What is said stands below who or when it was said: the line that begins the turn."""
    return lines(text, shown) and begun(text) >= begun(shown)


def begun(text: str) -> set[tuple[str, str]]:
    """Each line with the last one above it that has a time."""
    found, head = set(), ""
    for line in map(str.strip, text.splitlines()):
        head = (
            line
            if re.match(r"\D{0,3}(?:[\d/.-]+,? ?)?(?:[A-Z][a-z]{2} )?\d\d:\d\d", line)
            else head
        )
        if "…" not in line and " " in line:  # no numbers or names of subtitles
            found.add((head, line))
    return found


def front(text: str, shown: str) -> bool:
    """What is kept of the front matter stands between its rules."""
    inner = {*text.split("---\n", 2)[1].splitlines()} - {*text.split("---\n", 2)[2].splitlines()}
    kept = [line for line in shown.splitlines() if line in inner and ":" in line]
    return not kept or (shown.startswith("---") and "\n---" in shown[3:])


KINDS: dict[str, tuple[str, str, Rule]] = {  # where, what the text must have, the rule
    "JSON": ("P **/*.json", r"\A\s*[\[{]", parsed(json.loads)),
    "YAML": ("P **/*.y*ml", "", parsed(yaml)),
    "TOML": (
        "P **/*.toml;L ../../**/pyproject.toml;S **/*.toml",
        "",
        parsed(tomllib.loads),
    ),
    "INI": (
        "P **/entry_points.txt;P **/*.cfg;L **/*.cfg;S **/*.cfg;S **/*.ini;U systemd/**/*.service",
        r"^\[",
        parsed(ini),
    ),
    "CSV": ("P **/*.csv;D ../distro-info/*.csv;S **/*.csv;L **/*.csv", "", rows),
    "Markdown tables": ("P **/METADATA;P **/*.md;D **/*.md", r"^\|[ :-]+-\|", piped),
    "HTML": ("D **/*.html", "<table", cells),
    "Python": ("P */*.py", r"^def ", python),
    "JavaScript": ("D **/*.js;P **/*.js", WRAPPED, brackets),
    "C": ("P **/*.h;P **/*.c", WRAPPED, brackets),
    "shell": ("D **/*.sh;D ../../../etc/init.d/*", WRAPPED, brackets),
    "SQL": ("P **/*.sql;D **/*.sql;D ../postgresql*/**/*.sql", "", lines),
    "logs": ("V *.log;V apt/*.log;D **/*.log;H .npm/_logs/*.log;S logs/*.log", "", lines),
    "tracebacks": (
        "P **/METADATA;P **/*.rst;P **/*.md;D **/*.txt;D **/*.rst;S **/*.rst;S **/*.md;L **/*.txt;"
        "L **/METADATA;U google-cloud-sdk/**/*.rst;U google-cloud-sdk/**/*.md",
        "^[ >]*Traceback",
        raised,
    ),
    "diffs": ("P **/*.patch;D **/*.patch;D **/*.diff;L ../../../../**/*.patch", r"^@@ ", hunks),
    "mails": (
        "S mail-parser*/**/mails/*;L test/test_email/data/*.txt",
        "",
        header,
    ),
    "chats": (
        "S irclog2html*/**/*.log;S **/*.vtt;S **/*.srt;S whatstk*/chats/**/*.txt",
        r"^\[?[\d/.-]*,? ?(?:[A-Z][a-z]{2} )?\d\d:\d\d",
        spoken,
    ),
    "front matter": (
        "P **/*.md;D **/*.md;U node_modules/npm/docs/**/*.md;S **/*.md",
        r"\A---\n[^-]*\n---\n",
        front,
    ),
}


def texts(where: str, needs: str) -> Iterator[tuple[str, str]]:
    """Names and texts of a kind."""
    found: set[str] = set()
    for place in where.split(";"):
        root, pattern = place.split(" ", 1)
        for file in sorted(ROOTS[root].glob(pattern)):
            if not file.is_file():
                continue
            try:
                text = file.read_text(encoding="utf-8")[: SIZES[1] if file.suffix in LONG else None]
            except (OSError, UnicodeDecodeError):
                continue
            fits = SIZES[0] <= len(text) <= SIZES[1] and re.search(needs, text, re.MULTILINE)
            if fits and text not in found:
                found.add(text)
                yield f"{file.parent.name}/{file.name}", text


def holds(rule: Rule, text: str, shown: str) -> bool:
    """Whether the rule holds; what cannot be read breaks it."""
    try:
        return rule(text, shown)
    except Exception:  # whatever a parser raises
        return False


def broken(rule: Rule, name: str, text: str) -> list[str]:
    """What a reader sees of random selections that break the rule."""
    draw = random.Random(name)
    context = ragsieve.load("finefilter").reader.context
    units = Blocks()(Query("?"), [Segment.whole(Document("d", text))])
    some = [[u for u in units if draw.random() < 1 / 3] for _ in range(TRIES)]
    shown = [context(kept) for kept in some if kept]
    return [one for one in shown if not holds(rule, text, one)]


def main(kinds: Sequence[str]) -> None:
    """Print the table; with one kind also what broke."""
    print("| kind | texts | with a breach | selections that break |\n|---|---|---|---|")
    for kind in kinds or KINDS:
        where, needs, rule = KINDS[kind]
        read = [*islice((one for one in texts(where, needs) if holds(rule, one[1], one[1])), TEXTS)]
        faults = {name: broken(rule, name, text) for name, text in read}
        texts_broken = sum(map(bool, faults.values()))
        many = sum(map(len, faults.values()))
        print(f"| {kind} | {len(read)} | {texts_broken} | {many} |", flush=True)
        for name, some in faults.items() if len(kinds) == 1 else ():
            for shown in some[:1]:
                print(f"\n== {name}\n{shown[:3000]}")


if __name__ == "__main__":
    main(sys.argv[1:])
