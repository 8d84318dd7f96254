"""An OpenAPI document as a table."""

import json
from pathlib import Path

import pytest

from ragsieve.types import Query
from ragsieve_research.retrieve.apis.entities import Rules
from ragsieve_research.retrieve.apis.openapi import described
from ragsieve_research.retrieve.records import Records

DOCUMENT = json.loads(Path(__file__).with_name("town.json").read_bytes())


class Town:
    """Keeps what it is asked."""

    def __init__(self):
        self.asked = []

    def get_json(self, path, params, /):
        self.asked.append(("GET", path, params))
        return {"weather": {"sky": "grey"}}

    def post_json(self, path, body, /):
        raise AssertionError(path)


def asked(question):
    town = Town()
    Records(described(DOCUMENT), town, entities=Rules())(Query(question))
    return town.asked


def test_endpoints_that_only_read_become_the_table():
    """What needs a header is left out, and what posts or deletes."""
    api = described(DOCUMENT)

    assert ["GET /weather/{city}", "GET /order"] == [endpoint.name for endpoint in api.endpoints]
    assert ("weather", "city") == api.endpoints[0].about
    assert ("town", "A town.") == (api.name, api.description)


@pytest.mark.parametrize(
    ("question", "calls"),
    [
        ("How is the weather in Leeds?", [("GET", "/weather/Leeds", {})]),
        (
            "How was the weather in Leeds on 2024-03-09 in kelvin?",
            [("GET", "/weather/Leeds", {"day": "2024-03-09", "unit": "kelvin"})],
        ),
        ("Where is my order? The order id 77", [("GET", "/order", {"orderId": 77})]),
        ("Where is my order?", []),
        ("Who lives in Leeds?", []),
    ],
)
def test_arguments_come_from_the_question(question, calls):
    """Dates, listed values and numbers are arguments of their kind; names fill the others."""
    assert calls == asked(question)


def test_answers_are_told_by_rules():
    """There is no template."""
    (segment,) = Records(described(DOCUMENT), Town(), entities=Rules())(Query("Weather in Leeds?"))

    assert "The weather sky of Leeds is grey." == segment.text


@pytest.mark.parametrize("kind", ["anyOf", "oneOf"])
def test_a_parameter_that_may_be_null_is_one_of_its_other_kind(kind):
    """As FastAPI writes optional ones: a year is taken from the question, and no name is."""
    schema = {kind: [{"type": "integer"}, {"type": "null"}]}
    get = {"summary": "films", "parameters": [{"name": "year", "in": "query", "schema": schema}]}
    town = Town()
    Records(described({"paths": {"/films": {"get": get}}}), town, entities=Rules())(
        Query("Which films were shown in 1998?")
    )

    assert [("GET", "/films", {"year": 1998})] == town.asked


def test_references_in_a_circle_end():
    """They resolve to nothing."""
    circle = {"components": {"parameters": {"A": {"$ref": "#/components/parameters/A"}}}}
    paths = {"/a": {"get": {"parameters": [{"$ref": "#/components/parameters/A"}]}}}

    assert {} == dict(described({**circle, "paths": paths}).endpoints[0].takes)
