"""Calls of an API: concurrent, none twice for a question, none fatal."""

import json
import re
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple, Protocol

from ragsieve.errors import InputError, NotFound, RagsieveError
from ragsieve.timeouts import start
from ragsieve.trace import note
from ragsieve_research.retrieve.apis.api import TEXT, Api, Endpoint
from ragsieve_research.retrieve.apis.sentences import bounded


class ApiHttp(Protocol):
    """A client of a server: `retrieve.fetch.Http`, or a fake; its errors are `RagsieveError`."""

    def get_json(self, path: str, params: Mapping[str, Any], /) -> Any:
        """The JSON behind ``path``, with ``params`` in its URL."""

    def post_json(self, path: str, body: Mapping[str, Any], /) -> Any:
        """The JSON that comes back for ``body``."""


class Value(NamedTuple):
    """A value for an argument, the name it is known by, and how well that matched, in [0, 100]."""

    value: Any
    name: str
    match: float = 100.0


class Call(NamedTuple):
    """An endpoint with a value for each of its arguments that are not fixed."""

    endpoint: Endpoint
    values: Mapping[str, Value]

    @property
    def arguments(self) -> dict[str, Any]:
        """All its arguments."""
        return {**self.endpoint.fixed, **{key: v.value for key, v in self.values.items()}}

    @property
    def label(self) -> str:
        """Identity of a call: method, path and arguments."""
        arguments = json.dumps(self.arguments, ensure_ascii=False)
        return f"{self.endpoint.method} {self.endpoint.path} {arguments}"


class ApiClient:
    """Asks an API for one question, and remembers the answers.

    ``failed`` says, a line a call, what the server did not answer. That it has nothing by a name
    that stands in the path is an answer.
    """

    def __init__(self, api: Api, http: ApiHttp) -> None:
        self.api = api
        self._http = http
        self._known: dict[str, Any] = {}
        self.failed: list[str] = []

    def about(self, name: str, text: str) -> Call:
        """The call of the endpoint ``name``, which takes an entity's own words, for ``text``."""
        endpoint = self.api[name]
        key = next(key for key, kind in endpoint.takes.items() if kind == TEXT)
        return Call(endpoint, {key: Value(text, text)})

    def ask(self, calls: Iterable[Call]) -> None:
        """Make the calls that were not made yet, all at once; note what fails.

        A server that hangs keeps no process alive.
        """
        new = {call.label: call for call in calls if call.label not in self._known}
        running = {label: start(partial(self._reply, call)) for label, call in new.items()}
        for label, reply in running.items():
            self._known[label] = None
            try:
                self._known[label] = reply.result()
            except RagsieveError as error:
                note(f"left out, {label} failed: {error}")
                unknown = isinstance(error, NotFound) and "{" in new[label].endpoint.path
                if not unknown and not isinstance(error, InputError):
                    self.failed.append(f"{label} failed: {error}")

    def answer(self, call: Call) -> Any:
        """The `sentences.bounded` answer of a call that was made; None where it has none."""
        return self._known.get(call.label)

    def _reply(self, call: Call) -> Any:
        arguments, path = call.arguments, call.endpoint.path
        ask = self._http.get_json if call.endpoint.method == "GET" else self._http.post_json
        for key in re.findall(r"\{(\w+)\}", path):
            value = str(arguments.pop(key, ""))
            if not value.strip(". ") or set("/\\") & set(value):
                raise InputError(f"{key} stands in the path, it cannot be {value!r}")
            path = path.replace(f"{{{key}}}", value)
        reply = ask(path, arguments)
        for key in filter(None, self.api.at.split(".")):
            reply = reply.get(key) if isinstance(reply, Mapping) else None
        return bounded(reply)
