"""The command line: commands by name, and how it ends."""

import errno
import logging
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from io import TextIOWrapper
from typing import Any, cast

import click
from click.core import ParameterSource

from ragsieve.cli.base import INFO, describe, info, printable, warn
from ragsieve.cli.config import FILE, defaults, settings
from ragsieve.errors import InputError, MissingExtra, nearest
from ragsieve.registry import more, points
from ragsieve.timeouts import PROGRESS

GROUP = "ragsieve.commands"
"""Group of the entry points by which other packages add commands; each names a click command."""

COMMANDS = ("ask", "config", "doctor", "filter", "mcp", "serve", "systems")
"""Names of commands: ``NAME_command`` in a module that is called like it, or in `ask`."""

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # files are named where they are written
_SEE = " (see `ragsieve config`)"

_log = logging.getLogger(__name__)

_LOGGERS = ("ragsieve", "ragsieve_research")  # whose warnings are shown


class _Formatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        return text if record.levelno < logging.WARNING else f"warning: {text}"


def main(argv: Sequence[str]) -> None:
    """Run the command line: exit code 0 done, 1 a model or source failed, 2 bad input.

    A command without its subcommand prints its help to standard error, with exit code 2.
    """
    stderr = logging.StreamHandler()
    stderr.setFormatter(_Formatter())
    stderr.addFilter(lambda one: one.name.startswith(_LOGGERS) or one.levelno >= logging.ERROR)
    logging.basicConfig(level=logging.ERROR, handlers=[stderr])
    _log_from(PROGRESS)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal that has no letter for it shows a ?
            stream.reconfigure(errors="replace")
    known: dict[str, dict[str, Any]] = {}
    try:
        known = defaults(argv)
        sys.exit(cli(argv, standalone_mode=False, default_map=known) or 0)
    except click.exceptions.Abort:
        message = "interrupted; what is written stays, and the same command goes on from there"
        _fail(message, 130, os._exit)  # at once: threads may wait for a model for long
    except click.exceptions.NoArgsIsHelpError as error:  # a bare `ragsieve` or `ragsieve train`
        error.show()
        sys.exit(error.exit_code)
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        hint = f" Try '{context.command_path} --help'." if context else ""
        _fail(error.format_message() + _origin(error) + hint, 2)
    except Exception as error:  # ours, or a fault: one line, too
        if isinstance(error, OSError) and error.errno in _FULL and not error.filename:
            leave = os._exit  # at once: what is left to print cannot be printed
            _fail(f"standard output cannot be written: {error.strerror}", 2, leave)
        if os.environ.get("RAGSIEVE_DEBUG"):
            raise
        hint = _SEE if isinstance(error, InputError) and _is_set(str(error), argv, known) else ""
        _fail(describe(error) + hint, 2 if isinstance(error, (InputError, MissingExtra)) else 1)


def _log_from(level: int) -> None:
    for name in _LOGGERS:
        logging.getLogger(name).setLevel(level)
    for handler in logging.getLogger().handlers:  # some libraries' loggers let everything through
        handler.setLevel(level)


def _fail(message: str, code: int, leave: Callable[[int], object] = sys.exit) -> None:
    click.echo(f"error: {printable(' '.join(message.split()))}", err=True)
    leave(code)


def _origin(error: click.ClickException) -> str:
    """Place where a wrong value was set, if not on the command line."""
    context, param = (getattr(error, name, None) for name in ("ctx", "param"))
    name = param.name if param else None
    source = context.get_parameter_source(name) if context and name else None
    return _SEE if source is ParameterSource.DEFAULT_MAP else ""


def _is_set(message: str, argv: Sequence[str], known: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether an error begins with the name of a setting of the command."""
    name = message.partition(" ")[0]
    values = known.get(next((word for word in argv if not word.startswith("-")), ""), {})
    return name in values or any(one.startswith(f"{name}=") for one in values.get("options", ()))


_CONTEXT = {"help_option_names": ["-h", "--help"], "show_default": True}


class Commands(click.Group):
    """Commands by name, each imported when it is asked for; other packages' by entry points."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of all commands, sorted."""
        return sorted({*COMMANDS, *(point.name for point in points(GROUP))})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name; None where there is none."""
        if cmd_name in COMMANDS:
            module = import_module(f"{__package__}.{'ask' if cmd_name == 'filter' else cmd_name}")
            return cast(click.Command, getattr(module, f"{cmd_name}_command"))
        point = next((point for point in points(GROUP) if point.name == cmd_name), None)
        try:
            loaded = point.load() if point else None
        except Exception as error:  # whatever another package raises when it is imported
            name = f"{cmd_name} of {point.value}" if point else cmd_name
            _log.warning("command %s is left out: %s", name, error)
            return None
        return loaded if isinstance(loaded, click.Command) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does; an unknown name is told what may have been meant."""
        name = click.utils.make_str(args[0])
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            near = nearest(name, self.list_commands(ctx))
            ctx.fail(f"No such command {name!r}{near}{more(GROUP)}")
        return super().resolve_command(ctx, args)


@click.group(cls=Commands, context_settings=_CONTEXT)
@click.version_option(package_name="ragsieve")
@click.option("-v", "--verbose", is_flag=True, help="Say on standard error what is loaded.")
@click.option("-q", "--quiet", is_flag=True, help="Only errors on standard error.")
def cli(verbose: bool, quiet: bool) -> None:
    """Sieve the noise out of retrieved documents before a language model reads them.

    \b
      ragsieve filter -q "Who sang Summer Breeze?" page.html notes.txt
      ragsieve ask -q "Who sang Summer Breeze?" page.html notes.txt
      ragsieve ask --input questions.jsonl --output answers.jsonl
      ragsieve serve
      ragsieve systems finefilter

    Completion of commands, options, systems, models and data sets, for bash, zsh or fish:

    \b
      eval "$(_RAGSIEVE_COMPLETE=bash_source ragsieve)"     in ~/.bashrc
      eval "$(_RAGSIEVE_COMPLETE=zsh_source ragsieve)"      in ~/.zshrc
      _RAGSIEVE_COMPLETE=fish_source ragsieve | source      in ~/.config/fish/config.fish
    """
    INFO.quiet = quiet
    if verbose or quiet:
        _log_from(logging.ERROR if quiet else logging.INFO)
    for name, (_, origin) in settings(warn).items():
        sends = name.startswith(("llm", "model_options"))  # perhaps to another server
        if verbose or (origin == FILE and sends):
            info(f"{name} is set by {origin}", "dim")
