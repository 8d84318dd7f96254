"""Requests to a chat server and its replies, as JSON values; nothing is sent here."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from ragsieve.errors import ContextOverflow, InputError, ModelError
from ragsieve.models.base import Prompt
from ragsieve.models.thoughts import strip_thinking
from ragsieve.models.wrap import check_columns
from ragsieve.text import json_value, safe

_CONTROL = re.compile(
    r"(?<=<)(?=[|｜][^<>\n]{0,80}>"  # <|im_end|>, <|turn>, <｜User｜>
    r"|[^<>|｜\s]{1,80}[|｜]>"  # <turn|>
    r"|/?(?:s|bos|eos|pad|unk|mask|start_of_turn|end_of_turn)>|/?SYS>>)"
    r"|(?<=\[)(?=/?(?:INST|TOOL_CALLS|TOOL_RESULTS|AVAILABLE_TOOLS|SYSTEM_PROMPT)\])"
)
OVERFLOW = re.compile(
    r"(?i)(?:context|batch)[ _](?:len|win|size)|maximum context|prompt is too long|too many tokens"
)
_LIMIT = re.compile(r"(?:context (?:length|window|size)|batch size|limit)\D{0,12}(\d{1,12})")
_NEEDED = re.compile(r"(?:requested|resulted in|request|has|input) \(?(\d{1,12})")


SETTINGS = {  # what a server may refuse: the words it does so with, and what follows
    "response_format": ("response_format|json_schema|grammar", "replies are not held to a schema"),
    "logprobs": ("(?:top_)?logprobs", "options are asked for as text"),
    "temperature": ("temperature", "replies may differ from call to call"),
    "seed": ("seed", "replies may differ from call to call"),
    "max_tokens": ("max_completion_tokens", "max_completion_tokens is sent in its place"),
    "stream_options": ("stream_options|include_usage", "tokens of streamed replies are counted"),
    "stream": ("stream(?:ing)?", "replies come in one piece"),
    "chat_template_kwargs": ("chat_template_kwargs", "the model may think before it answers"),
    "reasoning_effort": ("reasoning_effort|reasoning", "the model thinks as it does by itself"),
}


def thinking(how: bool | int | str | None, backend: str, url: str) -> dict[str, Any]:
    """Members of a request that say how a model thinks; none where it is its own to decide."""
    if how is False and backend != "ollama" and "api.openai.com" not in url:
        return {"chat_template_kwargs": {"enable_thinking": False}}  # vLLM, llama.cpp, SGLang
    effort = "none" if how is False else how
    return {"reasoning_effort": effort} if isinstance(effort, str) else {}


_UNTOLD = 32  # tokens of a reply that a server may cut from its text


Body = Mapping[str, Any]
Chat = list[dict[str, str]]


class ChatReply(NamedTuple):
    """A reply, with what a request says of it."""

    text: str
    chat: Chat
    finish: str = ""
    tokens: tuple[int, int] | None = None
    top: list[tuple[str, float]] | None = None  # the first token's candidates, with probability
    unsent: tuple[str, ...] = ()
    thought: bool = False  # whether thoughts stand beside the text


class Refused(ModelError):
    """A setting that a server refuses."""

    def __init__(self, setting: str, line: str) -> None:
        super().__init__(line)
        self.setting = setting


def thinks(reply: ChatReply) -> bool:
    """Whether a reply shows thoughts, or was cut before it said anything.

    More tokens than bytes were thoughts that are not told, but for a fence that a server cuts.
    """
    said, written = strip_thinking(reply.text), (reply.tokens or (0, 0))[1]
    cut = reply.finish == "length" and not reply.text.strip() and reply.top is None
    hidden = written > len(reply.text.encode()) + _UNTOLD
    return reply.thought or cut or hidden or said.strip() != reply.text.strip()


def check_url(name: str, url: str, rule: str = ".*") -> None:
    """Raise `InputError` unless a URL is plain and of a pattern; what may be a key is not shown."""
    secret, plain = {*"@?#"} & {*url}, False
    with suppress(ValueError):
        parts = urlsplit(url)
        (parts.hostname or "").encode("idna")  # a name has labels of 1 to 63 characters
        plain = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        plain = plain and url.isprintable() and " " not in url
    if secret or not plain or not re.fullmatch(rule, url):
        shown = "one with '@', '?' or '#' (not shown)" if secret else repr(url)
        raise InputError(f"{name} must be http(s)://host[:port][/path], got {shown}")


def check_secret(name: str, value: str) -> None:
    """Raise `InputError` unless a key or token is printable ASCII without spaces; none is shown."""
    if not re.fullmatch("[!-~]+", value):
        raise InputError(f"{name} must be printable ASCII without spaces (value not shown)")


def clean(text: str) -> str:
    return _CONTROL.sub(" ", safe(text))


def messages(prompt: Prompt) -> Chat:
    for message in prompt:
        if message.role not in ("system", "user", "assistant"):
            raise InputError(f"role must be system, user or assistant, got {message.role!r}")
    return [{"role": message.role, "content": clean(message.content)} for message in prompt]


def check_options(prompts: Sequence[Prompt], options: Sequence[Sequence[str]]) -> None:
    check_columns([prompts, options])
    for group in options:
        distinct = {option.strip() for option in group} - {""}
        if not group or len(distinct) < len(group):
            raise InputError(f"options must be distinct and not blank, got {list(group)!r}")


def response_format(schema: Mapping[str, Any], *, bounded: bool = True) -> dict[str, Any]:
    """Format of a reply by ``schema``, wrapped where its root is no object, as OpenAI wants one.

    Args:
        schema: The schema.
        bounded: Whether lengths of strings stay: in xgrammar, a string with one has no quotation
            mark and no line break.
    """
    root: dict[str, Any] = dict(schema) if bounded else _unbounded(schema)
    if root.get("type") != "object":
        wrapped: dict[str, Any] = {"type": "object", "additionalProperties": False}
        for name in {"$defs", "definitions"} & root.keys():  # references start at the root
            wrapped[name] = root.pop(name)
        root = {**wrapped, "properties": {"reply": root}, "required": ["reply"]}
    return {"type": "json_schema", "json_schema": {"name": "reply", "schema": root, "strict": True}}


def _unbounded(value: Any) -> Any:
    """A schema without ``maxLength``."""
    if isinstance(value, Mapping):
        return {k: _unbounded(v) for k, v in value.items() if k != "maxLength"}
    return value


def unwrapped(text: str) -> str:
    value = json_value(text)
    if isinstance(value, dict) and value.keys() == {"reply"}:
        return json.dumps(value["reply"], ensure_ascii=False)
    return text


DONE = {"choices": [{"delta": {}, "finish_reason": "stop"}]}
"""The event that stands for the end that a server says without JSON."""


def grown(reply: ChatReply, event: object) -> ChatReply:
    """A reply with what an event of a stream adds; as it is, where that is of another form."""
    data: dict[str, Any] = event if isinstance(event, dict) else {}
    try:
        choice = first_choice(data)
        text, finish = said(choice["delta"]), choice.get("finish_reason")
    except (AttributeError, IndexError, KeyError, TypeError):
        text, finish = "", ""
    finish = reply.finish or (finish if isinstance(finish, str) else "")
    return reply._replace(text=reply.text + text, finish=finish, tokens=used(data) or reply.tokens)


def first_choice(data: Mapping[str, Any]) -> Any:
    """The first of the choices that a reply or an event has; of others an event tells nothing.

    Raises:
        IndexError, KeyError, TypeError: If there is none.
    """
    rows = [row for row in data["choices"] if row.get("index", 0) in (0, None)]
    return rows[0]


def said(message: Mapping[str, Any]) -> str:
    """Text of a message, or of what an event adds to one; its refusal where it has no other."""
    return text_of(message.get("content")) or text_of(message.get("refusal"))


def text_of(content: object) -> str:
    """Text of a message's content, `safe`: a string, or the parts of type ``text`` of a list."""
    parts = [part.get("text") for part in _rows(content) if part.get("type") == "text"]
    return safe("".join(one for one in [content, *parts] if isinstance(one, str)))


def used(data: Mapping[str, Any]) -> tuple[int, int] | None:
    """Tokens read and written, of a reply or an event that tells them."""
    usage = data["usage"] if isinstance(data.get("usage"), dict) else {}
    read, written = (count(usage.get(k)) for k in ("prompt_tokens", "completion_tokens"))
    return (read, written) if read and written is not None else None


_OLLAMA = 4096  # tokens that Ollama gives a model by default; it cuts longer prompts without a word


class Limits(NamedTuple):
    """Limits that a server tells: requests at once, tokens of prompt and reply; None: untold."""

    slots: int | None = None
    context: int | None = None


def limits(replies: Sequence[object], model: str) -> Limits:
    """Limits by what servers reply.

    Args:
        replies: llama.cpp's ``/props``, a list of models, Ollama's ``/api/ps`` and ``/api/show``;
            any may be missing or None.
        model: Its name on the server.
    """
    told, listed, running, shown = (
        one if isinstance(one, dict) else {} for one in [*replies, None, None, None, None][:4]
    )
    settings = told.get("default_generation_settings")
    context = count(settings.get("n_ctx")) if isinstance(settings, dict) else None
    rows = _rows(listed.get("data"))
    for row in [row for row in rows if row.get("id") == model] or rows[: len(rows) == 1]:
        context = context or count(row.get("max_model_len")) or count(row.get("context_length"))
    for row in _rows(running.get("models")):
        if row.get("name") in (model, f"{model}:latest"):
            context = context or count(row.get("context_length"))
    if shown:
        size = re.search(r"^num_ctx\s+(\d{1,9})\b", str(shown.get("parameters")), re.MULTILINE)
        context = context or (int(size[1]) if size else _OLLAMA)
    return Limits(count(told.get("total_slots")), context)


def _rows(value: object) -> list[dict[str, Any]]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def filled(text: str) -> str:
    """A text as it is sent, `safe`; ``.`` for a blank one, for which servers refuse a request."""
    return safe(text) if text.strip() else "."


def shares(total: int | None, texts: Sequence[str]) -> list[int]:
    """Tokens of each text, equal shares of all that a reply counts; its words where it does not."""
    if total is None:
        return [len(re.findall(r"\w+", text)) for text in texts]
    most = len(texts)
    return [total * (n + 1) // most - total * n // most for n in range(most)]


def count(value: object) -> int | None:
    """A whole number that can be a count of tokens; None for any other value."""
    return value if type(value) is int and 0 <= value < 2**31 else None


def top(logprobs: Any) -> list[tuple[str, float]] | None:
    """Candidates of the first token with probabilities; ``None`` from a server without them."""
    if logprobs is None:
        return None
    try:
        top = logprobs["content"][0]["top_logprobs"]
        candidates = [(str(t["token"]), float(t["logprob"])) for t in top]
    except (IndexError, KeyError, OverflowError, TypeError, ValueError):
        return []
    return [(token, math.exp(min(log, 0.0))) for token, log in candidates if not math.isnan(log)]


def overflow(text: str, body: Body, model: str) -> ContextOverflow | None:
    """What a server's error says of tokens, where it says how many are needed and held."""
    limit, needed = _LIMIT.search(text), _NEEDED.search(text)
    if not limit or not needed:
        return None
    reply = body.get("max_tokens", 0) if "input tokens" in text else 0
    return ContextOverflow(needed=int(needed[1]) + reply, limit=int(limit[1]), model=model)


def error_text(body: object) -> str:
    """Message in an error's JSON."""
    own = body if isinstance(body, dict) else {}
    return str(own.get("message") or own.get("detail") or own.get("error") or body)
