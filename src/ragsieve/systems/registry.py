"""Systems by name: an entry stands beside the function that makes it, `SYSTEMS` finds them.

    @system("chunkrag", needs="LLM, embedder", paper="arXiv 2410.19572")
    def chunkrag(llm: LLM, embedder: Embedder, *, …) -> System: …

    preset("chunkrag-likelihood", chunkrag, "The same for small LLMs …", rating="likelihood")

A name is looked for in the module that is called like it or like its beginning (``chunkrag-x`` in
``chunkrag.py``), then in every module here. Another package adds systems by an entry point of the
group ``ragsieve.systems``, which names such a function or a module of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from inspect import Parameter, signature
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, TypeVar

from ragsieve.errors import InputError, RagsieveError, nearest
from ragsieve.pipeline import System
from ragsieve.plugins import load_group

ROLES = {"embedder": "embedder", "pruner": "sentence pruner"}
"""Models that systems may need beside a generator, by the name of the argument: their kind."""

GROUP = "ragsieve.systems"
"""Group of the entry points by which other packages add systems."""

_PACKAGE = "ragsieve.systems"
_FOLDER = Path(__file__).parent
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_DEFAULT = "finefilter"

Make = TypeVar("Make", bound=Callable[..., System])


@dataclass(frozen=True)
class SystemEntry:
    """A system by name.

    Args:
        make: Makes it from a generator, then what ``needs`` names of `ROLES`; keywords are options.
        summary: What it does, in a line.
        needs: Models it runs before the generator reads.
        paper: Where it is from; empty for plain ones.
    """

    make: Callable[..., System]
    summary: str
    needs: str
    paper: str = ""

    @property
    def function(self) -> Callable[..., System]:
        """The function that makes it, without the options of a preset."""
        return self.make.func if isinstance(self.make, partial) else self.make

    @property
    def roles(self) -> tuple[str, ...]:
        """Models of `ROLES` that it needs, in the order in which ``make`` takes them."""
        return tuple(role for role, kind in ROLES.items() if kind in self.needs.split(", "))

    @property
    def needs_llm(self) -> bool:
        """Whether it may ask an LLM to filter."""
        return not {"LLM", "its own models"}.isdisjoint(self.needs.split(", "))

    @property
    def knows(self) -> bool:
        """Whether it needs the gold answers, which only a benchmark has."""
        return "gold answers" in self.needs.split(", ")

    @property
    def options(self) -> dict[str, Any]:
        """Its options by name, with their defaults; a source is none of them."""
        parameters = signature(self.make).parameters.values()
        keywords = [p for p in parameters if p.kind is Parameter.KEYWORD_ONLY]
        return {p.name: p.default for p in keywords if p.name != "source"}

    @property
    def searches(self) -> bool:
        """Whether it asks a source in a way of its own."""
        return "source" in signature(self.make).parameters


_ENTRIES: dict[str, SystemEntry] = {}  # of the modules that were imported so far


def system(
    name: str, summary: str = "", *, needs: str = "nothing", paper: str = ""
) -> Callable[[Make], Make]:
    """Register the function below as the system ``name``; its arguments are those of `SystemEntry`.

    Its summary is the first line of its docstring where ``summary`` is empty.

    Raises:
        InputError: If the name is another system's, or is not of small letters, digits and dashes.
    """

    def register(make: Make) -> Make:
        line = (make.__doc__ or "").partition("\n")[0].removesuffix(".")
        _register(name, SystemEntry(make, summary or line, needs, paper))
        return make

    return register


def preset(
    name: str,
    make: Callable[..., System],
    summary: str,
    *,
    needs: str = "",
    paper: str = "",
    **options: Any,
) -> None:
    """Register a function of `system` under another name, with other defaults of its options.

    Args:
        name: The other name.
        make: The function.
        summary: What the preset does, in a line.
        needs: Models it runs before the generator reads; the function's where empty.
        paper: Where it is from; as the function where empty.
        options: The defaults that differ.

    Raises:
        InputError: If the name is another system's, or the function is no system or has no such
            option.
    """
    known = [entry for entry in _ENTRIES.values() if entry.make is make]
    if not known:
        raise InputError(f"preset {name!r} must be of a function registered by system, got {make}")
    check_options(name, known[0], options)
    configured = partial(make, **options) if options else make
    _register(
        name, SystemEntry(configured, summary, needs or known[0].needs, paper or known[0].paper)
    )


def _register(name: str, entry: SystemEntry) -> None:
    if not _NAME.fullmatch(name):
        raise InputError(f"a system's name must be of a-z, 0-9 and dashes, got {name!r}")
    known, own = _ENTRIES.get(name), entry.function
    place = (own.__module__, own.__qualname__)
    if known and (known.function.__module__, known.function.__qualname__) != place:
        raise InputError(f"system {name!r} of {place[0]} is there: {known.function.__module__}")
    _ENTRIES[name] = entry


class Systems(Mapping[str, SystemEntry]):
    """Every system by its name; modules are imported on demand."""

    def __getitem__(self, name: str) -> SystemEntry:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise KeyError(name)
        spelt = f"{name}-".replace("-", "_")
        for module in sorted(_modules(), key=lambda module: not spelt.startswith(f"{module}_")):
            if name in _ENTRIES:
                return _ENTRIES[name]
            _import(module)
        if name not in _ENTRIES:
            _import_others()
        return _ENTRIES[name]

    def __iter__(self) -> Iterator[str]:
        """The default first, then those of papers, then plain ones, by name."""
        for module in _modules():
            _import(module)
        _import_others()
        names = [*_ENTRIES]
        return iter(sorted(names, key=_rank))

    def __len__(self) -> int:
        return sum(1 for _ in self)


SYSTEMS = Systems()


def _rank(name: str) -> tuple[bool, bool, str]:
    return name.partition("-")[0] != _DEFAULT, not _ENTRIES[name].paper, name


@cache
def _modules() -> tuple[str, ...]:
    """Names of the modules beside this one, none imported."""
    modules = iter_modules([str(_FOLDER)])
    return tuple(module.name for module in modules if module.name != "registry")


def _import(module: str) -> None:
    try:
        import_module(f"{_PACKAGE}.{module}")
    except RagsieveError:
        raise
    except Exception as error:  # whatever a module in the making raises
        reason = f"{type(error).__name__}: {error}"
        raise ImportError(f"{_FOLDER / module}.py cannot be imported: {reason}") from error


@cache
def _import_others() -> None:
    """Import what other packages register; what cannot be imported is logged as a warning."""

    def registered(target: Any) -> bool:
        return not callable(target) or any(e.function is target for e in _ENTRIES.values())

    load_group(GROUP, registered, "decorated by ragsieve.systems.system")


def find(name: str) -> SystemEntry:
    """The system ``name``.

    Raises:
        InputError: If there is none; it names those there are, and what may have been meant.
    """
    if name not in SYSTEMS:
        raise InputError(unknown(name))
    return SYSTEMS[name]


def unknown(name: str, *more: str) -> str:
    """A message that no system is called ``name``, with what may have been meant.

    Args:
        name: The unknown name.
        more: What else would have been possible.
    """
    known, near = ", ".join([*SYSTEMS, *more]), nearest(name, SYSTEMS)
    return f"system must be one of {known}, got {name!r}{near}"


def check_options(name: str, entry: SystemEntry, options: Mapping[str, Any] | None) -> None:
    """Raise `InputError` where the system ``name`` has no such option."""
    for option in options or ():
        if option not in entry.options:
            known = ", ".join(entry.options) or "none"
            near = nearest(option, entry.options)
            raise InputError(f"options of {name} are {known}, got {option!r}{near}")
