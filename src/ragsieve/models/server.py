"""Requests to model servers: options, retries, and every failure as an error of one line."""

import json
import logging
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple, TypeVar

from ragsieve import timeouts
from ragsieve.errors import InputError, ModelError, Overdue, RagsieveError, needs_extra, one_line
from ragsieve.models import http, protocol
from ragsieve.models.reopen import Reopened
from ragsieve.schema import Amount, Count, Seconds, T, check_options
from ragsieve.text import safe
from ragsieve.timeouts import check_time, deadline, seconds_left, start, until

with needs_extra("openai"):
    import openai

REFUSED = (400, 413, 422)
"""Status codes of a request that cannot be served as it is."""

_UNTOLD = 8192  # tokens of a context, where neither option nor server says
_PROBE_S = 5.0  # in which a server tells its limits
_TOLD_S = 3.0  # after which a wait is told, once
_WAITING = "waiting for %s, %g s so far, at most %g s"

_log = logging.getLogger(__name__)

R = TypeVar("R")

_Told = tuple[protocol.Limits, threading.BoundedSemaphore]  # and the requests that may begin


class Home(NamedTuple):
    """Where the servers of a backend are, and variables of the environment that say it.

    Args:
        url: What stands where neither the option nor the environment says one.
        url_name: The variable of the URL.
        key_name: The variable of the key.
    """

    url: str = ""
    url_name: str = ""
    key_name: str = ""


OPENAI = Home("https://api.openai.com/v1", "OPENAI_BASE_URL", "OPENAI_API_KEY")


class Away(ModelError):
    """A server takes no connection, or does not reply."""


class _Late(Away):
    """A request had no reply in its time, at any attempt."""


def _has_result(future: Future[Any]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is None


class Context:
    """The field ``context``: the option, else what the server tells when it is first read."""

    def __get__(self, owner: "Server | None", kind: type) -> Any:
        if owner is None:
            return self
        own = vars(owner)["context"]
        return own if own is not None else owner.limits.context or _UNTOLD

    def __set__(self, owner: "Server", value: Any) -> None:
        vars(owner)["context"] = None if value is self else value

    def __repr__(self) -> str:
        return "None"


@dataclass(frozen=True)
class Server(Reopened):
    """A model behind an HTTP server; requests go through OpenAI's client, whatever their path.

    Args:
        model: The model's name on the server.
        base_url: What stands before the path of a request.
        api_key: The key; unset, ``none``, for servers that need none.
        timeout_s: Seconds that the server may stay silent, for each attempt; of one that tells its
            slots (llama.cpp), from when a slot is free.
        max_retries: Attempts after the first where the server is busy, broken, silent or away, up
            to 8 s apart, or up to the 120 s that a server may ask for.
        total_s: Seconds of a request in all: every attempt, the pauses between, and the reply to
            its last byte. An earlier `ragsieve.timeouts.until` ends it before.
        concurrency: Requests in flight at once, over all calls but streams; no more than the slots
            of a server that tells them.

    Raises:
        InputError: If an option breaks its rule.
    """

    model: str
    base_url: str = field(default="", kw_only=True)
    api_key: str = field(default="", kw_only=True, repr=False)
    timeout_s: Seconds = field(default=60.0, kw_only=True)
    max_retries: Amount = field(default=4, kw_only=True)
    total_s: Seconds = field(default=180.0, kw_only=True)
    concurrency: Count = field(default=8, kw_only=True)
    is_unwritten: bool = field(default=False, init=False, repr=False, compare=False)
    _late: set[str] = field(default_factory=set, init=False, repr=False, compare=False)
    _told: list[_Told] = field(default_factory=list, init=False, repr=False, compare=False)

    is_concurrent: ClassVar[bool] = True
    backend: ClassVar[str]
    tells: ClassVar[bool] = False  # whether such servers may tell their slots and context
    home: ClassVar[Home] = Home()

    def __post_init__(self) -> None:
        home, url = self.home, self.base_url or os.environ.get(self.home.url_name)
        object.__setattr__(self, "is_unwritten", not url and home.url.startswith("https:"))
        object.__setattr__(self, "base_url", (url or home.url).rstrip("/"))
        object.__setattr__(self, "api_key", self.api_key or os.environ.get(home.key_name) or "none")
        if not self.model.strip():
            raise InputError(f"model must not be blank, got {self.model!r}")
        protocol.check_url("base_url", self.base_url)
        protocol.check_secret("api_key", self.api_key)
        check_options(self)

    @property
    def identity(self) -> str:
        """The model and where it is served; a server does not tell its weights."""
        options = ((name, getattr(self, name, None)) for name in ("thinking", "extra_body"))
        how = "".join(f" {name}={value!r}" for name, value in options if value is not None)
        return f"{self.backend}:{self.model}@{self.base_url}{how}"

    @cached_property
    def _client(self) -> openai.OpenAI:
        return openai.OpenAI(
            api_key=self.api_key,
            base_url=self.base_url,
            timeout=self.timeout_s,
            max_retries=self.max_retries,
            default_headers={"Accept-Encoding": "identity"},  # a small reply unpacks to any size
            http_client=http.Client(),
        )

    @property
    def limits(self) -> protocol.Limits:
        """The slots and the context that the server tells, asked once; a server that is away none.

        llama.cpp tells both at ``/props``, vLLM and others the context in their list of models,
        Ollama that of a model at ``/api/ps`` where it runs, else at ``/api/show``.
        """
        return self._asked()[0]

    def _asked(self) -> _Told:
        if not self._told:  # who asks meanwhile does not wait: it would have no end in time
            limits = self._probed() if self.tells else protocol.Limits()
            width = min(self.concurrency, limits.slots or self.concurrency)
            self._told.append((limits, threading.BoundedSemaphore(width)))
        return self._told[0]

    def _probed(self) -> protocol.Limits:
        told = protocol.Limits()
        if "api.openai.com" in self.base_url:
            return told
        client = self._client.with_options(max_retries=0)
        root, replies = self.base_url.removesuffix("/v1"), list[object]()
        urls = (f"{root}/props", f"{self.base_url}/models", f"{root}/api/ps", f"{root}/api/show")
        with until(time.monotonic() + min(_PROBE_S, self.timeout_s, self.total_s)):
            for url in urls:
                ask = partial(client.get, url, cast_to=object)
                if url == urls[-1]:
                    if not replies[-1]:  # it is not Ollama
                        break
                    ask = partial(client.post, url, cast_to=object, body={"model": self.model})
                running = start(ask)
                try:
                    replies.append(running.result(seconds_left()))
                except TimeoutError:
                    break
                except (Exception, http.Ended):  # the client's own, or its HTTP library's
                    replies.append(None)
                if (told := protocol.limits(replies, self.model)).context:
                    break
        return told

    def _map(
        self,
        function: Callable[[T], R],
        items: Sequence[T],
        charge: Callable[[list[R]], None] = lambda _: None,
    ) -> list[R]:
        """Results, one an item; where one fails, no other is begun, and the first error is raised.

        Replies that came are kept where others are late: those are asked again, one by one.

        Args:
            charge: Called with the results that there are, in order, before an error is raised.

        Raises:
            Overdue: At the deadline; requests that are under way then end by themselves.
        """
        slots = self.limits.slots if len(items) > 1 else None
        width = min(self.concurrency, slots or self.concurrency)

        def asked(item: T) -> R | _Late:
            try:
                return function(item)
            except _Late as error:
                return error

        futures: list[Future[Any]] = [*self._mapped(asked, items, width)]
        late = [n for n, f in enumerate(futures) if _has_result(f) and type(f.result()) is _Late]
        if 0 < len(late) < len(items) and all(map(_has_result, futures)):
            again = self._mapped(function, [items[n] for n in late], 1)
            for place, future in zip(late, again, strict=True):
                futures[place] = future
            late = []
        for place in late:
            error, futures[place] = futures[place].result(), Future()
            futures[place].set_exception(error)
        charge([future.result() for future in futures if _has_result(future)])
        results = [f.result() for f in futures if f.done() and not f.cancelled()]
        if len(results) < len(items):
            check_time(deadline())
        return results

    def _mapped(self, ask: Callable[[T], R], items: Sequence[T], width: int) -> list[Future[R]]:
        pool = timeouts.Pool(width)
        try:
            futures = [pool.submit(ask, item) for item in items]
            wait(futures, seconds_left(), return_when=FIRST_EXCEPTION)
        finally:
            pool.close()
        wait(futures, seconds_left())
        return futures

    def _post(self, path: str, body: Mapping[str, Any]) -> Any:
        """The JSON value that the server replies with."""
        slots = self._asked()[1]
        if not slots.acquire(timeout=seconds_left()):  # a request begins when one is free
            check_time(deadline())
        try:
            data = self._waited(lambda: self._client.post(path, cast_to=object, body=body), body)
        finally:
            slots.release()
        with self._errors(body):  # a string is JSON that the server did not declare as such
            return json.loads(data) if isinstance(data, str) else data

    def _events(self, path: str, body: Mapping[str, Any]) -> Iterator[object]:
        """The JSON values of the events that the server replies with; a refusal is raised now."""
        ends = min(deadline(), time.monotonic() + self.total_s)
        ask = partial(self._client.post, path, cast_to=object, stream=True, stream_cls=http.Events)
        return self._of_stream(self._waited(partial(ask, body=body), body), ends)

    def _of_stream(self, events: openai.Stream[object], ends: float) -> Iterator[object]:
        try:
            yield from timeouts.in_time(events, ends)
            if http.said_done(events.response):
                yield protocol.DONE
        except Overdue:
            raise
        except (Exception, http.Ended) as error:  # the client's own, or its HTTP library's
            check_time(ends)
            raise self._failed(f"the stream broke off: {error}") from error
        finally:
            with suppress(Exception):  # its thread may be closing it
                events.close()

    def _waited(self, work: Callable[[], R], body: Mapping[str, Any]) -> R:
        """Result of a request, which is no longer waited for when its time is over."""
        http.refused.set([])
        with self._errors(body), until(time.monotonic() + self.total_s):
            running = start(work)
            try:
                with suppress(TimeoutError):
                    return running.result(min(seconds_left() or 0.0, _TOLD_S))
                if "told" not in self._late:
                    self._late.add("told")
                    _log.log(timeouts.PROGRESS, _WAITING, self.identity, _TOLD_S, self.total_s)
                return running.result(seconds_left())
            except TimeoutError as error:
                self._late.add("once")
                raise http.Ended from error

    @contextmanager
    def _errors(self, body: Mapping[str, Any]) -> Iterator[None]:
        """Raise what the client raises in the block as errors of ours."""
        try:
            yield
        except RagsieveError:
            raise
        except (Exception, http.Ended) as error:  # the client's own, or its HTTP library's
            check_time(deadline())
            leaks = self._without_key(str(error)) != str(error)
            raise self._error(error, body) from (None if leaks else error)

    def _error(self, error: BaseException, body: Mapping[str, Any]) -> ModelError:
        if isinstance(error, http.Ended) and error.away:
            return Away(str(self._failed(error.what)))
        if isinstance(error, http.Ended):
            last = f"; the last was HTTP {refused[-1]}" if (refused := http.refused.get()) else ""
            return self._failed(error.what or f"no whole reply in total_s={self.total_s:g}{last}")
        if isinstance(error, openai.APITimeoutError):
            attempts = f"{self.max_retries + 1} attempt{'s' if self.max_retries else ''}"
            return _Late(str(self._failed(f"no reply in {self.timeout_s} s, {attempts}")))
        if isinstance(error, openai.APIStatusError):
            return self._translated(error, body)
        if isinstance(error, openai.OpenAIError | ValueError | RecursionError):
            if isinstance(error, openai.APIConnectionError):
                return Away(str(self._failed(f"no connection: {error.__cause__ or error}")))
            return self._failed(f"reply is not JSON: {error}")
        return self._failed(f"no whole reply: {error}")

    def _translated(self, error: openai.APIStatusError, body: Mapping[str, Any]) -> ModelError:
        if error.status_code < 400:
            return self._failed(f"HTTP {error.status_code}: a redirect, which is not followed")
        text, status = protocol.error_text(error.body), f"HTTP {error.status_code}"
        long = protocol.OVERFLOW.search(f"{error.code} {text}")
        if long and error.status_code in (*REFUSED, 500):
            status += ", the prompt does not fit the context"
            if told := protocol.overflow(text, body, self.model):
                return told
        return self._failed(f"{status}: {text}")

    def _without_key(self, text: str) -> str:
        """A line of an error without the key, of which a short one counts as a word of its own."""
        if self.api_key == "none":
            return text
        key = re.escape(self.api_key)
        return re.sub(key if len(self.api_key) > 7 else rf"(?<!\w){key}(?!\w)", "(key)", text)

    def _failed(self, what: str) -> ModelError:
        return ModelError(f"{self.identity}: {one_line(safe(self._without_key(what)), 400)}")
