"""`ragsieve train`: one short command a model, its options those of the model's recipe."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ragsieve import datasets
from ragsieve.cli.base import (
    COUNT,
    DATA,
    EXISTING_FILE,
    FOLDER,
    INFO,
    figures,
    info,
    progress,
    warn,
    watched,
)
from ragsieve.cli.completion import complete_datasets
from ragsieve.cli.signature import ApiCommand, taken
from ragsieve.errors import InputError
from ragsieve.evaluate.run import Done
from ragsieve.train.run import Run

_FOLDER = click.argument("folder", type=FOLDER)
WORKERS = click.option("--workers", type=click.IntRange(1), default=16, help="Questions at once.")
_WORK = click.option(
    "--work",
    type=FOLDER,
    help="Folder of questions, labels and checkpoints.",
    show_default="FOLDER.work",
)
_POSITIVE = click.FloatRange(0, min_open=True)
_RERANKING = (
    click.option(
        "--reranker-lr",
        "reranker_learning_rate",
        type=_POSITIVE,
        default=1e-3,
        help="Of --reranker, at its height.",
    ),
    click.option(
        "--reranker-temperature", type=_POSITIVE, default=0.05, help="Divides its cosines."
    ),
    click.option("--reranker-epochs", type=COUNT, default=4, help="Of its pairs."),
    click.option(
        "--reranker-negatives",
        "reranker_extra_negatives",
        type=click.IntRange(0),
        default=0,
        help="So many sentences without an answer a question are to come last, too.",
    ),
)
_CHANGES = {
    "seed": {"type": click.IntRange(0, 2**32 - 1)},
    "merged": {"flags": ["--merged/--adapter"]},
    "base": {"flags": ["--from"]},
    "generator": {"show_default": "that of --llm"},
}


@click.group("train", short_help="Train a filter for your generator.")
def train_group() -> None:
    """Train a filter for your generator, on your questions or on public ones."""


def questions(metavar: str) -> Callable[..., Any]:
    """Files of questions, or names of data sets."""
    return click.argument(
        "questions",
        nargs=-1,
        required=True,
        metavar=f"{metavar}...",
        shell_complete=complete_datasets,
    )


def _training(
    recipe: str,
    *options: Callable[..., Any],
    short_help: str,
    metavar: str = "SOURCE",
    skip: Sequence[str] = (),
) -> Callable[..., Any]:
    """Make a function of a folder, a recipe and a `Run` a command of `ragsieve train`.

    Args:
        recipe: The class whose fields are options, as ``"package.module:Name"``.
        options: Options beside these, which the function gets by name.
        short_help: The command's line in the list of commands.
        metavar: The name of a source in the command's usage.
        skip: Fields that are no options.
    """

    def decorate(train: Callable[..., str | None]) -> click.Command:
        def callback(
            folder: Path,
            questions: Sequence[str],
            data: Path | None,
            work: Path | None,
            workers: int = 16,
            **own: Any,
        ) -> None:
            plan = taken(command.api, own)
            sources = [datasets.load(name, folder=data) for name in questions]
            run = Run(sources, _work(folder, work), workers, watch, warn)
            summary = train(folder.absolute(), plan, run, **own) or ""
            info(f"{summary}written: {folder.absolute()}; {run.work} may go")

        for option in (_WORK, *reversed(options), DATA, questions(metavar), _FOLDER):
            callback = option(callback)
        make = click.command(
            train.__name__.strip("_"),
            ApiCommand,
            api=recipe,
            skip=skip,
            changes=_CHANGES,
            help=train.__doc__,
            short_help=short_help,
        )
        command: ApiCommand = make(callback)
        train_group.add_command(command)
        return command

    return decorate


def _work(folder: Path, work: Path | None) -> Path:
    folder = folder.absolute()
    work = work.absolute() if work else folder.with_name(f"{folder.name}.work")
    if work == folder:
        raise InputError(f"--work must be another folder than FOLDER, got {work}")
    return work


def watch(name: str, done: Iterator[Done], total: int | None) -> list[Done]:
    """Run through the questions of a step."""
    return [*watched(done, total, name, name.removesuffix(".jsonl"))]


@_training(
    "ragsieve.train.plans:FineFilterPlan",
    *_RERANKING,
    WORKERS,
    short_help="Extractor, reranker, cut.",
    skip=("reranking",),
)
def finefilter(folder: Path, plan: Any, run: Run, **reranking: Any) -> None:
    """Train FineFilter on SOURCE… for your generator, and write it to FOLDER.

    A source is a JSONL file of questions with documents and answers, or a name of `ragsieve
    datasets`. Its questions are divided by a salted hash: half to learn from, a tenth to choose by,
    the rest is never read. An interrupted training goes on where it stopped; several GPUs:
    `accelerate launch -m ragsieve train finefilter …`.

    \b
      ragsieve train finefilter my-filter questions.jsonl --llm openai:NAME
      ragsieve train finefilter my-filter nq triviaqa --data ~/questions --extractor point
      ragsieve ask --system my-filter -q "Who sang it?" notes.txt
    """
    from ragsieve.train.finefilter import train_finefilter
    from ragsieve.train.plans import Reranking

    values = {name.removeprefix("reranker_"): value for name, value in reranking.items()}
    plan = replace(plan, reranking=Reranking(**values))
    results = train_finefilter(folder, plan, run).figures
    for name, what in (("before", "5 documents"), ("after", "the filter")):
        row = results[name]
        INFO.print(
            f"{what}: accuracy {row['accuracy']:.1%} of {row['questions']} validation "
            f"questions, {row['tokens_kept']:.1%} of the tokens"
            + (", each cut by the labels of other questions" if name == "after" else "")
        )


@_training("ragsieve.train.plans:RecompPlan", WORKERS, short_help="A bi-encoder for system recomp.")
def recomp(folder: Path, plan: Any, run: Run) -> None:
    """Train RECOMP's bi-encoder for your generator, and write it to FOLDER.

    The generator says after which sentence of a question's first documents the right answer is
    likely, and after which not; --embedder learns to put the one before the others. A source is a
    JSONL file of questions with documents and answers, or a name of `ragsieve datasets`; a salted
    hash divides its questions: half to learn from, a tenth to choose by. An interrupted training
    goes on.

    \b
      ragsieve train recomp my-compressor questions.jsonl
      ragsieve train recomp my-compressor nq triviaqa --data ~/questions --limit 1000
      ragsieve ask --system recomp --embedder sentence_transformers:my-compressor -q "Who?" a.txt
    """
    from ragsieve.train.recomp import train_recomp

    results = train_recomp(folder, plan, run)
    columns = {
        "first": ("best first", ".3f"),
        "pairs": ("pairs in order", ".3f"),
        "gain": ("nats by the first", ".3f"),
        "questions": ("questions", ""),
    }
    figures({name: results[name] for name in ("before", "after")}, columns)


@_training(
    "ragsieve.train.plans:GeneratorPlan",
    WORKERS,
    short_help="An LLM that answers despite noise.",
    metavar="QUESTIONS",
)
def generator(folder: Path, plan: Any, run: Run) -> str:
    """Train a generator to answer from noisy documents, and write it to FOLDER.

    Its context is what was retrieved for a question, what was not, or either by chance; it learns
    to reply with the answer, or first to say which documents help. QUESTIONS are JSONL files of
    questions with documents and answers, or names of `ragsieve datasets`; a salted hash divides
    them: half to learn from, a tenth to choose by. An interrupted training goes on where it
    stopped.

    \b
      ragsieve train generator my-llm questions.jsonl                                 (SFT)
      ragsieve train generator my-llm questions.jsonl --context mixed --documents 1   (RetRobust)
      ragsieve train generator my-llm questions.jsonl --target rationale              (InstructRAG)
      ragsieve train generator my-llm questions.jsonl --target informative            (SAIL)
      ragsieve ask --system top-documents --llm transformers:my-llm -q "Who sang it?" notes.txt
    """
    from ragsieve.train.generator import train_generator

    results = train_generator(folder, plan, run)
    names = {"accuracy": "accuracy", "exact_match": "exact match", "f1": "F1"}
    columns = {name: (heading, ".3f") for name, heading in names.items()}
    figures({name: results[name] for name in ("before", "after")}, columns)
    return f"on {results['after']['questions']} other questions; "


@_training(
    "ragsieve.train.plans:WriterPlan",
    WORKERS,
    short_help="FILCO's or BottleNeck's filter model.",
)
def writer(folder: Path, plan: Any, run: Run) -> None:
    """Train a filter model that writes what an answer needs, and write it to FOLDER.

    By FILCO that is the sentence with a gold answer (strinc), that shares most words with it
    (lexical) or makes it likeliest (cxmi); by BottleNeck (ib) the text that says least of the
    documents and most of the answer, learned by example, then by preference (DPO). A source is a
    JSONL file of questions with documents and answers, or a name of `ragsieve datasets`; a salted
    hash divides its questions: half to learn from, a tenth to choose by. An interrupted training
    goes on where it stopped.

    \b
      ragsieve train writer my-filter questions.jsonl --by strinc              (FILCO)
      ragsieve train writer my-filter nq triviaqa --data ~/questions --by ib   (BottleNeck)
      ragsieve ask --system filco --model extractor=transformers:my-filter -q "Who?" notes.txt
      ragsieve ask --system bottleneck --model writer=transformers:my-filter -q "Who?" notes.txt
    """
    from ragsieve.train.writer import train_writer

    results = train_writer(folder, plan, run)
    rows: dict[str, Any] = {k: results[k] for k in ("before", "after") if k in results}
    figures(rows, {name: (name, ".3g") for name in rows["after"]})


@_training("ragsieve.train.plans:ExitPlan", short_help="An LLM for system exit.")
def exit_(folder: Path, plan: Any, run: Run) -> None:
    """Train an LLM to say which sentences help (EXIT), and write it to FOLDER.

    It learns to reply Yes of a sentence that holds a gold answer, read in its document, and No of
    others. A source is a JSONL file of questions with documents and answers, or a name of `ragsieve
    datasets`; a salted hash divides its questions: half to learn from, a tenth to choose by. An
    interrupted training goes on where it stopped.

    \b
      ragsieve train exit my-extractor questions.jsonl
      ragsieve train exit my-extractor nq popqa --data ~/questions --limit 200 --layers 0.3
      ragsieve ask --system exit --model extractor=transformers:my-extractor -q "Who?" notes.txt
    """
    from ragsieve.train.exit import train_exit

    with INFO.status("training …"):
        results = train_exit(folder, plan, run)
    names = ("auc", "recall_1", "recall_3", "recall_5", "recall_tenth")
    columns = {name: (name.replace("_", " "), ".3f") for name in names}
    rows = {name: results[name] for name in ("before", "after")}
    figures(rows, {**columns, "questions": ("questions", "")})


@_training("ragsieve.train.plans:PrunerPlan", short_help="The default filter's sentence pruner.")
def pruner(folder: Path, plan: Any, run: Run) -> None:
    """Train the sentence pruner of the default filter on your questions, into FOLDER.

    It goes on from the weights that come with the package. A source is a JSONL file of questions
    with documents, or a name of `ragsieve datasets`. Where a document has a key evidence, [[start,
    end], …] in characters of its text, that is learned; else which sentences hold one of the
    question's answers. A salted hash divides the questions: three quarters to learn from, an eighth
    to set the thresholds of --keep-answer, an eighth to check. An interrupted training goes on
    where it stopped.

    \b
      ragsieve train pruner my-pruner questions.jsonl
      ragsieve train pruner my-pruner questions.jsonl --epochs 5 --learning-rate 5e-5
      ragsieve train pruner my-pruner nq hotpotqa --data ~/questions --from minilm --limit 5000
      ragsieve filter --pruner pruner:my-pruner -q "Who sang it?" notes.txt
    """
    from ragsieve.train.pruner_training import make_pruner

    with progress() as bars:
        bar = bars.add_task("reading", total=None)
        mean: float | None = None

        def on_step(step: int, steps: int, loss: float) -> None:
            nonlocal mean
            mean = loss if mean is None else 0.9 * mean + 0.1 * loss
            bars.update(bar, total=steps, completed=step, description=f"loss {mean:.3f}")

        results = make_pruner(folder, plan, run, on_step=on_step)
    columns = {
        "auc": ("AUC", ".3f"),
        "survival": ("evidence survives", ".1%"),
        "words": ("words kept", ".1%"),
        "questions": ("questions", ""),
    }
    figures({name: results[name] for name in ("before", "after") if name in results}, columns)
    first, *_, last = results["promises"]
    INFO.print(
        f"at --keep-answer {results['keep_answer']}; calibrated from {first} to {last} "
        f"on {results['calibrated_on']} other questions"
    )


@_training(
    "ragsieve.train.plans:RouterPlan",
    click.option(
        "--sources",
        "toml",
        required=True,
        type=EXISTING_FILE,
        help="The sources to choose among, as TOML.",
    ),
    WORKERS,
    short_help="Choose which sources to ask.",
    metavar="QUESTIONS",
)
def router(folder: Path, plan: Any, run: Run, toml: Path) -> str:
    """Train a router that chooses sources for your generator, and write it to FOLDER.

    The generator answers each question from each source of sources.toml alone; the router learns
    which sources led it to a right answer. Where a question's metadata name its "sources", as in
    {"metadata": {"sources": ["news"]}}, these are right, and nobody is asked. QUESTIONS are JSONL
    files of questions with answers, or names of `ragsieve datasets`; a salted hash divides them:
    half to learn from, a tenth to measure by. An interrupted training goes on where it stopped.

    \b
      ragsieve train router my-router questions.jsonl --sources sources.toml
      ragsieve train router my-router nq popqa --data ~/questions --sources sources.toml --limit 200
      ragsieve train router my-router questions.jsonl --sources sources.toml --form llm

    \b
    A source is a table of sources.toml, of kind index, pages, passages, api or memory (the model
    by itself):
      [[sources]]
      name = "news"
      description = "News articles of 2023."
      kind = "index"
      folder = "news-index"
    """
    from ragsieve.train.router_training import train_router

    data = click.get_current_context().params["data"]
    results = train_router(folder, plan, run, toml, data=data).figures
    names = ("exact", "covered", "right", "asked", "accuracy")
    rows = {name: row for name, row in results.items() if isinstance(row, dict)}
    figures(rows, {name: (name, ".3f") for name in names})
    return (
        f"measured on {results['questions']} other questions, {results['seconds']:.3f} s a choice; "
    )
