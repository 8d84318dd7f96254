"""JSON to sentences: by a template of the table, or by rules where there is none."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from ragsieve.errors import InputError, needs_extra, one_line
from ragsieve.text import safe

with needs_extra("records"):
    import jinja2
    from jinja2.sandbox import ImmutableSandboxedEnvironment

_DEPTH = 12
_VALUES = 50_000
_CHARS = 20_000
_LARGEST = 10**30
_MAX_CHARS = 100_000
_ITEMS = 20  # of a list in one sentence
_UNREADABLE = (  # what a template can raise over values of another shape than it was written for
    jinja2.TemplateError,
    TypeError,
    ValueError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_REFERENCE = re.compile(r"<ref\b[^<>]{0,500}(?<!/)>.*?</ref>", re.DOTALL)
_NULL: tuple[Any, ...] = ("", [], {}, None)


def bounded(value: Any) -> Any:
    """``value`` as plain JSON of a size that is safe to read, print and copy.

    At most 12 levels and 50,000 values deep and wide, strings of 20,000 characters without control
    characters; what lies beyond, and numbers that are not finite or over 1e30, become None.
    """
    return _bounded(value, _DEPTH, [_VALUES])


def _bounded(value: Any, depth: int, left: list[int]) -> Any:
    left[0] -= 1
    if left[0] < 0:
        return None
    if isinstance(value, str):
        return safe(value[:_CHARS])
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float):
        return value if abs(value) <= _LARGEST else None  # nor NaN, which is not less than anything
    if depth <= 0:
        return None
    if isinstance(value, Mapping):
        pairs = _first(value.items(), left)
        return {safe(str(k)[:200]): _bounded(v, depth - 1, left) for k, v in pairs}
    if isinstance(value, list | tuple):
        return [_bounded(item, depth - 1, left) for item in _first(value, left)]
    return safe(str(value)[:_CHARS])


def _first(items: Iterable[Any], left: list[int]) -> Iterator[Any]:
    for item in items:
        if left[0] <= 0:
            return
        yield item


def render(template: str, values: Mapping[str, Any]) -> str:
    """Sentences that ``template`` makes of ``values``, on one line.

    The template runs in a sandbox; values are data to it, whatever stands in them. It sees what is
    in ``values``, and the filters ``fact``, ``figure``, ``plain``, ``rows`` and ``series``.

    Raises:
        InputError: If the values lack what the template needs, or have another shape.
    """
    try:
        return " ".join(_compiled(template).render(values).split())
    except _UNREADABLE as error:
        reason = one_line(error, 200)
        raise InputError(f"the reply must fit its template: {reason}") from error


def check(template: str, name: str) -> None:
    """Compile ``template``.

    Raises:
        InputError: If it is no template; the message begins with ``name``.
    """
    try:
        _compiled(template)
    except jinja2.TemplateError as error:
        raise InputError(f"{name} must be a Jinja template: {error}") from error


class _Environment(ImmutableSandboxedEnvironment):
    def getitem(self, obj: Any, argument: Any) -> Any:
        """An item, and no attribute in its stead: text has no title, though it has a method."""
        try:
            return obj[argument]
        except (TypeError, LookupError):
            return self.undefined(obj=obj, name=argument)


def _value(value: Any) -> Any:
    if callable(value):
        raise jinja2.UndefinedError("a method is no value")
    return value


@cache
def _compiled(template: str) -> jinja2.Template:
    environment = _Environment(
        autoescape=False, undefined=jinja2.StrictUndefined, trim_blocks=True, finalize=_value
    )
    environment.filters |= {f.__name__: f for f in (fact, figure, plain, rows, series)}
    return environment.from_string(template)


def fact(record: Any, key: str, form: str) -> str:
    """A sentence about one value of ``record``; empty where there is none.

    ``form`` says where the value goes by ``{}``: ``"It was released on {}."``
    """
    value = record.get(key) if isinstance(record, Mapping) else None
    if value in _NULL or isinstance(value, jinja2.Undefined):
        return ""
    text = series(value) if isinstance(value, list) else figure(value)
    return form.replace("{}", text) if text else ""


def figure(value: Any) -> str:
    """A single value as people write it: ``1,239,354,590,603.22``, ``yes``; empty for None."""
    if value is None or isinstance(value, Mapping | list):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}" if abs(value) >= 10_000 else str(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            return ""
        whole = f"{value:,.4f}" if abs(value) < 1000 else f"{value:,.2f}"
        return whole.rstrip("0").rstrip(".")
    return plain(str(value))


def plain(text: Any) -> str:
    """Text without wiki markup: references and tags go, links and templates leave their words."""
    cited, closing, tail = str(text).rpartition("</ref>")  # behind it no reference is closed
    text = _REFERENCE.sub(" ", cited + closing) + tail
    text = re.sub(r"<[^<>]{0,500}>", " ", text)
    text = re.sub(r"\[\[(?:[^\[\]|]{0,300}\|)?([^\[\]|]{0,300})\]\]", r"\1", text)
    text = re.sub(r"\{\{(?:[^{}|]{0,100}\|)?([^{}]{0,500})\}\}", r"\1", text)
    return " ".join(text.split())


def series(values: Any, most: int = _ITEMS) -> str:
    """Values in a row, joined by commas; of more than ``most`` it says how many others there are.

    Mappings go by their ``name`` or ``title``.
    """
    items = values if isinstance(values, list) else [values]
    named = [i.get("name") or i.get("title") if isinstance(i, Mapping) else i for i in items]
    texts = [text for text in map(figure, named) if text]
    more = f" and {len(texts) - most} others" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more


def rows(table: Any) -> list[dict[str, Any]]:
    """Rows of a table given by columns, ``{column: {row: value}}``, or by rows already.

    Each row of the former has its own name as ``_row``.
    """
    if isinstance(table, list):
        return [row for row in table if isinstance(row, dict)]
    if not isinstance(table, Mapping):
        return []
    by_name: dict[str, dict[str, Any]] = {}
    for column, values in table.items():
        if isinstance(values, Mapping):
            for row, value in values.items():
                by_name.setdefault(row, {"_row": row})[column] = value
    return list(by_name.values())


def sentences(value: Any, subject: str = "") -> str:
    """JSON of any shape as sentences: ``The cast name is Ann.`` for ``{"cast": {"name": "Ann"}}``.

    ``value`` is `bounded`; keys on the way to a value stand before it, and ``of subject`` behind
    them; empty values are left out, and what comes after 100,000 characters.
    """
    behind = f" of {subject}" if subject else ""
    written: list[str] = []
    length = 0
    for path, text in _leaves(value, ()):
        verb = "are" if ", " in text and path and path[-1].endswith("s") else "is"
        head = f"The {' '.join(path) or 'answer'}{behind}"
        written.append(f"{head} {verb} {text}" + ("" if text.endswith((".", "!", "?")) else "."))
        length += len(written[-1])
        if length > _MAX_CHARS:
            break
    return " ".join(written)


def _leaves(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            words = " ".join(_CAMEL.sub(" ", str(key)).replace("_", " ").split())
            yield from _leaves(inner, (*path, words))
    elif isinstance(value, list) and any(isinstance(item, Mapping | list) for item in value):
        for place, item in enumerate(value, 1):
            yield from _leaves(item, (*path, str(place)) if len(value) > 1 else path)
    elif text := series(value):
        yield path, text
