"""JSON over HTTP for sources that ask an API: one host, checked addresses, everything bounded.

The protocol is httpcore's, which is httpx's own transport; `_Network` is what it connects through.
httpx alone has no public way to check the address that a connection goes to, and its timeouts
bound each read, not a request as a whole.
"""

from __future__ import annotations

import ipaddress
import json
import math
import re
import socket
import ssl
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from http import HTTPStatus
from typing import Any, Literal
from urllib.parse import quote, urlencode, urljoin, urlsplit

from ragsieve.errors import InputError, MissingExtra, NotFound, SourceError
from ragsieve.models import protocol
from ragsieve.text import safe

try:
    import httpcore
    import httpx
except ModuleNotFoundError as error:
    raise MissingExtra("httpx", extra="records") from error

__all__ = ["Http", "NotFound", "is_public"]

_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_TOKEN = re.compile(r"[!-~]+")
_VALUE = re.compile(r"[!-~]([ -~]*[!-~])?")
_OWN = {"host", "connection", "content-length", "transfer-encoding", "accept-encoding"}
_CHARSETS = ("iso-8859", "latin", "windows-", "gb", "big5", "shift_jis", "euc-", "koi8")
_REDIRECTS = (301, 302, 303, 307, 308)
_MOST_REDIRECTS = 3
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_GLOBAL = ipaddress.ip_network("2000::/3")  # of version 6: all else is special
_SHOWN = ipaddress.ip_network("3fff::/20")  # for documents (RFC 9637), which Python does not know


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
            if not reply.is_success:
                known = {status.value: f" {status.phrase}" for status in HTTPStatus}
                kind = NotFound if reply.status_code in (404, 410) else SourceError
                raise kind(f"it answers HTTP {reply.status_code}{known.get(reply.status_code, '')}")
            return _parsed(reply)
        except SourceError as error:
            raise type(error)(f"{shown} failed: {error}") from None
        except (TimeoutError, httpcore.TimeoutException):
            raise SourceError(f"{shown} failed: no reply within {self.timeout_s} s") from None
        except httpcore.ProtocolError as error:  # its text may be what was sent, key and all
            raise SourceError(f"{shown} failed: no HTTP ({type(error).__name__})") from None
        except httpcore.NetworkError as error:
            reason = getattr(error.args[0], "strerror", None) or type(error).__name__
            raise SourceError(f"{shown} failed: {safe(reason)}") from None

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return ssl.create_default_context()

    @property
    def _origin(self) -> str:
        parts = urlsplit(self.base_url)
        return f"{parts.scheme}://{parts.netloc}"

    def _followed(
        self, method: str, target: str, body: bytes | None, deadline: float
    ) -> httpx.Response:
        """The reply behind redirects that stay on the host."""
        for _ in range(_MOST_REDIRECTS + 1):
            reply = self._exchange(method, target, body, deadline)
            if reply.status_code not in _REDIRECTS:
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

    def _exchange(
        self, method: str, target: str, body: bytes | None, deadline: float
    ) -> httpx.Response:
        headers: dict[str | bytes, str | bytes] = {"Accept": "application/json"}
        headers.update(self.headers)
        headers |= {"Host": urlsplit(self.base_url).netloc}
        headers |= {"Connection": "close", "Accept-Encoding": "identity"}
        if body is not None:
            headers |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
        network = _Network(self.allow_private, deadline)
        tls = self._tls if self.base_url.lower().startswith("https:") else None  # slow to make
        with (
            httpcore.ConnectionPool(tls, network_backend=network) as pool,
            pool.stream(method, self._origin + target, headers=headers, content=body) as response,
        ):
            said = httpx.Headers(response.headers)
            content = self._body(response.iter_stream(), said.get("content-length", ""))
            kept = {name: said[name] for name in ("content-type", "location") if name in said}
            return httpx.Response(response.status, headers=kept, content=content)

    def _body(self, pieces: Iterable[bytes], length: str) -> bytes:
        content = bytearray()
        too_long = SourceError(f"its reply is longer than max_bytes={self.max_bytes}")
        if length and int(length) > self.max_bytes:
            raise too_long
        try:
            for piece in pieces:
                content += piece
                if len(content) > self.max_bytes:
                    raise too_long
        except httpcore.RemoteProtocolError:
            if not length:
                raise
            raise SourceError("its reply ends too early") from None
        return bytes(content)


class _Network(httpcore.NetworkBackend):
    """Connects to checked addresses of a host; every step ends when the request's time is over."""

    def __init__(self, allow_private: bool, deadline: float) -> None:
        self._allow_private = allow_private
        self._deadline = deadline

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Any = None,
    ) -> httpcore.NetworkStream:
        """A connection to the host's first address that is allowed and answers."""
        addresses = _resolved(host, port, self._deadline)
        allowed = [a for a in addresses if self._allow_private or is_public(a)]
        if not allowed:
            raise SourceError(f"its address {addresses[0]} is private (allow_private=False)")
        for address in allowed:
            try:
                stream = httpcore.SyncBackend().connect_tcp(address, port, _left(self._deadline))
                return _Stream(stream, self._deadline)
            except httpcore.ConnectError:
                if address == allowed[-1]:
                    raise
        raise AssertionError("unreachable")


class _Stream(httpcore.NetworkStream):
    """A connection that ends at a deadline, however many bytes drip in till then."""

    def __init__(self, stream: httpcore.NetworkStream, deadline: float) -> None:
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _left(self._deadline))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, _left(self._deadline))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: Any = None, timeout: Any = None
    ) -> httpcore.NetworkStream:
        left = _left(self._deadline)
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, left), self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


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


def _parsed(reply: httpx.Response) -> Any:
    charset = (reply.charset_encoding or "").lower()
    try:
        known = charset.startswith(_CHARSETS)  # else JSON itself tells its UTF
        return json.loads(reply.content.decode(charset) if known else reply.content)
    except (LookupError, ValueError, RecursionError):
        kind = safe(reply.headers.get("content-type", ""))[:40]
        raise SourceError(f"its reply is no JSON, but {len(reply.content)} B of {kind!r}") from None
