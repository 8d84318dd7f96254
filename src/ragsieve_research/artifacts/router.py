"""A trained router's folder: JSON and safetensors, read strictly; no code of it is run.

router.json               what it is, how it was made and how good it is: `TrainedRouter`
router.safetensors        of a light one: ``weights`` and ``bias``
adapter/                  of an LLM: safetensors and JSON
README.md                 the same for people
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ragsieve import models
from ragsieve.errors import InputError, MissingExtra, naming
from ragsieve.models.base import LLM, Embedder
from ragsieve.models.deferred import identity_of
from ragsieve.models.sharing import Share
from ragsieve.select.cut import LARGEST
from ragsieve_research.artifacts.card import router_card
from ragsieve_research.artifacts.folder import (
    CARD,
    atomic_dir,
    check_files,
    check_replaceable,
    copy_part,
    write_sealed,
)
from ragsieve_research.artifacts.recipe import TrainedRouter, read_json
from ragsieve_research.artifacts.weights import check_part, verify
from ragsieve_research.retrieve.route import AskAll, LightRouter, LLMRouter, Named, Only, Router

ROUTER = "router.json"
WEIGHTS = "router.safetensors"
ADAPTER = "adapter"
MAX_BYTES = 1 << 26  # of the weights


def read_router(folder: Path | str) -> TrainedRouter:
    """Read the ``router.json`` of a trained router.

    Raises:
        InputError: If ``folder`` is no trained router, or breaks a rule.
    """
    with naming(f"trained router {str(folder)!r}"):
        return TrainedRouter.parse(read_json(Path(folder).expanduser() / ROUTER))


def named_router(
    name: str, llm: LLM, sources: Sequence[Named], share: Share = lambda model: model
) -> Router:
    """A router by its name.

    Args:
        name: ``"all"``: every source; ``"only:NAME,NAME"``: these; ``"llm"``: those that an
            untrained LLM names; else a trained router's folder.
        llm: Asked where the name is ``"llm"``.
        sources: What it shall choose among.
        share: Wraps the model of a trained router.

    Raises:
        InputError: If there is no such router or source; else as `load_router`.
    """
    if name == "all":
        return AskAll()
    if name == "llm":
        return LLMRouter(llm)
    kind, _, names = name.partition(":")
    known = [source.name for source in sources]
    if kind != "only":
        learnt = {source.name for source in read_router(name).sources}
        if learnt.isdisjoint(known):
            raise InputError(f"router {name!r} knows {sorted(learnt)}, none of {known}")
        return load_router(name, share=share)
    chosen = tuple(filter(None, map(str.strip, names.split(","))))
    if unknown := next((one for one in chosen if one not in known), ""):
        raise InputError(
            f"router {name!r} must name sources of {', '.join(known)}, got {unknown!r}"
        )
    return Only(chosen)


def check_router(name: str) -> None:
    """Raise `InputError` unless there is a router of this name; loads no model."""
    if name not in ("all", "llm") and not name.startswith("only:"):
        read_router(name)


def router_models(name: str) -> list[str]:
    """The model of a trained router by its name; none of another's."""
    plain = name in ("all", "llm") or name.startswith("only:")
    return [] if plain else [read_router(name).base.model]


def router_content(name: str) -> str:
    """A router's name, with twelve hex digits of what its folder holds where it is trained."""
    weights = [Path(name) / WEIGHTS, *sorted((Path(name) / ADAPTER).glob("*.safetensors"))]
    held = [file.read_bytes() for file in (Path(name) / ROUTER, *weights) if file.is_file()]
    return f"{name}@{hashlib.sha256(b''.join(held)).hexdigest()[:12]}" if held else name


def load_router(
    folder: Path | str, embedder: Embedder | None = None, *, share: Share = lambda model: model
) -> LightRouter | LLMRouter:
    """A trained router; of its folder JSON and safetensors are read, no code of it is run.

    Args:
        folder: As `save_router` or ``ragsieve train router`` left it.
        embedder: The one that a light router was trained with, where there is one at hand.
        share: Wraps the model that is loaded here, as `ragsieve.models.sharing` does.

    Raises:
        InputError: If it is no trained router, breaks a rule, or was trained with another embedder.
        ModelError: If the model here is not the one it was trained with.
        MissingExtra: If a model needs a package that is not installed.
        StoreError: If weights cannot be fetched.
    """
    folder = Path(folder).expanduser()
    trained = read_router(folder)
    least = trained.min_probability
    check_files(folder / ROUTER, "router")
    if trained.form == "llm":
        inner = folder / ADAPTER
        if inner.resolve() != folder.resolve() / ADAPTER or not inner.is_dir():
            raise InputError(f"trained router {str(folder)!r}: {ADAPTER} must be a folder in it")
        check_part(inner)
        verify(trained.base)
        llm = share(models.load(trained.base.model, adapter=str(inner)))
        return LLMRouter(llm, least, trained=True)
    if embedder is None:
        verify(trained.base)
        embedder = share(models.defer(trained.base.model))
    if (identity := identity_of(embedder)) != trained.identity:
        raise InputError(
            f"embedder must be what router {str(folder)!r} was trained with, "
            f"{trained.identity!r}, got {identity!r}"
        )
    names = tuple(source.name for source in trained.sources)
    weights, bias = _read_weights(folder / WEIGHTS)
    with naming(f"trained router {str(folder)!r}"):
        return LightRouter(embedder, names, weights, bias, least)


def save_router(
    folder: Path | str,
    trained: TrainedRouter,
    *,
    light: LightRouter | None = None,
    adapter: Path | None = None,
    limits: Sequence[str] = (),
) -> Path:
    """Write a trained router, whole or not at all.

    Args:
        folder: Where; an older trained router there is replaced.
        trained: What it is.
        light: The router itself, of form ``"light"``.
        adapter: Where the adapter lies now, of form ``"llm"``.
        limits: What it is not good at, a line each; for the card.

    Raises:
        InputError: If ``folder`` holds anything but a trained router, or cannot be written, or what
            is to be written is not of the form.
    """
    folder = Path(folder).expanduser().absolute()
    if (light is None, adapter is None) != (trained.form == "llm", trained.form == "light"):
        raise InputError(f"a router of form {trained.form} needs its weights, and no others")
    check_router_folder(folder)
    with atomic_dir(folder) as fresh:
        if light:
            from safetensors.numpy import save_file

            arrays = {"weights": np.array(light.weights), "bias": np.array(light.bias)}
            save_file(arrays, fresh / WEIGHTS)
        if adapter:
            copy_part(adapter, fresh / ADAPTER)
        write_sealed(fresh / ROUTER, trained)
        (fresh / CARD).write_text(router_card(trained, limits), encoding="utf-8")
        read_router(fresh)
    return folder


def check_router_folder(folder: Path) -> None:
    """Raise `InputError` where ``folder`` holds anything but a trained router."""
    check_replaceable(folder, "router", ROUTER, lambda: (WEIGHTS, ADAPTER, CARD))


def _read_weights(path: Path) -> tuple[tuple[tuple[float, ...], ...], tuple[float, ...]]:
    try:
        from safetensors import SafetensorError
        from safetensors.numpy import load
    except ModuleNotFoundError as error:
        raise MissingExtra("safetensors", extra="local") from error
    if not path.is_file() or path.stat().st_size > MAX_BYTES:
        raise InputError(f"{str(path)!r} must be a file of at most {MAX_BYTES} bytes")
    try:
        arrays = load(path.read_bytes())
    except (SafetensorError, KeyError, ValueError) as error:
        raise InputError(f"{str(path)!r} must be safetensors: {error}") from error
    if {name: array.ndim for name, array in arrays.items()} != {"weights": 2, "bias": 1}:
        raise InputError(f"{str(path)!r} must hold weights in rows and bias")
    if any((np.abs(array) > LARGEST).any() for array in arrays.values()):
        raise InputError(f"{str(path)!r} must hold numbers from -{LARGEST} to {LARGEST}")
    rows = tuple(tuple(map(float, row)) for row in arrays["weights"].tolist())
    return rows, tuple(map(float, arrays["bias"].tolist()))
