"""`ragsieve filter` and `ragsieve ask`."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import click
from click.core import ParameterSource
from rich.console import Console
from rich.text import Text

from ragsieve.cli.base import FILE, INFO, WORKERS, Cache, Workers, info, printable, warn, watched
from ragsieve.cli.cluster import Cluster, Place, local_file
from ragsieve.cli.opening import CHANGES
from ragsieve.cli.signature import Sections, from_options, options_of
from ragsieve.context.budget import LIMITS
from ragsieve.errors import InputError
from ragsieve.files import is_passed, replace_lines, standard_input
from ragsieve.read.files import read_documents
from ragsieve.result import Result
from ragsieve.run.batch import Batch, Tally, judged, stream
from ragsieve.schema import Count
from ragsieve.spec import CUTS, SystemSpec
from ragsieve.text import counted, json_text
from ragsieve.types import LAYOUT, Example, Query

_STDIN = Path("-")
_NO_TEXT = "the documents hold no text"
_EXAMPLE = Path(__file__).with_name("example.jsonl")


@dataclass(frozen=True, kw_only=True)
class AskOptions:
    """One question or many, and what is printed of the results; the fields are options.

    Args:
        query: The question.
        input: Many questions: JSONL, a question with its documents a line, may be .gz; or .parquet.
            -: standard input; results go to standard output, each as soon as it is there, if not to
            --output.
        output: Its results, a line each; goes on if interrupted.
        limit: Only the first lines of --input.
        cache: Remember model replies here.
        as_json: Print one JSON object, with the trace.
        explain: Show each span: kept, or dropped and why.
        html: Write a page here: what stayed, what went, and why.
        compare: A second system beside it on the page.
    """

    query: Annotated[str | None, {"flags": ["-q", "--query"], "metavar": "TEXT"}] = None
    input: Annotated[Path | str | None, Place(exists=True, allow_dash=True, path_type=Path)] = None
    output: Annotated[Path | str | None, Place(path_type=Path)] = None
    limit: Count | None = None
    workers: Workers = WORKERS
    cache: Cache = None
    as_json: Annotated[bool, {"flags": ["--json"]}] = False
    explain: bool = False
    html: Annotated[Path | None, FILE] = None
    compare: Annotated[str | None, {"metavar": "SYSTEM"}] = None


_PARAMS = [
    click.Argument(["files"], nargs=-1, metavar="[FILE]..."),
    *(option for api in (AskOptions, Cluster) for option in options_of(api)),
    *options_of(SystemSpec, changes=CHANGES),
]

_SECTIONS = {
    "Options": (
        *("query", "system", "keep_answer", "max_tokens", "llm", "answer_tokens", "explain"),
        *("as_json", "html", "input", "output"),
    ),
    "Other budgets and thresholds": (*CUTS[1:], *LIMITS[1:]),
    "How what is kept is shown": LAYOUT,
    "Where evidence is searched": ("source", "source_options"),
    "On a Ray cluster": ("engine", "address", "actors", "form"),
    "Models and their options": (
        *("llm_options", "embedder", "pruner", "options", "models", "model_options", "cache"),
    ),
}
_command = partial(click.command, cls=Sections, sections=_SECTIONS, params=_PARAMS)


@_command("filter", short_help="Keep what matters of documents.")
def filter_command(files: Sequence[str], **options: Any) -> int:
    """Keep what matters of the documents in FILE… (text, tables, logs, HTML, PDF, Word,
    mail, JSON, JSONL, folders of these, -); without one, of a small example.

    \b
      ragsieve filter -q "Who designed the Statue of Liberty?"
      ragsieve filter -q "Who sang Summer Breeze?" page.html notes.txt
      cat page.txt | ragsieve filter -q "Who sang it?" --max-tokens 200 -
      ragsieve filter -q "Who sang it?" --explain docs.jsonl
      ragsieve filter -q "Who sang it?" --keep-answer 0.9 docs.jsonl
      ragsieve filter -q "Who sang it?" --html out.html --compare top-sentences docs.jsonl
      ragsieve filter -q "Who sang it?" --system top-sentences --option k=3 docs.jsonl
      ragsieve filter -q "Who sang it?" --system chunkrag --model critic=openai:NAME docs.jsonl
      ragsieve filter -q "Who sang it?" --source index:my-index --source-option k=50
      ragsieve filter --input questions.jsonl --output kept.jsonl
      cat questions.jsonl | ragsieve filter --input - | jq .text
    """
    return _run(False, files, options)


@_command("ask", short_help="Answer from what matters of documents.")
def ask_command(files: Sequence[str], **options: Any) -> int:
    """Answer from what matters of the documents in FILE… (text, tables, logs, HTML, PDF,
    Word, mail, JSON, JSONL, folders of these, -); without one, of a small example.

    \b
      ragsieve ask -q "Who designed the Statue of Liberty?"
      ragsieve ask -q "Who sang Summer Breeze?" page.html notes.txt
      ragsieve ask -q "Who sang it?" --system top-sentences --json docs.jsonl
      ragsieve ask -q "Who sang it?" --llm openai:gpt-5-mini docs.jsonl
      ragsieve ask -q "Who sang it?" --keep-answer 0.99 docs.jsonl
      ragsieve ask -q "How do I renew a book?" --answer-tokens 256 docs.jsonl
      ragsieve ask -q "Who sang it?" --source index:my-index --system chunkrag-likelihood
      ragsieve ask -q "Who sang it?" --source sources:my.toml --source-option router=my-router
      ragsieve ask -q "Who sang it?" --system winnowrag --option clusters=5 docs.jsonl
      ragsieve ask -q "Who sang it?" --system winnowrag --model critic=openai:gpt-5-mini docs.jsonl
      ragsieve ask --input questions.jsonl --output answers.jsonl
      cat questions.jsonl | ragsieve ask --input - | jq .answer
    """
    return _run(True, files, options)


def _run(answering: bool, files: Sequence[str], options: dict[str, Any]) -> int:
    system, cluster = from_options(SystemSpec, options), from_options(Cluster, options)
    call = from_options(AskOptions, options)
    _check(call, files)
    system = system.with_llm(*filter(None, [call.compare]), answering=answering)
    if system.source and files:
        by = click.get_current_context().get_parameter_source("source")
        if by is ParameterSource.COMMANDLINE:
            raise InputError("name --source or FILE, not both")
        system = system.replaced(source=None)  # one that is set serves where no file is named
    chosen = [system]
    if call.compare:  # as the first but for options of its own
        own: dict[str, Any] = {"options": {}, "models": {}, **dict.fromkeys(CUTS)}
        chosen.append(system.replaced(system=call.compare, **own))
    for one in chosen:
        one.check()
    label = f"{'ask' if answering else 'filter'} {system.identity}"  # of a batch's records
    if cluster.engine == "ray":
        if call.output is None or call.input == _STDIN or call.limit or call.cache:
            raise InputError("--engine ray needs --input and --output, and no --limit or --cache")
        places = str(call.input), str(call.output)
        return cluster.run(places, system, label, answering, call.workers)
    if cluster != Cluster():
        raise InputError("--address, --actors, --gpus and --form go with --engine ray")
    source, output = local_file("--input", call.input), local_file("--output", call.output)
    if source is not None:
        batch = Batch(source, output, label=label) if output else None
        return _many(batch, system, answering, call)
    documents = None if system.source else read_documents(_or_passed(files), warn)
    run = partial(_once, answering, call, documents)
    result, first = run(system)
    _print(result, call)
    if call.html is not None:
        from ragsieve.inspector import page

        content = page([first, *(run(one)[1] for one in chosen[1:])])
        replace_lines(call.html, [content.encode()], f"--html {call.html}")
    return 0


def _check(call: AskOptions, files: Sequence[str]) -> None:
    """Raise `InputError` where options do not go together."""
    if (call.query is None) == (call.input is None):
        raise InputError("name one question by --query, or many by --input")
    streamed = call.output is None and call.input == _STDIN
    if (call.input is None) != (call.output is None) and not streamed:
        raise InputError("--input and --output go together, but for --input -")
    if call.input is not None and (files or call.html or call.as_json or call.explain):
        raise InputError("--input takes no FILE, --json, --explain or --html: see its records")
    if call.html is not None and not call.html.absolute().parent.is_dir():
        raise InputError(f"--html must be a file in a folder that is there, got {str(call.html)!r}")
    if call.compare is not None and call.html is None:
        raise InputError("--compare goes with --html")
    if call.limit is not None and call.input is None:
        raise InputError("--limit goes with --input")
    if call.explain and call.as_json:
        raise InputError("name --explain or --json, not both")


def _once(
    answering: bool, call: AskOptions, documents: Any, options: SystemSpec
) -> tuple[Result, dict[str, Any]]:
    """The result for one question, and its view where a page is written."""
    with options.opened(1, call.cache) as system, INFO.status("reading …"):
        result = (system.ask if answering else system)(Query(call.query or ""), documents)
        if not call.html:
            return result, {}
        from ragsieve.inspector import view

        return result, view(result, options.system, reader=system.reader)


def _or_passed(files: Sequence[str]) -> Sequence[str]:
    """FILE…, or standard input where a pipe or a file is passed to it, or the example."""
    if files or is_passed():
        return files or ["-"]
    warn(f"no FILE is named: the documents are those of ragsieve's example, {_EXAMPLE}")
    return [str(_EXAMPLE)]


def _many(batch: Batch | None, options: SystemSpec, answering: bool, call: AskOptions) -> int:
    """Questions of a file, or of standard input where no batch is passed."""
    tally = Tally()
    with batch or nullcontext(), options.opened(call.workers, call.cache) as system:

        def one(example: Example) -> dict[str, Any]:
            documents = None if options.source else example.documents
            return judged(example, (system.ask if answering else system)(example.query, documents))

        if batch:
            done = batch.run(one, workers=call.workers, limit=call.limit)
            results = watched(done, batch.total(call.limit), str(batch.source))
        else:
            results = stream(standard_input(), one, workers=call.workers, limit=call.limit)
        for result in results:
            tally.add(result)
            if not batch:
                _print_json(result.record)
        if batch:
            batch.sort()
    if tally["written"] and not tally["before"]:
        warn(_NO_TEXT)
    info(f"{batch.output if batch else 'standard input'}: {tally}")
    return 2 if tally["bad"] else 1 if tally["failed"] else 0


def _print(result: Result, call: AskOptions) -> None:
    for warning in result.trace.warnings:
        warn(warning)
    if not result.tokens.before:
        warn(_NO_TEXT)
    if call.as_json:
        _print_json(result.to_dict(documents=False), indent=2)
    elif call.explain:
        _explain(result)
    else:
        click.echo(printable(result.answer.text if result.answer else result.text))
        info(_cost(result), "dim")


def _print_json(value: Mapping[str, Any], indent: int | None = None) -> None:
    click.echo(json_text(value, indent=indent).replace("\x7f", "\\u007f"))


def _cost(result: Result) -> str:
    total = result.costs
    calls = counted(total["calls"], "model call")
    calls += f", {counted(total['embedded'], 'text')} embedded" if total["embedded"] else ""
    spans = f"{len(result.kept)} of {counted(len(result.verdicts), 'span')}"
    tokens = f"{result.tokens.after:,} of {counted(result.tokens.before, 'token')}"
    spent = f"{counted(total['tokens_in'], 'token')} read, {total['tokens_out']:,} written"
    return f"kept {spans}, {tokens}; {calls}, {spent}, {total['seconds']:.1f} s"


def _explain(result: Result) -> None:
    """Every span with what became of it, coloured on a terminal."""
    console = Console(highlight=False, soft_wrap=True)

    def write(text: str, style: str) -> None:
        console.print(Text(printable(text), style=style))

    name = None
    for verdict in result.verdicts:
        segment = verdict.segment
        if segment.document.id != name:
            name = segment.document.id
            title = segment.document.title or segment.document.source
            heading = dict.fromkeys(" ".join(part.split()) for part in (name, title))
            write("\n" + "  ".join(filter(None, heading)), "bold")
        score = f" {segment.score:.3f}" if segment.scores else ""
        text = " ".join(segment.text.split())
        if verdict.stage:
            write(f"  - {text}", "dim")
            known = score.strip() in verdict.reason
            stage = verdict.stage.split("(")[0] + ("" if known else score)
            write(f"      {stage}: {verdict.reason}", "red")
        else:
            write(f"  + {text}{score and ' '}{score}", "green")
    console.print()
    for line in result.trace.notes:
        write(f"note: {line}", "yellow")
    for record in result.trace.steps:
        for line in record.messages:
            write(f"note: {record.stage.split('(')[0]}: {line}", "yellow")
    if result.answer:
        write(f"answer: {result.answer.text}", "bold")
    write(_cost(result), "dim")
