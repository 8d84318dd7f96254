"""What a request gets when it cannot be served: one JSON shape, whatever went wrong."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

from ragsieve.errors import (
    ContextOverflow,
    InputError,
    MissingExtra,
    ModelError,
    RagsieveError,
    SourceError,
)
from ragsieve.inspector.views import clean
from ragsieve.text import safe

try:
    from fastapi import Request
    from fastapi.exceptions import RequestValidationError
    from starlette.exceptions import HTTPException
    from starlette.responses import Response
except ModuleNotFoundError as error:
    raise MissingExtra(error.name or "fastapi", extra="serve") from error

logger = logging.getLogger(__name__)

_CODES = {404: "not_found", 405: "method_not_allowed"}


class Fault(HTTPException):
    """Why a request is not served.

    Args:
        status: The HTTP status.
        code: A word that programs can tell it by.
        message: One line for people.
        retry_s: Seconds after which it may be tried again, where that can help.
    """

    def __init__(self, status: int, code: str, message: str, *, retry_s: int = 0) -> None:
        headers = {"Retry-After": str(retry_s)} if retry_s else {}
        if status == 401:
            headers["WWW-Authenticate"] = "Bearer"
        super().__init__(status, message, headers)
        self.code = code

    @property
    def values(self) -> dict[str, Any]:
        """The fault as JSON values."""
        kind = "server_error" if self.status_code >= 500 else "invalid_request_error"
        if self.status_code == 429:
            kind = "rate_limit_error"
        message = safe(" ".join(self.detail.split()))[:1000]
        return {"error": {"message": message, "type": kind, "code": self.code}}

    @property
    def response(self) -> Response:
        """What the client gets."""
        return json_response(self.values, self.status_code, self.headers)


def json_response(
    values: Any, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """A response of ``values`` as JSON."""
    return Response(as_json(values), status, headers, media_type="application/json")


def as_json(values: Any) -> str:
    """``values`` as JSON on one line, in ASCII, so that no text in it can fail to be encoded."""
    try:
        return json.dumps(values, allow_nan=False)
    except (TypeError, ValueError):  # what a stage of somebody's own tells need be no JSON
        return json.dumps(clean(values), allow_nan=False)


def fault_of(error: Exception) -> Fault:
    """What an error is to a client: its own doing, a model's, or the server's."""
    if isinstance(error, Fault):
        return error
    if isinstance(error, RecursionError):
        return Fault(400, "invalid_json", "the body is nested too deeply")
    if isinstance(error, InputError):
        return Fault(422, "invalid_input", str(error))
    if isinstance(error, ContextOverflow):
        return Fault(413, "context_overflow", str(error))
    if isinstance(error, ModelError | SourceError):
        return Fault(502, "model_failed", str(error))
    if isinstance(error, RagsieveError):
        return Fault(503, "not_ready", str(error), retry_s=10)
    logger.error("a request failed", exc_info=error)
    return Fault(500, "internal", f"the server failed: {type(error).__name__}")


async def answer_error(_: Request, error: Exception) -> Response:
    """The response for anything that a route raises."""
    if isinstance(error, RequestValidationError):
        return Fault(422, "invalid_request", _broken(error)).response
    if isinstance(error, HTTPException) and not isinstance(error, Fault):
        code = _CODES.get(error.status_code, "invalid_request")
        fault = Fault(error.status_code, code, str(error.detail))
        fault.headers = error.headers
        return fault.response
    return fault_of(error).response


def _broken(error: RequestValidationError) -> str:
    """The first rules that a body breaks, each with its place; no value longer than a line."""
    told = []
    for one in error.errors()[:3]:
        place = ".".join(str(part) for part in one["loc"])
        shown = "" if isinstance(one.get("input"), dict | list) else f", got {one['input']!r:.80}"
        told.append(f"{place}: {one['msg']}{shown}")
    return "; ".join(told)
