"""A result as people look at it: a line, a page in a notebook, rows of a data frame."""

from __future__ import annotations

import pytest

from ragsieve import score, select, split
from ragsieve.answer import Reader
from ragsieve.models.fake import HashingEmbedder, ScriptedLLM
from ragsieve.pipeline import Pipeline, System
from ragsieve.result import Result

DOCUMENTS = ["Ada wrote programs. It rained <b>a lot</b> that day.", "Nobody \x1b[31mknows."]


@pytest.fixture
def result() -> Result:
    """Of three sentences one is kept."""
    stage = Pipeline(split.Sentences(), score.Cosine(HashingEmbedder()), select.TopK(1))
    return System(stage, Reader(ScriptedLLM(lambda prompt: "<i>Ada</i>"))).ask(
        "Who wrote programs?", DOCUMENTS
    )


def test_a_result_is_one_line(result: Result) -> None:
    """The question, spans and tokens, and the answer; not the documents."""
    before, after = result.tokens.before, result.tokens.after

    assert (
        f"Result('Who wrote programs?', kept=1 of 3 spans, tokens={before}->{after}, "
        "answer='<i>Ada</i>')"
    ) == repr(result)


def test_a_notebook_shows_what_was_dropped(result: Result) -> None:
    """Kept text plain, the rest struck out with its reason; nothing of a document is markup."""
    page = result._repr_html_()

    assert "<span>Ada wrote programs.</span>" in page
    assert 2 == page.count("<del ")
    assert "It rained &lt;b&gt;a lot&lt;/b&gt; that day.</del>" in page
    assert "&lt;i&gt;Ada&lt;/i&gt;" in page
    assert "\x1b" not in page


def test_rows_are_the_verdicts(result: Result) -> None:
    """Each verbatim with its place; what is dropped has stage and reason."""
    rows = result.rows

    assert [True, False, False] == [row["kept"] for row in rows]
    assert [DOCUMENTS[int(r["document"])][r["start"] : r["end"]] for r in rows] == [
        row["text"] for row in rows
    ]
    assert ["", True, True] == [row["stage"] and bool(row["reason"]) for row in rows]
