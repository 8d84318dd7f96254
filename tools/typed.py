"""Write `ragsieve/typed.pyi`, which tells type checkers each system's options:
`python tools/typed.py`."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin

import ragsieve
from ragsieve.systems.base import SYSTEMS, SystemEntry

STUB = Path(ragsieve.__file__).with_name("typed.pyi")
ALIASES = {"AnySource": "ragsieve.retriever", "Stage": "ragsieve.pipeline"}
MORE = {"prune": "str | "}  # may be another system's name
HEAD = '''"""`ragsieve.load` for type checkers: what `python tools/typed.py` writes.

With options, a name has to be one of these, or a folder's path; `ragsieve.spec.load` takes any
string with any options, as of another package's system.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypedDict, overload

'''
EVERY = """
class SystemOptions(TypedDict, total=False):
    max_tokens: int | None
    max_chars: int | None
    max_tokens_per_document: int | None
    max_chars_per_document: int | None
    max_share: float | None
    mark: str
    json_as: Literal["closed", "paths"]
    file_names: Literal["shown", "hidden"]
    compact: bool
"""
OPTIONS = """
class {name}(SystemOptions, total=False):
{fields}
"""
LOAD = '''
@overload
def load(
    name: Literal["{name}"],
    llm: Any = None,
    embedder: Any = None,
    *,
    pruner: Any = None,
    options: {options} | None = None,
    share: Share = ...,
) -> System:
    """{summary}."""
'''
OTHERS = '''
@overload
def load(
    name: Path,
    llm: Any = None,
    embedder: Any = None,
    *,
    options: Mapping[str, Any] | None = None,
    share: Share = ...,
) -> System:
    """A trained filter's folder."""

@overload
def load(
    name: str,
    llm: Any = None,
    embedder: Any = None,
    *,
    pruner: Any = None,
    share: Share = ...,
) -> System:
    """A system, or a trained filter: a folder or a hub id."""
'''


def stub() -> str:
    """The stub's text."""
    functions: dict[Callable[..., Any], dict[str, SystemEntry]] = {}
    for name, entry in SYSTEMS.items():
        if entry.function.__module__.startswith(("ragsieve.", "ragsieve_research.systems.")):
            functions.setdefault(entry.function, {})[name] = entry
    imports = {("ragsieve.models.sharing", "Share"), ("ragsieve.system", "System")}
    classes, loads = [], []
    for function, entries in functions.items():
        names = "".join(part.title() for part in function.__name__.split("_")) + "Options"
        options = next(iter(entries.values())).options
        own = [option for option in options if f"    {option}:" not in EVERY]
        fields = [f"    {o}: {MORE.get(o, '')}{_spelt(function, o, imports)}" for o in own]
        classes.append(OPTIONS.format(name=names, fields="\n".join(fields or ["    pass"])))
        loads += [
            LOAD.format(name=name, options=names, summary=entry.summary)
            for name, entry in entries.items()
        ]
    imported: dict[str, list[str]] = {}
    for module, name in sorted(imports, key=lambda one: (one[0], not one[1].isupper(), one[1])):
        imported.setdefault(module, []).append(name)
    lines = [f"from {module} import {', '.join(names)}\n" for module, names in imported.items()]
    return "".join([HEAD, *lines, EVERY, *classes, *loads, OTHERS])


def _spelt(function: Callable[..., Any], option: str, imports: set[tuple[str, str]]) -> str:
    """An option's annotation, with what it has to import."""
    parts = []
    for part in function.__annotations__[option].split(" | "):
        if part in ALIASES:
            imports.add((ALIASES[part], part))
            parts.append(part)
        else:
            hint = eval(part, vars(sys.modules[function.__module__]))
            parts += _parts(hint, imports)
    return " | ".join(parts)


def _parts(hint: Any, imports: set[tuple[str, str]]) -> Iterator[str]:
    if hint is None or hint is NoneType:
        yield "None"
    elif get_origin(hint) is Literal:
        yield str(hint).removeprefix("typing.").replace("'", '"')
    elif get_args(hint):
        for one in get_args(hint):
            yield from _parts(one, imports)
    else:
        if hint.__module__ != "builtins":
            imports.add((hint.__module__, hint.__name__))
        yield hint.__name__


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")
