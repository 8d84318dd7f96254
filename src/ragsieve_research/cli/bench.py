"""`ragsieve bench` and `ragsieve report`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import click
from rich.console import Console

from ragsieve.cli.base import (
    EXISTING_FILE,
    EXISTING_FOLDER,
    FILE,
    FOLDER,
    INFO,
    Count,
    info,
    print_error,
    printable,
    progress,
    table,
)
from ragsieve.cli.signature import command, from_options, options_of
from ragsieve.files import writing
from ragsieve_research.cli.base import Data
from ragsieve_research.evaluate.prices import Prices


@command("bench", short_help="Measure systems on questions.")
def bench_command(
    run: Annotated[Path, EXISTING_FILE],
    *,
    small: bool = False,
    data: Data = None,
    output: Annotated[Path | None, FOLDER, {"show_default": "runs/NAME"}] = None,
    limit: Count = None,
    workers: Count = None,
    retry: bool = False,
    dry_run: bool = False,
) -> int:
    """Measure systems on questions, as the file RUN.toml says, and report.

    What is done stays: the same command goes on where it was interrupted.

    \b
      ragsieve bench experiments/finefilter-main.toml --small --data ~/questions
      ragsieve bench my-run.toml --output runs/today --limit 20
      ragsieve bench my-run.toml --dry-run

    Args:
        small: The small variant: local models, few questions.
        output: Folder of the run.
        limit: Only so many questions of each data set.
        workers: Questions at once.
        retry: Ask again what failed in an earlier start.
        dry_run: Show what would be run, and whether its data are there; ask nothing.
    """
    import msgspec

    from ragsieve_research.evaluate.bench import Bench
    from ragsieve_research.evaluate.config import label, read

    config = read(run, small=small)
    changes: dict[str, Any] = {"workers": workers} if workers else {}
    if limit:
        changes["data"] = [msgspec.structs.replace(d, questions=limit) for d in config.data]
    config = msgspec.structs.replace(config, **changes)
    folder = output or Path("runs", config.name)
    bench = Bench(config, folder, data, ["ragsieve", *sys.argv[1:]], retry)
    if dry_run:
        rows = [(c.questions_file, label(c.system), label(c.generator)) for c in bench.cells]
        table(("questions", "system", "generator"), rows)
        bench.check()
        return 0
    failures = _run(bench)
    ends = {"html": "html", "markdown": "md", "csv": "csv"}
    _report([folder], None, {form: folder / f"report.{end}" for form, end in ends.items()})
    return 1 if failures else 0


def _run(bench: Any) -> int:
    """Run with a bar; the number of questions that failed."""
    with INFO.status("reading the questions …"):
        counts = bench.prepare()
    latency = bench.config.latency
    total = sum(
        cell.question_count(n) + cell.question_count(min(latency, n))
        for cell in bench.cells
        for n in [counts[cell.questions_file]]
    )
    failed: Counter[str] = Counter()
    with progress() as bars:
        bar = bars.add_task("", total=total)
        for event in bench.run():
            part = "times" if event.part == "latency" else "questions"
            bars.update(bar, advance=1, description=f"{event.cell.file} {part}")
            error = event.done.error or event.done.record.get("error")
            if error:
                failed[event.cell.file] += 1
                if failed[event.cell.file] <= 3:
                    print_error(
                        bars.console, f"error: {event.cell.file} line {event.done.line}: {error}"
                    )
    for name, count in failed.items():
        print_error(INFO, f"{name}: {count} failed; they count as wrong; --retry asks them again")
    return failed.total()


@command("report", short_help="Compare what runs have measured.", params=options_of(Prices))
def report_command(
    runs: Annotated[tuple[Path, ...], EXISTING_FOLDER],
    *,
    baseline: Annotated[str | None, {"show_default": "the run's"}] = None,
    html: Annotated[Path | None, FILE] = None,
    markdown: Annotated[Path | None, FILE] = None,
    csv: Annotated[Path | None, FILE] = None,
    **prices: Any,
) -> None:
    """Compare what one or more runs have measured: tables here, and files on request.

    \b
      ragsieve report runs/finefilter-main-small
      ragsieve report runs/monday runs/tuesday --baseline all --html report.html
      ragsieve report runs/today --markdown - --csv figures.csv

    Args:
        baseline: System to compare with.
        html: Write one self-contained page with plots.
        markdown: Write Markdown; - is standard output.
        csv: Write every figure as CSV; - is standard output.
    """
    files = {"html": html, "markdown": markdown, "csv": csv}
    _report([*runs], baseline, files, from_options(Prices, prices))


def _report(
    runs: Sequence[Path],
    baseline: str | None,
    files: Mapping[str, Path | None],
    prices: Any = None,
) -> None:
    """Write the files that are named; the terminal's tables where none goes to it."""
    from ragsieve_research.evaluate import page, tables
    from ragsieve_research.evaluate.records import load_run
    from ragsieve_research.evaluate.report import summarise

    with INFO.status("comparing …"):
        report = summarise([load_run(run) for run in runs], baseline, prices=prices)
    forms: dict[str, Callable[[Any], str]] = {
        "html": page.to_html,
        "markdown": tables.to_markdown,
        "csv": tables.to_csv,
    }
    for name, path in files.items():
        if path and str(path) == "-":
            click.echo(printable(forms[name](report)))
        elif path:
            _write(path, forms[name](report))
            info(f"written: {path}", "dim")
    if not any(str(path) == "-" for path in files.values() if path):
        Console(highlight=False).print(tables.to_terminal(report))


def _write(path: Path, text: str) -> None:
    with writing(path):
        path.write_text(text, encoding="utf-8")
