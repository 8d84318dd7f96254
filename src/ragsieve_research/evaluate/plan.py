"""Estimate the cost of a run from a sample of its questions."""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ragsieve.errors import InputError
from ragsieve.run.batch import stream
from ragsieve.run.questions import lines, parse_record
from ragsieve.schema import read
from ragsieve.system import System
from ragsieve.types import Example
from ragsieve_research.evaluate.cost import break_even, costed_trace
from ragsieve_research.evaluate.prices import Prices
from ragsieve_research.evaluate.records import Record, by_role, writers_of
from ragsieve_research.evaluate.stats import Values

_WARM = ("Is the sky blue?", ("The sky is blue. Grass is green.",))


@dataclass(frozen=True)
class Estimate:
    """A sum over all questions; ``margin`` is half of its 95% interval."""

    value: float
    margin: float


@dataclass(frozen=True)
class Plan:
    """The estimated cost of a run.

    Args:
        questions: Questions of the file.
        unreadable: Lines that are none; they are left out.
        asked: Questions of the sample.
        failed: Those of them that failed; they are left out.
        costs: Sums by name: ``llm_calls``, ``llm_tokens_in`` and ``llm_tokens_out`` of the filter's
            LLMs, the same of ``encoder`` (models that write nothing) and of the ``generator``;
            ``tokens_before`` and ``tokens_after`` of its context; ``seconds`` of the run, without
            those that models take to load.
        prices: Of a million tokens.
        break_even: Document tokens of a question from which on the filter costs less than it
            saves; 0: always, infinite: never, nan: unknown.
    """

    questions: int
    unreadable: int
    asked: int
    failed: int
    costs: Mapping[str, Estimate]
    prices: Prices
    break_even: float

    def price(self, role: str) -> float:
        """Of the filter's ``"llm"``, of the ``"generator"``, or of one that reads ``"all"``."""
        own = {name: np.asarray(one.value) for name, one in self.costs.items()}
        if role == "llm":
            return float(self.prices.filter(own["llm_tokens_in"], own["llm_tokens_out"]) / 1e6)
        more = own["tokens_before"] - own["tokens_after"] if role == "all" else 0
        tokens_in = own["generator_tokens_in"] + more
        return float(self.prices.generator(tokens_in, own["generator_tokens_out"]) / 1e6)

    def to_dict(self) -> dict[str, Any]:
        """JSON values; a break-even that is infinite or unknown is None."""
        known = self.break_even if math.isfinite(self.break_even) else None
        price = {role: self.price(role) for role in ("llm", "generator", "all")}
        return {**asdict(self), "break_even": known, "price": price}


def plan(
    system: System,
    source: Path,
    *,
    sample: int = 50,
    workers: int = 16,
    prices: Prices | None = None,
) -> Plan:
    """Ask some questions of a file, and estimate what all of them will cost.

    The questions are put in order of the length of their documents, and every k-th is asked. What
    a question costs is taken as linear in that length, which is known of all.

    Args:
        system: What will run; the sample costs what it costs. Where it has a source, that finds
            the documents.
        source: JSONL; see `ragsieve.run.questions.parse_record`.
        sample: Questions to ask, at least 2; all where there are fewer.
        workers: Questions at once, as in the run to come; at least 1.
        prices: Of tokens; those of `Prices` where None.

    Raises:
        InputError: If an option breaks its rule, or fewer than 2 questions were answered.

    Source: The regression estimator of a total: W. G. Cochran, Sampling Techniques (1977), ch. 7.
    """
    if sample < 2 or workers < 1:
        raise InputError(f"sample must be at least 2, workers 1, got {sample!r} and {workers!r}")
    prices = prices or Prices()
    sizes, unreadable = _sizes(source)
    chosen = _spread(sizes, sample)
    asked = [line for number, line in lines(source) if number in {*chosen}]
    system.ask(*_WARM)  # loads the models

    def one(example: Example) -> dict[str, Any]:
        result = system.ask(example.query, None if system.source else example.documents)
        values = {"answer": "", "tokens": asdict(result.tokens), "trace": costed_trace(result)}
        return {**values, "seconds": sum(step.seconds for step in result.trace.steps)}

    began = time.perf_counter()
    done = [*stream(asked, one, workers=workers)]
    seconds = time.perf_counter() - began
    records = {chosen[one.line - 1]: read(Record, one.record) for one in done if not one.error}
    if len(records) < 2:
        why = next((f": {one.error}" for one in done if one.error), "")
        rule = f"{source} must have 2 questions that are answered, got {len(records)}"
        raise InputError(f"{rule}, and {unreadable} lines that cannot be read{why}")
    columns = _columns([*records.values()])
    x = np.array([sizes[number] for number in records], np.float64)
    every = np.array([*sizes.values()], np.float64)
    columns["seconds"] *= seconds / max(columns["seconds"].sum(), 1e-9)  # some at once
    costs = {name: estimated(x, values, every) for name, values in columns.items()}
    pays = _break_even(columns, prices)
    return Plan(len(sizes), unreadable, len(done), len(done) - len(x), costs, prices, pays)


def estimated(x: Values, y: Values, every: Values) -> Estimate:
    """The sum of ``y`` over all questions, from a sample.

    Args:
        x: Lengths of the sample's questions, ``(n,)``.
        y: What each of them costs, ``(n,)``.
        every: Lengths of all questions, ``(N,)``.
    """
    n, population = len(x), len(every)
    slope = float(np.cov(x, y)[0, 1] / x.var(ddof=1)) if np.ptp(x) else 0.0
    value = population * max(float(y.mean() + slope * (every.mean() - x.mean())), 0.0)
    residuals = y - y.mean() - slope * (x - x.mean())
    variance = float(residuals @ residuals) / max(n - 2, 1) * (1 - n / population) / n
    return Estimate(value, 1.96 * population * math.sqrt(variance))


def _sizes(source: Path) -> tuple[dict[int, int], int]:
    """Characters of documents by line, and how many lines are no question."""
    sizes, unreadable = {}, 0
    for number, line in lines(source):
        try:
            documents = parse_record(line).documents
        except InputError:
            unreadable += 1
            continue
        sizes[number] = sum(len(document.text) for document in documents)
    return sizes, unreadable


def _spread(sizes: Mapping[int, int], sample: int) -> list[int]:
    """Numbers of lines, in order, spread evenly over those in order of their sizes."""
    ranked = sorted(sizes, key=lambda number: (sizes[number], number))
    count = min(sample, len(ranked))
    return sorted(ranked[(2 * k + 1) * len(ranked) // (2 * count)] for k in range(count))


def _columns(records: Sequence[Record]) -> dict[str, Values]:
    """A value a question, by the name of the cost."""
    writers = writers_of(records)
    rows = [{name: value for (_, name), value in by_role(r, writers).items()} for r in records]
    for row, record in zip(rows, records, strict=True):
        tokens = record.tokens
        row |= {"tokens_before": tokens.before, "tokens_after": tokens.after} if tokens else {}
        row["seconds"] = record.seconds or 0.0
    return {name: np.array([row[name] for row in rows], np.float64) for name in rows[0]}


def _break_even(columns: Mapping[str, Values], prices: Prices) -> float:
    before, after = columns["tokens_before"], columns["tokens_after"]
    spent = prices.filter(columns["llm_tokens_in"], columns["llm_tokens_out"])
    kept = float(after.sum() / before.sum()) if before.any() else math.nan
    return break_even(before[before > 0], spent[before > 0], kept, prices.price_in)
