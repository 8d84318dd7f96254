"""An index while it is built, and what it promises of changes, damage and removals."""

import random
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing

import bm25s
import pytest
from filelock import FileLock

from ragsieve.errors import StoreError
from ragsieve.models.fake import HashingEmbedder
from ragsieve.split.sentences import Sentences
from ragsieve.text import words
from ragsieve.types import Document, Query
from ragsieve_research.retrieve.corpus import Change, Corpus
from tests.processes import python

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


def child(program, path):
    """Run a program of another process to its end."""
    return python(CHILD + program, str(path), check=False)


def foxes():
    return [Document(f"{i}", f"Fox {i} runs. " * 3) for i in range(200)]


@pytest.fixture
def old(tmp_path):
    """An index of one document."""
    with Corpus(tmp_path / "index", HashingEmbedder()) as corpus:
        corpus.add([Document("old", "The old fox.")])
    return tmp_path / "index"


def test_a_killed_build_changes_nothing_and_goes_on(old):
    """Killed at the third of four calls, of 64 documents each: the first 128 stay embedded."""
    done = child("kill_at = 3\nCorpus(path, Mortal()).add(documents)", old)
    corpus = Corpus(old, HashingEmbedder())

    assert -9 == done.returncode, done.stderr
    for by in ("bm25", "dense", "hybrid"):
        found = corpus.search(Query("fox"), by=by)
        assert ["old"] == [s.document.id for s in found]
    assert Change(added=200, chunks=72) == corpus.add(foxes())
    assert "7" == corpus.search(Query("fox 7"), k=1, by="bm25")[0].document.id
    assert 201 == len(corpus.search(Query("fox"), k=300, by="dense"))
    assert ["index.sqlite", "lock"] == sorted(path.name for path in old.iterdir())


def test_a_killed_build_does_not_cut_again(tmp_path):
    """What a splitter found is kept as what was embedded is: it may embed, too."""
    path = tmp_path / "index"
    done = child("kill_at = 3\nCorpus(path, Mortal(), splitter=Sentences()).add(documents)", path)
    cut = []

    class Watching(Sentences):
        def __repr__(self):
            return repr(Sentences())

        def __call__(self, query, segments, /):
            cut.extend(s.document.id for s in segments)
            return super().__call__(query, segments)

    corpus = Corpus(path, HashingEmbedder(), splitter=Watching())

    assert -9 == done.returncode, done.stderr
    assert [] == corpus.ids()
    corpus.add(foxes())
    assert [f"{i}" for i in range(128, 200)] == cut


def test_a_build_with_other_options_does_not_go_on(tmp_path):
    """What a killed build embedded is of no use to another embedder."""
    path = tmp_path / "index"
    child("kill_at = 3\nCorpus(path, Mortal(32)).add(documents)", path)

    assert Change(added=200, chunks=200) == Corpus(path, HashingEmbedder(16)).add(foxes())


def test_one_builds_at_a_time(old):
    """The second one has its error at once, and searching goes on."""
    corpus = Corpus(old, HashingEmbedder())
    with FileLock(old / "lock"):
        with pytest.raises(StoreError, match=r"index '.*' is being built by another process: try"):
            corpus.add(foxes())
        with pytest.raises(StoreError, match=r"index '.*' is being built by another process: try"):
            corpus.remove(["old"])
        assert ["old"] == [s.document.id for s in corpus.search(Query("fox"))]

    assert Change(removed=1) == corpus.remove(["old"])


def test_searching_writes_nothing(old):
    """Not one byte may be written, as on a full disk."""
    done = child(
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
        "corpus = Corpus(path, HashingEmbedder())\n"
        "for by in ('bm25', 'dense', 'hybrid'):\n"
        "    print(len(corpus.search(Query('fox'), by=by)))",
        old,
    )

    assert "1\n" * 3 == done.stdout, done.stderr


def test_searches_go_on_while_states_change(old):
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


def test_hostile_documents_are_kept_as_they_are(tmp_path):
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


WORDS = [f"word{i}" for i in range(300)]
QUERY = Query("word1 word2 word2 word250 nothing")
WAYS = ("bm25", "dense", "hybrid")


def documents(n, seed=0):
    """Texts whose first words are common and whose last are rare."""
    rng = random.Random(seed)
    weights = [1 / (i + 1) for i in range(300)]
    texts = [" ".join(rng.choices(WORDS, weights, k=rng.randrange(5, 40))) for _ in range(n)]
    return [Document(f"{seed}-{i}", text, f"Title {i}") for i, text in enumerate(texts)]


def opened(path):
    return Corpus(path, HashingEmbedder(32))


def results(path, by):
    found = opened(path).search(QUERY, k=30, by=by)
    return [(segment.document.id, segment.score) for segment in found]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """An index of 1,500 documents."""
    folder = tmp_path_factory.mktemp("built") / "index"
    opened(folder).add(documents(1500))
    return folder


@pytest.fixture
def path(built, tmp_path):
    """A copy of it."""
    return shutil.copytree(built, tmp_path / "index")


def test_bm25_is_that_of_bm25s(built):
    """The formula of Lucene with k1 = 1.5 and b = 0.75, repeated words of a question repeated."""
    texts = [words(f"{d.title}: {d.text}") for d in documents(1500)]
    other = bm25s.BM25(method="lucene", k1=1.5, b=0.75)
    other.index(texts, show_progress=False)
    scores = other.get_scores([w for w in words(QUERY.text) if w in other.vocab_dict])
    expected = sorted(enumerate(scores.tolist()), key=lambda row: (-round(row[1], 4), row[0]))[:30]
    found = results(built, "bm25")

    assert [f"0-{i}" for i, _ in expected] == [id_ for id_, _ in found]
    assert [pytest.approx(score, abs=1e-4) for _, score in expected] == [s for _, s in found]


def test_scores_do_not_depend_on_history(path, tmp_path):
    """After adds, changes and removals they are those of an index that is built at once."""
    corpus = opened(path)
    late = documents(40, seed=1)
    corpus.add([*late, Document("0-3", "word1 word250")])
    corpus.remove([f"0-{i}" for i in range(100, 400)])
    corpus.remove(["1-7"])
    kept = [d for d in documents(1500) if not 100 <= int(d.id[2:]) < 400 and d.id != "0-3"]
    opened(tmp_path / "once").add([*kept, *(d for d in late if d.id != "1-7")])
    opened(tmp_path / "once").add([Document("0-3", "word1 word250")])

    for by in WAYS:
        assert dict(results(tmp_path / "once", by)) == dict(results(path, by))


def test_a_change_costs_by_what_changed(path):
    """Of the file's pages, one more document changes a fifth at most, and so does one less."""
    opened(path).add(documents(3000, seed=2))
    file, page = path / "index.sqlite", 8192

    def pages():
        data = file.read_bytes()
        return [data[i : i + page] for i in range(0, len(data), page)]

    before = pages()
    opened(path).add([Document("new", "word1 word2 word3 word250")])
    between = pages()
    Corpus(path).remove(["0-700"])
    after = pages()

    for old, new in ((before, between), (between, after)):
        changed = sum(a != b for a, b in zip(old, new, strict=False)) + abs(len(old) - len(new))
        assert changed < len(old) / 5


def test_the_file_shrinks(path):
    """Once nine tenths of the documents are gone, most of it is; nothing at all is left of all."""
    file = path / "index.sqlite"
    before = file.stat().st_size
    opened(path).remove(f"0-{i}" for i in range(1350))
    between = file.stat().st_size
    opened(path).remove(f"0-{i}" for i in range(1500))

    assert between < before / 4
    assert file.stat().st_size < 150_000
    assert ["index.sqlite", "lock"] == sorted(p.name for p in path.iterdir())


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            "UPDATE meta SET settings=json_set(settings, '$.format', 2)",
            "format 2, not 4: build it again",
        ),
        ("UPDATE meta SET settings=printf('%.*c', 99999, '[')", r"it is damaged \(Recursion"),
        ("CREATE VIEW endless AS SELECT 1", "it has views or triggers.*: build it again"),
        (
            "CREATE TRIGGER t AFTER INSERT ON chunks BEGIN SELECT 1; END",
            "it has views or triggers.*: build it again",
        ),
        *((lost, "") for lost in (b"", b"x", b"SQLite format 3\0" + bytes(84))),
    ],
)
def test_an_index_of_another_kind_is_named(path, change, says):
    """One of an older format, of a stranger, or none, which is not begun anew; with what to do."""
    file = path / "index.sqlite"
    if isinstance(change, bytes):
        file.write_bytes(change)
    else:
        with closing(sqlite3.connect(file)) as db, db:
            db.execute(change)
    before = file.read_bytes()

    for use in (lambda: opened(path), lambda: Corpus(path).add([Document("a", "x")])):
        with pytest.raises(StoreError, match=f"could not be read: {says}"):
            use()
    assert before == file.read_bytes()


@pytest.mark.parametrize(
    ("table", "column", "ways"),
    [
        ("postings", "data", {"bm25", "hybrid"}),
        ("chunks", "vector", {*WAYS}),
        ("documents", "text", {*WAYS}),
    ],
)
def test_a_flipped_bit_is_named(path, table, column, ways):
    """In postings, vectors and texts, each of which has a checksum."""
    with closing(sqlite3.connect(path / "index.sqlite")) as db, db:
        db.create_function("flip", 1, lambda data: bytes([data[0] ^ 1]) + data[1:])
        db.execute(f"UPDATE {table} SET {column}=flip({column})")

    for by in WAYS:
        if by in ways:
            with pytest.raises(StoreError, match=r"could not be read: .*damaged \(checksum\)"):
                results(path, by)
        else:
            assert results(path, by)


def test_what_a_killed_build_staged_goes_with_the_next(path):
    """Where that is about other documents; until then nobody sees it."""

    class Failing(HashingEmbedder):
        def embed(self, texts, *, query=False):
            if any("fails" in text for text in texts):
                raise OSError("the model went away")
            return super().embed(texts, query=query)

    before = {by: results(path, by) for by in WAYS}
    broken = [*documents(200, seed=5), Document("last", "this fails")]
    with pytest.raises(OSError, match="went away"):
        Corpus(path, Failing(32)).add(broken)

    assert before == {by: results(path, by) for by in WAYS}
    assert 1500 == opened(path).about().documents
    assert (path / "index.sqlite.staged").exists()
    assert Change() == opened(path).remove(["nothing of it"])
    assert ["index.sqlite", "lock"] == sorted(p.name for p in path.iterdir())
    assert Change(added=200, chunks=200) == opened(path).add(broken[:200])


def test_vectors_in_memory_follow_the_file(path):
    """Of blocks that changed, and of another index that was put in its place."""
    corpus = opened(path)
    corpus.search(QUERY, by="dense")
    corpus.add([Document("new", QUERY.text)])
    new = corpus.search(QUERY, by="dense", k=1)[0]
    shutil.rmtree(path)
    opened(path).add([Document("other", "something else")])

    assert ("new", pytest.approx(1, abs=1e-5)) == (new.document.id, new.score)
    assert ["other"] == [s.document.id for s in corpus.search(QUERY, by="dense")]
