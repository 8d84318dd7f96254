"""Model cards, with the header that the hub reads."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ragsieve_research.artifacts.recipe import Trained, TrainedRouter, place
from ragsieve_research.models import store

FILTER_USE = """\
It sieves the noise out of retrieved documents before a language model reads them.

```python
import ragsieve

sieve = ragsieve.load("FOLDER, OR OWNER/NAME ON THE HUB")
result = sieve("Who wrote it?", ["A first document.", "A second one."])
```
"""
FILTER_LIMITS = (
    "Questions unlike those it was trained on, and other languages: its figures say nothing of "
    "them.",
    "Other generators than the one it learnt from: what they need to answer may be more or less.",
)
ROUTER_USE = """\
It chooses which sources of knowledge to ask for a question, before anything is retrieved.

```python
from ragsieve_research.retrieve.route import Routed
from ragsieve_research.artifacts.router import load_router

source = Routed(sources, load_router("THIS FOLDER"))
```
"""
ROUTER_LIMITS = (
    "Sources that it was not trained on: a light router always asks them.",
    "Questions unlike those it was trained on: its figures say nothing of them.",
    "Another generator than the one it learnt from: what leads that to a right answer may differ.",
)
CROSSED = (
    "`before` is the generator's accuracy from 5 documents, `after` with this filter, on the same "
    "questions; the cut of each was fitted to the others (cross-fitted)."
)


def page(
    title: str, use: str, sections: Mapping[str, str], header: Mapping[str, object] | None = None
) -> str:
    """A model card in Markdown; sections and keys of the header that are empty are left out."""
    lines = [f"{key}: {json.dumps(value)}" for key, value in (header or {}).items() if value]
    front = "\n".join(["---", *lines, "---", "\n"]) if lines else ""  # what is JSON is YAML
    texts = [f"## {name}\n\n{text.strip()}\n" for name, text in sections.items() if text]
    return front + "\n".join([f"# {title}\n", f"{use.strip()}\n", *texts])


def filter_card(trained: Trained, limits: Sequence[str] = ()) -> str:
    """Model card of a trained filter: parts, figures and limits.

    Args:
        trained: Which.
        limits: What it is not good at, beside what no trained filter is.
    """
    parts = [(f"{role} ({p.kind})", p.model, p.adapter or "") for role, p in trained.parts.items()]
    used = [("generator", trained.generator.model, ""), ("embedder", trained.embedder.model, "")]
    crossed = CROSSED if "after" in trained.figures else ""
    sections = {
        "What it is made of": markdown_table(("part", "model", "folder"), [*used, *parts]),
        "How good it is": f"{_figures(trained.figures)}\n{crossed}",
        "What it is not good at": _list([*limits, *FILTER_LIMITS]),
        **_training(trained),
    }
    header = {
        "license": trained.licence,
        "library_name": "ragsieve",
        "base_model": list(filter(None, map(hub_id, trained.bases))),
        "datasets": [data.name for data in trained.data],
        "tags": ["ragsieve", trained.system, "rag", "context-compression"],
    }
    return page(f"A trained {trained.system}", FILTER_USE, sections, header)


def router_card(trained: TrainedRouter, limits: Sequence[str] = ()) -> str:
    """Model card of a trained router: parts, figures and limits; see `filter_card`."""
    known = {
        "form": trained.form,
        "model": trained.base.model,
        "sha256 of the model": trained.base.sha256 or "not checked",
        "taught by the answers of": trained.generator.model,
        "a source is asked from a probability of": trained.min_probability,
    }
    sources = [(source.name, source.description) for source in trained.sources]
    sections = {
        "What it is": options_table("", known),
        "Sources": markdown_table(("name", "description"), sources),
        "How good it is": _figures(trained.figures),
        "What it is not good at": _list([*limits, *ROUTER_LIMITS]),
        **_training(trained),
    }
    header = {
        "library_name": "ragsieve",
        "base_model": list(filter(None, [hub_id(trained.base.model)])),
        "tags": ["ragsieve", "rag", "routing"],
    }
    return page("A trained router of sources", ROUTER_USE, sections, header)


def hub_id(model: str) -> str:
    """Hub id of a model; empty where the hub has none: a folder here, a server's model."""
    name = place(model)
    if name in store.NAMED:
        return store.NAMED[name].hub.partition("@")[0]
    return "" if name == model or Path(name).is_absolute() else name


def options_table(title: str, values: Mapping[str, Any]) -> str:
    """Values by name."""
    return markdown_table((title, "value" if title else ""), list(values.items()))


def _figures(figures: Mapping[str, Any]) -> str:
    """A table of figures by name, and one of those by data set and name."""
    single = {k: v for k, v in figures.items() if not isinstance(v, Mapping)}
    sets = {k: v for k, v in figures.items() if isinstance(v, Mapping)}
    names = list(dict.fromkeys(name for row in sets.values() for name in row))
    rows = [[key, *(row.get(name, "") for name in names)] for key, row in sets.items()]
    tables = [markdown_table(("data", *names), rows), options_table("figure", single)]
    return "\n".join(filter(None, tables))


def _training(trained: Trained | TrainedRouter) -> dict[str, str]:
    """Sections about its training: data, options, libraries."""
    rows = [(data.name, data.questions, data.licence) for data in trained.data]
    data = markdown_table(("data", "questions", "licence"), rows)
    if how := trained.split:
        data += f"\nDivided by the salt `{how.salt}`: {cell(how.rule)}.\n"
    return {
        "What it was trained on": data,
        "How it was trained": options_table("option", trained.training),
        "What it was made with": options_table("library", trained.versions),
    }


def _list(lines: Sequence[str]) -> str:
    return "\n".join(f"- {cell(line)}" for line in lines)


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
