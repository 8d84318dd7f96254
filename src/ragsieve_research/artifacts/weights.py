"""The weights under a trained filter: their identity, and a check that they are safe to load."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from ragsieve.errors import InputError, ModelError
from ragsieve.models.files import snapshot
from ragsieve.schema import Probability, read
from ragsieve_research.artifacts.recipe import Base, place, read_json
from ragsieve_research.models import store

ADAPTER = ("adapter_config.json", "adapter_model.safetensors")

_FOREIGN = ("megatron_config", "layer_replication")  # loads modules by names; copies layers
_Rank = Annotated[int, Meta(ge=1, le=1024, extra={"rule": "a whole number from 1 to 1024"})]
_Alpha = Annotated[float, Meta(ge=0, le=10**6, extra={"rule": "from 0 to 1000000"})]


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
        return str(json.loads((folder / "ragsieve.json").read_text(encoding="utf-8"))["sha256"])
    if digest := sha256_in(folder):
        return digest
    raise ModelError(f"model {model!r} must have safetensors, it has none")


def sha256_in(folder: Path) -> str:
    """Of the safetensors in a folder, as `sha256_of` has it; empty where there are none."""
    digests = {file.name: _sha256(file) for file in sorted(folder.glob("*.safetensors"))}
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


def check_part(folder: Path) -> None:
    """Check that a part is all there, and that it names nothing to be imported.

    Raises:
        InputError: If it breaks a rule.
    """
    for name in ADAPTER:
        if not (folder / name).is_file():
            raise InputError(f"part {folder.name!r} must hold {name}, it does not")
    values: Any = read_json(folder / ADAPTER[0])
    if not isinstance(values, dict):
        raise InputError(f"{ADAPTER[0]} of part {folder.name!r} must be an object")
    if values.get("peft_type") != "LORA" or any(map(values.get, _FOREIGN)):
        raise InputError(f"part {folder.name!r} must be a plain LoRA adapter, it is none")
    read(_Sizes, values, f"part {folder.name!r}")


def _sha256(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
