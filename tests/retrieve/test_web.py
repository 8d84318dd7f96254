"""HTML pages to documents."""

from __future__ import annotations

import pytest

from ragsieve.errors import InputError
from ragsieve.retrieve.web import page_text


def test_a_page_is_its_title_and_what_a_reader_reads() -> None:
    """Entities are characters; a script is not read."""
    page = """<!doctype html><title>Bees &amp; co</title>
    <script>steal()</script><style>p {}</style>
    <p>Bees make <b>honey</b>.</p><ul><li>wax<li>comb</ul>"""
    title, text = page_text(page)

    assert "Bees & co" == title
    assert "Bees make honey.\n\n- wax\n- comb" == text


@pytest.mark.parametrize("page", ["", " ", "<img src=bee.png>", "<script>x()</script>"])
def test_a_page_may_have_no_text(page: str) -> None:
    """As a text file may be empty."""
    assert ("", "") == page_text(page)


@pytest.mark.parametrize("page", ["Bees < wasps", "<p>Bees < wasps", "Bees < wasps</p></b>"])
def test_loose_html_is_read_as_browsers_do(page: str) -> None:
    """Tags may be missing."""
    assert ("", "Bees < wasps") == page_text(page)


def test_characters_that_are_none_are_replaced() -> None:
    """Half a character, and an escape."""
    assert ("", "a\ufffd b\ufffd[31m") == page_text("<p>a\ud800 b\x1b[31m</p>")


def test_text_is_not_lost_in_silence() -> None:
    """A page that nests deeper than the parser goes is refused, whatever else it says."""
    with pytest.raises(InputError, match=r"deep\.html must be .* depth limit"):
        page_text("<p>on top</p>" + "<div>" * 5000 + "below", name="deep.html")
