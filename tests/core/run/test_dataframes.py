"""Tables in, tables out."""

import pytest

from ragsieve import InputError, Pipeline, System, score, select, split
from ragsieve.answer import Reader
from ragsieve.models.fake import OverlapPruner, ScriptedLLM
from ragsieve.run.dataframes import COLUMNS, map_frame, row, schema
from tests.named import asking

pa = pytest.importorskip("pyarrow")

ROWS = [
    asking(f"Who is {x}?", {"text": f"{x} wrote programs. It rained.", "title": "A"}, id=str(n))
    for n, x in enumerate(["Ada", "Grace", "Alan"] * 3)
]
BAD = {"id": "bad", "question": " ", "documents": []}
SYSTEM = System(
    Pipeline(split.Sentences(), score.Pruner(OverlapPruner()), select.TopK(1)),
    Reader(ScriptedLLM(["she"] * 40)),
)
EXPECTED = [row(SYSTEM, one) for one in [*ROWS, BAD]]


def test_a_row_says_what_a_result_does():
    """The context, every span with its verdict, tokens, and no error."""
    (question, text), result = ("Who is Ada?", ROWS[0]["documents"]), EXPECTED[0]
    alone = SYSTEM(question, text)

    assert [*COLUMNS] == [*result]
    assert alone.text == result["text"]
    assert "Ada wrote programs." in result["text"]
    assert alone.rows == result["verdicts"]
    assert (alone.tokens.before, alone.tokens.after) == (
        result["tokens_before"],
        result["tokens_after"],
    )
    assert result["error"] is None is result["answer"]
    assert "she" == row(SYSTEM.ask, ROWS[0])["answer"]


def test_a_bad_row_says_why():
    """It stops no other; what is no frame is refused with its type."""
    assert "InputError: the question must not be blank, got ' '" == EXPECTED[-1]["error"]
    assert "a row must have a question" in row(SYSTEM, {"documents": []})["error"]
    empty = {"query": None, "documents": []}
    assert "the question must be a string, got None" in row(SYSTEM, empty)["error"]
    assert EXPECTED[-1]["text"] is None

    twice = pa.table([["Who?"], [["a"]], [["b"]]], ["question", "documents", "documents"])
    for frame, workers, message in (
        (3, 1, "a frame must be a data frame or a table of Arrow, .* got int"),
        (twice, 1, "columns must differ, got \\['question', 'documents', 'documents'\\]"),
        (pa.Table.from_pylist(ROWS), 0, "workers must be at least 1, got 0"),
    ):
        with pytest.raises(InputError, match=message):
            map_frame(SYSTEM, frame, workers=workers)


def test_arrow_tables_have_the_schema():
    """Whatever is null in all of their rows."""
    table = map_frame(SYSTEM, pa.Table.from_pylist([*ROWS, BAD]), workers=3)

    assert schema() == table.schema
    assert EXPECTED == table.to_pylist()
    assert table.to_batches() == [map_frame(SYSTEM, pa.RecordBatch.from_pylist([*ROWS, BAD]))]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_come_back_as_they_are(library):
    """Of the same kind, in the same order, with the same rows; lazy ones too."""
    frames = pytest.importorskip(library)
    for kind in filter(None, (frames.DataFrame, getattr(frames, "LazyFrame", None))):
        frame = map_frame(SYSTEM, kind(ROWS), workers=3)

        assert isinstance(frame, kind)
        frame = frame.lazy().collect() if library == "polars" else frame
        assert EXPECTED[:-1] == pa.table(frame).cast(schema()).to_pylist()


def test_results_of_pandas_have_the_index_of_their_rows():
    """A column of them goes beside the right rows of a frame that was filtered or sorted."""
    frame = pytest.importorskip("pandas").DataFrame(ROWS).iloc[[5, 1, 3]]
    frame["context"] = map_frame(SYSTEM, frame)["text"]
    from ragsieve.integrations.arrow import Filter

    kept = Filter(**{"system": "top-sentences", "llm": "fake:echo", "embedder": "fake:hashing"})
    spans = kept(frame.assign(query=frame.question, texts="It rained."))

    assert [EXPECTED[n]["text"] for n in (5, 1, 3)] == [*frame["context"]]
    assert [5, 1, 3] == [*spans.index]


def test_what_streams_arrow_is_a_frame():
    """A reader of batches, a relation of DuckDB and columns; nulls are empty, maps metadata."""
    document = pa.struct({"text": pa.string(), "metadata": pa.map_(pa.string(), pa.string())})
    passages = [{"text": "Ada wrote programs. It rained.", "metadata": [("by", "B")]}, None]
    columns = {"question": pa.array(["Who is Ada?"]), "documents": [[*passages, {"text": None}]]}
    columns["documents"] = pa.array(columns["documents"], pa.list_(document))
    table = pa.table(columns)
    relation = pytest.importorskip("duckdb").from_arrow(table)

    for frame in (table, table.to_reader(), relation, columns, table.to_pandas()):
        result = pa.table(map_frame(SYSTEM, frame))

        assert ["Ada wrote programs."] == result["text"].to_pylist()


def test_rows_of_pandas_may_differ_in_type():
    """A wrong row stops no other; NaN and NaT are missing; an index with a name is a column. Half
    of a pair of UTF-16, which no Arrow column holds, is U+FFFD."""
    pandas = pytest.importorskip("pandas")
    text = "Ada wrote programs. It rained."
    rows = [
        {"id": "a", "documents": [text, {"text": "b", "title": float("nan")}]},
        {"id": 7, "documents": [{"text": text}]},
        {"id": None, "documents": "oops"},
        {"id": 8, "documents": [text], "question": 5},
        {"id": 9, "documents": [text], "question": pandas.NaT},
        {"id": "\ud800", "documents": ["Who is Ada? \udc00"]},
    ]
    frame = pandas.DataFrame([{"question": "Who is Ada?", **one} for one in rows]).set_index("id")
    table = pa.Table.from_pandas(map_frame(SYSTEM, frame), schema=schema())
    results = table.select(["id", "text", "error"]).to_pylist()

    assert ["a", "7", None, "8", "9", "\ufffd"] == [one["id"] for one in results]
    assert ["Ada wrote programs."] * 2 == [one["text"] for one in results[:2]]
    assert map_frame(SYSTEM, frame).equals(
        map_frame(SYSTEM, frame.reset_index().set_index("id", drop=False))
    )
    assert [
        "InputError: documents must be a list, got 'oops'",
        "InputError: the question must be a string, got 5",
        "InputError: the question must be a string, got None",
    ] == [one["error"] for one in results[2:5]]
    with pytest.raises(InputError, match="Duplicate column names found"):
        map_frame(SYSTEM, frame[["question", "question"]])


@pytest.mark.parametrize("num_proc", [None, 2])
def test_data_sets_have_the_schema(num_proc):
    """In one process or two, and streamed."""
    datasets = pytest.importorskip("datasets")
    dataset = datasets.Dataset.from_list([*ROWS, BAD])
    result = SYSTEM.map_dataset(dataset, workers=2, num_proc=num_proc)

    assert schema() == result.features.arrow_schema.remove_metadata()
    assert EXPECTED == result.to_list()
    if num_proc is None:
        assert EXPECTED == [*SYSTEM.map_dataset(dataset.to_iterable_dataset())]
