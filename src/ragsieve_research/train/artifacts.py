"""The folder of a training: weights, ``recipe.json`` and a model card."""

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ragsieve.files import sealed
from ragsieve_research.artifacts.card import hub_id, markdown_table, options_table, page
from ragsieve_research.artifacts.folder import CARD, atomic_dir, check_replaceable
from ragsieve_research.artifacts.recipe import read_json
from ragsieve_research.datasets import Dataset
from ragsieve_research.train.run import licences

logger = logging.getLogger(__name__)

RECIPE = "recipe.json"
ADAPTER = "adapter"
MEASURED = (
    "On questions of the same data that it did not learn from, but by which its best state was "
    "chosen."
)


def check_free(folder: Path, what: str) -> None:
    """Refuse a folder that holds anything but what an earlier training of ``what`` wrote.

    Raises:
        InputError: If it does.
    """

    def names() -> list[str]:
        recipe = read_json(folder / RECIPE)
        written = recipe.get("files") if isinstance(recipe, dict) else None
        return [CARD, *(str(one).partition("/")[0] for one in written or ())]

    check_replaceable(folder, what, RECIPE, names)


def recipe_of(folder: Path) -> dict[str, Any]:
    """The recipe of a finished training; empty where it is not finished, or damaged."""
    path = folder / RECIPE
    try:
        return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}
    except (ValueError, TypeError) as error:
        logger.warning("%s is damaged, its training is done anew: %s", path, error)
        return {}


@contextmanager
def model_dir(
    folder: Path,
    recipe: Mapping[str, Any],
    plan: Any,
    sources: Sequence[Dataset],
    *,
    title: str,
    use: str,
    base: str,
    library: str = "transformers",
    measured: str = MEASURED,
    more: Mapping[str, str] | None = None,
) -> Iterator[Path]:
    """A new folder to write a model to, which then takes the place of ``folder``.

    It is there whole or not at all, with ``recipe.json``, and a card that says what the model is,
    how good before and after, from what, and how.

    Args:
        folder: See `check_free`.
        recipe: Written down with the names of all files; ``before`` and ``after`` are figures.
        plan: A dataclass of options.
        sources: What it learned from.
        title: The card's heading.
        use: What it does and how it is used, in Markdown.
        base: The model that was tuned, as `ragsieve.models.load` takes it.
        library: What loads it, for the hub.
        measured: What the figures are of.
        more: Other sections of the card, behind the figures.
    """
    figures = {name: recipe[name] for name in ("before", "after") if name in recipe}
    names = list(next(iter(figures.values())))
    rows = [(row, *(values[n] for n in names)) for row, values in figures.items()]
    header = {"library_name": library, "base_model": hub} if (hub := hub_id(base)) else {}
    sections = {
        "How good it is": f"{measured}\n\n{markdown_table(('', *names), rows)}",
        **(more or {}),
        "What it was trained on": markdown_table(("data", "licence"), licences(sources)),
        "How it was trained": options_table("option", asdict(plan)),
    }
    with atomic_dir(folder) as fresh:
        yield fresh
        (fresh / CARD).write_text(page(title, use, sections, header), encoding="utf-8")
        files = [path for path in fresh.rglob("*") if path.is_file() and path.name != CARD]
        values = sealed(fresh / RECIPE, recipe, files)
        text = json.dumps(values, indent=1, ensure_ascii=False) + "\n"
        (fresh / RECIPE).write_text(text, encoding="utf-8")
