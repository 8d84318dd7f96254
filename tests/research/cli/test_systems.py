"""`ragsieve systems`, `datasets` and `models list`, as a user meets them."""

import json
from pathlib import Path

import pytest

from ragsieve.systems.base import SYSTEMS
from ragsieve_research.datasets import DATASETS
from ragsieve_research.models.store import NAMED


def test_systems_and_data_sets_are_listed(ragsieve):
    """Each with its paper, or its licence; a folder that is no filter is one line."""
    lines = ragsieve("systems").out.splitlines()

    assert [*SYSTEMS] == [line.split()[0] for line in lines[1:]]
    assert "arXiv 2502.11811v4" in lines[1]

    ended = ragsieve("datasets")

    assert 0 == ended.code
    assert {*DATASETS} <= {line.split()[0] for line in ended.out.splitlines()}
    assert "CC BY-NC 4.0" in ended.out

    Path("empty").mkdir()

    assert 2 == ragsieve("systems", "empty").code


@pytest.mark.parametrize(
    ("command", "names"), [("systems", SYSTEMS), ("datasets", DATASETS), ("models list", NAMED)]
)
def test_a_list_is_an_array_in_json(ragsieve, command, names):
    """An object a line of the table, with names as keys that need no quoting in jq."""
    ended = ragsieve(*command.split(), "--json")
    rows = json.loads(ended.out)

    assert 0 == ended.code
    assert [*names] == [row["name"] for row in rows]
    assert all(key.isidentifier() for row in rows for key in row)


def test_a_system_shows_its_options(ragsieve):
    """Summary, paper, models, and each option with its default and the line of its docstring."""
    out = ragsieve("systems", "winnowrag").out

    assert "paper: arXiv 2511.04700v1\n" in out
    assert "models: critic, embedder\n" in out
    assert "clusters        10       K; see `Winnow`" in out


@pytest.mark.parametrize("name", [*SYSTEMS])
def test_every_option_of_a_system_is_in_json(ragsieve, name):
    """Options and models together are what its function takes; every option has a text."""
    about = json.loads(ragsieve("systems", name, "--json").out)
    options = {row["option"]: row["default"] for row in about["options"]}

    assert {*SYSTEMS[name].options} <= {*options, *about["models"]}
    defaults = json.loads(json.dumps(SYSTEMS[name].options, default=str))
    assert options == {option: defaults[option] for option in options}
    assert all(row["meaning"] for row in about["options"])
