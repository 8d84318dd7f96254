"""Headings in metadata, as splitters put them there, name passages."""

import pytest

import ragsieve
from ragsieve import Document
from ragsieve.documents import as_documents

PRICES = {"Free plan": "nothing", "Student plan": "4 euros", "Team plan": "12 euros"}
DOCLING = {"schema_name": "docling_core.Meta", "origin": {"mimetype": "application/pdf"}}


@pytest.mark.parametrize(
    ("metadata", "title"),
    [
        ({"Header 1": "Plans", "Header 2": "{}"}, "Plans > {}"),
        ({"header_path": "/Plans/{}/", "file_path": "/home/plans.md"}, "Plans > {}"),
        ({"parent_headers": ["Plans"], "header": "{}", "source_id": "8dc2d5a64"}, "{}"),
        ({"dl_meta": {**DOCLING, "headings": ["Prices", "{}"]}}, "Prices > {}"),
        ({"heading_context": {"headings": [{"level": 1, "text": "{}"}]}, "index": 1}, "{}"),
        ({"section": "{}", "language": "en", "author": "Mina Rask"}, "{}"),
        ({"category": "NarrativeText", "producer": "pdfTeX-1.40.25"}, ""),
        ({"summary": "What the {} has."}, ""),
    ],
)
def test_what_differs_between_sections_names_them(metadata, title):
    """It is found by what it says, and not by its key; the question's section then stays."""
    documents = [
        {"text": f"It costs {price} a month.", "source": "plans.md", "metadata": named(metadata, n)}
        for n, price in PRICES.items()
    ]
    titles = [document.title for document in as_documents(documents)]
    system = ragsieve.load("finefilter").with_budget(16)

    assert [title.format(name) for name in PRICES] == titles
    if title:
        kept = {n: system(f"What does the {n} cost?", documents).text for n in PRICES}
        assert all(price in kept[name] for name, price in PRICES.items())


def named(metadata, name):
    """Metadata with a name in its place."""
    if isinstance(metadata, dict):
        return {key: named(value, name) for key, value in metadata.items()}
    if isinstance(metadata, list):
        return [named(value, name) for value in metadata]
    return metadata.format(name) if isinstance(metadata, str) else metadata


def test_a_name_is_said_once():
    """Neither what the title says nor what the text begins with; one text of its kind has none."""
    texts = ["## Prices\n\nIt is free.", "It rains.", "Ask us."]
    sections = ["Prices", "Weather", "Help"]
    documents = [
        Document(str(n), text, "Help", "a.md", metadata={"section": section, "author": "Mina Rask"})
        for n, (text, section) in enumerate(zip(texts, sections, strict=True))
    ]

    assert ["Help", "Help > Weather", "Help"] == [d.title for d in as_documents(documents)]
    assert [""] == [d.title for d in as_documents([{"text": "It rains.", "section": "Weather"}])]
