"""`--html` of `ragsieve filter` and `ragsieve ask`: the run as a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from ragsieve.cli.base import FILE
from ragsieve.errors import InputError
from ragsieve.inspector import page

HTML_OPTIONS = (
    click.option("--html", type=FILE, help="Write a page here: what stayed, what went, and why."),
    click.option("--compare", metavar="SYSTEM", help="A second system beside it on the page."),
)


def compared(options: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Options of the second system, if one is named: the first one's but for what is its own.

    Raises:
        InputError: If the options of the page do not go together.
    """
    html, other = options["html"], options["compare"]
    if html is not None and not html.absolute().parent.is_dir():
        raise InputError(f"--html must be a file in a folder that is there, got {str(html)!r}")
    if other is None:
        return []
    if html is None:
        raise InputError("--compare goes with --html")
    own = {"system_options": (), "system_models": (), "keep_answer": None}
    return [{**options, "system": other, **own}]


def write_page(html: Path | None, views: Sequence[Mapping[str, Any]]) -> None:
    """Write the page of the views, if one is wanted."""
    if html is None:
        return
    try:
        html.write_text(page(views), encoding="utf-8")
    except OSError as error:
        raise InputError(f"--html must be a file that can be written: {error}") from error
