"""OpenTelemetry: a span for each search, stage and answer."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

from ragsieve.errors import needs_extra
from ragsieve.trace import Step, observe

with needs_extra("opentelemetry"):
    from opentelemetry import trace
    from opentelemetry.trace import SpanKind, StatusCode

_OPERATIONS = {"source": "retrieval", "reader": "chat"}


def instrument(tracer: trace.Tracer | None = None, *, content: bool = False) -> Callable[[], None]:
    """Open a span around every source, stage and reader of this process.

    Spans follow the conventions for generative AI: ``retrieval SOURCE``, ``chat MODEL``, and
    ``ragsieve STAGE``, with models, tokens, calls and segments in and out as attributes; a stage
    that failed and was skipped has the status ``ERROR``. They are children of the caller's span.

    Args:
        tracer: Where spans go; by default the global provider's tracer ``ragsieve``.
        content: Whether spans hold the texts that were kept and those that were dropped, with
            their reasons: documents may be confidential.

    Returns:
        A function that ends it; it may be called again.
    """
    spans = tracer or trace.get_tracer("ragsieve", version("ragsieve"))

    @contextmanager
    def around(step: Step) -> Iterator[None]:
        kind = SpanKind.CLIENT if step.kind == "reader" else SpanKind.INTERNAL
        with spans.start_as_current_span(_stage(step), kind=kind) as span:
            try:
                yield
            finally:
                span.update_name(_name(step))
                span.set_attributes(_attributes(step))
                if content:
                    span.set_attributes(_texts(step))
                if step.error:
                    span.set_status(StatusCode.ERROR, step.error)

    return observe(around)


def _stage(step: Step) -> str:
    return step.stage.removeprefix("<function ").partition("(")[0].partition(" ")[0]


def _models(step: Step) -> list[str]:
    return list(dict.fromkeys(usage.model for usage in step.usages))


def _name(step: Step) -> str:
    about = _models(step)[:1] if step.kind == "reader" else []
    return " ".join([_OPERATIONS.get(step.kind, "ragsieve"), *(about or [_stage(step)])])


def _attributes(step: Step) -> dict[str, Any]:
    cost = step.to_dict()
    tokens = {"input": cost["tokens_in"], "output": cost["tokens_out"]}
    values = {f"gen_ai.usage.{way}_tokens": count for way, count in tokens.items()}
    for name in ("stage", "calls", "embedded", "cached", "segments_in", "segments_out"):
        values[f"ragsieve.{name.replace('_', '.')}"] = cost[name]
    if operation := _OPERATIONS.get(step.kind):
        values["gen_ai.operation.name"] = operation
    if models := _models(step):
        values["gen_ai.request.model"] = ", ".join(models)
    if step.answerable is not None:
        values["ragsieve.answerable"] = step.answerable
    return values


def _texts(step: Step) -> dict[str, list[str]]:
    return {
        "ragsieve.kept": [segment.text for segment in step.after],
        "ragsieve.dropped": [drop.segment.text for drop in step.dropped],
        "ragsieve.reasons": [drop.reason for drop in step.dropped],
    }
