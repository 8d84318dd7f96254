"""Options read off a signature and its docstring."""

from dataclasses import dataclass
from typing import Annotated

import click
import pytest
from msgspec import Meta

from ragsieve.cli.signature import click_type, options_of


def test_help_is_that_of_the_docstring(ragsieve):
    """Without its markup, and without the sections below the arguments."""
    text = " ".join(ragsieve("train", "generator", "--help").out.split())

    assert "relevant: the first that were retrieved for it; irrelevant: the first of" in text
    assert "and a fifth of that to choose by; all by default." in text
    assert "[default: relevant]" in text
    assert "Raises" not in text


def test_a_field_of_a_base_has_the_text_of_the_base():
    """Unless the class says it in words of its own."""

    @dataclass
    class Base:
        """Options.

        Args:
            a: Of the base.
            b: Of the base, too.
        """

        a: int = 1
        b: int = 2

    @dataclass
    class More(Base):
        """More options.

        Args:
            b: Of its own.
        """

    assert ["Of the base.", "Of its own."] == [option.help for option in options_of(More)]


@pytest.mark.parametrize(
    "hint",
    [
        Annotated[int, Meta(ge=1, le=5)],
        Annotated[int | None, Meta(ge=1, le=5)],
        Annotated[int, Meta(ge=1, le=5)] | None,
    ],
)
def test_a_range_holds_beside_none(hint):
    """Wherever None stands, a value outside of the range is refused before anything uses it."""
    with pytest.raises(click.BadParameter, match="1<=x<=5"):
        click_type(hint).convert("6", None, None)


def test_a_port_that_cannot_be_is_named(ragsieve):
    assert "--port" in ragsieve("doctor", "--port", "99999").err
