"""Parse bodies as standard JSON, with limits on the number of documents and of values."""

import json
import math
import re
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, NoReturn

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.responses import Response

from ragsieve.server.faults import Fault
from ragsieve.server.work import Work

PARSED_BYTES = 1 << 18
"""Bytes of a body that are parsed at once, in milliseconds."""
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)


async def parse_body(work: Work, body: bytes) -> Any:
    """Parse a body of JSON, a large one in a thread of its own, so that other requests go on.

    Raises:
        Fault: 400 if it is not JSON in UTF-8, or is nested too deeply; 413 if it has more values
            than may be.
    """
    parsed = partial(_parsed, body, work.limits.max_values)
    return parsed() if len(body) <= PARSED_BYTES else await work.parse(parsed)


def _parsed(body: bytes, most: int) -> Any:
    if _values(body) > most and (values := _values(_STRING.sub(b"", body))) > most:
        raise Fault(413, "too_many_values", f"max_values must be at most {most}, got {values}")
    try:
        return _DECODER.decode(body.decode("utf-8-sig"))
    except RecursionError as error:
        raise Fault(400, "invalid_json", "the body is nested too deeply") from error
    except ValueError as error:
        raise Fault(400, "invalid_json", f"the body must be JSON: {error}") from error


def _values(body: bytes) -> int:
    """Values of a body without strings; with them not fewer."""
    return 1 + sum(map(body.count, (b",", b":", b"[", b"{")))


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number in JSON")


def _finite(number: str) -> float:
    value = float(number)
    return value if math.isfinite(value) else _refuse(number)


_DECODER = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite)


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
