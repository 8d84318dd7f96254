"""Code blocks of the README and of docs/, each with its output and the packages that it needs.

A line ``pip install 'ragsieve[serve]'`` in a block opens a section: its block and those below need
that. So does ``<!-- install: ragsieve[serve] -->``, which shows nothing on the page. The section
ends where the next one begins; before the first, a page needs ``ragsieve`` alone. A line that
installs other packages adds them to its section. ``<!-- not run: REASON -->`` stands above a block
that no test can run.
"""

import re
import shlex
import tomllib
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
MARK = re.compile(r"<!-- (install|not run): (.+?) -->")
INCLUDED = re.compile(r'^--8<-- "(.+)"$')
OUTPUT = ("text", "json")
EXTRAS = re.compile(r"ragsieve\[([\w,-]+)\]")
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

Packages = frozenset[str]
"""Extras as ``[NAME]``, and other packages by their names."""
CORE = frozenset()


class Block(NamedTuple):
    """A code block, with the block that stands right behind it, where that is output."""

    language: str
    text: str
    output: str = ""
    line: int = 0
    needs: Packages = CORE
    not_run: str = ""

    @property
    def lines(self):
        """The commands of an ``sh`` block, without comments of a whole line."""
        joined = self.text.replace("\\\n", " ").splitlines()
        return [line for line in joined if line.strip() and not line.startswith("#")]

    @property
    def included(self):
        """The script that the block shows, if it does."""
        match = INCLUDED.match(self.text.strip())
        return match[1] if match else ""


def blocks(text):
    """The blocks of a page that are no output of others."""
    matches = list(BLOCK.finditer(text))
    found = []
    needs, taken, end = CORE, -1, 0
    for place, match in enumerate(matches):
        marks = dict(MARK.findall(text[end : match.start()]))
        end = match.end()
        if place == taken:
            continue
        after = matches[place + 1] if place + 1 < len(matches) else None
        output = ""
        if (
            after
            and match[2] in ("python", "sh")
            and after[2] in OUTPUT
            and not text[match.end() : after.start()].strip()
        ):
            output, taken = dedented(after), place + 1
        line = text.count("\n", 0, match.start()) + 1
        block = Block(match[2], dedented(match), output, line, not_run=marks.get("not run", ""))
        if "install" in marks:
            needs = installed([f"pip install {marks['install']}"], needs)
        if block.language == "sh":
            needs = installed(block.lines, needs)
        found.append(block._replace(needs=needs))
    return found


def dedented(match):
    """A block's text without the indentation of the list that it may stand in."""
    return "".join(line.removeprefix(match[1]) for line in match[3].splitlines(keepends=True))


def installed(lines, before):
    """What is there after these commands.

    Raises:
        ValueError: If two of them name ragsieve: which is it, that the blocks below need?
    """
    needs, named = before, False
    for line in lines:
        words = shlex.split(line, comments=True)
        if words[:2] != ["pip", "install"]:
            continue
        ours = [word for word in words[2:] if re.match(r"ragsieve(\[|$)", word)]
        if ours and named:
            raise ValueError(f"a block must install ragsieve once, got {line!r} as well")
        extras = {f"[{e}]" for word in ours for own in EXTRAS.findall(word) for e in own.split(",")}
        others = {word for word in words[2:] if word not in ours}
        needs = frozenset(extras | others) if ours else needs | others
        named = named or bool(ours)
    return needs


BLOCKS = {
    page.relative_to(ROOT).as_posix(): blocks(page.read_text(encoding="utf-8")) for page in PAGES
}


def write_files(folder):
    """Write the texts that the pages speak of."""
    sample = ROOT / "src" / "ragsieve_research" / "datasets" / "sample.jsonl"
    (folder / "questions.jsonl").write_bytes(sample.read_bytes())
    (folder / "page.html").write_text("<p>Koechlin drew it.", encoding="utf-8")
    (folder / "token.txt").write_text("0123456789abcdef", encoding="utf-8")
    (folder / "notes.txt").write_text("Koechlin drew it.", encoding="utf-8")
