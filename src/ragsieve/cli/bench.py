"""`ragsieve bench` and `ragsieve report`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from ragsieve.cli.base import (
    COUNT,
    DATA,
    EXISTING_FILE,
    EXISTING_FOLDER,
    FILE,
    FOLDER,
    INFO,
    info,
    print_error,
    printable,
    progress,
    table,
)
from ragsieve.errors import InputError


@click.command("bench", short_help="Measure systems on questions.")
@click.argument("run", type=EXISTING_FILE)
@click.option("--small", is_flag=True, help="The small variant: local models, few questions.")
@DATA
@click.option("--output", type=FOLDER, show_default="runs/NAME", help="Folder of the run.")
@click.option("--limit", type=COUNT, help="Only so many questions of each data set.")
@click.option("--workers", type=COUNT, help="Questions at once.")
@click.option("--retry", is_flag=True, help="Ask again what failed in an earlier start.")
@click.option("--dry-run", is_flag=True, help="Show what would be run; ask nothing.")
def bench_command(
    run: Path,
    small: bool,
    data: Path | None,
    output: Path | None,
    limit: int | None,
    workers: int | None,
    retry: bool,
    dry_run: bool,
) -> int:
    """Measure systems on questions, as the file RUN.toml says, and report.

    What is done stays: the same command goes on where it was interrupted.

    \b
      ragsieve bench experiments/finefilter-main.toml --small --data ~/questions
      ragsieve bench my-run.toml --output runs/today --limit 20
      ragsieve bench my-run.toml --dry-run
    """
    import msgspec

    from ragsieve.evaluate.bench import Bench
    from ragsieve.evaluate.config import read

    config = read(run, small=small)
    if limit:
        less = [msgspec.structs.replace(d, questions=limit) for d in config.data]
        config = msgspec.structs.replace(config, data=less)
    if workers:
        config = msgspec.structs.replace(config, workers=workers)
    folder = output or Path("runs", config.name)
    bench = Bench(config, folder, data, ["ragsieve", *sys.argv[1:]], retry)
    if dry_run:
        table(("questions", "system", "generator"), [_row(cell) for cell in bench.cells])
        return 0
    failures = _run(bench)
    ends = {"html": "html", "markdown": "md", "csv": "csv"}
    _report([folder], None, {form: folder / f"report.{end}" for form, end in ends.items()})
    return 1 if failures else 0


def _row(cell: Any) -> tuple[str, str, str]:
    from ragsieve.evaluate.config import label  # needs packages that other commands do without

    return cell.questions_file, label(cell.system), label(cell.generator)


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


@click.command("report", short_help="Compare what runs have measured.")
@click.argument("runs", nargs=-1, required=True, type=EXISTING_FOLDER)
@click.option("--baseline", help="System to compare with.", show_default="the run's")
@click.option("--html", type=FILE, help="Write one self-contained page with plots.")
@click.option("--markdown", type=FILE, help="Write Markdown; - is standard output.")
@click.option("--csv", type=FILE, help="Write every figure as CSV; - is standard output.")
@click.option("--json", "json_", type=FILE, help="The same as JSON.")
@click.option("--price-in", type=float, default=1.0, help="Of a million tokens that are read.")
@click.option("--price-out", type=float, default=4.0, help="Of a million tokens that are written.")
@click.option("--filter-price-in", type=float, show_default="--price-in", help="For filters' LLMs.")
@click.option("--filter-price-out", type=float, show_default="--price-out", help="For these, too.")
def report_command(runs: tuple[Path, ...], baseline: str | None, **options: Any) -> int:
    """Compare what one or more runs have measured: tables here, and files on request.

    \b
      ragsieve report runs/finefilter-main-small
      ragsieve report runs/monday runs/tuesday --baseline all --html report.html
      ragsieve report runs/today --markdown - --csv figures.csv
    """
    from ragsieve.evaluate.cost import Prices

    names = ("price_in", "price_out", "filter_price_in", "filter_price_out")
    prices = Prices(*(options.pop(name) for name in names))
    options["json"] = options.pop("json_")
    _report([*runs], baseline, options, prices)
    return 0


def _report(
    runs: Sequence[Path],
    baseline: str | None,
    files: Mapping[str, Path | None],
    prices: Any = None,
) -> None:
    """Write the files that are named; the terminal's tables where none goes to it."""
    from ragsieve.evaluate import page, tables
    from ragsieve.evaluate.loading import load_run
    from ragsieve.evaluate.report import summarise

    with INFO.status("comparing …"):
        report = summarise([load_run(run) for run in runs], baseline, prices=prices)
    forms: dict[str, Callable[[Any], str]] = {
        "html": page.to_html,
        "markdown": tables.to_markdown,
        "csv": tables.to_csv,
        "json": tables.to_json,
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
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}") from error
