"""Rules of values, declared by types: of options, and of untrusted JSON and TOML (msgspec).

A schema is a `Schema`, or any type that msgspec converts to. A rule that a pattern cannot say in
words says it beside the pattern: ``Meta(pattern=..., extra={"rule": "a plain name"})``.

An option's rule is stated once, by the type of its field, and its text once, in the docstring.
Constructors (`check_options`), files (`read`), the command line (`ragsieve.cli.signature`) and
requests (`ragsieve.server.shapes`) read them there.
"""

import math
import re
import types
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from inspect import cleandoc
from numbers import Integral, Real
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta, Struct, inspect

from ragsieve.errors import InputError, check_choice

Count = Annotated[int, Meta(ge=1, lt=2**31)]  # lt: of files and requests, which may say anything
Amount = Annotated[int, Meta(ge=0, lt=2**31)]
Probability = Annotated[float, Meta(ge=0, le=1, extra={"rule": "in [0, 1]"})]
_PLAIN = {"rule": "a name without a path: at most 64 letters, digits and any of ' .+-_()'"}
_INSIDE = {"rule": "the path of a file below the folder"}
# what a file or folder that is made is called, as a run or a part of something trained
FileName = Annotated[str, Meta(pattern=r"^\w[\w .+()-]{0,63}\Z", extra=_PLAIN)]
# a file in the same folder as what names it
Below = Annotated[str, Meta(pattern=r"^(?!(.*/)?\.{0,2}(/|\Z))[^\\:\0]+\Z", extra=_INSIDE)]
Share = Annotated[float, Meta(gt=0, le=1)]
Distance = Annotated[float, Meta(ge=0, le=2)]
Similarity = Annotated[float, Meta(ge=-1, le=1)]
Weight = Annotated[float, Meta(ge=0)]
Positive = Annotated[float, Meta(gt=0)]
Seconds = Annotated[float, Meta(gt=0, le=86_400)]  # locks and sockets wait for no more than days
Wait = Annotated[float, Meta(ge=0, le=86_400)]

_WORDS = {
    **{"int": "a whole number", "float": "a number", "str": "a string", "bool": "a boolean"},
    **{"array": "a list", "object": "an object", "Callable": "a function", "NoneType": "null"},
}
_AT = re.compile(r"(.*) - at `\$([\w.\[\]]+)`", re.DOTALL)
_FIELD = re.compile(r"Object (missing required|contains unknown) field `(.*)`", re.DOTALL)

_BRANCH = re.compile(r"[A-Z]\w*|bool|int|float|str|.*\[.*")  # pydantic's names of alternatives
_PYDANTIC = {  # its words: ours
    "^Value error, ": "",
    "^(?:Input|List|String) should ": "must ",
    "^Field required": "is missing",
    "^Extra inputs .*": "is not known",
    "a valid integer.*": "a whole number",
    "a valid dictionary.*": "an object",
    "a valid ": "a ",
    " after validation, not": ", got",
}

_ARGS = re.compile(r"^Args:\n((?:(?: .*)?\n)*)", re.MULTILINE)
_ARG = re.compile(r"^    (\w+): ((?:.|\n(?!    \w+: ))*)", re.MULTILINE)

_WAITS = frozenset(["api_key", "timeout_s", "max_retries", "total_s", "concurrency"])
_SECRET = re.compile(r"(?i)(?:keys?|secret|token|passw(?:or)?d|auth(?:orization)?|headers?)$")
_USER = re.compile(r"(?<=://)[^/\s]*@")
_QUERY = re.compile(r"(://[^\s?#]*[?#])\S+")

_DEEPEST = 100

LARGE = 1e300  # numbers in a file are smaller: an integer of JSON can be larger than any float

T = TypeVar("T")

_hints = cache(get_type_hints)


class Schema(Struct, frozen=True, forbid_unknown_fields=True):
    """An object of JSON or a table of TOML: it has these fields, and no others."""


def read(kind: type[T], values: object, where: str = "") -> T:
    """Values of JSON or TOML as ``kind``.

    Args:
        kind: A `Schema`, or any type that msgspec converts to; a schema's own rules in its
            ``__post_init__`` raise `InputError`.
        values: As the parser gives them.
        where: What the values are called, before a field's name.

    Raises:
        InputError: If a field is missing, not known, of another type, or breaks its rule: one line
            that names field, rule and value.
    """
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        raise InputError(_line(error, kind, values, where)) from error


def read_format(kind: type[T], values: object, number: int) -> T:
    """As `read`, of an object whose ``format`` is ``number``; ``kind`` has no such field."""
    fields = dict(values) if isinstance(values, dict) else {}
    if type(fields.get("format")) is not int or fields.pop("format") != number:
        raise InputError(f"format must be {number}; another one needs another version")
    return read(kind, fields)


def check_values(value: object, what: str) -> None:
    """Check values that anybody passed: what nests deeper, or is larger, no writer of JSON takes.

    Args:
        value: Any; of mappings, lists and tuples all that is in them.
        what: What it is called.

    Raises:
        InputError: If it nests over 100 deep, or has an integer of 10^300 or more.
    """
    left, deepest = [(value, 0)], dict[int, int]()  # what comes again is not gone through again
    while left:
        one, depth = left.pop()
        if depth > _DEEPEST:
            raise InputError(f"{what} must nest at most {_DEEPEST} deep")
        if isinstance(one, Mapping | list | tuple) and deepest.get(id(one), -1) < depth:
            deepest[id(one)] = depth
            inner = one.values() if isinstance(one, Mapping) else one
            left += [(part, depth + 1) for part in inner if not isinstance(part, str | float)]
        elif isinstance(one, int) and abs(one) > LARGE:
            raise InputError(f"{what} must have no number of over 300 digits")


def broken_rules(errors: Sequence[Any], *place: str) -> str:
    """The first rules that a value breaks, in a line: each with its place and what is there.

    Of alternatives that one counts which fits the type of the value; all, where none does.

    Args:
        errors: As pydantic names them.
        place: Of the value.
    """
    broken: dict[tuple[str, ...], dict[str, str]] = {}  # rules with values, by the path
    for one in errors[:9]:
        steps = [*place, *map(str, one["loc"])]
        unknown = [steps.pop()] if one["type"] == "extra_forbidden" else []  # it may be any name
        path = [step for step in steps if not _BRANCH.fullmatch(step)]
        rule, value = one["msg"], one["input"]
        for pattern, words in _PYDANTIC.items():
            rule = re.sub(pattern, words, rule)
        shown = "an object" if isinstance(value, dict) else f"{value!r:.80}"
        shown = "a list" if isinstance(value, list) else shown
        got = "" if rule.startswith("is ") or ", got " in rule else f", got {shown}"
        broken.setdefault((*path, *unknown), {})[rule] = got
    lines = []
    for at, rules in broken.items():
        if not any(at == other[: len(at)] != other for other in broken):
            rule = " or ".join(rules).replace(" or must be ", " or ")
            lines.append(f"{'.'.join(at)} {rule}{[*rules.values()][-1]}")
    return "; ".join(lines[:3])


def telling(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of models but for keys and waits, which change nothing of what a model says."""
    told = {n: telling(v) if isinstance(v, Mapping) else v for n, v in options.items()}
    return {name: value for name, value in told.items() if name not in _WAITS and value != {}}


def without_secrets(value: Any) -> Any:
    """JSON values to show: ``…`` for a key, by its name, and for what may be one in a URL."""
    if isinstance(value, Mapping):
        return {k: "…" if _SECRET.search(k) else without_secrets(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [without_secrets(inner) for inner in value]
    return _QUERY.sub(r"\1…", _USER.sub("…@", value)) if isinstance(value, str) else value


def _line(error: msgspec.ValidationError, kind: Any, values: Any, where: str) -> str:
    match = _AT.fullmatch(str(error))
    text, path = match.groups() if match else (str(error), "")
    name = (where + path.removesuffix("[...]")).removeprefix(".")
    if isinstance(error.__cause__, InputError):  # a rule of a schema's own
        return f"{name}.{text}" if name else text
    node, rule, value = _at(kind, values, re.findall(r"\w+|\.\.\.", path))
    if field := _FIELD.fullmatch(text):
        member = f"{name}.{field[2]:.40}".removeprefix(".").replace("\n", " ")
        if field[1] == "missing required":
            return f"{member} is missing"
        return f"{member} is not known; known are {', '.join(_fields(node))}"
    if text.startswith("Invalid"):
        rule = f"one of {', '.join(map(str, _choices(node)))}"
    rule = rule or re.sub(r"`(.*?)`", _words, text.removeprefix("Expected ").partition(", got")[0])
    name = f"each value of {name}" if "[...]" in path else name
    secret = isinstance(node, inspect.DictType) and isinstance(value, str)  # in place of options
    got = "a string (not shown)" if secret else f"{value!r:.80}"
    return f"{name} must be {rule}, got {got}".removeprefix(" ")


def _words(types: re.Match[str]) -> str:
    return " or ".join(_WORDS.get(name, name) for name in types[1].split(" | "))


def _at(kind: Any, value: Any, steps: list[str]) -> tuple[Any, str, Any]:
    """The schema at the end of a path, its rule in words, and the value there."""
    node, rule = _chosen(inspect.type_info(kind), value)
    for step in steps:
        if isinstance(node, inspect.StructType):
            inner = next(f.type for f in node.fields if f.encode_name == step)
            value = value.get(step)
        elif isinstance(node, inspect.UnionType):  # the tag, which names none of them
            return node, "", value.get(step)
        elif isinstance(node, inspect.DictType):  # msgspec does not say which key
            return (*_chosen(node.value_type, value), value)
        else:
            inner, value = getattr(node, "item_type", inspect.AnyType()), value[int(step)]
        node, rule = _chosen(inner, value)
    return node, rule, value


def _chosen(node: Any, value: Any) -> tuple[Any, str]:
    """A schema without its metadata, of alternatives the one that a value names; and its rule."""
    if isinstance(node, inspect.UnionType):
        known = [one for one in node.types if not isinstance(one, inspect.NoneType)]
        tagged = [one for one in known if isinstance(one, inspect.StructType)]
        if isinstance(value, dict) and len(tagged) > 1:
            known = [one for one in tagged if one.tag == value.get(one.tag_field)] or [node]
        node = known[0]
    if isinstance(node, inspect.Metadata):
        return node.type, (node.extra or {}).get("rule", "")
    return node, ""


def _fields(node: Any) -> Iterable[str]:
    tag = [node.tag_field] if node.tag_field else []
    return [*tag, *(field.encode_name for field in node.fields)]


def _choices(node: Any) -> Iterable[object]:
    if isinstance(node, inspect.UnionType):
        return [one.tag for one in node.types if isinstance(one, inspect.StructType)]
    return getattr(node, "values", ())


def fits(value: object, hint: Any) -> bool:
    """Whether a value of JSON, or what was made of one, is of a type; numbers are finite."""
    if (origin := get_origin(hint)) in (Union, types.UnionType):
        return any(fits(value, choice) for choice in get_args(hint))
    if origin is Literal:
        return isinstance(value, str) and value in get_args(hint)
    if origin is not None:
        return isinstance(value, origin)
    if hint is float:
        return isinstance(value, int | float) and type(value) is not bool and abs(value) < LARGE
    return type(value) is hint


def in_words(hint: Any) -> str:
    """A type as errors name it, such as "a whole number or null", or "one of 'a', 'b'"."""
    if get_origin(hint) is Literal:
        return f"one of {', '.join(map(repr, get_args(hint)))}"
    kinds = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    names = (getattr(kind, "__name__", str(kind)) for kind in kinds)
    return " or ".join(_WORDS.get(name, name) for name in names)


class Options:
    """Base of dataclasses whose fields say their rules; a breach raises `InputError`."""

    def __post_init__(self) -> None:
        check_options(self)


def check_options(owner: object) -> None:
    """Check fields by the rules of their types, and those of a ``Literal`` by its values.

    Raises:
        InputError: If a value breaks its field's rule.
    """
    for name, hint in hints_of(type(owner)).items():
        kinds, (kind, rule) = [hint, *get_args(hint)], rule_of(hint)
        choices = next((one for one in kinds if get_origin(one) is Literal), None)
        if choices is None and rule == Meta():
            continue  # it may be a property that loads a model
        value = getattr(owner, name)
        if value is None and types.NoneType in kinds:
            continue
        if choices is not None:
            check_choice(choices, **{name: value})
        elif kind in (int, float):
            check_number(name, value, hint)
        else:
            read(hint, value, name)


def check_number(name: str, value: Any, hint: Any) -> None:
    """Check that a number is finite, whole where its type is, and keeps its type's rule.

    Raises:
        InputError: If it does not.
    """
    kind, rule = rule_of(hint)
    whole = kind is int
    check_values(value, name)  # as an error could not show it
    number: Any = Integral if whole else Real
    if isinstance(value, bool) or not isinstance(value, number):
        raise InputError(f"{name} must be a {'whole ' * whole}number, got {value!r:.200}")
    above = value >= rule.ge if rule.gt is None else value > rule.gt
    if above and value != math.inf and (rule.le is None or value <= rule.le):
        return
    if rule.gt is not None:
        words = "be finite and over 0" if rule.le is None else f"lie in (0, {rule.le}]"
    elif rule.le is not None:
        words = f"be from {rule.ge} to {rule.le}"
    elif rule.ge == 0:
        words = "not be negative" if whole else "be finite and not negative"
    else:
        words = f"be {'' if whole else 'finite and '}at least {rule.ge}"
    raise InputError(f"{name} must {words}, got {value!r}")


def hints_of(kind: Any) -> Mapping[str, Any]:
    """The types of a class's fields, with their rules."""
    return _hints(kind, include_extras=True)


def rule_of(hint: Any) -> tuple[Any, Meta]:
    """The type and the rule that an annotation states, also beside None; an empty rule for none."""
    for kind in (hint, *get_args(hint)):
        for one in getattr(kind, "__metadata__", ()):
            if isinstance(one, Meta):
                return get_args(kind)[0], one
    return hint, Meta()


def argument_texts(api: object) -> dict[str, str]:
    """The texts under ``Args:`` by the argument, as a terminal shows them.

    Args:
        api: A function, or a class, whose fields have the texts of the bases that they come from.
    """
    texts: dict[str, str] = {}
    for one in reversed(getattr(api, "__mro__", [api])):
        section = _ARGS.search(cleandoc(one.__doc__ or "") + "\n")
        texts |= dict(_ARG.findall(section[1]) if section else [])
    return {name: _plain(text) for name, text in texts.items()}


def _plain(text: str) -> str:
    text = re.sub('``"?(.*?)"?``', r"\1", " ".join(text.split()))
    return text.replace("where None", "by default")
