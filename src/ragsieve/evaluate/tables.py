"""A report as text: Markdown, CSV, JSON, and tables for the terminal."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ragsieve.evaluate.advice import advice
from ragsieve.evaluate.figures import amount, difference_text, mean_text, number, title
from ragsieve.evaluate.report import OVERALL, Report, Row
from ragsieve.evaluate.stats import Mean
from ragsieve.evaluate.winnowing import Winnowing

_MEAN = ("metric", "value", "low", "high", "n")
_DIFFERENCE = ("difference", "diff_low", "diff_high", "p", "verdict")
COLUMNS = ("dataset", "system", "generator", *_MEAN, *_DIFFERENCE)
_UNKNOWN = Mean(math.nan, math.nan, math.nan, 0)


def break_even_text(tokens: float) -> str:
    """From which prompt length on a filter pays: "always", "never", or "from 1,200 tokens"."""
    if math.isnan(tokens):
        return "–"
    if math.isinf(tokens):
        return "never"
    return f"from {tokens:,.0f} tokens" if tokens >= 1 else "always"


def headline(report: Report, dataset: str) -> tuple[list[str], list[list[str]]]:
    """Heads and cells of a dataset's first table: quality, tokens, calls and seconds."""
    rows = report.select(dataset)
    names = [m for m in report.headline if any(m in row.metrics for row in rows)]
    several = any(row.generator for row in rows)
    heads = ["system", *(["generator"] if several else []), "n"]
    heads += [title(name) for name in names]
    heads += ["compression ×", "filter calls", "filter tokens", "prompt tokens", "p50 s", "p95 s"]
    return heads, [[*_who(row, several), *_cells(row, names)] for row in rows]


def _who(row: Row, several: bool) -> list[str]:
    failed = f" ({row.failed} failed)" if row.failed else ""
    return [row.system, *([row.generator] if several else []), f"{row.questions}{failed}"]


def _cells(row: Row, names: Sequence[str]) -> list[str]:
    c = row.cost
    shown = [mean_text(n, row.metrics[n]) if n in row.metrics else "–" for n in names]
    known = not math.isnan(c.llm_calls)
    calls = f"{amount(c.llm_calls)} + {amount(c.encoder_calls)}" if known else "–"
    costs = [amount(c.compression), calls, amount(c.llm_tokens_in + c.llm_tokens_out)]
    return [*shown, *costs, amount(c.generator_tokens_in), amount(c.p50), amount(c.p95)]


def differences(report: Report, dataset: str) -> tuple[list[str], list[list[str]]]:
    """Heads and cells of a dataset's comparisons with the baseline; no cells where none."""
    rows = [row for row in report.select(dataset) if row.differences]
    names = [m for m in report.headline if any(m in row.differences for row in rows)]
    cells = [
        [
            row.label,
            *(
                difference_text(m, row.differences[m]) if m in row.differences else "–"
                for m in names
            ),
        ]
        for row in rows
    ]
    return ["system", *(title(name) for name in names)], cells


def costs(report: Report, dataset: str) -> tuple[list[str], list[list[str]]]:
    """Heads and cells of what a question costs, and from where on a filter pays."""
    heads = ["system", "filter price", "generator price", "pays", "filter s", "generator s"]
    heads += ["saved s", "questions/s", "outside models %"]
    cells = []
    for row in report.select(dataset):
        c = row.cost
        filtering = c.compression > 1 and row.system != report.baseline
        parts = [amount(c.filter_price), amount(c.generator_price)]
        parts += [break_even_text(c.break_even) if filtering else "–"]
        parts += [amount(v) for v in (c.filter_seconds, c.generator_seconds, c.saved_seconds)]
        cells.append([row.label, *parts, amount(c.throughput), number("", c.outside)])
    return heads, cells


def presence(report: Report, dataset: str) -> tuple[list[str], list[list[str]]]:
    """Heads and cells of where answers got lost, stage by stage."""
    heads = ["system", "stage", "answer held %", "answer first %", "n"]
    return heads, [
        [row.label, s.stage, number("", s.held), number("", s.hit1), str(s.n)]
        for row in report.select(dataset)
        for s in row.presence
    ]


def stages(report: Report, dataset: str) -> tuple[list[str], list[list[str]]]:
    """Heads and cells of what each stage costs a question."""
    heads = ["system", "stage", "calls", "tokens in", "tokens out", "seconds"]
    return heads, [
        [row.label, s.stage, *map(amount, (s.calls, s.tokens_in, s.tokens_out, s.seconds))]
        for row in report.select(dataset)
        for s in row.stages
    ]


def peers(report: Report, dataset: str) -> tuple[list[str], list[list[str]]]:
    """Heads and cells of what other frameworks' filters gave back; sums over the questions."""
    heads = ["system", "n", "raised", "unreadable replies", "texts given", "given back"]
    heads += ["with invented words %", "with repeated words %", "longer than given %"]
    heads += ["invented words %", "repeated words %"]
    cells = []
    for row in report.select(dataset):
        if found := row.returned:
            counts = (found.questions, found.raised, found.unreadable, found.given, found.returned)
            shares = [_share(n, found.returned) for n in (found.invented, found.repeated)]
            shares += [_share(found.grown, found.returned)]
            shares += [_share(n, found.words) for n in (found.invented_words, found.repeated_words)]
            cells.append([row.label, *(f"{n:,}" for n in counts), *shares])
    return heads, cells


def _share(part: int, whole: int) -> str:
    return number("", part / whole if whole else math.nan)


def noise(report: Report, dataset: str) -> tuple[list[str], list[list[str]]]:
    """Heads and cells of a dataset's rows with noise."""
    rows = report.select(dataset, noisy=True)
    names = [m for m in report.headline if any(m in row.metrics for row in rows)]
    heads = ["noise", "system", "n", *(title(name) for name in names)]
    return heads, [
        [
            str(row.noise),
            row.label,
            str(row.questions),
            *(mean_text(m, row.metrics[m]) if m in row.metrics else "–" for m in names),
        ]
        for row in rows
    ]


def merging(report: Report, dataset: str) -> tuple[list[str], list[list[str]]]:
    """Heads and cells of what merging keeps; a good one keeps more of what holds an answer."""
    heads = ["system", "merging", "merges a question", "documents merged"]
    heads += ["holding an answer", "kept %", "holding none", "kept %", "difference"]
    cells = []
    for who, told in _told(report, dataset):
        for kind in told.merging:
            gain = (kind.gain.value, kind.gain.low, kind.gain.high)
            cells.append(
                [
                    *(who, kind.by, amount(kind.merges), amount(kind.documents)),
                    *(f"{kind.n_holding:,}", mean_text("", kind.holding)),
                    *(f"{kind.n_others:,}", mean_text("", kind.others)),
                    "{} [{}, {}]".format(*(number("", v, signed=True) for v in gain)),
                ]
            )
    return heads, cells


def endings(report: Report, dataset: str) -> tuple[list[str], list[list[str]]]:
    """Heads and cells of how long questions are winnowed and what is left: means a question."""
    heads = [
        "system",
        "n",
        "rounds",
        "unreadable",
        "agents at first",
        "with unlike answers",
        "at the end",
    ]
    heads += ["behind the answer", "documents behind it"]
    return heads, [
        [who, str(told.questions), *map(amount, told.counts.values())]
        for who, told in _told(report, dataset)
    ]


def reasons(report: Report, dataset: str) -> tuple[list[str], list[list[str]]]:
    """Heads and cells of why answers stand, the most common reason of a system first."""
    return ["system", "reason", "share %"], [
        [who, reason, number("", share)]
        for who, told in _told(report, dataset)
        for reason, share in told.ends.items()
    ]


def _told(report: Report, dataset: str) -> list[tuple[str, Winnowing]]:
    """Rows whose records tell stories, those with noise behind the others."""
    rows = [*report.select(dataset), *report.select(dataset, noisy=True)]
    names = [f"{row.label} ({row.noise})" if row.noise else row.label for row in rows]
    return [(n, row.winnowing) for n, row in zip(names, rows, strict=True) if row.winnowing]


def sections(report: Report, dataset: str) -> list[tuple[str, list[str], list[list[str]]]]:
    """Every table of a dataset that has a row: its title, heads and cells."""
    against = f"Differences to {report.baseline}"
    tables = [
        ("Results", *headline(report, dataset)),
        (against, *differences(report, dataset)),
        ("Cost and break-even", *costs(report, dataset)),
        ("Cost by stage", *stages(report, dataset)),
        ("What other frameworks' filters give back", *peers(report, dataset)),
        ("Answers held by stage", *presence(report, dataset)),
        ("What merging keeps", *merging(report, dataset)),
        ("How questions end", *endings(report, dataset)),
        ("Why answers stand", *reasons(report, dataset)),
        ("With noise", *noise(report, dataset)),
    ]
    return [table for table in tables if table[2]]


def to_markdown(report: Report) -> str:
    """The report's tables in Markdown, each dataset under its own heading."""
    parts = [f"# {_plain(report.name)}"]
    if sentence := advice(report):
        parts.append(f"\n{_plain(sentence)}\n")
    parts += [f"- {_plain(note)}" for note in report.notes]
    for dataset in report.datasets:
        parts.append(f"\n## {_plain(dataset)}")
        for name, heads, cells in sections(report, dataset):
            parts += [f"\n### {_plain(name)}\n", _line(heads), _line(["---"] * len(heads))]
            parts += [_line(row) for row in cells]
    return "\n".join(parts) + "\n"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(_plain, cells))} |"


def _plain(text: str) -> str:
    """One line that neither breaks a table nor is read as HTML."""
    text = " ".join(text.split()).replace("\\", "\\\\").replace("|", "\\|")
    return text.replace("&", "&amp;").replace("<", "&lt;") if text != "---" else text


def to_csv(report: Report) -> str:
    """All metrics of all rows, a line each; p-values as Holm's method adjusts them.

    Rows with noise name it behind the dataset; costs have a value only.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in report.rows:
        where = f"{row.dataset} ({row.noise})" if row.noise else row.dataset
        who = [_inert(text) for text in (where, row.system, row.generator)]
        for name, mean in row.metrics.items():
            found = row.differences.get(name)
            diff = [found.value, found.low, found.high, found.p, found.verdict] if found else []
            values = [mean.value, mean.low, mean.high, mean.n, *diff]
            writer.writerow([*who, _inert(name), *map(_known, values), *[""] * (5 - len(diff))])
        for name, value in asdict(row.cost).items():
            writer.writerow([*who, name, _known(value), *[""] * 8])
        for name, mean in _means(row.winnowing) if row.winnowing else ():
            values = [mean.value, mean.low, mean.high, mean.n]
            writer.writerow([*who, _inert(name), *map(_known, values), *[""] * 5])
    return out.getvalue()


def _means(told: Winnowing) -> Iterator[tuple[str, Mean]]:
    """What winnowing did as metrics by name; ``n`` of a share kept is its documents."""

    def plain(value: float) -> Mean:
        return Mean(value, math.nan, math.nan, told.questions)

    for kind in told.merging:
        yield f"{kind.by}_merges", plain(kind.merges)
        yield f"{kind.by}_documents", plain(kind.documents)
        yield f"{kind.by}_kept_holding", replace(kind.holding, n=kind.n_holding)
        yield f"{kind.by}_kept_others", replace(kind.others, n=kind.n_others)
        yield f"{kind.by}_gain", replace(kind.gain, n=kind.n_holding + kind.n_others)
    for name, value in told.counts.items():
        yield f"story_{name}", plain(value)
    for end, share in told.ends.items():
        yield f"story_end: {end}", plain(share)


def _known(value: Any) -> Any:
    return "" if isinstance(value, float) and math.isnan(value) else value


def _inert(text: str) -> str:
    """Text that no spreadsheet takes for a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def to_json(report: Report) -> str:
    """Everything in the report; null where a number is not known, "never" where it never pays."""
    values = asdict(report)
    return json.dumps(_json(values), ensure_ascii=False, indent=1) + "\n"


def _json(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): _json(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_json(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "never"
    return value


def to_terminal(report: Report) -> RenderableType:
    """The headline, a line a system, 80 columns wide; of the overall rows where there are any."""
    datasets = [OVERALL] if OVERALL in report.datasets else report.datasets
    parts = [part for name in datasets for part in _clean(report, name)]
    for dataset in report.datasets:
        if rows := report.select(dataset, noisy=True):
            names = [m for m in report.headline if any(m in row.metrics for row in rows)]
            names = [m for m in names if m in (names[0], "answer_present", "tokens_kept")]
            heads = ["noise", "system", *map(title, names)]
            cells = [[str(row.noise), *_short(row, names)] for row in rows]
            parts.append(_table(f"{dataset} with noise, 95% intervals", heads, cells))
    notes = [Text(f"note: {' '.join(note.split())}") for note in report.notes]
    first = [Text(f"{sentence}\n", style="bold")] if (sentence := advice(report)) else []
    return Group(*first, *parts, *notes)


def _clean(report: Report, dataset: str) -> list[RenderableType]:
    """A dataset's tables without noise."""
    rows = report.select(dataset)
    if not rows:
        return []
    names = [m for m in report.headline if any(m in row.metrics for row in rows)]
    heads = ["system", *map(title, names)]
    parts = [_table(f"{dataset}, 95% intervals", heads, [_short(row, names) for row in rows])]
    if compared := [[row.label, *_verdicts(row, names)] for row in rows if row.differences]:
        parts.append(_table(f"{dataset}, difference to {report.baseline}", heads, compared))
    _, lines = costs(report, dataset)
    heads = ["system", "compression", "filter calls", "p50 s", "filter s", "generator s"]
    spent = [_spent(row, line) for row, line in zip(rows, lines, strict=True)]
    return [*parts, _table(f"{dataset}, cost of a question", heads, spent)]


def _short(row: Row, names: Sequence[str]) -> list[str]:
    """A row's means with intervals in whole per cent."""
    failed = f" ({row.failed} failed)" if row.failed else ""
    cells = [
        "{} [{}, {}]".format(*(number(n, v, digits=0) for v in (m.value, m.low, m.high)))
        for n, m in ((n, row.metrics.get(n, _UNKNOWN)) for n in names)
    ]
    return [row.label + failed, *cells]


def _verdicts(row: Row, names: Sequence[str]) -> list[str]:
    found = [row.differences.get(name) for name in names]
    return [
        f"{number(n, d.value, signed=True)} {d.verdict}" if d else "–"
        for n, d in zip(names, found, strict=True)
    ]


def _spent(row: Row, line: Sequence[str]) -> list[str]:
    c = row.cost
    calls = "–" if math.isnan(c.llm_calls) else f"{amount(c.llm_calls)}+{amount(c.encoder_calls)}"
    return [row.label, f"{amount(c.compression)}×", calls, amount(c.p50), *line[4:6]]


def _table(name: str, heads: Sequence[str], cells: Sequence[Sequence[str]]) -> Table:
    table = Table(title=Text(name), title_justify="left", box=None, pad_edge=False, title_style="b")
    for head in heads:
        named = head in ("noise", "system")
        table.add_column(Text(head), justify="left" if named else "right", overflow="fold")
    for row in cells:
        table.add_row(*(Text(" ".join(cell.split())) for cell in row))
    return table
