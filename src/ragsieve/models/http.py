"""HTTP of model servers: bounded in time and size; a refused connection is tried once more."""

import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from ragsieve.errors import needs_extra
from ragsieve.models.protocol import OVERFLOW
from ragsieve.timeouts import deadline, seconds_left

with needs_extra("openai"):
    import openai

MAX_REPLY = 1 << 25  # bytes of a reply's body at most: 32 MiB

FORMAT = b'"response_format":'
_AGAIN_S = 0.5  # after which a refused connection is tried once more

refused: ContextVar[list[int] | None] = ContextVar("refused", default=None)
"""Statuses of refusals of a request so far."""


class Ended(BaseException):
    """Ends a request for good: the client tries again after any `Exception`.

    Args:
        what: Why; empty where its time is over.
        away: Whether the server takes no connection.
    """

    def __init__(self, what: str = "", *, away: bool = False) -> None:
        super().__init__(what)
        self.what, self.away = what, away


def said_done(response: Any) -> bool:
    """Whether a streamed reply ended with what the protocol ends with."""
    return bool(getattr(response.stream, "tail", b"").rstrip().endswith(b"[DONE]"))


class Events(openai.Stream[object]):
    """Events of a streamed reply; one without data says nothing, by WHATWG's server-sent events."""

    def _iter_events(self) -> Iterator[Any]:
        return (event for event in super()._iter_events() if event.data)


class Client(openai.DefaultHttpxClient):
    """A client of one server: what sends a request with a body tries a refused connection twice."""

    def __init__(self) -> None:
        hooks: Any = {"request": [_limit_time], "response": [_limit_body]}
        super().__init__(follow_redirects=False, event_hooks=hooks)

    def send(self, request: Any, **options: Any) -> Any:
        """As the client's own.

        Raises:
            Ended: If the server takes no connection.
        """
        again = request.method == "POST"
        while True:
            try:
                return super().send(request, **options)
            except Exception as error:  # one of two libraries'
                if not (why := _no_connection(error)):
                    raise
                if not again:
                    raise Ended(f"no connection: {why}", away=True) from error
            again = False
            time.sleep(min(_AGAIN_S, seconds_left() or 0.0))


def _no_connection(error: BaseException | None) -> OSError | None:
    """What the system says of a connection that it refused at once."""
    where = type(error).__name__
    while error and where == "ConnectError":
        if isinstance(error, OSError) and not isinstance(error, TimeoutError):
            return error
        error = error.__cause__ or error.__context__
    return None


def _limit_time(request: Any) -> None:
    """Let no step of an attempt take longer than there is time, and none begin behind it."""
    left = seconds_left() or 0.0  # there is always an end
    if not left:
        raise Ended
    steps = request.extensions.get("timeout", {})
    request.extensions["timeout"] = {k: min(v or left, left) for k, v in steps.items()}


def _limit_body(response: Any) -> None:
    if response.status_code >= 400 and (statuses := refused.get()) is not None:
        statuses.append(response.status_code)
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        response.close()
        raise Ended("the reply is compressed, though it was asked for as it is")
    raw = response.extensions["network_stream"].get_extra_info("socket")
    body = type("Body", (_Limited, *type(response.stream).__bases__), {})  # httpx's, or httpx2's
    response.stream = body(response.stream, raw, deadline())
    if response.status_code == 500 and (
        FORMAT in response.request.content or OVERFLOW.search(str(response.read()))
    ):
        response.headers["x-should-retry"] = "false"  # the form or length may be what it fails at


@dataclass
class _Limited:
    """A reply's body of at most `MAX_REPLY` bytes, until a moment."""

    inner: Any
    raw: socket.socket | None
    ends: float
    whole: bool = False
    tail: bytes = b""

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for part in self.inner:
            size += len(part)
            if size > MAX_REPLY:
                raise Ended(f"the reply is longer than {MAX_REPLY} bytes")
            if time.monotonic() >= self.ends:
                raise Ended
            self.tail = (self.tail + part)[-64:]
            yield part
        self.whole = True

    def close(self) -> None:
        """Close it; a thread that waits for more of it ends."""
        if not self.whole and self.raw:
            with suppress(OSError):
                self.raw.shutdown(socket.SHUT_RDWR)
        self.inner.close()
