"""`ragsieve filter` and `ragsieve ask`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache as cached
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from ragsieve import models, systems, trained
from ragsieve.cli.base import FILE, INFO, complain, named, pairs, progress, shown, values
from ragsieve.errors import InputError
from ragsieve.evaluate.run import Batch, Tally, judged
from ragsieve.models.sharing import sharing
from ragsieve.pipeline import Result, Source, System
from ragsieve.retrieve.files import read_documents
from ragsieve.retrieve.route import Routed
from ragsieve.systems.indexes import content, index_source, ready
from ragsieve.systems.sources import read_sources, sources_content
from ragsieve.systems.table import ROLES
from ragsieve.trained import building
from ragsieve.trained.router import check_router, named_router, router_content
from ragsieve.types import Example, Query

FILTER_HELP = """Keep what matters of the documents in FILE… (text, Markdown, HTML, JSONL, -).

\b
  ragsieve filter -q "Who sang Summer Breeze?" page.html notes.txt
  cat page.txt | ragsieve filter -q "Who sang it?" --max-tokens 200 -
  ragsieve filter -q "Who sang it?" --explain docs.jsonl
  ragsieve filter -q "Who sang it?" --system top-sentences --option k=3 docs.jsonl
  ragsieve filter -q "Who sang it?" --system finefilter-point --model extractor=clues docs.jsonl
  ragsieve filter -q "Who sang it?" --index my-index --retrieve 50
  ragsieve filter --input questions.jsonl --output kept.jsonl
"""
ASK_HELP = """Answer from what matters of the documents in FILE… (text, Markdown, HTML, JSONL, -).

\b
  ragsieve ask -q "Who sang Summer Breeze?" page.html notes.txt
  ragsieve ask -q "Who sang it?" --system top-sentences --json docs.jsonl
  ragsieve ask -q "Who sang it?" --llm openai:gpt-5-mini docs.jsonl
  ragsieve ask -q "Who sang it?" --index my-index --system chunkrag-likelihood
  ragsieve ask -q "Who sang it?" --sources sources.toml --router my-router --system pruningrag
  ragsieve ask -q "Who sang it?" --system winnowrag --option clusters=5 docs.jsonl
  ragsieve ask -q "Who sang it?" --system winnowrag --model critic=openai:gpt-5-mini docs.jsonl
  ragsieve ask --input questions.jsonl --output answers.jsonl
"""
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
    click.option(
        "--option",
        "system_options",
        multiple=True,
        metavar="KEY=VALUE",
        help="An option of the system, as k=3 of top-sentences, clusters=5 of winnowrag.",
    ),
    click.option(
        "--model",
        "system_models",
        multiple=True,
        metavar="ROLE=MODEL",
        help="A model of its own for a part of the system, as critic=openai:gpt-5-mini of "
        "winnowrag, extractor=clues of finefilter-point.",
    ),
    click.option(
        "--index",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="Search this index (`ragsieve index build`) in place of documents.",
    ),
    click.option(
        "--retrieve", type=click.IntRange(1), show_default="20", help="Chunks from the index."
    ),
    click.option(
        "--by",
        type=click.Choice(["hybrid", "dense", "bm25"]),
        show_default="hybrid, or bm25 where the index has no embedder",
        help="How the index is searched.",
    ),
    click.option(
        "--sources",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="Ask the sources of this TOML file (see `ragsieve train router --help`).",
    ),
    click.option(
        "--router",
        show_default="all",
        help="Which of --sources: all, only:NAME,…, llm (untrained), or a folder of "
        "`ragsieve train router`.",
    ),
    click.option(
        "--llm",
        show_default="smollm2, or what a trained filter learnt from",
        help="smollm2, transformers:ID_OR_FOLDER, openai:NAME; fake:echo needs no weights.",
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
        help="minilm, sentence_transformers:ID_OR_FOLDER; fake:hashing needs no weights.",
    ),
    click.option(
        "--clues",
        default="clues",
        help="Of the system clues: clues, clues:FOLDER; fake:clues needs no weights.",
    ),
    click.option("--max-tokens", type=click.IntRange(0), help="Budget, in the LLM's tokens."),
    click.option(
        "--on-error",
        type=click.Choice(["raise", "keep"]),
        default="raise",
        help="keep: a stage that fails is skipped, and a warning says so.",
    ),
    click.option("--cache", type=FILE, help="Remember model replies here."),
    click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with the trace."),
    click.option("--explain", is_flag=True, help="Show each span: kept, or dropped and why."),
)


def _options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(OPTIONS):
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
    if source is not None and (files or as_json or explain):
        raise InputError("--input takes no FILE, --json or --explain: its records hold all that")
    options["llm"] = options["llm"] or trained.generator(options["system"])
    given = [name for name in ("--index", "--sources") if options[name.removeprefix("--")]]
    if len(given := [*given, *(["FILE"] if files else [])]) > 1:
        raise InputError(f"name {given[0]} or {given[1]}, not both")
    if options["router"] and not options["sources"]:
        raise InputError("--router goes with --sources")
    if not options["index"] and (options["retrieve"] or options["by"]):
        raise InputError("--retrieve and --by go with --index")
    _check(**options)
    if source is not None and output is not None:
        return _batch(source, output, asking, options)
    asked = Query(query or "")
    documents = None
    if not _searches(options):
        documents = read_documents(_or_stdin(files, needed=not asking))
    with _system(callers=1, **options) as system, INFO.status("reading …"):
        result = (system.ask if asking else system)(asked, documents)
    for warning in result.trace.warnings:
        INFO.print(Text(f"warning: {shown(warning)}", style="yellow"))
    if as_json:
        click.echo(json.dumps(result.to_dict(), indent=2).replace("\x7f", "\\u007f"))
    elif explain:
        _explain(result)
    else:
        click.echo(shown(result.answer.text if result.answer else result.text))
        INFO.print(Text(_cost(result), style="dim"))
    return 0


def _searches(options: Mapping[str, Any]) -> bool:
    """Whether evidence is found, not passed."""
    return bool(options["index"] or options["sources"])


def _or_stdin(files: Sequence[str], *, needed: bool) -> Sequence[str]:
    if files or (sys.stdin and not sys.stdin.isatty()):
        return files or ["-"]
    if needed:
        raise InputError("name at least one FILE, or pass documents to standard input")
    return []


def _check(
    *,
    system: str,
    llm: str,
    llm_options: Sequence[str],
    system_options: Sequence[str],
    system_models: Sequence[str],
    index: Path | None,
    sources: Path | None,
    router: str | None,
    **options: Any,
) -> None:
    """Everything about the options that can be known before a model is loaded."""
    if trained.entry(system).knows:
        raise InputError(f"system {system!r} needs gold answers, which only `ragsieve bench` knows")
    models.check(llm, "LLM")
    for role, kind in ROLES.items():
        models.check(options[role], kind)
    values("--llm-option", llm_options)
    building.check(system, *_of_system(system_options, system_models))
    if index:
        ready(index)
    if sources:
        sources_content(sources)
    if router:
        check_router(router)


def _of_system(options: Sequence[str], own: Sequence[str]) -> tuple[dict[str, Any], dict[str, str]]:
    """What --option and --model say of the system."""
    return values("--option", options), pairs("--model", own, "ROLE=MODEL")


@contextmanager
def _system(
    *,
    callers: int,
    system: str,
    llm: str,
    llm_options: Sequence[str],
    system_options: Sequence[str],
    system_models: Sequence[str],
    max_tokens: int | None,
    on_error: str,
    cache: Path | None,
    index: Path | None,
    retrieve: int | None,
    by: Any,
    sources: Path | None,
    router: str | None,
    **options: Any,
) -> Iterator[System]:
    """The system that the options name, its models wrapped as many questions need them."""
    with sharing(callers, cache=cache) as share:
        generator = share(models.load(llm, **values("--llm-option", llm_options)))

        @cached
        def made(model: str) -> Any:  # the LLM by its name is the one with its options
            return generator if model == llm else share(models.load(model))

        given, own = _of_system(system_options, system_models)
        parts, roles = building.models_of(system, given, own, options)
        given |= {part: made(model) for part, model in parts.items()}
        others = {role: made(model) for role, model in roles.items()}
        searched: Source | None = None
        if index:
            searched = index_source(index, made, k=retrieve or 20, by=by)
        elif sources:
            asked = read_sources(sources, made)
            searched = Routed(asked, named_router(router or "all", generator, asked, share))
        found = trained.build(system, generator, given, share=share, source=searched, **others)
        if max_tokens is not None:
            found = found.with_budget(max_tokens)
        yield found.lenient() if on_error == "keep" else found


def _batch(source: Path, output: Path, asking: bool, options: dict[str, Any]) -> int:
    tally = Tally()
    batch = Batch(source, output, label=_label(asking, **options))
    total = batch.total(options["limit"])
    made = _system(callers=options["workers"], **options)
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
    given, _ = _of_system(options["system_options"], options["system_models"])
    roles = building.roles_of(options["system"], given)
    if options["system"] not in systems.SYSTEMS:
        options["system"] = trained.identity(options["system"])
    more = ("llm_options", "system_options", "system_models")
    if options["index"]:
        options["index"] = content(options["index"])
    if options["sources"]:
        options["sources"] = sources_content(options["sources"])
        options["router"] = router_content(options["router"] or "all")
    names = ("system", "llm", *roles, "max_tokens", *more, "on_error", "index", "retrieve", "by")
    names += ("sources", "router")
    parts = [f"{name}={options[name]}" for name in names if options[name] not in (None, ())]
    return " ".join(["ask" if asking else "filter", *parts])


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
