"""A server that runs an application until it is told to stop, and finishes what runs."""

from __future__ import annotations

import logging
import signal
import socket
import threading
from collections.abc import Callable
from contextlib import suppress

from fastapi import FastAPI

from ragsieve.errors import InputError, MissingExtra
from ragsieve.server.settings import Settings

try:
    import uvicorn
except ModuleNotFoundError as error:
    raise MissingExtra(error.name or "uvicorn", extra="serve") from error


class _Server(uvicorn.Server):
    """Says where it answers once it does."""

    def __init__(self, config: uvicorn.Config, tell: Callable[[str], object]) -> None:
        super().__init__(config)
        self._tell = tell

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for one in self.servers:
            for listening in one.sockets:
                host, port = listening.getsockname()[:2]
                self._tell(
                    f"ragsieve serves at http://{f'[{host}]' if ':' in host else host}:{port}"
                )


def run(
    app: FastAPI, host: str, port: int, settings: Settings, *, tell: Callable[[str], object]
) -> int:
    """Serve until interrupted or terminated, then end what runs; how many threads are still busy.

    Args:
        app: Of `create_app`.
        host: The address to listen at.
        port: Its port; 0 for a free one.
        settings: Requests that run when it is told to stop have ``limits.timeout_s`` to end.
        tell: Told the address, in a line, once it answers there.

    Raises:
        InputError: If it cannot listen there.
    """
    logging.getLogger("ragsieve.server").setLevel(logging.WARNING)
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise InputError(f"--host and --port must be free to listen at: {error}") from error
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=int(settings.limits.timeout_s) + 1,
    )
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    with listening, suppress(KeyboardInterrupt):  # the signal that has ended it comes once more
        _Server(config, tell).run([listening])
    busy: int = app.state.service.work.inside
    return busy
