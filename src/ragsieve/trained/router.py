"""A trained router's folder: JSON and safetensors, read strictly; nothing of it is run.

router.json               what it is, how it was made and how good it is: `TrainedRouter`
router.safetensors        of a light one: ``weights`` and ``bias``
adapter/                  of an LLM: safetensors and JSON
README.md                 the same for people
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from ragsieve import models
from ragsieve.errors import InputError, MissingExtra
from ragsieve.models.base import LLM, Embedder
from ragsieve.models.sharing import Share
from ragsieve.retrieve.route import AskAll, LightRouter, LLMRouter, Named, Only, Router
from ragsieve.schema import Probability, Schema, read_format
from ragsieve.trained.folder import CARD, shipped
from ragsieve.trained.recipe import Base, Data, Split, read_json
from ragsieve.trained.router_card import card
from ragsieve.trained.weights import check_part, verify

FORMAT = 1
ROUTER = "router.json"
WEIGHTS = "router.safetensors"
ADAPTER = "adapter"
MAX_BYTES = 1 << 26  # of the weights

Form = Literal["light", "llm"]


class Known(Schema, frozen=True):
    """A source that a router was trained on: its name, and its description then."""

    name: str
    description: str


class TrainedRouter(Schema, frozen=True, kw_only=True):
    """A trained router, as ``router.json`` says.

    Args:
        form: ``"light"``: regressions on the question's embedding; ``"llm"``: a LoRA adapter.
        sources: What it chooses among, in the order of its weights.
        base: The embedder, or the LLM below the adapter.
        identity: What its embedder said it was; empty of an LLM.
        generator: The LLM by whose answers it was taught.
        min_probability: From which a source is chosen, in [0, 1].
        data: What it was trained on.
        split: How questions were divided; None where they were not.
        training: How it was trained.
        figures: How good it is, on questions it has not learnt from.
        versions: Of the libraries it was made with.

    Raises:
        InputError: If a field breaks its rule.
    """

    form: Form
    sources: tuple[Known, ...]
    base: Base
    generator: Base
    identity: str = ""
    min_probability: Probability = 0.5
    data: tuple[Data, ...] = ()
    split: Split | None = None
    training: Mapping[str, Any] = {}
    figures: Mapping[str, Any] = {}
    versions: Mapping[str, Any] = {}

    def __post_init__(self) -> None:
        models.check(self.base.model, "embedder" if self.form == "light" else "LLM")
        models.check(self.generator.model, "LLM")
        names = [source.name for source in self.sources]
        if not names or len({*names}) < len(names):
            raise InputError(f"sources must have names of their own, got {names!r:.200}")

    def to_dict(self) -> dict[str, Any]:
        """JSON values."""
        return {"format": FORMAT, **msgspec.to_builtins(self)}

    @classmethod
    def parse(cls, values: object) -> TrainedRouter:
        """From JSON values.

        Raises:
            InputError: If a field is missing, not known, of the wrong type, or breaks its rule.
        """
        return read_format(cls, values, FORMAT)


def read_router(folder: Path | str) -> TrainedRouter:
    """What ``router.json`` of a trained router says.

    Raises:
        InputError: If ``folder`` is no trained router, or breaks a rule.
    """
    try:
        return TrainedRouter.parse(read_json(Path(folder).expanduser() / ROUTER))
    except InputError as error:
        raise InputError(f"trained router {str(folder)!r}: {error}") from error


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
        embedder = share(models.load(trained.base.model))
    if embedder.identity != trained.identity:
        raise InputError(
            f"embedder must be what router {str(folder)!r} was trained with, "
            f"{trained.identity!r}, got {embedder.identity!r}"
        )
    names = tuple(source.name for source in trained.sources)
    weights, bias = _read_weights(folder / WEIGHTS)
    try:
        return LightRouter(embedder, names, weights, bias, least)
    except InputError as error:
        raise InputError(f"trained router {str(folder)!r}: {error}") from error


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
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        try:
            made = work / "made"
            made.mkdir()
            if light:
                _write_weights(made / WEIGHTS, light)
            if adapter:
                for file in shipped(adapter):
                    (made / ADAPTER / file).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(adapter / file, made / ADAPTER / file)
            text = json.dumps(trained.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)
            (made / ROUTER).write_text(text + "\n", encoding="utf-8")
            (made / CARD).write_text(card(trained.to_dict(), limits), encoding="utf-8")
            read_router(made)
            if folder.exists():
                folder.replace(work / "old")
            made.replace(folder)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    except (OSError, ValueError) as error:
        raise InputError(f"folder must be writable, got {str(folder)!r}: {error}") from error
    return folder


def check_router_folder(folder: Path) -> None:
    """Raise `InputError` where ``folder`` holds anything but a trained router."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise InputError(f"folder must be a folder, got {str(folder)!r}")
    there = {file.name for file in folder.iterdir()} if folder.exists() else set()
    if there and (ROUTER not in there or there - {ROUTER, WEIGHTS, ADAPTER, CARD}):
        raise InputError(f"folder must be new or a trained router, got {str(folder)!r}")


def _write_weights(path: Path, light: LightRouter) -> None:
    from safetensors.numpy import save_file

    arrays = {"weights": np.array(light.weights), "bias": np.array(light.bias)}
    save_file(arrays, path)


def _read_weights(path: Path) -> tuple[tuple[tuple[float, ...], ...], tuple[float, ...]]:
    try:
        from safetensors import SafetensorError
        from safetensors.numpy import load
    except ModuleNotFoundError as error:
        raise MissingExtra("safetensors", extra="local") from error
    if not path.is_file() or path.stat().st_size > MAX_BYTES:
        raise InputError(f"{str(path)!r} must be a file of at most {MAX_BYTES} bytes")
    try:
        found = load(path.read_bytes())
    except (SafetensorError, KeyError, ValueError) as error:
        raise InputError(f"{str(path)!r} must be safetensors: {error}") from error
    if {name: array.ndim for name, array in found.items()} != {"weights": 2, "bias": 1}:
        raise InputError(f"{str(path)!r} must hold weights in rows and bias")
    rows = tuple(tuple(map(float, row)) for row in found["weights"].tolist())
    return rows, tuple(map(float, found["bias"].tolist()))
