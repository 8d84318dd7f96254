"""`ragsieve train generator`."""

from __future__ import annotations

from typing import Any, get_args

import click

from ragsieve.cli import training
from ragsieve.cli.base import table
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
@training.given("QUESTIONS")
@training.LLM
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
@training.LIMIT
@training.epochs(2)
@training.SEED
@training.MERGED
@training.WORKERS
@training.WORK
def generator_command(opened: training.Open, workers: int, **options: Any) -> int:
    """Write what is missing, train, then say how good it is."""
    plan = Plan(**options)
    to = opened()
    made = train_generator(
        to.folder, to.sources, plan, work=to.work, workers=workers, told=training.told
    )
    rows = [
        (name, *(f"{made[name][c]:.3f}" for c in ("accuracy", "exact_match", "f1")))
        for name in ("before", "after")
    ]
    table(("", "accuracy", "exact match", "F1"), rows)
    to.written(f"on {made['after']['questions']} other questions; ")
    return 0
