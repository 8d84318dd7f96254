"""Parse bodies as standard JSON, with limits on the number of documents and of values."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.responses import Response

from ragsieve.server.faults import Fault
from ragsieve.server.parsing import parse, parse_apart
from ragsieve.server.work import Work

PARSED_BYTES = 1 << 18
"""Bytes of a body that are parsed at once, in milliseconds."""


async def parse_body(work: Work, body: bytes) -> Any:
    """Parse a body of JSON, a large one in a process of its own, so that other requests go on.

    Raises:
        Fault: 400 if it is not JSON in UTF-8, or is nested too deeply; 413 if it has more values
            than may be.
    """
    most, seconds = work.limits.max_values, work.limits.timeout_s
    if len(body) <= PARSED_BYTES:
        return _parsed(partial(parse, body, most))
    return await work.parse(partial(_parsed, partial(parse_apart, body, most, seconds)))


def _parsed(parse: Callable[[], Any]) -> Any:
    try:
        return parse()
    except OverflowError as error:
        raise Fault(413, "too_many_values", str(error)) from error
    except ValueError as error:
        raise Fault(400, "invalid_json", str(error)) from error


class StrictRequest(Request):
    """A request whose body is read by `parse_body`, and whose documents are counted at once."""

    async def json(self) -> Any:
        """The body's value."""
        service = self.app.state.service
        value = await parse_body(service.work, await self.body())
        if isinstance(value, dict) and isinstance(value.get("documents"), list):
            service.check_documents(value["documents"])
        return value


class StrictRoute(APIRoute):
    """A route that takes `StrictRequest`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """See FastAPI."""
        inner = super().get_route_handler()

        async def handler(request: Request) -> Response:
            return await inner(StrictRequest(request.scope, request.receive))

        return handler
