"""The weights under a trained filter: their identity, and a check that they are safe to load."""

import hashlib
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from ragsieve.errors import InputError, ModelError
from ragsieve.files import digest
from ragsieve.models.files import snapshot
from ragsieve.schema import Probability, read
from ragsieve_research.artifacts.recipe import Base, place, read_json
from ragsieve_research.models import store

ADAPTER = ("adapter_config.json", "adapter_model.safetensors")

MODULES = "modules.json"  # what a whole model of sentence-transformers is made of

_FOREIGN = ("megatron_config", "layer_replication")  # loads modules by names; copies layers
_Rank = Annotated[int, Meta(ge=1, le=1024, extra={"rule": "a whole number from 1 to 1024"})]
_Alpha = Annotated[float, Meta(ge=0, le=10**6, extra={"rule": "from 0 to 1000000"})]


_Class = Annotated[
    str,
    Meta(
        pattern=r"^sentence_transformers(\.\w+)*\.(Transformer|Pooling|Normalize)\Z",
        extra={"rule": "Transformer, Pooling or Normalize of sentence_transformers"},
    ),
]
_Inner = Annotated[
    str, Meta(pattern=r"^[A-Za-z0-9_]*\Z", extra={"rule": "a folder below, without a path"})
]


class _Module(msgspec.Struct, frozen=True):
    """A module of a whole model: the class that is imported, and where its files lie."""

    type: _Class
    path: _Inner


class _Sizes(msgspec.Struct, frozen=True):
    """Numbers of an adapter's configuration, which say how much memory it takes."""

    r: _Rank = 8
    lora_alpha: _Alpha = 8
    lora_dropout: Probability = 0.0
    rank_pattern: dict[str, _Rank] | None = None
    alpha_pattern: dict[str, _Alpha] | None = None


def sha256_of(model: str) -> str:
    """Digest of the weights of a local model, 64 hex digits; empty of a server's model.

    Of named weights it is the sha256 of the file they were pulled as, else of the model's
    safetensors; of several, of the lines ``SHA256  NAME``.

    Args:
        model: A name of `ragsieve.models.load`; what is not there yet is fetched.

    Raises:
        InputError: If ``model`` is no such name.
        ModelError: If it has no safetensors.
        StoreError: If it cannot be fetched.
    """
    name = place(model)
    if name not in store.NAMED and name == model:
        return ""
    folder = store.resolve(name)
    if isinstance(folder, str):
        folder = snapshot(folder, ["*.safetensors"])
    elif name in store.NAMED:
        return store.record(folder)["sha256"]
    if digest := sha256_in(folder):
        return digest
    raise ModelError(f"model {model!r} must have safetensors, it has none")


def sha256_in(folder: Path) -> str:
    """Of the safetensors in a folder, as `sha256_of` has it; empty where there are none."""
    digests = {file.name: digest(file) for file in sorted(folder.glob("*.safetensors"))}
    if len(digests) < 2:
        return "".join(digests.values())
    lines = "".join(f"{digest}  {name}\n" for name, digest in digests.items())
    return hashlib.sha256(lines.encode()).hexdigest()


def verify(base: Base) -> None:
    """Check that the weights at hand are those that a filter was trained with.

    Raises:
        InputError: If a folder here has the name of the hub's model.
        ModelError: If they are others.
        StoreError: If they cannot be fetched.
    """
    name = place(base.model)
    prefixed = name != base.model and name not in store.NAMED
    if prefixed and not Path(name).is_absolute() and Path(name).is_dir():
        raise InputError(f"model {base.model!r} must be the hub's, but a folder here has its name")
    if base.sha256 and (digest := sha256_of(base.model)) != base.sha256:
        raise ModelError(
            f"the filter was trained with a {base.model!r} of sha256 {base.sha256[:12]}…, "
            f"the one here has {digest[:12] or 'none'}…"
        )


def opening(model: str, folder: Path, kind: str) -> tuple[str, dict[str, str]]:
    """Name and options for `ragsieve.models.load` of a part of this kind, its files in ``folder``.

    These are an adapter of ``model``, or of an embedder also a whole model.
    """
    if is_whole(folder, kind):
        return f"sentence_transformers:{folder}", {}
    return model, {"adapter": str(folder)}


def is_whole(folder: Path, kind: str) -> bool:
    """Whether a part of this kind is a whole model, all of whose weights were tuned."""
    return kind == "embedder" and (folder / MODULES).is_file()


def check_part(folder: Path, kind: str = "llm") -> None:
    """Check that a part is all there, and that it names nothing of others to be imported.

    Args:
        folder: Where it lies.
        kind: Of the part.

    Raises:
        InputError: If it breaks a rule.
    """
    if is_whole(folder, kind):
        read(list[_Module], read_json(folder / MODULES), f"{MODULES} of part {folder.name!r}")
        return
    for name in ADAPTER:
        if not (folder / name).is_file():
            raise InputError(f"part {folder.name!r} must hold {name}, it does not")
    values: Any = read_json(folder / ADAPTER[0])
    if not isinstance(values, dict):
        raise InputError(f"{ADAPTER[0]} of part {folder.name!r} must be an object")
    if values.get("peft_type") != "LORA" or any(map(values.get, _FOREIGN)):
        raise InputError(f"part {folder.name!r} must be a plain LoRA adapter, it is none")
    read(_Sizes, values, f"part {folder.name!r}")
