"""`ragsieve bench` and `ragsieve report`."""

import hashlib
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import click
from rich.console import Console

import ragsieve
from ragsieve.cli import base
from ragsieve.cli.opening import CHANGES
from ragsieve.cli.signature import command, from_options, options_of
from ragsieve.files import replace_lines
from ragsieve.schema import Count
from ragsieve_research.cli.base import Data
from ragsieve_research.evaluate.override import Override
from ragsieve_research.evaluate.prices import Prices

_CHANGES = {"model_options": CHANGES["model_options"]}


@command(
    "bench",
    short_help="Measure systems on questions.",
    params=options_of(Override, changes=_CHANGES),
)
def bench_command(
    run: Annotated[Path, base.EXISTING_FILE],
    *,
    small: bool = False,
    data: Data = None,
    output: Annotated[Path | None, base.FOLDER, {"show_default": "runs/NAME"}] = None,
    limit: Count | None = None,
    workers: Count | None = None,
    retry: bool = False,
    dry_run: bool = False,
    trec: Annotated[Path | None, base.FOLDER, {"flags": ["--run"]}] = None,
    **override: Any,
) -> int:
    """Measure systems on questions, as the file RUN.toml says, and report.

    What is done stays: the same command goes on where it was interrupted.

    \b
      ragsieve bench experiments/finefilter-main.toml --small --data ~/questions
      ragsieve bench my-run.toml --output runs/today --limit 20
      ragsieve bench my-run.toml --dry-run
      ragsieve bench my-run.toml --llm openai:qwen --embedder openai:text-embedding-3-small

    Args:
        small: The small variant: local models, few questions.
        output: Folder of the run.
        limit: Questions of each data set, at most; fewer where the file says so.
        workers: Questions at once.
        retry: Ask again what failed in an earlier start.
        dry_run: Show what would be run, what that is expected to cost, and what cannot run and
            why; ask nothing.
        trec: Folder for TREC files: what each system kept as a run, and the labels as qrels.
    """
    import msgspec

    from ragsieve_research.evaluate.bench import Bench
    from ragsieve_research.evaluate.config import read

    config = from_options(Override, override).applied(read(run, small=small))
    changes: dict[str, Any] = {"workers": workers} if workers else {}
    if limit:
        changes["data"] = [
            msgspec.structs.replace(d, questions=min(limit, n))
            for d in config.data
            for n in [d.questions or config.questions or limit]
        ]
    config = msgspec.structs.replace(config, **changes)
    folder = output or Path("runs", config.name)
    bench = Bench(config, folder, data, ["ragsieve", *sys.argv[1:]], retry)
    if dry_run:
        sums = _expect(bench)
        bench.check()
        for name, why in bench.unable.items():
            base.print_error(base.INFO, f"cannot run {name}: {why}")
        for address in bench.models.addresses:
            base.info(f"asks {address}")
        base.info(sums)
        return 0
    failures = _run(bench)
    if trec:
        from ragsieve_research.evaluate.trec import write_bench

        for path in write_bench(folder, bench.cells, trec):
            base.info(f"written: {path}", "dim")
            if path.suffix == ".qrels" and not path.stat().st_size:
                base.warn(f"{path} is empty: no document has is_positive or relevance")
    ends = {"html": "html", "markdown": "md", "csv": "csv", "svg": "svg"}
    _report([folder], None, {form: folder / f"report.{end}" for form, end in ends.items()})
    return 1 if failures else 0


def _expect(bench: Any) -> str:
    """Print a row a cell with calls and tokens to expect, or why it cannot run; their sums."""
    from ragsieve_research.evaluate import expected
    from ragsieve_research.evaluate.config import cells, label

    rows: list[tuple[str, ...]] = []
    sums, about = [0.0] * 5, "about"
    for cell in cells(bench.config):
        head = (cell.questions_file, label(cell.system), label(cell.generator))
        if cell.file in bench.unable:
            rows.append((*head, "cannot run", "", "", ""))
            continue
        costs = bench.costs(cell)
        rows.append((*head, *(f"{c:,.0f}" if c is not None else "?" for c in costs[:4])))
        sums = [a + (b or 0) for a, b in zip(sums, costs, strict=True)]
        about = "at least" if None in costs else about
    names = ("questions", "system", "generator", "asked", "calls", "tokens in", "out")
    base.table(names, rows)
    hours = (sums[2] / expected.READ + sums[3] / expected.WRITTEN) / 3600
    told = f"{sums[1]:,.0f} LLM calls, {sums[2]:,.0f} tokens read, {sums[3]:,.0f} written"
    rates = f"at {expected.READ:,} tokens read and {expected.WRITTEN} written a second"
    return f"{about} {told}; {hours:,.1f} hours {rates}; {sums[4]:,.2f} at 1 and 4 a million tokens"


def _run(bench: Any) -> int:
    """Run with a bar; the number of questions that failed."""
    with base.INFO.status("reading the questions …"):
        counts = bench.prepare()
    total = sum(bench.asked(cell, counts[cell.questions_file]) for cell in bench.cells)
    failed: Counter[tuple[str, bool]] = Counter()  # by cell, and whether there is a record
    with base.progress() as bars:
        bar = bars.add_task("", total=total)
        for event in bench.run():
            error = event.done.error or event.done.record.get("error")
            name = f"{event.cell.file}{' times' * (event.part == 'latency')}"
            kind = name, bool(event.done.record)
            failed[kind] += bool(error)
            about = {"description": name, "failed": failed.total()}
            bars.update(bar, advance=1, **about)
            if error and failed[kind] <= 3:
                where = f"{event.cell.file} line {event.done.line}"
                base.print_error(bars.console, f"error: {where}: {error}")
    for name, why in bench.unable.items():
        base.print_error(base.INFO, f"{name} did not run to the end: {why}")
    for (name, recorded), count in (+failed).items():
        then = "they count as wrong; --retry" if recorded else "not counted; the same command"
        base.print_error(base.INFO, f"{name}: {count} failed; {then} asks them again")
    return failed.total() + len(bench.unable)


@command("report", short_help="Compare what runs have measured.", params=options_of(Prices))
def report_command(
    runs: Annotated[tuple[Path, ...], base.EXISTING_FOLDER],
    *,
    baseline: Annotated[str | None, {"show_default": "the run's"}] = None,
    html: Annotated[Path | None, base.FILE] = None,
    markdown: Annotated[Path | None, base.FILE] = None,
    csv: Annotated[Path | None, base.FILE] = None,
    svg: Annotated[Path | None, base.FILE] = None,
    **prices: Any,
) -> None:
    """Compare what one or more runs have measured: tables here, and files on request.

    What two of them call the same has the run's name before it, or its folder's where these are the
    same, too.

    \b
      ragsieve report runs/finefilter-main-small
      ragsieve report runs/monday runs/tuesday --baseline all --html report.html
      ragsieve report runs/today --markdown - --csv figures.csv

    Args:
        baseline: System to compare with.
        html: Write one self-contained page with plots.
        markdown: Write Markdown; - is standard output.
        csv: Write every figure as CSV; - is standard output.
        svg: Write a picture of the first metric over the context's tokens.
    """
    files = {"html": html, "markdown": markdown, "csv": csv, "svg": svg}
    _report([*runs], baseline, files, from_options(Prices, prices))


def _report(
    runs: Sequence[Path], baseline: str | None, files: Mapping[str, Path | None], prices: Any = None
) -> None:
    """Write the files that are named; the terminal's tables where none goes to it.

    Pages and pictures of the same figures, which end with their checksum, stay as they are.
    """
    from ragsieve_research.evaluate import tables
    from ragsieve_research.evaluate.records import load_runs
    from ragsieve_research.evaluate.report import summarise

    with base.INFO.status("comparing …"):
        report = summarise(load_runs(runs), baseline, prices=prices)
    end = f"\n<!-- {_checksum(report)} -->\n"
    forms: dict[str, Callable[[Any], str]] = {
        "html": lambda report: _page().to_html(report) + end,
        "markdown": tables.to_markdown,
        "csv": tables.to_csv,
        "svg": lambda report: _page().to_svg(report) + end,
    }
    for name, path in files.items():
        if path and str(path) == "-":
            click.echo(base.printable(forms[name](report)))
        elif path and not _ends(path, end):
            _write(path, forms[name](report))
            base.info(f"written: {path}", "dim")
    if not any(str(path) == "-" for path in files.values() if path):
        Console(highlight=False).print(tables.to_terminal(report))


def _checksum(report: Any) -> str:
    """Of all that a page shows, but for when the command was started."""
    headers = tuple({**header, "started": ""} for header in report.headers)
    shown = f"{ragsieve.__version__} {replace(report, headers=headers)!r}"
    return hashlib.sha256(shown.encode(errors="replace")).hexdigest()


def _page() -> Any:
    from ragsieve_research.evaluate import page  # imports what draws, for a second

    return page


def _ends(path: Path, end: str) -> bool:
    """Whether a file is there and ends so."""
    return path.is_file() and path.read_bytes().endswith(end.encode())


def _write(path: Path, text: str) -> None:
    replace_lines(path, [text.encode()])
