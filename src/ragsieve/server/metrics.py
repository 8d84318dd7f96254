"""Metrics of a server for Prometheus."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from ragsieve.result import Result
from ragsieve.server.work import Work

_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Metrics:
    """Counts of one application.

    Args:
        work: Whose queue is measured.
    """

    def __init__(self, work: Work) -> None:
        self._registry = CollectorRegistry()
        self._requests = self._counter("requests", "Requests.", "path", "status")
        self._seconds = Histogram(
            "ragsieve_request_seconds",
            "Seconds from a request's head to its reply's end.",
            ("path",),
            registry=self._registry,
            buckets=_BUCKETS,
        )
        self._gauge("running", "Requests that have a thread.", lambda: work.running)
        self._gauge("waiting", "Requests that wait for one.", lambda: work.waiting)
        self._documents = self._counter("documents", "Documents.")
        context = "Tokens of the context before and after the filter."
        self._tokens = self._counter("context_tokens", context, "when")
        self._calls = self._counter("model_calls", "Items of model calls.")
        read = "Tokens that models have read and written."
        self._read = self._counter("model_tokens", read, "kind")
        failures = "Stages that failed and were skipped."
        self._skipped = self._counter("stage_failures", failures)
        self._errors = self._counter("errors", "Replies of 4xx and 5xx.")

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"ragsieve_{name}", text, labels, registry=self._registry)

    def _gauge(self, name: str, text: str, value: Callable[[], float]) -> None:
        Gauge(f"ragsieve_{name}", text, registry=self._registry).set_function(value)

    def ended(self, path: str, status: int, seconds: float) -> None:
        """A request has been answered."""
        self._requests.labels(path, str(status)).inc()
        self._seconds.labels(path).observe(seconds)
        if status >= 400:
            self._errors.inc()

    def ran(self, result: Result) -> None:
        """A system has run."""
        self._documents.inc(len(result.documents))
        self._tokens.labels("before").inc(result.tokens.before)
        self._tokens.labels("after").inc(result.tokens.after)
        costs = result.costs
        self._calls.inc(costs["calls"] + costs["embedded"])
        self._read.labels("read").inc(costs["tokens_in"])
        self._read.labels("written").inc(costs["tokens_out"])
        self._skipped.inc(sum(bool(step.error) for step in result.trace.steps))

    @property
    def text(self) -> bytes:
        """All counts in Prometheus' text format."""
        return generate_latest(self._registry)
