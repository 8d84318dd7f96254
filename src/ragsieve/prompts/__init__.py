"""Prompts: one template a file, and the layout of evidence in it.

A template has a line ``## role`` before each turn, and ``$name`` where a value goes. Turns are
separated before values are inserted, and values are inserted once: nothing in a document can open a
turn or name another value.
"""

import re
from collections.abc import Sequence
from functools import cache
from itertools import groupby
from operator import attrgetter
from string import Template

from ragsieve.errors import InputError
from ragsieve.models.base import Message, Prompt
from ragsieve.registry import points
from ragsieve.structure import outline, text_of
from ragsieve.types import FILE, Document, Segment

GROUP = "ragsieve.prompts"
"""Group of the entry points by which other packages add templates; each names a package."""

FRAME = 64  # tokens of the chat format around the contents, at most

_TURN = re.compile(r"^## (system|user|assistant)\n", re.MULTILINE)


def render(name: str, **values: str) -> Prompt:
    """The prompt that template ``name`` makes of ``values``.

    Raises:
        InputError: If there is no such template, or it has a place for which no value was given.
    """
    try:
        return tuple(Message(role, template.substitute(values)) for role, template in _turns(name))
    except KeyError as error:
        raise InputError(f"prompt {name!r} needs a value for {error.args[0]!r}") from error


@cache
def _turns(name: str) -> tuple[tuple[str, Template], ...]:
    from importlib.resources import files  # of calls of an LLM

    packages = (__package__, *(point.value for point in points(GROUP)))
    paths = (files(package) / f"{name}.md" for package in packages)
    if (path := next((path for path in paths if path.is_file()), None)) is None:
        raise InputError(f"prompt must name a file of {', '.join(packages)}, got {name!r}")
    parts = _TURN.split(path.read_text(encoding="utf-8"))
    turns = zip(parts[1::2], parts[2::2], strict=True)
    return tuple((role, Template(text.strip())) for role, text in turns)


_TITLE = 500
# fences, small tables
_OPENS = re.compile(r"\s*+(?:```|~~~|#{1,6}[ \t]|[|│┃║<]|\+[-=+]{2}|[^\n\t]*+\t.*\n)")


def context(segments: Sequence[Segment]) -> str:
    """Evidence as a reader reads it: a paragraph a document, its title before its kept spans.

    One of several files has its name on a line before. Headings, fences, tables and whatever is
    structured begin a line of their own behind the title, which is written on one line. See
    `ragsieve.structure.joined` for how spans are put together. No span is changed.
    """
    groups = groupby(segments, key=attrgetter("document.id"))
    return "\n\n".join("".join(paragraph([*group])) for _, group in groups)


def paragraph(spans: Sequence[Segment]) -> tuple[str, str]:
    """What `context` has of the kept spans of a document: what its title makes, and their text."""
    title, text = title_of(spans[0].document), text_of(spans)
    gap = "\n" if title and (_OPENS.match(text) or _structured(spans[0])) else " "
    return _file(spans[0].document) + (f"{title}:{gap}" if title else ""), text


def _file(document: Document) -> str:
    """The line that names its file; empty where it has none, or none is to be shown."""
    name = document.metadata.get(FILE, "")
    shown = document.layout.file_names == "shown" and isinstance(name, str) and name.strip()
    return f"[{' '.join(name[:_TITLE].split())}]\n" if shown else ""


def _structured(segment: Segment) -> bool:
    """Whether it begins in a structured region."""
    first = segment.end - len(segment.text.lstrip())
    return any(r.start <= first < r.end for r in outline(segment.document.text, small=True))


def title_of(document: Document, most: int | None = None) -> str:
    """Its title on one line, so that it opens no paragraph; of the first ``most`` characters."""
    return " ".join(document.title[:most].split())


def titled(segment: Segment) -> str:
    """The segment behind its document's title, which says what its pronouns speak of.

    Of a title over 500 characters these alone, since every sentence of the document has it.
    """
    title = title_of(segment.document, _TITLE)
    return f"{title}: {segment.text}" if title else segment.text
