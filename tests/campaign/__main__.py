"""Run the campaign: ``python -m tests.campaign --help``."""

import argparse
import os
import sys
from dataclasses import replace
from pathlib import Path

from .campaign import REGRESSIONS, Campaign, table
from .kinds import KINDS
from .workers import run


def main():
    """The table of a campaign; 1 where anything was violated."""
    parser = argparse.ArgumentParser("python -m tests.campaign")
    parser.add_argument("kinds", nargs="*", help=f"of {', '.join(KINDS)}; all where none is named")
    parser.add_argument("--seed", type=int, default=0, help="of all inputs (0)")
    parser.add_argument("--start", type=int, default=0, help="the first input's number (0)")
    parser.add_argument("--share", type=float, default=1.0, help="of the goals of all kinds (1)")
    parser.add_argument("--small", action="store_true", help="the small form: other, small goals")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="most, for a kind")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--folder", type=Path, default=REGRESSIONS, help="of inputs that fail")
    options = parser.parse_args()
    if unknown := {*options.kinds} - {*KINDS}:
        parser.error(f"kinds must be of {', '.join(KINDS)}, got {', '.join(sorted(unknown))}")
    campaign = Campaign(
        options.seed, options.share, options.seconds, options.start, folder=options.folder.resolve()
    )
    kinds = [KINDS[name] for name in options.kinds or KINDS]
    kinds = [replace(kind, goal=kind.small) if options.small else kind for kind in kinds]
    rows = run(campaign, kinds, options.workers)
    sys.stdout.write(table(rows) + "\n")
    return int(any(row.violated for row in rows))


if __name__ == "__main__":
    sys.exit(main())
