"""Convert HTML to Markdown in a separate process, which can be ended: pages may be bombs.

html-to-markdown, not trafilatura or resiliparse: on real pages it alone kept all paragraphs and
table rows, and it tells where text is lost; but a hostile page of 1 MB keeps it busy for 10 s and
more, with every other thread waiting.

This file runs as that process, so it imports little.
"""

from __future__ import annotations

import atexit
import functools
import json
import math
import os
import re
import subprocess
import sys
import threading
import time
from contextlib import suppress
from typing import Any

from ragsieve.errors import InputError, SourceError, needs_extra, one_line

with needs_extra("html"):
    from html_to_markdown import (
        ConversionError,
        ConversionOptions,
        PreprocessingOptions,
        WarningKind,
        convert,
    )

_NO_TEXT = [
    *("nav", "footer", "aside", "dialog", "button", "select", "textarea", "input"),
    *("iframe", "object", "svg", "[aria-hidden=true]", "[role=navigation]", "[role=search]"),
    *("[role=contentinfo]", "[role=dialog]", "[role=menu]"),
]
_LOST = (WarningKind.DEPTH_LIMIT_EXCEEDED, WarningKind.TRUNCATED_INPUT)
_MEMORY = 4 << 30  # bytes
_HEAD = re.compile(r"</head|<body", re.IGNORECASE)
_HEAD_CHARS = 100_000
_LINK = re.compile("\x02([^\x02\x03]*)\x03")
_MARKS = {2: None, 3: None}
_ATTRIBUTES = r"""(?:"[^"]*"|'[^']*'|[^'">])*+"""
_TAG = re.compile(  # comments, scripts and styles are one match, to the page's end if unclosed
    rf"<!--.*?(?:-->|\Z)|<(script|style)\b{_ATTRIBUTES}(?<!/)>.*?(?:</\1\b|(?P<open>\Z))"
    rf"|<[a-z]{_ATTRIBUTES}>",
    re.IGNORECASE | re.DOTALL,
)
_NO_LETTERS = re.compile(r"[\W_]+")
_NO_ITEM = re.compile(r"[\s*+#>-]*")
_BLANK_LINES = re.compile(r"\n{3,}")


class _MarkLinks:
    """Puts each link's text between two control characters, and leaves out where it leads."""

    def visit_link(self, context: object, href: str, text: str, title: str) -> dict[str, str]:
        return {"type": "custom", "output": f"\x02{text}\x03"}


def to_markdown(html: str, *, name: str = "page", timeout_s: float = 10.0) -> tuple[str, str]:
    """Title and Markdown of an HTML page, menus, forms and scripts left out.

    Tables, lists and headings stay; of links, their text. Nothing is run or fetched.

    Args:
        html: The page, without control characters or lone surrogates; see `ragsieve.text.safe`.
        name: What an error calls it.
        timeout_s: Seconds until it is given up, finite and over 0.

    Raises:
        InputError: If the page cannot be read in that time and 4 GiB, or nests so deep that text
            of it would be lost.
        SourceError: If no process can be started.
    """
    if not 0 < timeout_s < math.inf:
        raise InputError(f"timeout_s must be finite and over 0, got {timeout_s!r}")
    reply = _process(os.getpid()).ask(html, timeout_s)
    if isinstance(reply, str):
        raise InputError(f"{name} must be an HTML page that can be read whole: {reply}")
    return reply


def convert_page(html: str) -> tuple[str, str]:
    """Convert a page in this process, however long it takes.

    Raises:
        ValueError: If the page cannot be read whole.
    """
    options = ConversionOptions(
        skip_images=True,
        extract_metadata=False,  # it would stand in the text
        exclude_selectors=_NO_TEXT,
        preprocessing=PreprocessingOptions(remove_forms=False),  # some sites are one big form
        autolinks=False,
        compact_tables=True,
        bullets="-",
    )
    marks: Any = _MarkLinks()  # the protocol names many methods, all of them optional
    html = _without_open_script(html)
    begin = _HEAD.search(html)
    head = html[: begin.start() if begin else None][:_HEAD_CHARS]
    try:
        metadata = convert(head).metadata
        page = convert(html, options, marks)
    except ConversionError as error:
        raise ValueError(str(error)) from error
    if lost := [warning.message for warning in page.warnings if warning.kind in _LOST]:
        raise ValueError(lost[0])
    return metadata.document.title or "" if metadata else "", without_menus(page.content or "")


def _without_open_script(html: str) -> str:
    """The page before a script or style that nothing closes: no browser shows what is behind."""
    tags = (tag.start() for tag in _TAG.finditer(html) if tag["open"] is not None)
    return html[: next(tags, None)]


def without_menus(markdown: str) -> str:
    """Markdown without menus and without the marks around links.

    A menu is two lines or more in a row that are links for the most part, or one line of three
    links or more and nothing else; headings and tables are none.
    """
    kept: list[str] = []
    run: list[str] = []  # what may be a menu, with the lines in it that say nothing
    lines = 0
    for line in markdown.split("\n"):
        text = line.translate(_MARKS)
        share = _linked(line)
        if share > 0.5:
            lines += 2 if share == 1 and line.count("\x02") > 2 else 1
            run.append(text)
        elif run and not _NO_LETTERS.sub("", text):
            run.append(text)
        else:
            kept += run if lines < 2 else [""]
            kept.append(text)
            run, lines = [], 0
    kept += run if lines < 2 else []
    cleaned = "\n".join("" if _NO_ITEM.fullmatch(text) else text for text in kept)
    return _BLANK_LINES.sub("\n\n", cleaned).strip()


def _linked(line: str) -> float:
    """Share of a line's letters that is in links; 0 for headings and rows."""
    if "\x02" not in line or line.lstrip().startswith(("|", "#")):
        return 0.0
    linked = len(_NO_LETTERS.sub("", "".join(_LINK.findall(line))))
    return linked / (len(_NO_LETTERS.sub("", line)) or 1)


class _Process:
    """A process that converts pages, one at a time; started when first asked."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: subprocess.Popen[str] | None = None
        atexit.register(self.end)

    def ask(self, page: str, timeout_s: float) -> tuple[str, str] | str:
        """Title and Markdown, or one line on why not."""
        with self._lock:
            running = self._running = self._running or _started()
            began = time.monotonic()
            timer = threading.Timer(timeout_s, running.kill)
            timer.start()
            reply = _exchange(running, json.dumps(page))
            timer.cancel()
            timer.join()
            late = time.monotonic() - began >= timeout_s
            if late or not reply:
                self.end()
        if not reply:
            return f"it takes over {timeout_s} s" if late else "it breaks the parser"
        title, text, error = json.loads(reply)
        return error or (title, text)

    def end(self) -> None:
        """Kill the process, if there is one; the next page starts another."""
        if running := self._running:
            self._running = None
            with suppress(OSError), running:  # a page that was not sent yet
                running.kill()


def _started() -> subprocess.Popen[str]:
    pipe, no = subprocess.PIPE, subprocess.DEVNULL
    command = [sys.executable, "-P", __file__]  # -P: files beside this one are no modules
    try:
        running = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=no, encoding="utf-8")
    except OSError as error:
        raise SourceError(f"no process to read HTML could be started: {error}") from error
    if not _exchange(running, json.dumps("")):
        with suppress(OSError), running:
            running.kill()
        raise SourceError("no process to read HTML could be started: it ended at once")
    return running


def _exchange(running: subprocess.Popen[str], line: str) -> str:
    """The line that comes back; empty where the process ends before it is complete."""
    assert running.stdin and running.stdout
    try:
        running.stdin.write(f"{line}\n")
        running.stdin.flush()
        reply = running.stdout.readline()
    except OSError:
        return ""
    return reply if reply.endswith("\n") else ""


@functools.cache
def _process(owner: int, /) -> _Process:  # noqa: ARG001
    """The one process of the process ``owner``, which must not share it with what it forks."""
    return _Process()


def _serve() -> None:
    """Answer pages, a line of JSON each, on standard input until it ends."""
    if sys.platform != "win32":
        import resource  # not on Windows

        with suppress(OSError, ValueError):  # a lower limit stands
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    for line in sys.stdin:
        try:
            reply = (*convert_page(json.loads(line)), "")
        except (ValueError, MemoryError) as error:
            reply = ("", "", one_line(error) or "it takes too much memory")
        sys.stdout.write(f"{json.dumps(reply)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _serve()
