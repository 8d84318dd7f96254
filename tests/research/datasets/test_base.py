"""A data set: numbered lines, read afresh at each pass."""

import gzip
import hashlib
import json
from pathlib import Path

import pytest

from ragsieve.errors import InputError
from ragsieve_research.datasets import Dataset
from tests.named import asking


def a_file(path: Path, n: int = 20, documents: int = 6) -> Path:
    """``n`` questions; the first document of each has no id, and the second is bare text."""
    bees = [{"id": f"d{j}", "text": f"bee {j}", "rank": 9} for j in range(2, documents)]
    rows = [
        asking(f"Which bee is number {i}?", {"text": "bee 0"}, "bee 1", *bees, id=f"q{i}")
        for i in range(1, n + 1)
    ]
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def ids(dataset: Dataset) -> list[str]:
    return [example.query.id for example in dataset]


def test_a_data_set_is_read_line_by_line_again_and_again(tmp_path: Path) -> None:
    """A bad line stops nobody before it, and is named as an editor shows it."""
    dataset = Dataset.from_file(a_file(tmp_path / "bees.jsonl", 3))

    assert "bees" == dataset.name
    assert ["q1", "q2", "q3"] == ids(dataset) == ids(dataset)
    assert [1, 2, 3] == [number for number, _ in dataset.examples()]
    assert 3 == dataset.count()

    path = tmp_path / "bees.jsonl"
    path.write_bytes(b'{"id": 1, "question": "Who?"}\nnonsense\n')

    assert "1" == next(iter(Dataset.from_file(path))).query.id

    path = tmp_path / "bees.jsonl"
    path.write_bytes(b'{"question": "Who?"}\n\n{"documents": []}\n')

    with pytest.raises(InputError, match=r"bees\.jsonl, line 3: a record must have a question"):
        list(Dataset.from_file(path))

    dataset = Dataset.from_file(a_file(tmp_path / "bees.jsonl", 4))

    assert ["q1", "q2"] == ids(dataset.take(2))
    assert ids(dataset) == ids(dataset.take(9)) == ids(dataset.take(None, seed=1))


def test_the_checksum_is_that_of_the_unpacked_file(tmp_path: Path) -> None:
    """Packing a file does not make another data set of it."""
    plain, packed = a_file(tmp_path / "a.jsonl"), a_file(tmp_path / "b.jsonl.gz")
    expected = hashlib.sha256(plain.read_bytes()).hexdigest()

    assert expected == Dataset.from_file(plain).sha256() == Dataset.from_file(packed).sha256()


def test_a_sample_is_drawn_by_its_seed(tmp_path: Path) -> None:
    """In the order of the draw, evenly, the same between releases; a larger one begins with it."""
    dataset = Dataset.from_file(a_file(tmp_path / "bees.jsonl", 200))
    some = dataset.take(20, seed=1)
    numbers = [number for number, _ in some.lines()]

    assert [f"q{n}" for n in numbers] == ids(some) == ids(some)
    assert 20 == len({*numbers})
    assert numbers != [number for number, _ in dataset.take(20, seed=2).lines()]
    assert {*ids(dataset)} == {*ids(dataset.take(500, seed=1))}

    dataset = Dataset.from_file(a_file(tmp_path / "bees.jsonl", 100))

    assert ids(dataset.take(10, seed=3)) == ids(dataset.take(30, seed=3))[:10]

    dataset = Dataset.from_file(a_file(tmp_path / "bees.jsonl", 99))
    drawn = [n for seed in range(100) for n, _ in dataset.take(10, seed=seed).lines()]

    assert 50 == pytest.approx(sum(drawn) / len(drawn), abs=4)  # about four standard errors

    dataset = Dataset.from_file(a_file(tmp_path / "bees.jsonl", 50))

    assert [4, 7, 12, 26, 33] == sorted(number for number, _ in dataset.take(5, seed=7).lines())
