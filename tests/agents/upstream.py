"""An upstream that plays two calls of a tool, a cut answer and an answer, on three APIs."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.serving import Handler

Part = tuple[str, str]
"""What the model says: a tool's name with its arguments as JSON; or ``""`` and a text."""
CUT, ANSWER = ("", "Late books co"), ("", "Late books cost 20 cents a day.")


class Wire(NamedTuple):
    """One API: of its requests the results of tools, and a reply as a stream."""

    results: Callable[[Any], list[Any]]
    reply: Callable[[int, Part], list[Any]]


def _turns(count):
    return {"id": f"r{count}", "model": "m", "created": 1, "created_at": 1}


def _chat_results(body):
    return [one for one in body["messages"] if one["role"] == "tool"]


def _chat(count, part):
    name, said = part
    call = {"index": 0, "id": f"c{count}", "type": "function"}
    delta = {"tool_calls": [{**call, "function": {"name": name, "arguments": said}}]}
    end = "tool_calls" if name else "length" if part == CUT else "stop"
    head = {**_turns(count), "object": "chat.completion.chunk"}
    deltas = [({"role": "assistant", **(delta if name else {"content": said})}, None), ({}, end)]
    rows = [[{"index": 0, "delta": one, "finish_reason": why}] for one, why in deltas]
    usage = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
    return [*({**head, "choices": row} for row in rows), {**head, "choices": [], "usage": usage}]


def _response_results(body):
    return [one for one in body["input"] if one.get("type") == "function_call_output"]


def _response(count, part):
    name, said = part
    own = {"id": f"i{count}", "status": "completed"}
    item = {**own, "type": "message", "role": "assistant"}
    item["content"] = [{"type": "output_text", "text": said, "annotations": []}]
    if name:
        call = {"call_id": f"c{count}", "name": name, "arguments": said}
        item = {**own, "type": "function_call", **call}
    end = "incomplete" if part == CUT else "completed"
    whole = {**_turns(count), "object": "response", "status": end, "output": [item]}
    whole["usage"] = {"input_tokens": 9, "output_tokens": 9, "total_tokens": 18}
    if part == CUT:
        whole["incomplete_details"] = {"reason": "max_output_tokens"}
    begun = {**whole, "status": "in_progress", "output": []}
    return [
        {"type": "response.created", "response": begun},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": f"response.{end}", "response": whole},
    ]


def _message_results(body):
    lists = [one["content"] for one in body["messages"] if isinstance(one["content"], list)]
    return [part for parts in lists for part in parts if part["type"] == "tool_result"]


def _message(count, part):
    name, said = part
    call = {"type": "tool_use", "id": f"c{count}", "name": name, "input": {}}
    block = call if name else {"type": "text", "text": ""}
    delta = {"type": "input_json_delta", "partial_json": said}
    delta = delta if name else {"type": "text_delta", "text": said}
    end = "tool_use" if name else "max_tokens" if part == CUT else "end_turn"
    head = {**_turns(count), "type": "message", "role": "assistant", "content": []}
    usage = {"input_tokens": 9, "output_tokens": 9}
    return [
        {"type": "message_start", "message": {**head, "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": end}, "usage": usage},
        {"type": "message_stop"},
    ]


WIRES = {
    "/v1/chat/completions": Wire(_chat_results, _chat),
    "/v1/responses": Wire(_response_results, _response),
    "/v1/messages": Wire(_message_results, _message),
}


def playing(calls, log):
    """A handler that plays calls, then `CUT` once, then `ANSWER`; requests go to a log."""

    class Model(Handler):
        def do_GET(self):
            self.reply(200, {"object": "list", "data": [{"id": "m", "object": "model"}]})

        def do_POST(self):
            body = self.asked()
            wire = WIRES[self.path.partition("?")[0]]
            done = len(wire.results(body))
            was_cut = any(one["part"] == CUT for one in log)
            part = ANSWER if was_cut or not body.get("tools") else [*calls, CUT][done]
            events = wire.reply(len(log), part)
            named = [f"event: {one['type']}\n" if "type" in one else "" for one in events]
            lines = [f"{n}data: {json.dumps(e)}\n\n" for n, e in zip(named, events, strict=True)]
            last = [] if "type" in events[0] else ["data: [DONE]\n\n"]
            sent = "".join([*lines, *last]).encode()
            about = {"headers": dict(self.headers), "path": self.path, "sent": sent}
            log.append({**about, "body": body, "results": wire.results(body), "part": part})
            self.reply(200, sent, "text/event-stream")

    return Model
