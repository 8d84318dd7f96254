"""Warnings against misreading a report."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

from ragsieve.text import counted
from ragsieve_research.evaluate.records import RecordTable


def report_notes(cells: Sequence[RecordTable], base: str, overall: Set[str]) -> Iterator[str]:
    """One line each.

    Args:
        cells: All of a report.
        base: The baseline; empty where there is none.
        overall: Datasets that the overall rows are over; empty where there are no such rows.
    """
    unfinished = [cell for cell in cells if len(cell.keys) < cell.expected]
    names = [
        f"{c.system} on {c.dataset}{f' ({c.noise})' if c.noise else ''} "
        f"({len(c.keys)} of {counted(c.expected, 'question')})"
        for c in unfinished
    ]
    if names:
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        yield f"Unfinished: {', '.join(names[:5])}{more}"
    if failed := count(cells, "failed"):
        total = sum(len(cell.keys) for cell in cells)
        yield f"{failed} of {counted(total, 'answer')} failed: {_where(cells, 'failed')}"
    if warned := count(cells, "warned"):
        where = _where(cells, "warned")
        yield f"{counted(warned, 'answer')} came with warnings, which their records tell: {where}"
    if unread := count(cells, "unread"):
        where = _where(cells, "unread")
        yield f"{counted(unread, 'answer')} had a model's reply that could not be read: {where}"
    if cut := count(cells, "overflowed"):
        small = sorted({c.generator for c in cells if count([c], "overflowed")} - {""})
        yield (
            f"{counted(cut, 'answer')} read less than was kept, as the context of "
            f"{', '.join(small) or 'the generator'} is too small: {_where(cells, 'overflowed')}"
        )
    if not base:
        yield "No baseline is named, so no system is compared with another"
    if untimed := sorted({c.system for c in cells if not len(c.known("cost", "seconds"))}):
        yield f"Not measured for latency everywhere: {', '.join(untimed)}"
    if overall and (left := sorted({c.dataset for c in cells} - overall)):
        yield f"Not every system was asked {', '.join(left)}: left out of the overall rows"


def documents_notes(headers: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """What is to be known of the documents of runs: without any, ranked by us, other noise."""
    about = [one for header in headers for one in (header.get("datasets") or {}).items()]
    named = {one.get("label") or name: one for name, one in about if one}
    without = {name: n for name, one in named.items() if (n := one.get("without_documents"))}
    if lacking := [
        f"{n:,} of {named[name]['questions']:,} in {name}" for name, n in without.items()
    ]:
        yield f"Questions without documents: {', '.join(lacking)}"
    if ranked := [name for name, one in named.items() if one.get("ranked")]:
        yield f"Documents ranked by BM25 before any system reads them: {', '.join(ranked)}"
    shares = {name: one.get("noise_share") for name, one in named.items()}
    if reached := [f"{v:.0%} in {name}" for name, v in shares.items() if v is not None]:
        where = "Share of noise where limits, too few documents or rounding change it"
        yield f"{where}: {', '.join(reached)}"


def unable_notes(headers: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """One line for each reason why cells of runs did not run, or ended early."""
    reasons: dict[str, list[str]] = {}
    for header in headers:
        for cell in header.get("unable") or ():
            name = f"{cell.get('system')} on {cell.get('dataset')} with {cell.get('generator')}"
            reasons.setdefault(str(cell.get("why")), []).append(name)
    for why, names in reasons.items():
        yield f"Not run to the end: {', '.join(names)}: {why}"


def _where(cells: Sequence[RecordTable], name: str) -> str:
    return ", ".join(sorted({cell.system for cell in cells if count([cell], name)}))


def count(cells: Sequence[RecordTable], name: str) -> int:
    """Questions of all cells that ``failed``, ``overflowed``, were ``warned`` of, or ``unread``."""
    return int(sum(cell.known("cost", name).sum() for cell in cells))
