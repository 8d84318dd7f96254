"""Rules for what tools return: which results are cut, where inside them, and what always stays."""

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import Any

from ragsieve.agents.envelopes import edges_of
from ragsieve.errors import InputError
from ragsieve.schema import Amount, Probability, Schema, check_options, hints_of, read
from ragsieve.structure import brackets
from ragsieve.structure.beginnings import beginnings
from ragsieve.structure.tree import KEY, Node
from ragsieve.text import json_value, safe
from ragsieve.types import Span

LEFT_OUT = "[left out]"
"""Text in the place of a field of which nothing is kept."""

_LOG_EDGES = 3  # first and last lines of a log that stay, where a rule does not say
_LINES = 10  # of a log, at least
_MOST = 1 << 20  # characters of a JSON result whose fields are looked at
_FAILED = re.compile(
    r"\s*(?:Traceback \(most recent call last\)|An error occurred|(?:[\w.]*(?:Error|Exception)"
    r"|error|fatal|panic|FATAL|ERROR)\b[:(! ]|(?:HTTP\S* )?[45]\d\d (?:Bad Request|Unauthorized"
    r"|Forbidden|Not Found|Method Not Allowed|Conflict|Gone|Too Many|Unprocessable|Internal Server"
    r"|Not Implemented|Bad Gateway|Service Unavailable|Gateway Time))"
)
_FLAGS: tuple[tuple[str, Any], ...] = (
    *(("isError", True), ("is_error", True), ("ok", False), ("success", False)),
    *(("status", "error"), ("status", "failed"), ("status", "failure")),
)


class ToolRule(Schema, frozen=True, kw_only=True):
    """How results of tools with some names are cut; of several rules the first that fits counts.

    Args:
        name: Pattern of the tools' names, as ``web_*``.
        cut: Whether they are cut at all.
        fields: Names of fields of a JSON result whose texts are cut; all else of it stays as it
            came. Where empty, the result is one text.
        whole: Names of fields of a JSON result that stay, with their values, as far as a budget has
            room behind what matters.
        max_tokens: Budget of each result's kept text; the filter's own where None.
        min_tokens: A result of fewer tokens passes as it is.
        min_saving: A result of which cutting saves a smaller share of tokens passes as it is.
        compact: Whether rows of one shape stand under their heads once: see
            `ragsieve.types.Layout`.
        edges: First and last lines that stay; where None, 3 of a log, and of other texts the first
            and last one where they are short, with lines beside them that are unlike the rest.
        max_unanswered: A result in which nothing seems to answer passes as it is up to so many
            tokens; of a longer one its outline is kept.

    Raises:
        InputError: If a value breaks its rule.
    """

    name: str = "*"
    cut: bool = True
    fields: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    max_tokens: Amount | None = None
    min_tokens: Amount = 200
    min_saving: Probability = 0.2
    edges: Amount | None = None
    max_unanswered: Amount = 2000
    compact: bool = True

    def __post_init__(self) -> None:
        check_options(self)
        for name in ("name", "fields", "whole"):
            read(hints_of(ToolRule)[name], getattr(self, name), name)
        if self.fields and self.whole:
            raise InputError(f"name fields or whole, not both, got {self.fields!r}, {self.whole!r}")


class ToolRules(Schema, frozen=True):
    """A file of rules.

    Args:
        tools: The rules, in order.
    """

    tools: tuple[ToolRule, ...]


def as_rules(tools: Sequence[str | ToolRule]) -> tuple[ToolRule, ...]:
    """Rules, a pattern of names being one with the usual values."""
    if isinstance(tools, str) or not isinstance(tools, Sequence):
        raise InputError(f"tools must be a list of patterns or rules, got {tools!r:.80}")
    return tuple(one if isinstance(one, ToolRule) else ToolRule(name=one) for one in tools)


def rule_for(name: str, rules: Sequence[ToolRule]) -> ToolRule | None:
    """The first rule for a tool; None where no rule has it cut."""
    rule = next((one for one in rules if fnmatchcase(name, one.name)), None)
    return rule if rule and rule.cut else None


def failed(text: str) -> bool:
    """Whether a result says that its tool failed, by its first words or its JSON's own fields."""
    if _FAILED.match(text[:500]):
        return not is_log(text)
    if not text[:50].lstrip().startswith("{") or len(text) > _MOST:
        return False
    return says_failed(json_value(text, {}))


def says_failed(value: Mapping[str, Any]) -> bool:
    """Whether an object's own fields say that a tool failed."""
    codes = [value.get(name) for name in ("exit_code", "exitCode", "returncode")]
    http = [value.get(name) for name in ("status", "status_code", "statusCode", "code")]
    return bool(
        value.get("error")
        or value.get("errors")
        or any(type(value.get(name)) is type(flag) and value[name] == flag for name, flag in _FLAGS)
        or any(isinstance(code, int) and code for code in codes)
        or any(isinstance(code, int) and 400 <= code < 600 for code in http)
    )


def is_log(text: str) -> bool:
    """Whether most lines of a text begin with a time."""
    if text.count("\n") + 1 < _LINES:
        return False
    lines = [any("S" in one.form for one in line) for line in beginnings(text)]
    return 2 * sum(lines) > len(lines)


def protected(text: str, rule: ToolRule) -> list[Span]:
    """Spans of a result that stay whatever else goes: first and last lines, and fields."""
    if rule.whole and text[:50].lstrip()[:1] in ("{", "["):
        return [(node.start, node.end) for key, node in _members(text) if key in rule.whole]
    if rule.edges is None and not is_log(text):
        return edges_of(text)
    edges = _LOG_EDGES if rule.edges is None else rule.edges
    lines = [match.span() for match in re.finditer(r"[^\n]*\S[^\n]*", text)]
    return [*lines[:edges], *lines[edges:][-edges:]] if edges else []


def field_texts(text: str, rule: ToolRule) -> list[tuple[Span, str]]:
    """Texts of the fields that a rule names, with the places of their JSON strings."""
    found = []
    for key, node in _members(text):
        literal = text[node.head - 1 : node.end]
        if key in rule.fields and literal[:1] in ('"', "'") and not node.children:
            with suppress(ValueError, SyntaxError):  # escapes that neither JSON nor Python has
                found.append(((node.head - 1, node.end), _said(literal)))
    return found


def _said(literal: str) -> str:
    """What a string of JSON, or as Python shows it, says."""
    with suppress(ValueError):
        return str(json.loads(literal, strict=False))
    return str(ast.literal_eval(literal))


def spliced(text: str, fields: Sequence[tuple[Span, str]]) -> str:
    """A JSON text with other strings in some places."""
    pieces, at = [], 0
    for (start, end), own in fields:
        ascii_only = text.isascii() or safe(own) != own  # what cannot be encoded is escaped
        pieces += [text[at:start], json.dumps(own, ensure_ascii=ascii_only)]
        at = end
    return "".join([*pieces, text[at:]])


def _members(text: str) -> Iterator[tuple[str, Node]]:
    """Members of the JSON that a text is, one value or several in a row, by key.

    The elements of a list have the key of the list.
    """
    left: list[tuple[str, Node]] = []
    end, size = 0, len(text.rstrip())
    while end < size:
        root, end = brackets.read(text, end)
        if not root or size > _MOST:
            return
        left.append(("", root))
    left.reverse()
    while left:
        key, node = left.pop()
        match = KEY.match(text, node.start, node.head)
        key = match[match.lastindex or 0] if match else key
        yield key, node
        left += [(key, child) for child in reversed(node.children)]
