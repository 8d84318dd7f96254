"""Memory and speed of `ragsieve filter --input -` over a long stream of short questions (Linux).

    python benchmarks/soak.py soak.jsonl --questions 100000
    python benchmarks/soak.py soak.jsonl --show

One process is sent the questions, each with a passage of its own, and every 1,000 results a line of
the log says how many there are, when, the processor time and the memory. Interrupted, the same
command goes on behind the last line, in a new process.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
import time
from pathlib import Path

from server_load import used

EVERY = 1000


def question(n: int) -> bytes:
    """The n-th question with a passage, as a line."""
    text = f"Person {n} was born in {1500 + n % 500}. It rained that day in the town."
    record = {"id": str(n), "question": f"When was person {n} born?", "documents": [{"text": text}]}
    return json.dumps(record).encode() + b"\n"


def run(log: Path, questions: int) -> None:
    """Send what the log does not have yet."""
    start = rows(log)[-1]["questions"] if log.exists() else 0
    command = [sys.executable, "-m", "ragsieve", "-q", "filter", "--input", "-"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    given, taken = process.stdin, process.stdout
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
            cpu, megabytes = used(process.pid)
            row = {"questions": n + 1, "seconds": time.monotonic() - began, "cpu": cpu}
            with log.open("a") as file:
                file.write(json.dumps({**row, "mb": megabytes, "pid": process.pid}) + "\n")
    sender.join()
    process.wait(60)


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
    """Run, or show what there is."""
    about = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    about.add_argument("log", type=Path, help="a line each 1,000 questions")
    about.add_argument("--questions", type=int, default=100_000)
    about.add_argument("--show", action="store_true", help="print the table of the log")
    o = about.parse_args()
    if not o.show:
        run(o.log, o.questions)
    show(o.log)


if __name__ == "__main__":
    main()
