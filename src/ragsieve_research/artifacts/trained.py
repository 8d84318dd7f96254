"""Trained filters by name: what `ragsieve.load` and all commands open them by."""

import hashlib
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ragsieve import models
from ragsieve.errors import InputError, ModelError, StoreError
from ragsieve.models.base import LLM, Embedder
from ragsieve.models.files import snapshot
from ragsieve.models.sharing import Share
from ragsieve.system import System
from ragsieve.systems.base import SYSTEMS as KNOWN
from ragsieve.systems.base import SystemEntry, divided, made
from ragsieve.systems.finefilter import finefilter_one_pass
from ragsieve_research.artifacts import recipe
from ragsieve_research.artifacts.folder import CARD, FILTER, SHIPPED, check_files, read
from ragsieve_research.artifacts.weights import opening, verify

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*(@[\w./-]+)?", re.ASCII)
_TRAINED = "a trained filter's folder or hub id OWNER/NAME"
_PULLED = (FILTER, CARD, "*.safetensors", "*.json")


def entry(name: str) -> SystemEntry:
    """Entry of a trained filter by its name.

    Raises:
        InputError: If there is none; of the hub, it is not looked for.
    """
    here = bool(name) and Path(name).expanduser().is_dir()
    if not here and not _HUB_ID.fullmatch(name):
        raise InputError(KNOWN.unknown(name, _TRAINED))
    make = recipe.SYSTEMS[read(_folder_of(name)).system if here else "finefilter"]
    summary = "Keep the fewest sentences that the generator answers from, by trained models"
    return SystemEntry(make, summary, "its own models", KNOWN["finefilter"].paper)


def generator(name: str) -> str:
    """The LLM that a trained filter learnt from.

    Raises:
        InputError: If there is no such filter, or it breaks a rule.
    """
    return read(_folder_of(name)).generator.model


def model_names(name: str) -> list[str]:
    """Models other than the generator that a trained filter in a folder here opens; else none."""
    if name in KNOWN or not Path(name).expanduser().is_dir():
        return []
    trained = read(_folder_of(name))
    own = [part.model for part in trained.parts.values()]
    return [*own, *([trained.embedder.model] if trained.embeds else [])]


def load(
    name: str, llm: Any, embedder: Any, options: Mapping[str, Any] | None, share: Share
) -> System:
    """A trained filter by its name; see `ragsieve.load`."""
    folder = _folder_of(name)
    trained = read(folder)
    check_files(folder / FILTER, "filter")
    return assembled(folder, trained, llm, embedder, options, share)


def assembled(
    folder: Path,
    trained: recipe.Trained,
    llm: LLM | None = None,
    embedder: Embedder | None = None,
    options: Mapping[str, Any] | None = None,
    share: Share = lambda model: model,
) -> System:
    """A trained filter whose part folders lie in ``folder``; see `load`."""
    options = options or {}

    @cache
    def loaded(model: str, adapter: str | None = None, kind: str = "llm") -> Any:
        name, own = opening(model, folder / adapter, kind) if adapter else (model, {})
        if name == model:
            verify(recipe.Base(model, trained.sha256(model)))
        return share(models.defer(name, **own))

    for option, value in divided(options)[0].items():
        if option not in recipe.ROLES or isinstance(value, str):  # a part may be a model
            recipe.check_option(trained.system, option, value)
    if trained.system == recipe.ONE_PASS:
        return _one_pass(trained, llm or loaded(trained.generator.model), options, share)
    parts = {
        role: loaded(part.model, part.adapter, part.kind)
        for role, part in trained.parts.items()
        if role not in options
    }
    chosen = {**trained.options, **parts, **options}
    if trained.extractor and trained.extractor.mode:  # also that of one that is not fine-tuned
        chosen.setdefault("mode", trained.extractor.mode)
    if trained.cut and "truncator" not in options:
        if "extractor" in options:
            raise InputError(
                f"another extractor needs another truncator: the cut of {folder} is its"
            )
        chosen["truncator"] = recipe.cutting(trained.cut, chosen.get("min_keep", 0))
    if trained.reranker and trained.reranker.kind == "embedder" and "reranker" in parts:
        embedder, chosen["reranker"] = parts["reranker"], "cosine"
    elif embedder is None and (options or trained.embeds):  # importing its library takes seconds
        embedder = loaded(trained.embedder.model)
    llm = llm or loaded(trained.generator.model)
    return made(recipe.SYSTEMS[trained.system], llm, embedder, **chosen)


def _one_pass(trained: recipe.Trained, llm: LLM, own: Mapping[str, Any], share: Share) -> System:
    """A sentence pruner with what was fitted to the generator."""
    part, options = trained.parts["extractor"], {**trained.options, **own}
    pruner = models.load(part.model)
    if part.identity and part.identity != pruner.identity:
        raise ModelError(
            f"the cut was fitted to {part.identity}, the one here is {pruner.identity}: train anew"
        )
    if trained.cut:
        options.setdefault("cut", recipe.cutting(trained.cut, options.get("min_keep", 1)))
    return made(finefilter_one_pass, llm, share(pruner), **options)


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
        raise InputError(KNOWN.unknown(name, _TRAINED))
    try:
        return snapshot(name, _PULLED)
    except StoreError as error:
        raise StoreError(f"there is no folder {name!r}, and {error}") from error
