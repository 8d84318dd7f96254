"""Sentence ends that sentencex does not find or finds too many of: a table, a bar at each end."""

from pathlib import Path

import pytest

from ragsieve.text import sentence_spans

TABLE = Path(__file__).with_name("boundaries.tsv").read_text(encoding="utf-8")
CASES = [line.split("\t") for line in TABLE.splitlines()]


@pytest.mark.parametrize(("language", "marked"), CASES)
def test_sentences_end_where_a_reader_ends_them(language, marked):
    """Abbreviations, citations, addresses, brackets, apostrophes, quotations."""
    text = marked.replace("|", " " if language != "zh" else "")
    spans = sentence_spans(text, language=language)

    assert marked.split("|") == [text[start:end] for start, end in spans]
