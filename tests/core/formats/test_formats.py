"""What is kept of a structured text reads as what the text says."""

from __future__ import annotations

import csv
import io
import json
import tomllib
from collections.abc import Callable, Sequence
from configparser import ConfigParser
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from ragsieve.formats import joined
from ragsieve.split.blocks import Blocks
from ragsieve.types import Document, Query, Segment

PHASES = [Phase.explicit, Phase.generate]  # these values take minutes to shrink
QUERY = Query("Which one is it?")
WORDS = st.sampled_from(
    ["", "a, b: {c}", 'x [y] "q" \\ é', "word " * 12, "# no comment", "it's: so", "two\nlines\n"]
)
SCALARS = st.one_of(st.integers(), st.booleans(), st.none(), WORDS)
KEYS = st.from_regex(r"[a-h]{1,6}[0-9]{1,2}", fullmatch=True)
RECORDS = st.dictionaries(KEYS, SCALARS, min_size=1, max_size=6)
VALUES = st.recursive(
    st.one_of(SCALARS, RECORDS),
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=40,
)
CHOICES = st.lists(st.booleans(), min_size=1, max_size=12)
INCIDENTS = [
    {"id": f"INC-{n}", "text": "It rained " * 4, "owner": {"name": f"P{n}"}} for n in "123"
]


def spans(text: str, **options: Any) -> list[Segment]:
    return Blocks(**options)(QUERY, [Segment.whole(Document("d", text))])


def kept(text: str, choices: Sequence[bool]) -> str:
    """The text of some units; of the first where none is chosen."""
    units = spans(text)
    chosen = [unit for n, unit in enumerate(units) if choices[n % len(choices)]] or units[:1]
    return joined(text, [(unit.start, unit.end) for unit in chosen])


def part_of(kept: Any, source: Any) -> bool:
    """Whether each value stands under its own keys, and each record in its own list."""
    if isinstance(kept, dict) and isinstance(source, dict):
        named = {key: value for key, value in kept.items() if key != "…"}
        return all(key in source and part_of(value, source[key]) for key, value in named.items())
    if isinstance(kept, list) and isinstance(source, list):
        rest = iter(source)
        values = [v for v in kept if not (isinstance(v, str) and v.startswith("… "))]
        return all(any(part_of(value, one) for one in rest) for value in values)
    return bool(kept == source)


@settings(max_examples=60, deadline=None, phases=PHASES)
@given(VALUES, CHOICES, st.sampled_from([None, 2]))
def test_kept_json_is_json_and_part_of_its_source(
    value: Any, choices: list[bool], indent: int | None
) -> None:
    """Whatever units stay, in one line or many."""
    text = json.dumps(value, indent=indent)
    if not isinstance(value, dict | list) or not value:
        return

    assert part_of(json.loads(kept(text, choices)), value)


@settings(max_examples=60, deadline=None, phases=PHASES)
@given(st.dictionaries(KEYS, VALUES, min_size=2, max_size=6), CHOICES)
def test_kept_yaml_is_yaml_and_part_of_its_source(value: Any, choices: list[bool]) -> None:
    """Entries stay under their heads; what is left out is a comment."""
    yaml = pytest.importorskip("yaml")
    text = yaml.safe_dump(value, sort_keys=False)
    if text.count("\n") < 4 or not any(isinstance(v, dict) and v for v in value.values()):
        return

    assert part_of(yaml.safe_load(kept(text, choices)), value)


@settings(max_examples=60, deadline=None, phases=PHASES)
@given(
    st.lists(st.lists(WORDS, min_size=5, max_size=5), min_size=12, max_size=30),
    CHOICES,
    st.sampled_from(",;\t"),
)
def test_kept_rows_stand_below_their_header(
    cells: list[list[str]], choices: list[bool], mark: str
) -> None:
    """A row is whole, whatever its quotes hold, and the header stands once above all."""
    rows = [[f"{cell.strip()}{n}" for n, cell in enumerate(row)] for row in cells]
    header = ["name", "depth", "crane", "owner", "note"]
    file = io.StringIO()
    csv.writer(file, delimiter=mark, lineterminator="\n").writerows([header, *rows])
    read = list(csv.reader(io.StringIO(kept(file.getvalue(), choices), newline=""), delimiter=mark))
    shown = [row for row in read if row and not row[0].startswith("… ")]

    assert header == shown[0]
    assert part_of(shown[1:], rows)


def ini(text: str) -> Any:
    parser = ConfigParser()
    parser.read_string(text)
    return {name: dict(parser[name]) for name in parser.sections()}


def lines(text: str) -> Any:
    return [json.loads(line) for line in text.splitlines()]


def env(text: str) -> Any:
    pairs = (line.split("=", 1) for line in text.splitlines() if "=" in line and line[0] != "#")
    return dict(pairs)


PARSED: list[tuple[str, Callable[[str], Any], str]] = [
    ("JSON Lines", lines, "\n".join(map(json.dumps, INCIDENTS))),
    (
        "TOML",
        tomllib.loads,
        "title = 'x'\n\n[a]\nb = 1\nc = [\n  1,\n  2,\n]\n\n[a.d]\ne = '''\nf\n'''\n",
    ),
    ("INI", ini, "[a]\nb = 1\n; said\nc = 2\n\n[d]\nb = 3\n\n[e]\nb = 4\n"),
    (
        ".env",
        env,
        "# said\nHOST=10.0.0.9\nPORT=5432\nexport KEY='a b'\nNAME=x=y\nURL=http://a/?b=c\n",
    ),
]


@pytest.mark.parametrize(("kind", "parse", "text"), PARSED, ids=[kind for kind, *_ in PARSED])
def test_each_unit_alone_parses(kind: str, parse: Callable[[str], Any], text: str) -> None:
    """Every single unit, and every pair of neighbours, reads as a part of the whole."""
    units = spans(text)

    assert len(units) > 2
    for first in range(len(units)):
        for last in (first + 1, first + 2):
            some = joined(text, [(unit.start, unit.end) for unit in units[first:last]])

            assert part_of(parse(some), parse(text)), (kind, some)
