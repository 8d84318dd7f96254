"""Routes: `/v1/filter`, `/v1/answer`, `/v1/excerpts`, `/v1/inspect` and the list."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

from fastapi import APIRouter
from starlette.responses import Response, StreamingResponse

from ragsieve.context.excerpts import ExcerptReader, excerpts_of
from ragsieve.inspector import view
from ragsieve.result import Result
from ragsieve.server import shapes
from ragsieve.server.faults import as_json, fault_of, json_response
from ragsieve.server.service import Service, result_dict
from ragsieve.server.strict import StrictRoute
from ragsieve.system import System

REFUSALS: dict[int | str, dict[str, Any]] = {
    int(code): {"model": shapes.ErrorOut, "description": why}
    for code, why in shapes.OPENAPI["refusals"].items()
}


def api(service: Service) -> APIRouter:
    """The routes that run systems."""
    router = APIRouter(route_class=StrictRoute, responses=REFUSALS)

    @router.get("/v1/systems", responses=shapes.replies("/v1/systems"))
    async def systems() -> Response:
        """Systems that are served, the default first."""
        return json_response({"systems": service.summaries()})

    async def run(body: shapes.FilterIn, *, ask: bool = False) -> Response:
        name, system = named_system(service, body)

        def values() -> dict[str, Any]:
            result = service.run(system, body, ask=ask)
            service.saved("/v1/answer" if ask else "/v1/filter", [("", result.tokens)])
            return result_dict(result, name, trace=body.trace)

        return await service.respond(values)

    @router.post("/v1/filter", response_model=shapes.FilterOut)
    async def filter_(body: shapes.FilterIn) -> Response:
        """Keep what matters of the documents: verbatim spans, and why every other one went."""
        return await run(body)

    @router.post("/v1/answer", response_model=shapes.AnswerOut)
    async def answer(body: shapes.AnswerIn) -> Response:
        """Answer from what matters of the documents; with ``stream`` as server-sent events."""
        if body.stream:
            return _streamed(service, *named_system(service, body), body)
        return await run(body, ask=True)

    @router.post("/v1/excerpts", response_model=shapes.ExcerptsOut)
    async def excerpts(body: shapes.ExcerptsIn) -> Response:
        """Excerpts of documents or pages, the best first, within the budgets."""
        service.check_documents([*(body.documents or ()), *(body.pages or ())])
        name, system = named_system(service, body)
        system = replace(system, reader=ExcerptReader(system.reader))
        return await service.respond(lambda: _excerpts(service.run(system, body.read), name))

    @router.post("/v1/inspect", responses=shapes.replies("/v1/inspect"))
    async def inspect(body: shapes.InspectIn) -> Response:
        """Segments kept and dropped by one or two systems, as the inspector's page shows them."""
        chosen = [(name, service.systems[service.named(name)]) for name in body.systems]

        def views() -> dict[str, Any]:
            results = [(service.run(s, body, ask=body.ask), name, s) for name, s in chosen]
            return {"views": [view(result, name, reader=s.reader) for result, name, s in results]}

        return await service.respond(views)

    return router


def named_system(service: Service, body: shapes.QuestionIn) -> tuple[str, System]:
    """The system that a request names, with the budgets and cuts that it names."""
    name = service.named(body.system)
    return name, service.systems[name].at(**body.numbers)


def _excerpts(result: Result, name: str) -> dict[str, Any]:
    own = ("query", "tokens", "answerable")
    known = {key: value for key, value in result.to_dict(documents=False).items() if key in own}
    found = [one.to_dict() for one in excerpts_of(result)]
    return {"system": name, "results": found, **known, "warnings": result.trace.warnings}


def _streamed(
    service: Service, name: str, system: System, body: shapes.AnswerIn
) -> StreamingResponse:
    """The answer as events; a refusal for want of a place comes before any of them."""
    loop = asyncio.get_running_loop()
    events: asyncio.Queue[tuple[str, dict[str, Any]]] = asyncio.Queue()

    def send(event: str, values: dict[str, Any]) -> None:
        loop.call_soon_threadsafe(events.put_nowait, (event, values))

    def kept(result: Result) -> None:
        send("kept", result_dict(result, name, trace=body.trace))

    def work() -> None:
        try:
            for piece in service.stream(system, body, kept):
                if isinstance(piece, str):
                    send("delta", {"text": piece})
                else:
                    values = result_dict(piece, name, trace=body.trace)
                    service.saved("/v1/answer", [("", piece.tokens)])
        except Exception as error:  # whatever it is, the client gets an event
            send("error", fault_of(error).values)
            return
        send("done", {key: values[key] for key in ("answer", "tokens", "trace") if key in values})

    async def told() -> AsyncIterator[str]:
        event = ""
        try:
            while event not in ("done", "error"):
                try:
                    async with asyncio.timeout_at(ends):
                        event, values = await events.get()
                except TimeoutError:
                    event, values = "error", service.work.late().values
                yield f"event: {event}\ndata: {as_json(values)}\n\n"
        finally:
            service.work.give_up(running)

    running = service.work.start(work)
    ends = loop.time() + service.work.limits.timeout_s
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(told(), headers=headers, media_type="text/event-stream")
