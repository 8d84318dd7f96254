"""Of near-duplicates the better one."""

import pytest

from ragsieve_research.select.distinct import Distinct
from tests.segments import QUERY, wholes


def spans(*texts, scores=()):
    found = wholes(*texts)
    return [s.scored("s", v) for s, v in zip(found, scores, strict=True)] if scores else found


def ids(segments):
    return [s.document.id for s in segments]


def test_of_like_texts_one_stays():
    """The earlier, or the better in its place; Chinese by character; 600 in blocks, too."""
    given = spans("Seals sang it.", "It rained.", "It sang seals.")

    assert ["0", "1"] == ids(Distinct()(QUERY, given))

    given = spans("Seals sang it.", "It rained.", "seals sang it.", scores=(1, 2, 3))

    assert ["1", "2"] == ids(Distinct()(QUERY, given))

    a, b, c = "v w x y", "w x y z", "x y z u"
    given = spans(a, b, c)

    assert ["0", "2"] == ids(Distinct(max_similarity=0.5)(QUERY, given))

    assert ["0", "2"] == ids(Distinct()(QUERY, spans("今天下雨。", "今天下雨。", "他喜欢唱歌。")))

    texts = [f"word{n} is here{n}" for n in range(600)]

    assert 600 == len(Distinct()(QUERY, spans(*texts, *texts)))


@pytest.mark.parametrize("text", ["", " ", "...", "?!", "😀"])
def test_texts_without_a_word_are_compared_too(text):
    """Neither an empty text nor punctuation is an error."""
    given = spans(text, text, "He sang.")

    assert ["0", "2"] == ids(Distinct()(QUERY, given))
