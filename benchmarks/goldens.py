"""Record what every system makes of the sample questions, and compare it after a change.

    python benchmarks/goldens.py record FOLDER
    python benchmarks/goldens.py record FOLDER --models     # with the two real default models
    python benchmarks/goldens.py compare FOLDER OTHER

FOLDER gets one JSON file a system and question file, the ``--help`` of every command, and
``openapi.json``. Seconds are left out: what stays is equal between two runs of the same code.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from click.testing import CliRunner

import ragsieve
from ragsieve import systems
from ragsieve.cli.commands import cli
from ragsieve.models.fake import HashingEmbedder, OverlapPruner, ScriptedLLM
from ragsieve_research.datasets import load as dataset

SECONDS = re.compile("second|started|duration|version")


def timeless(value: Any) -> Any:
    """The same without what differs between two runs of the same code."""
    if isinstance(value, dict):
        return {k: timeless(v) for k, v in value.items() if not SECONDS.search(k)}
    return [timeless(v) for v in value] if isinstance(value, list) else value


def results(models: bool, limit: int) -> Iterator[tuple[str, Any]]:
    """Of each system the records of its results, or its error."""
    examples = [*dataset("sample")][:limit]
    answers = {example.query.text: example.answers for example in examples}
    for name in systems.SYSTEMS:
        rows = []
        try:
            if models:
                built = ragsieve.load(name)
            else:
                built = systems.build(
                    name,
                    ScriptedLLM(lambda prompt: prompt[-1].content[-90:]),
                    HashingEmbedder(),
                    pruner=OverlapPruner(),
                    answers=answers if systems.SYSTEMS[name].knows else None,
                )
        except ragsieve.RagsieveError as error:
            yield name, str(error)
            continue
        for example in examples:
            try:
                row = built.ask(example.query, example.documents).to_dict()
            except Exception as error:
                row = {"error": f"{type(error).__name__}: {error}"}
            rows.append(timeless(row))
        yield name, rows


def helps(group: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """``--help`` of every command."""
    yield " ".join(("ragsieve", *path)), CliRunner().invoke(cli, [*path, "--help"]).output
    if isinstance(group, click.Group):
        context = click.Context(group)
        for name in group.list_commands(context):
            part = group.get_command(context, name)
            assert part is not None
            yield from helps(part, (*path, name))


def record(folder: Path, models: bool, limit: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    found = {f"{name}.json": rows for name, rows in results(models, limit)}
    if not models:
        found["help.json"] = dict(helps(cli))
    for name, value in found.items():
        text = json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False)
        (folder / name).write_text(text + "\n", encoding="utf-8")


def compare(folder: Path, other: Path) -> None:
    """Print the files that differ; their differences are for ``diff``."""
    names = sorted({p.name for f in (folder, other) for p in f.iterdir()})
    for name in names:
        both = [(f / name).read_text() if (f / name).is_file() else "" for f in (folder, other)]
        if both[0] != both[1]:
            print(f"{name} differs" if all(both) else f"{name} is missing in one")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("verb", choices=("record", "compare"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("other", type=Path, nargs="?")
    parser.add_argument("--models", action="store_true", help="the real default models")
    parser.add_argument("--limit", type=int, default=12, help="questions of the sample")
    options = parser.parse_args()
    if options.verb == "record":
        record(options.folder, options.models, options.limit)
    else:
        compare(options.folder, options.other)


if __name__ == "__main__":
    main()
