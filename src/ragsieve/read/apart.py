"""Read strangers' files in a process of their own, which can be ended: files may be bombs."""

import atexit
import functools
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ragsieve.errors import InputError, SourceError, one_line, translated

MAX_REPLY = 1 << 26
"""Bytes of a file's text as JSON in ASCII, at most: 64 MiB."""


def ask(script: str, request: Any, name: str, timeout_s: float) -> Any:
    """What a script, which ends in `serve`, makes of a request; its process reads one at a time.

    Args:
        script: The path of the file.
        request: A JSON value.
        name: What an error says cannot be read.
        timeout_s: Seconds until it is given up.

    Raises:
        InputError: If it cannot be read in that time and 4 GiB, or makes more than `MAX_REPLY`.
        SourceError: If no process can be started.
    """
    value, error = _process(os.getpid(), script).ask(json.dumps(request), timeout_s)
    if error:
        raise InputError(f"{name}: {error}")
    return value


def serve(read: Callable[[Any], Any], memory: int = 4 << 30) -> None:
    """Answer requests, a line of JSON each, on standard input until it ends.

    Args:
        read: Raises `ValueError` where a request cannot be read.
        memory: Bytes at most.
    """
    if sys.platform != "win32":
        import resource  # not on Windows

        with suppress(OSError, ValueError):  # a lower limit stands
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    for line in sys.stdin:
        try:
            reply = read(json.loads(line)) if line.strip() else None, ""
        except (ValueError, MemoryError) as error:
            reply = None, one_line(error) or "it takes too much memory"
        line = json.dumps(reply)
        if len(line) > MAX_REPLY:
            line = json.dumps((None, "it holds too much text"))
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


class _Process:
    """A process that reads files, one at a time; started when first asked."""

    def __init__(self, script: str) -> None:
        self._script = script
        self._lock = threading.Lock()
        self._running: subprocess.Popen[str] | None = None
        atexit.register(self.end)

    def ask(self, line: str, timeout_s: float) -> tuple[Any, str]:
        """A value, or one line on why there is none."""
        with self._lock:
            running = self._running = self._running or _started(self._script)
            began = time.monotonic()
            timer = threading.Timer(timeout_s, running.kill)
            timer.start()
            reply = _exchange(running, line)
            timer.cancel()
            timer.join()
            late = time.monotonic() - began >= timeout_s
            if late or not reply:
                self.end()
        if not reply:
            return None, f"it takes over {timeout_s} s" if late else "it breaks the parser"
        value, error = json.loads(reply)
        return value, error

    def end(self) -> None:
        """Kill the process, if there is one; the next file starts another."""
        if running := self._running:
            self._running = None
            with suppress(OSError), running:  # a file that was not sent yet
                running.kill()


def _started(script: str) -> subprocess.Popen[str]:
    pipe, no = subprocess.PIPE, subprocess.DEVNULL
    command = [sys.executable, "-P", script]  # -P: files beside this one are no modules
    with translated(SourceError, "no process to read files could be started", OSError):
        running = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=no, encoding="utf-8")
    if not _exchange(running, ""):
        with suppress(OSError), running:
            running.kill()
        raise SourceError("no process to read files could be started: it ended at once")
    return running


def _exchange(running: subprocess.Popen[str], line: str) -> str:
    """The line that comes back; empty where the process ends before it is complete."""
    assert running.stdin and running.stdout
    with suppress(OSError):
        running.stdin.write(f"{line}\n")
        running.stdin.flush()
        reply = running.stdout.readline()
        return reply if reply.endswith("\n") else ""
    return ""


@functools.cache
def _process(owner: int, script: str, /) -> _Process:  # noqa: ARG001
    """The one process of the process ``owner``, which must not share it with what it forks."""
    return _Process(script)
