"""What type checkers and editors know of the library: pyright as pyproject.toml sets it, mypy."""

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import ragsieve

ROOT = Path(__file__).parents[2]
MISUSE = Path(__file__).with_name("misuse.py")


def mypy():
    """Errors in examples and misuse: the file's name and the line."""
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "examples", str(MISUSE)]
    own = {**os.environ, "MYPYPATH": str(Path(ragsieve.__file__).parents[1])}
    done = subprocess.run(command, capture_output=True, text=True, env=own, cwd=ROOT)
    found = re.findall(r"([\w.]+):(\d+): error: ", done.stdout)
    return {(name, int(line)) for name, line in found}


def pyright():
    """The same."""
    pytest.importorskip("pyright")
    if not shutil.which("node"):
        pytest.skip("pyright needs Node.js")
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    errors = json.loads(done.stdout)["generalDiagnostics"]
    return {(Path(e["file"]).name, e["range"]["start"]["line"] + 1) for e in errors}


@pytest.mark.slow
@pytest.mark.parametrize("check", [mypy, pyright])
def test_misuse_is_reported_where_it_stands(check):
    """And nothing else is: neither in the other lines, nor in the examples."""
    lines = MISUSE.read_text("utf-8").splitlines()
    wrong = {("misuse.py", n) for n, line in enumerate(lines, 1) if line.endswith("# wrong")}

    assert len(wrong) > 20
    assert wrong == check()


def test_the_stub_is_up_to_date():
    """It names each system with its options; `python tools/typed.py` writes it."""
    made = runpy.run_path(str(ROOT / "tools" / "typed.py"))

    assert made["STUB"].read_text("utf-8") == made["stub"]()
