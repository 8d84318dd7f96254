"""Your own JSONL: one question a line."""

import bz2
import gzip
import json
import tracemalloc

import pytest

from ragsieve import Document, Example, InputError, Query
from ragsieve.run import questions
from ragsieve.run.questions import MAX_LINE, lines, parse_json, parse_record


def record(**values):
    """A good line of JSON with ``values`` in it."""
    return json.dumps({"question": "Who?", "documents": ["Me."], **values}).encode()


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.bz2"])
def test_lines_are_numbered_and_blank_ones_left_out(tmp_path, name):
    """Numbers are those that an editor shows; packed ones are unpacked."""
    data = b"one\n\n \nfour\r\nfive"
    path = tmp_path / name
    path.write_bytes({".gz": gzip.compress, ".bz2": bz2.compress}.get(path.suffix, bytes)(data))

    assert [(1, b"one\n"), (4, b"four\r\n"), (5, b"five")] == list(lines(path))


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("cut.gz", gzip.compress(b"a\n" * 1000, mtime=0)[:-9]),
        ("plain.gz", b'{"question": "Who?"}'),
        ("array.json", b'[{"question": "Who?"}]'),
        ("cut.bz2", bz2.compress(b"a\n")[:-9]),
        ("plain.bz2", b"{}"),
        ("bad.gz", gzip.compress(bytes(range(256)) * 9, mtime=0)[:12] + b"\xff" * 40),
    ],
)
def test_a_damaged_archive_is_named(tmp_path, name, data):
    """Cut short, no archive at all, and full of nonsense."""
    (tmp_path / name).write_bytes(data)

    with pytest.raises(InputError, match=f"{name} cannot be read"):
        list(lines(tmp_path / name))


def test_a_line_has_a_largest_size(tmp_path, monkeypatch):
    """Of thirty times as much no more is unpacked than a line may have."""
    assert MAX_LINE == 134_217_728

    most = MAX_LINE >> 5
    monkeypatch.setattr(questions, "MAX_LINE", most)
    path = tmp_path / "a.jsonl.gz"
    seen = []
    path.write_bytes(gzip.compress(b"{}\n") + gzip.compress(bytes(most)) * 30)
    tracemalloc.start()
    with pytest.raises(InputError, match=r"line 2 of .*gz must have at most 4194304 bytes"):
        list(map(seen.append, lines(path)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert [(1, b"{}\n")] == seen
    assert peak < 5 * most / 2  # the pieces of a line, and the line

    path = tmp_path / "a.jsonl"
    with path.open("wb") as file:
        file.write(b"x" * (most - 1) + b"\n2")

    assert [most, 1] == [len(line) for _, line in lines(path)]


def test_a_record_has_what_the_line_says():
    """Also as query, as a reply, with a date, with half a character; the rest is metadata."""
    line = record(
        id=7, answers=["I"], documents=[{"id": "d", "title": "T", "text": "Me.", "x": 1}, "You."]
    )
    documents = (
        Document("d", "Me.", "T", rank=0, metadata={"x": 1}),
        Document("1", "You.", rank=1),
    )

    assert Example(Query("Who?", "7"), documents, ("I",)) == parse_record(line)

    example = parse_record(record(documents=[{"name": "Bees", "legs": 6}, {"hits": [1]}]))

    assert ["name: Bees\nlegs: 6", '{"hits": [1]}'] == [d.text for d in example.documents]

    line = b'\xef\xbb\xbf{"query": "Who?", "answers": null, "id": null, "metadata": null}'

    assert Example(Query("Who?"), ()) == parse_record(line)

    line = b'{"question": "Who?", "metadata": {"query_time": "03/13/2024, 09:30:59 PT"}}'

    assert "03/13/2024, 09:30:59 PT" == parse_record(line).query.time

    assert {"a": "\ud800"} == parse_json(b'{"a": "\\ud800"}')


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"\xff{}", "not UTF-8 at byte 0: 0xff"),
        (b"{nope", "not JSON"),
        (b"[" * 100_000, "nests too deep"),
        (b"[1]", "must be a JSON object, got a list"),
        (b'{"documents": []}', "must have a question"),
        (record(question="  "), "must not be blank"),
        (record(documents={"text": "a"}), "documents must be a list"),
        (b'{"query": "Who?", "hits": [{}], "ctxs": ["%s"]}' % (b"I " * 20), "under hits,ctxs;"),
        (record(documents=["a", 1]), "documents must be strings or objects, got 1 at 1"),
        (record(answers="I"), "answers must be a list of strings"),
    ],
)
def test_a_bad_record_says_what_is_wrong(line, reason):
    """Whatever the line is, the error is ours and names the rule."""
    with pytest.raises(InputError, match=reason):
        parse_record(line)


def test_parquet_is_read_by_pyarrow_alone(tmp_path, ragsieve):
    """Rows as lines; what is no Parquet is named."""
    parquet, pa = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    documents = [{"id": "d", "text": "Seals and Crofts sang it."}]
    rows = [{"question": "Who sang it?", "documents": documents, "answers": ["Seals"]}] * 3
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "q.parquet")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1")
    ended = ragsieve("filter", "--input", "q.parquet", "--output", "kept.jsonl")
    failed = ragsieve("filter", "--input", "bad.parquet", "--output", "o.jsonl")
    kept = [json.loads(line) for line in (tmp_path / "kept.jsonl").read_text().splitlines()]

    assert (0, 2) == (ended.code, failed.code)
    assert [1, 2, 3] == [one["line"] for one in kept]
    assert all("Crofts" in one["text"] for one in kept)
    assert "bad.parquet cannot be read" in failed.err
