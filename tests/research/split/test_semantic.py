"""Chunks of neighbouring sentences."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from ragsieve import Document, ModelError, Query, Segment
from ragsieve.models.fake import HashingEmbedder
from ragsieve.split.sentences import Sentences
from ragsieve_research.split.semantic import Semantic
from tests.segments import wholes
from tests.tiny import Places

QUERY = Query("Who sang it?")
EAST, NORTH, BETWEEN = (1.0, 0.0), (0.0, 1.0), (0.6, 0.8)  # cosines 0, 0.6 and 0.8


def table(vectors):
    return Places(vectors.__getitem__)


def texts_of(segments):
    return [s.text for s in segments]


@pytest.mark.parametrize(
    ("min_similarity", "expected"),
    [
        (0.5, ["He sang.  She sang.\nIt rained."]),
        (0.6, ["He sang.  She sang.\nIt rained."]),  # cosines 0.6 and 0.8: exactly at it is joined
        (0.61, ["He sang.", "She sang.\nIt rained."]),
        (0.8, ["He sang.", "She sang.\nIt rained."]),
        (0.81, ["He sang.", "She sang.", "It rained."]),
    ],
)
def test_neighbours_are_joined_from_the_threshold_on(min_similarity, expected):
    """The cosine of the two neighbours decides; their white space is verbatim in the chunk."""
    known = table({"He sang.": EAST, "She sang.": BETWEEN, "It rained.": NORTH})
    chunks = Semantic(known, min_similarity=min_similarity)(
        QUERY, wholes("He sang.  She sang.\nIt rained.")
    )

    assert expected == texts_of(chunks)


def test_neighbours_count_and_not_the_chunk():
    """First and last may be at right angles; equal ones join up to the length and segment's end."""
    known = table({"A is.": EAST, "B is.": BETWEEN, "C is.": NORTH})

    assert 1 == len(Semantic(known, min_similarity=0.6)(QUERY, wholes("A is. B is. C is.")))
    assert 2 == len(Semantic(known, min_similarity=0.6)(QUERY, wholes("B is. A is. C is.")))

    chunks = Semantic(table({}), min_similarity=1, max_chars=20)(QUERY, wholes("Again. " * 7))

    assert ["Again. Again. Again."] * 2 + ["Again."] == texts_of(chunks)

    document = Document("d", "Same. Same. Same.")
    parts = [Segment(document, 0, 5), Segment(document, 6, 17)]
    other = Segment.whole(Document("e", "Same."))
    chunks = Semantic(table({}))(QUERY, [*parts, other])

    assert [("d", 0, 5), ("d", 6, 17), ("e", 0, 5)] == [s.key for s in chunks]


@pytest.mark.parametrize(
    ("max_chars", "expected"),
    [
        (19, ["One is.   Two is.", "Six is."]),
        (17, ["One is.   Two is.", "Six is."]),  # 7 + 3 + 7 characters
        (16, ["One is.", "Two is. Six is."]),
        (15, ["One is.", "Two is. Six is."]),
        (14, ["One is.", "Two is.", "Six is."]),
        (1, ["One is.", "Two is.", "Six is."]),
    ],
)
def test_a_chunk_is_at_most_so_long(max_chars, expected):
    """White space between sentences counts; a sentence is never cut to fit."""
    known = table(dict.fromkeys(["One is.", "Two is.", "Six is."], EAST))
    stage = Semantic(known, max_chars=max_chars)

    assert expected == texts_of(stage(QUERY, wholes("One is.   Two is. Six is.")))


def test_all_texts_are_embedded_in_one_call():
    """Each different sentence once, whatever document or place it is from."""
    known = table(dict.fromkeys(["He sang.", "She sang.", "It rained."], EAST))
    Semantic(known)(QUERY, wholes("He sang. She sang.", "It rained. He sang.", "She sang."))

    assert [["He sang.", "She sang.", "It rained."]] == known.asked


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\t",
        "One sentence.",
        "Again. Again. Again.",  # equal neighbours agree, whatever the vectors
        f"{'long ' * 100}end. Short.",  # together over 500 characters
    ],
)
def test_nothing_is_embedded_that_decides_nothing(text):
    """Single sentences, equal ones, and ones too long for any neighbour."""
    known = table({})
    Semantic(known)(QUERY, wholes(text, text))

    assert [] == known.asked


def test_a_long_sentence_is_a_chunk_by_itself():
    """Over max_chars it joins none; over 1000 it is cut, unless a chunk may be longer."""
    long = "Word " * 150 + "end."  # 754 characters
    longer = "word " * 300 + "end."
    known = table({"He sang.": EAST, "She sang.": EAST})
    chunks = Semantic(known)(QUERY, wholes(f"He sang. She sang. {long} He sang.", longer))

    assert ["He sang. She sang.", long, "He sang."] == texts_of(chunks[:3])
    assert [999, 504] == [len(s.text) for s in chunks[3:]]  # 5 * 200 - 1, then the rest

    text = "word " * 300 + "end."

    assert [text] == texts_of(Semantic(table({}), max_chars=2000)(QUERY, wholes(text)))


def test_opposite_sentences_are_joined_where_all_are():
    """Rounding below -1 does not part what min_similarity=-1 joins: 3 * 0.6² is 1.08."""
    known = table({"Yes is.": (0.6, 0.6, 0.6), "No is.": (-0.6, -0.6, -0.6)})

    assert 1 == len(Semantic(known, min_similarity=-1)(QUERY, wholes("Yes is. No is.")))


@settings(max_examples=60)
@given(
    st.lists(st.sampled_from(["He sang. ", "He danced. ", "你好。", "\ud800", "\n\n", "x" * 40])),
    st.sampled_from([-1, 0.5, 1]),
    st.integers(1, 60),
)
def test_chunks_are_runs_of_sentences(parts, min_similarity, max_chars):
    """Every sentence is in one chunk, in order, and only single ones are too long."""
    given_segments = wholes("".join(parts))
    stage = Semantic(HashingEmbedder(), min_similarity=min_similarity, max_chars=max_chars)
    chunks = stage(QUERY, given_segments)
    sentences = Sentences()(QUERY, given_segments)
    single = {s.key for s in sentences}
    visible = ["".join("".join(texts_of(found)).split()) for found in (sentences, chunks)]

    assert {s.start for s in chunks} <= {s.start for s in sentences}
    assert {s.end for s in chunks} <= {s.end for s in sentences}
    assert all(a.end <= b.start for a, b in pairwise(chunks))
    assert visible[0] == visible[1]
    assert all(len(s.text) <= max_chars or s.key in single for s in chunks)


def test_long_documents_are_compared_in_blocks():
    """20,000 neighbours, each pair the other way round; the last of every 31 is over the limit."""
    known = table({"He sang a song.": EAST, "She did it too.": BETWEEN})
    text = "He sang a song. She did it too. " * 10_000
    chunks = Semantic(known, min_similarity=0.6)(QUERY, wholes(text))

    assert 20_000 // 31 + 1 == len(chunks)  # 31 sentences of 16 characters, less a space: 495
    assert {495, 20_000 % 31 * 16 - 1} == {len(s.text) for s in chunks}


@pytest.mark.parametrize(
    "vectors",
    [
        np.full((2, 3), np.nan),
        np.array([[1, 0], [np.inf, 0]]),
        np.ones((1, 3)),
        np.ones(2),
        np.ones((2, 2, 2)),
    ],
)
def test_a_broken_embedder_is_named(vectors):
    """NaN, infinity and wrong shapes are an error of one line, not a chunk."""

    class Broken(Places):
        def embed(self, texts, *, query=False):
            return vectors.astype(np.float32)

    with pytest.raises(ModelError, match=r"Broken\(.*\) must give 2 finite vectors, got") as caught:
        Semantic(Broken(len))(QUERY, wholes("He sang. She sang."))

    assert "\n" not in str(caught.value)
