"""An index of documents on disk: what is found, with what scores, and what a change does to it."""

import shutil
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from ragsieve import Document, InputError, Query, Segment
from ragsieve.models.fake import HashingEmbedder
from ragsieve.prompts import titled
from ragsieve.split.sentences import Sentences
from ragsieve_research.fusion import fuse
from ragsieve_research.retrieve.corpus import DEPTH, Change, Corpus
from tests.tiny import Places

CAT = Query("Where does the cat sleep?")


class Counting(HashingEmbedder):
    """A hashing embedder that remembers which texts it embedded that do not ask."""

    def __init__(self, dim=64):
        super().__init__(dim)
        object.__setattr__(self, "texts", [])

    def embed(self, texts, *, query=False):
        if not query:
            self.texts.extend(texts)
        return super().embed(texts, query=query)


def pets(n=12):
    return [
        Document(f"d{i}", f"Cat {i} sleeps on mat {i}. Dog {i} runs.", f"Pet {i}", f"file {i}")
        for i in range(n)
    ]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """An index of twelve documents of two sentences, cut into them."""
    folder = tmp_path_factory.mktemp("built") / "index"
    with Corpus(folder, HashingEmbedder(64), splitter=Sentences()) as corpus:
        corpus.add(pets())
    return folder


@pytest.fixture
def corpus(built, tmp_path):
    """A copy of it."""
    shutil.copytree(built, tmp_path / "index")
    with Corpus(tmp_path / "index", HashingEmbedder(64), splitter=Sentences()) as corpus:
        yield corpus


def places(found):
    return [segment.key for segment in found]


def test_chunks_come_back_verbatim(tmp_path):
    """Spans, text, title, source and metadata stand as they were given, whatever they hold."""
    metadata = {"year": 1999, "of": {"a": [1, None, "\ud800"]}}
    given = Document(
        "a\0'; --", " Cats\r\nsleep.\x07 \ud800 Dogs run. ", "T\ud800", "u", 0, metadata
    )
    Corpus(tmp_path, HashingEmbedder(), splitter=Sentences()).add([given])
    found = Corpus(tmp_path, HashingEmbedder()).search(CAT)

    assert {given} == {segment.document for segment in found}
    assert metadata == found[0].document.metadata
    expected = {s.key for s in Sentences()(CAT, [Segment.whole(given)])}
    assert expected == {*places(found)}


def test_scores_say_which_list_held_a_chunk(corpus):
    """The one that ranks is last; cosines are the embedder's, hybrid fuses both alike."""
    dogs = Query("dog")
    words = corpus.search(dogs, by="bm25")
    near = corpus.search(dogs, by="dense", k=100)
    both = corpus.search(dogs, k=100)

    assert [["bm25"]] * 12 == [[*s.scores] for s in words]
    assert all(s.score > 0 and "Dog" in s.text for s in words)
    assert [["cosine"]] * 24 == [[*s.scores] for s in near]
    assert {("bm25", "cosine", "fused"), ("cosine", "fused")} == {(*s.scores,) for s in both}
    for found in (words, near, both):
        assert sorted((s.score for s in found), reverse=True) == [s.score for s in found]

    asked = HashingEmbedder(64).embed([CAT.text])[0]
    chunks = Sentences()(CAT, [Segment.whole(document) for document in pets()])
    cosines = HashingEmbedder(64).embed([*map(titled, chunks)]) @ asked
    found = corpus.search(CAT, by="dense", k=100)

    assert sorted(cosines, reverse=True) == pytest.approx([s.score for s in found], abs=1e-5)

    query = Query("cat 3 dog")
    dense = places(corpus.search(query, by="dense", k=DEPTH))
    words = places(corpus.search(query, by="bm25", k=DEPTH))
    expected = fuse([dense, words], (0.5, 0.5))
    found = corpus.search(query, k=5)

    assert [*expected.items()][:5] == [(s.key, s.score) for s in found]


def test_a_document_ranks_by_its_best_chunk(corpus):
    """Ranks count documents from 0 in the order in which they first come."""
    found = corpus.search(Query("cat 3 dog 3"), k=10)
    first = list(dict.fromkeys(s.document.id for s in found))

    assert "d3" == first[0]
    assert [first.index(s.document.id) for s in found] == [s.document.rank for s in found]


def test_ties_stand_in_the_order_of_adding(tmp_path):
    """Equal texts score alike, by words and by vectors; all of them are found."""
    corpus = Corpus(tmp_path, HashingEmbedder())
    corpus.add([Document(f"{i}", "the same cat") for i in range(30)])

    for by in ("bm25", "dense", "hybrid"):
        found = corpus.search(Query("cat"), k=20, by=by)
        assert [f"{i}" for i in range(20)] == [s.document.id for s in found]


def test_the_nearest_by_bytes_are_the_nearest(tmp_path):
    """Of more chunks than are compared exactly, the best stay; equal ones in the order given."""
    embedder = HashingEmbedder(64)
    texts = [f"w{n % 400} w{n % 37} w{n % 11} w{n % 5}" for n in range(900)]
    corpus = Corpus(tmp_path, embedder)
    corpus.add([Document(str(n), text) for n, text in enumerate(texts)])
    rows = embedder.embed(texts)
    for n in range(0, 900, 90):
        cosines = np.round((rows @ embedder.embed([texts[n]])[0]).astype(float), 5)
        found = corpus.search(Query(texts[n]), by="dense", k=10)

        assert np.argsort(-cosines, kind="stable")[:10].tolist() == [
            int(s.document.id) for s in found
        ]


def positive(number):
    """A vector without a negative number; those of ten texts are a cluster."""
    around, own = map(np.random.default_rng, (int(number) // 10, 10_000 + int(number)))
    vector = 1 + 0.2 * around.normal(size=100) + 0.1 * own.normal(size=100)
    return vector / np.linalg.norm(vector)


def test_the_nearest_by_signs_are_the_nearest(tmp_path):
    """Of more chunks than are compared by bytes, though no number is negative; also of new ones."""
    corpus = Corpus(tmp_path, Places(positive))
    corpus.add([Document(str(n), str(n)) for n in range(2500)])
    assert {"2040"} == {s.document.id for s in corpus.search(Query("2040"), by="dense", k=1)}
    corpus.add([Document(str(n), str(n)) for n in range(2500, 2600)])
    corpus.remove(["2595"])

    found = corpus.search(Query("2591"), by="dense", k=9)
    assert {*map(str, range(2590, 2600))} - {"2595"} == {s.document.id for s in found}


def test_unchanged_documents_are_not_embedded_again(corpus):
    """A change says what became of each document; equal chunks are embedded once."""
    embedder = Counting()
    again = Corpus(corpus.path, embedder, splitter=Sentences())
    changed = Document("d0", "Cat 0 sleeps on mat 0. A fox came.", "Pet 0", "file 0")
    moved = Document("d1", pets()[1].text, "Pet 1", "elsewhere")
    change = again.add([changed, moved, *pets()[2:], Document("new", "A fox came.")])

    assert Change(added=1, changed=2, unchanged=10, chunks=2) == change
    assert ["Pet 0: A fox came.", "A fox came."] == embedder.texts
    assert "elsewhere" == again.search(Query("dog 1"), k=1)[0].document.source
    assert Change(unchanged=12) == again.add([changed, moved, *pets()[2:]])
    assert [f"d{i}" for i in range(1, 12)] == [i for i in again.ids() if i not in ("d0", "new")]


def test_what_was_removed_or_replaced_is_not_found(corpus):
    """Neither by words nor by vectors; ids that are not there are passed over."""
    corpus.add([Document("d3", "Nothing of it.", "Pet 3")])
    change = corpus.remove(["d4", "d4", "no such"])

    assert Change(removed=1) == change
    for by in ("bm25", "dense", "hybrid"):
        found = corpus.search(Query("cat 3 dog 4"), k=100, by=by)
        assert not {"Dog 3 runs.", "Dog 4 runs."} & {s.text for s in found}
    assert "d4" not in corpus.ids()
    assert 11 == corpus.about().documents


def test_removing_needs_no_embedder(corpus):
    """Nor what cuts; what is left keeps its vectors, and what went can come back."""
    change = Corpus(corpus.path).remove(["d3", "d4"])

    assert Change(removed=2) == change
    assert 20 == len(corpus.search(CAT, by="dense", k=100))
    assert Change(added=1, chunks=2, unchanged=10) == corpus.add([*pets()[:3], *pets()[4:]])
    assert "d4" == corpus.search(Query("cat 4 sleeps on mat 4"), by="dense", k=1)[0].document.id
    with pytest.raises(InputError, match="ids must be a list, got 'ab'"):
        corpus.remove("ab")


def test_identical_documents_of_a_call_count_once(tmp_path):
    """Two of one id with different texts are an error that names the id; nothing is added."""
    corpus = Corpus(tmp_path, HashingEmbedder())

    assert Change(added=1, chunks=1) == corpus.add([Document("a", "x y"), Document("a", "x y")])
    with pytest.raises(InputError, match="documents must have unique ids, got two of 'b'"):
        corpus.add([Document("b", "x"), Document("b", "y")])
    assert ["a"] == corpus.ids()


def test_an_index_of_nothing_or_blank_texts_is_searched(tmp_path):
    """Blank documents are kept, and never found; nor is one that was never built, or emptied."""
    corpus = Corpus(tmp_path, HashingEmbedder())
    corpus.add([Document("empty", ""), Document("blank", " \n")])

    assert [] == corpus.search(CAT)
    assert [] == corpus.search(CAT, by="dense")
    assert (2, 0) == (corpus.about().documents, corpus.about().chunks)
    corpus.add([Document("marks", "?! …"), Document("cat", "the cat")])
    assert ["cat"] == [s.document.id for s in corpus.search(Query("cat"), by="bm25")]
    assert [] == corpus.search(Query("?!"), by="bm25")

    corpus = Corpus(tmp_path / "index", HashingEmbedder())

    assert ([], []) == (corpus.search(CAT), corpus.ids())
    assert Change() == corpus.remove(["a"])
    assert not (tmp_path / "index").exists()
    corpus.add([Document("a", "a cat")])
    corpus.remove(["a"])
    assert ([], [], []) == (corpus.search(CAT), corpus.search(CAT, by="bm25"), corpus.ids())


def test_words_alone_need_no_embedder(tmp_path):
    """BM25 searches; vectors are asked for in vain."""
    corpus = Corpus(tmp_path)
    corpus.add([Document("a", "a cat"), Document("b", "一只猫")])

    assert ["a"] == [s.document.id for s in corpus.search(Query("cat"), by="bm25")]
    assert ["b"] == [s.document.id for s in corpus.search(Query("猫"), by="bm25")]
    with pytest.raises(InputError, match="by must be 'bm25' where there is no embedder, got 'den"):
        corpus.search(CAT, by="dense")
    with pytest.raises(InputError, match=r"embedder must be what the index .* with, none, got"):
        Corpus(tmp_path, HashingEmbedder())


def test_an_index_says_what_it_was_built_with(corpus):
    """Counts and options; another embedder is an error at once, other cuts with documents."""
    found = Corpus(corpus.path).about()

    assert (12, 24, "hashing:64") == (found.documents, found.chunks, found.embedder)
    assert repr(Sentences()) == found.splitter
    assert found.bytes > 10_000

    Corpus(corpus.path, HashingEmbedder(64)).search(CAT)

    with pytest.raises(InputError, match=r"embedder must be .*'hashing:64', got 'hashing:65'"):
        Corpus(corpus.path, HashingEmbedder(65))
    with pytest.raises(InputError, match=r"splitter must be .*Sentences\(.*, got none"):
        Corpus(corpus.path, HashingEmbedder(64)).add(pets())
    with pytest.raises(InputError, match=r"embedder must be .*'hashing:64', got none"):
        Corpus(corpus.path, splitter=Sentences()).add(pets())


def test_progress_is_told(tmp_path):
    """Documents done and chunks embedded, up to all of them."""
    calls = []
    Corpus(tmp_path, HashingEmbedder()).add(pets(150), progress=lambda *now: calls.append(now))

    assert [(64, 64), (128, 128), (150, 150)] == calls


def test_threads_find_what_one_finds_alone(corpus):
    """Sixteen at once, of an index that no one has opened yet; a closed one opens again."""
    queries = [Query(f"cat {i} dog") for i in range(16)]
    alone = [corpus.search(query, k=7) for query in queries]
    fresh = Corpus(corpus.path, HashingEmbedder(64))
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda query: fresh.search(query, k=7), queries))

    assert alone == together
    assert [s.scores for s in alone[3]] == [s.scores for s in together[3]]

    before = corpus.search(CAT)
    corpus.close()

    assert before == corpus.search(CAT)


def test_documents_that_cannot_be_kept_are_named(tmp_path):
    """Metadata beyond JSON, and what a model wrote."""
    corpus = Corpus(tmp_path)

    with pytest.raises(InputError, match=r"metadata of document 'a' must be JSON: .*set"):
        corpus.add([Document("a", "x", metadata={"s": {1}})])
    with pytest.raises(InputError, match=r"document 'b' must have a source .* by no model"):
        corpus.add([Document("b", "x", written_by="llm")])
    with pytest.raises(InputError, match="documents must be of the class Document, got 'a text'"):
        corpus.add(["a text"])
    assert Change(added=1) == corpus.add([Document("c", "x")])
