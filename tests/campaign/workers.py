"""A campaign in several processes: each takes every so many-th input."""

import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace

from .campaign import table


def run(campaign, kinds, workers):
    """Rows of all kinds. A process that dies leaves the file of the input that ended it."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        parts = [pool.submit(_part, campaign, kinds, n, workers) for n in range(workers)]
        try:
            done = [part.result() for part in parts]
        except BrokenProcessPool:
            sys.exit(f"a process died; its input is the newest in {campaign.folder}")
    return [_total(rows) for rows in zip(*done, strict=True)]


def _part(campaign, kinds, worker, workers):
    own = replace(
        campaign, start=campaign.start + worker, step=workers, share=campaign.share / workers
    )
    rows = []
    for kind in kinds:
        rows.append(own.run(kind))
        sys.stderr.write(table(rows[-1:]).splitlines()[1] + "\n")
    return rows


def _total(rows):
    counts = {
        name: sum(getattr(row, name) for row in rows) for name in ("tried", "inputs", "violated")
    }
    return replace(rows[0], seconds=max(row.seconds for row in rows), **counts)
