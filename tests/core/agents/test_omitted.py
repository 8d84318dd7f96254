"""What was left out, page by page, in tokens that are characters."""

import json
import re
from dataclasses import asdict
from itertools import pairwise

from hypothesis import given, settings, strategies as st

from ragsieve import Document, Pipeline, Segment, System
from ragsieve.agents.omitted import DroppedPage, dropped_page, dropped_spans
from ragsieve.answer import Reader
from ragsieve.models.fake import ScriptedLLM
from ragsieve.trace import record_drop

TEXTS = {
    "a": "One is kept. Two is a gull. Three is dry. Four is kept. Five is a gull and a gull.",
    "b": "Six is dry.",
    "c": "Seven is kept.",
}


def filtered(texts, spans={}):  # noqa: B006
    """A result that keeps sentences with the word ``kept``; the longer ones have higher scores."""

    def split(query, segments):
        return [
            Segment(whole.document, start, end).scored("length", end - start)
            for whole in segments
            for start, end in spans.get(
                whole.document.id,
                [m.span() for m in re.finditer(r"[^ .][^.]*\.", whole.document.text)],
            )
        ]

    def pick(query, segments):
        for segment in segments:
            record_drop(segment, f"it has {len(segment.text)}\n characters")
        return [segment for segment in segments if "kept" in segment.text]

    documents = [Document(name, text) for name, text in texts.items()]
    return System(Pipeline(split, pick), Reader(ScriptedLLM([])))("Which?", documents)


def length(page):
    return len(json.dumps(asdict(page)))


def texts(page):
    return [(run.document, run.text) for run in page.runs]


def test_a_row_is_a_run_of_dropped_spans():
    """With the text between them, how many they are, and why the best of them was dropped."""
    page = dropped_page(dropped_spans(filtered(TEXTS)), "", 5000, length)

    assert [
        ("a", "Two is a gull. Three is dry.", 2, "it has 14 characters"),
        ("a", "Five is a gull and a gull.", 1, "it has 26 characters"),
        ("b", "Six is dry.", 1, "it has 11 characters"),
    ] == [(run.document, run.text, run.spans, run.reason) for run in page.runs]
    assert "" == page.cursor


def test_a_query_finds_the_spans_with_its_words():
    """The best first; windows that share characters come once; nothing dropped is an empty page."""
    result = filtered(TEXTS)
    found = dropped_page(dropped_spans(result, query="Gull?"), "", 5000, length)
    of_one = dropped_page(dropped_spans(result, "b", "dry"), "", 5000, length)

    assert [("a", "Five is a gull and a gull."), ("a", "Two is a gull.")] == texts(found)
    assert [("b", "Six is dry.")] == texts(of_one)
    assert [] == dropped_spans(result, "c") == dropped_spans(result, query="heron")

    text = "abcdefghij kept"
    spans = {"w": [(0, 6), (2, 5), (4, 10), (11, 15)]}
    page = dropped_page(dropped_spans(filtered({"w": text}, spans)), "", 5000, length)

    assert [("w", "abcdefghij")] == texts(page)

    page = dropped_page(dropped_spans(filtered({"c": TEXTS["c"], "e": ""})), "", 0, length)

    assert DroppedPage([], "") == page


@settings(max_examples=25, deadline=None)
@given(st.integers(260, 900), st.sampled_from(["", "dry gull", "is"]))
def test_pages_hold_all_and_none_is_too_long(most, query):
    """Each begins where the last one ended; spans end with them where there is room for one."""
    long = {**TEXTS, "d": "A dry day. " * 30, "e": "dry gull " * 120 + "."}
    result = filtered(long)
    spans = dropped_spans(result, query=query)
    pages = [dropped_page(spans, "", most, length)]
    while cursor := pages[-1].cursor:
        pages.append(dropped_page(spans, cursor, most, length))
    shown = [(run.document, run.start, run.end) for page in pages for run in page.runs]

    assert all(length(page) <= most for page in pages)
    assert all(run.text == long[run.document][run.start : run.end] for p in pages for run in p.runs)
    for name, text in long.items():
        places = sorted((start, end) for document, start, end in shown if document == name)
        assert all(one[1] <= following[0] for one, following in pairwise(places))
        characters = {n for start, end in places for n in range(start, end)}
        wanted = {
            n for s in spans if s.verdict.segment.document.text == text for n in range(*s[1:3])
        }
        assert wanted <= characters


def test_what_a_model_wrote_can_be_dropped():
    """It is shown by its own id, behind the documents."""

    def write(query, segments):
        new = Document("new", "A summary.", written_by="m", parents=(segments[0],))
        return [*segments, Segment.whole(new)]

    def drop(query, segments):
        return segments[:1]

    documents = [Document("a", "One.")]
    result = System(Pipeline(write, drop), Reader(ScriptedLLM([])))("Which?", documents)

    assert [("new", "A summary.")] == texts(dropped_page(dropped_spans(result), "", 900, length))
    assert 1 == len(dropped_spans(result, "new"))
