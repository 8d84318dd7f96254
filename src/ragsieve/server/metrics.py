"""Metrics of a server for Prometheus."""

from typing import Any

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
        own: dict[str, Any] = {"namespace": "ragsieve", "registry": self._registry}
        self._requests = Counter("requests", "Requests.", ("path", "status"), **own)
        seconds = "Seconds from a request's head to its reply's end."
        self._seconds = Histogram("request_seconds", seconds, ("path",), buckets=_BUCKETS, **own)
        Gauge("running", "Requests that have a thread.", **own).set_function(lambda: work.running)
        Gauge("waiting", "Requests that wait for one.", **own).set_function(lambda: work.waiting)
        self._documents = Counter("documents", "Documents.", **own)
        context = "Tokens of the context before and after the filter."
        self._tokens = Counter("context_tokens", context, ("when",), **own)
        self._calls = Counter("model_calls", "Items of model calls.", **own)
        read = "Tokens that models have read and written."
        self._read = Counter("model_tokens", read, ("kind",), **own)
        self._skipped = Counter("stage_failures", "Stages that failed and were skipped.", **own)
        self._errors = Counter("errors", "Replies of 4xx and 5xx.", **own)

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
