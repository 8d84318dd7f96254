"""Servers that stall, trickle, lie or never end, against everything that waits for one."""

from functools import partial

from tests.stalling import MODES, sending, waits

from .campaign import Kind, lacking
from .laws import holds

STATUS = ["200 OK"] * 4 + ["429 x", "503 x", "307 x", "500 x", "100 Continue", "999", "", "204 x"]
HEADS = ["Content-Type: text/event-stream", "Content-Type: application/json", "Location: /"]
HEADS += ["Content-Length: 99999999999", "Content-Length: 3", "Transfer-Encoding: chunked"]
HEADS += ["Retry-After: 31536000", "Retry-After: 1", "Retry-After: \x00", "Connection: close"]
HEADS += ["Content-Encoding: gzip", "Content-Encoding: br", "Retry-After-Ms: 9e9", "X: y"]
BODIES = ["", "{", "data: ", "data: {}\n\n", ": x\n\n", "FFFFFFFF\r\n", "1\r\n{\r\n", "[" * 9000]
BODIES += ['{"choices": [{"message": {"content": "a"}}]}', '{"count": 3}', '{"results": []}', "\n"]
BODIES += ['data: {"choices": [{"delta": {"content": "a"}}]}\n\n', "data: [DONE]\n\n", "\x1f\x8b"]
AGAIN = ["", "y", " ", "\n", "\r\n", "data: ", "0\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n", " " * 65_536]


def draw(rng):
    """What the server sends at first, then again and again, and how often."""
    if rng.random() < 0.2:
        first, again, pause = rng.choice([*MODES.values()])
        return {"first": first.decode(), "again": again.decode(), "pause": pause}
    heads = rng.sample(HEADS, rng.randrange(4))
    head = "\r\n".join([f"HTTP/1.1 {rng.choice(STATUS)}", *heads, "", ""])
    whole = head + "".join(rng.choices(BODIES, k=rng.randrange(4)))
    first = whole if rng.random() < 0.7 else whole[: rng.randrange(len(whole))]
    pause = rng.choice([-1, 0, 0.02, 0.1])
    return {"first": first, "again": rng.choice(AGAIN), "pause": pause}


def check(value, folder):
    """Every caller is back at its deadline, with an error of one line or a result."""
    with sending(value["first"].encode(), value["again"].encode(), value["pause"]) as url:
        found = waits(url, 0.3)
    for name, (seconds, error) in found.items():
        holds(f"{name} is back in time", seconds < 3, seconds)
        holds("an error is one line", "\n" not in error, error)
    return len(found)


WAITS = Kind("waits", 20_000, 110, draw, check, partial(lacking, "openai", "httpx"))
