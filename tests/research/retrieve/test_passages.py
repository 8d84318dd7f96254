"""What was found before, question by question."""

from ragsieve.types import Document, Example, Query
from ragsieve_research.retrieve.passages import Passages

BEES = Example(
    Query("Who makes honey?"),
    (
        Document("1", "Bees make honey.", source="news"),
        Document("2", "Honey is sweet.", source="wiki"),
    ),
)


def found(source: Passages, question: str) -> list[str]:
    return [segment.document.id for segment in source(Query(question))]


def test_a_question_finds_its_own_documents() -> None:
    """Whole, in their order; another question finds none."""
    source = Passages([BEES, Example(Query("Who sang?"), (Document("3", "Seals sang."),))])

    assert ["1", "2"] == found(source, "Who makes honey?")
    assert ["3"] == found(source, "Who sang?")
    assert [] == found(source, "Who asked?")


def test_only_documents_of_one_source() -> None:
    """Where two sources were asked for each question, each is one by itself."""
    assert ["2"] == found(Passages([BEES], only="wiki"), "Who makes honey?")
    assert [] == found(Passages([BEES], only="web"), "Who makes honey?")


def test_equal_ids_get_names_of_their_own() -> None:
    """As documents that a caller passes do."""
    twice = Example(Query("q"), (Document("1", "one"), Document("1", "two")))

    assert ["1", "1#2"] == found(Passages([twice]), "q")


def test_pages_are_read_as_markdown() -> None:
    """Of the HTML in a document's metadata; where there is none, its text is the page."""
    html = "<html><body><h1>Honey</h1><p>Bees make honey.</p></body></html>"
    page = Document("p", "menu Honey Bees make honey.", metadata={"html": html, "url": "https://x"})
    text = Document("t", html.replace("Bees make", "Bees and wasps make much"))
    source = Passages([Example(Query("Who makes honey?"), (page, text))], html=True)
    first, second = source(Query("Who makes honey?"))

    assert ("# Honey", "https://x") == (first.text.splitlines()[0], first.document.source)
    assert "Bees and wasps" in second.text
