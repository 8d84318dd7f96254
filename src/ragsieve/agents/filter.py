"""The filter of tool results that the proxy, MCP and the agents' middleware share.

A result is cut once: what is left of it depends on the result and on the messages before it, never
on later ones, so that a provider's cache of the conversation's beginning holds.
"""

import json
import logging
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import accumulate
from typing import Any, NamedTuple

from msgspec import structs

from ragsieve.adapter import Adapter, kept, over_limits, probability
from ragsieve.agents import rules
from ragsieve.agents.envelopes import content_of
from ragsieve.agents.keeping import kept_by, outlined
from ragsieve.agents.messages import (
    Place,
    Spot,
    Texts,
    ToolResult,
    runs_of,
    tool_results,
    with_contents,
)
from ragsieve.agents.omitted import PAGE, ROOM, DroppedPage, handle_of, room_of, shown
from ragsieve.agents.prefixes import Prefixes
from ragsieve.agents.rules import ToolRule
from ragsieve.documents import unused_id
from ragsieve.errors import InputError, Overdue, typed_line
from ragsieve.models.lru import LRU
from ragsieve.result import Result, Tokens
from ragsieve.text import counted
from ragsieve.types import Span

logger = logging.getLogger(__name__)

NOTHING = "[nothing in this result matters to the question]"
"""Text in the place of a result of which nothing is kept, where no limit left it out."""

SHOW_DROPPED = "show_dropped"
"""Name of the tool that gives back what was cut, whose own results are never cut."""


Budgets = Mapping[str, int]
"""Limits of `ragsieve.context.budget.ContextBudget` by their names."""

_Stretch = tuple[Spot, int, int]  # a place in a content, and where that is in a document

_FAILED = "the filter failed"
_LINE, _SHORT = 200, 0.1  # characters of a part beside another, and share of that one's, at most
_REMEMBERED = 512  # results


@dataclass(frozen=True)
class Outcome:
    """What became of a tool's result.

    Args:
        tool: The tool's name.
        call: The call's id.
        question: What the result was read for.
        tokens_before: Its tokens as the tool returned it, in the reader's tokenizer.
        tokens_after: Its tokens as the model reads it.
        passed: Why it passed as it was; empty where it was cut.
        handle: By which `ToolFilter.show_dropped` shows what was cut; empty where nothing was.
        texts: Its new texts by their places in the content; empty where it passed.
        warnings: What the filter did without, or how it failed, a line each.
        result: What the filter made of its texts; None where it passed.
        places: Of the result's documents, by their ids: the places of their texts in the content,
            and where these begin and end in the document.
        calls: Model calls of the filter now; none where the outcome was remembered.
    """

    tool: str
    call: str
    question: str
    tokens_before: int
    tokens_after: int
    passed: str = ""
    handle: str = ""
    texts: Texts = field(default_factory=dict, repr=False)
    warnings: tuple[str, ...] = ()
    result: Result | None = field(default=None, repr=False)
    places: Mapping[str, Sequence[_Stretch]] = field(default_factory=dict, repr=False)
    calls: int = field(default=0, repr=False)

    @property
    def about(self) -> dict[str, Any]:
        """Provenance as JSON values: see `ragsieve.integrations.langchain.filter_tool_messages`."""
        about: dict[str, Any] = {"kept": [], "dropped": [], "handle": self.handle}
        if self.result is None:
            return about
        for row in self.result.rows:
            more = () if row["kept"] else ("stage", "reason")
            for place, begin, end in self.places.get(row["document"], ()):
                start, end = max(row["start"], begin), min(row["end"], end)
                text = row["text"][start - row["start"] : end - row["start"]]
                span = {"part": place, "start": start - begin, "end": end - begin, "text": text}
                span |= {name: row[name] for name in ("score", *more)}
                about["kept" if row["kept"] else "dropped"] += [span] if start < end else []
        found = kept(self.result, range(len(self.result.documents)))
        if written := [one.about for one in found if one.place is None]:
            about["written"] = written
        return {**about, "question": self.question, "answerable": probability(self.result)}

    def to_dict(self) -> dict[str, Any]:
        """All but its texts and what is in them, as JSON values; and ``answerable``."""
        values = {one.name: getattr(self, one.name) for one in fields(self) if one.repr}
        chance = probability(self.result) if self.result else None
        return {**values, "warnings": [*self.warnings], "answerable": chance}


@dataclass(frozen=True)
class Cut:
    """A conversation as the model is to read it, and what that saves and costs.

    Args:
        messages: All messages, in order.
        outcomes: What became of each result that a rule cuts, by its place, see
            `ragsieve.agents.messages.Place`; one on which the filter failed counts no tokens.
        seconds: What filtering took now; a result that was cut before costs nothing again.
        cache_broken: Tokens sent before that read otherwise now, so that a provider cannot take
            them from its cache; see `ragsieve.agents.prefixes`.
    """

    messages: list[Any]
    outcomes: Mapping[Place, Outcome] = field(default_factory=dict)
    seconds: float = 0.0
    cache_broken: int = 0

    @property
    def tokens(self) -> Tokens:
        """Tokens of all results before and after."""
        outcomes = self.outcomes.values()
        return Tokens(sum(o.tokens_before for o in outcomes), sum(o.tokens_after for o in outcomes))


class ToolFilter:
    """Cuts what tools returned to what their calls asked for, by rules.

    Messages are as in `ragsieve.agents.messages`. All stay, in order and with their ids; images
    and the like pass as they are. A result passes as it was where no rule fits, where its tool
    failed, where there is no question, where it is small, and where too little would be saved. Many
    threads may share one.

    Args:
        sieve: The filter; its ``max_tokens`` bounds each result.
        tools: Patterns of tools' names, or rules; the first that fits a tool counts.
        on_result: Called with each result of the filter, once, whose documents have the ids of the
            calls: what was kept and dropped, and why; a second text of the same call is ``ID#2``.
        on_cut: Called with each conversation that is cut: what was saved, and what it took.
        tell: Whether a result that was cut ends with a line that says so, and how to get the rest:
            by a tool `SHOW_DROPPED` with the line's handle.
        label: What the filter is, where the same handle is not to stand for results of another one.

    Raises:
        InputError: If ``sieve`` is no adapter, or ``tools`` no list of patterns and rules.
    """

    def __init__(
        self,
        sieve: Adapter | None = None,
        tools: Sequence[str | ToolRule] = ("*",),
        *,
        on_result: Callable[[Result], object] | None = None,
        on_cut: Callable[[Cut], object] | None = None,
        tell: bool = True,
        label: str = "",
    ) -> None:
        if not isinstance(sieve, Adapter | None):
            raise InputError(f"sieve must be an Adapter, got {sieve!r:.80}")
        self.sieve, self.rules, self.tell = sieve or Adapter(), rules.as_rules(tools), tell
        self.label = label or (self.sieve.system if isinstance(self.sieve.system, str) else "")
        self._on_result, self._on_cut = on_result, on_cut
        self._outcomes: LRU[str, Outcome] = LRU(_REMEMBERED, lambda one: room_of(one.result), ROOM)
        self._prefixes = Prefixes()

    def __call__(self, messages: Sequence[Any]) -> Cut:
        """The conversation with its results cut; pass the messages as the tools returned them.

        Args:
            messages: The conversation; none is changed.
        """
        cut = self.cut(messages)
        if any(one.tokens_before for one in cut.outcomes.values()):
            count = self.sieve.loaded.reader.count
            cut = replace(cut, cache_broken=self._prefixes.broken(messages, cut.messages, count))
        try:
            if self._on_cut:
                self._on_cut(cut)
        except Exception as error:  # anyone's callback, as of ``on_result``
            if self.sieve.on_error == "raise":
                raise
            logger.warning("on_cut failed: %s", typed_line(error))
        return cut

    def cut(self, messages: Sequence[Any], budgets: Mapping[str, int] = {}) -> Cut:
        """The same, where the caller sees to what a provider's cache holds.

        Args:
            messages: The conversation; none is changed.
            budgets: Limits of each result, in place of the filter's own and of rules: see
                `ragsieve.context.budget.ContextBudget`.
        """
        began = time.perf_counter()
        made = ((one.place, self._outcome(one, budgets)) for one in tool_results(messages))
        outcomes = {place: outcome for place, outcome in made if outcome}
        cut = with_contents(messages, {n: o.texts for n, o in outcomes.items() if o.texts})
        return Cut(cut, outcomes, time.perf_counter() - began)

    def remembers(self, handle: str) -> bool:
        """Whether a handle is of a result that is remembered."""
        return bool(self._outcomes.find([handle]))

    def show_dropped(
        self, handle: str, query: str = "", cursor: str = "", max_tokens: int = PAGE
    ) -> DroppedPage:
        """Show what was left out of a result, and why: a page of it.

        Args:
            handle: Of the result.
            query: Show only what has a word of this, the best first.
            cursor: Of the page before, to read on.
            max_tokens: The page is never longer.

        Raises:
            InputError: If the handle is of no result that is remembered, or an argument breaks its
                rule.
        """
        known = self._outcomes.find([handle]).get(handle)
        result, reader = known.result if known else None, self.sieve.loaded.reader
        return shown(handle, result, reader, max_tokens, query=query, cursor=cursor)

    def dropped_text(self, handle: str, query: str, cursor: str) -> str:
        """`show_dropped` as a tool of an agent replies: JSON, or a line that says what is wrong."""
        try:
            return json.dumps(asdict(self.show_dropped(handle, query, cursor)))
        except InputError as error:
            return f"Error: {error}"

    def _outcome(self, one: ToolResult, budgets: Budgets) -> Outcome | None:
        own = one.tool.endswith(SHOW_DROPPED)  # agents put names of MCP servers before it
        rule = None if own else rules.rule_for(one.tool, self.rules)
        if rule is None or not one.texts:
            return None
        how = self.label, dict(self.sieve.options), self.sieve.max_tokens, structs.asdict(rule)
        handle = handle_of(*how, dict(budgets), *one[1:])
        outcome = self._outcomes.find([handle]).get(handle)
        try:
            outcome = outcome or self._cut(one, rule, handle, budgets)
        except Exception as error:  # anyone's stage: "keep" promises the result, whatever fails
            if self.sieve.raises(error):
                raise
            line = typed_line(error)
            logger.warning("a tool's result passes as it was, ragsieve failed: %s", line)
            outcome = Outcome(one.tool, one.call, one.question, 0, 0, _FAILED, warnings=(line,))
            if isinstance(error, Overdue):
                return outcome  # the next turn may have the time
        self._outcomes.keep({handle: replace(outcome, calls=0)})  # a failure, too, for later turns
        return outcome

    def _cut(self, one: ToolResult, rule: ToolRule, handle: str, budgets: Budgets) -> Outcome:
        system = self.sieve.loaded.at(**{"max_tokens": rule.max_tokens, **budgets})
        system = replace(system, layout=replace(system.layout, compact=rule.compact))
        tokens = sum(system.reader.count([text for _, text in one.texts]))
        runs = runs_of(one.texts)
        joined = ((run[-1][0], "\n".join(text for _, text in run)) for run in runs)
        whole = one._replace(texts=(*joined,))
        reason = _reason(whole, tokens, rule)
        one, runs = (one, []) if rule.fields else (whole, runs)  # fields are of an item by itself
        pieces = _pieces(one, rule)
        named = [{"id": p.name, "text": p.text, "title": p.title} for p in pieces]
        reason = reason or ("" if named else "it has none of the fields")
        passed = Outcome(one.tool, one.call, one.question, tokens, tokens, reason)
        if reason:
            return passed
        result = kept_by(system, one.question, named, rule)
        steps = result.trace.steps
        unanswered = any(one.stage.startswith("Answerable(") and one.dropped for one in steps)
        passes = unanswered and tokens <= rule.max_unanswered
        if unanswered and not passes:
            result = outlined(system, result)
        if self._on_result:
            self._on_result(result)
        calls, warnings = result.costs["calls"], tuple(result.trace.warnings)
        passed = replace(passed, warnings=warnings, calls=calls)
        if passes:
            return replace(passed, passed="nothing in it seems to answer")
        new = _contents(one, rule, pieces, result)
        if self.tell:
            last = one.texts[-1][0]
            new[last] = "\n\n".join(filter(None, [new[last], _line(handle, result, unanswered)]))
        after = sum(system.reader.count([*new.values()]))
        if after > tokens * (1 - rule.min_saving):
            return replace(passed, passed=f"under {rule.min_saving:.0%} would be saved")
        new |= {place: "" for run in runs for place, _ in run[:-1]}
        places = {p.name: _stretches(p, rule, runs) for p in pieces}
        cut = replace(passed, tokens_after=after, handle=handle, texts=new)
        return replace(cut, result=result, places=places)


def _reason(one: ToolResult, tokens: int, rule: ToolRule) -> str:
    """Why a result passes as it is, whatever the filter says of it; empty where it does not."""
    if one.failed or any(rules.failed(text) for _, text in one.texts):
        return "its tool failed"
    if not one.question.strip():
        return "there is no question"
    return f"under {rule.min_tokens} tokens" if tokens < rule.min_tokens else ""


class _Piece(NamedTuple):
    """A text of a result that is filtered: what a rule's fields say, or the content of all of it.

    Args:
        name: The id of its document.
        title: That of its part, or of the result.
        place: Place in the result's content of the text in which it stands.
        span: Where it stands there.
        text: What is filtered.
    """

    name: str
    title: str
    place: Spot
    span: Span
    text: str


def _pieces(one: ToolResult, rule: ToolRule) -> list[_Piece]:
    used: Counter[str] = Counter()
    pieces = []
    short = min(_LINE, max(len(text) for _, text in one.texts) * _SHORT)
    for place, text in one.texts:
        if not rule.fields and len(text) < short and "\n" not in text.strip():
            continue  # what the tool says about the others
        content = content_of(text)
        found = rules.field_texts(text, rule) if rule.fields else [(content, text[slice(*content)])]
        pieces += [(place, *own) for own in found if own[1].strip()]
    titles = defaultdict(lambda: one.title, one.titles)
    return [_Piece(unused_id(one.call, used), titles[piece[0]], *piece) for piece in pieces]


def _stretches(piece: _Piece, rule: ToolRule, runs: Sequence[Any]) -> list[_Stretch]:
    """Where the parts that a piece is read from stand in its document."""
    if rule.fields:
        return [(piece.place, 0, len(piece.text))]
    (run,) = (run for run in runs if run[-1][0] == piece.place)
    begins = accumulate((len(text) + 1 for _, text in run), initial=-piece.span[0])
    return [(n, begin, begin + len(text)) for (n, text), begin in zip(run, begins, strict=False)]


def _contents(
    one: ToolResult, rule: ToolRule, pieces: Sequence[_Piece], result: Result
) -> dict[Spot, str]:
    """The new texts of a result; what a model wrote from several stands at the end of the last."""
    found = kept(result, range(len(result.documents)))
    known = {part.document.id: part.text for part in found if part.place is not None}
    beside = rule.fields or (len(pieces) > 1 and known)  # what is gone is told by what is there
    limited = {} if beside else over_limits(result)
    nothing = rules.LEFT_OUT if beside else NOTHING
    new = dict(one.texts)
    for place, text in one.texts:
        own = [piece for piece in pieces if piece.place == place]
        if rule.fields:
            fields = [(piece.span, known.get(piece.name, nothing)) for piece in own]
            new[place] = rules.spliced(text, fields)
        for piece in () if rule.fields else own:
            inner = known.get(piece.name, limited.get(piece.name, nothing))
            around = text[: piece.span[0]].rstrip(), inner, text[piece.span[1] :].lstrip()
            new[place] = "\n".join(filter(None, around))
    if more := [part.text for part in found if part.place is None]:
        last = one.texts[-1][0]
        begins = [] if new[last] in (nothing, *limited.values()) else [new[last]]
        new[last] = "\n\n".join([*begins, *more])
    return new


def _line(handle: str, result: Result, unanswered: bool) -> str:
    """What says that something was left out, and how to get it back; nothing where all is there."""
    if not result.dropped:
        return ""
    gone = counted(len(result.dropped), "part")
    tokens = f"{result.tokens.after} of {result.tokens.before} tokens kept"
    outline = "nothing here seems to answer, this is an outline: " * unanswered
    return f"[{outline}{tokens}, {gone} left out: {SHOW_DROPPED}(handle={handle!r})]"
