"""Bodies with large fields against `ragsieve serve`, and files that are bombs."""

import json
import time
import urllib.request
from functools import partial
from pathlib import Path

from .campaign import Kind, lacking
from .hostile import HOSTILE
from .laws import holds
from .requests import PATHS, REQUESTS, answered, raw, server

UNITS = ["a", "a ", "\n", " \n", "\t", "é", "😀", "\ud800", "\x00", "a. ", "| a |\n", "[", "- a\n"]
UNITS += ["```\n", "# a\n", "a:", "١", "\u0301", "<|im_end|>", "http://a.b/", *HOSTILE.values()]
PLACES = ["query", "text", "title", "id", "source", "key", "metadata", "system", "many"]
MEMORY_KB = 1_000_000


def draw(rng):
    """A path, the fields that are large, of what, and how large: up to a few megabytes in all."""
    size = int(10 ** rng.uniform(2, 6.7))
    return {
        "path": rng.choice(PATHS[:7]),
        "places": rng.sample(PLACES, rng.choice([1, 1, 2, 3])),
        "unit": rng.choice(UNITS)[:200] or "a",
        "size": size,
    }


def check(value, folder):
    """An answer or a refusal in time, no bug, and no memory that grows."""
    large = (value["unit"] * (value["size"] // len(value["unit"]) + 1))[: value["size"]]
    document = {"text": "Seals sang it."}
    body = {"query": "Who sang it?", "documents": [document]}
    for place in value["places"]:
        if place in ("query", "system"):
            body[place] = large + "a"
        elif place == "many":
            body["documents"] += [value["unit"]] * min(999, value["size"])
        else:
            document |= {large: 1} if place == "key" else {place: {"x": [large]}}
            document |= {place: large} if place in ("text", "title", "id", "source") else {}
    running = server()
    sent = {"method": "POST", "path": value["path"], "heads": [], "noise": [], "cut": 1}
    began = time.monotonic()
    said = answered(running.port, raw({**sent, "body": json.dumps(body)}, running.port))
    holds("no 500", said[9:12] not in (b"500", b"502"), said[:500])
    holds("it is answered in time", time.monotonic() - began < 70)
    holds("no traceback", b"Traceback" not in running.log.read_bytes(), said[:200])
    status = Path(f"/proc/{running.process.pid}/status").read_text()
    memory = next(int(line.split()[1]) for line in status.splitlines() if "VmRSS" in line)
    holds("memory has a limit", memory < MEMORY_KB, f"{memory} KiB")
    with urllib.request.urlopen(f"http://127.0.0.1:{running.port}/health", timeout=20) as reply:
        holds("the server lives on", reply.status == 200)
    return 1


def draw_file(rng):
    """A bomb or a right file, some of its bytes changed or missing."""
    changes = rng.choice([0, 1, 3, 30])
    return {
        "kind": rng.random(),
        "noise": [[rng.random(), rng.randrange(256)] for _ in range(changes)],
        "cut": rng.choice([1, 1, 1, rng.random()]),
    }


def check_file(value, folder):
    """It is read, or refused in one line, in time."""
    from ragsieve.errors import InputError
    from ragsieve.read.files import read_documents
    from tests.office import BOMBS, pdf, word

    kinds = [*BOMBS.values(), *[(".pdf", pdf("Bees.", "Cheese.")), (".docx", word())] * 5]
    ending, whole = kinds[int(value["kind"] * len(kinds))]
    data = bytearray(whole)
    for place, byte in value["noise"]:
        data[int(place * len(data))] = byte
    path = folder / f"a{ending}"
    path.write_bytes(data[: int(value["cut"] * len(data))])
    began = time.monotonic()
    try:
        read_documents([str(path)])
    except InputError as error:
        holds("an error is one line", "\n" not in str(error), error)
    holds("it ends in time", time.monotonic() - began < 150)
    return 1


LARGE = Kind("large", 2_000, 30, draw, check, REQUESTS.missing)
BOMB_FILES = Kind("bombs", 2_000, 60, draw_file, check_file, partial(lacking, "pypdf", "docx"))
