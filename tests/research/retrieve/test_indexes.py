"""An index by its folder."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from ragsieve import Document, Query, models
from ragsieve.errors import InputError, StoreError
from ragsieve_research.retrieve.indexes import (
    IndexOptions,
    WordCount,
    content,
    create_index,
    index_options,
    index_source,
    open_index,
    open_words,
)

FAKE = IndexOptions(embedder="fake:hashing")
TEXT = "Bees make honey. Summer Breeze was sung by Seals and Crofts."
ASKED = Query("Who sang Summer Breeze?")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (IndexOptions(embedder="none", chunks="whole"), [(0, 60)]),
        (IndexOptions(embedder="none", chunks="windows", max_tokens=4), [(17, 39)]),
        (FAKE, [(17, 60)]),
    ],
)
def test_chunks_are_cut_as_asked(tmp_path, options, expected):
    """Whole documents, windows of four words or marks, sentences that do not agree."""
    with create_index(tmp_path, options) as corpus:
        corpus.add([Document("a", TEXT)])
    with open_words(tmp_path) as corpus:
        found = corpus.search(Query("Breeze"), by="bm25")

    assert expected == [(s.start, s.end) for s in found]


def test_an_index_of_other_options_is_not_built_on(tmp_path):
    """Those that do not count for its chunks may differ; the message names what differs."""
    with create_index(tmp_path, FAKE) as corpus:
        corpus.add([Document("a", TEXT)])
    create_index(tmp_path, IndexOptions(embedder="fake:hashing", max_tokens=7))

    with pytest.raises(InputError, match=r"built with max_chars=500, got max_chars=90: build into"):
        create_index(tmp_path, IndexOptions(embedder="fake:hashing", max_chars=90))


def test_other_options_count_while_nothing_is_built(tmp_path):
    """Who began with the first ones builds no more."""
    late = create_index(tmp_path, FAKE)
    words = IndexOptions(embedder="none", chunks="whole")
    create_index(tmp_path, words).add([Document("a", TEXT)])

    with pytest.raises(InputError, match=r"embedder must be what the index .* was built with"):
        late.add([Document("a", TEXT)])
    assert words == index_options(tmp_path)
    assert "" == open_index(tmp_path).about().embedder
    with pytest.raises(InputError, match="was built with embedder='none', chunks='whole'"):
        create_index(tmp_path, FAKE)


def test_one_of_two_that_begin_at_once_is_told(tmp_path):
    """Each had found the folder empty; one gets to build, whose options stand in it."""
    many = [IndexOptions(embedder="fake:hashing", max_chars=n) for n in range(100, 108)]
    barrier = Barrier(len(many))

    def build(options):
        barrier.wait()
        try:
            with create_index(tmp_path / "i", options) as corpus:
                corpus.add([Document("a", TEXT)])
        except (InputError, StoreError) as error:
            return str(error)
        return ""

    with ThreadPoolExecutor(len(many)) as pool:
        told = list(pool.map(build, many))
    built = [options for options, error in zip(many, told, strict=True) if not error]

    assert [index_options(tmp_path / "i")] == built
    assert f"max_chars={built[0].max_chars}" in open_index(tmp_path / "i").about().splitter


def test_an_index_that_was_not_built_to_its_end_is_no_source(tmp_path):
    """It would find nothing, as if there were nothing; no embedder is loaded for it."""
    with create_index(tmp_path, FAKE) as corpus, pytest.raises(InputError):
        corpus.add([Document("a", TEXT), Document("b", TEXT, written_by="a model")])
    expected = "was not built to its end: the same `ragsieve index build` goes on"

    assert FAKE == index_options(tmp_path)
    for use in (lambda: index_source(tmp_path, models.load), lambda: content(tmp_path)):
        with pytest.raises(InputError, match=expected):
            use()


def test_content_is_what_is_held_and_how_it_was_cut(tmp_path):
    """Not where it lies, nor in which order it came."""
    documents = [Document("a", TEXT), Document("b", "Goats give milk.")]
    wider = IndexOptions(embedder="fake:hashing", max_chars=90)
    for name, options in (("one", FAKE), ("two", FAKE), ("wider", wider)):
        with create_index(tmp_path / name, options) as corpus:
            corpus.add(documents[:: -1 if name == "two" else 1])
    before = content(tmp_path / "two")
    with open_words(tmp_path / "two") as corpus:
        corpus.remove(["b"])

    assert 64 == len(before)
    assert before == content(tmp_path / "one")
    assert 3 == len({before, content(tmp_path / "two"), content(tmp_path / "wider")})


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    """Nothing is written beside them."""
    (tmp_path / "thesis.txt").write_text("Bees.")

    with pytest.raises(InputError, match="must be an index or an empty folder"):
        create_index(tmp_path, FAKE)
    assert ["thesis.txt"] == [path.name for path in tmp_path.iterdir()]


def test_what_a_killed_build_left_is_an_empty_folder(tmp_path):
    """The database is renamed when it is whole."""
    (tmp_path / "index.sqlite.new").write_text("half")
    with create_index(tmp_path, FAKE) as corpus:
        corpus.add([Document("a", TEXT)])

    assert FAKE == index_options(tmp_path)
    assert ["index.sqlite", "lock"] == sorted(path.name for path in tmp_path.iterdir())


def test_words_and_marks_are_tokens():
    """Chinese goes by character, since it has no spaces."""
    assert [0, 4, 3, 3] == WordCount().count(["", "Bees, he said", "蜜蜂。", "a_b c!"])
