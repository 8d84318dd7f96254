"""What turns of an agent cost: as they are, through the proxy, and cut anew at each turn.

    python benchmarks/agent_bill.py tests/traces.jsonl
    python benchmarks/agent_bill.py tests/traces.jsonl --skip 20 --calls 1 --turns 30
    python benchmarks/long_traces.py | python benchmarks/agent_bill.py /dev/stdin --calls 1

A line of the file is a trace: `user`, `said`, `tool`, `arguments`, `result` and `evidence`, the
spans of the result that its call asks for. Each turn has two of them (`--calls`): the user speaks,
the model calls a tool, reads its result and calls another, reads that and answers. A provider on
127.0.0.1 remembers the beginnings of conversations that it was sent, message by message, and counts
their tokens as cached, in the bundled tokenizer; they cost a tenth (`--cached-price`) of the
others. Only what is sent is counted: all three ways have the same replies. The last column says how
much of the evidence the model read in the request behind its call. "Anew" cuts all results before
each request for the user's last message, as a filter does that knows no turns.
"""

from __future__ import annotations

import argparse
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import uvicorn

import ragsieve
from ragsieve import models
from ragsieve.agents.rules import ToolRule
from ragsieve.server import Settings, Upstream, create_app

Messages = list[dict[str, Any]]


@dataclass
class Bill:
    """What a provider was sent; tokens."""

    sent: int = 0
    cached: int = 0
    broken: int = 0
    results: list[str] = field(default_factory=list, repr=False)

    def price(self, cached: float) -> float:
        """Billed tokens, a cached one counting as a share of another."""
        return self.sent - self.cached + cached * self.cached


class Provider:
    """A server of chats that remembers beginnings of conversations."""

    def __init__(self, count: Callable[[Sequence[str]], list[int]]) -> None:
        self.bill = Bill()
        self._seen: set[str] = set()
        self._count = count

    def read(self, messages: Messages) -> None:
        """Count a request's messages; the longest beginning that is known is cached."""
        texts = [json.dumps(message, sort_keys=True) for message in messages]
        sizes = self._count(texts)
        begins = ["\n".join(texts[: n + 1]) for n in range(len(texts))]
        known = sum(begin in self._seen for begin in begins)
        self.bill.sent += sum(sizes)
        self.bill.cached += sum(sizes[:known])
        if messages[-1]["role"] == "tool":
            self.bill.results.append(messages[-1]["content"])
        self._seen.update(begins)


@contextmanager
def served(provider: Provider) -> Iterator[str]:
    """The provider's address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            provider.read(body["messages"])
            reply = b'{"choices": [{"message": {"role": "assistant", "content": "Noted."}}]}'
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, format: str, *args: Any) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    server.shutdown()
    server.server_close()


@contextmanager
def proxied(system: Any, upstream: str) -> Iterator[str]:
    """The address of ragsieve's proxy."""
    settings = Settings(upstream=Upstream(base_url=upstream), filter_tools=(ToolRule(),))
    app = create_app({"finefilter": system}, settings=settings)
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        thread.join(0.05)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/v1"
    server.should_exit = True
    thread.join()


def requests(traces: Sequence[Mapping[str, str]], calls: int) -> Iterator[Messages]:
    """The requests of a conversation: each has all messages so far."""
    messages: Messages = []
    for n, trace in enumerate(traces):
        if n % calls == 0:
            messages.append({"role": "user", "content": trace["user"]})
            yield [*messages]
        function = {"name": trace["tool"], "arguments": trace["arguments"]}
        call = {"id": f"c{n}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": trace["said"], "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{n}", "content": trace["result"]})
        yield [*messages]
        if n % calls == calls - 1:
            messages.append({"role": "assistant", "content": "Noted."})


def cut_anew(system: Any, messages: Messages) -> Messages:
    """Each result filtered for the user's last message."""
    question = [one["content"] for one in messages if one["role"] == "user"][-1]
    return [
        {**one, "content": system(question, [one["content"]]).text}
        if one["role"] == "tool"
        else one
        for one in messages
    ]


def run(way: str, system: Any, conversation: Sequence[Messages]) -> Bill:
    """The bill of a conversation, sent in one of three ways."""
    provider = Provider(models.load("pruner").count)
    with served(provider) as url, httpx.Client(timeout=60) as client:
        if way == "ragsieve":
            with proxied(system, url) as proxy:
                for messages in conversation:
                    reply = client.post(f"{proxy}/chat/completions", json={"messages": messages})
                    broken = reply.headers.get("x-ragsieve-cache-broken", "0")
                    provider.bill.broken += int(broken)
        else:
            for messages in conversation:
                sent = cut_anew(system, messages) if way == "anew" else messages
                client.post(f"{url}/chat/completions", json={"messages": sent})
    return provider.bill


def main() -> None:
    """Print a table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("traces", type=Path)
    parser.add_argument("--calls", type=int, default=2, help="of a turn")
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("--skip", type=int, default=0, help="traces of the file before these")
    parser.add_argument("--cached-price", type=float, default=0.1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    lines = options.traces.read_text("utf-8").splitlines()[options.skip :][
        : options.calls * options.turns
    ]
    traces = [json.loads(line) for line in lines]
    system = ragsieve.load("finefilter", "fake:echo")
    rows = {}
    for way in ("raw", "ragsieve", "anew"):
        bill = run(way, system, [*requests(traces, options.calls)])
        values = {name: value for name, value in asdict(bill).items() if name != "results"}
        read = zip(traces, bill.results, strict=True)
        kept = [span in result for trace, result in read for span in trace["evidence"]]
        billed = round(bill.price(options.cached_price))
        rows[way] = {**values, "billed": billed, "evidence": sum(kept), "of": len(kept)}
    if options.json:
        print(json.dumps(rows))
        return
    print("| way | tokens sent | of them cached | billed | evidence read |")
    print("|---|---|---|---|---|")
    for way, row in rows.items():
        shown = [f"{row[name]:,}" for name in ("sent", "cached", "billed")]
        print(f"| {way} | {' | '.join(shown)} | {row['evidence']} of {row['of']} |")


if __name__ == "__main__":
    main()
