"""Lines of configuration: YAML, TOML, INI, .env and properties, each an entry or a part of one."""

import re
from dataclasses import dataclass, replace

_NAME = (
    r"(?:(?:[\w-][\w.-]{0,60}\.)?(?:\"[^\"\n]{1,80}\"|'[^'\n]{1,80}')(?:\.[\w.-]{1,40})?"
    r"|[\w$./@*+<>~-][\w$./@*+<>~\[\]{}-]{0,80}(?: [\w./-]+){0,2})"
)
YAML = re.compile(rf"(?P<name>{_NAME})[ ]?:(?=\s|$)[ \t]*(?P<value>.*)")
_PAIR = re.compile(rf"(?:export )?(?P<name>{_NAME})[ \t]*[=:](?![=>])[ \t]*(?P<value>.*)")
SECTION = re.compile(r"\[(?P<each>\[)?(?P<name>[^\[\]\n]{1,120})\]\]?[ \t]*(?:[#;].*)?$")
COMMENT = re.compile(r"[#;!]|%YAML")
RULE = re.compile(r"(?:---|\.\.\.)[ \t]*(?:#.*)?$")
_BLOCK = re.compile(r"(?:[&!]\S+[ \t]+)*[|>][-+\d]*[ \t]*(?:#.*)?$")
_OPENS = re.compile(r"(?:[&!]\S+[ \t]*)*(?:#.*)?$")  # a key without a value


@dataclass(slots=True)
class Line:
    """A line that is not blank, and what is open around it."""

    start: int
    end: int
    indent: float
    text: str
    blank: bool  # whether a blank line stands above
    opens: str = ""  # the sign by which it opens a block
    quoted: bool = False  # whether it begins in a string or comment, or goes on
    before: int = 0  # open brackets where it begins
    low: int = 0  # the fewest in it
    after: int = 0  # at its end


class EntryLines:
    """Reads lines of configuration: those that go on are ``quoted``, items lines of their own.

    Args:
        pairs: Whether entries are ``name = value``, below sections.
    """

    def __init__(self, pairs: bool) -> None:
        self.pairs = pairs
        self.lines: list[Line] = []
        self.names: list[str] = []
        self.outer: list[str] = []
        self.dashes, self.nested, self.rules = 0, False, False
        self.depth = 0  # brackets of a value that are open
        self.quotes = ""  # what ends a value of several lines
        self.block = -1.0  # indentation of a key whose value is the lines below
        self.key = -1.0  # the same of the last entry
        self.arrays: list[str] = []

    def add(self, line: Line) -> bool:
        """Read a line; False where it is no entry."""
        if self.depth or self.quotes or line.indent > self.block >= 0:
            self._goes_on(line.text)
            self.lines.append(replace(line, quoted=True))
            return True
        self.block = -1.0
        if COMMENT.match(line.text) or RULE.match(line.text):
            rule = bool(RULE.match(line.text))
            self.lines.append(replace(line, indent=-1.0) if rule else line)
            self.rules |= rule and len(self.lines) > 1
            self.lines[-1].opens = ":" * rule
            return True
        section = SECTION.match(line.text) if self.pairs else None
        if section:
            while self.arrays and not section["name"].startswith(f"{self.arrays[-1]}."):
                self.arrays.pop()
            self.lines.append(replace(line, indent=len(self.arrays) / 100 - 2, opens=":"))
            self.arrays += [section["name"]] * bool(section["each"])
            self.nested = True
            return True
        return self._entry(line)

    def _entry(self, line: Line) -> bool:
        rest, at, indent = line.text, line.start, line.indent
        while not self.pairs and (rest == "-" or rest.startswith("- ")):
            inner = rest[1:].lstrip()
            step = len(rest) - len(inner)
            self.lines.append(replace(line, start=at, end=at + 1, indent=indent + 0.5, text="-"))
            self.lines[-1].opens = ":"
            self.dashes += 1
            rest, at, indent = inner, at + step, indent + step
            self.key = indent - step + 0.5
        if not rest:
            return True
        line = replace(line, start=at, indent=indent, text=rest)
        match = (_PAIR if self.pairs else YAML).match(rest)
        if not match:
            on = bool(self.lines) and indent > max(self.key, 0.0 if self.pairs else -1.0)
            line.quoted = on and self.lines[-1].end != at - 2
            self.lines.append(line)
            return on
        self.names.append(match["name"])
        self.outer += [match["name"]] * (indent == 0 and not self.rules)
        self.key = indent
        value = match["value"]
        line.opens = ":" * bool(not self.pairs and _OPENS.match(value))
        self.nested |= bool(line.opens)
        self.lines.append(line)
        if not self.pairs and _BLOCK.match(value):
            self.block = indent
        elif self.pairs and value.endswith("\\"):
            self.quotes = "\\"
        elif value[:3] in ('"""', "'''") and value.count(value[:3]) == 1:
            self.quotes = value[:3]
        elif value[:1] in ("[", "{"):
            self._goes_on(value)
        return True

    def _goes_on(self, line: str) -> None:
        if self.quotes == "\\":
            self.quotes = "\\" * line.endswith("\\")
        elif self.quotes:
            self.quotes = "" if self.quotes in line else self.quotes
        elif self.block < 0:
            plain = re.sub(r"\"(?:[^\"\\]|\\.)*\"|'[^']*'|#.*", "", line)
            opened = sum(plain.count(one) for one in "[{") - sum(plain.count(one) for one in "]}")
            self.depth = max(0, self.depth + opened)
