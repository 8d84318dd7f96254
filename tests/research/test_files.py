"""Writes that fail name the file; weights get ordinary permissions."""

import json
import stat
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from ragsieve.cli import main
from ragsieve.errors import InputError, ModelError
from ragsieve.files import writing
from ragsieve_research.artifacts.folder import atomic_dir, ordinary

resource = pytest.importorskip("resource")

QUESTIONS = "".join(
    json.dumps({"question": f"Who built tower {n}?", "documents": [f"Ann built tower {n}. " * 9]})
    + "\n"
    for n in range(40)
)
FILTER = ("filter", "--system", "top-sentences", "--embedder", "fake:hashing")


@contextmanager
def full(limit):
    """So many bytes fit into a file; the next one fails as on a full disk."""
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)


def test_a_full_disk_names_the_file(tmp_path, monkeypatch, capsys):
    """Of records and of the page; what was written whole stays."""
    (tmp_path / "q.jsonl").write_text(QUESTIONS)
    (tmp_path / "d.txt").write_text("Ann built the tower. It is high.")
    monkeypatch.chdir(tmp_path)

    def failing(limit, *arguments):
        with full(limit), pytest.raises(SystemExit) as ended:
            main(arguments)

        assert 2 == ended.value.code
        return capsys.readouterr().err.strip().splitlines()[-1]

    command = (*FILTER, "--input", "q.jsonl", "--output", "o.jsonl")
    line = failing(5000, *command)
    with pytest.raises(SystemExit) as ended:
        main(command)

    assert "error: output o.jsonl cannot be written: File too large" == line
    assert 0 == ended.value.code
    assert 40 == len((tmp_path / "o.jsonl").read_text().splitlines())

    line = failing(2000, *FILTER, "-q", "Who built it?", "--html", "page.html", "d.txt")

    assert "error: --html page.html cannot be written: File too large" == line
    assert not (tmp_path / "page.html").exists()


def test_a_full_disk_behind_standard_output_is_named(tmp_path):
    """All files are named where they are written: what has no name is the output."""
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    (tmp_path / "d.txt").write_text("Ann built the tower. It is high.")
    command = [sys.executable, "-m", "ragsieve", *FILTER, "-q", "Who built it?", "d.txt"]
    with Path("/dev/full").open("w") as output:
        ended = subprocess.run(
            command, stdout=output, stderr=subprocess.PIPE, cwd=tmp_path, check=False
        )

    assert b"error: standard output cannot be written: No space left on device\n" == ended.stderr
    assert 2 == ended.returncode


def test_weights_that_cannot_be_written_name_their_folder(tmp_path):
    """Safetensors hides the system's error in one of its own."""
    library = pytest.importorskip("safetensors.numpy")
    with (
        full(1000),
        pytest.raises(InputError, match=r"/f cannot be written: .*File too large"),
        atomic_dir(tmp_path / "f") as fresh,
    ):
        library.save_file({"a": np.zeros(9999)}, fresh / "a.safetensors")

    assert [] == [*tmp_path.iterdir()]


def test_weights_have_ordinary_permissions(tmp_path):
    """Those of a new file, not 0600; no target of a link is touched; other errors pass."""
    library = pytest.importorskip("safetensors.numpy")
    (tmp_path / "plain").touch()
    with atomic_dir(tmp_path / "f") as fresh:
        (fresh / "adapter").mkdir()
        library.save_file({"a": np.zeros(9)}, fresh / "adapter" / "a.safetensors")
    written = tmp_path / "f" / "adapter" / "a.safetensors"

    assert (tmp_path / "plain").stat().st_mode == written.stat().st_mode

    (tmp_path / "own").write_text("x")
    (tmp_path / "own").chmod(0o400)
    folder = tmp_path / "g"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path / "own")
    ordinary(folder)

    assert 0o400 == stat.S_IMODE((tmp_path / "own").stat().st_mode)
    assert ["link"] == [file.name for file in folder.iterdir()]

    for error in (ModelError("down"), InputError("(os error 28)"), ZeroDivisionError()):
        with pytest.raises(type(error)) as raised, writing("x"):
            raise error

        assert error is raised.value
