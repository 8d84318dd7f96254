"""What flows: frozen, checked, verbatim."""

import dataclasses
import math

import pytest
from hypothesis import given, strategies as st

from ragsieve.errors import BadReply, ContextOverflow, InputError, MissingExtra, RagsieveError
from ragsieve.types import Answer, Document, Example, Query, Segment, rounded

DOCUMENT = Document("d", "He sang. She danced.")


@pytest.mark.parametrize("text", ["", "  \n", None, 5, b"who"])
def test_a_question_must_say_something(text):
    """Blank questions and other types are turned away at once, by a line that shows them."""
    with pytest.raises(InputError, match=r"^the question must .*, got") as raised:
        Query(text)

    assert "\n" not in str(raised.value)


def test_a_score_is_by_name_and_the_last_counts():
    """The segment that is scored stays as it was; five digits count; it is finite."""
    given = [0.012345678, -0.76543219, 12.3456789, 1e-9, 0.0]

    assert [0.012346, -0.76543, 12.346, 1e-9, 0.0] == [rounded(score) for score in given]

    segment = Segment.whole(DOCUMENT).scored("a", 1).scored("b", 2).scored("a", 3)

    assert 3.0 == segment.score
    assert [("b", 2.0), ("a", 3.0)] == list(segment.scores.items())

    segment = Segment.whole(DOCUMENT)
    segment.scored("a", 1)

    assert {} == dict(segment.scores)
    with pytest.raises(InputError, match="has no score yet: put a scorer before"):
        _ = segment.score
    for value in (math.nan, math.inf, -math.inf):
        with pytest.raises(InputError, match="score 'cosine' must be finite"):
            segment.scored("cosine", value)


@pytest.mark.parametrize("name", ["id", "text", "title", "source"])
def test_a_document_is_made_of_strings(name):
    """The error names what is not a string; a result's JSON could not be read again."""
    with pytest.raises(InputError, match=f"a document's {name} must be a string, got 5"):
        Document(**{"id": "d", "text": "t", name: 5})
    with pytest.raises(InputError, match="metadata must be a mapping, got None"):
        Document("d", "t", metadata=None)


@pytest.mark.parametrize("name", ["id", "time", "domain"])
def test_a_question_is_made_of_strings(name):
    """The error names what is not a string."""
    with pytest.raises(InputError, match=f"a question's {name} must be a string, got 5"):
        Query(**{"text": "q", name: 5})


def test_a_written_document_names_its_writer():
    """Text that a model wrote from others is never taken for a retrieved one."""
    parents = (Segment.whole(DOCUMENT),)

    assert parents == Document("w", "Both.", written_by="model", parents=parents).parents
    with pytest.raises(InputError, match="written_by must name its model"):
        Document("w", "Both.", parents=parents)


@given(start=st.integers(-3, 25), end=st.integers(-3, 25))
def test_a_span_lies_in_its_document(start, end):
    """It has the document's own characters; one outside of it cannot be made."""
    if 0 <= start <= end <= 20:
        assert DOCUMENT.text[start:end] == Segment(DOCUMENT, start, end).text
        assert ("d", start, end) == Segment(DOCUMENT, start, end).key
    else:
        with pytest.raises(InputError, match="a span must lie in its document of 20 characters"):
            Segment(DOCUMENT, start, end)


@pytest.mark.parametrize(
    "value", [Query("q"), DOCUMENT, Segment.whole(DOCUMENT), Answer("a"), Example(Query("q"), ())]
)
def test_what_flows_is_frozen_and_hashable(value):
    """Threads share it, and sets hold it."""
    field = dataclasses.fields(value)[0].name

    assert {value} == {value, dataclasses.replace(value)}
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(value, field, None)


def test_errors_are_what_callers_expect():
    """Each is a RagsieveError and, where Python has a word for it, that too."""
    missing = MissingExtra("torch", extra="local")
    overflow = ContextOverflow(needed=9, limit=8, model="m")

    assert issubclass(InputError, ValueError)
    assert isinstance(missing, ImportError)
    assert isinstance(missing, RagsieveError)
    assert "torch is not installed: pip install 'ragsieve[local]'" == str(missing)
    assert "prompt and reply need 9 tokens, the context of m holds 8" == str(overflow)


def test_an_unreadable_reply_is_kept_whole_and_shown_in_a_line():
    """The message stays one short line; the text is all there."""
    reply = "no\n" * 1000
    error = BadReply("a number", reply)

    assert reply == error.text
    assert "\n" not in str(error)
    assert len(str(error)) < 400
