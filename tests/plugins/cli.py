"""The command line in a folder of its own."""

from typing import NamedTuple

import pytest

from ragsieve.cli import main


class Ended(NamedTuple):
    """What a command left: its code, and what it printed."""

    code: int
    out: str
    err: str


@pytest.fixture
def ragsieve(capsys, tmp_path, monkeypatch):
    """The command, run in a fresh folder."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        out, err = capsys.readouterr()
        return Ended(int(str(ended.value.code)), out, err)

    return run
