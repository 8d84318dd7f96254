"""The header of a run: settings and versions, enough to repeat it and to explain differences."""

import os
import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import msgspec

from ragsieve.schema import without_secrets
from ragsieve_research.evaluate.config import Cell, Config, label

_PACKAGES = ("numpy", "torch", "transformers", "sentence-transformers", "tokenizers", "bm25s")


def header(
    config: Config,
    cells: Sequence[Cell],
    questions: Mapping[str, Any],
    identities: Mapping[str, str],
    command: Sequence[str],
) -> dict[str, Any]:
    """The header as JSON values.

    Args:
        config: The run; API keys in it are left out.
        cells: Its cells, in order.
        questions: Counts and checksums of `ragsieve_research.evaluate.questions.write`, by
            questions file.
        identities: Identities of the models, with the weights' checksums, by specification.
        command: The command line.
    """
    return {
        "name": config.name,
        "about": config.about,
        "ragsieve": version("ragsieve"),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": [*map(_shown, command)],
        "seed": config.seed,
        "workers": config.workers,
        "baseline": config.baseline,
        "metrics": list(config.metrics),
        "config": without_secrets(msgspec.to_builtins(config)),
        "datasets": dict(questions),
        "models": dict(identities),
        "versions": dict(_versions()),
        "machine": _machine(),
        "cells": [_cell(cell, questions[cell.questions_file]["questions"]) for cell in cells],
    }


def _shown(argument: str) -> str:
    """An argument of a command, without what may be a key."""
    argument = without_secrets(argument)
    name, equals, value = argument.partition("=")
    if not equals:
        return argument
    return f"{name}={_shown(value) if without_secrets({name: 0})[name] == 0 else '…'}"


def _versions() -> Iterator[tuple[str, str]]:
    for name in _PACKAGES:
        with suppress(PackageNotFoundError):
            yield name, version(name)


def _cell(cell: Cell, questions: int) -> dict[str, Any]:
    noise = cell.noise and msgspec.to_builtins(cell.noise)
    return {
        **names(cell),
        "noise": noise,
        "questions": f"questions/{cell.questions_file}.jsonl",
        "asked": cell.question_count(questions),
        "file": f"records/{cell.file}.jsonl",
        "latency": f"latency/{cell.file}.jsonl",
    }


def names(cell: Cell) -> dict[str, str]:
    """What a cell is called in tables."""
    system, generator = label(cell.system), label(cell.generator)
    return {"dataset": cell.data.label, "system": system, "generator": generator}


def _machine() -> dict[str, Any]:
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
    }


def _processor() -> str:
    try:
        match = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    except OSError:
        match = None
    return match.group(1) if match else platform.processor()
