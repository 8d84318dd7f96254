"""Seconds and memory of the default filter as its work grows, each row beside the one before.

    python benchmarks/growth.py passages hotpotqa.jsonl.gz      # of a question
    python benchmarks/growth.py texts                           # splitters, parsers, trace
    python benchmarks/growth.py stream soak.jsonl --questions 100000     # of a file (Linux)
    python benchmarks/growth.py stream soak.jsonl --show

`passages` and `stream` send questions to `ragsieve filter --input -`. Of a stream every 1,000
results a line of the log says how many there are, when, the processor time and the memory;
interrupted, the same command goes on behind the last line, in a new process. `texts` reads texts of
growing length in ten forms, with a pruner that compares words, so that the net's time is none of
it.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from server_load import used

import ragsieve
from ragsieve import Document, Query, Segment, split
from ragsieve.run.questions import lines, parse_record

EVERY = 1000
PASSAGES = (1, 10, 100, 1000)
KILOBYTES = (40, 400, 2000)
WORDS = ["rain", "town", "opens", "late", "invoice", "export", "river", "grant", "error", "museum"]


def sentence(draw: random.Random, _: int) -> str:
    """Twelve words."""
    return f"{' '.join(draw.choices(WORDS, k=12)).capitalize()}."


def entry(draw: random.Random, n: int) -> dict[str, Any]:
    """A record of a few fields."""
    return {"id": n, "name": draw.choice(WORDS), "note": sentence(draw, n), "open": n % 3 == 0}


Make = Callable[[random.Random, int], str]
FORMS: dict[str, tuple[str, Make, str]] = {  # what stands before, a piece, what joins pieces
    "prose": ("", sentence, " "),
    "list": ("Rules:\n", lambda d, n: f"{n}. {sentence(d, n)}", "\n"),
    "JSON": ("[", lambda d, n: json.dumps(entry(d, n)), ",\n"),
    "JSON Lines": ("", lambda d, n: json.dumps(entry(d, n)), "\n"),
    "YAML": ("", lambda d, n: f"part{n}:\n  note: {sentence(d, n)}\n  count: {n}", "\n"),
    "CSV": ("id,name,note\n", lambda d, n: f"{n},{d.choice(WORDS)},{sentence(d, n)}", "\n"),
    "HTML": ("<html><body>", lambda d, n: f"<h2>Part {n}</h2><p>{sentence(d, n)}</p>", "\n"),
    "Python": ("", lambda _, n: f"def f{n}(a):\n    b = a + {n}\n    return b  # ok", "\n\n\n"),
    "log": (
        "",
        lambda d, n: f"2026-04-13 10:{n // 60 % 60:02}:{n % 60:02} INFO {sentence(d, n)}",
        "\n",
    ),
    "chat": ("", lambda d, n: f"{('Ada', 'Ben')[n % 2]}: {sentence(d, n)}", "\n"),
}


def text(form: str, size: int) -> str:
    """A text of a form, of about so many characters."""
    head, make, join = FORMS[form]
    draw, pieces, length = random.Random(0), [head], len(head)
    while length < size:
        pieces.append(make(draw, len(pieces)))
        length += len(pieces[-1]) + len(join)
    ends = {"JSON": "]", "HTML": "</body></html>"}
    return head + join.join(pieces[1:]) + ends.get(form, "")


def texts() -> None:
    """Milliseconds of processor time a megabyte, by the length of a text."""
    query = Query("When does the museum open?")
    sieve = ragsieve.load(
        "finefilter", "fake:echo", pruner="fake:pruner", options={"min_score": 0.5}
    )
    sieve(query, ["It opens at ten."])
    print("| text | call | " + " | ".join(f"{size / 1000} MB" for size in KILOBYTES) + " | times |")
    print("|---" * (len(KILOBYTES) + 3) + "|")
    calls: dict[str, Callable[[Document], object]] = {
        "split": lambda document: split.Blocks()(query, [Segment.whole(document)]),
        "filter": lambda document: sieve(query, [document]),
        "rows, trace": lambda document: json.dumps(sieve(query, [document]).to_dict()),
    }
    for form, (name, call) in itertools.product(FORMS, calls.items()):
        spent = []
        for size in KILOBYTES:
            document = Document("a", text(form, 1000 * size))
            began = time.process_time()
            call(document)
            spent.append(1e6 * (time.process_time() - began) / size)
        row = " | ".join(f"{ms:,.0f}" for ms in spent)
        print(f"| {form} | {name} | {row} | {spent[-1] / spent[1]:.2f} |", flush=True)


@contextmanager
def filtering() -> Iterator[tuple[IO[bytes], IO[bytes], int]]:
    """Where a process reads questions, where it writes results, its id; until the block ends."""
    command = [sys.executable, "-m", "ragsieve", "-q", "filter", "--input", "-"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin and process.stdout
    yield process.stdin, process.stdout, process.pid
    process.stdin.close()
    process.wait(60)


def passages(path: Path) -> None:
    """One question with more and more passages of a file, after a first one with one."""
    examples = [parse_record(line) for _, line in itertools.islice(lines(path), 500)]
    found = {d.text: {"text": d.text, "title": d.title} for e in examples for d in e.documents}
    print("| passages | seconds | CPU s | CPU ms a passage | MB |\n|---|---|---|---|---|")
    for count in PASSAGES:
        with filtering() as (given, taken, pid):
            for some in ([{"text": "It rained."}], [*found.values()][:count]):
                cpu, began = used(pid)[0], time.monotonic()
                record = {"question": examples[0].query.text, "documents": some}
                given.write(json.dumps(record).encode() + b"\n")
                given.flush()
                assert "error" not in json.loads(taken.readline())
            took, spent = time.monotonic() - began, used(pid)[0] - cpu
            status = Path(f"/proc/{pid}/status").read_text()
            peak = int(status.partition("VmHWM:")[2].split()[0]) / 1e3
        each = 1000 * spent / len(some)
        print(f"| {len(some):,} | {took:.2f} | {spent:.2f} | {each:.1f} | {peak:.0f} |", flush=True)


def question(n: int) -> bytes:
    """The n-th question with a passage, as a line."""
    told = f"Person {n} was born in {1500 + n % 500}. It rained that day in the town."
    record = {"id": str(n), "question": f"When was person {n} born?", "documents": [{"text": told}]}
    return json.dumps(record).encode() + b"\n"


def stream(log: Path, questions: int) -> None:
    """Send what the log does not have yet."""
    start = int(rows(log)[-1]["questions"]) if log.exists() else 0
    with filtering() as (given, taken, pid):
        began = time.monotonic()

        def send() -> None:
            with given:
                given.writelines(question(n) for n in range(start, questions))

        sender = threading.Thread(target=send)
        sender.start()
        for n in range(start, questions):
            record = json.loads(taken.readline())
            if "error" in record or record["id"] != str(n) or not record["text"]:
                raise SystemExit(f"question {n}: {record!r:.300}")
            if n == start or (n + 1) % EVERY == 0:
                cpu, megabytes = used(pid)
                row = {"questions": n + 1, "seconds": time.monotonic() - began, "cpu": cpu}
                with log.open("a") as file:
                    file.write(json.dumps({**row, "mb": megabytes, "pid": pid}) + "\n")
        sender.join()


def rows(log: Path) -> list[dict[str, float]]:
    """Lines of the log."""
    return [json.loads(line) for line in log.read_text().splitlines()]


def show(log: Path) -> None:
    """A table of every tenth of the stream."""
    found = rows(log)
    print("| questions | seconds | CPU s | MB |\n|---|---|---|---|")
    for row in [found[0], *found[max(1, len(found) // 10) :: max(1, len(found) // 10)]]:
        print(
            f"| {row['questions']:,} | {row['seconds']:.1f} | {row['cpu']:.1f} | {row['mb']:.0f} |"
        )


def main() -> None:
    """Run one of the three."""
    about = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    about.add_argument("what", choices=["passages", "texts", "stream"])
    about.add_argument("path", type=Path, nargs="?", help="questions, or the log of a stream")
    about.add_argument("--questions", type=int, default=100_000, help="of a stream")
    about.add_argument("--show", action="store_true", help="print the table of the log")
    o = about.parse_args()
    if o.what == "texts":
        texts()
    elif o.what == "passages":
        passages(o.path)
    else:
        if not o.show:
            stream(o.path, o.questions)
        show(o.path)


if __name__ == "__main__":
    main()
