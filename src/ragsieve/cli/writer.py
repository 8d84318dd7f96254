"""`ragsieve train writer`."""

from __future__ import annotations

from typing import Any

import click

from ragsieve.cli import training
from ragsieve.cli.base import table

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
@training.given("SOURCE")
@click.option(
    "--by",
    type=click.Choice(["strinc", "lexical", "cxmi", "ib"]),
    default="strinc",
    help="The measure that chooses what is to be written.",
)
@training.LLM
@click.option(
    "--generator",
    default="",
    help="By whose likelihoods cxmi and ib choose.",
    show_default="that of --llm",
)
@click.option("--beta", type=click.FloatRange(0), default=1.0, help="Of ib: the answer's weight.")
@training.DOCUMENTS
@training.LIMIT
@training.epochs(2)
@training.SEED
@training.WORKERS
@training.WORK
def writer_command(opened: training.Open, workers: int, **options: Any) -> int:
    """Choose what is missing, train, then say how good it is."""
    from ragsieve.train.writer import WriterPlan, train_writer

    plan = WriterPlan(**options)
    to = opened()
    made = train_writer(
        to.folder, to.sources, plan, work=to.work, workers=workers, told=training.told
    )
    rows = {name: made[name] for name in ("before", "after") if name in made}
    names = [*rows["after"]]
    table(("", *names), [(row, *(f"{rows[row][n]:.3g}" for n in names)) for row in rows])
    to.written()
    return 0
