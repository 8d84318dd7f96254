"""The folder of a sentence pruner, by the one that comes with the package."""

import json
import random
import shutil
from importlib import resources
from pathlib import Path

import pytest

from ragsieve import ModelError, models
from ragsieve.models.base import Passage
from ragsieve.models.pruner import FILES, SETTINGS, Pruner

PASSAGES = [[Passage("", ["The tower is of iron.", "Ann drew it."])]]
BUNDLED = resources.files("ragsieve") / "weights" / "pruner"


@pytest.fixture
def folder(tmp_path):
    return Path(shutil.copytree(str(BUNDLED), tmp_path / "copy"))


@pytest.mark.parametrize("name", FILES)
def test_one_bit_that_flipped_is_told(folder, name):
    """It could change scores, and would not show; of settings what they say counts."""
    file, rng = folder / name, random.Random(name)
    places = range(file.stat().st_size)
    content = bytearray(file.read_bytes())
    if name == SETTINGS:
        places = range(content.index(b'"slope": 0.') + 11, content.index(b',\n  "bias"'))
    content[rng.choice(places)] ^= 1
    file.write_bytes(content)

    with pytest.raises(
        ModelError, match=rf"cannot be loaded: {name} is damaged or changed: [^\n]+"
    ):
        Pruner(str(folder)).prune(["Who drew it?"], PASSAGES)


def test_a_change_that_was_wanted_is_taken(folder):
    """Without digests nothing is compared, as in a folder of others; the identity is another."""
    values = json.loads((folder / SETTINGS).read_text())
    names = {*values.pop("files")}
    (folder / SETTINGS).write_text(json.dumps(values | {"relative": 0.5}))
    one = Pruner(str(folder))

    assert {*FILES} == names
    assert 0.5 == one.relative
    assert one.prune(["Who drew it?"], PASSAGES) == Pruner().prune(["Who drew it?"], PASSAGES)
    assert one.identity.split("@")[1] != Pruner().identity.split("@")[1]


# Texts, and their most tokens by SmolLM2, Qwen, Claude 2 and MiniLM.
ROWS = Path(__file__).with_name("token_counts.jsonl").read_text(encoding="utf-8").split("\n")
MOST = [tuple(json.loads(row).values()) for row in ROWS if row]


@pytest.mark.parametrize(("text", "most"), MOST)
def test_tokens_are_not_counted_too_few(text, most):
    """At least nine tenths, by the bundled tokenizer."""
    (counted,) = models.load("pruner").count([text])

    assert counted >= 0.9 * most
