"""`--engine ray` of `ragsieve filter` and `ask`."""

import json
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import click

from ragsieve.cli.base import info, progress
from ragsieve.errors import InputError
from ragsieve.files import standard_input
from ragsieve.schema import Count, Weight
from ragsieve.spec import SystemSpec
from ragsieve.text import counted


@dataclass(frozen=True)
class Cluster:
    """Place where questions run; the fields are options.

    Args:
        engine: ray: on a Ray cluster; --input may be a folder, a pattern or an URL, also of Parquet
            files, and --output is a folder.
        address: Of the Ray cluster; without it, this machine is one.
        actors: Processes of the Ray cluster that filter.
        gpus: GPUs of each of them, as 0.5; without, they run on processors alone.
        form: Of the results of Ray.
    """

    engine: Literal["local", "ray"] = "local"
    address: str | None = None
    actors: Count = 2
    gpus: Weight = 0.0
    form: Literal["jsonl", "parquet"] = "jsonl"

    def run(
        self, places: tuple[str, str], options: SystemSpec, label: str, answer: bool, workers: int
    ) -> int:
        """The exit code of a run from one place to another on Ray, with a bar over its parts."""
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it would report to its makers
        from ragsieve.integrations.ray import connected, filter_files

        sums: Counter[str] = Counter()
        stages: dict[str, Counter[str]] = {}
        with options.opened(1, None) as system, connected(self.address, self.actors):
            count, parts = filter_files(
                *places,
                system,
                label=label,
                answer=answer,
                actors=self.actors,
                workers=workers,
                form=self.form,
                resources={"num_gpus": self.gpus} if self.gpus else {},
            )
            with progress() as bars:
                bar = bars.add_task("parts", total=count)
                for part in parts:
                    for name, metrics in json.loads(part.get("stages", "{}")).items():
                        stages.setdefault(name, Counter()).update(metrics)
                    sums.update({key: value for key, value in part.items() if key != "stages"})
                    bars.update(bar, advance=1)
        again = f"; {sums['again']} of {count} parts from before" if sums["again"] else ""
        done = f"{counted(sums['questions'], 'question')}, {sums['failed']} failed"
        kept = f"kept {sums['tokens_after']:,} of {counted(sums['tokens_before'], 'token')}"
        info(f"{places[1]}: {done}, {kept}{again}")
        for name, metrics in stages.items():
            segments = "{segments_in:,.0f} segments in, {segments_out:,.0f} out".format(**metrics)
            spent = (
                f"{metrics['calls']:,.0f} model calls, {counted(int(metrics['tokens']), 'token')}"
            )
            info(f"  {name}: {metrics['seconds']:,.1f} s, {segments}, {spent}")
        return 2 if sums["failed"] else 0


class Place(click.Path):
    """A path; an URL or a pattern as it is."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """See `click.Path`."""
        remote = isinstance(value, str) and ("://" in value or "*" in value)
        return value if remote else super().convert(value, param, ctx)


def local_file(flag: str, place: Path | str | None) -> Path | None:
    """The value of an option that only another engine takes as an URL, a pattern or a folder.

    Raises:
        InputError: If it is none of a file, or standard input where that is closed.
    """
    if place == Path("-") and flag == "--input":
        standard_input()  # where it is closed, the next file that is opened takes its number
        return Path("/dev/stdin")
    if isinstance(place, str):
        raise InputError(f"{flag} must be a file, got {place!r}: --engine ray takes others")
    if place is not None and place.suffix == ".parquet" and flag == "--output":
        raise InputError(f"{flag} must be JSONL, got {str(place)!r}: Parquet needs --engine ray")
    return place
