"""Writes that fail name the file; weights get ordinary permissions."""

import json
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

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
BENCH = """
embedder = "fake:hashing"
[[systems]]
name = "top-sentences"
[[data]]
name = "q.jsonl"
[[generators]]
llm = "fake:echo"
"""
FILTER = ("filter", "--system", "top-sentences", "--embedder", "fake:hashing")


@contextmanager
def full(limit: int) -> Iterator[None]:
    """So many bytes fit into a file; the next one fails as on a full disk."""
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)


@pytest.fixture
def failing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Any:
    """The line that a command fails with where so many bytes fit into a file."""
    (tmp_path / "q.jsonl").write_text(QUESTIONS)
    (tmp_path / "d.txt").write_text("Ann built the tower. It is high.")
    (tmp_path / "bench.toml").write_text(BENCH)
    monkeypatch.chdir(tmp_path)

    def run(limit: int, *arguments: str) -> str:
        with full(limit), pytest.raises(SystemExit) as ended:
            main(arguments)

        assert 2 == ended.value.code
        return capsys.readouterr().err.strip().splitlines()[-1]

    return run


def test_a_full_disk_names_the_file(failing: Any, tmp_path: Path) -> None:
    """Of records, of a benchmark, of the page; what was written whole stays."""
    command = (*FILTER, "--input", "q.jsonl", "--output", "o.jsonl")
    line = failing(5000, *command)
    with pytest.raises(SystemExit) as ended:
        main(command)

    assert "error: output o.jsonl cannot be written: File too large" == line
    assert 0 == ended.value.code
    assert 40 == len((tmp_path / "o.jsonl").read_text().splitlines())

    line = failing(2000, "bench", "bench.toml", "--output", "run")

    assert "error: run/questions/q.jsonl cannot be written: File too large" == line

    line = failing(2000, *FILTER, "-q", "Who built it?", "--html", "page.html", "d.txt")

    assert "error: --html page.html cannot be written: File too large" == line
    assert not (tmp_path / "page.html").exists()


SIZES = """
import subprocess, sys
from pathlib import Path
from ragsieve.errors import StoreError
from ragsieve.models.fake import HashingEmbedder
from ragsieve.types import Document, Query
from ragsieve_research.retrieve.indexes import IndexOptions, create_index

disk, failed = Path(sys.argv[1]), 0
texts = [Document(str(n), f"Ann built tower {n}. " * 9) for n in range(40)]
for size in range(4, 784, 16):
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}k", "tmpfs", disk], check=True)
    options = IndexOptions(embedder="fake:hashing")
    try:
        create_index(disk / "index", options, embedder=HashingEmbedder()).add(texts)
    except StoreError:
        failed += 1
    subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)
    index = create_index(disk / "index", options, embedder=HashingEmbedder())
    index.add(texts)
    (found,) = index.search(Query("Who built tower 7?"), k=1)
    assert "7" == found.document.id, size
    subprocess.run(["umount", "--lazy", disk], check=True)
print(failed)
"""


@pytest.mark.slow
def test_an_index_is_made_whole_once_a_full_disk_has_room(tmp_path: Path) -> None:
    """On disks of 49 sizes: what a build left is gone on with, and never damaged."""
    apart = ["unshare", "--map-root-user", "--mount"]
    if shutil.which("unshare") is None or subprocess.run([*apart, "true"]).returncode:
        pytest.skip("needs a name space of mounts")
    (tmp_path / "disk").mkdir()
    command = [*apart, sys.executable, "-c", SIZES, str(tmp_path / "disk")]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300)

    assert 0 == ended.returncode, ended.stderr
    assert 20 < int(ended.stdout) < 49


def test_a_full_disk_behind_standard_output_is_named(tmp_path: Path) -> None:
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


def test_weights_that_cannot_be_written_name_their_folder(tmp_path: Path) -> None:
    """Safetensors hides the system's error in one of its own."""
    library = pytest.importorskip("safetensors.numpy")
    with (
        full(1000),
        pytest.raises(InputError, match=r"/f cannot be written: .*File too large"),
        atomic_dir(tmp_path / "f") as fresh,
    ):
        library.save_file({"a": np.zeros(9999)}, fresh / "a.safetensors")

    assert [] == [*tmp_path.iterdir()]


def test_weights_have_ordinary_permissions(tmp_path: Path) -> None:
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
