"""A chat request as it is forwarded: its documents and its results of tools, each filtered once.

Documents of a user's message are filtered for that message, results of tools for their calls, so
that a conversation's beginning reads the same at every later turn: see
`ragsieve.agents.filter`.
"""

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ragsieve.adapter import probability
from ragsieve.agents.filter import Budgets, Cut
from ragsieve.agents.messages import listed, results_in, runs_of, texts, tool_results, with_contents
from ragsieve.errors import InputError
from ragsieve.result import Result, Tokens
from ragsieve.server.documents import OPEN, ChatDocuments, documents_of, users_of, without_documents
from ragsieve.server.faults import fault_of
from ragsieve.server.service import Service, result_dict
from ragsieve.system import System
from ragsieve.timeouts import check_time, deadline

logger = logging.getLogger(__name__)


@dataclass
class Forwarded:
    """A request as it is forwarded.

    Args:
        system: The name of the system that filters.
        body: The request; None for the one that came, byte by byte.
        results: What the system made of documents, a message of a user each.
        cut: What became of results of tools.
        errors: How filtering failed, and what stages did without.
        unread: Names of fields of documents that nothing reads.
        seconds: What filtering took.
        cache_broken: See `ragsieve.agents.filter.Cut`.
    """

    system: str
    body: dict[str, Any] | None = None
    results: list[Result] = field(default_factory=list)
    cut: Cut = field(default_factory=lambda: Cut([]))
    errors: list[str] = field(default_factory=list)
    unread: tuple[str, ...] = ()
    seconds: float = 0.0
    cache_broken: int = 0

    @contextmanager
    def failing_open(self) -> Iterator[None]:
        """Note what fails in a block: whatever it is, it shall not cost the answer."""
        try:
            yield
        except Exception as error:
            reason = str(error) if isinstance(error, InputError) else fault_of(error).detail
            logger.warning("documents were forwarded unfiltered: %s", reason)
            self.errors.append(f"forwarded unfiltered: {reason}")

    @property
    def saving(self) -> dict[str, Any]:
        """Tokens before and after, seconds, and tokens that a provider's cache lost by it."""
        return {
            "tokens_before": sum(one.before for _, one in self.tokens),
            "tokens_after": sum(one.after for _, one in self.tokens),
            "seconds": round(self.seconds, 4),
            "cache_broken": self.cache_broken,
        }

    @property
    def tokens(self) -> list[tuple[str, Tokens]]:
        """Tokens before and after of each result by its tool's name; of documents by none."""
        outcomes = self.cut.outcomes.values()
        cut = [(o.tool, Tokens(o.tokens_before, o.tokens_after)) for o in outcomes]
        return [*(("", one.tokens) for one in self.results), *cut]

    @property
    def headers(self) -> dict[str, Any]:
        """What the client is told, see `as_headers`; empty where there was nothing to filter."""
        outcomes, told = self.cut.outcomes.values(), dict[str, Any](System=self.system)
        told |= {"Error": "; ".join(dict.fromkeys(self.errors)), "Ignored": ", ".join(self.unread)}
        if self.results or outcomes:
            calls = sum(r.costs["calls"] for r in self.results) + sum(o.calls for o in outcomes)
            kept = sum(len({s.document.id for s in one.kept}) for one in self.results)
            told |= {
                **self.saving,
                "Answerable": probability(self.results[-1]) if self.results else None,
                "Documents": f"{kept}/{sum(len(one.documents) for one in self.results)}",
                "Tool-Results": f"{sum(bool(o.texts) for o in outcomes)}/{len(outcomes)}",
                "Model-Calls": calls,
            }
        elif not self.errors:
            return {}
        return {f"X-Ragsieve-{n.replace('_', '-').title()}": one for n, one in told.items()}

    @property
    def report(self) -> Mapping[str, Any] | None:
        """The last documents' result, what became of results of tools, and what was saved."""
        if not self.results and not self.cut.outcomes:
            return None
        own = {"system": self.system}
        if self.results:
            own = result_dict(self.results[-1], self.system, trace=True)
        outcomes = [outcome.to_dict() for outcome in self.cut.outcomes.values()]
        return {**own, "tool_results": outcomes, "saving": self.saving}


def has_work(service: Service, body: Mapping[str, Any]) -> bool:
    """Whether a request may have documents, or results of tools that are filtered."""
    some = [one for one in listed(body.get("messages")) if isinstance(one, dict)]
    cuts = service.settings.filter_tools
    if body.get("documents") or (cuts and any(results_in(0, one) for one in some)):
        return True
    users = (one for one in some if one.get("role") == "user")
    return any(OPEN in text for one in users for _, text in texts(one.get("content")))


def sieved(service: Service, name: str, budgets: Budgets, body: dict[str, Any]) -> Forwarded:
    """A request with less of its documents and results of tools; blocks, for `Work` to run.

    Whatever fails is said in ``errors``, and what it would have filtered is there as it came.

    Args:
        service: Its systems filter.
        name: Which of them.
        budgets: Limits of each message's documents and of each result, in place of the system's
            own: see `ragsieve.context.budget.ContextBudget`.
        body: The request; nothing in it is changed.
    """
    began = time.perf_counter()
    system = service.systems[name].at(**budgets)
    forwarded = Forwarded(name)
    changed = _with_documents(service, system, body, forwarded)
    messages = changed.get("messages")
    if service.settings.filter_tools and isinstance(messages, list):
        with forwarded.failing_open():
            results = [one.texts for one in tool_results(body["messages"])]
            service.check_documents([run for one in results for run in runs_of(one)])
            service.check_size(system, [text for one in results for _, text in one])
            asked = [*map(without_documents, body["messages"])]
            forwarded.cut = service.tool_filters[name].cut(asked, budgets)
            outcomes = forwarded.cut.outcomes
            new = {place: outcome.texts for place, outcome in outcomes.items() if outcome.texts}
            messages = with_contents(messages, new)
            forwarded.errors += [line for one in outcomes.values() for line in one.warnings]
        changed = {**changed, "messages": messages}
    if forwarded.headers:
        forwarded.body = changed if changed != body else None
        sent, count = changed["messages"], system.reader.count
        forwarded.seconds = time.perf_counter() - began
        forwarded.cache_broken = service.prefixes.broken(body["messages"], sent, count)
    return forwarded


def _with_documents(
    service: Service, system: System, body: dict[str, Any], forwarded: Forwarded
) -> dict[str, Any]:
    """The request with less of the documents of each message of a user."""
    users = users_of(body.get("messages"))
    chats: list[ChatDocuments] = []
    for at in users:
        with forwarded.failing_open():
            if chat := documents_of(body, None if at == users[-1] else at):
                chats.append(chat)
                forwarded.unread = chat.unread
    documents = [one for chat in chats for one in chat.documents]
    fits = False
    with forwarded.failing_open():
        service.check_documents(documents)
        service.check_size(system, documents)
        fits = True
    for chat in chats:
        changed = chat.unfiltered(body)
        with forwarded.failing_open():
            if fits:
                check_time(deadline())
                result = service.run(system, chat)
                changed = chat.filtered(body, result)
                forwarded.results.append(result)
                forwarded.errors += result.trace.warnings
        body = changed
    return body
