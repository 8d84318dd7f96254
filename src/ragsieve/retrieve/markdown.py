"""HTML to Markdown, in a process of its own that can be ended: pages may be bombs.

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
from contextlib import suppress
from typing import IO, Any, Literal, TypedDict

from html_to_markdown import (
    ConversionError,
    ConversionOptions,
    PreprocessingOptions,
    WarningKind,
    convert,
)

from ragsieve.errors import InputError, SourceError

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
_NO_LETTERS = re.compile(r"[\W_]+")
_NO_ITEM = re.compile(r"[\s*+#>-]*")
_BLANK_LINES = re.compile(r"\n{3,}")


class _MarkLinks:
    """Puts each link's text between two control characters, and leaves out where it leads."""

    class Text(TypedDict):
        type: Literal["custom"]
        output: str

    def visit_link(self, context: object, href: str, text: str, title: str) -> Text:
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
    reply = _process(os.getpid()).ask(html.encode(), timeout_s)
    if isinstance(reply, str):
        raise InputError(f"{name} must be an HTML page that can be read whole: {reply}")
    return reply


def convert_page(html: str) -> tuple[str, str]:
    """What `to_markdown` gives, here and now, however long it takes.

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
    begin = _HEAD.search(html)
    head = html[: begin.start() if begin else None][:_HEAD_CHARS]
    try:
        metadata = convert(head).metadata
        found = convert(html, options, marks)
    except ConversionError as error:
        raise ValueError(str(error)) from error
    if lost := [warning.message for warning in found.warnings if warning.kind in _LOST]:
        raise ValueError(lost[0])
    return metadata.document.title or "" if metadata else "", without_menus(found.content or "")


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
    shown = "\n".join("" if _NO_ITEM.fullmatch(text) else text for text in kept)
    return _BLANK_LINES.sub("\n\n", shown).strip()


def _linked(line: str) -> float:
    """Which share of a line's letters is in links; 0 for headings and rows."""
    if "\x02" not in line or line.lstrip().startswith(("|", "#")):
        return 0.0
    linked = len(_NO_LETTERS.sub("", "".join(_LINK.findall(line))))
    return linked / (len(_NO_LETTERS.sub("", line)) or 1)


class _Process:
    """A process that converts pages, one at a time; started when first asked."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: subprocess.Popen[bytes] | None = None

    def ask(self, page: bytes, timeout_s: float) -> tuple[str, str] | str:
        """Title and Markdown, or one line on why not."""
        with self._lock:
            running = self._started()
            late = threading.Event()

            def end() -> None:
                late.set()
                running.kill()

            timer = threading.Timer(timeout_s, end)
            timer.start()
            assert running.stdin and running.stdout
            reply = None
            try:
                _send(running.stdin, page)
                reply = _receive(running.stdout)
            except OSError:  # it has ended
                pass
            finally:
                timer.cancel()
                timer.join()
                if reply is None or late.is_set():
                    self._end()
        if reply is None:
            return f"it takes over {timeout_s} s" if late.is_set() else "it breaks the parser"
        title, text, error = json.loads(reply)
        return error or (title, text)

    def _started(self) -> subprocess.Popen[bytes]:
        if self._running is None:
            pipe, no = subprocess.PIPE, subprocess.DEVNULL
            command = [sys.executable, "-P", __file__]  # -P: files beside this one are no modules
            try:
                self._running = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=no)
            except OSError as error:
                raise SourceError(f"no process to read HTML could be started: {error}") from error
            atexit.register(self._end)
            assert self._running.stdout
            if _receive(self._running.stdout) is None:
                self._end()
                raise SourceError("no process to read HTML could be started: it ended at once")
        return self._running

    def _end(self) -> None:
        atexit.unregister(self._end)
        if running := self._running:
            self._running = None
            running.kill()
            running.wait()
            for stream in (running.stdin, running.stdout):
                with suppress(OSError):  # what was not sent yet
                    if stream:
                        stream.close()


@functools.cache
def _process(owner: int, /) -> _Process:  # noqa: ARG001
    """The one process of the process ``owner``, which must not share it with what it forks."""
    return _Process()


def _send(stream: IO[bytes], message: bytes) -> None:
    stream.write(len(message).to_bytes(8, "big") + message)
    stream.flush()


def _receive(stream: IO[bytes]) -> bytes | None:
    """The next message; None where there is none."""
    header = stream.read(8)
    size = int.from_bytes(header, "big")
    message = stream.read(size) if len(header) == 8 else b""
    return message if len(header) == 8 and len(message) == size else None


def _serve() -> None:
    """Answer pages on standard input until it ends."""
    if sys.platform != "win32":
        import resource  # not on Windows

        with suppress(OSError, ValueError):  # a lower limit stands
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    _send(sys.stdout.buffer, b"ready")
    while (page := _receive(sys.stdin.buffer)) is not None:
        try:
            reply = (*convert_page(page.decode()), "")
        except (ValueError, MemoryError) as error:
            reply = ("", "", " ".join(str(error).split()) or "it takes too much memory")
        _send(sys.stdout.buffer, json.dumps(reply).encode())


if __name__ == "__main__":
    _serve()
