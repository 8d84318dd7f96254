"""Streamed replies of a chat server that end early, at any byte."""

import json
from functools import partial
from typing import Any

from ragsieve import Result, load
from ragsieve.errors import EndedEarly, RagsieveError
from tests.stalling import sending

from .campaign import Kind, lacking
from .laws import holds

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n"
PIECES = ["It is", " not", " ", "\n", "é😀", " so.", "", '"', "data: x"]
BETWEEN = ["", ": waits\n\n", "event: x\n\n", "retry: 9\n\n", "id: 1\n\n", "data\n\n", "\n"]
BETWEEN += ['data: {"choices": []}\n\n', "event: x\nid: 2\n"]


def draw(rng):
    """Pieces of a reply, how it ends, what else is sent, and after which byte the server closes."""
    return {
        "pieces": [rng.choice(PIECES) for _ in range(rng.randrange(1, 7))],
        "end": rng.choice(["finish", "done", "both", "both", "none", "error"]),
        "between": rng.choice(BETWEEN),
        "other": rng.random() < 0.2,
        "breaks": rng.choice(["\n", "\n", "\r\n"]),
        "chunked": rng.random() < 0.5,
        "cut": rng.choice([1, 1, round(rng.random(), 4), round(rng.random(), 4)]),
    }


def event(text=None, finish=None, index=0):
    choice = {"index": index, "delta": {"content": text}, "finish_reason": finish}
    return f"data: {json.dumps({'choices': [choice]})}\n\n"


def body(value):
    """All bytes of the reply, and how many stand before what says that it is whole; -1: nothing."""
    events = [event(piece) + value["between"] for piece in value["pieces"]]
    events[1:1] = [event("No", index=1)] * value["other"]
    stop, done = event(finish="stop"), "data: [DONE]\n\n"
    error = 'event: error\ndata: {"error": {"message": "x"}}\n\n'
    ends = {"finish": stop, "done": done, "both": stop + done, "none": "", "error": error}
    text = "".join(events).replace("\n", value["breaks"]).encode()
    end = ends[value["end"]].replace("\n", value["breaks"]).encode()
    return text + end, -1 if value["end"] in ("none", "error") else len(text)


def check(value, folder):
    """An answer is the whole reply, or it is an error that has the text so far."""
    sent, told = body(value)
    sent, sent_whole = sent[: int(value["cut"] * len(sent))], value["cut"] == 1
    head = HEAD + b"Transfer-Encoding: chunked\r\n" * value["chunked"] + b"\r\n"
    chunks = b"%x\r\n%s\r\n" % (len(sent), sent) + b"0\r\n\r\n" * sent_whole if sent else b""
    whole = "".join(value["pieces"]).strip()
    with sending(head + (chunks if value["chunked"] else sent), b"", -1) as url:
        given = list[Any]()
        try:
            given += load("all", model(url)).ask_stream("Is it?", ["It is not said."])
        except EndedEarly as error:
            holds("an error has the text so far", whole.startswith(error.text.strip()), error.text)
            holds("a whole reply is an answer", not (sent_whole and told >= 0), error)
            return 1
        except RagsieveError as error:
            holds("what was said is not lost", not given or not whole, (given, error))
            return 1
    answer = given[-1].answer.text if isinstance(given[-1], Result) else None
    holds("an answer was whole", 0 <= told < len(sent) and answer == whole, (answer, whole))
    return 1


def model(url):
    from ragsieve.models.openai import OpenAI

    return OpenAI("m", base_url=url, max_retries=0)


STREAMS = Kind("streams", 5_000, 100, draw, check, partial(lacking, "openai"))
