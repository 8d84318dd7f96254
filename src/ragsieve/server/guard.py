"""What stands before every route: host, token, share and body of a request, and its time."""

from __future__ import annotations

import asyncio
import hmac
import time
from collections import Counter
from collections.abc import Awaitable, Iterable
from contextlib import suppress
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ragsieve.server.faults import Fault
from ragsieve.server.metrics import Metrics
from ragsieve.server.settings import Settings

OPEN = frozenset({"/", "/health", "/ready", "/openapi.json"})
"""Paths that need no token: they tell nothing of what others ask."""

PROBES = frozenset({"/health", "/ready"})
"""Paths that answer however many requests a client has inside: a proxy may be all clients."""


_LEFT = 499  # what logs call a request whose client did not wait for the reply
_LAST_S = 0.05  # a reply's end and the client's leaving come together


class Guard:
    """Refuses what breaks a rule before any of it is read as JSON.

    Args:
        app: What answers the rest.
        settings: The rules.
        metrics: Told of every request.
        paths: Paths that are told by name.
    """

    def __init__(
        self, app: ASGIApp, *, settings: Settings, metrics: Metrics, paths: Iterable[str]
    ) -> None:
        self._app = app
        self._settings = settings
        self._metrics = metrics
        self._paths = frozenset(paths)
        self._tokens = [token.encode() for token in settings.tokens]
        self._hosts = frozenset(host.lower() for host in settings.hosts)
        self._inside: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """An ASGI application."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        status = _LEFT

        async def counted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._guarded(scope, receive, counted)
        except Exception:  # told to the client, and logged, by what stands before
            status = 500
            raise
        finally:
            path = scope["path"] if scope["path"] in self._paths else "other"
            self._metrics.ended(path, status, time.perf_counter() - began)

    async def _guarded(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.lower(): value for name, value in scope["headers"]}
        try:
            self._check_host(headers)
            token = "" if scope["path"] in OPEN else self._check_token(headers)
            client = token or str((scope.get("client") or [""])[0])
            most_inside = self._settings.limits.per_client
            if self._inside[client] >= most_inside and scope["path"] not in PROBES:
                most = f"per_client must be at most {most_inside}"
                raise Fault(429, "too_many_requests", f"{most}, so many are inside", retry_s=1)
            self._inside[client] += 1
        except Fault as fault:
            await fault.response(scope, receive, send)
            return
        try:
            body = await self._body(headers, receive)
        except Fault as fault:
            await fault.response(scope, receive, send)
        else:
            await _while_there(self._app(scope, _replayed(body, receive), send), receive)
        finally:
            self._inside[client] -= 1
            if not self._inside[client]:
                del self._inside[client]

    def _check_host(self, headers: dict[bytes, bytes]) -> None:
        if not self._hosts:
            return
        host = headers.get(b"host", b"").decode("latin-1").lower()
        name = host if host.endswith("]") else host.rpartition(":")[0] or host
        if name.strip("[]") not in self._hosts:
            known = ", ".join(sorted(self._hosts))
            raise Fault(400, "bad_host", f"the Host header must be one of {known}, got {host!r}")

    def _check_token(self, headers: dict[bytes, bytes]) -> str:
        """The token that the client showed; empty where none is asked for."""
        if not self._tokens:
            return ""
        kind, _, given = headers.get(b"authorization", b"").partition(b" ")
        known = [hmac.compare_digest(given.strip(), token) for token in self._tokens]
        if kind.lower() != b"bearer" or not any(known):
            raise Fault(401, "unauthorized", "a known token must come as Authorization: Bearer")
        return given.strip().decode("latin-1")

    async def _body(self, headers: dict[bytes, bytes], receive: Receive) -> bytes:
        limits = self._settings.limits
        most = int(limits.max_body_mb * 1e6)
        too_large = Fault(413, "body_too_large", f"max_body_mb must be at most {most / 1e6:g}")
        length = headers.get(b"content-length", b"0")
        if not length.isdigit():
            raise Fault(400, "invalid_request", f"Content-Length must be a number, got {length!r}")
        if len(length) > 15 or int(length) > most:
            raise too_large
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(limits.timeout_s):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Fault(400, "disconnected", "the client went away in its request")
                    size += len(part := message.get("body", b""))
                    if size > most:
                        raise too_large
                    parts.append(part)
                    if not message.get("more_body"):
                        return b"".join(parts)
        except TimeoutError as error:
            over = f"the body must come within timeout_s={limits.timeout_s:g}"
            raise Fault(408, "body_late", over) from error


async def _while_there(answering: Awaitable[None], receive: Receive) -> None:
    """Answer, but let go of it when the client goes away: what waits then makes room."""

    async def gone() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    task = asyncio.ensure_future(answering)
    watch = asyncio.ensure_future(gone())
    try:
        await asyncio.wait({task, watch}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            await asyncio.wait({task}, timeout=_LAST_S)  # its last bytes may be on their way
    finally:
        watch.cancel()
        if not task.done():
            task.cancel()
    with suppress(asyncio.CancelledError):
        await task


def _replayed(body: bytes, receive: Receive) -> Receive:
    """``receive`` behind a body that has been read."""
    sent = False

    async def again() -> dict[str, Any]:
        nonlocal sent
        if sent:
            return dict(await receive())
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
