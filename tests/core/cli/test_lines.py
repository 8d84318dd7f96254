"""Progress where standard error is no terminal."""

import sys
from pathlib import Path
from unittest.mock import Mock

import click

from ragsieve.cli import commands
from ragsieve.cli.base import progress
from ragsieve.cli.lines import Lines


def test_a_line_comes_every_tenth():
    """Done, of how many, errors, and the time left."""
    told = []
    with Lines(told.append, every_s=0) as bars:
        bar = bars.add_task("questions", total=200)
        for number in range(200):
            bars.update(bar, advance=1, failed=number // 50)

    assert [f"{n} of 200 done" for n in range(20, 201, 20)] == [
        line.split(", ")[0].partition(": ")[2] for line in told
    ]
    assert told[4].startswith("questions: 100 of 200 done, 1 failed, about 0 s left")


def test_no_line_comes_before_its_time():
    """Of a task whose size nobody knows, one every so many seconds."""
    told = []
    with Lines(told.append, every_s=3600) as bars:
        [*bars.track(range(50))]
        bars.update(bars.add_task("indexing", total=None), completed=9)

    assert [] == told


def test_a_command_tells_lines(ragsieve, monkeypatch):
    """Every command that shows a bar on a terminal does."""
    monkeypatch.setattr(Lines.__init__, "__defaults__", (None, 0.0))
    rows = ['{"question": "Who?", "documents": ["Seals sang."]}'] * 10
    Path("q.jsonl").write_text("\n".join(rows))
    ended = ragsieve("filter", "--input", "q.jsonl", "--output", "out.jsonl")

    assert isinstance(progress(), Lines)
    assert 10 == ended.err.count("of 10 done")


def test_an_interrupted_command_says_what_goes_on(ragsieve, monkeypatch):
    """Any command: what one of them alone has is not named."""
    monkeypatch.setattr(commands, "cli", Mock(side_effect=click.exceptions.Abort))
    monkeypatch.setattr(commands.os, "_exit", sys.exit)
    ended = ragsieve("filter", "-q", "Who?", "-")

    assert 130 == ended.code
    assert "interrupted; what is written stays" in ended.err
    assert "--input" not in ended.err
