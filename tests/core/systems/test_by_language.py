"""One way for English, another for the rest."""

import pytest

from ragsieve import Document, ModelError, Pipeline, Query, Segment, Trace, score, select
from ragsieve.systems.by_language import ByLanguage

ASKED = Query("Who designed the tower?")
GEFRAGT = Query("Wer hat den Eiffelturm entworfen?")
TOWER = Document("0", "The tower stands in Paris. It is made of iron.", rank=0)
TURM = Document("1", "Der Eiffelturm steht in Paris. Er wurde von Koechlin entworfen.", rank=1)
BRIDGE = Document("2", "The bridge was opened in 1885. Trains still cross it.", rank=2)
MIXED = [Segment.whole(document) for document in (TOWER, TURM, BRIDGE)]
ENGLISH = [MIXED[0], MIXED[2]]


class Noting:
    """A stage that remembers which documents it saw, and keeps all but one."""

    def __init__(self, dropped=""):
        self.dropped = dropped
        self.seen = []

    def __call__(self, query, segments, /):
        self.seen += [s.document.id for s in segments]
        return [s for s in segments if s.document.id != self.dropped]


@pytest.mark.parametrize(
    ("query", "given", "seen", "kept", "warning"),
    [
        (ASKED, ENGLISH, ([*"02"], []), [*"0"], ""),
        (GEFRAGT, MIXED, ([], [*"012"]), [*"12"], "not English (de): 3 of 3 documents"),
        (ASKED, MIXED, ([*"02"], [*"1"]), [*"01"], "not English (de): 1 of 3 documents"),
    ],
)
def test_documents_of_another_language_go_alone_or_along(query, given, seen, kept, warning):
    """Of an English question alone, with a word in the trace; of another all, since nothing can be
    compared. Where all is English, the second stage is not asked."""
    english, other, trace = Noting("2"), Noting("0"), Trace()
    with trace.recording():
        found = ByLanguage(english, other)(query, given)

    assert seen == (english.seen, other.seen)
    assert kept == [segment.document.id for segment in found]
    assert [True] * bool(warning) == [warning in line for line in trace.warnings]


def test_spans_that_go_have_a_reason_on_either_side():
    """Each side is a step of its own in the trace."""
    ranked = Pipeline(score.BM25(), select.TopK(1))
    trace = Trace()
    with trace.recording():
        kept = ByLanguage(ranked, Noting("1"))(ASKED, MIXED)

    dropped = [d.segment.document.id for record in trace.steps for d in record.dropped]

    assert ["0"] == [s.document.id for s in kept]
    assert {*"12"} == {*dropped}


def test_a_side_that_fails_can_be_skipped():
    """With ``on_error="keep"`` its documents pass on as they came."""

    def failing(query, segments, /):
        raise ModelError("out of order")

    stage = ByLanguage(failing, Noting("1"))

    assert ENGLISH == stage.lenient()(ASKED, MIXED)
    with pytest.raises(ModelError, match="out of order"):
        stage(ASKED, MIXED)


def test_scores_by_shared_characters_are_no_probabilities():
    """They rank behind what a model kept, however much of them there is."""
    english = Pipeline(score.BM25())
    kept = ByLanguage(english, Pipeline(score.Ngrams()))(ASKED, [MIXED[1], *ENGLISH])

    assert [*"102"] == [s.document.id for s in kept]
    assert 1.0 == kept[0].scores["ngrams"]
    assert kept[0].score <= min(s.score for s in kept[1:])


def test_shared_characters_alone_have_one_scale():
    """What is kept scores no less than what went, where no other score stands beside it."""
    rest = Pipeline(score.Ngrams(), select.Threshold(0.5))
    german = ["Die Kosten trägt der Mieter.", "Die Kosten sind hoch.", "Der Hund bellt."]
    segments = [Segment.whole(Document(str(n), text)) for n, text in enumerate(german)]
    kept = ByLanguage(Noting("1"), rest)(Query("Wer trägt die Kosten?"), segments)

    assert [("0", 1.0)] == [(s.document.id, s.score) for s in kept]


PACKAGES = """├── commander@7.2.0
├─┬ debug@4.3.1
│ └── ms@2.1.2
├─┬ eslint@8.57.0
│ ├─┬ @eslint-community/eslint-utils@4.10.1
│ │ ├── eslint-visitor-keys@3.4.3 deduped"""

FILES = "src\n" + "".join(f"├── {one}.py\n" for one in ("rows", "cells", "lines", "tree", "odd"))


@pytest.mark.parametrize(
    "text", ["redis-server *:6379", "Song: Despacito. Artist: Luis Fonsi.", PACKAGES, FILES]
)
def test_names_and_numbers_are_of_no_other_language(text):
    """Beside an English question; a short sentence of another language is one."""
    short = [Segment.whole(Document(str(n), t)) for n, t in enumerate((text, "Der Port ist 8080."))]
    english, other = Noting(), Noting()
    ByLanguage(english, other)(ASKED, short)

    assert (["0"], ["1"]) == (english.seen, other.seen)
