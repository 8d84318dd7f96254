"""An API as a source: what it is asked, and what becomes of its answers."""

import json
import math
import threading
import time
import tomllib
from pathlib import Path

import pytest

from ragsieve import Query, schema
from ragsieve.errors import ModelError, SourceError
from ragsieve.trace import Trace, step
from ragsieve_research.retrieve.apis.api import Api
from ragsieve_research.retrieve.apis.entities import Rules
from ragsieve_research.retrieve.apis.linking import best
from ragsieve_research.retrieve.fetch import NotFound
from ragsieve_research.retrieve.records import RECORD, Records
from tests.processes import python

LIBRARY, SHOP = (
    Path(__file__).with_name(f"{name}.toml").read_text("utf-8") for name in ("library", "shop")
)
BOOKS = ["The Blue Lamp (novel)", "The Blue Lamps", "Lamp"]


class Server:
    """Answers by path, from a table or a function of the body; keeps what it is asked."""

    def __init__(self, answers):
        self.answers = answers
        self.asked = []

    def post_json(self, path, body, /):
        self.asked.append((path, dict(body)))
        answer = self.answers.get(path, {"result": None})
        if isinstance(answer, Exception):
            raise answer
        return answer(body) if callable(answer) else answer

    get_json = post_json


def library(**answers):
    """A server that finds `BOOKS`, and answers what is given by path."""
    return Server(
        {"/find": {"result": BOOKS}, **{f"/{path}": value for path, value in answers.items()}}
    )


def parse(text):
    return schema.read(Api, tomllib.loads(text))


def ask(server, question, api=None, **options):
    return Records(api or parse(LIBRARY), server, entities=Rules(), **options)(Query(question))


def notes(call):
    """Notes of a call in the trace."""
    with Trace().recording(), step("records") as record:
        call()
    return record.notes


def test_only_fitting_endpoints_are_asked_about_what_is_linked():
    """The title is found by the API's search, and only the endpoint with a word of it is called."""
    server = library(pages={"result": {"pages": 320}})
    (segment,) = ask(server, "How many pages has The Blue Lamp?")

    assert [("/find", {"query": "Blue Lamp"}), ("/pages", {"book": BOOKS[0]})] == server.asked
    assert "The Blue Lamp (novel) has 320 pages." == segment.text
    assert 'GET /pages {"book": "The Blue Lamp (novel)"}' == segment.document.source
    assert {"pages": 320} == segment.document.metadata[RECORD]
    assert 100 > segment.document.metadata["match"] >= 85


@pytest.mark.parametrize(
    "question",
    ["How many pages has Zanzibar Nights?", "how many pages?", "Is The Blue Lamp red?", "1 + 1?"],
)
def test_absurd_and_unknown_names_call_nothing(question):
    """Names are looked up at most; no record is asked for."""
    server = library(pages={"result": {"pages": 320}})

    assert [] == ask(server, question)
    assert {"/find"} >= {path for path, _ in server.asked}


@pytest.mark.parametrize(
    ("time", "day"),
    [("03/13/2024, 09:30:59 PT", "2024-03-12"), ("2024-03-13T09:30:59Z", "2024-03-12"), ("", "")],
)
def test_dates_count_from_when_the_question_was_asked(time, day):
    """As CRAG's questions have it; else there is no day to count from."""
    table = """name = "games"
[[link]]
kind = "day"
entities = ["date"]
[[endpoint]]
path = "/games"
about = ["game"]
takes = { day = "day" }
"""
    server = Server({"/games": "Three."})
    query = Query("Which games were there yesterday?", time=time)
    Records(parse(table), server, entities=Rules())(query)

    assert ([("/games", {"day": day})] if day else []) == server.asked


def test_an_endpoint_that_fails_is_left_out_with_a_warning():
    """The others answer; by rules where they have no template."""
    server = library(pages=ModelError("HTTP 500"), author={"result": {"born": 1900, "name": "Ann"}})
    question = "Who wrote The Blue Lamp, and its length?"
    (segment,) = ask(server, question)

    assert segment.text.startswith("The born of The Blue Lamp (novel) is 1900. The name of")
    with Trace().recording(), step("records") as record:
        ask(server, question)
    failed = f"GET /pages {json.dumps({'book': BOOKS[0]})} failed: HTTP 500"

    assert [f"left out, {failed}"] == [note for note in record.notes if "failed" in note]
    assert [failed] == record.warnings


@pytest.mark.parametrize(
    "server",
    [
        Server({"/find": SourceError("gone")}),
        Server({"/find": ModelError("HTTP 401")}),
        library(pages=SourceError("gone")),
        library(pages=NotFound("HTTP 404")),
    ],
)
def test_an_api_that_fails_is_not_one_that_knows_nothing(server):
    """Where no call has an answer, and one failed, the source fails."""
    with pytest.raises(SourceError, match=r"(POST /find|GET /pages) .* failed: (gone|HTTP 40)"):
        ask(server, "How many pages has The Blue Lamp?")


def test_an_error_of_the_client_is_raised():
    """Where it can be seen, not in the thread that asked."""
    with pytest.raises(KeyError, match="broken"):
        ask(Server({"/find": KeyError("broken")}), "How many pages has The Blue Lamp?")


def test_a_call_that_hangs_does_not_keep_the_process(tmp_path):
    """It ends when its main thread does."""
    table = tmp_path / "library.toml"
    table.write_text(LIBRARY)
    program = f"""
import threading, time
from ragsieve_research.retrieve.apis.api import read
from ragsieve_research.retrieve.apis.calls import ApiClient
class Hanging:
    def post_json(self, path, body):
        asked.set()
        time.sleep(30)
asked = threading.Event()
asker = ApiClient(read({str(table)!r}), Hanging())
work = threading.Thread(target=asker.ask, args=([asker.about("find", "x")],), daemon=True)
work.start()
asked.wait(10)
"""
    began = time.monotonic()
    python(program, timeout=25)

    assert time.monotonic() - began < 20


def test_an_answer_of_another_shape_is_written_by_rules():
    """The trace says that the template did not fit."""
    server = library(pages={"result": ["320", None]})
    question = "How many pages has The Blue Lamp?"

    assert ["The answer of The Blue Lamp (novel) is 320."] == [
        segment.text for segment in ask(server, question)
    ]
    assert "must fit its template" in " ".join(notes(lambda: ask(server, question)))


@pytest.mark.parametrize("answer", [None, [], {}, {"a": None}, "", [{}], "no result"])
def test_an_empty_answer_is_no_document(answer):
    """Neither is a reply without the place where answers are."""
    server = library(author=answer if answer == "no result" else {"result": answer})

    assert [] == ask(server, "Who wrote The Blue Lamp?")


def test_long_and_hostile_answers_are_bounded():
    """Text, record and names are cut and cleaned; what nests too deep has none; nothing raises."""
    deep = "x"
    for _ in range(900):
        deep = {"a": [deep]}
    wide = {f"key{n}": "\ud800\x00" * 50 for n in range(100_000)}
    for value in (deep, {"b": "y" * 10_000_000}, {"n": 10**6000, "m": math.nan, "ok": 1}, wide):
        server = library(author={"result": value})
        found = ask(server, "Who wrote The Blue Lamp?", max_chars=300)
        assert (value is not deep) == len(found)
        for segment in found:
            kept = json.dumps(segment.document.metadata[RECORD], allow_nan=False)

            assert len(segment.text) <= 300 and len(kept) < 50_000_000
            assert not set("\ud800\x00") & set(segment.text)


def test_calls_and_names_are_limited():
    """The first ones count, of lookups, endpoints and 1,000 names; the trace says so."""
    server = library(pages={"result": {"pages": 320}}, author={"result": "Ann"})
    question = "Who wrote The Blue Lamp, of what length? And Lamp? And The Blue Lamps?"
    messages = notes(lambda: ask(server, question, max_calls=1))

    assert 2 == len(server.asked)
    assert ["of 3 names to look up, the first max_calls=1 were"] == messages[:1]
    assert "more calls fit than max_calls=1, the first were made" in messages

    names = [f"Book {n}" for n in range(1000)]
    found = {"/find": {"result": [*names, "The Blue Lamp"]}}

    assert ["of 1001 names that 'find' found, the first 1000 count"] == notes(
        lambda: ask(Server(found), "How many pages has The Blue Lamp?")
    )[:1]


def test_calls_are_made_at_once():
    """Two endpoints wait for each other: one after the other they would never answer."""
    barrier = threading.Barrier(2, timeout=2)

    def wait(body):
        barrier.wait()
        return {"result": {"pages": 1}}

    assert 2 == len(ask(library(pages=wait, author=wait), "Who wrote The Blue Lamp? Length?"))


@pytest.mark.parametrize(
    ("name", "known", "found"),
    [
        ("apple", ["Apple Hospitality Inc.", "Apple Inc. Stock"], "Apple Inc. Stock"),
        ("florida city", ["Florida", "Florida City, Florida"], "Florida City, Florida"),
        ("Beyonce", ["Beyoncé (singer)"], "Beyoncé (singer)"),
    ],
)
def test_names_match_without_company_words_brackets_and_accents(name, known, found):
    """What is behind a comma or in brackets costs one point."""
    match = best(name, known, ["inc", "stock"])

    assert (found, True) == (match[0], match[1] >= 99)


def test_names_with_other_figures_do_not_match():
    """Though they differ by one character."""
    assert ("", 0.0) == best("Maroon 5", ["Maroon 4", "Maroon"])


@pytest.mark.parametrize(
    ("question", "paths", "texts"),
    [
        ("Is 'Ann' old?", ["/of/Ann"], ["The age of Ann is 5."]),
        ("Is '../Ann' old?", [], []),
        ("Is '..' old?", [], []),
        ("Is 'Bob' old, or '../Bob'?", ["/of/Bob"], []),  # nothing is at his path: an answer
    ],
)
def test_values_in_a_path_cannot_leave_it(question, paths, texts):
    """A name with a slash is not sent."""
    link = "[[link]]\nkind = 'n'\n[[endpoint]]\npath = '/of/{name}'\ntakes = { name = 'n' }"
    server = Server({"/of/Ann": {"age": 5}, "/of/Bob": NotFound("HTTP 404")})

    assert texts == [s.text for s in ask(server, question, parse("name = 'x'\n" + link))]
    assert [(path, {}) for path in paths] == server.asked


@pytest.mark.parametrize(
    ("question", "ticker"),
    [
        ("Who is the CEO of Apple?", "APPL"),
        ("What is the EPS of AAPL?", "AAPL"),
        ("what is the eps of aapl?", "AAPL"),
        ("Market cap of Target?", "TARG"),
        ("how much did funko open at today?", "FUNK"),
    ],
)
def test_names_are_found_in_what_a_recogniser_takes_for_one_or_for_none(question, ticker):
    """Parts of a name, bare tickers, names in small letters, names that are a topic's word."""
    companies = {"apple": "APPL", "target": "TARG", "funko": "FUNK"}
    server = Server(
        {
            "/find": lambda body: {"result": [n for n in companies if n == body["query"].lower()]},
            "/symbol": lambda body: {"result": companies[body["query"].lower()]},
            "/facts": {"result": {"size": 5}},
        }
    )

    found = ask(server, question, parse(SHOP))

    assert [{"query": ticker}] == [s.document.metadata["arguments"] for s in found]
