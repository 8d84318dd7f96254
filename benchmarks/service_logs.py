"""What is found in long logs of which some lines of each template are read, beside all of them.

    python benchmarks/service_logs.py              # 24 questions, two minutes where all is read
    python benchmarks/service_logs.py --lines 300  # of shorter logs

Each log has lines of five services and five templates, drawn by chance, and one that says something
else; three questions are asked of it. The processor's seconds are those of a question.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterator
from statistics import mean

import ragsieve
from ragsieve.score import pruner
from ragsieve.system import System

SAID = {
    "worker 3 ran out of memory and was restarted": (
        *("Why was a worker restarted?", "Did anything crash?", "What went wrong with memory?"),
    ),
    "could not renew lease of shard 14: clock is 4.2 s ahead; giving up leadership": (
        *("Why did a service stop being the leader?", "Is the time on some machine wrong?"),
        "Any trouble with shards?",
    ),
    "disk /var/data is 97% full, compaction is postponed": (
        *("Is there enough disk space?", "Why has compaction not run?", "What needs attention?"),
    ),
    "dropped 14 messages: no subscriber answered within 30 s": (
        *("Were any messages lost?", "What went wrong?", "Did some subscriber not answer?"),
    ),
    "payment 88213 declined by the bank: card expired": (
        *("Why was a payment refused?", "Which customer's card had run out?"),
        "Did all payments succeed?",
    ),
    "certificate of api.internal expires in 2 days": (
        *("Which certificate must be renewed soon?", "Is anything about to expire?"),
        "What should I look at?",
    ),
    "schema migration 0042 skipped, table locked by session 771": (
        *("Which migration did not run?", "Why was the migration not applied?"),
        "Is the database up to date?",
    ),
    "rate limit of tenant acme reached, 312 requests refused": (
        *("Which tenant was too fast?", "Were requests refused?", "Who hit a limit?"),
    ),
}
SERVICES = ("auth", "billing", "search", "cart", "mailer")
USERS = ("ada", "ben", "carla", "dev", "elif", "femi", "greta", "hugo", "ines", "kofi", "lena")


def lines(count: int, said: str, draw: random.Random) -> Iterator[str]:
    """Lines of a log, with one that says something else at two thirds."""
    second, n = 0.0, draw.randrange
    for place in range(count):
        second += 3 * draw.random()
        usual = (
            f"GET /v1/items/{n(9999)} 200 {n(3, 90)}ms",
            f"cache hit ratio 0.{n(70, 100)}",
            f"session {n(2**32):x} opened for user {draw.choice(USERS)}",
            f"queue depth {n(40)}",
            f"flushed {n(1, 900)} rows to segment s{n(99)} in {n(2, 60)} ms",
        )
        text = said if place == 2 * count // 3 else draw.choice(usual)
        moment = f"{second // 3600:02.0f}:{second // 60 % 60:02.0f}:{second % 60:06.3f}"
        yield f"2026-03-02T{moment}Z {draw.choice(SERVICES)} INFO {text}\n"


def measured(system: System, count: int) -> Iterator[tuple[bool, float, float]]:
    """Of each question whether the line is kept, the share of tokens that is, and seconds."""
    for seed, (said, questions) in enumerate(SAID.items()):
        text = "".join(lines(count, said, random.Random(seed)))
        for question in questions:
            began = time.process_time()
            result = system(question, [text])
            seconds = time.process_time() - began
            yield said in result.text, result.tokens.after / result.tokens.before, seconds


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--lines", type=int, default=3000, help="of a log")
    options = parser.parse_args()
    print("| read | line kept | tokens kept | processor seconds |\n|---|---|---|---|")
    for name, least in (("some of each template", pruner.SAMPLED), ("all", 10**9)):
        pruner.SAMPLED = least
        found = [*measured(ragsieve.load("finefilter"), options.lines)]
        kept, shares, seconds = zip(*found, strict=True)
        row = f"{sum(kept)} of {len(found)} | {mean(shares):.1%} | {mean(seconds):.2f}"
        print(f"| {name} | {row} |", flush=True)


if __name__ == "__main__":
    main()
