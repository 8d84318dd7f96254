"""Systems as requests use them: looked up by name, limited, counted."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from starlette.responses import Response

from ragsieve.adapter import Adapter
from ragsieve.agents.filter import ToolFilter
from ragsieve.agents.omitted import DroppedPage
from ragsieve.agents.prefixes import Prefixes
from ragsieve.documents import AnyDocument
from ragsieve.errors import InputError
from ragsieve.result import Result, Tokens
from ragsieve.server.documents import ChatDocuments
from ragsieve.server.faults import Fault, fault_of, json_response
from ragsieve.server.metrics import Metrics
from ragsieve.server.rerank_shapes import RerankIn, TextsIn
from ragsieve.server.savings import Savings
from ragsieve.server.settings import Settings
from ragsieve.server.shapes import DocumentIn, FilterIn, InspectIn, QuestionIn
from ragsieve.server.sizes import over_tokens
from ragsieve.server.work import Work
from ragsieve.spec import entry
from ragsieve.system import System

logger = logging.getLogger(__name__)

DocumentsRequest = QuestionIn | InspectIn | RerankIn | TextsIn | ChatDocuments
"""Requests with a question and documents."""

_WARM = ("Is it warm?", ["It is warm."])


class Service:
    """State that routes share.

    Args:
        systems: Systems by name, the default first.
        settings: What is allowed.
    """

    def __init__(self, systems: Mapping[str, System], settings: Settings) -> None:
        self.systems = dict(systems)
        self.settings = settings
        self.prefixes = Prefixes()
        self.work = Work(settings.limits)
        self.metrics = Metrics(self.work)
        made = partial(ToolFilter, tools=settings.filter_tools, on_result=self.metrics.ran)
        self.tool_filters = {n: made(Adapter(one), label=n) for n, one in systems.items()}
        self.savings = Savings(settings.savings) if settings.savings else None
        self.unready = "models are being loaded" if settings.warm else ""

    def named(self, name: str | None) -> str:
        """A system's name: the default's for none.

        Raises:
            Fault: 422 if there is no such system.
        """
        if name is None:
            return next(iter(self.systems))
        if name not in self.systems:
            known = ", ".join(self.systems)
            raise Fault(422, "unknown_system", f"system must be one of {known}, got {name!r:.80}")
        return name

    def check_documents(self, documents: Sequence[Any] | None) -> None:
        """Raise `Fault` 413 if there are more documents than may be."""
        most = self.settings.limits.max_documents
        if documents and len(documents) > most:
            message = f"max_documents must be at most {most}, got {len(documents)}"
            raise Fault(413, "too_many_documents", message)

    def run(self, system: System, request: DocumentsRequest, *, ask: bool = False) -> Result:
        """The result of a system; blocks, for `Work` to run.

        Raises:
            Fault: 413 if the documents have more tokens than may be.
        """
        result = (system.ask if ask else system)(request.query, self._documents(system, request))
        self.metrics.ran(result)
        return result

    def stream(
        self, system: System, request: FilterIn, on_kept: Callable[[Result], object]
    ) -> Iterator[str | Result]:
        """Pieces of the answer, then the result; see `System.ask_stream`, and `run`."""
        documents = self._documents(system, request)
        for piece in system.ask_stream(request.query, documents, on_kept=on_kept):
            if isinstance(piece, Result):
                self.metrics.ran(piece)
            yield piece

    def saved(self, route: str, tokens: Iterable[tuple[str, Tokens]]) -> None:
        """Keep tokens before and after of a request, where they are kept; blocks."""
        if self.savings:
            self.savings.add(route, tokens)

    async def respond(self, values: Callable[[], Any]) -> Response:
        """A response of the JSON values of a function, which `Work` runs."""
        return await self.work.run(lambda: json_response(values()))

    def show_dropped(self, handle: str, query: str, cursor: str, max_tokens: int) -> DroppedPage:
        """What was left out of a tool's result, whichever system cut it; blocks.

        Raises:
            InputError: As `ToolFilter.show_dropped`.
        """
        own = [one for one in self.tool_filters.values() if one.remembers(handle)]
        first = own[0] if own else next(iter(self.tool_filters.values()))
        return first.show_dropped(handle, query, cursor, max_tokens)

    def warm_up(self) -> None:
        """Load the models, by a question of one sentence to each system; blocks."""
        try:
            for name, system in self.systems.items():
                result = system(*_WARM)
                self.metrics.ran(result)
                spent = result.costs["calls"], result.costs["tokens_in"]
                logger.info("%s is warm: %d model calls, %d tokens read", name, *spent)
            self.unready = ""
        except Exception as error:  # anyone's system: it may come right, and the server says so
            self.unready = fault_of(error).detail or "a model failed"
            logger.warning("not ready: %s", self.unready)

    def summaries(self) -> list[dict[str, str]]:
        """Systems with what each keeps, the default first."""
        return [{"name": name, "summary": _summary(name)} for name in self.systems]

    def _documents(self, system: System, request: DocumentsRequest) -> list[AnyDocument] | None:
        """Documents of a request as `System.__call__` takes them; not more tokens than may be."""
        plain = None if request.documents is None else plain_documents(request.documents)
        self.check_size(system, [request.query, plain])
        return plain

    def check_size(self, system: System, value: Any) -> None:
        """Raise `Fault` 413 if the texts of a JSON value have more tokens than may be."""
        most = self.settings.limits.max_tokens
        if got := over_tokens(value, most, system.reader.count):
            message = f"max_tokens must be at most {most}, got {got} in question and documents"
            raise Fault(413, "too_many_tokens", message)


def plain_documents(documents: Sequence[Any]) -> list[AnyDocument]:
    """Documents of a request as `System.__call__` takes them."""
    return [dict(one) if isinstance(one, DocumentIn) else one for one in documents]


def result_dict(result: Result, name: str, *, trace: bool) -> dict[str, Any]:
    """A result as JSON values, with the system's name."""
    values = {"system": name, **result.to_dict(documents=False)}
    if not trace:
        del values["trace"]
    return values


def _summary(name: str) -> str:
    try:
        return entry(name).summary
    except InputError:  # somebody's own
        return ""
