"""Servers of the OpenAI protocol: Ollama, llama.cpp, OpenAI and others; vLLM's is `VLLM`, too."""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, cast

from ragsieve.errors import EndedEarly, ModelError, Overdue, needs_extra
from ragsieve.models import base, protocol
from ragsieve.models.base import LLM, ROOM, Cut, JsonSchema, Odds, Prompt, Prompts, Texts
from ragsieve.models.options import first_token_odds
from ragsieve.models.protocol import Body, Chat, ChatReply
from ragsieve.models.pruner import bundled
from ragsieve.models.server import OPENAI, REFUSED, Away, Context, Home, Server
from ragsieve.models.thoughts import strip_thinking
from ragsieve.models.tokenizer import read_tokenizer, tokenizer_file
from ragsieve.schema import Count, T, check_number
from ragsieve.timeouts import check_time, deadline, until
from ragsieve.trace import CUT, Usage, note, record_usage, warn

with needs_extra("openai"):
    import openai
    import tiktoken

_FORM = "response_format"
_LOOK = 16  # tokens of a reply that shows whether it begins with the option
_PROBE_S = 20.0
"""Seconds in which a server says how it counts tokens, a twentieth for one that was late before."""


@dataclass(frozen=True)
class OpenAI(Server, LLM):
    """A chat model behind a server that speaks the OpenAI protocol; replies are not sampled.

    Control characters in messages become U+FFFD, and a space is put into what servers may parse as
    a control token (``<|im_end|>`` is sent as ``< |im_end|>``, also ``<s>``, ``[INST]`` and their
    like), so that a document cannot speak as another role. Nothing else of a message is changed.
    A setting that the server refuses (a schema, a temperature) is left out from then on and noted.

    Args:
        model: The model's name on the server.
        base_url: Where the server answers, mostly ending in ``/v1``; unset, ``OPENAI_BASE_URL`` or
            OpenAI's own.
        api_key: The key; unset, ``OPENAI_API_KEY`` or, for servers that need none, ``none``.
        tokenizer: The model's ``tokenizer.json``, a folder with one, or a hub id; where it is
            given, prompts that cannot fit the context are not sent (the chat template's own
            tokens are the server's to count).
        context: Tokens that prompt and reply may have together; unset, as the server tells
            (llama.cpp, vLLM and others), else 8,192.
        thinking: False turns thoughts off, where the server can; a number is the tokens that a
            reply has more for them; ``"low"``, ``"medium"`` or ``"high"`` is the effort. Unset, a
            reply of thoughts alone is requested once more with 2,048 tokens more, which all have
            from then on; the trace says so.
        extra_body: Members of each request beside ours.
        timeout_s, max_retries, total_s, concurrency: See `ragsieve.models.server.Server`.

    Raises:
        InputError: If an option breaks its rule.
    """

    tokenizer: str | Path | None = field(default=None, kw_only=True)
    thinking: bool | int | str | None = field(default=None, kw_only=True)
    extra_body: Mapping[str, Any] | None = field(default=None, kw_only=True, hash=False)
    context: int = field(default=cast(int, Context()), kw_only=True, repr=False, compare=False)
    _refused: set[str] = field(default_factory=set, init=False, repr=False, compare=False)
    _held: set[str] = field(default_factory=set, init=False, repr=False, compare=False)

    can = frozenset({"complete", "choose"})
    backend: ClassVar[str] = "openai"
    home: ClassVar[Home] = OPENAI
    tells: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if (own := vars(self)["context"]) is not None:
            check_number("context", own, Count)
        if self.tokenizer is not None:
            tokenizer_file(self.tokenizer)

    def complete(
        self, prompts: Sequence[Prompt], *, max_tokens: int = 128, schema: JsonSchema | None = None
    ) -> list[str]:
        """As `LLM.complete`; a reply without text is its refusal or ``""``; one cut short is noted.

        Raises:
            InputError: If ``max_tokens`` is under 1 or a message has an unknown role.
            ContextOverflow: If a prompt and its reply do not fit the context.
            ModelError: If the server fails one prompt; the others in flight end first.
        """
        bounded = schema is not None and self.limits.slots is not None  # llama.cpp's text quotes
        extra = {_FORM: protocol.response_format(schema, bounded=bounded)} if schema else {}
        replies = self._ask(prompts, max_tokens, extra)
        own = schema is None or schema.get("type") == "object"
        texts = [reply.text if own else protocol.unwrapped(reply.text) for reply in replies]
        pairs = zip(texts, replies, strict=True)
        return [Cut(t, self._cut(max_tokens)) if r.finish == "length" else t for t, r in pairs]

    def stream(self, prompt: Prompt, *, max_tokens: int = 128) -> Iterator[str]:
        """As `complete`, in pieces as the server sends them; one, where it sends no events.

        Raises:
            InputError, ContextOverflow: As `complete`.
            EndedEarly: If the reply breaks off; where its time is over, it ends, with a warning.
            ModelError: If the server fails.
        """
        (chat,) = self._chats([prompt], max_tokens)
        options = {"stream": True, "stream_options": {"include_usage": True}}
        reply, room = ChatReply("", chat), self._room
        if tried := "stream" not in self._refused:
            events, unsent = self._settled(chat, max_tokens, options, self._events)
            reply = reply._replace(unsent=unsent)
            try:
                for event in events:
                    shown, reply = len(reply.text), protocol.grown(reply, event)
                    if piece := reply.text[shown:]:
                        yield piece
            except Overdue as error:
                if not reply.text:
                    raise
                warn(f"the reply is cut short: {error}")
                reply = reply._replace(finish="over")
            except ModelError as error:
                raise EndedEarly(str(error), reply.text) from error
        if not reply.text and not reply.finish:  # no event, or none that can be read
            self._refused.add("stream")
            if tried:
                note(f"{self.identity} refuses stream: {protocol.SETTINGS['stream'][1]}")
            yield from self.complete([prompt], max_tokens=max_tokens)
            return
        again = self._shows_thinking(reply, room)
        self._record([reply], 0 if again else max_tokens)
        if again:
            yield from self.stream(prompt, max_tokens=max_tokens)
        elif reply.finish == "length":
            yield Cut("", self._cut(max_tokens))
        elif not reply.finish:
            line = self._failed("the stream ended before the server said that the reply was whole")
            raise EndedEarly(str(line), reply.text)

    def choose(self, prompts: Prompts, options: Sequence[Texts]) -> list[Odds | None]:
        """As `LLM.choose`, from the reply's first token: no text is sampled.

        The first replies may be `_LOOK` tokens long: where one shows thoughts, or is cut and the
        model turns out to think (`thinks_first`), no odds are known from then on.

        An option's probability is that of the 20 likeliest tokens with which it begins, in any
        case, and no other option does, normalised; an option not among them gets 0. It is None
        where the server gives no probabilities, under .05 lie on all options together, or over
        1 % of them on tokens that begin several (``1`` and ``10``).

        Raises:
            InputError: If there are not as many option lists as prompts, or the options of one
                are none, blank or not distinct.
            ModelError: As `complete`.
        """
        protocol.check_options(prompts, options)
        results: list[Odds | None] = [None] * len(prompts)
        if "logprobs" not in self._refused and not self._room:  # else the first token is a thought
            most = 1 if "first" in self._held else _LOOK
            replies = self._ask(prompts, most, {"logprobs": True, "top_logprobs": 20})
            cut = most > 1 and any(reply.finish == "length" for reply in replies)
            if self.thinking is None and cut and base.thinks_first(self):
                self._held.add("thinking")
            if (told := not self._room) and replies:
                self._held.add("first")
            pairs = zip(replies, options, strict=True)
            results = [first_token_odds((told and r.top) or [], some) for r, some in pairs]
            if replies and all(reply.top is None for reply in replies):
                self._refused.add("logprobs")
        return results

    def count(self, texts: Sequence[str]) -> list[int]:
        """As `LLM.count`, of the texts as they are sent.

        The first that works of: ``tokenizer``, tiktoken's encoding of a model it knows, the
        server's own ``/tokenize``, the bundled pruner's tokenizer, which the trace notes.

        Raises:
            ModelError: If the server cannot be reached, or ``tokenizer`` cannot be loaded.
        """
        if not any(texts):
            return [0] * len(texts)
        counter, estimated = self._counter
        if estimated:
            note(estimated)
        return self._map(lambda text: counter(protocol.clean(text)) if text else 0, texts)

    def _ask(self, prompts: Sequence[Prompt], max_tokens: int, extra: Body) -> list[ChatReply]:
        chats = self._chats(prompts, max_tokens)
        record = partial(self._record, most=0 if "logprobs" in extra else max_tokens)
        return self._map(lambda chat: self._send(chat, max_tokens, extra), chats, record)

    def _record(self, replies: Sequence[ChatReply], most: int) -> None:
        """Charge for replies, tell each that was cut at ``most`` tokens, and what is refused."""
        self._charge(replies, self._cut(most) if most else "")
        if self._room and self.thinking is None:
            more = f"replies have {self._room} tokens more, thinking=… says so"
            note(f"{self.identity} thinks: {more}")
        if any(reply.finish == "content_filter" for reply in replies):
            warn(f"{self.identity} cut a reply: its content filter")
        for name in dict.fromkeys(name for reply in replies for name in reply.unsent):
            note(f"{self.identity} refuses {name}: {protocol.SETTINGS[name][1]}")

    def _chats(self, prompts: Sequence[Prompt], max_tokens: int) -> list[Chat]:
        """Prompts as they are sent, which leave that many tokens of the context."""
        check_number("max_tokens", max_tokens, Count)
        chats = [protocol.messages(prompt) for prompt in prompts]
        known = chats if self.tokenizer is not None else []
        sizes = self.count(["\n".join(m["content"] for m in chat) for chat in known])
        base.check_fits(sizes, max_tokens, self.context, self.model)
        return chats

    def _send(self, chat: Chat, max_tokens: int, extra: Body) -> ChatReply:
        room = self._room
        try:
            data, unsent = self._settled(chat, max_tokens, extra, self._post)
        except protocol.Refused as error:
            self._refused.add(error.setting)
            return ChatReply("", chat, tokens=(0, 0), unsent=(error.setting,))
        reply = self._read(data, chat)._replace(unsent=unsent)
        if not self._shows_thinking(reply, room) or "logprobs" in extra:
            return reply
        again = self._send(chat, max_tokens, extra)
        tokens = (reply.tokens or (0, 0), again.tokens or (0, 0))
        return again._replace(tokens=(tokens[0][0] + tokens[1][0], tokens[0][1] + tokens[1][1]))

    def _cut(self, most: int) -> str:
        """The note of a reply that was cut at so many tokens beside its thoughts."""
        return f"{CUT} {most + self._room} tokens"

    @property
    def _room(self) -> int:
        """Tokens that a reply has more, for thoughts."""
        if isinstance(self.thinking, int) and not isinstance(self.thinking, bool):
            return self.thinking
        return ROOM if self.thinking or "thinking" in self._held else 0

    def _shows_thinking(self, reply: ChatReply, room: int) -> bool:
        """Whether a reply, requested with so much room, is thoughts alone for want of more."""
        if self.thinking is not None or room or not protocol.thinks(reply):
            return False
        self._held.add("thinking")
        return reply.finish == "length" and not strip_thinking(reply.text).strip()

    def _settled(
        self, chat: Chat, max_tokens: int, extra: Body, post: Callable[[str, Body], T]
    ) -> tuple[T, tuple[str, ...]]:
        """Result of ``post``, with the settings that the server refuses left out, and these."""
        refused = set(self._refused)
        while True:  # each round leaves out one setting more
            if "logprobs" in refused & {*extra}:  # without them there is nothing to ask for
                raise protocol.Refused("logprobs", "")
            most = max_tokens + (0 if "logprobs" in extra else self._room)
            settings = {"temperature": 0, "seed": 0, "max_tokens": most, **extra}
            settings |= protocol.thinking(self.thinking, self.backend, self.base_url)
            settings |= self.extra_body or {}
            if "max_tokens" in refused:
                settings["max_completion_tokens"] = most
            sent = {k: v for k, v in settings.items() if k not in refused}
            body = {"model": self.model, "messages": chat, **sent}
            try:
                data = post("chat/completions", body)
            except protocol.Refused as error:
                refused.add(error.setting)
                continue
            if _FORM in body:
                self._held.add(_FORM)
            self._refused.update(refused - self._held)  # now known to be what the server minds
            return data, tuple(name for name in settings if name in refused)

    def _post(self, path: str, body: Body) -> dict[str, Any]:
        data = super()._post(path, body)
        if not isinstance(data, dict):
            raise self._failed(f"reply is not a JSON object but {data!r}")
        return data

    def _translated(self, error: openai.APIStatusError, body: Body) -> ModelError:
        """The error, or, where it is or may be of a setting, one that leads to go without it."""
        failed, text = super()._translated(error, body), protocol.error_text(error.body)
        status = error.status_code
        if status in REFUSED and protocol.OVERFLOW.search(f"{error.code} {text}"):
            return failed
        for name, (words, _) in protocol.SETTINGS.items() if status in REFUSED else ():
            if name in body and re.search(rf"\b(?:{words})\b", f"{error.param} {text}"):
                return protocol.Refused(name, str(failed))
        whose = status in (401, 403, 404, 408, 409, 429) or status > 501  # the caller's, or busy
        return failed if whose or _FORM not in body else protocol.Refused(_FORM, str(failed))

    def _read(self, data: dict[str, Any], chat: Chat) -> ChatReply:
        try:
            choice = protocol.first_choice(data)
            text = protocol.said(choice["message"])
        except (AttributeError, IndexError, KeyError, TypeError) as error:
            raise self._failed(f"reply has no choices[0].message: {data!r}") from error
        finish, top = str(choice.get("finish_reason")), protocol.top(choice.get("logprobs"))
        thought = any(choice["message"].get(name) for name in ("reasoning_content", "reasoning"))
        return ChatReply(text, chat, finish, protocol.used(data), top, thought=thought)

    def _charge(self, replies: Sequence[ChatReply], cut: str) -> None:
        replies = [reply for reply in replies if reply.tokens != (0, 0)]  # those were not sent
        uncounted = [reply for reply in replies if reply.tokens is None]
        texts = [t for r in uncounted for t in ("\n".join(m["content"] for m in r.chat), r.text)]
        try:
            sizes = self.count(texts)
        except ModelError as error:
            note(f"tokens unknown and charged as 0: {error}")
            sizes = [0] * len(texts)
        counted = iter(zip(sizes[::2], sizes[1::2], strict=True))
        usages = [Usage(self.identity, *(r.tokens or next(counted))) for r in replies]
        notes = [cut if reply.finish == "length" else "" for reply in replies]
        record_usage([u._replace(note=text) for u, text in zip(usages, notes, strict=True)])

    @property
    def counts_by_request(self) -> bool:
        """Whether `count` asks the server, once for each text."""
        return isinstance(self._counter[0], partial)

    @cached_property
    def _counter(self) -> tuple[Callable[[str], int], str]:
        """A counter of a text's tokens, and a note where it estimates."""
        if self.tokenizer is not None:
            loaded = read_tokenizer(self.tokenizer)
            return lambda text: len(loaded.encode(text, add_special_tokens=False).ids), ""
        try:
            encoding = tiktoken.encoding_for_model(self.model)
            return lambda text: len(encoding.encode(text, disallowed_special=())), ""
        except KeyError:
            why = "tiktoken does not know the model"
        except (OSError, ValueError) as error:
            why = f"tiktoken has no encoding at hand ({type(error).__name__})"
        url = f"{self.base_url.removesuffix('/v1')}/tokenize"
        ends = time.monotonic() + (_PROBE_S / 20 if "once" in self._late else _PROBE_S)
        for fields in ({"model": self.model, "add_special_tokens": False}, {}):  # vLLM, llama.cpp
            counter = partial(self._tokenize, url, fields)
            try:
                with until(ends):
                    if counter("a"):  # llama.cpp finds no tokens in what vLLM is sent
                        return counter, ""
            except ModelError as error:
                check_time(deadline())
                if isinstance(error, Away):
                    raise
        why += ", no /tokenize on the server; pass tokenizer=... for exact counts"
        return lambda text: bundled().count([text])[0], f"tokens are estimated: {why}"

    def _tokenize(self, url: str, fields: Mapping[str, Any], text: str) -> int:
        data = self._post(url, {**fields, ("prompt" if fields else "content"): text})
        tokens = data.get("tokens")
        told = data.get("count", len(tokens) if isinstance(tokens, list) else None)
        if (count := protocol.count(told)) is not None:
            return count
        raise self._failed(f"/tokenize gave no count of tokens: {data!r}")


@dataclass(frozen=True)
class Ollama(OpenAI):
    """A model that Ollama serves; see `OpenAI`.

    Args:
        base_url: Unset, Ollama's own port on this machine.
        api_key: Unset, ``OLLAMA_API_KEY`` or none.
        context: Unset, as Ollama gives it to the model, 4,096 by default: it cuts longer prompts
            without a word. Its setting ``OLLAMA_CONTEXT_LENGTH`` or the model's ``num_ctx`` raises
            it; this option says what either has set.

    Source: Ollama's ``/v1``, ``/api/ps`` and ``/api/show``.
    """

    backend: ClassVar[str] = "ollama"
    home: ClassVar[Home] = Home("http://127.0.0.1:11434/v1", key_name="OLLAMA_API_KEY")
