"""Prompts: one template a file, and the layout of evidence in it.

A template has a line ``## role`` before each turn, and ``$name`` where a value goes. Turns are
separated before values are inserted, and values are inserted once: nothing in a document can open a
turn or name another value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from itertools import groupby
from string import Template

from ragsieve.errors import InputError
from ragsieve.formats import text_of
from ragsieve.models.base import LLM, Message, Prompt
from ragsieve.registry import points
from ragsieve.trace import note
from ragsieve.types import Segment

GROUP = "ragsieve.prompts"
"""Group of the entry points by which other packages add templates; each names a package."""

FRAME = 64  # tokens of the chat format around the contents, at most
WORD = 8  # characters that count as a word, where a text has no spaces

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
    packages = (__package__, *(point.value for point in points(GROUP)))
    paths = (files(package) / f"{name}.md" for package in packages)
    if (path := next((path for path in paths if path.is_file()), None)) is None:
        raise InputError(f"prompt must name a file of {', '.join(packages)}, got {name!r}")
    parts = _TURN.split(path.read_text(encoding="utf-8"))
    return tuple(
        (role, Template(text.strip())) for role, text in zip(parts[1::2], parts[2::2], strict=True)
    )


_TITLE = 500


def context(segments: Sequence[Segment]) -> str:
    """Evidence as a reader reads it: a paragraph a document, its title before its kept spans.

    See `ragsieve.formats.joined` for how spans are put together. No span is changed.
    """
    paragraphs = []
    for _, group in groupby(segments, key=lambda segment: segment.document.id):
        spans = list(group)
        title = spans[0].document.title
        paragraphs.append(f"{title}: {text_of(spans)}" if title else text_of(spans))
    return "\n\n".join(paragraphs)


def titled(segment: Segment) -> str:
    """The segment behind its document's title, which says what its pronouns speak of.

    Of a title over 500 characters these alone, since every sentence of the document has it.
    """
    title = segment.document.title[:_TITLE]
    return f"{title}: {segment.text}" if title else segment.text


def numbered(texts: Sequence[str]) -> str:
    """Texts as a list ``[1] …``, each on one line, so that none can pass for another's line."""
    return "\n".join(f"[{n}] {' '.join(text.split())}" for n, text in enumerate(texts, 1))


def quoted(text: str) -> str:
    """A text as a JSON string on one line: it ends where its quotes end, whatever it holds."""
    return json.dumps(" ".join(text.split()), ensure_ascii=False)


def shown(text: str, chars: int) -> str:
    """The same of a text's first so many characters, with a mark where there are more."""
    return quoted(text if len(text) <= chars else f"{text[:chars]} …")


def first_words(text: str, words: int) -> str:
    """The first so many words of a text, on one line."""
    return " ".join(text[: WORD * words].split()[:words])


def words_in(text: str) -> int:
    """Of how many words `first_words` reads all of a text."""
    return max(len(text.split()), -(-len(text) // WORD))


def begun(text: str, words: int) -> str:
    """The first so many words of a text as a JSON string, with a mark where there are more."""
    return quoted(text if words_in(text) <= words else f"{first_words(text, words)} …")


def fitting(
    llm: LLM, make: Callable[[int], Prompt], words: int, reply: int, *, least: int = 1
) -> Prompt:
    """The prompt of ``make`` with so many words of each passage, fewer where they do not fit.

    Args:
        llm: Whose context prompt and reply share.
        make: The prompt with the first so many words of each passage.
        words: So many at most; at least 1.
        reply: Tokens of the reply.
        least: So many in any case, also where they do not fit.
    """
    budget = llm.context - reply - FRAME

    def size(prompt: Prompt) -> int:
        return sum(llm.count([turn.content for turn in prompt]))

    prompt = make(words)
    if (used := size(prompt)) > budget:
        frame = size(make(least))
        while used > budget and words > least:
            share = (budget - frame) / max(1, used - frame)
            words = max(least, min(words - 1, least + int((words - least) * share)))
            prompt = make(words)
            used = size(prompt)
        note(f"{words} words of each passage are read: more do not fit the context")
    return prompt
