"""Options read off a signature and its docstring."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import click
from click.testing import CliRunner

from ragsieve.cli.signature import argument_texts, command, from_options, options_of


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What is trained.

    Args:
        llm: The model that is tuned; needed.
        form: ``"light"``: regressions,
            or ``"deep"``.
        limit: So many questions; all where None.
        share: In (0, 1].
        names: Of parts.
        merged: Whether one model is written.

    Raises:
        InputError: Never.
    """

    llm: str
    form: Literal["light", "deep"] = "light"
    limit: int | None = None
    share: Annotated[float, click.FloatRange(0, 1)] = 0.5
    names: tuple[str, ...] = ()
    merged: bool = False


def run(*arguments: str) -> tuple[int, str]:
    """Exit code and output of a command that prints the recipe."""

    def callback(**options: object) -> None:
        click.echo(repr(from_options(Recipe, options)) + repr(options))

    changes = {"names": {"flags": ["--name"]}}
    own: list[click.Parameter] = [click.Option(["--more"], default=1)]
    options = options_of(Recipe, changes=changes)
    command = click.Command("train", callback=callback, params=[*options, *own])
    result = CliRunner().invoke(command, arguments, terminal_width=200)
    return result.exit_code, result.output


def test_arguments_are_those_of_the_signature() -> None:
    """Types, defaults and repetition; options of the command itself are left to it."""
    code, out = run("--llm", "m", "--limit", "3", "--name", "a", "--name", "b", "--merged")

    expected = Recipe(llm="m", limit=3, names=("a", "b"), merged=True)
    assert (0, repr(expected) + "{'more': 1}\n") == (code, out)


def test_help_is_that_of_the_docstring() -> None:
    """Without its markup, and without the sections below the arguments."""
    code, out = run("--help")

    assert 0 == code
    assert "light: regressions, or deep.  [default: light]" in out
    assert "So many questions; all by default." in out
    assert "Raises" not in out


def test_parameters_may_be_left_out_and_prefixed() -> None:
    """So that two signatures with one name in common make one command."""
    options = options_of(Recipe, skip={"llm", "form", "names"}, prefix="of_")

    assert ["--of-limit", "--of-share", "--of-merged"] == [o.opts[0] for o in options]
    assert {} == argument_texts("A line.") == argument_texts(None)


def test_a_function_is_a_command() -> None:
    """Its keywords are options, the others arguments; annotations may change their flags."""

    @command("shows", params=[click.Option(["--more"])])
    def shows(
        file: str,
        names: Annotated[tuple[str, ...], {"metavar": "NAME..."}] = (),
        *,
        as_json: Annotated[bool, {"flags": ["--json"]}] = False,
        at: Annotated[tuple[int, ...], click.IntRange(1)] = (5,),
        **others: object,
    ) -> None:
        """Show a file.

        Args:
            as_json: As JSON.
            at: Places.
        """
        click.echo(repr((file, names, as_json, at, others)))

    runs = [["a"], ["a", "b", "c", "--json", "--at", "1", "--at", "2", "--more", "x"], ["--help"]]
    plain, full, text = (CliRunner().invoke(shows, arguments).output for arguments in runs)

    assert "('a', (), False, (5,), {'more': None})\n" == plain
    assert "('a', ('b', 'c'), True, (1, 2), {'more': 'x'})\n" == full
    assert "[OPTIONS] FILE NAME..." in text
    assert "--json " in text and "As JSON." in text
    assert "Args:" not in text
