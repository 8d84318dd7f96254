"""Requests to model servers: options, retries, and every failure as an error of one line."""

from __future__ import annotations

import json
import math
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, TypeVar

from ragsieve.errors import InputError, ModelError, check_positive, check_range, needs_extra
from ragsieve.models import protocol
from ragsieve.models.deadline import check_time, deadline, seconds_left
from ragsieve.models.reopen import Reopened
from ragsieve.text import safe

with needs_extra("openai"):
    import openai

T = TypeVar("T")
R = TypeVar("R")


class _Late(ModelError):
    """A request had no reply in its time, at any attempt."""


def _is_late(future: Future[Any]) -> bool:
    return future.exception() is None and isinstance(future.result(), _Late)


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
        concurrency: Requests in flight at once, for each call; over all calls no more than the
            slots of a server that tells them.

    Raises:
        InputError: If an option breaks its rule.
    """

    model: str
    base_url: str = field(default="", kw_only=True)
    api_key: str = field(default="", kw_only=True, repr=False)
    timeout_s: float = field(default=60.0, kw_only=True)
    max_retries: int = field(default=4, kw_only=True)
    concurrency: int = field(default=8, kw_only=True)

    backend: ClassVar[str]
    size: ClassVar[str]  # the option that limits a request

    def __post_init__(self) -> None:
        object.__setattr__(self, "base_url", self.base_url.rstrip("/"))
        object.__setattr__(self, "api_key", self.api_key or "none")
        if not self.model.strip():
            raise InputError(f"model must not be blank, got {self.model!r}")
        if not protocol.is_plain_url(self.base_url):
            secret = set("@?") & set(self.base_url)
            shown = "one with '@' or '?' (not shown)" if secret else repr(self.base_url)
            raise InputError(f"base_url must be http(s)://host[:port][/path], got {shown}")
        if not re.fullmatch("[!-~]+", self.api_key):
            raise InputError("api_key must be printable ASCII without spaces (value not shown)")
        check_range(self, max_retries=(0, None), concurrency=(1, None))
        if vars(self)[self.size] is not None:
            check_range(self, **{self.size: (1, None)})
        check_positive(self, timeout_s=math.inf)

    @property
    def identity(self) -> str:
        """The model and where it is served; a server does not tell its weights."""
        return f"{self.backend}:{self.model}@{self.base_url}"

    @cached_property
    def _client(self) -> openai.OpenAI:
        return openai.OpenAI(
            api_key=self.api_key,
            base_url=self.base_url,
            timeout=self.timeout_s,
            max_retries=self.max_retries,
            http_client=openai.DefaultHttpxClient(follow_redirects=False),
        )

    @cached_property
    def limits(self) -> protocol.Limits:
        """The slots and the context that the server tells, asked once; a server that is away none.

        llama.cpp tells both at ``/props``, vLLM and others the context in their list of models.
        """
        if "api.openai.com" in self.base_url:
            return protocol.Limits()
        client = self._client.with_options(max_retries=0, timeout=min(5.0, self.timeout_s))
        replies = []
        for path in (f"{self.base_url.removesuffix('/v1')}/props", "models"):
            try:
                replies.append(client.get(path, cast_to=object))
            except (openai.OpenAIError, ValueError, RecursionError):
                replies.append(None)
            if (told := protocol.limits(replies, self.model)).context:
                return told
        return told

    @cached_property
    def _slot(self) -> AbstractContextManager[Any]:
        """What a request holds while it is under way."""
        slots = self.limits.slots
        return threading.BoundedSemaphore(slots) if slots else nullcontext()

    def _map(self, function: Callable[[T], R], items: Sequence[T]) -> list[Future[R]]:
        """Ended futures, one an item; those not begun when one failed are cancelled.

        Replies that came are kept where others are late: those are asked again, one by one.

        Raises:
            Overdue: At the deadline; requests that are under way then end by themselves.
        """
        width = self.concurrency
        if len(items) > 1:
            width = min(width, self.limits.slots or width)

        def asked(item: T) -> R | _Late:
            try:
                return function(item)
            except _Late as error:
                return error

        results: list[Future[Any]] = [*self._mapped(asked, items, width)]
        failed = any(f.cancelled() or f.exception() for f in results)
        late = [n for n, f in enumerate(results) if not f.cancelled() and _is_late(f)]
        if late and not failed and len(late) < len(items):
            again = self._mapped(function, [items[n] for n in late], 1)
            for place, future in zip(late, again, strict=True):
                results[place] = future
            return results
        for place in late:
            error, results[place] = results[place].result(), Future()
            results[place].set_exception(error)
        return results

    def _mapped(
        self, function: Callable[[T], R], items: Sequence[T], width: int
    ) -> list[Future[R]]:
        if not items:
            return []
        pool = ThreadPoolExecutor(min(width, len(items)))
        try:
            futures = [pool.submit(function, item) for item in items]
            if wait(futures, seconds_left(), return_when=FIRST_EXCEPTION).not_done:
                check_time(deadline())
            pool.shutdown(cancel_futures=True)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
        return futures

    def _post(self, path: str, body: Mapping[str, Any]) -> Any:
        """The JSON value that the server replies with."""
        with self._slot, self._errors(body):
            data = self._client.post(path, cast_to=object, body=body)
            # a string is JSON that the server did not declare as such
            return json.loads(data) if isinstance(data, str) else data

    def _events(self, path: str, body: Mapping[str, Any]) -> Iterator[object]:
        """The JSON values of the events that the server replies with; a refusal is raised now."""
        with self._errors(body):
            kind = openai.Stream[object]
            events = self._client.post(
                path, cast_to=object, body=body, stream=True, stream_cls=kind
            )
        return self._of_stream(events)

    def _of_stream(self, events: openai.Stream[object]) -> Iterator[object]:
        try:
            yield from events
        except Exception as error:  # the client's own, or its HTTP library's, by its version
            raise self._failed(f"the stream broke off: {error}") from error
        finally:
            events.close()

    @contextmanager
    def _errors(self, body: Mapping[str, Any]) -> Iterator[None]:
        """Raise what the client raises in the block as errors of ours."""
        try:
            yield
        except openai.APITimeoutError as error:
            attempts = f"{self.max_retries + 1} attempt{'s' if self.max_retries else ''}"
            raise _Late(str(self._failed(f"no reply in {self.timeout_s} s, {attempts}"))) from error
        except openai.APIStatusError as error:
            leaks = self.api_key != "none" and self.api_key in str(error)
            raise self._translated(error, body) from (None if leaks else error)
        except openai.APIConnectionError as error:
            raise self._failed(f"no connection: {error.__cause__ or error}") from error
        except (openai.OpenAIError, ValueError, RecursionError) as error:
            raise self._failed(f"reply is not JSON: {error}") from error

    def _translated(self, error: openai.APIStatusError, body: Mapping[str, Any]) -> ModelError:
        if error.status_code < 400:
            return self._failed(f"HTTP {error.status_code}: a redirect, which is not followed")
        return self._failed(f"HTTP {error.status_code}: {protocol.error_text(error.body)}")

    def _failed(self, what: str) -> ModelError:
        if self.api_key != "none":
            what = what.replace(self.api_key, "(key)")
        return ModelError(f"{self.identity}: {' '.join(safe(what).split())[:400]}")
