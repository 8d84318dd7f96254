"""Filtering on a Ray cluster."""

from __future__ import annotations

import gzip
import json
import os
import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from ragsieve import score, select, split
from ragsieve.answer import Reader
from ragsieve.errors import InputError
from ragsieve.models.fake import OverlapPruner, ScriptedLLM
from ragsieve.pipeline import Pipeline, Stage, System
from ragsieve.tables import row, schema
from ragsieve.types import Query, Segment

ray = pytest.importorskip("ray")
pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
cluster_filter = pytest.importorskip("ragsieve.ray")

pytestmark = pytest.mark.slow
RECORDS = [
    {"id": str(n), "question": f"Who is {n}?", "documents": [{"text": f"{n} wrote it. It rained."}]}
    for n in range(40)
]
BAD = {"id": "bad", "question": " ", "documents": []}


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    """Two workers on this machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        ray.init(num_cpus=2, include_dashboard=False)
    yield
    ray.shutdown()


def system(*stages: Stage) -> System:
    """The best sentence of each question."""
    stage = Pipeline(*stages, split.Sentences(), score.Pruner(OverlapPruner()), select.TopK(1))
    return System(stage, Reader(ScriptedLLM([])))


def lines(folder: Path, kind: str = "part") -> list[dict[str, Any]]:
    """Records of a folder's files, in order."""
    files = sorted(folder.glob(f"{kind}-*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    """Forty questions, one without text, and a line that is none."""
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in [*RECORDS, BAD]) + "no question")
    return path


def test_a_worker_killed_in_mid_run_loses_and_doubles_nothing(
    questions: Path, tmp_path: Path
) -> None:
    """What it had not finished is done again; the results are one process's, in their order."""
    mark, output = tmp_path / "killed", tmp_path / "out"

    def dies(query: Query, segments: Sequence[Segment]) -> list[Segment]:
        if query.text == "Who is 20?" and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.01)
        return list(segments)

    count, done = cluster_filter.filter_files(
        str(questions), str(output), system(dies), label="x", actors=2, part_bytes=700
    )
    sums = [*done]
    expected = [row(system(), record) for record in [*RECORDS, BAD, {"line": "no question"}]]

    assert mark.exists()
    assert count == len(sums) == len({one["number"] for one in sums}) > 4
    assert expected == lines(output)
    assert 42 == sum(one["questions"] for one in sums)
    assert ["bad", None] == [one["record"].get("id") for one in lines(output, "bad")]
    assert "must not be blank" in lines(output, "bad")[0]["reason"]


def test_a_run_goes_on_and_does_nothing_twice(questions: Path, tmp_path: Path) -> None:
    """Only the part that is missing is done; another system or input is refused."""
    output = tmp_path / "out"
    options = {"label": "x", "actors": 1, "part_bytes": 1500}
    count, done = cluster_filter.filter_files(str(questions), str(output), system(), **options)
    sums, first = [*done], lines(output)
    missing = sorted(output.glob("part-*"))[1]
    missing.unlink()
    again = [*cluster_filter.filter_files(str(questions), str(output), system(), **options)[1]]

    assert first == lines(output)
    assert count - 1 == sum(one["again"] for one in again)
    assert 0 == sum(one["again"] for one in sums)
    with pytest.raises(InputError, match="made by another system or from another input"):
        cluster_filter.filter_files(
            str(questions), str(output), system(), **{**options, "label": "y"}
        )


def test_parquet_goes_in_and_out(tmp_path: Path) -> None:
    """Files of a folder by a pattern, in row groups, with the schema of results."""
    table = pa.Table.from_pylist(RECORDS)
    for place in range(2):
        some = table.slice(20 * place, 20)
        parquet.write_table(some, tmp_path / f"{place}.parquet", row_group_size=8)
    options = {"label": "x", "actors": 1, "form": "parquet"}
    count, done = cluster_filter.filter_files(
        str(tmp_path / "*.parquet"), str(tmp_path / "out"), system(), **options
    )
    sums = [*done]
    files = sorted((tmp_path / "out").glob("part-*.parquet"))
    results = pa.concat_tables([parquet.read_table(file) for file in files])

    assert 6 == count == len(files)
    assert schema() == results.schema
    assert [row(system(), one) for one in RECORDS] == results.to_pylist()
    assert 40 == sum(one["questions"] for one in sums)


def test_a_data_set_of_ray_is_filtered() -> None:
    """As rows of the one schema."""
    results = cluster_filter.filter(ray.data.from_items(RECORDS), system(), actors=1).take_all()
    by_id = sorted(results, key=lambda one: int(one["id"]))

    assert [row(system(), one) for one in RECORDS] == by_id
    with pytest.raises(InputError, match="actors and workers must be at least 1"):
        cluster_filter.filter(ray.data.from_items(RECORDS), system(), actors=0)


def test_every_line_is_in_one_part(tmp_path: Path) -> None:
    """However long lines and parts are; a packed file is one part."""
    _lines, parts_of = cluster_filter._lines, cluster_filter.parts_of
    text = b"".join(b'{"n": %d, "x": "%s"}\n' % (n, b"x" * (n * 7 % 90)) for n in range(50))
    path, packed = tmp_path / "a.jsonl", tmp_path / "b.jsonl.gz"
    packed.write_bytes(gzip.compress(text))
    for ending in (text, text[:-1]):
        path.write_bytes(ending)
        for size in (1, 7, 20, 64, 1000, 10**6):
            found = [line for part in parts_of(str(path), size) for line in _lines(part)]
            assert text.split() == b" ".join(found).split()
    assert 1 == len([*parts_of(str(packed), 10)])
    assert 50 == len([*_lines(next(parts_of(str(packed))))])
