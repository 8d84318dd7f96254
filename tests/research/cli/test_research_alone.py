"""`pip install 'ragsieve[research]'` alone: what it does, and what its names say that they need."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ragsieve.cli.commands import cli
from ragsieve.errors import MissingExtra
from ragsieve.registry import Registry
from ragsieve.systems.base import SystemEntry
from tests.core.test_public_api import with_core_alone

RUN = """
import contextlib, io
from ragsieve.cli import main

def run(*words):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(words)
        except SystemExit as ended:
            code = ended.code or 0
    return [code, out.getvalue(), err.getvalue()]
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [
        *("--help", "index --help", "train --help", "train pruner --help", "datasets", "systems"),
        *("systems chunkrag", "systems oracle"),
    ],
)
def test_what_needs_no_extra_runs_without_one(line: str) -> None:
    """Nothing is left out, and nobody is warned of packages that were not asked for."""
    code = f"{RUN}\nprint(json.dumps(run(*{line.split()!r})))"
    done = with_core_alone(code)

    assert '[0, "' == done[:5], done
    assert "left out" not in done
    assert "not installed" not in done


def test_a_module_of_another_package_says_what_it_lacks(
    tmp_path: Path, install: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Where it is asked for by its name; a list goes on without it, aloud."""
    package = tmp_path / "needing"
    package.mkdir()
    (package / "__init__.py").touch()
    lacking = 'from ragsieve.errors import MissingExtra\nraise MissingExtra("cpp", extra="local")\n'
    (package / "needy.py").write_text(lacking, encoding="utf-8")
    install("needing", "needing", "all = needing")
    systems = Registry("system", "ragsieve.needing", SystemEntry, package="ragsieve.systems")
    with pytest.raises(MissingExtra, match=r"cpp is not installed: pip install 'ragsieve\[local\]"):
        systems.find("needy-one")

    assert [] == [name for name in systems if name.startswith("needy")]
    assert "module needing.needy of ragsieve.needing is left out" in caplog.text


def test_a_broken_command_of_another_package_leaves_the_others(
    install: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """The list of commands shows what can run, and says what cannot."""
    install("broken", "commands", "break = broken:command")
    shown = CliRunner().invoke(cli, ["--help"])

    assert 0 == shown.exit_code
    assert "  filter  " in shown.output
    assert "command break of broken:command is left out: No module named 'broken'" in caplog.text
