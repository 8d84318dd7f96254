"""`/v1/filter`, `/v1/answer`, `/v1/inspect`, `/v1/rerank` and what there is to ask."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from typing import Any

from fastapi import APIRouter
from starlette.responses import Response, StreamingResponse

from ragsieve.inspector import view
from ragsieve.pipeline import Result, System
from ragsieve.server import shapes
from ragsieve.server.faults import Fault, as_json, fault_of, json_response
from ragsieve.server.ranking import ranked
from ragsieve.server.service import Service, plain, result_dict, telling
from ragsieve.server.strict import StrictRoute

REFUSALS: dict[int | str, dict[str, Any]] = {
    code: {"model": shapes.ErrorOut, "description": why}
    for code, why in {
        400: "The request is not what HTTP or JSON is.",
        401: "No token, or an unknown one.",
        408: "The body comes too slowly.",
        413: "The body, the documents or their tokens are over a limit.",
        422: "A field breaks its rule.",
        429: "One client has too many requests inside; see Retry-After.",
        500: "A fault of the server.",
        502: "A model or a source failed.",
        503: "Too many are waiting, or the time is over; see Retry-After.",
    }.items()
}


def api(service: Service) -> APIRouter:
    """The routes that run systems."""
    router = APIRouter(route_class=StrictRoute, responses=REFUSALS)

    @router.get("/v1/systems", response_model=shapes.SystemsOut)
    async def systems() -> Response:
        """Systems that are served, the default first."""
        return json_response({"systems": service.summaries()})

    @router.post("/v1/filter", response_model=shapes.FilterOut)
    async def filter_(asked: shapes.FilterIn) -> Response:
        """Keep what matters of the documents: verbatim spans, and why every other one went."""
        name, system = _system(service, asked)
        documents = plain(asked.documents)
        service.check_documents(documents)
        return await service.work.run(
            lambda: json_response(
                result_dict(service.run(system, asked.query, documents), name, trace=asked.trace)
            )
        )

    @router.post("/v1/answer", response_model=shapes.AnswerOut)
    async def answer(asked: shapes.AnswerIn) -> Response:
        """Answer from what matters of the documents; with ``stream`` as server-sent events."""
        name, system = _system(service, asked)
        documents = plain(asked.documents)
        service.check_documents(documents)
        if asked.stream:
            return _streamed(service, name, system, asked)

        def work() -> Response:
            result = service.run(system, asked.query, documents, ask=True)
            return json_response(result_dict(result, name, trace=asked.trace))

        return await service.work.run(work)

    _inspect(router, service)
    _rerank(router, service)
    return router


def _inspect(router: APIRouter, service: Service) -> None:
    @router.post("/v1/inspect", response_model=shapes.ViewsOut)
    async def inspect(asked: shapes.InspectIn) -> Response:
        """What one or two systems keep and drop, as the inspector's page shows it."""
        chosen = [(name, service.systems[service.named(name)]) for name in asked.systems]
        documents = plain(asked.documents)
        service.check_documents(documents)

        def work() -> Response:
            views = []
            for name, system in chosen:
                result = service.run(system, asked.query, documents, ask=asked.ask)
                views.append(view(result, name, reader=system.reader))
            return json_response({"views": views})

        return await service.work.run(work)


def _rerank(router: APIRouter, service: Service) -> None:
    @router.post("/v2/rerank", response_model=shapes.RerankOut, include_in_schema=False)
    @router.post("/rerank", response_model=shapes.RerankOut, include_in_schema=False)
    @router.post("/v1/rerank", response_model=shapes.RerankOut)
    async def rerank(asked: shapes.RerankIn) -> Response:
        """All documents ranked, as clients of Cohere and Jina ask; also at /v2/rerank, /rerank."""
        name = service.named(asked.model)
        documents = plain(asked.documents) or []
        service.check_documents(documents)

        def work() -> Response:
            result = service.run(service.systems[name], asked.query, documents)
            return json_response(_rerank_reply(result, name, asked))

        return await service.work.run(work)


def _rerank_reply(result: Result, name: str, asked: shapes.RerankIn) -> dict[str, Any]:
    results: list[dict[str, Any]] = []
    for index, score in ranked(result, len(asked.documents))[: asked.top_n]:
        results.append({"index": index, "relevance_score": score})
        if asked.return_documents:
            results[-1]["document"] = {"text": result.documents[index].text}
    read = sum(step.to_dict()["tokens_in"] for step in result.trace.steps)
    meta = {
        "api_version": {"version": "2"},
        "billed_units": {"search_units": 1},
        "tokens": {"input_tokens": read},
        "warnings": result.trace.warnings,
    }
    usage = {"total_tokens": read, "prompt_tokens": read}
    return {
        "id": uuid.uuid4().hex,
        "model": name,
        "results": results,
        "usage": usage,
        "meta": meta,
    }


def _system(service: Service, asked: shapes.FilterIn) -> tuple[str, System]:
    """The system that a request names, with the budget and promise that it names."""
    name = service.named(asked.system)
    system = service.keeping(name, asked.keep_answer)
    if asked.max_tokens is not None:
        system = system.with_budget(asked.max_tokens)
    return name, system


def _streamed(
    service: Service, name: str, system: System, asked: shapes.AnswerIn
) -> StreamingResponse:
    """The answer as events; a refusal for want of a place comes before any of them."""
    loop = asyncio.get_running_loop()
    events: asyncio.Queue[tuple[str, dict[str, Any]]] = asyncio.Queue()

    def tell(event: str, values: dict[str, Any]) -> None:
        loop.call_soon_threadsafe(events.put_nowait, (event, values))

    def kept(result: Result) -> None:
        tell("kept", result_dict(result, name, trace=asked.trace))

    def work() -> None:
        try:
            documents = plain(asked.documents)
            result = service.run(telling(system, kept), asked.query, documents, ask=True)
            values = result_dict(result, name, trace=asked.trace)
        except Exception as error:  # whatever it is, the client is told by an event
            tell("error", fault_of(error).values)
            return
        tell("delta", {"text": values["answer"]})
        more = {"trace": values["trace"]} if asked.trace else {}
        tell("done", {"answer": values["answer"], "tokens": values["tokens"], **more})

    running = service.work.start(work)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    limit = service.settings.limits.timeout_s
    return StreamingResponse(
        _events(events, running, limit, service.work.late),
        headers=headers,
        media_type="text/event-stream",
    )


async def _events(
    events: asyncio.Queue[tuple[str, dict[str, Any]]],
    running: Future[None],
    limit_s: float,
    late: Callable[[], Fault],
) -> AsyncIterator[str]:
    ends = time.monotonic() + limit_s
    event = ""
    try:
        while event not in ("done", "error"):
            try:
                left = max(0.0, ends - time.monotonic())
                event, values = await asyncio.wait_for(events.get(), left)
            except TimeoutError:
                event, values = "error", late().values
            yield f"event: {event}\ndata: {as_json(values)}\n\n"
    finally:
        running.cancel()  # of no use to anybody, if it has not begun
