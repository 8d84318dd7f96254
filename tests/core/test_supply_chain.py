"""What the core brings, and how that is told."""

import hashlib
import json
import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from .test_public_api import required

ROOT = Path(__file__).parents[2]
BILL = json.loads((ROOT / "sbom.cdx.json").read_text())
PACKAGES = {canonicalize_name(c["name"]): c for c in BILL["components"] if "purl" in c}


def test_the_core_brings_no_client_of_http_but_that_of_tokenizers():
    """`tokenizers` requires the hub's client, which a filter never loads."""
    clients = {"aiohttp", "httpx", "httpx2", "huggingface-hub", "requests", "urllib3"}

    assert {"httpx2", "huggingface-hub"} == clients & PACKAGES.keys()


def test_the_bill_of_materials_is_of_what_the_core_installs():
    """Every distribution in its pinned version, and what needs it: else run `tools/sbom.py`."""
    pins = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().splitlines())
    urls = {n: f"pkg:pypi/{n}@{v}" for n, v in ((canonicalize_name(p), pins[p]) for p in pins)}
    needs = {one["ref"]: {*one.get("dependsOn", [])} for one in BILL["dependencies"]}
    installed = required() - {"ragsieve"}
    text = (ROOT / "core.lock").read_text()
    lock = re.findall(r"^(\S+)==(\S+).* \\\n    --hash=sha256:", text, re.M)

    assert installed == PACKAGES.keys()
    assert {one["purl"] for one in PACKAGES.values()} <= {f"pkg:pypi/{n}@{v}" for n, v in lock}
    assert {name: urls[name] for name in installed} == {n: c["purl"] for n, c in PACKAGES.items()}
    for name in ("ragsieve", *installed):
        ref = PACKAGES[name]["bom-ref"] if name in PACKAGES else "root-component"
        lines = [Requirement(line) for line in metadata.requires(name) or []]
        taken = {
            PACKAGES[canonicalize_name(one.name)]["bom-ref"]
            for one in lines
            if one.marker is None or one.marker.evaluate({"extra": ""})
        }

        assert taken <= needs[ref]


def test_the_bill_of_materials_has_each_file_of_weights():
    """By its bytes; all that is in it has a licence, and NOTICE says where the weights are from."""
    folder = ROOT / "src" / "ragsieve" / "weights"
    sums = {
        file.relative_to(folder.parents[1]).as_posix(): hashlib.sha256(file.read_bytes())
        for file in folder.rglob("*")
        if file.is_file()
    }
    listed = {c["name"]: c["hashes"][0]["content"] for c in BILL["components"] if "hashes" in c}

    assert {name: one.hexdigest() for name, one in sums.items()} == listed
    assert all(component["licenses"] for component in BILL["components"])
    for origin in ("all-MiniLM-L6-v2 (Apache-2.0)", "lid.176.ftz", "(CC BY-SA 3.0, "):
        assert origin in (ROOT / "NOTICE").read_text()


def test_without_a_network_an_audit_says_so():
    """It passes: a check of a change does not need one."""
    beside = {**os.environ, "HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "", "no_proxy": ""}
    command = f"make --silent --old-file=.venv/done audit BIN={Path(sys.executable).parent}".split()
    done = subprocess.run(command, cwd=ROOT, env=beside, capture_output=True, text=True, timeout=60)

    assert 0 == done.returncode
    assert done.stdout.startswith("nothing was checked: ")
