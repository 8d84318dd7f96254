"""`ragsieve annotate`, `ragsieve train` and `ragsieve calibrate`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click
from rich.text import Text

from ragsieve import datasets, models
from ragsieve.answer import Reader
from ragsieve.cli import training
from ragsieve.cli.base import DATA, FILE, INFO, complain, named, progress, shown, table
from ragsieve.cli.router import router_command
from ragsieve.datasets import Dataset, parts
from ragsieve.datasets.local import lines, parse_record
from ragsieve.errors import InputError
from ragsieve.evaluate.run import Batch
from ragsieve.models.sharing import sharing
from ragsieve.pipeline import as_documents
from ragsieve.score import Cosine, Pruner
from ragsieve.systems.registry import SYSTEMS
from ragsieve.train.targets import Annotator, Summary

if TYPE_CHECKING:
    from ragsieve.train.risk import Promise, Scored

ANNOTATE_HELP = """Label questions with what FineFilter's parts learn, by the generator's own word.

Which sentences hold a gold answer (clues), from which of them alone the generator answers, and how
many of the ranked clues it needs (K). A line of OUTPUT a question; goes on if interrupted.

\b
  ragsieve annotate questions.jsonl labels.jsonl --show 5
  ragsieve annotate questions.jsonl labels.jsonl --llm openai:NAME --epsilon 0.1
"""


FINEFILTER_HELP = """Train FineFilter on SOURCE… for your generator, and write it to FOLDER.

A source is a JSONL file of questions with documents and answers, or a name of `ragsieve datasets`.
Its questions are divided by a salted hash: half to learn from, a tenth to choose by, the rest is
never read. An interrupted training goes on where it stopped; several GPUs: `accelerate launch -m
ragsieve train finefilter …`.

\b
  ragsieve train finefilter my-filter questions.jsonl --llm openai:NAME
  ragsieve train finefilter my-filter nq triviaqa --data ~/questions --extractor point
  ragsieve ask --system my-filter -q "Who sang it?" notes.txt
"""
RECOMP_HELP = """Train RECOMP's bi-encoder for your generator, and write it to FOLDER.

The generator says after which sentence of a question's first documents the right answer is likely,
and after which not; --embedder learns to put the one before the others. A source is a JSONL file of
questions with documents and answers, or a name of `ragsieve datasets`; a salted hash divides its
questions: half to learn from, a tenth to choose by. An interrupted training goes on.

\b
  ragsieve train recomp my-compressor questions.jsonl
  ragsieve train recomp my-compressor nq triviaqa --data ~/questions --limit 1000
  ragsieve ask --system recomp --embedder sentence_transformers:my-compressor -q "Who?" notes.txt
"""
CALIBRATE_HELP = """Cut a filter so that the answer survives as often as you ask.

Sentences of at least a probability stay, and the probability is set on questions that the sentence
pruner was not trained on: those of SOURCE… in the part that is named. What is promised holds on
average over such questions; with --confidence for this calibration, too.

FILTER is finefilter: its sentence pruner is copied to --output, with thresholds for every
--keep-answer that there are enough questions for. Questions may mark evidence, see `ragsieve train
pruner --help`.

\b
  ragsieve calibrate finefilter questions.jsonl --output my-pruner
  ragsieve filter --pruner pruner:my-pruner --keep-answer 0.9 -q "Who sang it?" notes.txt
  ragsieve calibrate finefilter mine.jsonl --output my-pruner --keep-answer 0.9 --confidence 0.9
"""


@click.command("annotate", help=ANNOTATE_HELP, short_help="Label questions for training.")
@click.argument("source", type=click.Path(exists=True, dir_okay=False, path_type=Path))
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
@training.WORKERS
@click.option("--cache", type=FILE, help="Remember model replies here.")
@click.option("--show", type=click.IntRange(0), default=0, help="Print so many labelled questions.")
def annotate_command(
    source: Path,
    output: Path,
    llm: str,
    embedder: str,
    pruner: str | None,
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
    if pruner:
        models.check(pruner, "sentence pruner")
    label = f"annotate llm={llm} embedder={embedder} epsilon={epsilon} max_clues={max_clues}"
    label += f" pruner={pruner}" if pruner else ""
    summary, failed = Summary(), 0
    batch = Batch(source, output, label=label)
    with batch, sharing(workers, cache=cache) as share, progress() as bars:
        near = share(models.load(embedder))  # loaded when it is first asked
        reader = Reader(share(models.load(llm)))
        ranker = Pruner(share(models.load(pruner))) if pruner else Cosine(near)
        annotator = Annotator(reader, ranker, near, epsilon, max_clues, every=bool(pruner))
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


@click.group("train", short_help="Train a filter for your generator.")
def train_group() -> None:
    """Train a filter for your generator, on your questions or on public ones."""


train_group.add_command(router_command)


@train_group.command("finefilter", help=FINEFILTER_HELP, short_help="Extractor, reranker, cut.")
@training.given("SOURCE")
@click.option("--llm", default="smollm2", help="The generator; see `ragsieve ask --help`.")
@click.option("--embedder", default="minilm", help="Ranks clues; see `ragsieve ask --help`.")
@click.option(
    "--extractor",
    default="pruner",
    help="pruner or pruner:FOLDER: one reading scores each sentence, and nothing is tuned; point "
    "or write: an LLM is tuned to name them: point:MODEL, else --llm.",
)
@click.option(
    "--epsilon",
    type=click.FloatRange(0, 2),
    default=0.0,
    help="Sentences at most this cosine distance from one with an answer are clues, too.",
)
@click.option("--reranker", is_flag=True, help="Train --embedder, too, to rank useful clues first.")
@click.option("--truncator", is_flag=True, help="Train --llm, too, to choose how many clues stay.")
@click.option("--epochs", type=click.IntRange(1), default=16, help="Of an LLM as extractor.")
@click.option(
    "--labelled",
    type=click.IntRange(1),
    default=300,
    help="So many questions the generator answers, in some ways each, for the cut.",
)
@training.SEED
@training.WORKERS
@training.WORK
def finefilter_command(
    opened: training.Open, workers: int, reranker: bool, truncator: bool, **options: Any
) -> int:
    """Train what is missing, then say how good it is."""
    from ragsieve.train.finefilter import FineFilterTraining, Plan

    asked = {"reranker": reranker, "truncator": truncator}
    plan = Plan(more=tuple(name for name, wanted in asked.items() if wanted), **options)
    to = opened()
    made = FineFilterTraining(plan, to.sources, to.work, workers, training.told).run(to.folder)
    for name in ("before", "after"):
        figures = made.figures[name]
        what = "5 documents" if name == "before" else "the filter"
        INFO.print(
            f"{what}: accuracy {figures['accuracy']:.1%} of {figures['questions']} validation "
            f"questions, {figures['tokens_kept']:.1%} of the tokens"
        )
    to.written()
    return 0


@train_group.command("recomp", help=RECOMP_HELP, short_help="A bi-encoder for system recomp.")
@training.given("SOURCE")
@click.option("--llm", default="smollm2", help="The generator; it must give likelihoods.")
@click.option("--embedder", default="minilm", help="The bi-encoder that is tuned.")
@training.DOCUMENTS
@click.option("--negatives", type=click.IntRange(1), default=5, help="Of a question at most.")
@click.option(
    "--margin",
    type=click.FloatRange(0),
    default=1.0,
    help="So much less a negative raises the answer's log-likelihood, in nats.",
)
@training.LIMIT
@training.epochs(4, "all pairs")
@training.SEED
@training.WORKERS
@training.WORK
def recomp_command(opened: training.Open, workers: int, **options: Any) -> int:
    """Label what is missing, train, then say how good it is."""
    from ragsieve.train.recomp import RecompPlan, train_recomp

    plan = RecompPlan(**options)
    to = opened()
    made = train_recomp(
        to.folder, to.sources, plan, work=to.work, workers=workers, told=training.told
    )
    rows = [
        (name, *(f"{row[c]:.3f}" for c in ("first", "pairs", "gain")), str(row["questions"]))
        for name, row in made["validation"].items()
    ]
    table(("", "best first", "pairs in order", "nats by the first", "questions"), rows)
    to.written()
    return 0


@click.command("calibrate", help=CALIBRATE_HELP, short_help="Promise that the answer survives.")
@click.argument("name", metavar="FILTER")
@training.questions("SOURCE")
@DATA
@click.option(
    "--part",
    type=click.Choice(["train", "validation", "test", "all"]),
    show_default="all of your own files, validation of others",
    help="all: of your own questions, if the pruner has seen none of them.",
)
@click.option("--keep-answer", type=float, default=0.95, help="Over 0 and below 1.")
@click.option("--confidence", type=float, help="Over 0 and below 1; stricter.")
@click.option("--splits", type=click.IntRange(1), default=200, help="Halves that it is tried on.")
@click.option("--pruner", default="pruner", help="pruner, or pruner:FOLDER.")
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="A new folder for the pruner.",
)
def calibrate_command(
    name: str,
    questions: tuple[str, ...],
    data: Path | None,
    part: parts.Part | Literal["all"] | None,
    pruner: str,
    output: Path,
    **options: Any,
) -> int:
    """Set the cut, and say what was promised and what was measured."""
    if name not in SYSTEMS or "keep_answer" not in SYSTEMS[name].options:
        raise InputError(f"what is calibrated must be finefilter, got {name!r}")
    found = [datasets.load(one, folder=data) for one in questions]
    return _told(*_recalibrated(pruner, output, found, part, options), **options)


def _recalibrated(
    name: str, output: Path, sources: Sequence[Dataset], part: Any, options: Mapping[str, Any]
) -> tuple[list[Scored], Promise]:
    """Write a copy of a pruner with other thresholds; what it was calibrated on."""
    from ragsieve.models.pruner import Pruner
    from ragsieve.train import evidence, promises, risk

    pruner = models.load(name)
    if not isinstance(pruner, Pruner):
        raise InputError(f"--pruner must be pruner or pruner:FOLDER, got {name!r}")
    promises.check_free(output)
    with INFO.status("scoring sentences …"):
        scored = promises.scored(pruner, evidence.records(sources, part or ""))
    made = risk.calibrate(scored, **_asked(options))
    promises.copy(pruner, output, scored, confidence=options["confidence"])
    INFO.print(Text(shown(f"written: {output}")))
    return scored, made


def _asked(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: options[name] for name in ("keep_answer", "confidence")}


def _told(
    scored: Sequence[Scored],
    made: Promise,
    *,
    keep_answer: float,
    confidence: float | None,
    splits: int,
) -> int:
    """Print what was promised, measured and tried."""
    from ragsieve.train import risk

    click.echo(
        f"promised: the answer survives in {made.promised:.1%} of questions that have one\n"
        f"measured: {made.measured:.1%} of {made.questions}, at a probability of at least "
        f"{made.cut:.4f}, {made.kept:.1%} of the sentences kept"
    )
    try:
        tried = risk.coverage(scored, keep_answer=keep_answer, confidence=confidence, splits=splits)
    except InputError as error:
        click.echo(f"not tried on halves: {error}")
        return 0
    click.echo(
        f"tried: {tried.survival:.1%} on average over {tried.splits} random halves, at least "
        f"{tried.promised:.1%} in {tried.held:.1%} of them"
    )
    return 0
