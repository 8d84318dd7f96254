"""Logs: the lines that tell of an error, with their neighbours, where a question may need them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragsieve.structure.linearize import content_words, words
from ragsieve.structure.lines import lines_of
from ragsieve.structure.tree import places
from ragsieve.types import Key, Query, Segment, Span, grouped

_LEAST = 3  # lines of a log
_LOOKED = 200  # lines by which a text is known as one
_SHARE = 0.3  # of these that begin as lines of a log do
_MOST = 10  # errors of a text that are kept, each kind once
_LINE = re.compile(
    r".{0,40}?\d\d:\d\d:\d\d|\[ *\d+\.\d+\]|[IWEF]\d{4} |\[ *\d+%\]|#\d+ \d|make(?:\[\d+\])?: |"
    r"\S+:\d+:(?:\d+:)? |(?:gcc|cc|g\+\+|clang) -|"
    r"\W?(?:\d+ )?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL|silly|verbose|info|"
    r"warn|error|http|notice|debug)\b[\]: ]"
)
_LEVEL = re.compile(
    r"\b(?:INFO|DEBUG|NOTICE|level=info|I \d+ \d+)\b|^(?:\d+ )?(?:info|verbose|silly) ",
    re.MULTILINE,
)
_SEVERE = re.compile(
    r"\b(?:ERROR|FATAL|CRITICAL|SEVERE|EMERG|PANIC|FAILED)\b|(?:level|severity)=(?:error|fatal)|"
    r"^(?:\d+ |npm )?(?:error|ERR!)\s|^[EF]\d{4} |\[(?:error|crit|alert|emerg)\]|"
    r"^\w[\w.]*(?:Error|Exception)\b(?:: |$)|: \*\*\* |: (?:fatal )?error: "
)
_TOLD = re.compile(
    r"\b[Ff]ail(?:ed|ure)\b|\b[Ff]atal\b|\b[Ee]rror\b|\bsegfault\b|\b[Pp]anic\b|\bOut of memory\b|"
    r"\b[Cc]annot\b|\bcould not\b|\brefused\b|\btimed out\b|\b[Pp]ermission denied\b"
)
_NONE = re.compile(
    r"\b(?:0|no) (?:\w+ )?(?:errors?|fail)|\b(?:errors?|fail(?:ed|ures?))\b\W{1,3}0\b|: 0$",
    re.IGNORECASE,
)
_NUMBERS = re.compile(r"\b[\da-fA-F-]*\d[\da-fA-F-]*\b")
_TROUBLE = re.compile(
    r"\b(?:why|wrong|error|fail|crash|problem|trouble|issue|exception|broke|abort|panic|fatal|cause|"
    r"bug|debug|happen|summar|diagnos|fix)",
    re.IGNORECASE,
)


def error_keys(query: Query, segments: Sequence[Segment]) -> set[Key]:
    """Keys of what tells of an error in a log, and of the two segments beside each.

    Each kind of error counts once, ten in all. Where the question asks for no trouble, and the log
    has its words, only errors that have them count. A text that is no log has none.
    """
    documents = grouped(segments, lambda s: s.document.id).values()
    return {key for some in documents for key in _keys(query.text, some, beside=1)}


def trouble_keys(question: str, segments: Sequence[Segment]) -> set[Key]:
    """Keys of what tells of an error in one log; none where a question asks for no trouble."""
    return _keys(question, segments, beside=0) if _TROUBLE.search(question) else set()


def _keys(question: str, segments: Sequence[Segment], beside: int) -> set[Key]:
    """Keys of what has an error, and of as many beside it."""
    some = sorted(segments, key=lambda segment: segment.start)
    found = _errors(question, some[0].document.text, [(s.start, s.end) for s in some])
    return {s.key for n, s in enumerate(some) if any(abs(n - one) <= beside for one in found)}


def _errors(question: str, text: str, spans: Sequence[Span]) -> set[int]:
    """Places of the spans that have an error of a log."""
    if text.count("\n") < _LEAST - 1:
        return set()
    lines = [line for line in lines_of(text) if line.text]
    looked = lines[:_LOOKED]
    stamped = sum(bool(_LINE.match(line.text)) for line in looked)
    if stamped < max(_LEAST, _SHARE * len(looked)):
        return set()
    named = content_words(question) & words(text) if not _TROUBLE.search(question) else set()
    asked = {word for word in named if not word.isdecimal()}  # numbers are in every stamp
    levels = any(_LEVEL.search(line.text) for line in looked)
    kinds: dict[str, Span] = {}
    for line in lines:
        if _tells(line.text, levels) and (not asked or asked & words(line.text)):
            kinds.setdefault(_NUMBERS.sub("", line.text), (line.start, line.end))
        if len(kinds) == _MOST:
            break
    return {n for span in kinds.values() for n in places(spans, *span)}


def _tells(line: str, levels: bool) -> bool:
    """Whether a line is an error: by its level where the log has levels, else by its words."""
    told = _SEVERE.search(line) or (not levels and _TOLD.search(line))
    return bool(told) and not _NONE.search(line)
