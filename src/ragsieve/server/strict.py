"""JSON as the standard has it: no NaN, no depth without end."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Coroutine
from typing import Any, NoReturn

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.responses import Response

from ragsieve.server.faults import Fault


def parsed(body: bytes) -> Any:
    """The value that a body is in JSON.

    Raises:
        Fault: 400 if it is not JSON in UTF-8, or is nested too deeply.
    """
    try:
        return json.loads(body.decode("utf-8"), parse_constant=_refuse, parse_float=_finite)
    except RecursionError as error:
        raise Fault(400, "invalid_json", "the body is nested too deeply") from error
    except ValueError as error:
        raise Fault(400, "invalid_json", f"the body must be JSON: {error}") from error


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number in JSON")


def _finite(number: str) -> float:
    value = float(number)
    return value if math.isfinite(value) else _refuse(number)


class StrictRequest(Request):
    """A request whose body is read by `parsed`."""

    async def json(self) -> Any:
        """The body's value."""
        return parsed(await self.body())


class StrictRoute(APIRoute):
    """A route that takes `StrictRequest`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """See FastAPI."""
        inner = super().get_route_handler()

        async def handler(request: Request) -> Response:
            return await inner(StrictRequest(request.scope, request.receive))

        return handler
