"""A function of which much is kept is kept whole."""

import inspect

from ragsieve import Document, Query, Segment, split, text
from ragsieve.structure.functions import completed

FILE = inspect.getsource(text)


def test_a_function_is_whole_or_its_head_with_what_answers():
    """Of ``sentence_spans`` in a file, most or little; other functions stay as they are."""
    own = inspect.getsource(text.sentence_spans)
    start = FILE.index(own)
    segments = split.Blocks()(Query("q"), [Segment.whole(Document("d", FILE))])
    inside = {s.key for s in segments if start <= s.start < start + len(own)}
    most = {*sorted(inside)[:-1]}

    assert inside - most == completed(most, segments) != set()
    assert set() == completed(set(), segments) == completed(inside, segments)
