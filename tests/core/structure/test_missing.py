"""A function of which much is kept is kept whole, and a list whose rows are alike."""

import inspect

import pytest

from ragsieve import Document, Query, Segment, split, text
from ragsieve.select.threshold import Threshold
from ragsieve.structure.missing import of_functions, of_lists

FILE = inspect.getsource(text)


def test_a_function_is_whole_or_its_head_with_what_answers():
    """Of ``sentence_spans`` in a file, most or little; other functions stay as they are."""
    own = inspect.getsource(text.sentence_spans)
    start = FILE.index(own)
    segments = split.Blocks()(Query("q"), [Segment.whole(Document("d", FILE))])
    inside = {s.key for s in segments if start <= s.start < start + len(own)}
    most = {*sorted(inside)[:-1]}

    assert inside - most == of_functions(most, segments) != set()
    assert set() == of_functions(set(), segments) == of_functions(inside, segments)


@pytest.mark.parametrize(
    ("rows", "best", "kept", "more"),
    [(9, 0.1, 1, 8), (9, 0.1, 0, 0), (9, 0.3, 1, 0), (40, 0.1, 5, 0), (40, 0.1, 20, 20)],
)
def test_rows_of_which_none_stands_out_stay_together(rows, best, kept, more):
    table = [f"member {n},a town on the river Elbe {n}" for n in range(rows)]
    document = Document("d", "\n".join(["name,city", *table, "", "We meet."]))
    segments = split.Blocks()(Query("q"), [Segment.whole(document)])
    scored = [s.scored("net", best / (n + 1)) for n, s in enumerate(segments)]
    stage = Threshold(best / max(kept, 1e-3), relative=1e-9, odd=True)

    assert more == len(of_lists({s.key for s in scored[:kept]}, scored))
    assert kept + more == len(stage(Query("q"), scored))
