"""`ragsieve datasets` and `ragsieve models`."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import click

from ragsieve.cli.base import FILE, info
from ragsieve.cli.signature import command
from ragsieve.cli.systems import ListJson, print_rows
from ragsieve.files import replace_lines
from ragsieve_research import datasets
from ragsieve_research.models import store


@command("datasets", short_help="List every data set that is known by name.")
def datasets_command(*, as_json: ListJson = False) -> None:
    """List every data set by name: what it is, what it measures, its licence.

    \b
      ragsieve datasets
      ragsieve datasets --json
    """
    rows = [
        (name, entry.summary, entry.measures, entry.licence, entry.hub.id if entry.hub else "")
        for name, entry in datasets.DATASETS.items()
    ]
    print_rows(("name", "what it is", "measures", "licence", "hub"), rows, as_json)


@command("questions", short_help="Read questions of another tool's layout.")
def questions_command(
    place: Path,
    *,
    layout: str = "",
    fields: tuple[str, ...] = (),
    output: Annotated[Path | None, FILE, {"show_default": "standard output"}] = None,
) -> None:
    """Write the questions of PLACE, a file or folder, as JSONL that every command reads.

    Layouts are beir (a folder, or a file of its qrels), crag, dpr, flashrag, hotpotqa, kilt, mirage
    (a folder), mteb and musique. Numbers on standard error say what was found.

    \b
      ragsieve questions nq-dev.json --layout dpr --output nq-dev.jsonl
      ragsieve questions scifact/ --layout beir --output scifact.jsonl
      ragsieve questions mine.jsonl --fields documents=passages --fields answers=golden

    Args:
        layout: Where the records have what.
        fields: Other keys of a layout, or of records like ours: FIELD=KEY,KEY. Fields are question,
            id, answers, documents, positive, negative, text, title, passage_id, is_positive, gold.
        output: JSONL to write.
    """
    dataset = datasets.load(place, layout=layout or "ragsieve", fields=fields)
    counts: Counter[str] = Counter()

    def counted() -> Iterator[bytes]:
        for number, line in dataset.lines():
            example = dataset.parse(number, line)
            gold = sum(d.metadata.get("is_positive") is True for d in example.documents)
            counts.update({"questions": 1, "with answers": bool(example.answers)})
            counts.update({"without documents": not example.documents})
            counts.update({"documents": len(example.documents), "of them gold": gold})
            yield line

    if output:
        replace_lines(output, counted())
    for line in () if output else counted():
        click.echo(line, nl=False)
    info(", ".join(f"{count:,} {name}" for name, count in counts.items()) or "no question")
    if not dataset.ranked:
        info('their order is no rank: a run ranks them where its row of data says rank = "bm25"')


@click.group("models", short_help="Fetch and list named weights.")
def models_group() -> None:
    """Named weights: where they come from and where they lie.

    \b
      ragsieve models pull            all default weights, about 360 MB, once
      ragsieve models pull smollm2    only these
      ragsieve models list --json
      ragsieve models convert FOLDER  weights in pytorch_model.bin as safetensors
    """


@command("pull", of=models_group)
def models_pull(names: tuple[str, ...] = ()) -> None:
    """Fetch named weights from the Hugging Face hub (all, where none is named); print their folder.

    What is there already is not fetched.
    """
    for name in names or store.NAMED:
        click.echo(store.pull(name))


@command("list", of=models_group)
def models_list(*, as_json: ListJson = False) -> None:
    """List named weights, where they come from and where they lie."""
    rows = [(w.name, w.kind, w.summary, w.licence, *_place(folder)) for w, folder in store.listed()]
    print_rows(("name", "kind", "what it is", "licence", "from", "where"), rows, as_json)


def _place(folder: Path | None) -> tuple[str, str]:
    return (store.origin(folder), str(folder)) if folder else ("", "not pulled yet")


@command("path", of=models_group)
def models_path(name: str) -> None:
    """Print the folder of named weights, fetched if they are missing."""
    click.echo(store.pull(name))


@command("convert", of=models_group)
def models_convert(folder: str) -> None:
    """Write FOLDER's pytorch_model.bin, its shards or adapter_model.bin as safetensors beside it.

    ragsieve loads safetensors alone. The pickles are read as tensors and nothing else: one that
    would run code is refused.
    """
    from ragsieve_research.models.convert import to_safetensors  # torch takes seconds

    for file in to_safetensors(folder):
        click.echo(file)
