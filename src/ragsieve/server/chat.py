"""`/v1/chat/completions`, `/v1/responses`, `/v1/messages`: filter, forward all else unchanged."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, aclosing, suppress
from dataclasses import asdict
from functools import partial
from typing import Any

import httpx
from fastapi import APIRouter, Request
from pydantic import BaseModel
from starlette.background import BackgroundTask
from starlette.responses import Response, StreamingResponse

from ragsieve.agents.filter import Budgets
from ragsieve.agents.omitted import PAGE
from ragsieve.errors import InputError
from ragsieve.schema import Amount
from ragsieve.server import shapes
from ragsieve.server.documents import documents_of
from ragsieve.server.faults import ENDING, Fault, as_headers, as_json, not_json, valid
from ragsieve.server.routes import REFUSALS
from ragsieve.server.service import Service
from ragsieve.server.settings import Settings, Upstream
from ragsieve.server.sieving import Forwarded, has_work, sieved
from ragsieve.server.strict import parse_body
from ragsieve.text import json_value

MAX_REPLY = 1 << 26
"""Bytes of an upstream's reply, or of its events, at most: 64 MiB."""

_NOT_PASSED = {  # of this connection alone, or this server's business
    *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer"),
    *("transfer-encoding", "upgrade", "host", "content-length", "accept-encoding", "cookie"),
    *("set-cookie", "server", "date", "expect", "origin", "referer", "location"),
}
_KEYS = ("authorization", "x-api-key")  # with a client's key or token: OpenAI's, Anthropic's
_STREAMED = "text/event-stream"
_BLANK = re.compile(rb"\n\n|\r\r|\r\n\r\n")  # the end of an event
_LAST = re.compile(  # what the end of a stream has, on each wire
    rb'\[DONE\]|"finish_reason": ?"\w|"(?:message_stop|response\.(?:comp|incomp|fail)\w+|error)"'
)
_KEY = b"(key)"


class DroppedIn(BaseModel):
    """What was left out of a tool's result, page by page.

    Args:
        handle: As the result's last line has it.
        query: Show only what has a word of this, the best first.
        cursor: Of the page before, to read on.
    """

    model_config = shapes.strict("DroppedIn")
    handle: shapes.Text
    query: shapes.Text = ""
    cursor: shapes.Text = ""
    max_tokens: int = shapes.ruled(Amount, PAGE)


def _body(field: str, route: str) -> dict[str, Any]:
    """The schema of a request whose conversation is in a field."""
    example = shapes.OPENAPI["examples"][route]
    content = {"schema": {"type": "object", "required": [field]}, "example": example}
    return {"requestBody": {"required": True, "content": {"application/json": content}}}


def chats(service: Service) -> APIRouter:
    """The routes that forward."""
    router = APIRouter(responses={**REFUSALS, 504: {"description": "The upstream is silent."}})

    @router.post("/v1/chat/completions", openapi_extra=_body("messages", "/v1/chat/completions"))
    async def chat(request: Request) -> Response:
        """Forward a chat, of its documents only what matters; the reply is the upstream's.

        Documents come in the field ``documents`` (strings, ``{id, title, text}`` or Cohere's
        ``{id, data}``), or in the last user message as ``<documents><document id="…"
        title="…">text</document></documents>``; those of earlier messages are filtered as they
        were then. Results of tools (``role: tool``) are filtered, too, where the server says of
        which tools, each for its own call. A field ``ragsieve`` may name ``system``, ``max_tokens``
        and ``trace``: then a reply that is no stream has under that name the filter's result, what
        became of each result of a tool, and what was saved. Where the filter fails, all documents
        are forwarded, and ``X-Ragsieve-Error`` says why; ``X-Ragsieve-Ignored`` names fields of
        documents that nothing reads.
        """
        return await _replied(service, request, "/chat/completions", "messages")

    @router.post("/v1/responses", openapi_extra=_body("input", "/v1/responses"))
    async def responses(request: Request) -> Response:
        """Forward a request for a response, as chats are: its conversation is the field ``input``.

        Results of tools are its items of type ``function_call_output``, ``custom_tool_call_output``
        and of other calls, whose output has text. What the upstream itself holds of a conversation
        (``previous_response_id``) is not filtered.
        """
        return await _replied(service, request, "/responses", "input")

    @router.post("/v1/messages/count_tokens", openapi_extra=_body("messages", "/v1/messages"))
    @router.post("/v1/messages", openapi_extra=_body("messages", "/v1/messages"))
    async def messages(request: Request) -> Response:
        """Forward a request of Anthropic's API to the upstream, as chats are.

        Results of tools are parts of type ``tool_result``; one that says ``is_error`` passes as it
        came, as do thinking, images, ``system`` and ``cache_control``. Tokens are counted of what
        would be sent.
        """
        path = request.scope["path"].removeprefix("/v1")
        return await _replied(service, request, path, "messages")

    @router.post("/v1/dropped", responses=shapes.replies("/v1/dropped"))
    async def dropped(body: DroppedIn) -> Response:
        """What was left out of a tool's result, by the handle in its last line: a page of it."""
        return await service.respond(lambda: asdict(service.show_dropped(**body.model_dump())))

    @router.get("/v1/models")
    async def models(request: Request) -> Response:
        """The upstream's models."""
        return await _forward(request, service.settings, "/models", b"")

    return router


async def _replied(service: Service, request: Request, path: str, field: str) -> Response:
    """The upstream's reply to a request whose conversation is in a field."""
    kind = request.headers.get("content-type", "")
    if kind.partition(";")[0].strip().lower() != "application/json":
        raise not_json(request)
    raw = await request.body()
    body = await parse_body(service.work, raw)
    if not isinstance(body, dict):
        raise Fault(422, "invalid_request", f"the body must be an object, got {body!r:.80}")
    _upstream(service.settings)
    plain, own = "ragsieve" not in body, body.pop("ragsieve", None)
    options = valid(shapes.ChatOptions, {} if own is None else own, "ragsieve")
    name = service.named(options.system)
    budgets = options.model_dump(include={*shapes.Budgets.model_fields}, exclude_none=True)
    forwarded = await _sieved(service, name, budgets, _as_chat(body, field))
    changed = forwarded.body and _renamed(forwarded.body, "messages", field)
    content = raw if plain and not changed else as_json(changed or body).encode()
    reply = await _forward(request, service.settings, path, content)
    reply.headers.update(as_headers(forwarded.headers))
    if options.trace and forwarded.report and not isinstance(reply, StreamingResponse):
        reply = _with_report(reply, forwarded.report)
    if forwarded.tokens and reply.status_code < 400 and not path.endswith("/count_tokens"):
        reply.background = BackgroundTask(service.saved, f"/v1{path}", forwarded.tokens)
    return reply


async def _sieved(service: Service, name: str, budgets: Budgets, body: dict[str, Any]) -> Forwarded:
    """The request to forward; where no thread is free in time, as it came."""
    forwarded = Forwarded(name)
    if has_work(service, body):
        with forwarded.failing_open():
            return await service.work.run(partial(sieved, service, name, budgets, body))
        with suppress(InputError):
            chat = documents_of(body)
            forwarded.body = chat.unfiltered(body) if chat else None
    return forwarded


def _as_chat(body: dict[str, Any], field: str) -> dict[str, Any]:
    """A request with its conversation as ``messages``."""
    if isinstance(content := body.get(field), str):
        body = {**body, field: [{"role": "user", "content": content}]}
    return _renamed(body, field, "messages")


def _renamed(body: dict[str, Any], name: str, other: str) -> dict[str, Any]:
    """A request with another name for a field, in its place."""
    return {other if key == name else key: value for key, value in body.items()}


def _upstream(settings: Settings) -> Upstream:
    if settings.upstream is None:
        raise Fault(404, "no_upstream", "no upstream is configured: start with --upstream URL")
    return settings.upstream


async def _forward(request: Request, settings: Settings, path: str, content: bytes) -> Response:
    """The upstream's reply to a request: a stream as it comes, else whole."""
    upstream = _upstream(settings)
    url = upstream.base_url.rstrip("/") + path  # no part of it is the client's but the query
    if query := request.scope["query_string"].decode("latin-1"):
        url += f"?{query}"
    client: httpx.AsyncClient = request.app.state.client
    headers = _request_headers(request, upstream, bool(settings.tokens))
    forwarded = client.build_request(request.method, url, headers=headers, content=content)
    ends = asyncio.get_running_loop().time() + upstream.total_s
    try:
        async with asyncio.timeout_at(ends), AsyncExitStack() as stack:
            reply = await client.send(forwarded, stream=True)
            stack.push_async_callback(reply.aclose)
            if not 200 <= reply.status_code < 600:
                raise Fault(502, "upstream_broke", f"the upstream said {reply.status_code}")
            if reply.headers.get("content-encoding", "identity").lower() != "identity":
                raise Fault(502, "upstream_broke", "its reply is compressed, unlike what was asked")
            hide = _hider(upstream.api_key)  # which an error may repeat: it is not the client's
            kept_headers = _reply_headers(reply, hide)
            if reply.headers.get("content-type", "").startswith(_STREAMED):
                stack.pop_all()  # it is closed where it ends
                parts = _relayed(reply, ends, hide)
                return StreamingResponse(parts, reply.status_code, kept_headers)
            body = bytearray()
            async for part in reply.aiter_raw():
                body += part
                if len(body) > MAX_REPLY:
                    raise _too_long()
    except (httpx.HTTPError, TimeoutError) as error:
        raise _broken(error) from error
    return Response(hide(bytes(body)), reply.status_code, kept_headers)


def _hider(key: str) -> Callable[[bytes], bytes]:
    """Replaces a key, as it is or as JSON, also in JSON, may escape it; nothing where empty."""
    if not key:
        return bytes
    known = [(re.escape(char), f"(?i:u00{ord(char):02x})") for char in key]
    forms = (rf"(?:{char}|\\\\{{0,2}}+(?:{char}|{code}))" for char, code in known)
    return partial(re.compile("".join(forms).encode()).sub, _KEY)


def _request_headers(request: Request, upstream: Upstream, ours: bool) -> list[tuple[bytes, bytes]]:
    """The client's headers for the upstream, with a key: its own, if that is no token of ours."""
    removed = _NOT_PASSED.union(_KEYS) if ours or upstream.api_key else _NOT_PASSED
    headers = [(k, v) for k, v in request.headers.raw if k.decode("latin-1") not in removed]
    headers.append((b"accept-encoding", b"identity"))
    bearer, own = (name in request.headers for name in _KEYS)
    anthropic = own or (not bearer and request.scope["path"].startswith("/v1/messages"))
    if upstream.api_key and anthropic:  # as its clients give their key
        headers.append((b"x-api-key", upstream.api_key.encode()))
    elif upstream.api_key:
        headers.append((b"authorization", f"Bearer {upstream.api_key}".encode()))
    return headers


def _reply_headers(reply: httpx.Response, hide: Callable[[bytes], bytes]) -> dict[str, str]:
    """The upstream's headers but for those of its connection, and those that hold a key."""
    named = reply.headers.get("connection", "").lower().replace(" ", "").split(",")
    removed = _NOT_PASSED.union(named, _KEYS)
    known = [(k.decode("latin-1"), v) for k, v in reply.headers.raw if hide(v) == v]
    return {k: v.decode("latin-1") for k, v in known if k.lower() not in removed}


async def _relayed(
    reply: httpx.Response, ends: float, hide: Callable[[bytes], bytes]
) -> AsyncIterator[bytes]:
    """The upstream's events, each whole; where it breaks off, an event that says so."""
    events, tail = _events(reply.aiter_raw()), b""
    async with aclosing(reply):
        try:
            while True:
                async with asyncio.timeout_at(ends):
                    event = await anext(events)
                yield hide(event)
                tail = tail[-4096:] + event  # its last events, of which one may be long
        except StopAsyncIteration:
            if reply.is_success and not _LAST.search(tail):
                line = "the upstream broke off: it closed before it said that the reply was whole"
                yield _error_event(Fault(502, "upstream_broke", line))
        except (httpx.HTTPError, TimeoutError, Fault) as error:
            yield _error_event(_broken(error))
        except asyncio.CancelledError:  # the server ends
            yield _error_event(ENDING)


def _error_event(fault: Fault) -> bytes:
    """An event that OpenAI's and Anthropic's clients raise: these read only events with a name."""
    return f"event: error\ndata: {json.dumps({'type': 'error', **fault.values})}\n\n".encode()


async def _events(parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Events as they come, none broken, no key cut; a fault over `MAX_REPLY` bytes."""
    held = bytearray()
    size = 0
    async for part in parts:
        if (size := size + len(part)) > MAX_REPLY:
            raise _too_long()
        before = len(held)
        held += part
        if ends := [match.end() for match in _BLANK.finditer(held, max(0, before - 3))]:
            yield bytes(held[: ends[-1]])
            del held[: ends[-1]]
    cut = held.startswith((b"data", b"event")) and not held.rstrip().endswith((b"}", b"]"))
    if held and not cut:
        yield bytes(held) + b"\n\n"


def _too_long() -> Fault:
    return Fault(502, "upstream_broke", f"its reply is over {MAX_REPLY} bytes")


def _broken(error: httpx.HTTPError | TimeoutError | Fault) -> Fault:
    """The fault of an upstream's failure; its address stays private."""
    if isinstance(error, Fault):
        return error
    kind = type(error).__name__
    if isinstance(error, TimeoutError):
        return Fault(504, "upstream_timeout", "the upstream's reply does not end")
    if isinstance(error, httpx.TimeoutException):
        return Fault(504, "upstream_timeout", f"the upstream is silent: {kind}")
    if isinstance(error, httpx.ConnectError):
        return Fault(502, "upstream_away", "the upstream cannot be reached")
    return Fault(502, "upstream_broke", f"the upstream broke off: {kind}")


def _with_report(reply: Response, report: Mapping[str, Any]) -> Response:
    """A reply with what the filter did, where it is a JSON object."""
    values = json_value(bytes(reply.body))
    if not isinstance(values, dict):
        return reply
    headers = {k: v for k, v in reply.headers.items() if k != "content-length"}
    return Response(as_json({**values, "ragsieve": report}), reply.status_code, headers)
