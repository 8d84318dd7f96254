"""Options read off a signature: name, type, default, and the help text of its docstring."""

from collections.abc import Callable, Collection, Mapping, Sequence
from inspect import Parameter, cleandoc, signature
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import click
from click.core import ParameterSource

from ragsieve.errors import InputError
from ragsieve.schema import T, argument_texts, rule_of
from ragsieve.text import json_value

Api = Callable[..., Any]
Changes = Mapping[str, Mapping[str, Any]]
"""Keyword arguments of `click.Option` by the parameter's name, which win over the signature."""


def options_of(
    api: Api, skip: Collection[str] = (), changes: Changes | None = None, prefix: str = ""
) -> list[click.Parameter]:
    """Click options for the parameters of ``api``, a function or a dataclass.

    A ``Literal`` is a choice, a ``bool`` a switch, a ``tuple`` an option that may come several
    times, and ``Annotated`` may name a type of click and, in a dictionary, changes; a parameter
    without a default is required.

    Args:
        api: What the options are passed to.
        skip: Parameters that are no options.
        changes: What differs from the signature, as ``{"base": {"flags": ["--from"]}}``.
        prefix: Stands before every name, in which parameters of two APIs would be equal.
    """
    parameters = signature(api).parameters
    hints, texts = get_type_hints(api, include_extras=True), argument_texts(api)
    return [
        _option(prefix + name, one, hints[name], texts.get(name, ""), (changes or {}).get(name, {}))
        for name, one in parameters.items()
        if name not in skip
    ]


def _option(
    name: str, parameter: Parameter, hint: Any, text: str, changes: Mapping[str, Any]
) -> click.Option:
    values: dict[str, Any] = {
        "flags": ["--" + name.replace("_", "-")],
        "type": click_type(hint),
        "is_flag": click_type(hint) is bool,
        "multiple": _holds(hint) is tuple or _holds(hint) is dict,
        "show_default": _holds(hint) is not dict,  # of which some may be keys
        "help": text,
    }
    if parameter.default is parameter.empty:
        values["required"] = True
    elif _holds(hint) is not dict:
        values["default"] = parameter.default
    else:
        values["metavar"] = "KEY=VALUE"
    values |= {**_changes(hint), **changes}
    flags = values.pop("flags")
    option = values.pop("cls", _TableOption if _holds(hint) is dict else click.Option)
    return option([name, *flags], **values)  # type: ignore[no-any-return]


class _TableOption(click.Option):
    """An option whose items come behind those that are set, of which they replace equal keys."""

    def consume_value(self, ctx: click.Context, opts: Mapping[str, Any]) -> tuple[Any, Any]:
        """See `click.Option`."""
        value, source = super().consume_value(ctx, opts)
        known = ctx.lookup_default(self.name or "")
        if source is ParameterSource.COMMANDLINE and isinstance(known, list):
            value = (*known, *value)
        return value, source


def _changes(hint: Any) -> Mapping[str, Any]:
    """Settings of an option in an annotation, beside its type."""
    metadata = getattr(hint, "__metadata__", ())
    return dict(pair for one in metadata if isinstance(one, dict) for pair in one.items())


def _holds(hint: Any) -> Any:
    """What a type is made of, as `tuple` or, of a table, `dict`."""
    return get_origin(get_args(hint)[0] if get_origin(hint) is Annotated else hint)


def command(
    name: str, *, of: click.Group | None = None, params: Sequence[click.Parameter] = (), **more: Any
) -> Callable[[Callable[..., int | None]], click.Command]:
    """Make a function a command: its keywords are options, its other parameters arguments.

    The help is its docstring, with the texts under ``Args:`` at the options.

    Args:
        name: The command's name.
        of: The group that it belongs to.
        params: Parameters of click that it takes as ``**options``; they come first.
        more: Other arguments of `click.Command`.
    """

    def decorate(function: Callable[..., int | None]) -> click.Command:
        own = parameters_of(function)
        text = cleandoc(function.__doc__ or "").partition("\nArgs:\n")[0]
        result = click.Command(name, callback=function, params=[*params, *own], help=text, **more)
        if of:
            of.add_command(result)
        return result

    return decorate


def parameters_of(function: Api, skip: Collection[str] = ()) -> list[click.Parameter]:
    """Click parameters for a function: its keywords are options, its others arguments."""
    parameters = signature(function).parameters.values()
    hints = get_type_hints(function, include_extras=True)
    others = [p for p in parameters if p.kind is not p.KEYWORD_ONLY]
    arguments = [_argument(p, hints[p.name]) for p in others if p.kind is not p.VAR_KEYWORD]
    return [*arguments, *options_of(function, [*skip, *(p.name for p in others)])]


def _argument(parameter: Parameter, hint: Any) -> click.Parameter:
    values = {"type": click_type(hint), "nargs": -1 if _holds(hint) is tuple else 1}
    values["required"] = parameter.default is parameter.empty
    return click.Argument([parameter.name], **{**values, **_changes(hint)})


class Sections(click.Command):
    """A command whose help lists its options by section.

    Args:
        sections: Names of parameters by the section's title; what none names comes last.
    """

    def __init__(self, *args: Any, sections: Mapping[str, Sequence[str]], **more: Any) -> None:
        super().__init__(*args, **more)
        self._sections = sections

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections."""
        params = {param.name: param for param in self.get_params(ctx)}
        named = {name for names in self._sections.values() for name in names}
        rest = [name for name in params if name not in named]
        for title, names in {**self._sections, "Other options": rest}.items():
            options = (params[n] for n in names if isinstance(params[n], click.Option))
            records = (option.get_help_record(ctx) for option in options)
            with formatter.section(title):
                formatter.write_dl([record for record in records if record])


def click_type(hint: Any) -> Any:
    """The type of an option whose parameter is annotated with ``hint``."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return click_type(*({*inner} - {type(None)}))
    if origin is Literal:
        return click.Choice(inner)
    if origin is Annotated:
        own = next((one for one in inner if isinstance(one, click.ParamType)), None)
        kind, rule = rule_of(hint)
        kind = next((one for one in get_args(kind) if one in (int, float)), kind)  # beside None
        if kind in (int, float):
            of_kind: Any = click.IntRange if kind is int else click.FloatRange
            least = rule.ge if rule.gt is None else rule.gt
            return of_kind(least, rule.le, min_open=rule.gt is not None)
        return own or click_type(inner[0])
    if origin is dict:
        return str
    return click_type(inner[0]) if origin is tuple else hint


def from_options(api: Callable[..., T], options: dict[str, Any], prefix: str = "") -> T:
    """The result of ``api`` for those of the options that it has; they are taken out.

    Raises:
        InputError: If an item of a table is not ``KEY=VALUE``.
    """
    names = [name for name in signature(api).parameters if prefix + name in options]
    given = {name: options.pop(prefix + name) for name in names}
    for name, hint in get_type_hints(api).items():
        if name in given and _holds(hint) is dict:
            flag = f"--{name.removesuffix('s').replace('_', '-')}"
            given[name] = table_of(flag, given[name], get_args(hint)[1])
    return api(**given)


def table_of(flag: str, arguments: Sequence[str], inner: Any) -> dict[str, Any]:
    """Values by key of ``KEY=VALUE`` arguments of a flag, the last where a key comes twice.

    Args:
        flag: The option.
        arguments: Its items.
        inner: The type of a value: of a string as it stands, of a table one of
            ``NAME.KEY=VALUE``; any other is the JSON that it is, else the string.

    Raises:
        InputError: If an argument has another form, or its key is no name.
    """
    of_tables, of_texts = get_origin(inner) is dict, inner is str
    result: dict[str, Any] = {}
    for argument in arguments:
        place, equals, text = argument.partition("=")
        name, _, key = place.rpartition(".") if of_tables else ("", "", place)
        if of_tables and not name:
            raise InputError(f"{flag} must be NAME.KEY=VALUE, got {place!r} before the =")
        if not equals or not key.isidentifier():
            got = repr(key) if equals or of_texts else "one without = (not shown)"
            form = "ROLE=MODEL" if of_texts else "KEY=VALUE"
            raise InputError(f"{flag} must be {form}, got {got}")
        table = result.setdefault(name, {}) if of_tables else result
        table[key] = text if of_texts else json_value(text, text)
    return result
