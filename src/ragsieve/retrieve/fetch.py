"""Fetch JSON over HTTP for APIs: one host, checked addresses, bounded bytes and time.

The protocol is httpcore's, which is httpx's own transport; `_Network` is what it connects through.
httpx alone has no public way to check the address that a connection goes to.
"""

from __future__ import annotations

import ipaddress
import json
import math
import re
import socket
import ssl
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal
from urllib.parse import quote, urlencode, urlsplit

from ragsieve.errors import (
    InputError,
    NotFound,
    SourceError,
    check_positive,
    check_range,
    needs_extra,
)
from ragsieve.models import protocol
from ragsieve.retrieve.threads import start
from ragsieve.text import legacy_charset, safe

with needs_extra("records"):
    import httpcore
    import httpx

__all__ = ["Http", "NotFound", "is_public"]

_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_TOKEN = re.compile(r"[!-~]+")
_VALUE = re.compile(r"[!-~]([ -~]*[!-~])?")
_OWN = {"host", "connection", "content-length", "transfer-encoding", "accept-encoding"}
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_GLOBAL = ipaddress.ip_network("2000::/3")  # of version 6: all else is special, and in it
_SPECIAL = [ipaddress.ip_network(n) for n in ("2001::/32", "2002::/16", "3fff::/20")]


@dataclass(frozen=True)
class Http:
    """JSON from one host; nothing in an error or a repr tells a key.

    The host is resolved for each request, and the connection goes to an address that was checked,
    under the host's own name (TLS). No redirect, no proxy, no cookie, no compression.

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
        check_positive(self, timeout_s=math.inf)
        check_range(self, max_bytes=(1, None))
        for name, value in self.headers.items():
            if not _NAME.fullmatch(name) or name.lower() in _OWN:
                raise InputError(f"headers must not name {name!r}")
            if not _VALUE.fullmatch(value):
                raise InputError(f"header {name!r} must be printable ASCII (value not shown)")

    def get_json(self, path: str, params: Mapping[str, str | int | float] | None = None) -> Any:
        """GET ``path``, and read the JSON that comes back.

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
        """POST ``body`` as JSON to ``path``, and read the JSON that comes back.

        Raises:
            InputError: If ``path`` breaks its rule or ``body`` is no JSON.
            SourceError: As `get_json`.
        """
        try:
            content = json.dumps(body).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise InputError(f"the body must be JSON: {error}") from error
        return self._json("POST", self._target(path), content)

    def _target(self, path: str) -> str:
        path = path.lstrip("/")
        if any(part in (".", "..") for part in re.split(r"[/\\]|%2f|%5c", path.lower())):
            raise InputError(f"path must not go up or stay, got {path!r}")
        quoted = quote(path, safe="/:@!$&'()*+,;=~", errors="replace")
        return f"{urlsplit(self.base_url).path}/{quoted}"

    def _json(self, method: Literal["GET", "POST"], target: str, body: bytes | None) -> Any:
        url = self._origin + target.partition("?")[0]
        tls = self._tls if self.base_url.lower().startswith("https:") else None  # slow to make
        pool = httpcore.ConnectionPool(tls, network_backend=_Network(self.allow_private))
        try:  # in a thread: each step has a timeout of its own, but bytes may drip in for ever
            return _parsed(
                start(lambda: self._exchange(pool, method, target, body)).result(self.timeout_s)
            )
        except SourceError as error:
            raise type(error)(f"{url} failed: {error}") from None
        except (TimeoutError, httpcore.TimeoutException):
            raise SourceError(f"{url} failed: no reply within {self.timeout_s} s") from None
        except httpcore.ProtocolError as error:  # its text may be what was sent, key and all
            raise SourceError(f"{url} failed: no HTTP ({type(error).__name__})") from None
        except httpcore.NetworkError as error:
            reason = getattr(error.args[0], "strerror", None) or type(error).__name__
            raise SourceError(f"{url} failed: {safe(reason)}") from None
        finally:
            pool.close()  # a thread that is late ends at its next byte

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return ssl.create_default_context()

    @property
    def _origin(self) -> str:
        parts = urlsplit(self.base_url)
        return f"{parts.scheme}://{parts.netloc}"

    def _exchange(
        self, pool: httpcore.ConnectionPool, method: str, target: str, body: bytes | None
    ) -> httpx.Response:
        headers: dict[str | bytes, str | bytes] = {"Accept": "application/json"}
        headers.update(self.headers)
        headers |= {"Host": urlsplit(self.base_url).netloc}
        headers |= {"Connection": "close", "Accept-Encoding": "identity"}
        if body is not None:
            headers |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
        timeouts = dict.fromkeys(("connect", "read", "write", "pool"), self.timeout_s)
        with pool.stream(
            method,
            self._origin + target,
            headers=headers,
            content=body,
            extensions={"timeout": timeouts},
        ) as response:
            received = httpx.Headers(response.headers)
            content = self._body(response.iter_stream(), received.get("content-length", ""))
            kind = {"content-type": received.get("content-type", "")}  # all: nothing is unpacked
            return httpx.Response(response.status, headers=kind, content=content)

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


class _Network(httpcore.SyncBackend):
    """Connects to addresses of a host that were checked."""

    def __init__(self, allow_private: bool) -> None:
        self._allow_private = allow_private

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """A connection to the host's first address that is allowed and answers."""
        addresses = _resolved(host, port)
        allowed = [a for a in addresses if self._allow_private or is_public(a)]
        if not allowed:
            raise SourceError(f"its address {addresses[0]} is private (allow_private=False)")
        *others, last = allowed
        for address in others:
            with suppress(httpcore.ConnectError):
                return super().connect_tcp(address, port, timeout, local_address, socket_options)
        return super().connect_tcp(last, port, timeout, local_address, socket_options)


def is_public(address: str) -> bool:
    """Whether an IP address is on the open Internet; tunnels of version 4 in 6 never count."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped or ip in _NAT64:
            return is_public(str(ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)))
        if ip not in _GLOBAL or any(ip in network for network in _SPECIAL):
            return False
    return ip.is_global and not ip.is_multicast


def _resolved(host: str, port: int) -> list[str]:
    """Addresses of a host, in the system's order."""
    try:
        places = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise SourceError("its host has no address") from None
    return list(dict.fromkeys(str(place[4][0]) for place in places))


def _parsed(reply: httpx.Response) -> Any:
    if not reply.is_success:
        kind = NotFound if reply.status_code in (404, 410) else SourceError
        status = f"{reply.status_code} {httpx.codes.get_reason_phrase(reply.status_code)}"
        raise kind(f"it answers HTTP {status}".rstrip())
    charset = legacy_charset(reply.charset_encoding or "")  # else JSON itself tells its UTF
    try:
        return json.loads(reply.content.decode(charset) if charset else reply.content)
    except (ValueError, RecursionError):
        media = safe(reply.headers.get("content-type", ""))[:40]
        raise SourceError(
            f"its reply is no JSON, but {len(reply.content)} B of {media!r}"
        ) from None
