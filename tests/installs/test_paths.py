"""What a new user does, from `pip install` in an empty environment to a result."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.blocks import ROOT

from .environments import install, run, unreached, variables

MOST_S = 300
BUILT = ("pyproject.toml", "README.md", "LICENSE", "NOTICE", "sbom.cdx.json")


@pytest.mark.slow
@pytest.mark.models
@pytest.mark.server
@pytest.mark.parametrize(
    ("script", "needs", "line"),
    [
        ("cohere_rerank.py", {"[serve]", "cohere"}, "document 1, relevance 0."),
        ("tool_results.py", set(), "the same at a later turn: True"),
    ],
    ids=["my stack calls Cohere rerank", "my agent reads large tool results"],
)
def test_a_new_user_gets_a_result(script: str, needs: set[str], line: str, tmp_path: Path) -> None:
    """The wheel with its line of installation, and the page's script as it stands."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    environment, wheels = tmp_path / "environment", tmp_path / "wheels"
    shutil.copytree(ROOT / "src", tmp_path / "source" / "src")
    for name in BUILT:
        shutil.copy(ROOT / name, tmp_path / "source")
    try:
        pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps")
        run(*pip, "--wheel-dir", wheels, tmp_path / "source")
        install(environment, next(wheels.glob("ragsieve-*.whl")), frozenset(needs))
    except RuntimeError as error:
        if unreached(str(error)):
            pytest.skip("no registry of packages can be reached")
        raise
    command = [environment / "bin" / "python", f"examples/{script}"]
    own = variables(environment, tmp_path, "http://127.0.0.1:1")
    done = subprocess.run(
        command, cwd=tmp_path, env=own, capture_output=True, text=True, timeout=MOST_S
    )

    assert any(said.startswith(line) for said in done.stdout.splitlines()), done.stderr
