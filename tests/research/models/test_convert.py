"""Pickled weights rewritten as safetensors, by a command alone."""

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from ragsieve.errors import ModelError
from ragsieve_research.models.convert import to_safetensors


class Evil:
    """What runs a command when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch {self.mark}",)


@pytest.mark.parametrize("name", ["model", "adapter_model"])
def test_one_file_becomes_one_file(name: str, tmp_path: Path) -> None:
    """Tied, transposed and half-precise tensors, too; the pickle stays."""
    pickled = f"{name}.bin" if name == "adapter_model" else f"pytorch_{name}.bin"
    shared = torch.arange(6.0).reshape(2, 3)
    tensors = {"a": shared, "b": shared, "c": shared.T, "d": shared.half()}
    torch.save(tensors, tmp_path / pickled)
    (file,) = to_safetensors(tmp_path)
    found = load_file(file)

    assert f"{name}.safetensors" == file.name
    assert tensors.keys() == found.keys()
    assert all(torch.equal(tensors[name], found[name]) for name in tensors)
    assert {file.name, pickled} == {f.name for f in tmp_path.iterdir()}


def test_shards_become_shards(tmp_path: Path) -> None:
    """With an index of the new names."""
    for n, name in enumerate("ab", 1):
        torch.save({name: torch.ones(n)}, tmp_path / f"pytorch_model-{n:05}-of-00002.bin")
    names = {name: f"pytorch_model-{n:05}-of-00002.bin" for n, name in enumerate("ab", 1)}
    index = {"metadata": {"total_size": 12}, "weight_map": names}
    (tmp_path / "pytorch_model.bin.index.json").write_text(json.dumps(index))
    *shards, listed = to_safetensors(tmp_path)
    new = json.loads(listed.read_text())

    assert {"total_size": 12} == new["metadata"]
    assert [1, 2] == [
        load_file(shard)[name].numel() for name, shard in zip("ab", shards, strict=True)
    ]
    assert [shard.name for shard in shards] == [*new["weight_map"].values()]
    assert "model-00001-of-00002.safetensors" == shards[0].name


@pytest.mark.parametrize("form", ["zip", "old", "pickle"])
def test_a_pickle_that_runs_code_is_refused(form: str, tmp_path: Path) -> None:
    """In one line, nothing run and nothing written."""
    mark, file = tmp_path / "ran", tmp_path / "pytorch_model.bin"
    if form == "pickle":
        file.write_bytes(pickle.dumps({"a": Evil(mark)}))
    else:
        torch.save({"a": Evil(mark)}, file, _use_new_zipfile_serialization=form == "zip")
    with pytest.raises(ModelError, match="more than tensors") as caught:
        to_safetensors(tmp_path)

    assert "\n" not in str(caught.value)
    assert [file] == [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "cannot be read|more than tensors"),
        (b"not a pickle", "cannot be read|more than tensors"),
        ([1, 2], "must hold tensors by name, got list"),
        ({"a": 1}, "must hold tensors by name, got dict"),
    ],
)
def test_what_is_no_weights_is_an_error(content: Any, message: str, tmp_path: Path) -> None:
    """In one line that names the file."""
    file = tmp_path / "pytorch_model.bin"
    if isinstance(content, bytes):
        file.write_bytes(content)
    else:
        torch.save(content, file)
    with pytest.raises(ModelError, match=f"^{file.name} .*({message})"):
        to_safetensors(tmp_path)

    assert [file] == [*tmp_path.iterdir()]


@pytest.mark.parametrize("named", ["../x.bin", "/etc/x.bin", "x.safetensors", 1])
def test_an_index_names_files_of_its_folder(named: Any, tmp_path: Path) -> None:
    """Nothing outside is read or written."""
    index = tmp_path / "pytorch_model.bin.index.json"
    index.write_text(json.dumps({"weight_map": {"a": named}}))
    with pytest.raises(ModelError, match=r"must name \.bin files of the folder"):
        to_safetensors(tmp_path)


@pytest.mark.slow
def test_the_command_prints_what_it_wrote(tmp_path: Path) -> None:
    """And refuses with one line and exit code 1."""
    run = [sys.executable, "-m", "ragsieve", "models", "convert", str(tmp_path)]
    torch.save({"a": torch.ones(1)}, tmp_path / "pytorch_model.bin")
    done = subprocess.run(run, capture_output=True, text=True, timeout=120)
    (tmp_path / "model.safetensors").unlink()
    torch.save({"a": Evil(tmp_path / "ran")}, tmp_path / "pytorch_model.bin")
    refused = subprocess.run(run, capture_output=True, text=True, timeout=120)

    assert (0, f"{tmp_path / 'model.safetensors'}\n") == (done.returncode, done.stdout)
    assert 1 == refused.returncode
    assert refused.stderr.startswith("error: pytorch_model.bin holds more than tensors")
    assert 1 == refused.stderr.count("\n")
    assert not (tmp_path / "ran").exists()
