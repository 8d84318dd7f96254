"""The command line in a folder of its own."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from ragsieve.cli import main


class Ended(NamedTuple):
    """What a command left: its code, and what it printed."""

    code: int
    out: str
    err: str


@pytest.fixture
def ragsieve(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Ended]:
    """The command, run in a fresh folder."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Ended:
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        out, err = capsys.readouterr()
        return Ended(int(str(ended.value.code)), out, err)

    return run
