"""A fresh virtual environment for a line of installation, with the wheel in place of the index."""

import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from tests.blocks import ROOT

OTHERS = tuple(str(ROOT / name) for name in ("research", "large", "multilingual"))
BIN = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
QUIET = {  # what frameworks would do on import
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "HF_HUB_OFFLINE": "1",
}


def run(*command, **options):
    """Run a command.

    Raises:
        RuntimeError: If it fails; with what it said.
    """
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}: {done.stderr[-3000:].strip()}")


def unreached(error):
    """Whether an installation failed because no registry of packages answers."""
    return any(said in error for said in ("error sending request", "Failed to establish"))


def wheels(folder):
    """Build the three wheels, and put pip's build of torch beside them, which uv may not see. The
    wheel of the core, which built once more has the same bytes."""
    for built in (
        ROOT / "build" / "lib",
        *(Path(one, "build") for one in OTHERS),
    ):  # may hold deleted modules
        shutil.rmtree(built, ignore_errors=True)
    torch = f"torch=={version('torch').partition('+')[0]}"
    pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check")
    run(*pip, "--no-deps", "--wheel-dir", folder, str(ROOT), *OTHERS, torch)
    run(*pip, "--no-deps", "--wheel-dir", folder / "again", str(ROOT))
    wheel = next(folder.glob("ragsieve-*.whl"))
    if wheel.read_bytes() != (folder / "again" / wheel.name).read_bytes():
        raise RuntimeError(f"{wheel.name} has other bytes when it is built again")
    return wheel


def install(folder, wheel, needs):
    """Make an environment with the wheel's extras and other packages."""
    uv = shutil.which("uv", path=BIN)
    if not uv:
        raise RuntimeError("uv is not installed: make .venv/done")
    extras = sorted(name.strip("[]") for name in needs if name.startswith("["))
    others = sorted(name for name in needs if not name.startswith("["))
    ours = f"ragsieve[{','.join(extras)}] @ {wheel.as_uri()}"
    run(uv, "venv", "--quiet", "--clear", "--python", sys.executable, folder)
    place = ("--python", folder / "bin" / "python", "--find-links", wheel.parent)
    constraints = ("--constraint", ROOT / "constraints.txt")
    names = [f"ragsieve-{Path(one).name}" for one in OTHERS]  # their versions are as at each build
    fresh = (word for name in names for word in ("--refresh-package", name))
    run(uv, "pip", "install", "--quiet", *place, *constraints, *fresh, ours, *others)


def variables(environment, folder, fake):
    """The variables of a reader with a key, without settings, and without this repository."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("RAGSIEVE_", "PYTHON", "OPENAI_", "CO_", "VIRTUAL_ENV"))
    }
    home = {name: os.environ[name] for name in ("RAGSIEVE_HOME",) if name in os.environ}
    return {
        **kept,
        **home,
        **QUIET,
        "PYTHONPYCACHEPREFIX": str(environment.parent / "compiled"),
        "PATH": f"{environment / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "XDG_CONFIG_HOME": str(folder / "settings"),
        "OPENAI_BASE_URL": f"{fake}/v1",
        "OPENAI_API_KEY": "none",
        "CO_API_URL": fake,
        "CO_API_KEY": "none",
    }


def follow(environment, folder, steps, fake, home):
    """Take a page's steps in a folder: seconds of processors of each, and what was wrong."""
    given = json.dumps(steps)
    if "index build my-index" in given:
        shutil.rmtree(folder / "my-index")
    if "ragsieve train" in given:  # needs more than a filter does
        (folder / "many.jsonl").replace(folder / "questions.jsonl")
    (folder / "steps.json").write_text(given, encoding="utf-8")
    results = folder / "results.jsonl"
    script = Path(__file__).with_name("follow.py")
    command = (environment / "bin" / "python", script, "steps.json", results.name, fake, home)
    own = variables(environment, folder, fake)
    ended = subprocess.run(command, cwd=folder, env=own, capture_output=True, text=True)
    lines = results.read_text(encoding="utf-8").splitlines() if results.exists() else []
    taken = [json.loads(line) for line in lines]
    if len(taken) <= len(steps):
        taken.append({"cpu": 0.0, "wrong": f"ended early: {ended.stderr[-1500:].strip()}"})
    return taken
