"""`ragsieve train router`, as a user meets it."""

import json
from pathlib import Path

import pytest

pytest.importorskip("sklearn")

from tests.campaign.commands import SOURCES
from tests.campaign.kills import WORK, prepare_training

COMMAND = WORK["train"].command


@pytest.fixture(autouse=True)
def _files(ragsieve):
    """Sources and questions: even ones on songs, odd ones on prices."""
    prepare_training(Path(), 120)


def test_a_router_is_trained_from_what_the_generator_answers(ragsieve):
    """The two pages alone lead to the two kinds of answers; the memory of an echo to none."""
    ended = ragsieve(*COMMAND)
    made = json.loads(Path("made/router.json").read_text())

    assert 0 == ended.code
    assert {"exact": 1.0, "covered": 1.0, "right": 1.0, "asked": 1.0} == made["figures"]["routed"]
    assert ["shop", "music", "memory"] == [source["name"] for source in made["sources"]]
    assert "hashing:256" == made["identity"]
    assert "routed" in ended.out
    assert "written: " in ended.err


def test_labels_of_an_earlier_start_are_kept(ragsieve):
    """Of a killed one the last line may be cut; more questions extend them."""
    assert 0 == ragsieve(*COMMAND, "--limit", "10").code
    path = Path("made.work/train.labels.jsonl")
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    kept = b"".join(lines[:-1])
    path.write_bytes(kept + lines[-1][:20])
    again = ragsieve(*COMMAND, "--limit", "10")

    assert 0 == again.code
    assert path.read_bytes().startswith(kept)
    assert len(whole.splitlines()) == len(path.read_bytes().splitlines()) == 10

    before = path.read_text()
    assert 0 == ragsieve(*COMMAND, "--limit", "15").code
    made = json.loads(Path("made/router.json").read_text())

    assert path.read_text().startswith(before)
    assert 15 == len(path.read_text().splitlines()) == made["training"]["questions"]
    assert 15 == made["data"][0]["questions"]
    assert 3 == made["figures"]["questions"]  # a fifth


def test_another_plan_or_a_missing_source_is_named(ragsieve):
    """By the folder, or by the file of sources and the source's name."""
    assert 0 == ragsieve(*COMMAND, "--limit", "10").code
    Path("sources.toml").write_text(SOURCES.replace("Who sang", "Who plays"))
    ended = ragsieve(*COMMAND, "--limit", "10")

    assert 2 == ended.code
    assert "work must be a new folder or that of this plan" in ended.err

    Path("sources.toml").write_text(SOURCES.replace("music.html", "no.html"))
    ended = ragsieve(*COMMAND)

    assert 2 == ended.code
    assert "sources.toml, source 'music': no.html cannot be read" in ended.err
