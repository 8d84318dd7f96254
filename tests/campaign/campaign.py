"""A seeded random campaign: inputs are drawn, tried and counted, and those that fail are kept.

The input of number ``n`` of a kind depends on the seed, the kind and ``n`` alone, so that any run
can be gone on with or repeated from its seed.
"""

import json
import logging
import math
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

REGRESSIONS = Path(__file__).parent / "regressions"
LIMIT_S = 600  # what takes longer hangs


@dataclass(frozen=True)
class Kind:
    """A kind of inputs.

    Args:
        name: Its name.
        goal: Tries of the full form.
        small: Tries of the small form.
        draw: An input, as JSON values.
        check: Tries an input in an empty folder: how many tries that was; it raises what is wrong.
        missing: Why it cannot be tried here; empty where it can.
    """

    name: str
    goal: int
    small: int
    draw: Callable[[random.Random], Any]
    check: Callable[[Any, Path], int]
    missing: Callable[[], str] = str


def lacking(*names):
    """Why a kind cannot be tried that needs these modules; empty where it can."""
    missing = [name for name in names if not find_spec(name)]
    return f"not installed: {', '.join(missing)}" if missing else ""


@dataclass
class Row:
    """What became of a kind."""

    kind: str
    tried: int = 0
    inputs: int = 0
    violated: int = 0
    seconds: float = 0.0
    reason: str = ""


@dataclass(frozen=True)
class Campaign:
    """Tries ``share`` of each kind's goal, or as much as fits in ``seconds`` for each kind.

    Args:
        seed: Of all inputs.
        share: Of each goal.
        seconds: Most a kind may take.
        start: The first number.
        step: From number to number; more than 1 where several processes share a campaign.
        folder: Where inputs that fail are written.
    """

    seed: int = 0
    share: float = 1.0
    seconds: float = math.inf
    start: int = 0
    step: int = 1
    folder: Path = REGRESSIONS

    def run(self, kind):
        """Try inputs of a kind until its share of the goal is reached."""
        row, began, number = Row(kind.name, reason=kind.missing()), time.monotonic(), self.start
        while not row.reason and row.tried < kind.goal * self.share:
            if time.monotonic() - began > self.seconds:
                break
            tried = self._one(kind, number)
            row.tried += abs(tried)
            row.inputs += 1
            row.violated += tried < 0
            number += self.step
        row.seconds = time.monotonic() - began if not row.reason else 0.0
        return row

    def _one(self, kind, number):
        """Tries of one input; -1 where it fails. Its file is there before: it may end us."""
        value = kind.draw(random.Random(f"{self.seed}/{kind.name}/{number}"))
        path = self.folder / f"{kind.name}-{self.seed}-{number}.json"
        content = {"kind": kind.name, "input": value}
        path.write_text(json.dumps(content, indent=1) + "\n")
        try:
            tried = replay(kind, value)
        except Exception as error:
            line = " ".join(f"{type(error).__name__}: {error}".split())[:500]
            path.write_text(json.dumps({**content, "violation": line}, indent=1) + "\n")
            sys.stderr.write(f"violated: {path.name}: {line}\n")
            return -1
        except BaseException:  # interrupted
            path.unlink()
            raise
        path.unlink()
        return tried


def replay(kind, value):
    """Try an input in an empty folder, in bounded time."""
    logging.disable()  # what is skipped is in the trace
    with tempfile.TemporaryDirectory() as folder, bounded(LIMIT_S), chdir(folder):
        try:
            return kind.check(value, Path(folder))
        finally:
            logging.disable(logging.NOTSET)


@contextmanager
def bounded(seconds):
    """Raise `TimeoutError` in the block where it takes longer."""

    def late(*_):
        raise TimeoutError(f"it hangs: over {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def table(rows):
    """A line a kind: tried, violated."""
    lines = [f"{'kind':10}{'tried':>10}{'inputs':>10}{'violated':>10}{'seconds':>10}"]
    for row in rows:
        counts = f"{row.tried:10,}{row.inputs:10,}{row.violated:10,}{row.seconds:10.0f}"
        lines.append(f"{row.kind:10}{counts}  {row.reason}".rstrip())
    return "\n".join(lines)
