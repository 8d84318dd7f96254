"""`ragsieve filter` and `ragsieve ask`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from ragsieve import models, systems, trained
from ragsieve.cli.base import FILE, INFO, complain, named, progress, shown
from ragsieve.cli.html import HTML_OPTIONS, compared, write_page
from ragsieve.cli.opening import (
    SYSTEM_OPTIONS,
    check,
    of_system,
    on_error_option,
    opened_system,
)
from ragsieve.errors import InputError
from ragsieve.evaluate.run import Batch, Tally, judged
from ragsieve.inspector import view
from ragsieve.pipeline import Result
from ragsieve.retrieve.files import read_documents
from ragsieve.systems.indexes import content
from ragsieve.systems.sources import sources_content
from ragsieve.trained import building
from ragsieve.trained.router import router_content
from ragsieve.types import Example, Query

FILTER_HELP = """Keep what matters of the documents in FILE… (text, Markdown, HTML, JSONL, -).

\b
  ragsieve filter -q "Who sang Summer Breeze?" page.html notes.txt
  cat page.txt | ragsieve filter -q "Who sang it?" --max-tokens 200 -
  ragsieve filter -q "Who sang it?" --explain docs.jsonl
  ragsieve filter -q "Who sang it?" --keep-answer 0.9 docs.jsonl
  ragsieve filter -q "Who sang it?" --html out.html --compare top-sentences docs.jsonl
  ragsieve filter -q "Who sang it?" --system top-sentences --option k=3 docs.jsonl
  ragsieve filter -q "Who sang it?" --system chunkrag --model critic=openai:NAME docs.jsonl
  ragsieve filter -q "Who sang it?" --index my-index --retrieve 50
  ragsieve filter --input questions.jsonl --output kept.jsonl
"""
ASK_HELP = """Answer from what matters of the documents in FILE… (text, Markdown, HTML, JSONL, -).

\b
  ragsieve ask -q "Who sang Summer Breeze?" page.html notes.txt
  ragsieve ask -q "Who sang it?" --system top-sentences --json docs.jsonl
  ragsieve ask -q "Who sang it?" --llm openai:gpt-5-mini docs.jsonl
  ragsieve ask -q "Who sang it?" --keep-answer 0.99 docs.jsonl
  ragsieve ask -q "Who sang it?" --index my-index --system chunkrag-likelihood
  ragsieve ask -q "Who sang it?" --sources sources.toml --router my-router --system pruningrag
  ragsieve ask -q "Who sang it?" --system winnowrag --option clusters=5 docs.jsonl
  ragsieve ask -q "Who sang it?" --system winnowrag --model critic=openai:gpt-5-mini docs.jsonl
  ragsieve ask --input questions.jsonl --output answers.jsonl
"""
UNANSWERED = 0.2
"""Under this probability that some document answers, `filter` and `ask` warn."""

OPTIONS = (  # what `filter` and `ask` share
    click.argument("files", nargs=-1, metavar="[FILE]..."),
    click.option("-q", "--query", metavar="TEXT", help="The question."),
    click.option(
        "--input",
        "source",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="Many questions: JSONL, a question with its documents a line; may be .gz.",
    ),
    click.option("--output", type=FILE, help="Its results, a line each; goes on if interrupted."),
    click.option("--limit", type=click.IntRange(1), help="Only the first lines of --input."),
    click.option("--workers", type=click.IntRange(1), default=16, help="Questions at once."),
    click.option(
        "--system",
        default="finefilter",
        help="One that `ragsieve systems` lists, or a trained filter: its folder or hub id.",
    ),
    *SYSTEM_OPTIONS,
    on_error_option("raise"),
    click.option("--cache", type=FILE, help="Remember model replies here."),
    click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with the trace."),
    click.option("--explain", is_flag=True, help="Show each span: kept, or dropped and why."),
)


def _options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed((*OPTIONS, *HTML_OPTIONS)):
        command = option(command)
    return command


@click.command("filter", help=FILTER_HELP, short_help="Keep what matters of documents.")
@_options
def filter_command(**options: Any) -> int:
    return _run(asking=False, **options)


@click.command("ask", help=ASK_HELP, short_help="Answer from what matters of documents.")
@_options
def ask_command(**options: Any) -> int:
    return _run(asking=True, **options)


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
    if source is not None and (files or as_json or explain or options["html"]):
        raise InputError("--input takes no FILE, --json, --explain or --html: see its records")
    options["llm"] = options["llm"] or trained.generator(
        options["system"], asking=asking or bool(options["llm_options"])
    )
    given = [name for name in ("--index", "--sources") if options[name.removeprefix("--")]]
    if len(given := [*given, *(["FILE"] if files else [])]) > 1:
        raise InputError(f"name {given[0]} or {given[1]}, not both")
    for one in (options, *compared(options)):
        check(**one)
    if source is not None and output is not None:
        return _batch(source, output, asking, options)
    asked = Query(query or "")
    documents = None
    if not _searches(options):
        documents = read_documents(_or_stdin(files, needed=not asking))
    result, seen = _once(asking, asked, documents, options)
    for warning in result.trace.warnings:
        INFO.print(Text(f"warning: {shown(warning)}", style="yellow"))
    if result.answerable is not None and result.answerable < UNANSWERED:
        line = f"warning: no document seems to answer ({result.answerable:.0%})"
        INFO.print(Text(line, style="yellow"))
    if as_json:
        click.echo(json.dumps(result.to_dict(), indent=2).replace("\x7f", "\\u007f"))
    elif explain:
        _explain(result)
    else:
        click.echo(shown(result.answer.text if result.answer else result.text))
        INFO.print(Text(_cost(result), style="dim"))
    others = [_once(asking, asked, documents, one)[1] for one in compared(options)]
    write_page(options["html"], [seen, *others])
    return 0


def _once(asking: bool, query: Query, documents: Any, options: Any) -> tuple[Result, Any]:
    """The result for one question, and its view where a page is wanted."""
    with opened_system(callers=1, **options) as system, INFO.status("reading …"):
        result = (system.ask if asking else system)(query, documents)
        told = view(result, options["system"], reader=system.reader) if options["html"] else None
    return result, told


def _searches(options: Mapping[str, Any]) -> bool:
    """Whether evidence is found, not passed."""
    return bool(options["index"] or options["sources"])


def _or_stdin(files: Sequence[str], *, needed: bool) -> Sequence[str]:
    if files or (sys.stdin and not sys.stdin.isatty()):
        return files or ["-"]
    if needed:
        raise InputError("name at least one FILE, or pass documents to standard input")
    return []


def _batch(source: Path, output: Path, asking: bool, options: dict[str, Any]) -> int:
    tally = Tally()
    batch = Batch(source, output, label=_label(asking, **options))
    total = batch.total(options["limit"])
    made = opened_system(callers=options["workers"], **options)
    with batch, made as system, progress() as bars:

        def one(example: Example) -> dict[str, Any]:
            made = system.ask if asking else system
            documents = None if _searches(options) else example.documents
            return judged(example, made(example.query, documents))

        bar = bars.add_task("questions", total=total)
        for done in batch.run(one, workers=options["workers"], limit=options["limit"]):
            tally.add(done)
            bars.advance(bar)
            if done.error:
                line = f"error: {source} line {done.line}: {named(done.error)}"
                complain(bars.console, line)
    INFO.print(Text(shown(f"{output}: {tally}")))
    return 2 if tally.bad else 1 if tally.failed else 0


def _label(asking: bool, *, llm_options: Sequence[str], **options: Any) -> str:
    """What makes the records of a batch, without keys that nobody else should read."""
    options["llm_options"] = tuple(o for o in llm_options if not o.startswith("api_key="))
    given, _ = of_system(options["system_options"], options["system_models"])
    roles = building.roles_of(options["system"], given)
    if options["system"] not in systems.SYSTEMS:
        options["system"] = trained.identity(options["system"])
    if "pruner" in roles:
        options["pruner"] = models.load(options["pruner"]).identity
    more = ("llm_options", "system_options", "system_models")
    if options["index"]:
        options["index"] = content(options["index"])
    if options["sources"]:
        options["sources"] = sources_content(options["sources"])
        options["router"] = router_content(options["router"] or "all")
    names = ("system", "llm", *roles, "max_tokens", *more, "on_error", "index", "retrieve", "by")
    names += ("sources", "router", "keep_answer")
    parts = [f"{name}={options[name]}" for name in names if options[name] not in (None, ())]
    return " ".join(["ask" if asking else "filter", *parts])


def _cost(result: Result) -> str:
    steps = [step.to_dict() for step in result.trace.steps]
    total = {k: sum(s[k] for s in steps) for k in ("calls", "tokens_in", "tokens_out", "seconds")}
    verdicts = result.verdicts
    calls = f"{total['calls']} model call{'s' * (total['calls'] != 1)}"
    return (
        f"kept {len(result.kept)} of {len(verdicts)} spans, {result.tokens.after:,} of "
        f"{result.tokens.before:,} tokens; {calls}, {total['tokens_in']:,} "
        f"tokens read, {total['tokens_out']:,} written, {total['seconds']:.1f} s"
    )


def _explain(result: Result) -> None:
    """Every span with what became of it, coloured on a terminal."""
    console = Console(highlight=False, soft_wrap=True)

    def say(text: str, style: str) -> None:
        console.print(Text(shown(text), style=style))

    name = None
    for verdict in result.verdicts:
        segment = verdict.segment
        if segment.document.id != name:
            name = segment.document.id
            title = segment.document.title or segment.document.source
            heading = dict.fromkeys(" ".join(part.split()) for part in (name, title))
            say("\n" + "  ".join(filter(None, heading)), "bold")
        score = f" {segment.score:.3f}" if segment.scores else ""
        text = " ".join(segment.text.split())
        if verdict.stage:
            say(f"  - {text}", "dim")
            say(f"      {verdict.stage.split('(')[0]}{score}: {verdict.reason}", "red")
        else:
            say(f"  + {text}{score and ' '}{score}", "green")
    console.print()
    for line in result.trace.notes:
        say(f"note: {line}", "yellow")
    for record in result.trace.steps:
        for line in record.told:
            say(f"note: {record.stage.split('(')[0]}: {line}", "yellow")
    if result.answer:
        say(f"answer: {result.answer.text}", "bold")
    say(_cost(result), "dim")
