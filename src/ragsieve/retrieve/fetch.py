"""A small safe HTTP client for sources that ask an API: one host, JSON, everything bounded."""

from __future__ import annotations

import http.client
import ipaddress
import json
import math
import re
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from http import HTTPStatus
from typing import Any, Literal, NamedTuple
from urllib.parse import quote, urlencode, urljoin, urlsplit

from ragsieve.errors import InputError, SourceError
from ragsieve.models import protocol
from ragsieve.text import safe

_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_TOKEN = re.compile(r"[!-~]+")
_VALUE = re.compile(r"[!-~]([ -~]*[!-~])?")
_OWN = {"host", "connection", "content-length", "transfer-encoding", "accept-encoding"}
_REDIRECTS = (301, 302, 303, 307, 308)
_MOST_REDIRECTS = 3
_PIECE = 65_536  # bytes
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_GLOBAL = ipaddress.ip_network("2000::/3")  # of version 6: all else is special
_SHOWN = ipaddress.ip_network("3fff::/20")  # for documents (RFC 9637), which Python does not know


class NotFound(SourceError):
    """The server has nothing at a path (HTTP 404 or 410)."""


class _Reply(NamedTuple):
    status: int
    headers: Mapping[str, str]
    content: bytes


@dataclass(frozen=True)
class Http:
    """JSON from one host; nothing in an error or a repr tells a key.

    The host is resolved for each request, and the connection goes to an address that was checked,
    under the host's own name (TLS). A redirect is followed within the same scheme, host and port
    only. No proxy, no cookie, no compression.

    Args:
        base_url: What stands before every path: ``http(s)://host[:port][/path]``.
        timeout_s: Seconds for a request as a whole, from its name's resolution to the last byte.
        max_bytes: Size of a reply's body; at least 1.
        headers: Sent with every request; where keys go.
        allow_private: Whether the host may be this machine or in a network of its own.

    Raises:
        InputError: If an option breaks its rule.
    """

    base_url: str
    timeout_s: float = field(default=10.0, kw_only=True)
    max_bytes: int = field(default=5_000_000, kw_only=True)
    headers: Mapping[str, str] = field(default_factory=dict, kw_only=True, repr=False, hash=False)
    allow_private: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "base_url", self.base_url.rstrip("/"))
        if not (protocol.is_plain_url(self.base_url) and _TOKEN.fullmatch(self.base_url)):
            secret = set("@?") & set(self.base_url)
            shown = "one with '@' or '?' (not shown)" if secret else repr(self.base_url)
            raise InputError(f"base_url must be http(s)://host[:port][/path], got {shown}")
        if not 0 < self.timeout_s < math.inf:
            raise InputError(f"timeout_s must be finite and over 0, got {self.timeout_s!r}")
        if self.max_bytes < 1:
            raise InputError(f"max_bytes must be at least 1, got {self.max_bytes!r}")
        for name, value in self.headers.items():
            if not _NAME.fullmatch(name) or name.lower() in _OWN:
                raise InputError(f"headers must not name {name!r}")
            if not _VALUE.fullmatch(value):
                raise InputError(f"header {name!r} must be printable ASCII (value not shown)")

    def get_json(self, path: str, params: Mapping[str, str | int | float] | None = None) -> Any:
        """What a GET of ``path`` gives.

        Args:
            path: Behind ``base_url``; has no ``.`` or ``..`` between slashes.
            params: Sent as the query.

        Raises:
            InputError: If ``path`` breaks its rule.
            NotFound: If there is nothing at ``path``.
            SourceError: If the host cannot be asked, must not be, or sends no JSON in time.
        """
        query = urlencode(params, errors="replace") if params else ""
        return self._json("GET", self._target(path) + (f"?{query}" if query else ""), None)

    def post_json(self, path: str, body: Any) -> Any:
        """What a POST of ``body`` as JSON to ``path`` gives; a redirect is an error.

        Raises:
            InputError: If ``path`` breaks its rule or ``body`` is no JSON.
            SourceError: As `get_json`.
        """
        try:
            sent = json.dumps(body).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise InputError(f"the body must be JSON: {error}") from error
        return self._json("POST", self._target(path), sent)

    def _target(self, path: str) -> str:
        path = path.lstrip("/")
        if any(part in (".", "..") for part in re.split(r"[/\\]|%2f|%5c", path.lower())):
            raise InputError(f"path must not go up or stay, got {path!r}")
        shown = quote(path, safe="/:@!$&'()*+,;=~", errors="replace")
        return f"{urlsplit(self.base_url).path}/{shown}"

    def _json(self, method: Literal["GET", "POST"], target: str, body: bytes | None) -> Any:
        deadline = time.monotonic() + self.timeout_s
        shown = self._origin + target.partition("?")[0]
        try:
            reply = self._followed(method, target, body, deadline)
            if not 200 <= reply.status < 300:
                known = {status.value: f" {status.phrase}" for status in HTTPStatus}
                kind = NotFound if reply.status in (404, 410) else SourceError
                raise kind(f"it answers HTTP {reply.status}{known.get(reply.status, '')}")
            return _parsed(reply)
        except SourceError as error:
            raise type(error)(f"{shown} failed: {error}") from None
        except TimeoutError:
            raise SourceError(f"{shown} failed: no reply within {self.timeout_s} s") from None
        except http.client.HTTPException as error:  # its text may be what was sent, key and all
            raise SourceError(f"{shown} failed: no HTTP ({type(error).__name__})") from None
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise SourceError(f"{shown} failed: {safe(reason)}") from None

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return ssl.create_default_context()

    @property
    def _origin(self) -> str:
        parts = urlsplit(self.base_url)
        return f"{parts.scheme}://{parts.netloc}"

    def _followed(self, method: str, target: str, body: bytes | None, deadline: float) -> _Reply:
        """The reply behind redirects that stay on the host."""
        for _ in range(_MOST_REDIRECTS + 1):
            reply = self._exchange(method, target, body, deadline)
            if reply.status not in _REDIRECTS:
                return reply
            try:
                aim = urlsplit(urljoin(self._origin + target, reply.headers.get("location", "")))
                origin = f"{aim.scheme}://{aim.netloc}"
            except ValueError:
                raise SourceError("it redirects to what is no URL") from None
            if origin.lower() != self._origin.lower():
                raise SourceError(f"it redirects to another host, {safe(origin)[:80]!r}")
            if method != "GET":
                raise SourceError("it redirects a POST")
            target = quote(aim.path or "/", safe="/%:@!$&'()*+,;=~")
            target += f"?{quote(aim.query, safe='/%:@!$&()*+,;=~?')}" if aim.query else ""
        raise SourceError(f"it redirects more than {_MOST_REDIRECTS} times")

    def _exchange(self, method: str, target: str, body: bytes | None, deadline: float) -> _Reply:
        parts = urlsplit(self.base_url)
        headers = {"Accept": "application/json", **self.headers, "Host": parts.netloc}
        headers |= {"Connection": "close", "Accept-Encoding": "identity"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        with closing(self._connected(deadline)) as connection, _cut(connection, deadline):
            wire = http.client.HTTPConnection(parts.hostname or "")
            wire.sock = connection
            wire.request(method, target, body, headers)
            with closing(wire.getresponse()) as response:
                told = {name.lower(): value for name, value in response.getheaders()}
                return _Reply(response.status, told, self._body(response))

    def _body(self, response: http.client.HTTPResponse) -> bytes:
        found = bytearray()
        too_long = SourceError(f"its reply is longer than max_bytes={self.max_bytes}")
        if (response.length or 0) > self.max_bytes:
            raise too_long
        while piece := response.read1(_PIECE):
            found += piece
            if len(found) > self.max_bytes:
                raise too_long
        if response.length:
            raise SourceError("its reply ends too early")
        return bytes(found)

    def _connected(self, deadline: float) -> socket.socket:
        """A connection to an address that was checked, and by no other name than the host's."""
        parts = urlsplit(self.base_url)
        host = parts.hostname or ""
        port = parts.port or (443 if parts.scheme == "https" else 80)
        found = _resolved(host, port, deadline)
        allowed = [a for a in found if self.allow_private or is_public(a)]
        if not allowed:
            raise SourceError(f"its address {found[0]} is private (allow_private=False)")
        for place, address in enumerate(allowed):
            try:
                connection = socket.create_connection((address, port), _left(deadline))
                break
            except TimeoutError:
                raise
            except OSError:
                if place == len(allowed) - 1:
                    raise
        if parts.scheme != "https":
            return connection
        try:
            connection.settimeout(_left(deadline))
            return self._tls.wrap_socket(connection, server_hostname=host)
        except BaseException:
            connection.close()
            raise


def is_public(address: str) -> bool:
    """Whether an IP address is on the open Internet, also where it wraps one of version 4."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (ip.teredo or (None, None))[1]
        if ip in _NAT64:
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is not None and not is_public(str(inner)):
            return False
        if ip.ipv4_mapped or ip in _NAT64:
            return True
        if ip not in _GLOBAL or ip in _SHOWN:
            return False
    return ip.is_global and not ip.is_multicast


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _resolved(host: str, port: int, deadline: float) -> list[str]:
    """Addresses of a host, in the system's order; asked in a thread, because it has no timeout."""
    found: list[Any] = []

    def ask() -> None:
        try:
            found.append(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:
            found.append(error)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(_left(deadline))
    if not found:
        raise TimeoutError
    if isinstance(found[0], Exception):
        raise SourceError("its host has no address")
    return list(dict.fromkeys(str(place[4][0]) for place in found[0]))


@contextmanager
def _cut(connection: socket.socket, deadline: float) -> Iterator[None]:
    """End the connection when its time is over, however many bytes drip in till then."""
    late = threading.Event()

    def end() -> None:
        late.set()
        with suppress(OSError):  # it has ended
            socket.socket.shutdown(connection, socket.SHUT_RDWR)  # not TLS's, which is no end

    connection.settimeout(_left(deadline) + 1)  # the timer ends it before
    timer = threading.Timer(_left(deadline), end)
    timer.daemon = True
    timer.start()
    try:
        yield
    except (OSError, http.client.HTTPException, SourceError) as error:
        if late.is_set():
            raise TimeoutError from error
        raise
    finally:
        timer.cancel()
        timer.join()
    if late.is_set():
        raise TimeoutError


def _parsed(reply: _Reply) -> Any:
    try:
        return json.loads(reply.content)
    except (ValueError, RecursionError):
        kind = safe(reply.headers.get("content-type", ""))[:40]
        raise SourceError(f"its reply is no JSON, but {len(reply.content)} B of {kind!r}") from None
