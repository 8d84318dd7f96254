"""JSON to sentences."""

import json
import math

import pytest

from ragsieve.errors import InputError
from ragsieve_research.retrieve.apis.sentences import (
    bounded,
    fact,
    figure,
    plain,
    render,
    rows,
    sentences,
)
from tests.timing import is_linear


def nested(depth):
    value = "deep"
    for _ in range(depth):
        value = {"a": [value]}
    return value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1239354590603.2158, "1,239,354,590,603.22"),
        (22.95, "22.95"),
        (0, "0"),
        (1998, "1998"),
        (73601, "73,601"),
        (True, "yes"),
        (None, ""),
        (math.nan, ""),
        ("[[Mayor of X|Mayor]]<ref>a book</ref> {{Flag|Spain}}", "Mayor Spain"),
    ],
)
def test_values_are_written_as_people_write_them(value, text):
    """Large numbers in groups, years not; no wiki markup; nothing where there is nothing."""
    assert text == figure(value)


def test_json_becomes_sentences_by_its_keys():
    """Keys stand before a value, records of a list go by their place, nulls are left out."""
    record = {"homeTown": "Leeds", "cast": [{"name": "Ann"}, {"name": "Bo"}], "end": None, "n": [1]}

    cast = "The cast 1 name of Film is Ann. The cast 2 name of Film is Bo."
    told = f"The home Town of Film is Leeds. {cast} The n of Film is 1."
    assert told == sentences(record, "Film")
    assert "The answer is 5." == sentences(5)
    assert "" == sentences({"a": [None, {}]})


@pytest.mark.parametrize(
    "value",
    [
        *(nested(1000), [[[[]]]], {"a": math.nan, "b": -math.inf, "c": 10**5000, "d": 1e308}),
        *({str(n): n for n in range(200_000)}, ["\ud800\x00\u202e", {"": ""}, {1: object()}]),
        *("x" * 10_000_000, None),
    ],
)
def test_any_json_is_bounded_and_told(value):
    """It is plain JSON of a bounded size then, without control characters."""
    kept = bounded(value)
    text = sentences(kept) + json.dumps(kept, allow_nan=False)

    assert len(text) < 10_000_000
    assert not set("\ud800\x00\u202e") & set(text)


@pytest.mark.parametrize(
    "template",
    [
        *("{{ reply['title'] }}", "{% for r in reply %}{{ r['title'] }}{% endfor %}"),
        *("{{ reply + 1 }}", "{{ reply['a']['b'] }}", "{{ ''.__class__.__mro__ }}"),
        *("{{ reply.keys()|sort|first }}", "{{ 'x' * 10 ** 20 }}"),
    ],
)
@pytest.mark.parametrize("reply", [None, [], [None], {}, 5, "text", {"a": None}])
def test_a_reply_of_another_shape_is_an_input_error_at_most(template, reply):
    """A template over what it was not written for tells something, or fails by one error."""
    try:
        text = render(template, {"reply": reply})
    except InputError as error:
        text = str(error)

    assert "<built-in" not in text and "<class 'object'>" not in text


def test_values_are_never_read_as_templates():
    """What a record says is data."""
    hostile = "{{ 7 * 7 }} {% for x in reply %} <b>\n\n"

    assert hostile.strip() + "." == render("{{ reply['a'] }}.", {"reply": {"a": hostile.strip()}})
    assert "It is {% if %}." == fact({"a": "{% if %}"}, "a", "It is {}.")


def test_facts_that_are_not_there_say_nothing():
    """No key, no value, no record: no sentence."""
    assert ["", "", "", ""] == [
        fact(record, "a", "It is {}.") for record in ({}, {"a": None}, [], {"a": {"b": 1}})
    ]
    assert "They are x, y." == fact({"a": ["x", None, {"name": "y"}]}, "a", "They are {}.")


def test_tables_by_columns_become_rows():
    """Each row keeps its name; what is no table has no rows."""
    assert [{"_row": "0", "a": 1, "b": 2}, {"_row": "1", "a": 3}] == rows(
        {"a": {"0": 1, "1": 3}, "b": {"0": 2}, "c": None}
    )
    assert [] == rows("table")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a<ref>b</ref>c<ref name='x'/>d<br>e", "a c d e"),
        ("a<ref>b<ref>c</ref>d</ref>e", "a d e"),
        ("a<ref>b", "a b"),
        ("<!-- a --> [[b", "[[b"),
    ],
)
def test_references_go_with_what_they_say(text, left):
    """One that is never closed leaves its words."""
    assert left == plain(text)


@pytest.mark.parametrize("piece", ["<ref ", "<ref>", "[[a|", "{{a|", "<", "</ref><ref>"])
def test_markup_is_stripped_in_linear_time(piece):
    """However much of it is left open."""
    assert is_linear(lambda size: plain(piece * (size // 4)))
