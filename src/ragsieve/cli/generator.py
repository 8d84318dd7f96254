"""`ragsieve train generator`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import click
from rich.text import Text

from ragsieve import datasets
from ragsieve.cli.base import INFO, shown, table
from ragsieve.cli.train import DATA, FOLDER, WORK, _places, _told
from ragsieve.train.generator import Context, Target, train_generator
from ragsieve.train.generator import GeneratorPlan as Plan

GENERATOR_HELP = """Train a generator to answer from noisy documents, and write it to FOLDER.

Its context is what was retrieved for a question, what was not, or either by chance; it learns to
reply with the answer, or first to say which documents help. QUESTIONS are JSONL files of questions
with documents and answers, or names of `ragsieve datasets`; a salted hash divides them: half to
learn from, a tenth to choose by. An interrupted training goes on where it stopped.

\b
  ragsieve train generator my-llm questions.jsonl                                      (SFT)
  ragsieve train generator my-llm questions.jsonl --context mixed --documents 1        (RetRobust)
  ragsieve train generator my-llm questions.jsonl --target rationale                   (InstructRAG)
  ragsieve train generator my-llm questions.jsonl --target informative                 (SAIL)
  ragsieve ask --system top-documents --llm transformers:my-llm -q "Who sang it?" notes.txt
"""


@click.command("generator", help=GENERATOR_HELP, short_help="An LLM that answers despite noise.")
@FOLDER
@click.argument("questions", nargs=-1, required=True, metavar="QUESTIONS...")
@DATA
@click.option("--llm", default="smollm2", help="The local model that is tuned, by LoRA.")
@click.option(
    "--context",
    type=click.Choice(get_args(Context)),
    default="relevant",
    help="relevant: the first documents of a question; irrelevant: another's; mixed: a third each "
    "its first, its last, another's.",
)
@click.option(
    "--target",
    type=click.Choice(get_args(Target)),
    default="answer",
    help="answer; rationale: why, in the model's own words, then the answer; informative: which "
    "documents are, then the answer.",
)
@click.option("--documents", type=click.IntRange(1), default=5, help="So many in a context.")
@click.option("--limit", type=click.IntRange(1), help="Learn from so many questions only.")
@click.option("--epochs", type=click.IntRange(1), default=2, help="How often all are read.")
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, help="Of all chance.")
@click.option("--merged/--adapter", default=True, help="The whole model, or the adapter alone.")
@click.option("--workers", type=click.IntRange(1), default=16, help="Questions at once.")
@WORK
def generator_command(
    folder: Path,
    questions: tuple[str, ...],
    data: Path | None,
    workers: int,
    work: Path | None,
    **options: Any,
) -> int:
    """Write what is missing, train, then say how good it is."""
    plan = Plan(**options)
    found = [datasets.load(name, folder=data) for name in questions]
    folder, work = _places(folder, work)
    made = train_generator(folder, found, plan, work=work, workers=workers, told=_told)
    rows = [
        (name, *(f"{made[name][c]:.3f}" for c in ("accuracy", "exact_match", "f1")))
        for name in ("before", "after")
    ]
    table(("", "accuracy", "exact match", "F1"), rows)
    count = made["after"]["questions"]
    INFO.print(Text(shown(f"on {count} other questions; written: {folder}; {work} may go")))
    return 0
