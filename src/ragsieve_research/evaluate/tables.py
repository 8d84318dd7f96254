"""A report as text: Markdown, CSV, and tables for the terminal."""

import csv
import io
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from rich import table as rich_table
from rich.console import Group, RenderableType
from rich.text import Text

from ragsieve_research.evaluate.advice import advice
from ragsieve_research.evaluate.formatting import amount, difference_text, mean_text, number, title
from ragsieve_research.evaluate.report import OVERALL, Report, Row

_MEAN = ("metric", "value", "low", "high", "n")
_DIFFERENCE = ("difference", "diff_low", "diff_high", "p", "verdict")
COLUMNS = ("dataset", "system", "generator", *_MEAN, *_DIFFERENCE)

Column = tuple[str, Callable[[Row, str], str]]
"""A head, and the cell under it of a row, or of a part of its figures."""


@dataclass(frozen=True)
class Table:
    """A table as text."""

    name: str
    heads: list[str]
    cells: list[list[str]]


def _table(
    name: str, rows: Sequence[Row], columns: Sequence[Column], *, stages: bool = False
) -> Table:
    """The columns behind the system's, a line a row or, of ``stages``, a line a stage of each."""
    lines = [(row, part) for row in rows for part in (row.stages if stages else [""])]
    cells = [[row.label, *(cell(row, part) for _, cell in columns)] for row, part in lines]
    return Table(name, ["system", *(head for head, _ in columns)], cells)


def _amounts(part: str, **names: str) -> list[Column]:
    """Columns of plain figures by head, of one part or, where empty, of the line's own."""
    return [(n.replace("_", " "), partial(_figure, amount, part, of)) for n, of in names.items()]


def _shares(part: str, **names: str) -> list[Column]:
    """The same in per cent."""
    show = partial(number, "")
    heads = {f"{name.replace('_', ' ')} %": of for name, of in names.items()}
    return [(head, partial(_figure, show, part, of)) for head, of in heads.items()]


def _figure(show: Callable[[float], str], part: str, name: str, row: Row, own: str) -> str:
    return show(row.figure(part or own, name))


def _metrics(names: Sequence[str], *, digits: int = 1) -> list[Column]:
    return [(title(name), partial(_mean, name, digits)) for name in names]


def _mean(name: str, digits: int, row: Row, _: str) -> str:
    return mean_text(name, row.metrics.get(name), digits=digits)


def _questions(row: Row, _: str) -> str:
    return f"{row.questions}{f' ({row.failed} failed)' if row.failed else ''}"


def _documents(row: Row, _: str) -> str:
    mean = row.metrics.get("documents_read")
    return amount(mean.value) if mean else "–"


def _calls(row: Row, _: str) -> str:
    llm, encoder = (row.figure("cost", f"{role}_calls") for role in ("llm", "encoder"))
    return "–" if math.isnan(llm) else f"{amount(llm)} + {amount(encoder)}"


def _filter_tokens(row: Row, _: str) -> str:
    return amount(sum(row.figure("cost", f"llm_tokens_{way}") for way in ("in", "out")))


def _results(report: Report, rows: Sequence[Row]) -> list[Column]:
    """Quality, tokens, calls and seconds."""
    return [
        ("n", _questions),
        *_metrics(_measured(report, rows)),
        ("documents read", _documents),
        *_amounts("cost", **{"compression ×": "compression"}),
        ("filter calls", _calls),
        ("filter tokens", _filter_tokens),
        *_amounts("cost", prompt_tokens="generator_tokens_in", p50_s="p50", p95_s="p95"),
    ]


def _measured(report: Report, rows: Sequence[Row]) -> list[str]:
    return [m for m in report.headline if any(m in row.metrics for row in rows)]


def _difference(name: str, row: Row, _: str) -> str:
    return difference_text(name, row.differences.get(name))


def _costs(report: Report) -> list[Column]:
    """Prices of a question, and from where on a filter pays."""

    def pays(row: Row, _: str) -> str:
        filtering = row.figure("cost", "compression") > 1 and row.system != report.baseline
        return break_even_text(row.figure("cost", "break_even")) if filtering else "–"

    return [
        *_amounts("cost", filter_price="filter_price", generator_price="generator_price"),
        ("pays", pays),
        *_amounts("cost", filter_s="filter_seconds", generator_s="generator_seconds"),
        *_amounts("cost", saved_s="saved_seconds", **{"TP /s": "throughput"}),
    ]


def break_even_text(tokens: float) -> str:
    """From how many document tokens on a filter pays: "always", "never", or "from 1,200 tokens"."""
    if math.isnan(tokens):
        return "–"
    if math.isinf(tokens):
        return "never"
    return f"from {tokens:,.0f} tokens" if tokens >= 1 else "always"


def _kind_name(_: Row, part: str) -> str:
    """The name of a part behind its kind, and of a stage behind its place."""
    return part.split(" ", 2 if part.startswith("stage ") else 1)[-1]


def _holding(row: Row, part: str) -> str:
    """Questions whose documents hold an answer, where a stage was watched."""
    held = row.figures[part].get("held")
    return str(held.n) if held else "–"


_STAGES: list[Column] = [
    ("stage", _kind_name),
    *_shares("", answer_held="held", answer_first="first"),
    ("n", _holding),
    *_amounts("", calls="calls", tokens_in="tokens_in", tokens_out="tokens_out", seconds="seconds"),
]
"""Answers that stages let go, and their costs a question."""


def _per(name: str, of: str, row: Row, _: str) -> str:
    total = row.figure("peer", of)
    return number("", row.figure("peer", name) / total if total else math.nan)


_PEERS: list[Column] = [
    ("n", lambda row, _: str(row.figures["peer"]["raised"].n)),
    *_shares("peer", raised="raised"),
    *_amounts("peer", unreadable_replies="unreadable", texts_in="given", texts_out="returned"),
    ("with invented words %", partial(_per, "invented", "returned")),
    ("with repeated words %", partial(_per, "repeated", "returned")),
    ("longer than the input %", partial(_per, "grown", "returned")),
    ("invented words %", partial(_per, "invented_words", "words")),
    ("repeated words %", partial(_per, "repeated_words", "words")),
]
"""Counts of other frameworks' filters: means a question."""


def tables(report: Report, dataset: str) -> list[Table]:
    """Every table of a dataset that has a line."""
    rows, noisy = report.select(dataset), report.select(dataset, noisy=True)
    compared, peers = _compared(rows), [row for row in rows if "peer" in row.figures]
    names = [m for m in report.headline if any(m in row.differences for row in rows)]
    differences: list[Column] = [(title(name), partial(_difference, name)) for name in names]
    everything = [
        _table("Results", rows, _results(report, rows)),
        _table(f"Differences to {report.baseline}", compared, differences),
        _table("Cost and break-even", rows, _costs(report)),
        _table("Answers held and cost by stage", rows, _STAGES, stages=True),
        _table("Output of other frameworks' filters", peers, _PEERS),
        _table("With noise", noisy, _results(report, noisy)),
    ]
    return [table for table in everything if table.cells]


def _compared(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row.differences]


def to_markdown(report: Report) -> str:
    """The report's tables in Markdown, each dataset under its own heading."""
    parts = [f"# {_plain(report.name)}"]
    if sentence := advice(report):
        parts.append(f"\n{_plain(sentence)}\n")
    parts += [f"- {_plain(note)}" for note in report.notes]
    for dataset in report.datasets:
        parts.append(f"\n## {_plain(dataset)}")
        for table in tables(report, dataset):
            parts += [f"\n### {_plain(table.name)}\n", _line(table.heads)]
            parts += ["| --- " * len(table.heads) + "|", *map(_line, table.cells)]
    return "\n".join(parts) + "\n"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(_plain, cells))} |"


def _plain(text: str) -> str:
    """One line that neither breaks a table nor is read as HTML."""
    text = " ".join(text.split()).replace("\\", "\\\\").replace("|", "\\|")
    return text.replace("&", "&amp;").replace("<", "&lt;")


def to_csv(report: Report) -> str:
    """Every figure of every row, a line each; p-values as Holm's method adjusts them.

    Rows with noise name it behind the dataset; figures other than metrics have no difference, and
    the part of their name before it where that is not ``cost``.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in report.rows:
        where = f"{row.dataset} ({row.noise})" if row.noise else row.dataset
        for name, *values in _figures(row):
            texts = [_inert(text) for text in (where, row.system, row.generator, name)]
            values += [""] * (len(COLUMNS) - 4 - len(values))
            writer.writerow([*texts, *("" if v != v else v for v in values)])
    return out.getvalue()


def _figures(row: Row) -> Iterator[list[Any]]:
    """Name, mean, interval, ``n`` and, of metrics, the difference."""
    for name, mean in row.metrics.items():
        d = row.differences.get(name)
        difference = [d.value, d.low, d.high, d.p, d.verdict] if d else []
        yield [name, mean.value, mean.low, mean.high, mean.n, *difference]
    for part, figures in row.figures.items():
        for name, mean in figures.items():
            full = name if part == "cost" else f"{part}: {name}"
            yield [full, mean.value, mean.low, mean.high, mean.n or ""]


def _inert(text: str) -> str:
    """Text that no spreadsheet takes for a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def to_terminal(report: Report) -> RenderableType:
    """The headline, a line a system, 80 columns wide; of the overall rows where there are any."""
    parts: list[RenderableType] = []
    if sentence := advice(report):
        parts.append(Text(f"{sentence}\n", style="bold"))
    for dataset in [OVERALL] if OVERALL in report.datasets else report.datasets:
        shown = _short_tables(report, report.select(dataset))
        parts += [_drawn(dataset, table) for table in shown if table.cells]
    for dataset in report.datasets:
        results, *_ = _short_tables(report, report.select(dataset, noisy=True))
        parts += [_drawn(f"{dataset} with noise", results)] if results.cells else []
    return Group(*parts, *(Text(f"note: {' '.join(note.split())}") for note in report.notes))


def _short_tables(report: Report, rows: Sequence[Row]) -> list[Table]:
    """A dataset's tables in few columns."""
    names = _measured(report, rows)
    verdicts: list[Column] = [(title(m), partial(_verdict, m)) for m in names]
    costs = [
        *_amounts("cost", **{"compression ×": "compression"}),
        ("filter calls", _calls),
        *_amounts("cost", p50_s="p50", filter_s="filter_seconds", generator_s="generator_seconds"),
    ]
    counts: list[Column] = [("n", _questions)] if any(row.failed for row in rows) else []
    return [
        _table("95% intervals", rows, [*counts, *_metrics(names, digits=0)]),
        _table(f"difference to {report.baseline}", _compared(rows), verdicts),
        _table("cost of a question", rows, costs),
    ]


def _verdict(metric: str, row: Row, _: str) -> str:
    d = row.differences.get(metric)
    return f"{number(metric, d.value, signed=True)} {d.verdict}" if d else "–"


def _drawn(dataset: str, table: Table) -> rich_table.Table:
    name = Text(f"{dataset}, {table.name}")
    drawn = rich_table.Table(
        title=name, title_justify="left", box=None, pad_edge=False, title_style="b"
    )
    for head in table.heads:
        drawn.add_column(
            Text(head), justify="left" if head == "system" else "right", overflow="fold"
        )
    for row in table.cells:
        drawn.add_row(*(Text(" ".join(cell.split())) for cell in row))
    return drawn
