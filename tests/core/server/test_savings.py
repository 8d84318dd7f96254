"""Savings by day, route and tool, in a file that is kept where the server is told to."""

import sqlite3
from contextlib import closing
from datetime import date

import pytest

from ragsieve.errors import InputError
from ragsieve.result import Tokens
from ragsieve.server.savings import Savings

from .conftest import settings
from .test_chat import CHATS, TAGGED, agent

TODAY = date.today().isoformat()


def test_requests_are_kept_by_route_and_tool(client, upstream, body, tmp_path):
    """Of replies that came; over a restart; what was saved costs what the price says."""
    told = settings(upstream, filter_tools=("search", "read"), savings=tmp_path / "saved.db")
    asked = client(settings=told)
    chat = {"messages": [*TAGGED, *agent("search", "other", "read")[1:]]}
    replies = [asked.post(CHATS, json=chat) for _ in "12"]
    asked.post("/v1/messages/count_tokens", json=chat)
    asked.post("/v1/filter", json=body)
    upstream.status = 500
    asked.post(CHATS, json=chat)
    stats = asked.get("/stats", params={"price": 2}).json()
    rows = {(row["route"], row["tool"]): row for row in stats["rows"]}
    told_before = sum(int(reply.headers["x-ragsieve-tokens-before"]) for reply in replies)
    chats = [row for (route, _), row in rows.items() if route == CHATS]

    assert [(CHATS, ""), (CHATS, "read"), (CHATS, "search"), ("/v1/filter", "")] == [*rows]
    assert [2, 2, 2] == [row["requests"] for row in chats]
    assert told_before == sum(row["tokens_before"] for row in chats)
    assert {TODAY} == {row["day"] for row in rows.values()}
    saved = stats["tokens_before"] - stats["tokens_after"]
    assert saved > 300 and stats["saved"] == pytest.approx(saved * 2 / 1e6)
    assert stats["rows"] == Savings(tmp_path / "saved.db").stats()["rows"]
    assert 422 == asked.get("/stats", params={"price": -1}).status_code


def test_nothing_is_kept_unless_it_is_asked_for(client, body):
    """404 says how."""
    asked = client()
    asked.post("/v1/filter", json=body)
    reply = asked.get("/stats")

    assert (404, "no_savings") == (reply.status_code, reply.json()["error"]["code"])


def test_what_cannot_be_written_now_is_later(tmp_path):
    """As while another process holds the file; the request that counted does not fail."""
    kept = Savings(tmp_path / "saved.db")
    with closing(sqlite3.connect(tmp_path / "saved.db")) as other:
        other.execute("BEGIN EXCLUSIVE")
        kept.add("/v1/filter", [("", Tokens(9, 4)), ("", Tokens(1, 1))])
    kept.add("/v1/filter", [("", Tokens(5, 5))])
    day = {"day": TODAY, "route": "/v1/filter", "tool": ""}

    assert [{**day, "requests": 2, "tokens_before": 15, "tokens_after": 10}] == kept.stats()["rows"]


def test_a_file_of_another_kind_is_refused(tmp_path):
    """And left as it is, as is a folder that is not there."""
    (tmp_path / "notes.txt").write_text("Buy milk. " * 200)
    for path in (tmp_path / "notes.txt", tmp_path / "none" / "saved.db"):
        with pytest.raises(InputError, match="savings must be an SQLite file, got"):
            Savings(path)

    assert "Buy milk. " * 200 == (tmp_path / "notes.txt").read_text()
