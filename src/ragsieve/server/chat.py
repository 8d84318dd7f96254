"""`/v1/chat/completions`: documents are filtered, all else goes to the upstream as it came."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Mapping
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response, StreamingResponse

from ragsieve.errors import InputError, MissingExtra
from ragsieve.pipeline import Result
from ragsieve.server.faults import Fault, as_json, fault_of
from ragsieve.server.packed import Packed, packed
from ragsieve.server.routes import REFUSALS
from ragsieve.server.service import Service, result_dict
from ragsieve.server.settings import Settings
from ragsieve.server.strict import parsed
from ragsieve.text import safe

try:
    import httpx
except ModuleNotFoundError as error:
    raise MissingExtra(error.name or "httpx", extra="serve") from error

logger = logging.getLogger(__name__)

_NOT_PASSED = {  # of this connection alone, or this server's business
    *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer"),
    *("transfer-encoding", "upgrade", "host", "content-length", "accept-encoding", "cookie"),
    *("authorization", "set-cookie", "server", "date", "expect", "origin", "referer", "location"),
}
_EXAMPLE = {
    "model": "gpt-5-mini",
    "messages": [{"role": "user", "content": "Who sang Summer Breeze?"}],
    "documents": ["Summer Breeze was sung by Seals and Crofts.", "Rome is a city."],
}
_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {"type": "object", "required": ["messages"]},
                "example": _EXAMPLE,
            }
        },
    }
}
_STREAMED = "text/event-stream"


def chats(service: Service) -> APIRouter:
    """The routes that forward."""
    router = APIRouter(responses={**REFUSALS, 504: {"description": "The upstream is silent."}})

    @router.post("/v1/chat/completions", openapi_extra=_BODY)
    async def chat(request: Request) -> Response:
        """Forward a chat, of its documents only what matters; the reply is the upstream's.

        Documents come in the field ``documents`` (strings, ``{id, title, text}`` or Cohere's
        ``{id, data}``), or in the last user message as ``<documents><document id="…"
        title="…">text</document></documents>``. A field ``ragsieve`` may name ``system``,
        ``max_tokens`` and ``trace``: then a reply that is no stream has the filter's result under
        that name. Where the filter fails, all documents are forwarded, and ``X-Ragsieve-Error``
        says why.
        """
        if request.headers.get("content-type", "").partition(";")[0] != "application/json":
            raise Fault(415, "invalid_request", "Content-Type must be application/json")
        raw = await request.body()
        body = parsed(raw)
        if not isinstance(body, dict):
            raise Fault(422, "invalid_request", f"the body must be an object, got {body!r:.80}")
        _upstream(service.settings)
        own = _own(service, body.pop("ragsieve", None))
        changed, said, result = await _sieved(service, body, own)
        told = None
        if result and own["trace"]:
            told = result_dict(result, own["system"], trace=True)
        content = raw if changed is None and own["plain"] else as_json(changed or body).encode()
        return await _forward(request, service.settings, content, said, told)

    @router.get("/v1/models")
    async def models(request: Request) -> Response:
        """The upstream's models."""
        _upstream(service.settings)
        return await _forward(request, service.settings, b"", {}, None)

    return router


def _upstream(settings: Settings) -> Any:
    if settings.upstream is None:
        raise Fault(404, "no_upstream", "no upstream is configured: start with --upstream URL")
    return settings.upstream


def _own(service: Service, given: Any) -> dict[str, Any]:
    """What a request asks of the filter, checked."""
    asked = {} if given is None else given
    if not isinstance(asked, dict) or not asked.keys() <= {"system", "max_tokens", "trace"}:
        rule = "ragsieve must be an object of system, max_tokens and trace"
        raise Fault(422, "invalid_request", f"{rule}, got {asked!r:.80}")
    system, budget, trace = (asked.get(k) for k in ("system", "max_tokens", "trace"))
    if not isinstance(system, str | None) or not isinstance(trace, bool | None):
        raise Fault(422, "invalid_request", "ragsieve.system must be a name, trace true or false")
    if budget is not None and (type(budget) is not int or not 0 <= budget < 2**31):
        rule = "ragsieve.max_tokens must be a whole number and not negative"
        raise Fault(422, "invalid_request", f"{rule}, got {budget!r:.80}")
    name = service.named(system)
    return {"system": name, "max_tokens": budget, "trace": bool(trace), "plain": given is None}


async def _sieved(
    service: Service, body: dict[str, Any], own: Mapping[str, Any]
) -> tuple[dict[str, Any] | None, dict[str, str], Result | None]:
    """The request to forward, or None for the one that came; headers that say what was done."""
    found: Packed | None = None
    said = {"X-Ragsieve-System": own["system"]}
    try:
        found = packed(body)
        if not found:
            return None, {}, None
        service.check_documents(found.documents)
        system = service.systems[own["system"]]
        if own["max_tokens"] is not None:
            system = system.with_budget(own["max_tokens"])
        question, documents = found.question, found.documents
        result = await service.work.run(lambda: service.run(system, question, documents))
        said |= _counts(result)
        if warnings := result.trace.warnings:
            said["X-Ragsieve-Error"] = "; ".join(warnings)
        changed = found.filtered(result)
    except Exception as error:  # fail open: whatever it is, it shall not cost the answer
        reason = str(error) if isinstance(error, InputError) else fault_of(error).detail
        logger.warning("documents were forwarded unfiltered: %s", reason)
        said["X-Ragsieve-Error"] = f"forwarded unfiltered: {reason}"
        return (found.whole if found else None), said, None
    return changed, said, result


def _counts(result: Result) -> dict[str, str]:
    steps = [step.to_dict() for step in result.trace.steps]
    kept = {segment.document.id for segment in result.kept}
    return {
        "X-Ragsieve-Tokens-Before": str(result.tokens.before),
        "X-Ragsieve-Tokens-After": str(result.tokens.after),
        "X-Ragsieve-Documents": f"{len(kept)}/{len(result.documents)}",
        "X-Ragsieve-Model-Calls": str(sum(step["calls"] for step in steps)),
    }


async def _forward(
    request: Request,
    settings: Settings,
    content: bytes,
    said: Mapping[str, str],
    told: dict[str, Any] | None,
) -> Response:
    upstream = _upstream(settings)
    client: httpx.AsyncClient = request.app.state.client
    own = not upstream.api_key and not settings.tokens  # then the client's key is the upstream's
    kept = _NOT_PASSED - {"authorization"} if own else _NOT_PASSED
    headers = [(k, v) for k, v in request.headers.raw if k.decode("latin-1") not in kept]
    headers.append((b"accept-encoding", b"identity"))
    if upstream.api_key:
        headers.append((b"authorization", f"Bearer {upstream.api_key}".encode()))
    url = upstream.base_url.rstrip("/") + request.url.path.removeprefix("/v1")
    url += f"?{request.url.query}" if request.url.query else ""
    sent = client.build_request(request.method, url, headers=headers, content=content)
    try:
        reply = await client.send(sent, stream=True)
        if not 200 <= reply.status_code < 600:
            await reply.aclose()
            raise Fault(502, "upstream_broke", f"the upstream said {reply.status_code}")
        passed = _passed(reply, said)
        if reply.headers.get("content-type", "").startswith(_STREAMED):
            return StreamingResponse(_relayed(reply), reply.status_code, passed)
        try:
            body = b"".join([part async for part in reply.aiter_raw()])
        finally:
            await reply.aclose()
    except httpx.HTTPError as error:
        raise _broken(error) from error
    if told is not None:
        body = _with_result(body, told)
    return Response(body, reply.status_code, passed)


def _passed(reply: httpx.Response, said: Mapping[str, str]) -> dict[str, str]:
    """The upstream's headers but for those of its connection, and ours."""
    named = reply.headers.get("connection", "").lower().replace(" ", "").split(",")
    hidden = _NOT_PASSED.union(named)
    known = [(k.decode("latin-1"), v.decode("latin-1")) for k, v in reply.headers.raw]
    shown = {k: v for k, v in known if k.lower() not in hidden}
    for name, value in said.items():
        line = " ".join(safe(value).split())[:300]
        shown[name] = line.encode("ascii", "replace").decode()
    return shown


async def _relayed(reply: httpx.Response) -> AsyncIterator[bytes]:
    """The upstream's events as they come; where it breaks off, an event that says so."""
    try:
        async for part in reply.aiter_raw():
            yield part
    except httpx.HTTPError as error:
        yield f"\n\ndata: {json.dumps(_broken(error).values)}\n\n".encode()
    finally:
        await reply.aclose()


def _broken(error: httpx.HTTPError) -> Fault:
    """What an upstream's failure is to a client; its address is not told."""
    kind = type(error).__name__
    if isinstance(error, httpx.PoolTimeout):
        return Fault(503, "upstream_busy", "too many chats are at the upstream", retry_s=5)
    if isinstance(error, httpx.TimeoutException):
        return Fault(504, "upstream_timeout", f"the upstream is silent: {kind}")
    if isinstance(error, httpx.ConnectError):
        return Fault(502, "upstream_away", "the upstream cannot be reached")
    return Fault(502, "upstream_broke", f"the upstream broke off: {kind}")


def _with_result(body: bytes, told: dict[str, Any]) -> bytes:
    """A reply with the filter's result in it, where it is a JSON object."""
    try:
        values = json.loads(body)
    except (ValueError, RecursionError):
        return body
    if not isinstance(values, dict):
        return body
    return as_json({**values, "ragsieve": told}).encode()
