"""What a new user does, from `pip install` in an empty environment to a result."""

import shutil
import subprocess
import sys

import pytest

from tests.blocks import ROOT
from tests.serving import Chat, served

from .environments import install, run, unreached, variables

MOST_S = 300
BUILT = ("pyproject.toml", "README.md", "LICENSE", "NOTICE", "sbom.cdx.json")


def installed(folder, needs):
    """An environment with the wheel and what a user names beside it."""
    environment, wheels = folder / "environment", folder / "wheels"
    shutil.copytree(ROOT / "src", folder / "source" / "src")
    for name in BUILT:
        shutil.copy(ROOT / name, folder / "source")
    try:
        pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps")
        run(*pip, "--wheel-dir", wheels, folder / "source")
        install(environment, next(wheels.glob("ragsieve-*.whl")), frozenset(needs))
    except RuntimeError as error:
        if unreached(str(error)):
            pytest.skip("no registry of packages can be reached")
        raise
    return environment


@pytest.mark.models
@pytest.mark.parametrize(
    ("script", "needs", "line"),
    [
        ("cohere_rerank.py", {"[serve]", "cohere"}, "document 1, relevance 0."),
        ("tool_results.py", set(), "the same at a later turn: True"),
    ],
    ids=["my stack calls Cohere rerank", "my agent reads large tool results"],
)
def test_a_new_user_gets_a_result(script, needs, line, tmp_path):
    """The wheel with its line of installation, and the page's script as it stands."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    environment = installed(tmp_path, needs)
    command = [environment / "bin" / "python", f"examples/{script}"]
    own = variables(environment, tmp_path, "http://127.0.0.1:1")
    done = subprocess.run(
        command, cwd=tmp_path, env=own, capture_output=True, text=True, timeout=MOST_S
    )

    assert any(said.startswith(line) for said in done.stdout.splitlines()), done.stderr


@pytest.mark.models
def test_a_folder_of_mixed_files_is_filtered_and_answered(tmp_path):
    """Each text under its file's name, and the answer from the one server that was named."""
    environment, files = installed(tmp_path, {"[openai,html]"}), tmp_path / "files"
    files.mkdir()
    (files / "rules.md").write_text("# Fees\n\nLate books cost 20 cents a day.\n\nNo dogs.\n")
    (files / "page.html").write_text("<h1>Parking</h1><p>The garage closes at midnight.</p>")
    (files / "prices.csv").write_text("item,price\nmap,4\nmug,9\npen,2\nbag,7\n")
    said = []
    with served(Chat) as url:
        llm = ("--llm", "openai:m", "--llm-option", f"base_url={url}/v1")
        for command in (("filter",), ("ask", *llm)):
            line = [environment / "bin" / "ragsieve", *command, "-q", "What do late books cost?"]
            own = {**variables(environment, tmp_path, "http://127.0.0.1:1"), "OPENAI_BASE_URL": ""}
            done = subprocess.run(
                [*line, files], cwd=tmp_path, env=own, capture_output=True, text=True, timeout=120
            )
            said.append(done.stdout + done.stderr * bool(done.returncode))

    assert "rules.md" in said[0] and "20 cents a day" in said[0] and "midnight" not in said[0]
    assert "words" in said[1]
