"""Segments with scores, and what a selector does with them, for the tests beside."""

from ragsieve.trace import Trace, step
from ragsieve.types import Document, Query, Segment

QUERY = Query("Who sang it?")


def scored(*values):
    """A segment of a document of its own, "Text 0." and so on, for each score."""
    return [
        Segment.whole(Document(str(n), f"Text {n}.")).scored("s", value)
        for n, value in enumerate(values)
    ]


def long_texts(*values):
    """The same of 22 tokens each, "text 0 word word …"."""
    return [
        Segment.whole(Document(str(n), f"text {n} " + "word " * 20)).scored("s", value)
        for n, value in enumerate(values)
    ]


def wholes(*texts, title=""):
    """A segment of a document of its own, "0" and so on, for each text."""
    documents = [Document(str(n), text, title, rank=n) for n, text in enumerate(texts)]
    return [*map(Segment.whole, documents)]


def traced(stage, segments):
    """What stays, and the step that tells of it."""
    with Trace().recording(), step(repr(stage), segments) as record:
        record.after = tuple(stage(QUERY, segments))
    return [*record.after], record
