"""What trainings from questions to a folder share: what lies in WORK, and the folder that is made.

WORK/train.jsonl, validation.jsonl    the questions, with the documents that are read
WORK/cache.sqlite                     what models said
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path
from typing import Any

from ragsieve.datasets import Dataset, parts
from ragsieve.errors import InputError
from ragsieve.evaluate.run import Batch, Done, Process
from ragsieve.train.examples import gather, write
from ragsieve.trained.card import hub_id, markdown_table
from ragsieve.trained.recipe import read_json
from ragsieve.types import Example

PARTS: tuple[parts.Part, ...] = ("train", "validation")
HELD_OUT = 5  # under a limit, a question of validation to so many of training
CARD = "README.md"
RECIPE = "recipe.json"
FILES = "files"
ADAPTER = "adapter"
Told = Callable[[str, Iterator[Done], int | None], list[Done]]
Change = Callable[[Example, Sequence[Example]], Example]


def check_free(folder: Path, what: str) -> None:
    """Refuse a folder that holds anything but what an earlier training of ``what`` wrote.

    Raises:
        InputError: If it does.
    """
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise InputError(f"folder must be a folder, got {str(folder)!r}")
    there = {path.name for path in folder.iterdir()} if folder.exists() else set()
    if not there:
        return
    if RECIPE not in there:
        raise InputError(f"folder must be new or a trained {what}, got {str(folder)!r}")
    recipe = read_json(folder / RECIPE)
    written = recipe.get(FILES) if isinstance(recipe, dict) else None
    if more := there - set(written if isinstance(written, list) else [RECIPE]):
        raise InputError(f"folder must hold nothing beside a trained {what}, got {min(more)!r}")


def write_questions(
    sources: Sequence[Dataset], work: Path, limit: int | None, change: Change
) -> None:
    """Write the questions of each part to ``work``, which is made where missing.

    Args:
        sources: Questions with documents and gold answers, divided by a salted hash.
        work: Where.
        limit: Only so many to learn from, and a fifth of that to choose by; all where None.
        change: Gives of a question, and all of its part, the question with the documents to read.

    Raises:
        InputError: If a part has no question.
    """
    work.mkdir(parents=True, exist_ok=True)
    for part in PARTS:
        most = limit if part == "train" else limit and -(-limit // HELD_OUT)
        given = list(islice(gather(sources, part), most))
        if not write(work / f"{part}.jsonl", (change(one, given) for one in given)):
            raise InputError(f"data must have a question with documents and answers in {part}")


def first_documents(most: int) -> Change:
    """Leaves of each question's documents the first."""
    return lambda example, _: replace(example, documents=example.documents[:most])


def check_counts(plan: object, *names: str) -> None:
    """Refuse a plan of which one of these options is set, and is not at least 1.

    Raises:
        InputError: If one is so.
    """
    for name in names:
        value = getattr(plan, name)
        if value is not None and value < 1:
            raise InputError(f"{name} must be at least 1, got {value!r}")


def labels_of(name: str, plan: Any) -> str:
    """By what labels are made: all options of a dataclass but those that are for the training."""
    known = {k: v for k, v in asdict(plan).items() if k not in ("limit", "epochs", "seed")}
    return f"{name} {json.dumps(known)}"


def label(
    work: Path,
    kind: str,
    process: Process,
    *,
    by: str,
    workers: int,
    told: Told | None = None,
) -> None:
    """Write what ``process`` says of each question of WORK/PART.jsonl into WORK/PART.KIND.jsonl.

    What an earlier start wrote ``by`` it stays.

    Raises:
        InputError: If a file is of another ``by``, or of other questions.
        ModelError: If a model fails; the first such error, when all others of the part are asked.
    """
    for part in PARTS:
        output = work / f"{part}.{kind}.jsonl"
        with Batch(work / f"{part}.jsonl", output, label=by) as batch:
            done = batch.run(process, workers=workers)
            found = told(output.name, done, batch.total()) if told else [*done]
        if errors := [one.error for one in found if one.error]:
            raise errors[0]


def adapter_of(work: Path, *learned: object) -> Path:
    """Where in ``work`` an adapter lies that was learned so, by the ``repr`` of all of it."""
    mark = hashlib.sha256(repr(learned).encode("utf-8", "surrogatepass")).hexdigest()
    return work / f"{ADAPTER}-{mark[:12]}"


@contextmanager
def atomic_dir(folder: Path, recipe: Mapping[str, Any], text: str) -> Iterator[Path]:
    """A new folder to write to, which then takes the place of ``folder``: whole or not at all.

    Args:
        folder: See `check_free`.
        recipe: Written down with the names of all files.
        text: The card.
    """
    folder = folder.absolute()
    fresh, old = (folder.with_name(f".{folder.name}.{name}") for name in ("new", "old"))
    shutil.rmtree(fresh, ignore_errors=True)
    shutil.rmtree(old, ignore_errors=True)
    fresh.mkdir(parents=True)
    yield fresh
    (fresh / CARD).write_text(text, encoding="utf-8")
    files = sorted({RECIPE, *(path.name for path in fresh.iterdir())})
    made = json.dumps({**recipe, FILES: files}, indent=1, ensure_ascii=False) + "\n"
    (fresh / RECIPE).write_text(made, encoding="utf-8")
    if folder.exists():
        folder.replace(old)
    fresh.replace(folder)
    shutil.rmtree(old, ignore_errors=True)


def recipe_of(folder: Path) -> dict[str, Any]:
    """What was written down of a training that is done."""
    return dict(json.loads((folder / RECIPE).read_text(encoding="utf-8")))


def publish(
    folder: Path, recipe: Mapping[str, Any], text: str, adapter: Path, merged: Any = None
) -> None:
    """Write a folder whole, with an adapter and, where given, the model ``merged`` with it."""
    with atomic_dir(folder, recipe, text) as fresh:
        shutil.copytree(adapter, fresh / ADAPTER)
        if merged is not None:
            merge(fresh, merged, adapter)


def merge(folder: Path, model: Any, adapter: Path) -> None:
    """Write a model of transformers with an adapter merged into its weights, and its tokenizer."""
    from ragsieve.models.loading import loaded

    tuned = replace(model, adapter=str(adapter))
    loaded(model.model, tuned._decoder.model.save_pretrained, folder)
    model._tokenizer.save_pretrained(folder)


def card(
    title: str,
    use: str,
    figures: Mapping[str, Mapping[str, Any]],
    *,
    base: str,
    library: str,
    plan: Any,
    sources: Sequence[Dataset],
) -> str:
    """The model card: what it is, how good before and after, from what, and how.

    Args:
        title: The heading.
        use: What it does and how it is used, in Markdown.
        figures: By a row's name its figures by name; all rows have the same.
        base: The model that was tuned, as `ragsieve.models.load` takes it.
        library: What loads it, for the hub.
        plan: A dataclass of options.
        sources: What it learned from.
    """
    hub = hub_id(base)
    header = f'---\nlibrary_name: {library}\nbase_model: "{hub}"\n---\n' if hub else ""
    names = list(next(iter(figures.values())))
    measured = markdown_table(
        ("", *names), [(row, *(values[n] for n in names)) for row, values in figures.items()]
    )
    options = markdown_table(("option", "value"), [*asdict(plan).items()])
    licences = [(s.name, s.entry.licence if s.entry else "the user's own") for s in sources]
    return (
        f"{header}# {title}\n\n{use}\n\n## How good it is\n\nOn questions of the same data that it "
        f"did not learn from, but by which its best state was chosen.\n\n{measured}\n"
        f"## What it was trained on\n\n{markdown_table(('data', 'licence'), licences)}\n"
        f"## How it was trained\n\n{options}"
    )
