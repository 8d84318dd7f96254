"""Fetch JSON over HTTP for APIs: one host, checked addresses, bounded bytes and time.

httpx asks the address that was checked, under the host's own name.
"""

import ipaddress
import json
import re
import socket
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import quote, urlencode

from ragsieve.errors import InputError, NotFound, SourceError, needs_extra
from ragsieve.models import protocol
from ragsieve.schema import Count, Seconds, check_options
from ragsieve.text import legacy_charset, safe
from ragsieve.timeouts import check_time, deadline, seconds_left, start, until

with needs_extra("records"):
    import httpx

__all__ = ["Http", "NotFound", "is_public"]

_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_TOKEN = r"[!-~]+"
_VALUE = re.compile(r"[!-~]([ -~]*[!-~])?")
_OWN = {"host", "connection", "content-length", "transfer-encoding", "accept-encoding"}
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_GLOBAL = ipaddress.ip_network("2000::/3")  # of version 6: all else is special, and in it
_NETS = ("192.88.99.0/24", "2001::/32", "2002::/16", "3fff::/20")
_SPECIAL = [*map(ipaddress.ip_network, _NETS)]


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
    timeout_s: Seconds = field(default=10.0, kw_only=True)
    max_bytes: Count = field(default=5_000_000, kw_only=True)
    headers: Mapping[str, str] = field(default_factory=dict, kw_only=True, repr=False, hash=False)
    allow_private: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "base_url", self.base_url.rstrip("/"))
        protocol.check_url("base_url", self.base_url, _TOKEN)
        try:
            httpx.URL(self.base_url).host  # noqa: B018 - it is decoded here
        except (httpx.InvalidURL, UnicodeError) as error:
            raise InputError(f"base_url must name a host, got {self.base_url!r}") from error
        check_options(self)
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
            Overdue: At the deadline (`ragsieve.timeouts.until`), where that is earlier.
        """
        query = urlencode(params, errors="replace") if params else ""
        return self._json("GET", path, query)

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
        return self._json("POST", path, content=content)

    def _url(self, path: str) -> httpx.URL:
        path = path.lstrip("/")
        if any(part in (".", "..") for part in re.split(r"[/\\]|%2f|%5c", path.lower())):
            raise InputError(f"path must not go up or stay, got {path!r}")
        quoted = quote(path, safe="/:@!$&'()*+,;=~", errors="replace")
        return httpx.URL(f"{self.base_url}/{quoted}")

    def _json(self, method: str, path: str, query: str = "", content: bytes | None = None) -> Any:
        url = self._url(path)
        verify = self._tls if url.scheme == "https" else False  # slow to make
        client = httpx.Client(verify=verify, trust_env=False, timeout=self.timeout_s)
        try:  # in a thread: each step has a timeout of its own, but bytes may drip in for ever
            whole = url.copy_with(query=query.encode() or None)
            with until(time.monotonic() + self.timeout_s):
                exchange = start(lambda: self._exchange(client, method, whole, content))
                return exchange.result(seconds_left())
        except SourceError as error:
            raise type(error)(f"{url} failed: {error}") from None
        except (TimeoutError, httpx.TimeoutException):
            check_time(deadline())
            raise SourceError(f"{url} failed: no reply within {self.timeout_s} s") from None
        except httpx.ProtocolError as error:  # its text may be what was sent, key and all
            raise SourceError(f"{url} failed: no whole HTTP ({type(error).__name__})") from None
        except httpx.NetworkError as error:
            raise SourceError(f"{url} failed: {safe(str(error)) or 'no connection'}") from None
        finally:
            client.close()  # a thread that is late ends at its next byte

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return ssl.create_default_context()

    def _exchange(
        self, client: httpx.Client, method: str, url: httpx.URL, content: bytes | None
    ) -> Any:
        headers = {"Accept": "application/json", **self.headers}
        headers |= {"Host": url.netloc.decode(), "Connection": "close"}
        headers |= {"Accept-Encoding": "identity"}
        if content is not None:
            headers |= {"Content-Type": "application/json"}
        *others, last = self._addresses(url)
        for address in (*others, last):
            request = client.build_request(
                method,
                url.copy_with(host=address),
                headers=headers,
                content=content,
                extensions={"sni_hostname": url.host},
            )
            try:
                response = client.send(request, stream=True)
                break
            except httpx.ConnectError:
                if address == last:
                    raise
        return _parsed(response, self._body(response))

    def _addresses(self, url: httpx.URL) -> list[str]:
        """Addresses of the host that may be asked, in the system's order."""
        port = url.port or (443 if url.scheme == "https" else 80)
        addresses = _resolved(url.host, port)
        allowed = [a for a in addresses if self.allow_private or is_public(a)]
        if not allowed:
            raise SourceError(f"its address {addresses[0]} is private (allow_private=False)")
        return allowed

    def _body(self, response: httpx.Response) -> bytes:
        content = bytearray()
        length = int(response.headers.get("content-length", 0))
        for piece in response.iter_raw() if length <= self.max_bytes else ():
            content += piece
            if len(content) > self.max_bytes:
                break
        if max(length, len(content)) > self.max_bytes:
            raise SourceError(f"its reply is longer than max_bytes={self.max_bytes}")
        return bytes(content)


def is_public(address: str) -> bool:
    """Whether an IP address is on the open Internet; tunnels of version 4 in 6 never count."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped or ip in _NAT64:
            return is_public(str(ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)))
        if ip not in _GLOBAL:
            return False
    special = ip.is_multicast or any(ip in network for network in _SPECIAL)
    return ip.is_global and not special


def _resolved(host: str, port: int) -> list[str]:
    """Addresses of a host, in the system's order."""
    try:
        places = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise SourceError("its host has no address") from None
    return list(dict.fromkeys(str(place[4][0]) for place in places))


def _parsed(reply: httpx.Response, content: bytes) -> Any:
    if not reply.is_success:
        kind = NotFound if reply.status_code in (404, 410) else SourceError
        status = f"{reply.status_code} {httpx.codes.get_reason_phrase(reply.status_code)}"
        raise kind(f"it answers HTTP {status}".rstrip())
    charset = legacy_charset(reply.charset_encoding or "")  # else JSON itself tells its UTF
    try:
        return json.loads(content.decode(charset) if charset else content)
    except (ValueError, RecursionError):
        media = safe(reply.headers.get("content-type", ""))[:40]
        raise SourceError(f"its reply is no JSON, but {len(content)} B of {media!r}") from None
