"""An OpenAPI document as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from ragsieve.errors import InputError
from ragsieve.retrieve.apis.entities import Rules
from ragsieve.retrieve.apis.openapi import described
from ragsieve.retrieve.records import Records
from ragsieve.types import Query

PATHS: dict[str, Any] = {
    "/weather/{city}": {
        "parameters": [{"$ref": "#/components/parameters/City"}],
        "get": {
            "summary": "Get the weather of a city",
            "parameters": [
                {"name": "day", "in": "query", "schema": {"type": "string", "format": "date"}},
                {"name": "unit", "in": "query", "schema": {"enum": ["celsius", "kelvin"]}},
                {"name": "lang", "in": "query", "schema": {"type": "string"}},
            ],
        },
        "delete": {"summary": "Forget the weather"},
    },
    "/order": {
        "get": {
            "tags": ["orders"],
            "parameters": [
                {"name": "orderId", "in": "query", "required": True, "schema": {"type": "integer"}}
            ],
        }
    },
    "/secret": {"get": {"parameters": [{"name": "key", "in": "header", "required": True}]}},
    "/lookup": {
        "post": {
            "summary": "Look up a film",
            "requestBody": {
                "required": True,
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Film"}}},
            },
        }
    },
}
DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "town", "description": "A town."},
    "paths": PATHS,
    "components": {
        "parameters": {
            "City": {"name": "city", "in": "path", "required": True, "schema": {"type": "string"}}
        },
        "schemas": {
            "Film": {
                "required": ["title"],
                "properties": {
                    "title": {"anyOf": [{"type": "null"}, {"type": "string"}]},
                    "year": {"type": "integer"},
                    "limit": {"type": "object"},
                },
            }
        },
    },
}


class Town:
    """Keeps what it is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, Mapping[str, Any]]] = []

    def get_json(self, path: str, params: Mapping[str, Any], /) -> Any:
        self.asked.append(("GET", path, params))
        return {"weather": {"sky": "grey"}}

    def post_json(self, path: str, body: Mapping[str, Any], /) -> Any:
        self.asked.append(("POST", path, body))
        return {"film": "Rain"}


def asked(question: str, methods: tuple[str, ...] = ("GET",)) -> list[Any]:
    town = Town()
    Records(described(DOCUMENT, methods=methods), town, entities=Rules())(Query(question))  # type: ignore[arg-type]
    return town.asked


def test_endpoints_that_only_read_become_the_table() -> None:
    """What needs a header is left out, and what posts or deletes unless it is asked for."""
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
def test_arguments_come_from_the_question(question: str, calls: list[Any]) -> None:
    """Dates, listed values and numbers are arguments of their kind; names fill the others."""
    assert calls == asked(question)


def test_bodies_are_posted_where_posting_is_allowed() -> None:
    """Their fields are arguments; those that no question gives are left out if they may be."""
    assert [("POST", "/lookup", {"title": "Rain", "year": 1998})] == asked(
        "Which film is 'Rain' of 1998?", ("POST",)
    )


def test_answers_are_told_by_rules() -> None:
    """There is no template."""
    (segment,) = Records(described(DOCUMENT), Town(), entities=Rules())(Query("Weather in Leeds?"))

    assert "The weather sky of Leeds is grey." == segment.text


@pytest.mark.parametrize("document", [{}, {"paths": []}, [], {"paths": {"/a": None, "/b": []}}])
def test_what_is_no_document_is_refused(document: Any) -> None:
    """The error says what is missing."""
    with pytest.raises(InputError, match="document must"):
        described(document)


@pytest.mark.parametrize("required", [True, 5, "q", {"q": 1}, None])
def test_required_fields_must_be_a_list(required: Any) -> None:
    """Else none is."""
    schema = {"required": required, "properties": {"q": {"type": "string"}, "x": {}}}
    content = {"application/json": {"schema": schema}}
    post = {"summary": "prices", "requestBody": {"content": content}}
    api = described({"paths": {"/a": {"post": post}}}, methods=("POST",))

    assert ["q"] == [*api.endpoints[0].takes]


def test_references_in_a_circle_end() -> None:
    """They resolve to nothing."""
    circle = {"components": {"parameters": {"A": {"$ref": "#/components/parameters/A"}}}}
    paths = {"/a": {"get": {"parameters": [{"$ref": "#/components/parameters/A"}]}}}

    assert {} == dict(described({**circle, "paths": paths}).endpoints[0].takes)
