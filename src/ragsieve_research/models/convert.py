"""Weights in PyTorch's own files, which are pickles, rewritten as safetensors.

ragsieve loads safetensors alone. `to_safetensors` reads ``pytorch_model.bin``, or its shards, as
tensors and nothing else: an object that would run code when it is read is refused. It is called by
`ragsieve models convert` and by nothing in the package.
"""

import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

from ragsieve.errors import InputError, ModelError, needs_extra, one_line

with needs_extra("local"):
    import torch
    from safetensors.torch import save_file

_FILES, _INDEX = ("pytorch_model.bin", "adapter_model.bin"), "pytorch_model.bin.index.json"


def to_safetensors(folder: str | Path) -> list[Path]:
    """Write the weights of a model beside its files; those that are there stay.

    Args:
        folder: Holds ``pytorch_model.bin``, an adapter's ``adapter_model.bin``, or shards with
            ``pytorch_model.bin.index.json``.

    Returns:
        The new files.

    Raises:
        InputError: If the folder holds none of them, or safetensors already.
        ModelError: If a file holds more than tensors by name, or cannot be read.
    """
    folder = Path(folder).expanduser()
    files = [folder / name for name in _FILES if (folder / name).is_file()]
    if not files and not (folder / _INDEX).is_file():
        known = ", ".join((*_FILES, _INDEX))
        raise InputError(f"folder must hold one of {known}, got {str(folder)!r}")
    if any(folder.glob("*.safetensors")):
        raise InputError(f"{str(folder)!r} holds safetensors already: nothing is to convert")
    if files:
        return [_converted(file) for file in files]
    index = _index(folder / _INDEX)
    shards = [_converted(folder / name) for name in sorted({*index["weight_map"].values()})]
    index["weight_map"] = {name: _new(file) for name, file in index["weight_map"].items()}
    listed = folder / "model.safetensors.index.json"
    listed.write_text(json.dumps(index, indent=2) + "\n", encoding="utf-8")
    return [*shards, listed]


def _index(file: Path) -> dict[str, Any]:
    """Shard of each tensor; all lie in the folder."""
    try:
        index: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        names = {*index["weight_map"].values()}
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ModelError(f"{file.name} must say weight_map: {error}") from error
    for name in names:
        if not (isinstance(name, str) and name == Path(name).name and name.endswith(".bin")):
            raise ModelError(f"{file.name} must name .bin files of the folder, got {name!r:.80}")
    return index


def _new(name: str) -> str:
    return f"{name.removesuffix('.bin').replace('pytorch_model', 'model', 1)}.safetensors"


def _converted(file: Path) -> Path:
    try:
        with warnings.catch_warnings(action="ignore"):  # of protocols: what is no tensor is refused
            tensors = torch.load(file, map_location="cpu", weights_only=True)
    except UnpicklingError as error:
        raise ModelError(
            f"{file.name} holds more than tensors and is not read: it could run code"
        ) from error
    except (OSError, RuntimeError, EOFError) as error:
        reason = one_line(error, 200)
        raise ModelError(f"{file.name} cannot be read: {reason}") from error
    if not isinstance(tensors, Mapping) or not all(map(torch.is_tensor, tensors.values())):
        raise ModelError(f"{file.name} must hold tensors by name, got {type(tensors).__name__}")
    target = file.with_name(_new(file.name))
    part = target.with_suffix(".part")  # tied tensors are written as often as they have a name
    save_file({n: t.clone().contiguous() for n, t in tensors.items()}, part, {"format": "pt"})
    return part.replace(target)
