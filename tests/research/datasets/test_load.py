"""A data set by name, from a folder, or one's own file."""

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from ragsieve.errors import InputError
from ragsieve.types import Example
from ragsieve_research.datasets import DATASETS, Entry, load
from tests.processes import python

LINE = b'{"id": "a", "question": "Who?", "documents": ["Me."]}\n'
FILES = json.loads(Path(__file__).with_name("files.json").read_text())
"""Lines, then of the first, tenth and last: checksum and documents."""


@pytest.fixture(autouse=True)
def no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test finds a folder that it did not name."""
    monkeypatch.delenv("RAGSIEVE_DATA", raising=False)


def mark(example: Example) -> list[Any]:
    """Checksum of what a record says, without copying what it says; and its documents."""
    texts = [[d.id, d.title, d.text] for d in example.documents]
    said = [example.query.id, example.query.text, list(example.answers), texts]
    return [hashlib.sha256(json.dumps(said).encode()).hexdigest()[:16], len(texts)]


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("name", FILES)
def test_real_files_are_read_whole(data: Path, name: str) -> None:
    """Lines, and the first, the tenth and the last of them, as counted when they were written."""
    dataset = load(name, folder=data)
    examples = list(dataset)
    total, expected = FILES[name]

    assert total == len(examples)
    assert expected == [mark(e) for e in (examples[0], examples[min(9, total - 1)], examples[-1])]
    assert DATASETS[name] == dataset.entry


@pytest.mark.data
def test_the_table_knows_every_file_of_questions(data: Path) -> None:
    """Rows may be more: their files can lie on the hub; what has no questions is no data set."""
    names = {path.name.removesuffix(".jsonl.gz") for path in data.glob("*.jsonl.gz")}

    assert names - {"crag_mock_api"} <= {*DATASETS}
    assert {*FILES} <= names


@pytest.mark.parametrize("name", ["nq.jsonl", "nq.jsonl.gz"])
def test_a_name_is_found_in_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Named by argument, which goes before the variable, or by the variable."""
    (tmp_path / name).write_bytes(gzip.compress(LINE) if name.endswith("gz") else LINE)
    by_argument = load("nq", folder=tmp_path, place="folder")
    monkeypatch.setenv("RAGSIEVE_DATA", str(tmp_path))

    assert ["a"] == [e.query.id for e in by_argument] == [e.query.id for e in load("nq")]
    assert (str(tmp_path / name), "nq") == (by_argument.origin, by_argument.name)
    with pytest.raises(InputError, match=r"elsewhere has no nq\.jsonl"):
        load("nq", folder=tmp_path / "elsewhere")


def test_an_own_file_is_a_data_set(tmp_path: Path) -> None:
    """By its path, as text or not; the table says nothing of it."""
    path = tmp_path / "bees.jsonl"
    path.write_bytes(LINE)

    assert ["a"] == [e.query.id for e in load(path)] == [e.query.id for e in load(str(path))]
    assert ("bees", None) == (load(path).name, load(path).entry)


def test_places_and_files_are_told_apart(tmp_path: Path) -> None:
    """The sample needs no folder; an unknown place is named; no text stands for a file."""
    assert 12 == load("sample").count() == load("sample", folder=tmp_path).count()
    assert "Apache-2.0" == DATASETS["sample"].licence

    with pytest.raises(InputError, match="place must be one of auto, folder, hub, got 'web'"):
        load("nq", place="web")  # type: ignore[arg-type]

    with pytest.raises(InputError, match=r"\(no copy of noveleval on the hub is known\)"):
        load("noveleval", place="hub")
    with pytest.raises(InputError, match=r"no folder was named\): put noveleval\.jsonl into"):
        load("noveleval", place="folder")

    with pytest.raises(InputError, match=r"a Path, as Path\(__file__\)\.with_name\('a.jsonl'\)"):
        Entry("x", "x", "x", file="a.jsonl")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ('load("nq", place="hub")', "MissingExtra: datasets is not installed: pip install"),
        ('load("nq")', "InputError: data set nq must be in a folder or on the hub (no folder was"),
    ],
)
def test_a_missing_library_is_named(call: str, error: str) -> None:
    """The extra that brings it is in either message; the folder is the other way."""
    program = (
        "import sys; sys.modules['datasets'] = None\n"
        "from ragsieve_research.datasets import load\n"
        f"try: {call}\n"
        "except Exception as error: print(f'{type(error).__name__}: {error}')"
    )
    said = python(program).stdout

    assert said.startswith(error)
    assert "ragsieve[hub]" in said


@pytest.mark.parametrize("name", DATASETS)
def test_the_table_says_what_each_is(name: str) -> None:
    """Summary, licence and use in a line each; NC licences are marked as such."""
    entry = DATASETS[name]

    assert all([entry.summary, entry.licence, entry.measures])
    assert ("-NC" in entry.licence) == entry.non_commercial


PACKAGE = """
from pathlib import Path

from ragsieve_research.datasets import Entry

FILE = Path(__file__).with_name("bees.jsonl")
BEES = Entry("questions about bees", "MIT", "that others can add", file=FILE)
BROKEN = 3
"""


def test_another_package_adds_data_sets(
    tmp_path: Path, install: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """By entry points; what is no entry is left out with a warning, and no name is taken over."""
    (tmp_path / "bees.jsonl").write_bytes(LINE)
    points = ["bees = other_data:BEES", "nq = other_data:BEES", "bad = other_data:BROKEN"]
    install("other_data", "datasets", *points, other_data=PACKAGE)
    with DATASETS.isolated():
        names, bees = [*DATASETS], load("bees")

    assert ["a"] == [e.query.id for e in bees]
    assert ("bees", "MIT") == (names[-1], bees.entry and bees.entry.licence)
    assert 1 == names.count("nq")
    assert DATASETS["nq"].hub
    assert "entry point bad of ragsieve.datasets is left out: other_data:BROKEN" in caplog.text
