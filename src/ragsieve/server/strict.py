"""Parse bodies as standard JSON, with a limit on the number of documents."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Coroutine
from functools import partial
from json.scanner import py_make_scanner  # type: ignore[attr-defined]
from typing import Any, NoReturn

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.responses import Response

from ragsieve.server.faults import Fault
from ragsieve.server.work import Work


async def parse_body(work: Work, body: bytes) -> Any:
    """Parse a body of JSON, a large one in a thread, so that other requests go on.

    Raises:
        Fault: 400 if it is not JSON in UTF-8, or is nested too deeply.
    """
    if len(body) <= _LARGE_BYTES:
        return _parse(_DECODER, body)
    return await work.parse(partial(_parse, _YIELDING, body))


def _parse(decoder: json.JSONDecoder, body: bytes) -> Any:
    try:
        return decoder.decode(body.decode("utf-8"))
    except RecursionError as error:
        raise Fault(400, "invalid_json", "the body is nested too deeply") from error
    except ValueError as error:
        raise Fault(400, "invalid_json", f"the body must be JSON: {error}") from error


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number in JSON")


def _finite(number: str) -> float:
    value = float(number)
    return value if math.isfinite(value) else _refuse(number)


class _Yielding(json.JSONDecoder):
    """A decoder in Python: the one in C holds the interpreter's lock for a whole body."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.scan_once = py_make_scanner(self)


_LARGE_BYTES = 1 << 18
_DECODER = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite)
_YIELDING = _Yielding(parse_constant=_refuse, parse_float=_finite)


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
