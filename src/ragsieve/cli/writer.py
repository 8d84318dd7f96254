"""`ragsieve train writer`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.text import Text

from ragsieve import datasets
from ragsieve.cli.base import INFO, shown, table
from ragsieve.cli.train import DATA, FOLDER, SOURCES, WORK, _places, _told

WRITER_HELP = """Train a filter model that writes what an answer needs, and write it to FOLDER.

By FILCO that is the sentence with a gold answer (strinc), that shares most words with it (lexical)
or makes it likeliest (cxmi); by BottleNeck (ib) the text that says least of the documents and most
of the answer, learned by example, then by preference (DPO). A source is a JSONL file of questions
with documents and answers, or a name of `ragsieve datasets`; a salted hash divides its questions:
half to learn from, a tenth to choose by. An interrupted training goes on where it stopped.

\b
  ragsieve train writer my-filter questions.jsonl --by strinc                        (FILCO)
  ragsieve train writer my-filter nq triviaqa --data ~/questions --by ib             (BottleNeck)
  ragsieve ask --system filco --model extractor=transformers:my-filter -q "Who?" notes.txt
  ragsieve ask --system bottleneck --model writer=transformers:my-filter -q "Who?" notes.txt
"""


@click.command("writer", help=WRITER_HELP, short_help="FILCO's or BottleNeck's filter model.")
@FOLDER
@SOURCES
@DATA
@click.option(
    "--by",
    type=click.Choice(["strinc", "lexical", "cxmi", "ib"]),
    default="strinc",
    help="The measure that chooses what is to be written.",
)
@click.option("--llm", default="smollm2", help="The local model that is tuned, by LoRA.")
@click.option(
    "--generator",
    default="",
    help="By whose likelihoods cxmi and ib choose.",
    show_default="that of --llm",
)
@click.option("--beta", type=click.FloatRange(0), default=1.0, help="Of ib: the answer's weight.")
@click.option("--documents", type=click.IntRange(1), default=5, help="So many of a question.")
@click.option("--limit", type=click.IntRange(1), help="Learn from so many questions only.")
@click.option("--epochs", type=click.IntRange(1), default=2, help="How often all are read.")
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, help="Of all chance.")
@click.option("--workers", type=click.IntRange(1), default=16, help="Questions at once.")
@WORK
def writer_command(
    folder: Path,
    sources: tuple[str, ...],
    data: Path | None,
    workers: int,
    work: Path | None,
    **options: Any,
) -> int:
    """Choose what is missing, train, then say how good it is."""
    from ragsieve.train.writer import WriterPlan, train_writer

    plan = WriterPlan(**options)
    found = [datasets.load(name, folder=data) for name in sources]
    folder, work = _places(folder, work)
    made = train_writer(folder, found, plan, work=work, workers=workers, told=_told)
    rows = {name: made[name] for name in ("before", "after") if name in made}
    names = [*rows["after"]]
    table(("", *names), [(row, *(f"{rows[row][n]:.3g}" for n in names)) for row in rows])
    INFO.print(Text(shown(f"written: {folder}; {work} may go")))
    return 0
