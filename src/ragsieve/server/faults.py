"""Errors of requests, in one JSON shape."""

import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from ragsieve import errors
from ragsieve.inspector.views import clean
from ragsieve.schema import broken_rules, without_secrets
from ragsieve.text import json_text, safe

logger = logging.getLogger(__name__)

Shape = TypeVar("Shape", bound=BaseModel)

_FAULTS = {  # the first kind that fits counts: status, code, seconds until another try
    errors.InputError: (422, "invalid_input", 0),
    errors.ContextOverflow: (413, "context_overflow", 0),
    errors.Overdue: (503, "timeout", 5),
    errors.ModelError: (502, "model_failed", 0),
    errors.SourceError: (502, "model_failed", 0),
    errors.RagsieveError: (503, "not_ready", 10),
}
_CODES = {404: "not_found", 405: "method_not_allowed"}


class Fault(HTTPException):
    """The reason why a request is not served.

    Args:
        status: The HTTP status.
        code: A word for programs.
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
        kind = "rate_limit_error" if self.status_code == 429 else kind
        message = safe(" ".join(without_secrets(self.detail).split()))[:1000]
        return {"error": {"message": message, "type": kind, "code": self.code}}

    @property
    def response(self) -> Response:
        """The reply to the client."""
        return json_response(self.values, self.status_code, self.headers)


ENDING = Fault(503, "ending", "the server ends before the reply does", retry_s=5)


def json_response(
    values: Any, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """A response of ``values`` as JSON."""
    return Response(as_json(values), status, headers, media_type="application/json")


def as_json(values: Any) -> str:
    """``values`` as JSON on one line, in ASCII, so that no text in it can fail to be encoded."""
    try:
        return json_text(values, allow_nan=False)
    except (TypeError, ValueError):  # a stage of somebody's own may trace anything
        return json.dumps(clean(values), allow_nan=False)


def as_headers(values: Mapping[str, Any]) -> dict[str, str]:
    """Headers of ours, each on one line that any client can read; without None and empty ones."""
    said = {name: str(value) for name, value in values.items() if value is not None}
    lines = {name: " ".join(safe(without_secrets(one)).split()) for name, one in said.items()}
    return {n: one[:300].encode("ascii", "replace").decode() for n, one in lines.items() if one}


def fault_of(error: Exception) -> Fault:
    """The fault of an error: the client's, a model's, or the server's."""
    if isinstance(error, Fault):
        return error
    if isinstance(error, RecursionError):
        return Fault(400, "invalid_json", "the body is nested too deeply")
    for kind, (status, code, retry_s) in _FAULTS.items():
        if isinstance(error, kind):
            return Fault(status, code, str(error), retry_s=retry_s)
    logger.error("a request failed", exc_info=error)
    return Fault(500, "internal", f"the server failed: {type(error).__name__}")


async def answer_error(request: Request, error: Exception) -> Response:
    """The response for anything that a route raises."""
    if isinstance(error, RequestValidationError):
        if isinstance(error.body, bytes):  # it was not read as JSON
            return not_json(request).response
        return invalid(error.errors()).response
    if isinstance(error, HTTPException) and not isinstance(error, Fault):
        code = _CODES.get(error.status_code, "invalid_request")
        fault = Fault(error.status_code, code, str(error.detail))
        fault.headers = error.headers
        return fault.response
    return fault_of(error).response


def not_json(request: Request) -> Fault:
    """The fault of a request whose body is not said to be JSON."""
    kind = request.headers.get("content-type", "")
    return Fault(415, "invalid_request", f"Content-Type must be application/json, got {kind!r:.80}")


def valid(shape: type[Shape], value: Any, place: str) -> Shape:
    """A value as what it must be.

    Raises:
        Fault: 422 if it breaks a rule; it says at which place.
    """
    try:
        return shape.model_validate(value)
    except ValidationError as error:
        raise invalid(error.errors(), place) from error


def invalid(broken: Sequence[Any], *place: str) -> Fault:
    """The fault of a value that breaks rules: see `ragsieve.schema.broken_rules`."""
    return Fault(422, "invalid_request", broken_rules(broken, *place))
