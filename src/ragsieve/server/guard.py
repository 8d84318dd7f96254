"""Middleware before every route: check host, token, share and body of a request."""

import asyncio
import hmac
import re
import time
from collections import Counter
from collections.abc import Awaitable, Iterable
from contextlib import ExitStack, suppress
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ragsieve.server.faults import ENDING, Fault
from ragsieve.server.metrics import Metrics
from ragsieve.server.settings import Settings
from ragsieve.server.strict import PARSED_BYTES
from ragsieve.server.work import LARGE_BYTES, large

OPEN = frozenset({"/", "/health", "/ready", "/openapi.json"})
"""Paths that need no token: they tell nothing of what others ask."""

PROBES = frozenset({"/health", "/ready"})
"""Paths that answer however many requests a client has inside: a proxy may be all clients."""

_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^:/?#@\[\]\s]*)(:[0-9]{1,5})?", re.ASCII)
_LEFT = 499  # what logs call a request whose client did not wait for the reply
_HELD = 8  # bodies of the largest size
_LAST_S = 0.05  # a reply's end and the client's leaving come together


class Guard:
    """Refuses what breaks a rule before any of it is read as JSON.

    Args:
        app: What answers the rest.
        settings: The rules.
        metrics: Counts every request.
        paths: Paths that are counted by name.
    """

    def __init__(
        self, app: ASGIApp, *, settings: Settings, metrics: Metrics, paths: Iterable[str]
    ) -> None:
        self._app, self._settings, self._metrics = app, settings, metrics
        self._paths = frozenset(paths)
        self._tokens = [token.encode() for token in settings.tokens]
        self._hosts = frozenset(host.lower() for host in settings.hosts)
        self._inside: Counter[str] = Counter()
        self._held = 0

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
        except asyncio.CancelledError:  # the server ends
            if status == _LEFT:
                await ENDING.response(scope, receive, counted)
        except Exception:  # the middleware above answers and logs it
            status = 500
            raise
        finally:
            path = scope["path"] if scope["path"] in self._paths else "other"
            self._metrics.ended(path, status, time.perf_counter() - began)

    async def _guarded(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            self._check_host(request)
            with ExitStack() as stack:  # of what is counted while it is inside
                self._enter(scope["path"], self._client(request), stack)
                body = await self._body(request, stack)
                large.set(len(body) > LARGE_BYTES)
                await _while_there(self._app(scope, _replayed(body, receive), send), receive)
        except Fault as fault:
            await fault.response(scope, receive, send)

    def _check_host(self, request: Request) -> None:
        host = request.headers.get("host", "").lower()
        parts = _HOST.fullmatch(host)
        if not parts:
            raise Fault(400, "bad_host", f"the Host header must be a name and a port, got {host!r}")
        if self._hosts and parts[1].strip("[]") not in self._hosts:
            known = ", ".join(sorted(self._hosts))
            raise Fault(400, "bad_host", f"the Host header must be one of {known}, got {host!r}")

    def _client(self, request: Request) -> str:
        """The token that a client showed; its address where none is needed."""
        if not self._tokens or request.scope["path"] in OPEN:
            return request.client.host if request.client else ""
        kind, _, value = request.headers.get("authorization", "").partition(" ")
        value = value if kind.lower() == "bearer" else request.headers.get("x-api-key", "")
        token = value.strip().encode("latin-1")
        known = [hmac.compare_digest(token, one) for one in self._tokens]
        if not any(known):
            how = "Authorization: Bearer, or as x-api-key"
            raise Fault(401, "unauthorized", f"a known token must come as {how}")
        return value.strip()

    def _enter(self, path: str, client: str, stack: ExitStack) -> None:
        """Count a request of a client until the stack is closed.

        Raises:
            Fault: 429 if as many are inside as may be.
        """
        most = self._settings.limits.per_client
        if self._inside[client] >= most and path not in PROBES:
            message = f"per_client must be at most {most}, so many are inside"
            raise Fault(429, "too_many_requests", message, retry_s=1)
        self._count(client, 1)
        stack.callback(self._count, client, -1)

    def _count(self, client: str, requests: int) -> None:
        self._inside += Counter({client: requests})  # which forgets a client that has none

    def _hold(self, size: int) -> None:
        self._held += size

    async def _body(self, request: Request, stack: ExitStack) -> bytes:
        """The body, whose bytes count as held until the stack is closed.

        Raises:
            Fault: If it breaks a rule; 503 if it is large, and one too many.
        """
        limits = self._settings.limits
        most = int(limits.max_body_mb * 1e6)
        too_large = Fault(413, "body_too_large", f"max_body_mb must be at most {most / 1e6:g}")
        length = request.headers.get("content-length", "0")
        if not length.isdecimal():
            raise Fault(400, "invalid_request", f"Content-Length must be a number, got {length!r}")
        if len(length) > 15 or int(length) > most:
            raise too_large
        if (packed := request.headers.get("content-encoding", "identity")).lower() != "identity":
            message = f"Content-Encoding must be identity, got {packed!r:.80}"
            raise Fault(415, "invalid_request", message)
        full = f"bodies inside must have at most {_HELD * most / 1e6:g} MB in all"
        body = bytearray()
        try:
            async with asyncio.timeout(limits.timeout_s):
                async for part in request.stream():
                    self._hold(len(part))
                    stack.callback(self._hold, -len(part))
                    body += part
                    if len(body) > most:
                        raise too_large
                    if len(body) > PARSED_BYTES and self._held > _HELD * most:
                        raise Fault(503, "bodies_full", full, retry_s=2)
        except ClientDisconnect as error:
            raise Fault(400, "disconnected", "the client went away in its request") from error
        except TimeoutError as error:
            late = f"the body must come within timeout_s={limits.timeout_s:g}"
            raise Fault(408, "body_late", late) from error
        return bytes(body)


async def _while_there(answering: Awaitable[None], receive: Receive) -> None:
    """Answer, but stop when the client goes away, so that others need not wait for it."""

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
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task  # also where this is cancelled: a stream has an event to send


def _replayed(body: bytes, receive: Receive) -> Receive:
    """``receive`` behind a body that has been read."""
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> dict[str, Any]:
        return messages.pop() if messages else dict(await receive())

    return again
