"""Traces of tools that return much, as lines of JSON, for `agent_bill.py`, `tool_questions.py`.

    python benchmarks/long_traces.py | python benchmarks/agent_bill.py /dev/stdin --calls 1

Ten results after real shapes, of thousands of tokens each: a search API's hits, a help centre's
page, channels and tickets as an API gives them, logs, tests, rows of a database, a forecast by the
hour, source code, a licence. What they say comes from the everyday questions under tests/, from
Python's own `textwrap`, from LICENSE, and from words drawn by `--seed`. Fields are those of
tests/traces.jsonl; each span of evidence stands in its result verbatim.
"""

from __future__ import annotations

import argparse
import inspect
import json
import random
import sys
import textwrap
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
START = datetime(2026, 4, 13)
NAMES = ["ada", "ben", "carla", "dev", "elif", "femi", "greta", "hugo", "ines", "kofi", "lena"]
PARTS = ["export", "login page", "search box", "invoice", "mobile app", "import", "webhook"]
FAULTS = [
    *("is slow on Mondays", "shows the wrong time zone", "forgets its filter"),
    *("cuts off long names", "times out with more than 200 rows", "jumps to the top"),
]

Trace = tuple[str, str, str, dict[str, Any], str, list[str]]


class Everyday:
    """Documents of the everyday questions, and their evidence."""

    def __init__(self, draw: random.Random) -> None:
        lines = (ROOT / "tests/everyday.jsonl").read_text("utf-8").splitlines()
        self._records = {one["id"]: one for one in map(json.loads, lines)}
        self._draw = draw

    def documents(self, name: str, count: int) -> tuple[list[dict[str, str]], list[str]]:
        """Those of a question among others, in any order; and its evidence, line by line."""
        own = self._records[name]
        others = [d for one in self._records.values() if one is not own for d in one["documents"]]
        found = own["documents"] + self._draw.sample(others, count - len(own["documents"]))
        self._draw.shuffle(found)
        spans = [
            own["documents"][one["document"]]["text"][start:end]
            for one in own["evidence"]
            for start, end in one["spans"]
        ]
        return found, [line for span in spans for line in span.split("\n") if line.strip()]


def web_search(draw: random.Random) -> Trace:
    """Hits with the text of their pages."""
    found, evidence = Everyday(draw).documents("how-many-06", 24)
    hits = [
        {
            "title": one["title"],
            "url": f"https://www.example{n}.org/{draw.getrandbits(40):x}",
            "score": round(0.98 - n / 50, 4),
            "published_date": None,
            "content": one["text"],
        }
        for n, one in enumerate(found)
    ]
    reply = {"query": "Parcelio API limits", "results": hits, "response_time": 1.42}
    said = "I need to know how many calls of the tracking API are allowed in a minute."
    user = "Write a small client that shows where my customers' parcels are."
    arguments = {"query": "Parcelio API limits", "max_results": 24}
    return user, said, "web_search", arguments, json.dumps(reply, ensure_ascii=False), evidence


def help_page(draw: random.Random) -> Trace:
    """A help centre on one page."""
    found, evidence = Everyday(draw).documents("list-08", 26)
    page = "\n\n".join(f"## {one['title']}\n\n{one['text']}" for one in found)
    said = "First I check what the guarantee of a boiler does not cover."
    user = "My heating is broken. Help me to write to the manufacturer."
    return user, said, "fetch_page", {"url": "https://help.example.org/all"}, page, evidence


def channel(draw: random.Random) -> Trace:
    """Messages of a channel, as its API gives them."""
    found, evidence = Everyday(draw).documents("why-06", 22)
    messages = [
        {
            "type": "message",
            "user": f"U{draw.getrandbits(32):08X}",
            "ts": f"{(START + timedelta(hours=n)).timestamp():.6f}",
            "text": one["text"],
            "reactions": [{"name": "eyes", "count": draw.randrange(1, 5)}] if n % 3 else [],
        }
        for n, one in enumerate(found)
    ]
    reply = json.dumps({"ok": True, "messages": messages, "has_more": False}, ensure_ascii=False)
    said = "Let me find out for which reason the Thursday delivery was given up."
    user = "Draft an answer to the customer who wants the Thursday slot back."
    return user, said, "channel_history", {"channel": "C042", "limit": 22}, reply, evidence


def issues(draw: random.Random) -> Trace:
    """Issues as a forge's API lists them, with what nobody asked for."""
    rows = []
    for n in range(28):
        part, fault = draw.choice(PARTS), draw.choice(FAULTS)
        user = draw.choice(NAMES)
        rows.append(
            {
                "url": f"https://api.forge.example/repos/acme/desk/issues/{400 + n}",
                "id": draw.getrandbits(31),
                "number": 400 + n,
                "title": f"The {part} {fault}",
                "user": {
                    "login": user,
                    "id": draw.getrandbits(24),
                    "avatar_url": f"https://avatars.forge.example/{user}?v=4",
                    "site_admin": False,
                },
                "labels": [{"name": draw.choice(["bug", "idea", "docs"]), "color": "d73a4a"}],
                "state": "open",
                "comments": draw.randrange(9),
                "created_at": (START - timedelta(days=3 * n)).isoformat() + "Z",
                "body": f"Since the last release the {part} {fault}. I expect that it does not. "
                f"Seen with version 4.{draw.randrange(9)} on {draw.choice(['Linux', 'macOS'])}.",
            }
        )
    title = "Signing in with a passkey fails in Firefox"
    body = "The browser says NotAllowedError. It works again when dom.webauthn is reset to true."
    rows[17] |= {"title": title, "body": body}
    said = "Is there an open issue on passkeys that do not work in Firefox, and a workaround?"
    user = "A customer cannot sign in any more. Please look into it."
    arguments = {"repo": "acme/desk", "state": "open", "per_page": 28}
    return user, said, "list_issues", arguments, json.dumps(rows, indent=1), [title, body]


def pod_log(draw: random.Random) -> Trace:
    """A service's log over some minutes."""
    forms = [
        "INFO  http GET /api/orders/{n} 200 {ms}ms user={user} trace={trace}",
        "INFO  http POST /api/carts/{n}/items 201 {ms}ms user={user} trace={trace}",
        "DEBUG cache hit key=price:{n} age={ms}ms",
        "INFO  worker job=thumbnail id={n} done in {ms}ms",
        "WARN  http slow response GET /api/search {ms}00ms trace={trace}",
        "INFO  mail queued template=receipt order={n} user={user}",
    ]
    lines = []
    for n in range(190):
        values: dict[str, object] = {"n": draw.randrange(9999), "ms": draw.randrange(2, 90)}
        values |= {"user": draw.choice(NAMES), "trace": f"{draw.getrandbits(48):012x}"}
        time = (START + timedelta(milliseconds=730 * n)).isoformat("T", "milliseconds")
        lines.append(f"{time}Z {draw.choice(forms).format(**values)}")
    cause = "ERROR db could not obtain a connection: pool exhausted (size=20, waiting=57)"
    effect = "ERROR http POST /api/checkout 500 upstream=db timeout after 30000ms"
    lines[97], lines[99] = (f"{lines[n][:24]} {text}" for n, text in ((97, cause), (99, effect)))
    said = "Which error makes the checkout answer with status 500?"
    user = "Customers say that they cannot pay. Find out why."
    arguments = {"pod": "shop-5d8f", "since": "3m"}
    return user, said, "kubectl_logs", arguments, "\n".join(lines), [cause, effect]


def test_run(draw: random.Random) -> Trace:
    """A verbose run with one failure."""
    modules = [f"tests/{area}/test_{name}.py" for area in ("api", "core") for name in NAMES]
    names = [
        f"{draw.choice(modules)}::test_{draw.choice(PARTS).replace(' ', '_')}_{n}"
        for n in range(150)
    ]
    lines = [f"{one} PASSED [{100 * n // 150:3}%]" for n, one in enumerate(sorted(names))]
    lines[88] = lines[88].replace("PASSED", "FAILED")
    failed = lines[88].split()[0]
    fails = ["E       AssertionError: assert '2026-03-29T02:30' == '2026-03-29T03:30'"]
    fails.append("tests/core/clock.py:41: AssertionError")
    body = [f"    def {failed.rpartition('::')[2]}():", "        start = local('2026-03-29T01:30')"]
    body += [">       assert shift(start, hours=1) == '2026-03-29T03:30'", fails[0], "", fails[1]]
    head = "platform linux -- Python 3.12.3, pytest-8.3.2, pluggy-1.5.0\ncollected 150 items\n"
    tail = f"FAILED {failed}\n==== 1 failed, 149 passed in 41.77s ===="
    text = "\n".join([head, *lines, "", "==== FAILURES ====", *body, "", tail])
    said = "Which assertion fails, with which values, and in which file?"
    user = "Make the tests green again, please."
    return user, said, "run_tests", {"command": "pytest -v"}, text, fails


def rows(draw: random.Random) -> Trace:
    """Rows of a query, with tabs."""
    table = ["id\tname\tcountry\tplan\tseats\trenewal\towner"]
    evidence = []
    for n in range(160):
        name = f"{draw.choice(['Brandt', 'Grano', 'Nordik', 'Ostra', 'Pell', 'Quint'])} {1000 + n}"
        plan = draw.choice(["free", "team", "team", "business"])
        day = START + timedelta(days=draw.randrange(200))
        if n in (31, 118):
            plan, day = "enterprise", datetime(2026, 7, n // 10)
        cells = [
            8000 + n,
            name,
            draw.choice(["DE", "FR", "IT", "SE"]),
            plan,
            draw.randrange(1, 400),
        ]
        row = "\t".join(map(str, [*cells, day.date(), draw.choice(NAMES)]))
        table.append(row)
        evidence += [row] if plan == "enterprise" else []
    said = "Which customers with an enterprise plan renew in July?"
    user = "Prepare me for the quarterly business review."
    sql = "SELECT id, name, country, plan, seats, renewal, owner FROM customers ORDER BY id"
    return user, said, "query_database", {"sql": sql}, "\n".join(table), evidence


def forecast(draw: random.Random) -> Trace:
    """A forecast by the hour, of five days."""
    hours = [
        {
            "time": (START + timedelta(hours=n)).isoformat("T", "minutes"),
            "temperature_2m": round(draw.uniform(4, 17), 1),
            "relative_humidity_2m": draw.randrange(40, 99),
            "precipitation": round(max(0.0, draw.uniform(-2, 3)), 1),
            "wind_speed_10m": round(draw.uniform(2, 40), 1),
            "weather_code": draw.choice([0, 1, 2, 3, 61, 63]),
        }
        for n in range(120)
    ]
    reply = {"latitude": 52.1, "longitude": 5.12, "elevation": 4.0, "hourly": hours}
    at = '"time": "2026-04-16T08:00"'
    said = "I look at rain and wind at 8 in the morning on Thursday, 2026-04-16T08:00."
    user = "Should I cycle to work on Thursday or take the train?"
    arguments = {"latitude": 52.09, "longitude": 5.12, "forecast_days": 5}
    return user, said, "get_forecast", arguments, json.dumps(reply, indent=1), [at]


def source(_: random.Random) -> Trace:
    """A module of Python's own library."""
    evidence = [
        "Break words longer than 'width'.  If false, those words will not",
        "be broken, and some lines might be longer than 'width'.",
    ]
    said = "Which option of TextWrapper decides whether words longer than the width are broken?"
    user = "Our command line tool prints ugly help texts: long URLs are torn apart."
    path = {"path": "lib/python3/textwrap.py"}
    return user, said, "read_file", path, inspect.getsource(textwrap), evidence


def licence(_: random.Random) -> Trace:
    """A legal text."""
    evidence = ["granted to You under this License for that Work shall terminate"]
    said = "When does the patent license end if we sue somebody over a patent?"
    user = "May we use this library in our product? List what our lawyers should know."
    text = (ROOT / "LICENSE").read_text("utf-8")
    return user, said, "read_file", {"path": "vendor/lib/LICENSE"}, text, evidence


MADE: list[Callable[[random.Random], Trace]] = [
    *(web_search, pod_log, issues, help_page, rows, licence, test_run, channel, source, forecast)
]


def main() -> None:
    """Print the traces."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    names = ("user", "said", "tool", "arguments", "result", "evidence")
    for make in MADE:
        user, said, tool, arguments, result, evidence = make(random.Random(options.seed))
        written = json.dumps(arguments, ensure_ascii=False)
        values = (user, said, tool, written, result, evidence)
        sys.stdout.write(json.dumps(dict(zip(names, values, strict=True))) + "\n")


if __name__ == "__main__":
    main()
