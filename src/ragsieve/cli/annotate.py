"""`ragsieve annotate`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from ragsieve import models
from ragsieve.answer import Reader
from ragsieve.cli.base import CACHE, EXISTING_FILE, FILE, info, printable, table, watched
from ragsieve.cli.train import WORKERS
from ragsieve.datasets.local import lines, parse_record
from ragsieve.documents import as_documents
from ragsieve.evaluate.run import Batch
from ragsieve.models.sharing import sharing
from ragsieve.score import Cosine, Pruner
from ragsieve.train.targets import Annotator, Summary


@click.command("annotate", short_help="Label questions for training.")
@click.argument("source", type=EXISTING_FILE)
@click.argument("output", type=FILE)
@click.option("--llm", default="smollm2", help="The generator; see `ragsieve ask --help`.")
@click.option("--embedder", default="minilm", help="Ranks clues; see `ragsieve ask --help`.")
@click.option("--pruner", help="Rank all sentences by it, not the clues alone, by cosine.")
@click.option(
    "--epsilon",
    type=click.FloatRange(0, 2),
    default=0.0,
    help="Sentences at most this cosine distance from one with an answer are clues, too.",
)
@click.option("--max-clues", type=click.IntRange(1), default=20, help="Of a question at most.")
@click.option("--limit", type=click.IntRange(1), help="Only the first questions.")
@WORKERS
@CACHE
@click.option("--show", type=click.IntRange(0), default=0, help="Print so many labelled questions.")
def annotate_command(
    source: Path,
    output: Path,
    limit: int | None,
    workers: int,
    cache: Path | None,
    show: int,
    **options: Any,
) -> int:
    """Label questions with what FineFilter's parts learn, by the generator's own word.

    Which sentences hold a gold answer (clues), from which of them alone the generator answers, and
    how many of the ranked clues it needs (K). A line of OUTPUT a question; goes on if interrupted.

    \b
      ragsieve annotate questions.jsonl labels.jsonl --show 5
      ragsieve annotate questions.jsonl labels.jsonl --llm openai:NAME --epsilon 0.1
    """
    kinds = {"llm": "LLM", "embedder": "embedder", "pruner": "sentence pruner"}
    for role, kind in kinds.items():
        if options[role] is not None:
            models.check(options[role], kind)
    names = ("llm", "embedder", "epsilon", "max_clues", "pruner")
    parts = [f"{name}={options[name]}" for name in names if options[name] is not None]
    summary, failed = Summary(), 0
    batch = Batch(source, output, label=" ".join(["annotate", *parts]))
    with batch, sharing(workers, cache=cache) as share:
        done = batch.run(_annotator(share, **options), workers=workers, limit=limit)
        for one in watched(done, batch.total(limit), str(source)):
            failed += bool(one.error)
            if not one.error:
                summary.add(one.record)
    info(f"{output}: {summary}")
    _show(source, output, show)
    return 1 if failed else 0


def _annotator(
    share: Any, llm: str, embedder: str, pruner: str | None, epsilon: float, max_clues: int
) -> Annotator:
    near = share(models.load(embedder))  # loaded when it is first asked
    ranker = Pruner(share(models.load(pruner))) if pruner else Cosine(near)
    reader = Reader(share(models.load(llm)))
    return Annotator(reader, ranker, near, epsilon, max_clues, every=bool(pruner))


def _show(source: Path, output: Path, count: int) -> None:
    """Print the first labelled questions, each clue with its labels."""
    records = [json.loads(line) for _, line in zip(range(count), output.open("rb"), strict=False)]
    examples = {n: parse_record(line) for n, line in lines(source)} if records else {}
    for record in records:
        example = examples[record["line"]]
        texts = {d.id: d.text for d in as_documents(example.documents)}
        rows = [_row(place, record, texts) for place in record["ranking"]]
        click.echo(printable(f"\n{example.query.text}  [{'; '.join(example.answers[:4])}]"))
        table(("rank", "useful", "kept", "clue"), rows)


def _row(place: int, record: dict[str, Any], texts: dict[str, str]) -> tuple[str, ...]:
    rank = record["ranking"].index(place) + 1
    useful = dict(zip(record["clues"], record["useful"], strict=True)).get(place, False)
    name, start, end = record["sentences"][place]
    kept = "yes" if rank <= record["k"] else "no"
    return str(rank), "yes" if useful else "no", kept, " ".join(texts[name][start:end].split())
