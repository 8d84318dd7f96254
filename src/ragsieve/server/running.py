"""Run a server until a signal, then finish what runs."""

import asyncio
import ctypes
import logging
import math
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from ragsieve.errors import InputError, translated
from ragsieve.server.settings import Settings

HEAD_BYTES = 65_536
"""Bytes of a request's head; over them 400."""

HEAD_S = 10.0
"""Seconds until a connection is closed whose head is not whole, or that sends on after a reply."""


def _files() -> int:
    """Files that may be open at once."""
    with suppress(ModuleNotFoundError):  # as on Windows
        import resource

        return min(resource.getrlimit(resource.RLIMIT_NOFILE)[0] % 2**31, 1 << 16)
    return 512


CONNECTIONS = _files() // 2
"""Connections at once; one more is closed, since asyncio spins where no file is left for it."""

_MALLOC = {-8: 2, -3: 1 << 20}  # arenas, and bytes from which a block is given back when freed
_SWITCH_S = 0.001  # so long a request's thread waits for one that computes, each time


class HeadLimited(H11Protocol):
    """HTTP/1.1 on a connection that is closed where a request's head does not come in time."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """See asyncio."""
        super().connection_made(transport)
        if len(self.connections) > CONNECTIONS:
            transport.abort()
            return
        self._watch()

    def data_received(self, data: bytes) -> None:
        """See asyncio."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio."""
        super().connection_lost(exc)
        if self._timer:
            self._timer.cancel()

    def _watch(self) -> None:
        sends = self.conn.their_state is h11.SEND_BODY
        answered = self.cycle is not None and self.cycle.response_complete
        waits = self.conn.their_state is h11.IDLE or (sends and answered)  # nothing is read of it
        if waits and not self._timer:
            self._timer = self.loop.call_later(HEAD_S, self.transport.close)
        elif not waits and self._timer:
            self._timer.cancel()
            self._timer = None


class _Server(uvicorn.Server):
    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """See uvicorn, which ends at once at a second interrupt alone."""
        super().handle_exit(signal.SIGINT, frame)


def config(app: FastAPI, settings: Settings) -> uvicorn.Config:
    """Configuration of uvicorn: quiet, with limits for heads, and time to finish."""
    return uvicorn.Config(
        app,
        http=HeadLimited,
        backlog=max(1, CONNECTIONS // 4),  # what is accepted before any is closed
        h11_max_incomplete_event_size=HEAD_BYTES,
        log_level="warning",
        access_log=False,
        ws="none",
        server_header=False,
        timeout_graceful_shutdown=math.ceil(settings.grace_s),
    )


def run(
    app: FastAPI, host: str, port: int, settings: Settings, *, on_start: Callable[[str], object]
) -> int:
    """Serve until interrupted or terminated, then end what runs; how many threads are still busy.

    Args:
        app: Of `create_app`.
        host: The address to listen at.
        port: Its port; 0 for a free one.
        settings: Requests that run at the first signal have ``grace_s`` to end; a second one ends
            them at once.
        on_start: Called with the address, in a line, once the server listens there.

    Raises:
        InputError: If it cannot listen there.
    """
    logging.getLogger("ragsieve.server").setLevel(logging.WARNING)
    sys.setswitchinterval(_SWITCH_S)
    with suppress(OSError, AttributeError):  # a C library without: see mallopt(3)
        for parameter, value in _MALLOC.items():
            ctypes.CDLL(None).mallopt(parameter, value)
    with translated(InputError, "--host and --port must be free to listen at", OSError):
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host, port), family=family, backlog=2048)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    with listener, suppress(KeyboardInterrupt):  # the signal that has ended it comes once more
        address, port, *_ = listener.getsockname()
        name = f"[{address}]" if ":" in address else address
        on_start(f"ragsieve serves at http://{name}:{port}")  # it listens: who comes is answered
        _Server(config(app, settings)).run([listener])
    return int(app.state.service.work.inside)
