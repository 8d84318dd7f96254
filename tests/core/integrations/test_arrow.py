"""A filter of Arrow columns; in engines for data the blocks of docs/how-to/engines.md run it."""

import pickle

import pyarrow as pa
import pytest

from ragsieve.integrations.arrow import SPANS, Filter

OPTIONS = {
    "system": "top-sentences",
    **{"llm": "fake:echo", "embedder": "fake:hashing", "options": {"k": 1}},
}
ROWS = [
    {"query": f"Who feeds pump {n}?", "texts": f"It rains. Cable {n} feeds pump {n}. It is dry."}
    for n in range(6)
] + [{"query": " ", "texts": "It rains."}, {"query": "Who?", "texts": None}]
TABLE = pa.Table.from_pylist(ROWS)


def test_columns_are_spans_and_reasons():
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


def test_lists_of_texts_are_filtered_together():
    """Spans of each text apart; a text may come twice, or be a passage of id, title and text."""
    texts = ["It rains.", "Cable 7 feeds the pump. It rains.", "Cable 7 feeds the pump."]
    table = pa.table({"q": ["Which cable feeds the pump?"], "pages": [texts]})
    passages = [[{"id": "p", "title": "Pump", "text": text} for text in texts]]
    for column in (table["pages"], pa.array(passages)):
        kept, _ = Filter(**OPTIONS).columns(table["q"], column)

        assert pa.list_(SPANS) == kept.type
        assert [0, 1, 0] == [len(spans) for spans in kept.to_pylist()[0]]


def test_texts_of_any_type_of_string_are_texts():
    """As of a categorical column of pandas, and of Polars."""
    sieve = Filter(**OPTIONS)
    for column in (
        TABLE["texts"].dictionary_encode(),
        pa.array(TABLE["texts"].to_pylist(), pa.string_view()),
    ):
        kept, _ = sieve.columns(TABLE["query"], column)

        assert sieve(TABLE)["kept"].to_pylist() == kept.to_pylist()


@pytest.mark.parametrize("texts", ["a", ["a"]])
def test_a_batch_without_any_text_stops_no_other(texts):
    """Arrow gives its column a type of its own, which goes with the others'."""
    sieve = Filter(**OPTIONS)
    columns = [{"query": ["Who?"], "texts": [one]} for one in (None, texts)]
    empty, other = [sieve(pa.table(one)) for one in columns]

    assert [{"query": "Who?", "texts": None, "kept": [], "reason": "there is no text"}] == (
        empty.to_pylist()
    )
    assert 2 == len(pa.concat_tables([empty, other], promote_options="permissive"))


def test_what_is_dropped_says_by_which_stage():
    """With the reason of the best span, where a system may keep nothing."""
    options = {"system": "finefilter", "llm": "fake:echo", "options": {"min_keep": 0}}
    kept = Filter(**options).row("Who wrote Dracula?", ["Bananas are yellow."])

    assert [[]] == kept.spans and str(kept.reason).startswith("Answerable(")
