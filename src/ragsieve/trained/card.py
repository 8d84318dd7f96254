"""The model card of a trained filter, with the header that the hub reads."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ragsieve.models import store
from ragsieve.trained.recipe import Part, Trained, place

USE = """\
It sieves the noise out of retrieved documents before a language model reads them.

```python
import ragsieve

sieve = ragsieve.load("FOLDER, OR OWNER/NAME ON THE HUB")
result = sieve("Who wrote it?", ["A first document.", "A second one."])
```
"""
LIMITS = (
    "Questions unlike those it was trained on, and other languages: its figures say nothing of "
    "them.",
    "Other generators than the one it learnt from: what they need to answer may be more or less.",
)


def card(trained: Trained, limits: Sequence[str] = ()) -> str:
    """Markdown that says what a trained filter is, how good, and what it is not good at.

    Args:
        trained: Which.
        limits: What it is not good at, beside what no trained filter is.
    """
    sections = {
        "What it is made of": markdown_table(("part", "model", "folder"), _parts(trained)),
        "How good it is": _figures(trained.figures),
        "What it is not good at": "\n".join(f"- {cell(line)}" for line in (*limits, *LIMITS)),
        "What it was trained on": _data(trained),
        "How it was trained": _named("option", trained.training),
        "What it was made with": _named("library", trained.versions),
    }
    texts = [f"## {title}\n\n{text.strip()}\n" for title, text in sections.items() if text]
    return "\n".join([_header(trained), f"# A trained {trained.system}\n", USE, *texts])


def hub_id(model: str) -> str:
    """Where the hub has a model; empty where it does not: a folder here, a server's model."""
    name = place(model)
    if name in store.NAMED:
        return store.NAMED[name].hub.partition("@")[0]
    return "" if name == model or Path(name).is_absolute() else name


def _header(trained: Trained) -> str:
    values = {
        "license": trained.licence,
        "library_name": "ragsieve",
        "base_model": list(filter(None, map(hub_id, trained.bases))),
        "datasets": [data.name for data in trained.data],
        "tags": ["ragsieve", trained.system, "rag", "context-compression"],
    }
    lines = [f"{key}: {json.dumps(value)}" for key, value in values.items() if value]
    return "\n".join(["---", *lines, "---", ""])  # what is JSON is YAML


def _parts(trained: Trained) -> list[Sequence[object]]:
    def row(role: str, part: Part) -> tuple[str, str, str]:
        return f"{role} ({part.kind})", part.model, part.adapter or ""

    used = [("generator", trained.generator.model, ""), ("embedder", trained.embedder.model, "")]
    return [*used, *(row(role, part) for role, part in trained.parts.items())]


def _figures(figures: Mapping[str, Any]) -> str:
    """A table of figures by name, and one of those by data set and name."""
    single = {k: v for k, v in figures.items() if not isinstance(v, Mapping)}
    sets = {k: v for k, v in figures.items() if isinstance(v, Mapping)}
    names = list(dict.fromkeys(name for row in sets.values() for name in row))
    rows = [[key, *(row.get(name, "") for name in names)] for key, row in sets.items()]
    tables = [markdown_table(("data", *names), rows), _named("figure", single)]
    return "\n".join(table for table in tables if table)


def _data(trained: Trained) -> str:
    rows = [(data.name, data.questions, data.licence) for data in trained.data]
    table = markdown_table(("data", "questions", "licence"), rows)
    if not trained.split:
        return table
    return f"{table}\nDivided by the salt `{trained.split.salt}`: {cell(trained.split.rule)}.\n"


def _named(title: str, values: Mapping[str, Any]) -> str:
    return markdown_table((title, "value"), list(values.items()))


def markdown_table(head: Sequence[object], rows: Sequence[Sequence[object]]) -> str:
    """Rows as a Markdown table; empty where there are none."""
    if not rows:
        return ""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(map(cell, line))} |\n" for line in lines)


def cell(value: object) -> str:
    """A value on one line of a table; what is no string as JSON."""
    if isinstance(value, float):
        value = f"{value:.4g}"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return " ".join(text.split()).replace("|", "\\|")
