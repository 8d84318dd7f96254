"""Kinds of sources by name."""

import pytest

from ragsieve.errors import InputError
from ragsieve.schema import Count, Schema
from ragsieve.sources import SOURCES, named_source


class Notes(Schema, frozen=True, kw_only=True):
    """A kind of source, complete."""

    place: str
    k: Count = 20

    def check(self):
        """Nothing to check."""

    def identity(self):
        """Nothing that results depend on."""
        return {}

    about = identity

    def open(self, *_):
        """Not opened here."""


class Bare(Schema, frozen=True, kw_only=True):
    """A schema without the methods."""

    place: str


@pytest.mark.parametrize(
    ("kind", "options", "error"),
    [
        (Notes, {"kk": 1}, "source mine.kk is not known; known are place, k"),
        (Notes, {"k": "x"}, "source mine.k must be a whole number, got 'x'"),
        (Bare, {}, "source kind mine must be a ragsieve.schema.Schema with check, .*, got Bare"),
    ],
)
def test_a_kind_is_held_to_its_form(kind, options, error, monkeypatch):
    """One line says what is wrong with a kind, an option or its value."""
    monkeypatch.setattr(SOURCES, "find", lambda name: kind)

    with pytest.raises(InputError, match=error):
        named_source("mine:place", options)
