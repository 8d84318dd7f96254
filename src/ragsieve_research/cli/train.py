"""`ragsieve train`: one short command a model, its options those of the model's plan."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import click

from ragsieve.cli import base
from ragsieve.cli.signature import from_options, options_of, parameters_of
from ragsieve.errors import InputError
from ragsieve.run.batch import Done
from ragsieve_research import datasets
from ragsieve_research.cli.base import Data, Questions, figures
from ragsieve_research.train import plans
from ragsieve_research.train.run import Run

_CHANGES: dict[str, dict[str, Any]] = {
    "seed": {"type": click.IntRange(0, 2**32 - 1)},
    "merged": {"flags": ["--merged/--adapter"]},
    "base": {"flags": ["--from"]},
    "generator": {"show_default": "that of --llm"},
    "truncator": {"show_default": "a cut by scores"},
}
_RERANKING = {
    "learning_rate": {"flags": ["--reranker-lr"]},
    "extra_negatives": {"flags": ["--reranker-negatives"]},
}
_TOML = click.Option(
    ["--sources", "toml"],
    required=True,
    type=base.EXISTING_FILE,
    help="The sources to choose among, as TOML.",
)


@click.group("train", short_help="Train a filter for your generator.")
def train_group() -> None:
    """Train a filter for your generator, on your questions or on public ones."""


def _run(
    folder: Annotated[Path, base.FOLDER],
    questions: Annotated[Questions, {"metavar": "SOURCE..."}],
    *,
    data: Data = None,
    workers: base.Workers = base.WORKERS,
    work: Annotated[Path | None, base.FOLDER, {"show_default": "FOLDER.work"}] = None,
) -> Run:
    """The run of a training.

    Args:
        work: Folder of questions, labels and checkpoints.
    """
    folder = folder.absolute()
    work = work.absolute() if work else folder.with_name(f"{folder.name}.work")
    if work == folder:
        raise InputError(f"--work must be another folder than FOLDER, got {work}")
    return Run(
        [datasets.load(name, folder=data) for name in questions], work, workers, watch, base.warn
    )


def _training(
    plan: type, *params: click.Parameter, short_help: str, skip: Sequence[str] = ()
) -> Callable[..., click.Command]:
    """Make a function of a folder, a plan and a `Run` a command of `ragsieve train`.

    Args:
        plan: The class whose fields are options.
        params: Options beside these, which the function gets by name.
        short_help: The command's line in the list of commands.
        skip: Fields of the plan, and keywords of `_run`, that are no options.
    """

    def decorate(train: Callable[..., str | None]) -> click.Command:
        def callback(**options: Any) -> None:
            folder = options["folder"].absolute()
            own, run = from_options(plan, options), from_options(_run, options)
            summary = train(folder, own, run, **options) or ""
            base.info(f"{summary}written: {folder}; {run.work} may go")

        params_of_all = [*options_of(plan, skip, _CHANGES), *parameters_of(_run, skip), *params]
        name = train.__name__.strip("_")
        command = click.Command(
            name, callback=callback, params=params_of_all, help=train.__doc__, short_help=short_help
        )
        train_group.add_command(command)
        return command

    return decorate


def _compare(results: Mapping[str, Any]) -> None:
    """Print figures before the training, where there are some, and after it."""
    figures({name: results[name] for name in ("before", "after") if name in results})


def watch(name: str, done: Iterator[Done], total: int | None) -> list[Done]:
    """Run through the questions of a step."""
    return [*base.watched(done, total, name, name.removesuffix(".jsonl"))]


@_training(
    plans.FineFilterPlan,
    *options_of(plans.Reranking, ("seed",), _RERANKING, prefix="reranker_"),
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
      ragsieve train finefilter my-filter nq --llm openai:NAME --extractor write:MODEL \\
          --reranker --truncator MODEL                          (as the paper: all parts learn)
      ragsieve ask --system my-filter -q "Who sang it?" notes.txt
    """
    run.check_questions()
    from ragsieve_research.train.finefilter import train_finefilter

    plan = replace(plan, reranking=from_options(plans.Reranking, reranking, prefix="reranker_"))
    results = train_finefilter(folder, plan, run).figures
    figures({"5 documents": results["before"], "the filter": results["after"]})
    base.info("on validation questions, each cut by the labels of the others")


@_training(plans.RecompPlan, short_help="A bi-encoder for system recomp.")
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
    from ragsieve_research.train.recomp import train_recomp

    _compare(train_recomp(folder, plan, run))


@_training(plans.GeneratorPlan, short_help="An LLM that answers despite noise.")
def generator(folder: Path, plan: Any, run: Run) -> None:
    """Train a generator to answer from noisy documents, and write it to FOLDER.

    Its context is what was retrieved for a question, what was not, or either by chance; it learns
    to reply with the answer, or first to say which documents help. A source is a JSONL file of
    questions with documents and answers, or a name of `ragsieve datasets`; a salted hash divides
    its questions: half to learn from, a tenth to choose by. An interrupted training goes on where
    it stopped.

    \b
      ragsieve train generator my-llm questions.jsonl                                 (SFT)
      ragsieve train generator my-llm questions.jsonl --context mixed --documents 1   (RetRobust)
      ragsieve train generator my-llm questions.jsonl --target rationale              (InstructRAG)
      ragsieve train generator my-llm questions.jsonl --target informative            (SAIL)
      ragsieve ask --system top-documents --llm transformers:my-llm -q "Who sang it?" notes.txt
    """
    run.check_questions()
    from ragsieve_research.train.generator import train_generator

    _compare(train_generator(folder, plan, run))


@_training(plans.WriterPlan, short_help="FILCO's or BottleNeck's filter model.")
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
    run.check_questions()
    from ragsieve_research.train.writer import train_writer

    _compare(train_writer(folder, plan, run))


@_training(plans.ExitPlan, short_help="An LLM for system exit.", skip=("workers",))
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
    run.check_questions(usable=plan.teaches)
    from ragsieve_research.train.exit import train_exit

    with base.INFO.status("training …"):
        results = train_exit(folder, plan, run)
    _compare(results)


@_training(plans.PrunerPlan, short_help="The default filter's sentence pruner.", skip=("workers",))
def pruner(folder: Path, plan: Any, run: Run) -> None:
    """Train the sentence pruner of the default filter on your questions, into FOLDER.

    It goes on from the weights that come with the package. A source is a JSONL file of questions
    with documents, or a name of `ragsieve datasets`. Where a document has a key evidence, [[start,
    end], …] in characters of its text, that is learned; else which sentences hold one of the
    question's answers. A salted hash divides the questions: three quarters to learn from, an eighth
    to set the thresholds of --keep-answer, an eighth to check, or as many as these need of those
    whose evidence is known; of a name of `ragsieve datasets` its part train to learn from, its part
    validation for the other two. An interrupted training goes on where it stopped.

    \b
      ragsieve train pruner my-pruner questions.jsonl
      ragsieve train pruner my-pruner questions.jsonl --epochs 5 --learning-rate 5e-5
      ragsieve train pruner my-pruner nq hotpotqa --data ~/questions --from minilm --limit 5000
      ragsieve filter --pruner pruner:my-pruner -q "Who sang it?" notes.txt
    """
    from ragsieve_research.train.pruner_training import make_pruner

    with base.progress() as bars:
        bar = bars.add_task("reading", total=None)
        mean: float | None = None

        def on_step(step: int, steps: int, loss: float) -> None:
            nonlocal mean
            mean = loss if mean is None else 0.9 * mean + 0.1 * loss
            bars.update(bar, total=steps, completed=step, description=f"loss {mean:.3f}")

        results = make_pruner(folder, plan, run, on_step=on_step)
    _compare(results)
    first, *_, last = results["promises"]
    base.INFO.print(
        f"at --keep-answer {results['keep_answer']}; calibrated from {first} to {last} "
        f"on {results['calibrated_on']} other questions"
    )


@_training(plans.RouterPlan, _TOML, short_help="Choose which sources to ask.")
def router(folder: Path, plan: Any, run: Run, toml: Path) -> str:
    """Train a router that chooses sources for your generator, and write it to FOLDER.

    The generator answers each question from each source of sources.toml alone; the router learns
    which sources led it to a right answer. Where a question's metadata name its "sources", as in
    {"metadata": {"sources": ["news"]}}, these are right, and nobody is asked. A SOURCE is a JSONL
    file of questions with answers, or a name of `ragsieve datasets`; a salted hash divides them:
    half to learn from, a tenth to measure by. An interrupted training goes on where it stopped.

    \b
      ragsieve train router my-router questions.jsonl --sources sources.toml
      ragsieve train router my-router nq popqa --data ~/questions --sources sources.toml --limit 200
      ragsieve train router my-router questions.jsonl --sources sources.toml --form llm

    \b
    sources.toml has a table a source, of kind index, pages, passages, api or memory (the model by
    itself):
      [[sources]]
      name = "news"
      description = "News articles of 2023."
      kind = "index"
      folder = "news-index"
    """
    run.check_questions(documents=False)
    from ragsieve_research.train.router_training import train_router

    data = click.get_current_context().params["data"]
    results = train_router(folder, plan, run, toml, data=data).figures
    figures({name: row for name, row in results.items() if isinstance(row, dict)})
    return (
        f"measured on {results['questions']} other questions, {results['seconds']:.3f} s a choice; "
    )
