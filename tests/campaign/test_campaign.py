"""The campaign's small form, every input that once failed, and the campaign itself."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from .campaign import REGRESSIONS, Campaign, Kind, Row, replay, table
from .kinds import KINDS

FAILED = sorted(REGRESSIONS.glob("*.json"))


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_a_small_campaign_violates_nothing(name, tmp_path):
    """Of each kind; what fails lies in the folder as a regression."""
    if reason := KINDS[name].missing():
        pytest.skip(reason)
    command = [sys.executable, "-m", "tests.campaign", name, "--small", "--workers", "1"]
    done = subprocess.run(
        [*command, "--folder", str(tmp_path)],
        cwd=Path(__file__).parents[2],  # apart: it changes clocks and drives a browser
        capture_output=True,
        text=True,
        timeout=900,
    )

    assert [] == [path.read_text() for path in tmp_path.iterdir()]
    assert 0 == done.returncode, done.stderr
    assert int(done.stdout.splitlines()[-1].split()[1].replace(",", "")) >= KINDS[name].small


@pytest.mark.parametrize("path", FAILED, ids=lambda path: path.stem)
def test_what_once_failed_holds(path):
    """The input of the file is tried again."""
    content = json.loads(path.read_text())
    kind = KINDS[content["kind"]]
    if kind.missing():
        pytest.skip(kind.missing())

    assert replay(kind, content["input"]) >= 0


def draw(rng):
    return rng.randrange(1000)


def odd(value, folder):
    """Two tries of an even number; an odd one fails."""
    assert value % 2 == 0, f"{value} is odd\nindeed"
    return 2


ODD = Kind("odd", 20, 4, draw, odd)


def test_inputs_that_fail_are_kept(tmp_path):
    """One file each, with what was wrong in a line; those that hold leave none."""
    row = Campaign(seed=3, folder=tmp_path).run(ODD)
    kept = [json.loads(path.read_text()) for path in tmp_path.iterdir()]

    assert (row.violated, row.inputs) == (len(kept), row.violated + (row.tried - row.violated) / 2)
    assert 20 <= row.tried <= 21
    assert 0 < row.violated
    for content in kept:
        assert f"AssertionError: {content['input']} is odd indeed" in content["violation"]
        with pytest.raises(AssertionError, match="is odd"):
            replay(ODD, content["input"])


def test_inputs_depend_on_seed_and_number_alone(tmp_path):
    """Two that share a campaign try what one tries, and a start goes on where another stopped."""

    def drawn(**options):
        values = []
        kind = Kind("seen", 6, 6, draw, lambda value, _: values.append(value) or 1)
        Campaign(folder=tmp_path, **options).run(kind)
        return values

    whole, halves = drawn(), [drawn(share=0.5, step=2, start=start) for start in (0, 1)]

    assert [whole[::2], whole[1::2]] == halves
    assert whole[4:] == drawn(start=4)[:2]
    assert whole != drawn(seed=1)


def test_what_cannot_be_tried_says_why(tmp_path):
    """It is no violation, and the table tells."""
    row = Campaign(folder=tmp_path).run(replace(ODD, missing=lambda: "no browser"))

    assert Row("odd", reason="no browser") == row
    assert table([row]).endswith("no browser")
