"""Write what the core installs: ``sbom.cdx.json``, with its weights, and ``core.lock``.

The wheel carries the first; ``pip install --require-hashes -r core.lock`` takes the second.
CycloneDX's tool for Python describes a fresh environment of what the core requires, in the pinned
versions; it and the packages come from an index.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from uv import find_uv_bin

ROOT = Path(__file__).parents[1]
FILE, LOCK, PROJECT = ROOT / "sbom.cdx.json", "core.lock", "pyproject.toml"
WEIGHTS = ROOT / "src" / "ragsieve" / "weights"
LICENCES = {"lid.176.ftz": "CC-BY-SA-3.0", "pruner": "Apache-2.0", "protobuf": "BSD-3-Clause"}
"""Of what lies in the folder of weights, and of a package whose metadata name none."""


def uv(*arguments: str | Path) -> str:
    """What uv prints."""
    done = subprocess.run(
        [find_uv_bin(), *arguments], check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    return done.stdout


def sbom() -> dict[str, Any]:
    """The bill of an environment of what the core requires, and of the weights."""
    with tempfile.TemporaryDirectory() as folder:
        uv("venv", "--quiet", "--python", sys.executable, folder)
        place = ("--quiet", "--python", folder, "--constraint", "constraints.txt")
        uv("pip", "install", *place, "--requirement", PROJECT)
        tool = ("tool", "run", "--quiet", "--from", "cyclonedx-bom==7.5.0", "cyclonedx-py")
        how = ("--mc-type", "library", "--output-reproducible", "--pyproject", PROJECT)
        bill: dict[str, Any] = json.loads(uv(*tool, "environment", *how, folder))
    for package in bill["components"]:
        if "licenses" not in package:
            package["licenses"] = _licence(package["name"])
    files = [_file(path) for path in sorted(WEIGHTS.rglob("*")) if path.is_file()]
    bill["components"] = [*files, *bill["components"]]
    root = next(one for one in bill["dependencies"] if one["ref"] == "root-component")
    project = tomllib.loads((ROOT / PROJECT).read_text())["project"]
    names = {canonicalize_name(Requirement(line).name) for line in project["dependencies"]}
    own = [ref for ref in root["dependsOn"] if canonicalize_name(ref.partition("==")[0]) in names]
    root["dependsOn"] = [*(one["bom-ref"] for one in files), *own]  # the tool adds those of extras
    return bill


def _file(path: Path) -> dict[str, Any]:
    name = path.relative_to(WEIGHTS.parents[1]).as_posix()
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    is_model = path.suffix in (".ftz", ".onnx")
    return {
        "bom-ref": name,
        "type": "machine-learning-model" if is_model else "file",
        "name": name,
        "hashes": [{"alg": "SHA-256", "content": digest}],
        "licenses": _licence(path.relative_to(WEIGHTS).parts[0]),
    }


def _licence(name: str) -> list[dict[str, Any]]:
    return [{"license": {"id": LICENCES[name]}}]


if __name__ == "__main__":
    FILE.write_text(json.dumps(sbom(), indent=1, sort_keys=True) + "\n")
    how = ("--universal", "--generate-hashes", "--no-annotate", "--no-header", "--quiet")
    uv("pip", "compile", *how, "--constraint", "constraints.txt", "--output-file", LOCK, PROJECT)
    sys.stdout.write(f"{FILE.name} and {LOCK} are written\n")
