"""Options read off a signature and its docstring."""

from dataclasses import dataclass

from ragsieve.cli.signature import options_of


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
