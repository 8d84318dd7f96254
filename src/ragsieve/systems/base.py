"""Systems by name: an entry stands beside the function that makes it, `SYSTEMS` finds them.

    @system("chunkrag", needs="LLM, embedder", paper="arXiv 2410.19572")
    def chunkrag(llm: LLM, embedder: Embedder, *, …) -> System: …

    preset("chunkrag-likelihood", chunkrag, "The same for small LLMs …", rating="likelihood")

Another package adds systems by an entry point of the group ``ragsieve.systems``; see
`ragsieve.registry`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from inspect import Parameter, signature
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from ragsieve.context.budget import LIMITS, ContextBudget
from ragsieve.errors import InputError, nearest
from ragsieve.models.base import LLM, Embedder, SentencePruner
from ragsieve.registry import Registry
from ragsieve.retriever import AnySource
from ragsieve.schema import fits, in_words
from ragsieve.system import System
from ragsieve.types import LAYOUT, Layout

SHARED = (*LIMITS, *LAYOUT)
"""Options of every system: limits of its context, and how what is kept is shown."""

ROLES = {"embedder": "embedder", "pruner": "sentence pruner"}
"""Models that systems may need beside a generator, by the name of the argument: their kind."""

PARTS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("extractor", "truncator"), ("LLM",)),
    "reranker": ("cross-encoder", "sentence pruner"),
    "critic": ("LLM",),
    "evaluator": ("cross-encoder", "LLM"),
    "ranker": ("LLM", "listwise reranker"),
    "classifier": ("token classifier",),
    **dict.fromkeys(("predictor", "judge", "pruner", "writer"), ("LLM",)),
}
"""Options of systems that name a model of a part's own: the kinds that it may be of."""

PRUNE = "prune"
"""An option of systems that search: another system by its name, which filters what is found."""

GROUP = "ragsieve.systems"  # group of the entry points by which other packages add systems

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
        calls: Calls of the generator that it needs beside ``complete``, by their names in `LLM`.
    """

    make: Callable[..., System]
    summary: str
    needs: str
    paper: str = ""
    calls: str = ""

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


def system(
    name: str, summary: str = "", *, needs: str = "nothing", paper: str = "", calls: str = ""
) -> Callable[[Make], Make]:
    """Register the function below as the system ``name``; its arguments are those of `SystemEntry`.

    Its summary is the first line of its docstring where ``summary`` is empty.

    Raises:
        InputError: If the name is another system's, or is not of small letters, digits and dashes,
            or an option has no annotation, by which its values are read.
    """

    def register(make: Make) -> Make:
        for p in signature(make).parameters.values():
            if p.kind is Parameter.KEYWORD_ONLY and p.annotation is Parameter.empty:
                raise InputError(f"option {p.name} of system {name!r} must say its type, as k: int")
        line = (make.__doc__ or "").partition("\n")[0].removesuffix(".")
        SYSTEMS.register(name, SystemEntry(make, summary or line, needs, paper, calls), make)
        return make

    return register


def preset(
    name: str,
    make: Callable[..., System],
    summary: str,
    *,
    paper: str = "",
    calls: str = "",
    **options: Any,
) -> None:
    """Register a function of `system` under another name, with other defaults of its options.

    Args:
        name: The other name.
        make: The function.
        summary: What the preset does, in a line.
        paper: Where it is from; as the function where empty.
        calls: Calls of the generator that it needs; the function's where empty.
        options: The defaults that differ.

    Raises:
        InputError: If the name is another system's, or the function is no system or has no such
            option.
    """
    known = [entry for entry in SYSTEMS.entries().values() if entry.make is make]
    if not known:
        raise InputError(f"preset {name!r} must be of a function registered by system, got {make}")
    check_options(name, known[0], options)
    configured = partial(make, **options) if options else make
    paper, calls = paper or known[0].paper, calls or known[0].calls
    entry = replace(known[0], make=configured, summary=summary, paper=paper, calls=calls)
    SYSTEMS.register(name, entry, make)


def _rank(name: str) -> tuple[bool, bool, str]:
    """The default first, then those of papers, then plain ones, by name."""
    return name.partition("-")[0] != _DEFAULT, not SYSTEMS.entries()[name].paper, name


SYSTEMS = Registry("system", GROUP, SystemEntry, package="ragsieve.systems", rank=_rank)
"""Every system by its name; modules are imported on demand."""

_NUMBERS = {int, float, type(None)}


def check_options(
    name: str, entry: SystemEntry, options: Mapping[str, Any] | None, *, written: bool = False
) -> None:
    """Raise `InputError` where the system ``name`` has no such option, or its value does not fit.

    Args:
        name: The system's name.
        entry: What is known of it.
        options: Other than their defaults; of Python any but texts pass.
        written: Whether they were written down, as JSON, so that the name of what prunes passes.
    """
    if {"keep_answer", "min_score"} <= {*(options or {})}:
        raise InputError("name keep_answer or min_score, not both")
    hints = get_type_hints(entry.function) if options else {}
    for option, value in divided(options or {}, entry.options)[0].items():
        if option not in entry.options:
            known = ", ".join(entry.options) or "none"
            near = nearest(option, entry.options)
            raise InputError(f"options of {name} are {known}, got {option!r}{near}")
        hint = hints[option]
        plain = get_origin(hint) is Literal or ({*get_args(hint)} or {hint}) <= _NUMBERS
        text = isinstance(value, str)
        checked = not (text and option == PRUNE) if written else text and plain
        if checked and not fits(value, hint):
            raise InputError(f"{option} of {name} {_rule(option, hint)}, got {value!r:.80}")


def divided(
    options: Mapping[str, Any], names: Iterable[str] = ()
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Options of a system, which has these names, and those of every system.

    Raises:
        InputError: If one of every system breaks its rule.
    """
    known = {*SHARED} - {*names}
    own = {name: value for name, value in options.items() if name not in known}
    shared = {name: value for name, value in options.items() if name in known}
    ContextBudget(**{n: value for n, value in shared.items() if n in LIMITS})
    Layout(**{n: value for n, value in shared.items() if n in LAYOUT})
    return own, shared


def build(
    name: str,
    llm: LLM,
    embedder: Embedder | None = None,
    options: Mapping[str, Any] | None = None,
    *,
    pruner: SentencePruner | None = None,
    answers: Mapping[str, Sequence[str]] | None = None,
    source: AnySource | None = None,
) -> System:
    """The system ``name`` of `SYSTEMS`.

    Args:
        name: Which.
        llm: Its generator.
        embedder: Its embedder, where it needs one.
        options: Options other than their defaults, by name; of every system also `SHARED`.
        pruner: Its sentence pruner, where it needs one.
        answers: Gold answers by question, where it needs them.
        source: Finds evidence where the caller passes no documents, as an index does, or whatever
            else `ragsieve.retriever.as_source` takes.

    Raises:
        InputError: If there is no such system or option, an option breaks its rule, or something
            that it needs is missing.
    """
    entry = SYSTEMS.find(name)
    check_options(name, entry, options)
    models = {"embedder": embedder, "pruner": pruner}
    for role in entry.roles:
        if models[role] is None:
            raise InputError(f"{name} needs {role}, a model of kind {ROLES[role]}, got none")
    if entry.knows and answers is None:
        raise InputError(f"{name} needs the gold answers, which only `ragsieve bench` knows")
    inputs = [*(models[role] for role in entry.roles), *([answers] if entry.knows else [])]
    if entry.searches:
        return made(entry.make, llm, *inputs, source=source, **(options or {}))
    return made(entry.make, llm, *inputs, **(options or {})).with_source(source)


def made(make: Callable[..., System], *models: Any, **options: Any) -> System:
    """What a function of `system` makes, with options that every system has."""
    own, shared = divided(options, signature(make).parameters)
    return limited(make(*models, **own), shared)


def limited(system: System, shared: Mapping[str, Any]) -> System:
    """A system with other options of those that every system has."""
    limits, layout = ({n: shared[n] for n in some if n in shared} for some in (LIMITS, LAYOUT))
    return replace(system.at(**limits), layout=replace(system.layout, **layout))


def _rule(option: str, hint: Any) -> str:
    """The rule of an option's value, where its type is not all of it."""
    if option == PRUNE:
        return "must be the name of a system"
    if option in PARTS:
        return "is a model's: name one for it, as --model or models = {…} do"
    return f"must be {in_words(hint)}"
