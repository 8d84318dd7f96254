"""Declared schemas, and the line that says what breaks one."""

from collections.abc import Mapping
from typing import Literal

import pytest

from ragsieve.errors import InputError
from ragsieve.schema import Count, Probability, Schema, read, read_format
from ragsieve.spec import SystemSpec


class Leaf(Schema, kw_only=True):
    n: Count = 1
    p: Probability = 0.5
    kind: Literal["a", "b"] | None = None
    words: Mapping[str, str] = {}
    sizes: Mapping[str, float] = {}

    def __post_init__(self):
        if self.n == 13:
            raise InputError(f"n must not be 13, got {self.n!r}")


class Tree(Schema, kw_only=True):
    name: str
    leaf: Leaf | None = None
    leaves: tuple[Leaf, ...] = ()


@pytest.mark.parametrize(
    ("values", "line"),
    [
        (3, "must be an object, got 3"),
        ({}, "name is missing"),
        ({"name": 3}, "name must be a string, got 3"),
        ({"name": "x", "more": 1}, "more is not known; known are name, leaf, leaves"),
        ({"name": "x", "m\n - at `$.y`": 1}, "m  - at `$.y` is not known; known are name"),
        ({"name": "x", "leaf": []}, "leaf must be an object or null, got []"),
        ({"name": "x", "leaf": {"n": 13}}, "leaf.n must not be 13, got 13"),
        ({"name": "x", "leaf": {"n": 2**31}}, "leaf.n must be a whole number <= 2147483647, got 2"),
        ({"name": "x", "leaf": {"n": True}}, "leaf.n must be a whole number, got True"),
        ({"name": "x", "leaf": {"p": float("nan")}}, "leaf.p must be in [0, 1], got nan"),
        ({"name": "x", "leaf": {"p": 10**400}}, "leaf.p must be in [0, 1], got 1"),
        ({"name": "x", "leaf": {"kind": "c"}}, "leaf.kind must be one of a, b, got 'c'"),
        ({"name": "x", "leaf": {"words": {"a": 1}}}, "each value of leaf.words must be a string"),
        ({"name": "x", "leaf": {"sizes": {"a": ""}}}, "each value of leaf.sizes must be a number"),
        ({"name": "x", "leaves": {}}, "leaves must be a list, got {}"),
        ({"name": "x", "leaves": [{}, {"n": 0}]}, "leaves[1].n must be a whole number >= 1, got 0"),
        ({"name": "x", "leaves": [{"y": 1}]}, "leaves[0].y is not known; known are n, p, kind"),
    ],
)
def test_one_line_names_field_rule_and_value(values, line):
    """Whatever is wrong, and however deep."""
    with pytest.raises(InputError) as raised:
        read(Tree, values)

    assert str(raised.value).startswith(line)
    assert "\n" not in str(raised.value) and len(str(raised.value)) < 200


def test_a_format_is_a_whole_number():
    """And no field of the schema."""
    assert Tree(name="x") == read_format(Tree, {"name": "x", "format": 1}, 1)
    for wrong in (None, [], "x", 1, {}, *({"name": "x", "format": n} for n in (True, 1.0, 2))):
        with pytest.raises(InputError, match="format must be 1"):
            read_format(Tree, wrong, 1)


def test_a_run_goes_on_with_other_keys_and_waits():
    """They change nothing of what a model says."""
    url = {"base_url": "http://127.0.0.1:1/v1"}
    waits = {"timeout_s": 5, "total_s": 9, "max_retries": 0, "concurrency": 2, "api_key": "k"}
    one = SystemSpec(llm="openai:m", llm_options=url)
    other = SystemSpec(llm="openai:m", llm_options=url | waits, model_options={"openai:n": waits})

    assert one.identity == other.identity != SystemSpec(llm="openai:m").identity
