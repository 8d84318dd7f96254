"""Pages and passages that a caller has, as sources."""

import hashlib
import time

import pytest

from ragsieve.run.questions import lines, parse_json
from ragsieve.text import contains_answer
from ragsieve.trace import step
from ragsieve.types import Document, Example, Query, Segment
from ragsieve_research.retrieve.pages import Pages
from ragsieve_research.retrieve.passages import Passages

QUERY = Query("Who makes honey?")
HONEY = "<title>Hives</title><p>Bees make honey of nectar that they find in flowers.</p>"
WASPS = "<p>Wasps eat the honey of others, and their larvae eat meat.</p>"
ROADS = "<p>Roads lead to Rome.</p>"
NESTED = "<p>on top</p>" + "<div>" * 100_000 + "below"


def texts(segments):
    return [segment.text for segment in segments]


def asked(source, query=QUERY):
    """Results of a source, and its step in the trace."""
    with step("Pages") as record:
        found = source(query)
    return found, record


def test_pages_become_documents_that_name_their_page():
    """In the order given; the caller's title and metadata win; equal urls get other ids."""
    page = {"html": HONEY, "url": "https://bees.example/a", "last_modified": "2024", "text": "?"}
    found = Pages([page, {"html": WASPS, "title": "Wasps", "id": "w"}])(QUERY)
    documents = [segment.document for segment in found]

    assert ["https://bees.example/a", "w"] == [d.id for d in documents]
    assert ["Hives", "Wasps"] == [d.title for d in documents]
    assert ["https://bees.example/a", ""] == [d.source for d in documents]
    known = {"last_modified": "2024", "url": "https://bees.example/a", "place": 0}
    checksum = hashlib.sha256(HONEY.encode()).hexdigest()
    assert {**known, "sha256": checksum} == documents[0].metadata
    assert found == [Segment.whole(document) for document in documents]

    found = Pages([{"html": HONEY, "url": "u"}, {"html": WASPS, "url": "u"}])(QUERY)

    assert ["u", "u#2"] == [segment.document.id for segment in found]


ON_TOPIC = "it shares no word with the question but stop words"
LEFT = {  # pages, question, options; the places kept, and the note
    "empty": (
        ["<script>x()</script>", HONEY],
        *(QUERY, {}, [1], "page 0 is left out: it has no text"),
    ),
    "same words": (
        [HONEY, HONEY.upper().replace("P>", "DIV>")],
        *(QUERY, {}, [0], "page 1 is left out: it has the same words as page 0"),
    ),
    "off the topic": (
        ["<p>Who makes roads?</p>", ROADS],
        *(QUERY, {}, [0], f"page 1 is left out: {ON_TOPIC}"),
    ),
    "off the topic, last": (
        [ROADS, HONEY, WASPS],
        *(QUERY, {"off_topic": "last"}, [1, 2, 0], f"page 0 is put last: {ON_TOPIC}"),
    ),
}


@pytest.mark.parametrize("name", LEFT)
def test_pages_that_add_nothing_are_left_out_with_a_note(name):
    """Empty, repeated or off the topic; by a question's words, whatever tags and cases."""
    pages, query, options, places, text = LEFT[name]
    found, record = asked(Pages([{"html": page} for page in pages], **options), query)

    assert places == [segment.document.metadata["place"] for segment in found]
    assert [text] == record.notes


def test_a_page_left_out_is_noted_each_time():
    """A line for people, the same as values; pages are read once for all questions."""
    record = asked(Pages([{"html": "", "url": "u"}]))[1]

    assert ["page 0 (u) is left out: it has no text"] == record.notes
    assert [
        {"event": "page", "place": 0, "url": "u", "reason": "left out: it has no text"}
    ] == record.events

    source = Pages([{"html": ""}, {"html": HONEY}, {"html": ROADS}])
    first = asked(source)[1].notes
    again, record = asked(source, Query("Where do roads lead?"))

    assert ["Roads lead to Rome."] == texts(again)
    assert first[0] == record.notes[0]
    assert asked(source)[1].notes == first


def test_pages_may_be_read_before_a_question():
    """Those that cannot be have their note with the question, which waits for none of them."""
    source = Pages([{"html": "<p>" + "a & " * 1_000_000}, {"html": HONEY}], timeout_s=0.5)
    source.read()
    began = time.monotonic()
    found, record = asked(source)

    assert time.monotonic() - began < 0.4
    assert (1, 1) == (len(found), len(record.notes))


@pytest.mark.parametrize(
    ("pages", "question", "count"),
    [
        ((HONEY, ROADS), "What is a flower, a road?", 2),  # a plural is its singular
        ((HONEY, ROADS), "Which hives?", 1),
        ((HONEY, "<title>Honey roads</title>" + ROADS), QUERY.text, 2),
        *(  # all would be off the topic: another language, or stop words only
            ((HONEY, ROADS), question, 2)
            for question in ("Who is it?", "Quanto costa il miele?", "蜂蜜是谁做的？", "?!")
        ),
        *(  # signs of figures are words, however short the page
            ([f"<p>Honey sells at {sign} a year" for sign in signs], QUERY.text, count)
            for count, *signs in ((2, "10%", "10$"), (3, "-5", "5", "–5"), (2, "<10", ">10"))
        ),
        ([f"<p>Honey sells at {sign} a year" for sign in ("10 %.", "(10%)")], QUERY.text, 1),
    ],
)
def test_pages_are_compared_by_their_words(pages, question, count):
    """With the question and with each other, titles among them."""
    found, record = asked(Pages([{"html": page} for page in pages]), Query(question))

    assert (count, len(pages) - count) == (len(found), len(record.notes))


def test_bombs_are_left_out_and_the_others_stay():
    """Each is one line, in a bounded time."""
    slow = "<p>" + "a & " * 1_000_000
    pages = [{"html": h} for h in (NESTED, HONEY, slow, WASPS)]
    began = time.monotonic()
    found, record = asked(Pages(pages, timeout_s=1))
    took = time.monotonic() - began

    assert [1, 3] == [s.document.metadata["place"] for s in found]
    assert [0, 2] == [event["place"] for event in record.events]
    assert "depth limit" in record.notes[0]
    assert record.notes[1].endswith("it takes over 1 s")
    assert took < 10


def test_hostile_pages_are_only_text():
    """Lone surrogates, control characters, metadata of any kind."""
    pages = [
        {"html": "<p>honey \ud800\x1b[0m\u202e &#0;", "url": "\ud800\x1b" * 300, "title": "\x07"}
    ]
    found, _ = asked(Pages(pages))

    assert "honey \ufffd\ufffd[0m\ufffd \ufffd" == found[0].text
    assert "\ufffd" == found[0].document.title


@pytest.mark.slow
@pytest.mark.data
def test_real_pages_lose_menus_and_keep_what_they_say(data):
    """Each question's pages: pages given twice come once, gold answers stay, under half is left."""
    path = data / "crag.jsonl.gz"
    records = [parse_json(line) for _, line in lines(path)]
    for record in records:
        pages = [page for page in record["documents"] if "html" in page]
        found, _ = asked(Pages([*pages, pages[0]], off_topic="last"), Query(record["question"]))
        read = {s.document.metadata["place"]: s.text for s in found}
        gold = [answer for answer in record["answers"] if answer != "yes"]  # a button's word
        left = [p for p, page in enumerate(pages) if contains_answer(page["text"], gold)]

        assert len(pages) == len(read)
        assert [] == [p for p in left if not contains_answer(read[p], gold)]
        assert 2 * sum(map(len, read.values())) < sum(len(page["html"]) for page in pages)


BEES = Example(
    Query("Who makes honey?"),
    (
        Document("1", "Bees make honey.", source="news"),
        Document("2", "Honey is sweet.", source="wiki"),
    ),
)


def found(source, question):
    return [segment.document.id for segment in source(Query(question))]


def test_a_question_finds_its_own_documents():
    """Whole, in their order, of one source where asked; equal ids get names of their own."""
    source = Passages([BEES, Example(Query("Who sang?"), (Document("3", "Seals sang."),))])

    assert ["1", "2"] == found(source, "Who makes honey?")
    assert ["3"] == found(source, "Who sang?")
    assert [] == found(source, "Who asked?")

    assert ["2"] == found(Passages([BEES], only="wiki"), "Who makes honey?")
    assert [] == found(Passages([BEES], only="web"), "Who makes honey?")

    twice = Example(Query("q"), (Document("1", "one"), Document("1", "two")))

    assert ["1", "1#2"] == found(Passages([twice]), "q")


def test_pages_are_read_as_markdown():
    """Of the HTML in a document's metadata; where there is none, its text is the page."""
    html = "<html><body><h1>Honey</h1><p>Bees make honey.</p></body></html>"
    page = Document("p", "menu Honey Bees make honey.", metadata={"html": html, "url": "https://x"})
    text = Document("t", html.replace("Bees make", "Bees and wasps make much"))
    source = Passages([Example(Query("Who makes honey?"), (page, text))], html=True)
    first, second = source(Query("Who makes honey?"))

    assert ("# Honey", "https://x") == (first.text.splitlines()[0], first.document.source)
    assert "Bees and wasps" in second.text
