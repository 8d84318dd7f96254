"""Arguments in, library call, text out; the only place that prints."""

from __future__ import annotations

import errno
import logging
import os
import sys
from collections.abc import Callable, Sequence
from io import TextIOWrapper

import click
from click.core import ParameterSource

from ragsieve.cli.annotate import annotate_command
from ragsieve.cli.ask import ask_command, filter_command
from ragsieve.cli.base import INFO, describe, info, printable
from ragsieve.cli.bench import bench_command, report_command
from ragsieve.cli.calibrate import calibrate_command
from ragsieve.cli.config import FILE, config_command, defaults, settings
from ragsieve.cli.index import index_group
from ragsieve.cli.lists import datasets_command, models_group, systems_command
from ragsieve.cli.mcp import mcp_command
from ragsieve.cli.plan import plan_command
from ragsieve.cli.scorers import scorers_command
from ragsieve.cli.serve import serve_command
from ragsieve.cli.train import train_group
from ragsieve.errors import InputError, MissingExtra

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # files are named where they are written


_LOGGERS = ("ragsieve.models", "ragsieve.evaluate")  # whose warnings are shown


class _Formatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        return text if record.levelno < logging.WARNING else f"warning: {text}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line: exit code 0 done, 1 a model or source failed, 2 bad input.

    A command without its subcommand prints its help to standard error, with exit code 2.
    """
    stderr = logging.StreamHandler()
    stderr.setFormatter(_Formatter())
    logging.basicConfig(level=logging.ERROR, handlers=[stderr])
    for name in _LOGGERS:
        logging.getLogger(name).setLevel(logging.WARNING)
    for handler in logging.getLogger().handlers:  # some libraries' loggers let everything through
        handler.setLevel(logging.WARNING)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal that has no letter for it shows a ?
            stream.reconfigure(errors="replace")
    try:
        argv = sys.argv[1:] if arguments is None else arguments
        sys.exit(cli(argv, standalone_mode=False, default_map=defaults(argv)) or 0)
    except click.exceptions.Abort:
        message = "interrupted; of --input, what is written stays: the same command goes on"
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
        _fail(describe(error), 2 if isinstance(error, (InputError, MissingExtra)) else 1)


def _fail(message: str, code: int, leave: Callable[[int], object] = sys.exit) -> None:
    click.echo(f"error: {printable(' '.join(message.split()))}", err=True)
    leave(code)


def _origin(error: click.ClickException) -> str:
    """Place where a wrong value was set, if not on the command line."""
    context, param = (getattr(error, name, None) for name in ("ctx", "param"))
    name = param.name if param else None
    if context and name and context.get_parameter_source(name) is ParameterSource.DEFAULT_MAP:
        return " (see `ragsieve config`)"
    return ""


_CONTEXT = {"help_option_names": ["-h", "--help"], "show_default": True}


@click.group(context_settings=_CONTEXT)
@click.version_option(package_name="ragsieve")
@click.option("-v", "--verbose", is_flag=True, help="Say on standard error what is loaded.")
@click.option("-q", "--quiet", is_flag=True, help="Only errors on standard error.")
def cli(verbose: bool, quiet: bool) -> None:
    """Sieve the noise out of retrieved documents before a language model reads them.

    \b
      ragsieve filter -q "Who sang Summer Breeze?" page.html notes.txt
      ragsieve ask -q "Who sang Summer Breeze?" page.html notes.txt
      ragsieve ask --input questions.jsonl --output answers.jsonl
      ragsieve bench experiments/finefilter-main.toml --small --data ~/questions
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
        level = logging.ERROR if quiet else logging.INFO
        for name in ("ragsieve", *_LOGGERS):
            logging.getLogger(name).setLevel(level)
        for handler in logging.getLogger().handlers:
            handler.setLevel(level)
    for name, (_, origin) in settings().items():
        if verbose or (origin == FILE and name.startswith("llm")):  # it may name another server
            info(f"{name} is set by {origin}", "dim")


for command in (
    *(filter_command, ask_command, plan_command, bench_command, report_command),
    annotate_command,
    *(train_group, calibrate_command, scorers_command),
    *(serve_command, mcp_command, index_group, config_command),
    *(systems_command, datasets_command, models_group),
):
    cli.add_command(command)
