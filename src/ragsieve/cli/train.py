"""`ragsieve annotate`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from ragsieve import models
from ragsieve.answer import Reader
from ragsieve.cli.base import FILE, INFO, complain, named, progress, shown, table
from ragsieve.datasets.local import lines, parse_record
from ragsieve.evaluate.run import Batch
from ragsieve.models.sharing import sharing
from ragsieve.pipeline import as_documents
from ragsieve.score import Clues, Cosine
from ragsieve.train.targets import Annotator, Summary

ANNOTATE_HELP = """Label questions with what FineFilter's parts learn, by the generator's own word.

Which sentences hold a gold answer (clues), from which of them alone the generator answers, and how
many of the ranked clues it needs (K). A line of OUTPUT a question; goes on if interrupted.

\b
  ragsieve annotate questions.jsonl labels.jsonl --show 5
  ragsieve annotate questions.jsonl labels.jsonl --llm openai:NAME --epsilon 0.1
"""


@click.command("annotate", help=ANNOTATE_HELP, short_help="Label questions for training.")
@click.argument("source", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("output", type=FILE)
@click.option("--llm", default="smollm2", help="The generator; see `ragsieve ask --help`.")
@click.option("--embedder", default="minilm", help="Ranks clues; see `ragsieve ask --help`.")
@click.option("--clues", help="A clue reader: rank all sentences by it, not the clues alone.")
@click.option(
    "--epsilon",
    type=click.FloatRange(0, 2),
    default=0.0,
    help="Sentences at most this cosine distance from one with an answer are clues, too.",
)
@click.option("--max-clues", type=click.IntRange(1), default=20, help="Of a question at most.")
@click.option("--limit", type=click.IntRange(1), help="Only the first questions.")
@click.option("--workers", type=click.IntRange(1), default=16, help="Questions at once.")
@click.option("--cache", type=FILE, help="Remember model replies here.")
@click.option("--show", type=click.IntRange(0), default=0, help="Print so many labelled questions.")
def annotate_command(
    source: Path,
    output: Path,
    llm: str,
    embedder: str,
    clues: str | None,
    epsilon: float,
    max_clues: int,
    limit: int | None,
    workers: int,
    cache: Path | None,
    show: int,
) -> int:
    """Label what is missing, then sum up."""
    models.check(llm, "LLM")
    models.check(embedder, "embedder")
    if clues:
        models.check(clues, "clue reader")
    label = f"annotate llm={llm} embedder={embedder} epsilon={epsilon} max_clues={max_clues}"
    label += f" clues={clues}" if clues else ""
    summary, failed = Summary(), 0
    batch = Batch(source, output, label=label)
    with batch, sharing(workers, cache=cache) as share, progress() as bars:
        near = share(models.load(embedder))  # loaded when it is first asked
        reader = Reader(share(models.load(llm)))
        ranker = Clues(share(models.load(clues))) if clues else Cosine(near)
        annotator = Annotator(reader, ranker, near, epsilon, max_clues, every=bool(clues))
        bar = bars.add_task("questions", total=batch.total(limit))
        for done in batch.run(annotator, workers=workers, limit=limit):
            bars.advance(bar)
            if done.error:
                failed += 1
                complain(bars.console, f"error: {source} line {done.line}: {named(done.error)}")
            else:
                summary.add(done.record)
    INFO.print(Text(shown(f"{output}: {summary}")))
    _show(source, output, show)
    return 1 if failed else 0


def _show(source: Path, output: Path, count: int) -> None:
    """The first labelled questions, each clue with what is known of it."""
    records = [json.loads(line) for _, line in zip(range(count), output.open("rb"), strict=False)]
    examples = {n: parse_record(line) for n, line in lines(source)} if records else {}
    for record in records:
        example = examples[record["line"]]
        texts = {d.id: d.text for d in as_documents(example.documents)}
        rows = [_row(place, record, texts) for place in record["ranking"]]
        click.echo(shown(f"\n{example.query.text}  [{'; '.join(example.answers[:4])}]"))
        table(("rank", "useful", "kept", "clue"), rows)


def _row(place: int, record: dict[str, Any], texts: dict[str, str]) -> tuple[str, ...]:
    rank = record["ranking"].index(place) + 1
    useful = dict(zip(record["clues"], record["useful"], strict=True)).get(place, False)
    name, start, end = record["sentences"][place]
    kept = "yes" if rank <= record["k"] else "no"
    text = shown(" ".join(texts[name][start:end].split()))
    return str(rank), "yes" if useful else "no", kept, text
