"""What a server tells Prometheus."""

from __future__ import annotations

from ragsieve.errors import MissingExtra
from ragsieve.pipeline import Result
from ragsieve.server.work import Work

try:
    from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
except ModuleNotFoundError as error:
    raise MissingExtra(error.name or "prometheus_client", extra="serve") from error

_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Metrics:
    """Counts of one application.

    Args:
        work: Whose queue is told.
    """

    def __init__(self, work: Work) -> None:
        registry = self._registry = CollectorRegistry()
        labels = ("path", "status")
        self._requests = Counter("ragsieve_requests", "Requests.", labels, registry=registry)
        self._seconds = Histogram(
            "ragsieve_request_seconds",
            "Seconds from a request's head to its reply's end.",
            ("path",),
            registry=registry,
            buckets=_BUCKETS,
        )
        running = Gauge("ragsieve_running", "Requests that have a thread.", registry=registry)
        running.set_function(lambda: work.running)
        waiting = Gauge("ragsieve_waiting", "Requests that wait for one.", registry=registry)
        waiting.set_function(lambda: work.waiting)
        self._documents = Counter("ragsieve_documents", "Documents.", registry=registry)
        self._tokens = Counter(
            "ragsieve_context_tokens",
            "Tokens of the context before and after the filter.",
            ("when",),
            registry=registry,
        )
        self._calls = Counter("ragsieve_model_calls", "Items of model calls.", registry=registry)
        self._read = Counter(
            "ragsieve_model_tokens",
            "Tokens that models have read and written.",
            ("kind",),
            registry=registry,
        )
        self._skipped = Counter(
            "ragsieve_stage_failures", "Stages that failed and were skipped.", registry=registry
        )
        self._errors = Counter("ragsieve_errors", "Replies of 4xx and 5xx.", registry=registry)

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
        for step in result.trace.steps:
            paid = [usage for usage in step.usages if not usage.cached]
            self._calls.inc(len(paid))
            self._read.labels("read").inc(sum(usage.tokens_in for usage in paid))
            self._read.labels("written").inc(sum(usage.tokens_out for usage in paid))
            self._skipped.inc(bool(step.error))

    @property
    def text(self) -> bytes:
        """All counts in Prometheus' text format."""
        return generate_latest(self._registry)
