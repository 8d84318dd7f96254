"""Documents as people have them: strings, mappings, and those of other frameworks."""

from dataclasses import replace

import pytest

from ragsieve.documents import as_documents, from_json
from ragsieve.errors import InputError
from ragsieve.run.questions import as_example
from ragsieve.types import Document


@pytest.mark.parametrize("key", ["text", "page_content", "content", "snippet", "contents", "body"])
def test_a_mapping_has_its_text_under_a_usual_key(key):
    """The text is not in the metadata as well; other keys are."""
    (document,) = as_documents([{"id": "d", key: "It rained.", "title": "Rain", "page": 3}])

    assert ("d", "It rained.", "Rain") == (document.id, document.text, document.title)
    assert {"page": 3} == document.metadata


REPLY = {"status": "ok", "results": [{"name": "Bees"}], "title": "R"}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("It rained.", ("0", "", "It rained.")),
        ({"id": 7, "title": "Rain", "body": "It rained."}, ("7", "Rain", "It rained.")),
        ({"text": None, "content": {"html": "x"}, "snippet": "It."}, ("0", "", "It.")),
        ({"text": "", "body": "It."}, ("0", "", "It.")),
        ({"text": "It.", "title": 1984, "metadata": [1]}, ("0", "1984", "It.")),
        ({"id": "a", "data": {"id": "b", "text": "It."}}, ("a", "", "It.")),
        ({"data": {"id": "b", "text": "It."}}, ("b", "", "It.")),
        (
            {"id": "INC-1", "open": True, "by": None},
            ("INC-1", "", "id: INC-1\nopen: true\nby: null"),
        ),
        ({"title": "Rain", "mm": 2.5}, ("0", "Rain", "mm: 2.5")),
        ({"id": "e", "text": None, "metadata": {"page": 3}}, ("e", "", "")),
        ({"body": None, "mm": 2.5}, ("0", "", "body: null\nmm: 2.5")),
        (REPLY, ("0", "R", '{"status": "ok", "results": [{"name": "Bees"}], "title": "R"}')),
        (
            {"data": [{"name": "Bäche"}], "next": 2},
            ("0", "", '{"data": [{"name": "Bäche"}], "next": 2}'),
        ),
        ([1, [2]], ("0", "", "[1, [2]]")),
        ({}, ("0", "", "{}")),
        (None, ("0", "", "null")),
        (1.5, ("0", "", "1.5")),
    ],
)
def test_any_json_is_a_document(value, expected):
    """By its text, else a line a field, else as JSON: nothing of a reply is lost."""
    (document,) = as_documents([from_json(value)])

    assert expected == (document.id, document.title, document.text)


@pytest.mark.parametrize("missing", ["nan", "NA", "NaT"])
def test_what_a_data_frame_has_no_value_for_is_null(missing):
    """In its rows, as in a column of texts; the frame itself is no list of documents."""
    pandas = pytest.importorskip("pandas")
    value = getattr(pandas, missing, float("nan"))
    row = {"id": value, "text": value, "content": "It.", "title": value, "url": value}

    assert (Document("0", "It."), Document("1", "")) == tuple(
        replace(one, rank=0, metadata={}) for one in as_documents([row, value])
    )
    with pytest.raises(InputError, match="must be a list, got a DataFrame: pass its rows"):
        as_documents(pandas.DataFrame([row]))


def nested(depth):
    value = 1
    for _ in range(depth):
        value = {"a": [value]}
    return value


@pytest.mark.parametrize(
    "document",
    [
        {"text": "a", "id": 10**5000},
        {"text": "a", "title": -(10**5000)},
        {"text": "a", "metadata": {"n": [10**5000]}},
        {"text": "a", "metadata": nested(2500)},
        {"text": "a", "more": nested(2500)},
        nested(2500),
        [nested(2500)],
    ],
)
def test_values_that_no_json_can_hold_are_refused(document):
    """In one line, where they come in: an id of 5,000 digits, values 5,000 deep."""
    rule = "must (nest at most 100 deep|have no number of over 300 digits)$"
    with pytest.raises(InputError, match=rf"^the document at place 1 {rule}"):
        as_documents(["b", document])
    with pytest.raises(InputError, match=rule):
        as_example({"question": "Who?", "documents": ["b"], "answers": [document]})

    many = 1
    for _ in range(90):
        many = [many, many]  # 2^90 of them

    assert as_documents([{"text": "a", "metadata": nested(40), "more": many}])


def test_a_reply_stays_as_it_stands():
    """Its own spaces and numbers; one that nests too deep is an error of ours."""
    assert '{ "a": [1.10] }' == from_json({"a": [1.1]}, '{ "a": [1.10] }')["text"]

    value = []
    for _ in range(100_000):
        value = [value]

    with pytest.raises(InputError, match="must not nest so deep"):
        from_json({"a": value})
