"""Write ``sbom.cdx.json``, which the wheel carries: its weights, and what it depends on."""

from __future__ import annotations

import hashlib
import json
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FILE = ROOT / "sbom.cdx.json"


def sbom() -> str:
    """The bill of materials in CycloneDX's JSON; the same sources give the same bytes."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    folder = ROOT / "src" / "ragsieve" / "weights" / "pruner"
    files = sorted(path for path in folder.iterdir() if path.is_file())
    weights = [_file(path) for path in files]
    extras = [p for some in project["optional-dependencies"].values() for p in some]
    needs = [(p, "required") for p in project["dependencies"]]
    needs += [(p, "optional") for p in extras if not p.startswith(project["name"])]
    packages = [_package(*need) for need in sorted(dict(reversed(needs)).items())]
    root = {"type": "library", "name": project["name"], "version": project["version"]}
    licence = [{"license": {"id": project["license"]}}]
    head = {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1}
    values = {
        **head,
        "metadata": {"component": {**root, "licenses": licence}},
        "components": [*weights, *packages],
    }
    return json.dumps(values, indent=1) + "\n"


def _file(path: Path) -> dict[str, Any]:
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    kind = "machine-learning-model" if path.suffix == ".onnx" else "file"
    hashes = [{"alg": "SHA-256", "content": digest}]
    return {"type": kind, "name": path.relative_to(ROOT / "src").as_posix(), "hashes": hashes}


def _package(requirement: str, scope: str) -> dict[str, Any]:
    name, _, _ = requirement.partition(";")[0].partition(">")
    name = name.partition("=")[0].partition("<")[0].partition("[")[0].strip()
    more = [{"name": "requirement", "value": requirement}]
    url = f"pkg:pypi/{name}"
    return {"type": "library", "name": name, "purl": url, "scope": scope, "properties": more}


if __name__ == "__main__":
    FILE.write_text(sbom())
    sys.stdout.write(f"{FILE.name} is written\n")
