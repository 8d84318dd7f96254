"""An index while it is built: killed, twice at once, on a full disk, under its readers."""

import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock

from ragsieve.errors import StoreError
from ragsieve.models.fake import HashingEmbedder
from ragsieve.split.sentences import Sentences
from ragsieve.types import Document, Query
from ragsieve_research.retrieve.corpus import Change, Corpus

CHILD = """
import os, resource, signal, sys
from ragsieve.models.fake import HashingEmbedder
from ragsieve_research.retrieve import Corpus
from ragsieve.split import Sentences
from ragsieve.types import Document, Query

class Mortal(HashingEmbedder):
    calls = 0
    def embed(self, texts, *, query=False):
        type(self).calls += 1
        if self.calls == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().embed(texts, query=query)

kill_at = 0
path = sys.argv[1]
documents = [Document(f"{i}", f"Fox {i} runs. " * 3) for i in range(200)]
"""


def child(program: str, path: Path) -> subprocess.CompletedProcess[str]:
    """Run a program of another process to its end."""
    words = [sys.executable, "-c", CHILD + program, str(path)]
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)


def foxes() -> list[Document]:
    return [Document(f"{i}", f"Fox {i} runs. " * 3) for i in range(200)]


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """An index of one document."""
    with Corpus(tmp_path / "index", HashingEmbedder()) as corpus:
        corpus.add([Document("old", "The old fox.")])
    return tmp_path / "index"


def test_a_killed_build_changes_nothing_and_goes_on(old: Path) -> None:
    """Killed at the third of four calls, of 64 documents each: the first 128 stay embedded."""
    done = child("kill_at = 3\nCorpus(path, Mortal()).add(documents)", old)
    corpus = Corpus(old, HashingEmbedder())

    assert -9 == done.returncode, done.stderr
    for by in ("bm25", "dense", "hybrid"):
        found = corpus.search(Query("fox"), by=by)  # type: ignore[arg-type]
        assert ["old"] == [s.document.id for s in found]
    assert Change(added=200, chunks=72) == corpus.add(foxes())
    assert "7" == corpus.search(Query("fox 7"), k=1, by="bm25")[0].document.id
    assert 201 == len(corpus.search(Query("fox"), k=300, by="dense"))
    assert ["index.sqlite", "lock"] == sorted(path.name for path in old.iterdir())


def test_a_killed_build_does_not_cut_again(tmp_path: Path) -> None:
    """What a splitter found is kept as what was embedded is: it may embed, too."""
    path = tmp_path / "index"
    done = child("kill_at = 3\nCorpus(path, Mortal(), splitter=Sentences()).add(documents)", path)
    cut: list[str] = []

    class Watching(Sentences):
        def __repr__(self) -> str:
            return repr(Sentences())

        def __call__(self, query, segments, /):  # type: ignore[no-untyped-def]
            cut.extend(s.document.id for s in segments)
            return super().__call__(query, segments)

    corpus = Corpus(path, HashingEmbedder(), splitter=Watching())

    assert -9 == done.returncode, done.stderr
    assert [] == corpus.ids()
    corpus.add(foxes())
    assert [f"{i}" for i in range(128, 200)] == cut


def test_a_build_with_other_options_does_not_go_on(tmp_path: Path) -> None:
    """What a killed build embedded is of no use to another embedder."""
    path = tmp_path / "index"
    child("kill_at = 3\nCorpus(path, Mortal(32)).add(documents)", path)

    assert Change(added=200, chunks=200) == Corpus(path, HashingEmbedder(16)).add(foxes())


def test_a_failed_build_changes_nothing(old: Path) -> None:
    """Neither does one whose documents end in an error."""

    def broken():  # type: ignore[no-untyped-def]
        yield from foxes()
        raise OSError("no more of it")

    corpus = Corpus(old, HashingEmbedder())
    with pytest.raises(OSError, match="no more of it"):
        corpus.add(broken())

    assert ["old"] == corpus.ids()
    assert Change(added=200, chunks=8) == corpus.add(foxes())


def test_one_builds_at_a_time(old: Path) -> None:
    """The second one has its error at once, and searching goes on."""
    corpus = Corpus(old, HashingEmbedder())
    with FileLock(old / "lock"):
        with pytest.raises(StoreError, match=r"index '.*' is being built by another process: try"):
            corpus.add(foxes())
        with pytest.raises(StoreError, match=r"index '.*' is being built by another process: try"):
            corpus.remove(["old"])
        assert ["old"] == [s.document.id for s in corpus.search(Query("fox"))]

    assert Change(removed=1) == corpus.remove(["old"])


def test_searching_writes_nothing(old: Path) -> None:
    """Not one byte may be written, as on a full disk."""
    done = child(
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
        "corpus = Corpus(path, HashingEmbedder())\n"
        "for by in ('bm25', 'dense', 'hybrid'):\n"
        "    print(len(corpus.search(Query('fox'), by=by)))",
        old,
    )

    assert "1\n" * 3 == done.stdout, done.stderr


def test_a_reader_sees_what_another_process_added(old: Path) -> None:
    """The next search has the new state, by words and by vectors; removed files are not missed."""
    reader, late = Corpus(old, HashingEmbedder()), Corpus(old, HashingEmbedder())
    before = reader.search(Query("fox 7"))
    done = child("Corpus(path, Mortal()).add(documents)", old)

    assert ["old"] == [s.document.id for s in before]
    assert 0 == done.returncode, done.stderr
    for corpus in (reader, late):
        for by in ("bm25", "dense", "hybrid"):
            found = corpus.search(Query("fox 7 runs"), by=by, k=1)  # type: ignore[arg-type]
            assert ["7"] == [s.document.id for s in found]


def test_searches_go_on_while_states_change(old: Path) -> None:
    """Every search has one of the states: all documents of it, and no error."""
    program = (
        "corpus = Corpus(path, Mortal())\n"
        "for n in range(4): corpus.add([Document(f'{n}-{i}', f'Fox {n} {i}') for i in range(3)])"
    )
    reader = Corpus(old, HashingEmbedder())
    sizes = set()
    with subprocess.Popen([sys.executable, "-c", CHILD + program, str(old)]) as process:
        while process.poll() is None:
            sizes.add(len(reader.search(Query("fox"), k=100)))
            sizes.add(len(reader.search(Query("fox"), k=100, by="dense")))
    sizes.add(len(reader.search(Query("fox"), k=100)))

    assert 0 == process.returncode
    assert sizes <= {1 + 3 * n for n in range(5)}
    assert len(sizes) > 2


def test_hostile_documents_are_kept_as_they_are(tmp_path: Path) -> None:
    """Ids, texts and titles of any characters, and a text of a million of them."""
    hostile = ["\ud800", "\0", "../../x", "a' OR 1=1 --", "%s", "\u202e", "𝔊" * 50, "", " "]
    documents = [Document(text, f"{text} fox {text}", text) for text in hostile]
    documents.append(Document("long", "fox " * 250_000))
    corpus = Corpus(tmp_path / "index", HashingEmbedder(), splitter=Sentences())
    corpus.add(documents)
    found = {s.document.id: s.document for s in corpus.search(Query("fox \ud800"), k=10_000)}

    assert {d.id: d.text for d in documents} == {i: d.text for i, d in found.items()}
    assert [d.id for d in documents] == corpus.ids()
    assert Change(removed=10) == corpus.remove(d.id for d in documents)
