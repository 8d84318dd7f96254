"""What a run's header says: enough to run it again, and to tell why figures differ."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import msgspec

from ragsieve.evaluate.config import Cell, Config, label

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
        config: What is run; API keys in it are left out.
        cells: Its cells, in order.
        questions: What `ragsieve.evaluate.questions.write` says, by questions file.
        identities: What every model is, weights' checksums among it, by specification.
        command: How it was called.
    """
    return {
        "name": config.name,
        "about": config.about,
        "ragsieve": version("ragsieve"),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": [re.sub(r"(?i)((?:key|token|secret)\w*=).*", r"\1…", c) for c in command],
        "seed": config.seed,
        "workers": config.workers,
        "baseline": config.baseline,
        "config": without_keys(msgspec.to_builtins(config)),
        "datasets": dict(questions),
        "models": dict(identities),
        "versions": {name: found for name in _PACKAGES if (found := _version(name))},
        "machine": _machine(),
        "cells": [_cell(cell, questions[cell.questions_file]["questions"]) for cell in cells],
    }


def _cell(cell: Cell, questions: int) -> dict[str, Any]:
    noise = cell.noise
    return {
        "dataset": cell.data.label,
        "system": label(cell.system),
        "generator": label(cell.generator),
        "noise": noise and {"kind": noise.kind, "share": noise.share, "position": noise.position},
        "questions": f"questions/{cell.questions_file}.jsonl",
        "asked": cell.asked(questions),
        "file": f"records/{cell.file}.jsonl",
        "latency": f"latency/{cell.file}.jsonl",
    }


def without_keys(value: Any) -> Any:
    """JSON values without what nobody else should read."""
    if isinstance(value, dict):
        return {k: "…" if k == "api_key" else without_keys(v) for k, v in value.items()}
    return [without_keys(v) for v in value] if isinstance(value, list | tuple) else value


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _machine() -> dict[str, Any]:
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gb": _memory_gb(),
        "python": platform.python_version(),
    }


def _processor() -> str:
    try:
        found = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    except OSError:
        found = None
    return found.group(1) if found else platform.processor()


def _memory_gb() -> int | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9)
    except (AttributeError, ValueError, OSError):
        return None
