"""The model card of a trained router."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ragsieve.trained.card import cell, hub_id, markdown_table

LIMITS = (
    "Sources that it was not trained on: a light router always asks them.",
    "Questions unlike those it was trained on: its figures say nothing of them.",
    "Another generator than the one it learnt from: what leads that to a right answer may differ.",
)
USE = """\
It chooses which sources of knowledge to ask for a question, before anything is retrieved.

```python
from ragsieve.retrieve.route import Routed
from ragsieve.trained.router import load_router

source = Routed(sources, load_router("THIS FOLDER"))
```
"""


def card(values: Mapping[str, Any], limits: Sequence[str] = ()) -> str:
    """Markdown that says what a router is, how good, and what it is not good at.

    Args:
        values: What ``router.json`` says.
        limits: What it is not good at, beside what no trained router is.
    """
    base, taught = values["base"], values["generator"]
    made = {
        "form": values["form"],
        "model": base["model"],
        "sha256 of the model": base["sha256"] or "not checked",
        "taught by the answers of": taught["model"],
        "a source is asked from a probability of": values["min_probability"],
    }
    figures = values["figures"]
    single = {k: v for k, v in figures.items() if not isinstance(v, Mapping)}
    sets = {k: v for k, v in figures.items() if isinstance(v, Mapping)}
    columns = list(dict.fromkeys(name for row in sets.values() for name in row))
    rows = [[name, *(row.get(c, "") for c in columns)] for name, row in sets.items()]
    data = [(d["name"], d["questions"], d["licence"]) for d in values["data"]]
    how = values["split"]
    sections = {
        "What it is": markdown_table(("", ""), list(made.items())),
        "Sources": markdown_table(
            ("name", "description"), [(s["name"], s["description"]) for s in values["sources"]]
        ),
        "How good it is": "\n".join(
            filter(
                None,
                [
                    markdown_table(("", *columns), rows),
                    markdown_table(("", ""), list(single.items())),
                ],
            )
        ),
        "What it is not good at": "\n".join(f"- {cell(line)}" for line in (*limits, *LIMITS)),
        "What it was trained on": markdown_table(("data", "questions", "licence"), data)
        + (f"\nDivided by the salt `{how['salt']}`: {cell(how['rule'])}.\n" if how else ""),
        "How it was trained": markdown_table(("option", "value"), list(values["training"].items())),
        "What it was made with": markdown_table(
            ("library", "version"), list(values["versions"].items())
        ),
    }
    texts = [f"## {title}\n\n{text.strip()}\n" for title, text in sections.items() if text]
    return "\n".join([_header(values), "# A trained router of sources\n", USE, *texts])


def _header(values: Mapping[str, Any]) -> str:
    shown = {
        "library_name": "ragsieve",
        "base_model": list(filter(None, [hub_id(values["base"]["model"])])),
        "tags": ["ragsieve", "rag", "routing"],
    }
    lines = [f"{key}: {json.dumps(value)}" for key, value in shown.items() if value]
    return "\n".join(["---", *lines, "---", ""])  # what is JSON is YAML
