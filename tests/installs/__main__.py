"""Follow each line of installation as a reader does: ``python -m tests.installs --help``.

The wheel is built; each line that README and docs/ name gets a fresh environment and a folder for
each page, in which the commands and blocks of the line's sections run (`tests/blocks.py`).
"""

import argparse
import shutil
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

from tests.blocks import ROOT
from tests.serving import Chat, served

from .environments import follow, install, unreached, wheels
from .steps import Plan, plans
from .workplace import weights, workplace

FOLDER = ROOT / "build" / "installs"
AT_ONCE = 2


class Row(NamedTuple):
    """What came of a plan: seconds, those of processors by place, and what was wrong."""

    plan: Plan
    seconds: float
    cpu: list[tuple[float, str]]
    failures: list[str]

    @property
    def text(self):
        """One line, and one for each failure."""
        ran = sum(map(len, self.plan.pages.values()))
        seconds = f"{self.seconds:4.0f} s  {sum(cpu for cpu, _ in self.cpu):4.0f} CPU s"
        counts = f"{ran:3} run  {len(self.plan.left_out):3} left out  {len(self.failures):3} failed"
        head = f"{self.plan.name:32} {seconds}  {counts}"
        return "\n  ".join([head, *self.failures])


@dataclass(frozen=True)
class Reading:
    """Follows plans, some at a time, each in an environment of its own. Environments take turns at
    few places, so that what Python compiles of one serves the next, too."""

    wheel: Path
    home: Path
    places: SimpleQueue[Path]
    fake: str

    def __call__(self, plan):
        """Install, and follow every page in a folder of its own."""
        begun = time.monotonic()
        environment = self.places.get()
        cpu = []
        failures = []
        try:
            install(environment, self.wheel, plan.needs)
            for page, steps in plan.pages.items():
                folder = FOLDER / "pages" / plan.name.replace(" ", "") / page.replace("/", "-")
                shutil.copytree(FOLDER / "workplace", folder)
                taken = follow(environment, folder, steps, self.fake, self.home)
                for step, result in zip([*steps, steps[-1]], taken, strict=False):
                    where = f"{page}:{step['line']}"
                    cpu.append((result["cpu"], where))
                    failures += [f"{where}: {result['wrong']}"] if result["wrong"] else []
        except RuntimeError as error:
            failures.append(str(error))
        finally:
            self.places.put(environment)
        return Row(plan, time.monotonic() - begun, cpu, failures)


def read(chosen, slowest):
    """Say of each plan how it went: how many failed."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    wheel = wheels(FOLDER / "wheels")
    home = weights(FOLDER / "home" / "weights")
    workplace(FOLDER / "workplace")
    places = SimpleQueue()
    for number in range(AT_ONCE):
        places.put(FOLDER / f"environment-{number}")
    failed = 0
    with served(Chat) as fake, ThreadPoolExecutor(AT_ONCE) as pool:
        reading = Reading(wheel, home, places, fake)
        for done in as_completed([pool.submit(reading, plan) for plan in chosen]):
            row = done.result()
            if row.failures and all(map(unreached, row.failures)):
                say(f"{row.plan.name:32} skipped: no registry of packages can be reached")
                continue
            say(row.text, *(f"{cpu:6.1f} {at}" for cpu, at in sorted(row.cpu)[::-1][:slowest]))
            failed += bool(row.failures)
    return failed


def say(*lines):
    """Print lines at once."""
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


def main():
    """The table; 1 where anything failed."""
    known = {plan.name: plan for plan in plans()}
    parser = argparse.ArgumentParser("python -m tests.installs")
    parser.add_argument("names", nargs="*", help=f"of {'; '.join(known)}: all where none is named")
    parser.add_argument("--list", action="store_true", help="only say what would be left out")
    parser.add_argument("--slowest", type=int, default=0, help="show so many steps of each line")
    options = parser.parse_args()
    if unknown := {*options.names} - {*known}:
        parser.error(f"names must be of {', '.join(known)}, got {', '.join(sorted(unknown))}")
    chosen = [known[name] for name in options.names or known]
    if not options.list:
        return int(read(chosen, options.slowest) > 0)
    for plan in chosen:
        say("\n  ".join([f"{plan.name}: {', '.join(plan.pages)}", *plan.left_out]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
