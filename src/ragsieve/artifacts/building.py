"""Build a system from a trained filter's folder."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from ragsieve import models, systems
from ragsieve.artifacts.folder import CARD, FILTER, SHIPPED, read
from ragsieve.artifacts.recipe import (
    ONE_PASS,
    ROLES,
    SYSTEMS,
    Base,
    Trained,
    check_option,
    cutting,
    fits,
)
from ragsieve.artifacts.weights import verify
from ragsieve.errors import InputError, ModelError, StoreError, nearest
from ragsieve.models import store
from ragsieve.models.adapt import as_embedder, as_llm
from ragsieve.models.base import LLM, Embedder
from ragsieve.models.sharing import Share
from ragsieve.pipeline import System
from ragsieve.retriever import AnySource
from ragsieve.systems.finefilter import finefilter_one_pass
from ragsieve.systems.registry import ROLES as SYSTEM_ROLES
from ragsieve.systems.registry import SystemEntry, unknown

MODELS: dict[str, tuple[str, ...]] = {
    "extractor": ("LLM",),
    "truncator": ("LLM",),
    "reranker": ("cross-encoder",),
    "critic": ("LLM",),
    "evaluator": ("cross-encoder", "LLM"),
    "ranker": ("LLM", "listwise reranker"),
    "classifier": ("token classifier",),
    "predictor": ("LLM",),
    "judge": ("LLM",),
    "pruner": ("LLM",),
    "writer": ("LLM",),
}
"""Options of systems that name a model of a part's own: the kinds that it may be of."""

PRUNE = "prune"
"""An option of systems that search: another system by its name, which filters what is found."""

USUAL = {"embedder": "minilm", "pruner": "pruner"}
"""Models of `ragsieve.SYSTEM_ROLES` where nobody names others."""

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*(@[\w./-]+)?", re.ASCII)
_TRAINED = "a trained filter's folder or hub id OWNER/NAME"
_PULLED = (FILTER, CARD, "*.safetensors", "*.json")


def load(
    name: str | Path,
    llm: Any = None,
    embedder: Any = None,
    *,
    pruner: Any = None,
    options: Mapping[str, Any] | None = None,
    share: Share = lambda model: model,
) -> System:
    """A system, or a trained filter as one: it filters, and the generator answers.

    Of a trained filter's folder, JSON and safetensors are read; no code of it is run, no pickle
    opened. Models are loaded when they are first needed, each once.

    Args:
        name: A system of `ragsieve.systems`, or a trained filter: a folder, or a hub id,
            ``OWNER/NAME`` or ``OWNER/NAME@REVISION``.
        llm: The generator: a name (`ragsieve.models.load`), a model, or anything that
            `ragsieve.models.adapt.as_llm` takes, as a function from prompts to replies; where None,
            ``"smollm2"``, or the one that a trained filter learnt from, which may be a server's
            (``"openai:…"``). Trained parts keep their own model.
        embedder: Embeds where the system needs it, or the filter has not trained its own: a name, a
            model, or anything that `ragsieve.models.adapt.as_embedder` takes.
        pruner: Sentence pruner of a system that needs one: a model, or a name, as of one that
            `ragsieve train pruner` made, ``"pruner:FOLDER"``.
        options: Options other than their defaults, or than the folder says, also in place of
            trained parts.
        share: Wraps every model that is loaded here, as `ragsieve.models.sharing` does.

    Raises:
        InputError: If there is no such system, filter or option, or it breaks a rule.
        ModelError: If a model here is not the one that the filter was trained with.
        StoreError: If the hub or the package index cannot give what is missing.
        MissingExtra: If a model needs a package that is not installed.
    """
    llm, embedder = _own(llm, as_llm, share), _own(embedder, as_embedder, share)
    if not isinstance(name, str) or name not in systems.SYSTEMS:
        folder = _folder_of(name)
        return assembled(folder, read(folder), llm, embedder, options, share)
    if isinstance(pruner, str):
        models.check(pruner, SYSTEM_ROLES["pruner"])
        pruner = share(models.load(pruner))
    elif pruner is not None and not hasattr(pruner, "prune"):
        raise InputError(f"a pruner must be a model's name, or have prune(), got {pruner!r:.80}")
    roles = {"embedder": embedder, "pruner": pruner}
    roles = {role: model for role, model in roles.items() if model is not None}
    for role in roles_of(name, options or {}):
        if role not in roles:
            roles[role] = share(models.load(USUAL[role]))
    return build(name, llm or share(models.load(generator(name))), options, share=share, **roles)


def _own(model: Any, adapt: Callable[[Any], Any], share: Share) -> Any:
    """A caller's model as one of ours; shared where it is loaded here."""
    if model is None:
        return None
    return share(adapt(model)) if isinstance(model, str) else adapt(model)


def assembled(
    folder: Path,
    trained: Trained,
    llm: LLM | None = None,
    embedder: Embedder | None = None,
    options: Mapping[str, Any] | None = None,
    share: Share = lambda model: model,
) -> System:
    """A trained filter whose part folders lie in ``folder``; see `load`."""
    options = options or {}

    @cache
    def loaded(model: str, adapter: str | None = None) -> Any:
        verify(Base(model, trained.sha256(model)))
        where = {"adapter": str(folder / adapter)} if adapter else {}
        return share(models.load(model, **where))

    for option, value in options.items():
        if option not in ROLES or isinstance(value, str):  # a part may be a model
            check_option(trained.system, option, value)
    if trained.system == ONE_PASS:
        return _one_pass(trained, llm or loaded(trained.generator.model), options, share)
    parts = {
        role: loaded(part.model, part.adapter)
        for role, part in trained.parts.items()
        if role not in options
    }
    chosen = {**trained.options, **parts, **options}
    if "extractor" in parts and trained.extractor and trained.extractor.mode:
        chosen["mode"] = trained.extractor.mode
    if trained.cut and "truncator" not in options:
        if "extractor" in options:
            raise InputError(
                f"another extractor needs another truncator: the cut of {folder} is its"
            )
        chosen["truncator"] = cutting(trained.cut, chosen.get("min_keep", 0))
    if trained.reranker and trained.reranker.kind == "embedder" and "reranker" in parts:
        embedder, chosen["reranker"] = parts["reranker"], "cosine"
    elif embedder is None and (options or trained.embeds):  # importing its library takes seconds
        embedder = loaded(trained.embedder.model)
    llm = llm or loaded(trained.generator.model)
    system: System = SYSTEMS[trained.system](llm, embedder, **chosen)
    return system


def _one_pass(trained: Trained, llm: LLM, own: Mapping[str, Any], share: Share) -> System:
    """A sentence pruner with what was fitted to the generator."""
    part, options = trained.parts["extractor"], {**trained.options, **own}
    pruner = models.load(part.model)
    if part.identity and part.identity != pruner.identity:
        raise ModelError(
            f"the cut was fitted to {part.identity}, the one here is {pruner.identity}: train anew"
        )
    if trained.cut:
        options.setdefault("cut", cutting(trained.cut, options.get("min_keep", 1)))
    return finefilter_one_pass(llm, share(pruner), **options)


def entry(name: str) -> SystemEntry:
    """Entry of a system by its name: one of `ragsieve.systems`, or a trained filter.

    Raises:
        InputError: If there is neither; of the hub, it is not looked for.
    """
    if name in systems.SYSTEMS:
        return systems.SYSTEMS[name]
    here = bool(name) and Path(name).expanduser().is_dir()
    if not here and not _HUB_ID.fullmatch(name):
        raise InputError(unknown(name, _TRAINED))
    make = SYSTEMS[read(_folder_of(name)).system if here else "finefilter"]
    summary = "Keep the fewest sentences that the generator answers from, by trained models"
    return SystemEntry(make, summary, "its own models", systems.SYSTEMS["finefilter"].paper)


def build(
    name: str,
    llm: LLM,
    options: Mapping[str, Any] | None = None,
    *,
    source: AnySource | None = None,
    share: Share = lambda model: model,
    **roles: Any,
) -> System:
    """A system by its name, as `ragsieve.systems.build` makes it, or a trained filter.

    Args:
        name: Which.
        llm: Its generator.
        options: Options other than their defaults, or than a trained filter's folder says;
            ``prune`` may name a system.
        source: Finds evidence where the caller passes no documents.
        share: Wraps the models of a trained filter.
        roles: What it needs of `ragsieve.SYSTEM_ROLES` (see `roles_of`), and gold answers.

    Raises:
        InputError: If there is no such system or option, or something is missing.
    """
    if isinstance(prune := (options or {}).get(PRUNE), str):
        inner = build(prune, llm, share=share, **roles)
        options = {**(options or {}), PRUNE: inner.stage}
    if name in systems.SYSTEMS:
        return systems.build(name, llm, options=options, source=source, **roles)
    systems.check_options(name, entry(name), options)
    return load(name, llm, options=options, share=share).with_source(source)


def roles_of(name: str, options: Mapping[str, Any]) -> tuple[str, ...]:
    """Models of `ragsieve.SYSTEM_ROLES` that a system needs, with what prunes for it."""
    prune = options.get(PRUNE)
    needed = {*entry(name).roles, *(entry(prune).roles if isinstance(prune, str) else ())}
    return tuple(role for role in SYSTEM_ROLES if role in needed)


def models_of(
    name: str, options: Mapping[str, Any], own: Mapping[str, str], usual: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Models by specification: of parts that have one of their own, and of the roles it needs.

    Args:
        name: A system, or a trained filter.
        options: Its options.
        own: Models that it has for itself, by part or role.
        usual: Models of `ragsieve.SYSTEM_ROLES` for a system that has none for itself.
    """
    roles = roles_of(name, options)
    parts = {part: model for part, model in own.items() if part not in roles}
    return parts, {role: own.get(role, usual[role]) for role in roles}


def check(name: str, options: Mapping[str, Any], own: Mapping[str, str]) -> None:
    """Raise `InputError` unless a system takes these options and models; loads nothing.

    Args:
        name: One of `ragsieve.systems`, or a trained filter.
        options: Options other than their defaults, by name, as JSON has them.
        own: Models of its own, as `ragsieve.models.load` takes them, by part or role.
    """
    known = entry(name)
    systems.check_options(name, known, options)
    hints = get_type_hints(known.function)
    for option, value in options.items():
        if option == PRUNE and isinstance(value, str):
            if entry(value).knows:
                raise InputError(f"{PRUNE} of {name} must not know gold answers, got {value!r}")
        elif not fits(value, hints[option]):
            raise InputError(
                f"{option} of {name} {_rule(option, hints[option])}, got {value!r:.80}"
            )
    kinds = {part: kinds for part, kinds in MODELS.items() if part in known.options}
    kinds |= {role: (SYSTEM_ROLES[role],) for role in roles_of(name, options)}
    for part, model in own.items():
        if part not in kinds:
            parts, near = ", ".join(kinds) or "none", nearest(part, kinds)
            raise InputError(f"models of {name} are {parts}, got {part!r}{near}")
        if part in options:
            raise InputError(f"{part} of {name} must be an option or a model, got both")
        models.check(model, *kinds[part])


def _rule(option: str, hint: Any) -> str:
    """The rule of an option's value, where its type is not all of it."""
    if option == PRUNE:
        return "must be the name of a system"
    if option in MODELS:
        return "is a model's: name one for it, as --model or models = {…} do"
    if get_origin(hint) is Literal:
        return f"must be one of {', '.join(map(repr, get_args(hint)))}"
    return f"must be of type {hint.__name__ if isinstance(hint, type) else hint}"


def generator(name: str, *, asking: bool = False) -> str:
    """The LLM that a trained filter learnt from; ``"smollm2"`` of any other system.

    Where no LLM is needed to filter, it is loaded only when it is asked.

    Args:
        name: A system, or a trained filter.
        asking: Whether it is to answer, or has options, so that its own tokens count.

    Raises:
        InputError: If there is no such filter, or it breaks a rule.
    """
    known = entry(name)
    if name not in systems.SYSTEMS:
        return read(_folder_of(name)).generator.model
    return "deferred:smollm2" if known.roles == ("pruner",) and not asking else "smollm2"


def identity(name: str) -> str:
    """A trained filter's name with twelve hex digits of what its files hold."""
    folder = _folder_of(name)
    digest = hashlib.sha256()
    for file in sorted(f for f in folder.rglob("*") if f.suffix in SHIPPED):  # the hub's are links
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return f"{folder.name}@{digest.hexdigest()[:12]}"


def _folder_of(name: str | Path) -> Path:
    """The folder of a trained filter: as given, or of the hub."""
    if not isinstance(name, str | Path):
        raise InputError(f"system must be a name or a trained filter's folder, got {name!r:.80}")
    folder = Path(name).expanduser()
    if str(name) and folder.is_dir():
        return folder
    if isinstance(name, Path):
        raise InputError(f"a trained filter must be a folder, got {str(name)!r}")
    if not _HUB_ID.fullmatch(name):
        raise InputError(unknown(name, _TRAINED))
    try:
        return store.snapshot(name, _PULLED)
    except StoreError as error:
        raise StoreError(f"there is no folder {name!r}, and {error}") from error
