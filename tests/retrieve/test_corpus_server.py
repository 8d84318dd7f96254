"""Vectors of an index on a Chroma server of our own, and on servers that are away or slow."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from ragsieve.errors import InputError, StoreError
from ragsieve.models.fake import HashingEmbedder
from ragsieve.retrieve import Change, Corpus
from ragsieve.types import Document, Query

pytest.importorskip("chromadb")
pytestmark = pytest.mark.server

FOX = Query("the fox")


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextlib.contextmanager
def serving(folder: Path, port: int) -> Iterator[str]:
    """A Chroma server for as long as the block runs."""
    program = "from chromadb.cli.cli import app; app()"
    options = ["run", "--host", "127.0.0.1", "--port", str(port), "--path", str(folder)]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(
        [sys.executable, "-c", program, *options], stdout=quiet, stderr=quiet
    ) as process:
        try:
            url = f"http://127.0.0.1:{port}"
            for _ in range(150):
                with contextlib.suppress(httpx.HTTPError):
                    if httpx.get(f"{url}/api/v2/heartbeat", timeout=1).is_success:
                        break
                time.sleep(0.1)
            yield url
        finally:
            process.kill()


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Of a server for all tests of the file."""
    with serving(tmp_path_factory.mktemp("chroma"), free_port()) as url:
        yield url


def animals() -> list[Document]:
    texts = ["The fox runs.", "A cat sleeps.", "The fox sleeps.", "Nobody runs.", "The fox."]
    return [Document(f"{i}", text, f"Title {i}") for i, text in enumerate(texts)]


def test_a_server_finds_what_a_folder_finds(url: str, tmp_path: Path) -> None:
    """The same chunks with the same scores; nothing of the vectors lies in the folder."""
    here = Corpus(tmp_path / "here", HashingEmbedder())
    there = Corpus(tmp_path / "there", HashingEmbedder(), url=url)
    here.add(animals())
    there.add(animals())

    for ours, theirs in zip(here.search(FOX), there.search(FOX), strict=True):
        assert ours.scores == theirs.scores
    assert not [*there.path.rglob("chroma*")]


def test_changes_reach_the_server(url: str, tmp_path: Path) -> None:
    """What is replaced or removed is not found; its url need not be given again."""
    with Corpus(tmp_path, HashingEmbedder(), url=f"{url}/") as corpus:
        corpus.add(animals())
        corpus.add([Document("0", "The wolf runs.", "Title 0")])
        corpus.remove(["2"])
    found = Corpus(tmp_path, HashingEmbedder())

    assert {"The wolf runs.", "A cat sleeps.", "Nobody runs.", "The fox."} == {
        s.text for s in found.search(FOX, by="dense")
    }
    assert url == found.about().url
    assert Change(unchanged=3) == found.add([animals()[i] for i in (1, 3, 4)])


def test_indexes_share_a_server(url: str, tmp_path: Path) -> None:
    """Each has a collection of its own."""
    first = Corpus(tmp_path / "first", HashingEmbedder(), url=url)
    second = Corpus(tmp_path / "second", HashingEmbedder(), url=url)
    first.add(animals())
    second.add(animals()[:1])
    second.remove(["0"])

    assert 5 == len(first.search(FOX, by="dense"))
    assert [] == second.search(FOX, by="dense")


def test_vectors_of_another_state_do_not_count(url: str, tmp_path: Path) -> None:
    """A server may hold more than the state that is served: it is asked for more, then."""
    from ragsieve.retrieve.index.chroma import Vectors

    corpus = Corpus(tmp_path, HashingEmbedder(), url=url)
    corpus.add(animals())
    fox = HashingEmbedder().embed(["the fox"])
    name = corpus._use(lambda state: state.settings.name)
    assert name
    others = Vectors(tmp_path, url, name)
    others.put([n.to_bytes(16, "big") for n in range(300)], lambda some: fox.repeat(len(some), 0))

    assert 5 == len(corpus.search(FOX, by="dense"))


def test_a_lost_collection_is_told(url: str, tmp_path: Path) -> None:
    """Before anything is embedded for it."""
    from ragsieve.retrieve.index.chroma import Vectors

    corpus = Corpus(tmp_path, HashingEmbedder(), url=url)
    corpus.add(animals())
    keys = corpus._use(lambda state: [key for (key,) in state.rows("SELECT key FROM chunks")])
    name = corpus._use(lambda state: state.settings.name)
    assert keys
    assert name
    Vectors(tmp_path, url, name).drop(keys[:2])

    with pytest.raises(StoreError, match=r"server http.* held 3 of 5 vectors: build the index an"):
        corpus.add([Document("new", "new")])


def test_a_server_that_is_away_is_told(tmp_path: Path) -> None:
    """Building and searching by vectors fail in one line; words are served on."""
    with serving(tmp_path / "chroma", free_port()) as url:
        Corpus(tmp_path / "index", HashingEmbedder(), url=url).add(animals())
    corpus = Corpus(tmp_path / "index", HashingEmbedder())

    for failing in (lambda: corpus.search(FOX), lambda: corpus.add([Document("n", "new")])):
        with pytest.raises(StoreError, match=f"the Chroma server {url} failed: ConnectError: "):
            failing()
    assert {"0", "2", "4"} == {s.document.id for s in corpus.search(FOX, by="bm25")}
    with serving(tmp_path / "chroma", free_port()) as elsewhere:
        assert 5 == len(Corpus(tmp_path / "index", HashingEmbedder(), url=elsewhere).search(FOX))


def test_a_server_that_is_slow_is_not_waited_for(tmp_path: Path) -> None:
    """One that takes calls and never answers."""
    from ragsieve.retrieve.index.chroma import Vectors

    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(StoreError, match=f"the Chroma server {address} failed: ReadTimeout"):
            Vectors(tmp_path, address, "name", timeout_s=0.3)


def test_a_server_that_is_no_chroma_is_told(tmp_path: Path) -> None:
    """One that answers something else."""
    port = free_port()
    program = [sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1"]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(program, stdout=quiet, stderr=quiet, cwd=tmp_path) as process:
        try:
            for _ in range(100):
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                    break
                time.sleep(0.1)
            corpus = Corpus(tmp_path / "i", HashingEmbedder(), url=f"http://127.0.0.1:{port}")
            with pytest.raises(StoreError, match="failed: HTTPStatusError: Client error '404"):
                corpus.add(animals())
        finally:
            process.kill()


def test_an_index_in_a_folder_takes_no_server(url: str, tmp_path: Path) -> None:
    """Its vectors are not there."""
    Corpus(tmp_path, HashingEmbedder()).add(animals())

    with pytest.raises(InputError, match=r"url must be what the index .* with, none, got 'http"):
        Corpus(tmp_path, HashingEmbedder(), url=url)
