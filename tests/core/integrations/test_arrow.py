"""A filter of Arrow columns, alone and in the engines that can be imported here."""

import json
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from ragsieve.integrations.arrow import SPANS, Filter

OPTIONS: dict[str, Any] = {
    "system": "top-sentences",
    **{"llm": "fake:echo", "embedder": "fake:hashing", "options": {"k": 1}},
}
ROWS = [
    {"query": f"Who feeds pump {n}?", "texts": f"It rains. Cable {n} feeds pump {n}. It is dry."}
    for n in range(6)
] + [{"query": " ", "texts": "It rains."}, {"query": "Who?", "texts": None}]
TABLE = pa.Table.from_pylist(ROWS)


def by_row(rows: Any) -> list[dict[str, Any]]:
    """Rows in one order."""
    return sorted(map(dict, rows), key=lambda one: (one["query"], one["texts"] or ""))


def test_columns_are_spans_and_reasons() -> None:
    """A span a kept sentence; a row of which nothing is kept says why; the same again."""
    sieve = Filter(**OPTIONS)
    result = sieve(TABLE)
    rows = result.to_pylist()
    kept = [[row["texts"][s["start"] : s["end"]] for s in row["kept"]] for row in rows[:6]]

    assert [[f"Cable {n} feeds pump {n}."] for n in range(6)] == kept
    assert SPANS == result.schema.field("kept").type and 0 < rows[0]["kept"][0]["score"] <= 1
    assert [None] * 6 == [row["reason"] for row in rows[:6]] and [[], []] == [
        row["kept"] for row in rows[6:]
    ]
    assert rows[6]["reason"].startswith("InputError: the question must not be blank")
    assert "there is no text" == rows[7]["reason"]
    assert result == pickle.loads(pickle.dumps(sieve))(TABLE)
    assert [*sieve.batches(TABLE.to_batches())] == result.to_batches()


def test_lists_of_texts_are_filtered_together() -> None:
    """Spans of each text apart; a text may come twice, or be a passage of id, title and text."""
    texts = ["It rains.", "Cable 7 feeds the pump. It rains.", "Cable 7 feeds the pump."]
    table = pa.table({"q": ["Which cable feeds the pump?"], "pages": [texts]})
    passages = [[{"id": "p", "title": "Pump", "text": text} for text in texts]]
    for column in (table["pages"], pa.array(passages)):
        kept, _ = Filter(**OPTIONS).columns(table["q"], column)

        assert pa.list_(SPANS) == kept.type
        assert [0, 1, 0] == [len(spans) for spans in kept.to_pylist()[0]]


def test_texts_of_any_type_of_string_are_texts() -> None:
    """As of a categorical column of pandas, and of Polars."""
    sieve = Filter(**OPTIONS)
    for column in (
        TABLE["texts"].dictionary_encode(),
        pa.array(TABLE["texts"].to_pylist(), pa.string_view()),
    ):
        kept, _ = sieve.columns(TABLE["query"], column)

        assert sieve(TABLE)["kept"].to_pylist() == kept.to_pylist()


@pytest.mark.parametrize("texts", ["a", ["a"]])
def test_a_batch_without_any_text_stops_no_other(texts: Any) -> None:
    """Arrow gives its column a type of its own, which goes with the others'."""
    sieve = Filter(**OPTIONS)
    columns = [{"query": ["Who?"], "texts": [one]} for one in (None, texts)]
    empty, other = [sieve(pa.table(one)) for one in columns]

    assert [{"query": "Who?", "texts": None, "kept": [], "reason": "there is no text"}] == (
        empty.to_pylist()
    )
    assert 2 == len(pa.concat_tables([empty, other], promote_options="permissive"))


def test_what_is_dropped_says_by_which_stage() -> None:
    """With the reason of the best span, where a system may keep nothing."""
    options = {"system": "finefilter", "llm": "fake:echo", "options": {"min_keep": 0}}
    kept = Filter(**options).row("Who wrote Dracula?", ["Bananas are yellow."])

    assert [[]] == kept.spans and str(kept.reason).startswith("Answerable(")


@pytest.fixture
def ray_data(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A cluster of one process."""
    ray: Any = pytest.importorskip("ray")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    ray.shutdown()  # one that another module left
    ray.init(num_cpus=1, include_dashboard=False)
    yield pytest.importorskip("ray.data")
    ray.shutdown()


@pytest.mark.slow
def test_ray_data_maps_batches(ray_data: Any) -> None:
    """The class is what an actor is made of."""
    pool = ray_data.ActorPoolStrategy(size=1)
    options = {"fn_constructor_kwargs": OPTIONS, "batch_format": "pyarrow", "compute": pool}
    rows = ray_data.from_arrow(TABLE).map_batches(Filter, **options).take_all()

    assert by_row(Filter(**OPTIONS)(TABLE).to_pylist()) == by_row(rows)


def test_daft_calls_a_function_of_columns() -> None:
    daft: Any = pytest.importorskip("daft")
    sieve = Filter(**OPTIONS)

    @daft.func.batch(return_dtype=daft.DataType.from_arrow_type(SPANS))
    def kept(query: daft.Series, texts: daft.Series) -> Any:
        return sieve.columns(query.to_arrow(), texts.to_arrow())[0]

    frame = daft.from_arrow(TABLE).with_column("kept", kept(daft.col("query"), daft.col("texts")))

    assert sieve(TABLE)["kept"].to_pylist() == frame.to_pydict()["kept"]


@pytest.fixture
def spark(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A session of one process."""
    sql: Any = pytest.importorskip("pyspark.sql")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    session = sql.SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    opened = session.getOrCreate()
    yield opened
    opened.stop()


def test_spark_maps_batches_of_arrow(spark: Any) -> None:
    """Its workers load the system, of which they get the arguments alone."""
    given = "query string, texts string"
    spans = "kept array<struct<start: bigint, end: bigint, score: double>>, reason string"
    frame = spark.createDataFrame([(row["query"], row["texts"]) for row in ROWS], given)
    rows = frame.mapInArrow(Filter(**OPTIONS).batches, f"{given}, {spans}").collect()

    expected = by_row(Filter(**OPTIONS)(TABLE).to_pylist())
    assert expected == by_row(row.asDict(recursive=True) for row in rows)


def test_datatrove_keeps_the_reason_of_what_it_drops(tmp_path: Path) -> None:
    """A shard that is done again is the same, byte by byte."""
    filters: Any = pytest.importorskip("datatrove.pipeline.filters.base_filter")
    from datatrove.data import Document
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.writers import JsonlWriter

    class Evidence(filters.BaseFilter):  # type: ignore[misc]
        name = "ragsieve"

        def filter(self, doc: Document) -> bool | tuple[bool, str]:
            query, text = doc.metadata["query"], doc.text
            (doc.metadata["kept"],), doc.metadata["reason"] = sieve.row(query, [text])
            return True if doc.metadata["kept"] else (False, "nothing kept")

    sieve = Filter(**OPTIONS)
    runs = []
    for name in ("one", "two"):
        docs = [
            Document(row["texts"] or "", str(n), metadata={"query": row["query"]})
            for n, row in enumerate(ROWS)
        ]
        out = tmp_path / name
        dropped = JsonlWriter(str(out / "dropped"), compression=None)
        kept = JsonlWriter(str(out / "kept"), compression=None)
        logs = str(tmp_path / f"{name}-logs")
        LocalPipelineExecutor([docs, Evidence(dropped), kept], tasks=1, logging_dir=logs).run()
        runs.append([path.read_bytes() for path in sorted(out.rglob("*.jsonl"))])
    gone = [json.loads(line) for line in runs[0][0].splitlines()]

    assert runs[0] == runs[1]
    assert ["6", "7"] == [one["id"] for one in gone] and all(o["metadata"]["reason"] for o in gone)
