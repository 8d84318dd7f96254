"""Arguments in, library call, text out; the only place that prints."""

from __future__ import annotations

import errno
import logging
import os
import sys
from collections.abc import Callable, Sequence
from io import TextIOWrapper

import click

from ragsieve.cli.annotate import annotate_command
from ragsieve.cli.ask import ask_command, filter_command
from ragsieve.cli.base import describe, printable
from ragsieve.cli.bench import bench_command, report_command
from ragsieve.cli.calibrate import calibrate_command
from ragsieve.cli.index import index_group
from ragsieve.cli.lists import datasets_command, models_group, systems_command
from ragsieve.cli.mcp import mcp_command
from ragsieve.cli.scorers import scorers_command
from ragsieve.cli.serve import serve_command
from ragsieve.cli.train import train_group
from ragsieve.errors import InputError, MissingExtra

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # files are named where they are written


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line: exit code 0 done, 1 a model or source failed, 2 bad input.

    A command without its subcommand prints its help to standard error, with exit code 2.
    """
    logging.basicConfig(level=logging.ERROR, format="warning: %(message)s")
    for name in ("ragsieve.models", "ragsieve.evaluate"):
        logging.getLogger(name).setLevel(logging.WARNING)
    for handler in logging.getLogger().handlers:  # some libraries' loggers let everything through
        handler.setLevel(logging.WARNING)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal that has no letter for it shows a ?
            stream.reconfigure(errors="replace")
    try:
        sys.exit(cli(arguments, standalone_mode=False) or 0)
    except click.exceptions.Abort:
        message = "interrupted; of --input, what is written stays: the same command goes on"
        _fail(message, 130, os._exit)  # at once: threads may wait for a model for long
    except click.exceptions.NoArgsIsHelpError as error:  # a bare `ragsieve` or `ragsieve train`
        error.show()
        sys.exit(error.exit_code)
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        hint = f" Try '{context.command_path} --help'." if context else ""
        _fail(error.format_message() + hint, 2)
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


_CONTEXT = {"help_option_names": ["-h", "--help"], "show_default": True}


@click.group(context_settings=_CONTEXT)
@click.version_option(package_name="ragsieve")
def cli() -> None:
    """Sieve the noise out of retrieved documents before a language model reads them.

    \b
      ragsieve filter -q "Who sang Summer Breeze?" page.html notes.txt
      ragsieve ask -q "Who sang Summer Breeze?" page.html notes.txt
      ragsieve ask --input questions.jsonl --output answers.jsonl
      ragsieve bench experiments/finefilter-main.toml --small --data ~/questions
      ragsieve serve
      ragsieve systems finefilter
    """


for command in (
    *(filter_command, ask_command, bench_command, report_command, annotate_command),
    *(train_group, calibrate_command, scorers_command),
    *(serve_command, mcp_command, index_group, systems_command, datasets_command, models_group),
):
    cli.add_command(command)
