"""A safe HTTP client: against real servers on 127.0.0.1."""

import gzip
import json
import re
import socket
import time
import traceback

import pytest

from ragsieve.errors import InputError, SourceError
from ragsieve_research.retrieve import fetch
from ragsieve_research.retrieve.fetch import Http, is_public
from tests.serving import Sockets

KEY = "very-secret-key"


def reply(body, status="200 OK", *headers):
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def sends(answer):
    return lambda _, connection: connection.sendall(answer)


def local(server, path="", timeout_s=5, max_bytes=1000):
    own = {"headers": {"X-Key": KEY}, "allow_private": True}
    return Http(server.url + path, timeout_s=timeout_s, max_bytes=max_bytes, **own)


def error_of(http, path="a"):
    """What the error says; no key is in it, nor in what led to it."""
    with pytest.raises(SourceError) as caught:
        http.get_json(path, {"key": KEY})
    whole = "".join(traceback.format_exception(caught.value))
    assert KEY not in str(caught.value) + repr(http) + whole.replace(f'"{KEY}"', "")
    return str(caught.value)


def test_a_get_gives_what_the_json_says():
    """Path and parameters are quoted; the headers are sent under the host's own name. Though the
    connection goes to an address that was resolved and checked before."""
    body = b'{"a": ["\xc3\xa9", 1.5, null]}'
    with Sockets(sends(reply(body))) as server:
        url = f"http://localhost:{server.port}/v1/"
        http = Http(url, max_bytes=len(body), headers={"X-Key": KEY}, allow_private=True)
        found = http.get_json("/find it", {"q": "a&b é", "n": 2})
        head = server.asked[0].decode().split("\r\n")

    assert {"a": ["é", 1.5, None]} == found
    assert "GET /v1/find%20it?q=a%26b+%C3%A9&n=2 HTTP/1.1" == head[0]
    assert f"Host: localhost:{server.port}" in head
    assert f"X-Key: {KEY}" in head
    assert "Accept-Encoding: identity" in head


@pytest.mark.parametrize("charset", ["ISO-8859-1", "windows-1252", "utf-8", "utf-16", "unknown"])
def test_the_declared_charset_is_read(charset):
    """JSON tells its UTF itself; an older charset is what its server says."""
    codec = "utf-8" if charset == "unknown" else charset
    kind = f"Content-Type: application/json; charset={charset}"
    with Sockets(sends(reply('"Café"'.encode(codec), "200 OK", kind))) as server:
        found = local(server).get_json("a")

    assert "Café" == found


def test_each_connection_goes_to_an_address_checked_for_it(monkeypatch):
    """A name that is public at first and this machine for the next request is refused there."""
    verdicts = iter([True, False])
    monkeypatch.setattr(fetch, "is_public", lambda _: next(verdicts))
    with Sockets(sends(reply(b"1"))) as server:
        http = Http(f"http://localhost:{server.port}", headers={"X-Key": KEY})
        http.get_json("a")
        said = error_of(http)

    assert "its address 127.0.0.1 is private (allow_private=False)" in said
    assert 1 == len(server.asked)


def test_bodies_are_json_whole_or_in_chunks():
    """What was passed is sent; a reply need not say its length."""
    with Sockets(sends(reply(b"[]"))) as server:
        found = local(server).post_json("find", {"query": "caf\u00e9"})
        head, _, body = server.asked[0].partition(b"\r\n\r\n")

    assert [] == found
    assert head.startswith(b"POST /find HTTP/1.1")
    assert {"query": "café"} == json.loads(body)

    answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n[1\r\n2\r\n2]\r\n0\r\n\r\n"
    with Sockets(sends(answer.replace(b"2\r\n2]", b"3\r\n,2]"))) as server:
        found = local(server).get_json("a")

    assert [1, 2] == found


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "[::1]", "0x7f.1", "2130706433", "[::ffff:127.0.0.1]", "0.0.0.0"],
)
def test_private_addresses_are_refused(host):
    """However they are written, and before anything is sent."""
    with Sockets(sends(reply(b"1"))) as server:
        http = Http(f"http://{host}:{server.port}", headers={"X-Key": KEY})
        said = error_of(http)

    assert "is private (allow_private=False)" in said or "has no address" in said
    assert [] == server.asked


PRIVATE = [
    *("10.0.0.1", "172.16.3.4", "192.168.1.1", "100.64.0.1", "169.254.169.254", "0.0.0.0"),
    *("224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1%eth0", "fd00::1", "ff02::1"),
    *("::ffff:10.0.0.1", "2002:7f00:1::", "64:ff9b::7f00:1", "64:ff9b:1::7f00:1"),
    *("::127.0.0.1", "::ffff:0:127.0.0.1", "::8.8.8.8", "fec0::1", "5f00::1", "3fff::1"),
    *("2001:db8::1", "3fff:fff::1", "4000::1", "192.88.99.1"),
]


@pytest.mark.parametrize(
    ("public", "address"),
    [
        *((False, address) for address in PRIVATE),
        *((True, address) for address in ("8.8.8.8", "2606:4700::1111", "3fff:1000::1")),
        *((True, address) for address in ("::ffff:8.8.8.8", "64:ff9b::808:808")),
    ],
)
def test_addresses_on_the_open_internet(public, address):
    """Not private, shared, link-local, multicast ones, nor such version 4 inside version 6."""
    assert public == is_public(address)


@pytest.mark.parametrize("post", [False, True])
def test_a_redirect_is_an_error(post):
    """An API is asked at its own URL: nothing, and no key, is sent anywhere else."""
    with Sockets(sends(reply(b"1"))) as other:
        moved = reply(b"", "307 Temporary Redirect", f"Location: {other.url}/x")
        with Sockets(sends(moved)) as server:
            http = local(server)
            with pytest.raises(SourceError, match="a failed: it answers HTTP 307 Temporary Redir"):
                http.post_json("a", {}) if post else http.get_json("a")

    assert [] == other.asked


ZEROS = gzip.compress(b"0" * 1_000_000)
NO_JSON = {"empty": b"", "HTML": b"<html>", "cut off": b'{"a": ', "no UTF-8": b"\xff\xfe\xff"}
NO_JSON |= {"nested": b"[" * 900, "deep": b"[" * 200_000 + b"]" * 200_000}
NO_JSON |= {"long number": b"9" * 5000, "key": KEY.encode()}
FAULTS = {
    **{
        f"HTTP {code}": (reply(KEY.encode(), f"{code} {KEY}"), f"it answers HTTP {code}{text}")
        for code, text in [(500, " Internal Server Error"), (404, " Not Found"), (599, "")]
    },
    **{
        name: (
            reply(body, "200 OK", "Content-Type: text/x"),
            f"its reply is no JSON, but {len(body)} B of 'text/x'",
        )
        for name, body in NO_JSON.items()
    },
    "a bomb of zeros": (
        reply(ZEROS, "200 OK", "Content-Encoding: gzip"),
        f"its reply is no JSON, but {len(ZEROS)} B of ''",
    ),
    "nothing": (b"", "no whole HTTP (RemoteProtocolError)"),
    "no status": (f"{KEY}\r\n\r\n".encode(), "no whole HTTP (RemoteProtocolError)"),
    "half a body": (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", "no whole HTTP (Remote"),
    "broken chunk": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nz", "no whole HTTP"),
    "many headers": (b"HTTP/1.1 200 OK\r\n" + b"X-A: 1\r\n" * 50_000, "no whole HTTP"),
    "long header": (b"HTTP/1.1 200 OK\r\nX-A: " + b"1" * 100_000, "no whole HTTP (Remote"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_is_no_reply_is_one_line(name):
    """Nothing of the reply is shown, which may be what was sent; a bomb stays its few bytes."""
    answer, message = FAULTS[name]
    with Sockets(sends(answer)) as server:
        text = error_of(local(server, max_bytes=1_000_000))

    assert text.startswith(f"{server.url}/a failed: {message}")


def test_a_reply_that_says_it_is_too_long_is_not_read():
    """50 MB are refused by their header."""

    def script(request, connection):
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 50000000\r\n\r\n")
        time.sleep(5)

    began = time.monotonic()
    with Sockets(script) as server:
        said = error_of(local(server))

    assert f"{server.url}/a failed: its reply is longer than max_bytes=1000" == said
    assert time.monotonic() - began < 3


@pytest.mark.parametrize("head", ["", "Transfer-Encoding: chunked\r\n"])
def test_a_reply_without_a_length_is_read_up_to_the_limit(head):
    """The server does not get rid of its 50 MB."""
    sent = []

    def script(request, connection):
        connection.sendall(f"HTTP/1.1 200 OK\r\n{head}\r\n".encode())
        piece = b"1" * 50_000
        for _ in range(1000):
            connection.sendall(b"c350\r\n" + piece + b"\r\n" if head else piece)
            sent.append(len(piece))

    with Sockets(script) as server:
        said = error_of(local(server, max_bytes=100_000))

    assert f"{server.url}/a failed: its reply is longer than max_bytes=100000" == said
    assert sum(sent) < 50_000_000


def hangs(request, connection):
    time.sleep(5)


def drips(before):
    def script(request, connection):
        connection.sendall(before)
        for _ in range(100):
            connection.sendall(b" ")
            time.sleep(0.05)

    return script


@pytest.mark.slow
@pytest.mark.parametrize(
    "script",
    [
        hangs,
        drips(b"HTTP"),
        drips(b"HTTP/1.1 200 OK\r\nX-A: "),
        drips(b"HTTP/1.1 200 OK\r\n\r\n"),
        drips(b"HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n"),
        drips(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
        lambda _, connection: [
            (connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n"), time.sleep(0.05))
            for _ in range(100)
        ],
    ],
    ids=["hangs", "status", "header", "body", "length", "chunk", "continue"],
)
def test_the_time_as_a_whole_is_bounded(script):
    """A server that sends a byte now and then is as late as one that sends none."""
    began = time.monotonic()
    with Sockets(script) as server:
        said = error_of(local(server, timeout_s=0.5))

    assert f"{server.url}/a failed: no reply within 0.5 s" == said
    assert time.monotonic() - began < 3


def test_silence_and_nobody_are_one_line():
    """Nothing is said to a handshake, or nobody listens on a port."""
    with Sockets(hangs) as server:
        url = server.url.replace("http:", "https:")
        said = error_of(Http(url, timeout_s=0.5, allow_private=True))

    assert f"{url}/a failed: no reply within 0.5 s" == said

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        said = error_of(Http(url, allow_private=True))

    assert f"{url}/a failed: [Errno 111] Connection refused" == said


@pytest.mark.parametrize("path", ["../a", "a/../../b", "a/./b", "..", "a%2f..%2fb", "a\\..\\b"])
def test_a_path_does_not_leave_its_place(path):
    """Names of people and things may be part of a path."""
    with pytest.raises(InputError, match="path must not go up or stay"):
        Http("http://example.org/v1").get_json(path)


@pytest.mark.parametrize("path", ["a?b#c", "//evil.example/x", "http://evil.example", "a\r\nX: y"])
def test_a_path_is_only_a_path(path):
    """It names no other host, holds no query and no header."""
    with Sockets(sends(reply(b"1"))) as server:
        local(server, "/v1").get_json(path)
        first = server.asked[0].split(b"\r\n")[0]

    assert first.startswith(b"GET /v1/")
    assert first.endswith(b" HTTP/1.1")
    assert set(b"?#").isdisjoint(first)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("ftp://a", "'ftp://a'"),
        ("a.example", "'a.example'"),
        ("http://a b", "'http://a b'"),
        ("http://a..b", "'http://a..b'"),
        ("http://xn--a", "'http://xn--a'"),
        ("http://münchen.example", "'http://münchen.example'"),
        (f"http://me:{KEY}@a", "one with '@', '?' or '#' (not shown)"),
        (f"http://a?key={KEY}", "one with '@', '?' or '#' (not shown)"),
    ],
)
def test_the_base_must_be_a_plain_url(url, shown):
    """What may hold a key is not shown."""
    with pytest.raises(InputError, match=f"base_url must .*, got {re.escape(shown)}"):
        Http(url)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"headers": {"X-Key": f"{KEY}\r\nX: y"}}, r"'X-Key' must be printable ASCII \(value not"),
        ({"headers": {"X Key": KEY}}, "headers must not name 'X Key'"),
        ({"headers": {"Host": "other"}}, "headers must not name 'Host'"),
    ],
)
def test_options_are_checked(options, message):
    """The error names option, rule and value, but never a key."""
    with pytest.raises(InputError, match=message) as caught:
        Http("http://example.org", **options)

    assert KEY not in str(caught.value)
