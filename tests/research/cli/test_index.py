"""`ragsieve index`, as a user meets it."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.named import asking

FAKE = ("--embedder", "fake:hashing")
TEXT = "Bees make honey. Summer Breeze was sung by Seals and Crofts. Cheese is made of milk."
ASKED = "Who sang Summer Breeze?"


@pytest.fixture(autouse=True)
def files(ragsieve):
    """A folder of notes, and two questions with documents."""
    Path("notes").mkdir()
    Path("notes/a.txt").write_text(TEXT)
    Path("notes/b.md").write_text("Goats give milk.")
    gold = {"text": TEXT, "is_positive": True}
    rows = [
        asking(ASKED, gold, "Goats give milk.", id="q1", answers=["Seals and Crofts"]),
        asking("What do bees make?", TEXT, id="q2", answers=["honey"]),
    ]
    Path("q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_search_prints_a_table_or_json(ragsieve):
    """A line a chunk, with every score; a terminal is safe from what is found."""
    built = ragsieve("index", "build", "i", "notes", *FAKE)
    found = ragsieve("index", "search", "i", "-q", ASKED, "-k", "1")

    assert (0, "i: 2 added, 0 changed, 0 unchanged, 0 removed; 4 chunks embedded\n") == built[:2]
    rank, score, name, span, text = found.out.split("  ")
    assert ("1", "notes/a.txt", "17:60") == (rank, name, span)
    assert "Summer Breeze was sung by Seals and Crofts.\n" == text
    assert round(0.5 / 61 + 0.5 / 61, 4) == float(score)  # first in both lists

    found = json.loads(ragsieve("index", "search", "i", "-q", ASKED, "-k", "1", "--json").out)
    (hit,) = found["hits"]

    assert (ASKED, "hybrid") == (found["query"], found["by"])
    assert (1, "notes/a.txt", 17, 60) == tuple(hit[k] for k in ("rank", "document", "start", "end"))
    assert ["bm25", "cosine", "fused"] == list(hit["scores"])

    row = {"id": "\x1b[2J\na", "text": "bees\x1b]0;title\x07\r\nmake\u202e honey"}
    Path("bad.jsonl").write_text(json.dumps(row))
    ragsieve("index", "build", "j", "bad.jsonl", "--embedder", "none", "--chunks", "whole")
    found = ragsieve("index", "search", "j", "-q", "honey").out

    assert found.endswith("  \ufffd[2J a  0:27  bees\ufffd]0;title\ufffd make\ufffd honey\n")


def test_a_build_goes_on_from_what_is_there(ragsieve):
    """What changed is embedded; other options are refused with what to do; removed ids go."""
    ragsieve("index", "build", "i", "notes", *FAKE)
    same = ragsieve("index", "build", "i", "notes", *FAKE)
    Path("notes/b.md").write_text("Goats give wool.")
    Path("c.txt").write_text("Sheep do.")
    other = ragsieve("index", "add", "i", "notes", "c.txt")

    assert "i: 0 added, 0 changed, 2 unchanged, 0 removed; 0 chunks embedded\n" == same.out
    assert "i: 1 added, 1 changed, 1 unchanged, 0 removed; 2 chunks embedded\n" == other.out

    ragsieve("index", "build", "j", "notes", *FAKE)
    ended = ragsieve("index", "build", "j", "notes", *FAKE, "--chunks", "windows")

    assert 2 == ended.code
    assert ended.err.startswith("error: index j was built with chunks='semantic', min_similarity")
    assert "build into another folder, or delete this one first" in ended.err

    ragsieve("index", "build", "k", "notes", *FAKE)
    wrong = ragsieve("index", "remove", "k", "notes/a.txt", "nobody")
    done = ragsieve("index", "remove", "k", "notes/a.txt")
    found = ragsieve("index", "search", "k", "-q", ASKED, "--by", "bm25")

    assert (2, "error: every ID must be in index k, got 'nobody'\n") == (wrong.code, wrong.err)
    assert "k: 0 added, 0 changed, 0 unchanged, 1 removed; 0 chunks embedded\n" == done.out
    assert (0, "", "nothing found\n") == found


def test_words_need_no_model(ragsieve):
    """An index is changed and measured by BM25 though its embedder cannot be loaded."""
    ragsieve("index", "build", "i", "notes", "q.jsonl", *FAKE)
    with closing(sqlite3.connect("i/index.sqlite")) as db, db:
        gone = "json_set(settings, '$.options.embedder', 'sentence_transformers:./gone')"
        db.execute(f"UPDATE meta SET settings={gone}")
    measured = ragsieve("index", "recall", "i", "q.jsonl", "--by", "bm25")
    removed = ragsieve("index", "remove", "i", "notes/a.txt")

    assert (0, 0) == (measured.code, removed.code), measured.err + removed.err


def test_an_index_may_do_without_an_embedder(ragsieve):
    """Windows and BM25 are the defaults then; asking for dense is bad input."""
    ragsieve("index", "build", "i", "notes", "--embedder", "none", "--max-tokens", "4")
    found = ragsieve("index", "search", "i", "-q", "Summer Breeze", "-k", "1", "--json")
    dense = ragsieve("index", "search", "i", "-q", ASKED, "--by", "dense")

    assert "bm25" == json.loads(found.out)["by"]
    assert "Summer Breeze was sung" == json.loads(found.out)["hits"][0]["text"]
    assert (2, True) == (dense.code, "by must be 'bm25' where there is no embedder" in dense.err)


def test_recall_is_a_table_or_json(ragsieve):
    """A row a way of searching; an interval of one question is null."""
    ragsieve("index", "build", "i", "q.jsonl", *FAKE)
    ended = ragsieve("index", "recall", "i", "q.jsonl", "--at", "1", "--at", "3")
    rows = [line.split() for line in ended.out.splitlines()]

    assert ["q", "recall@1", "recall@3"] == [rows[0][0].removesuffix(".jsonl"), *rows[0][1:3]]
    assert ["bm25", "dense", "hybrid"] == [row[0] for row in rows[1:4]]
    assert "2 questions: 2 with answers, 1 with gold documents in the index\n" in ended.err

    ended = ragsieve("index", "recall", "i", "q.jsonl", "--at", "2", "--by", "bm25", "--json")
    (way,) = json.loads(ended.out)["q.jsonl"]["ways"]
    ragsieve("index", "search", "i", "-q", ASKED, "--by", "bm25", "--run", "a.run")
    ragsieve("index", "recall", "i", "q.jsonl", "--by", "bm25", "--run", "b.run")
    runs = [Path(name).read_text().split() for name in ("a.run", "b.run")]

    assert ("bm25", 1.0, 1) == (way["by"], way["recall@2"]["value"], way["recall@2"]["n"])
    assert "NaN" not in ended.out
    assert ["1", "Q0", "q1/0", "1"] == runs[0][:4]
    assert runs[0][1:] == runs[1][1:][: len(runs[0]) - 1]
    assert "q1 0 q1/0 1\n" == Path("b.run.qrels").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("build", "i", "none.txt", *FAKE), "a source must be a file, a folder or a data set's"),
        (("build", "i", "empty", *FAKE), "empty must hold at least one document, got none"),
        (("build", "notes", "q.jsonl", *FAKE), "notes must be an index or an empty folder"),
        (("build", "i", "notes", "--embedder", "what"), "a model must be one of"),
        (("build", "i", "notes", *FAKE, "--max-chars", "0"), "max_chars must be at least 1"),
        (("build", "i", "notes", "--embedder", "none", "--chunks", "semantic"), "need an embedder"),
        (("add", "i", "notes"), "i holds no index: `ragsieve index build` makes one"),
        (("search", "i", "-q", "x"), "i holds no index"),
    ],
)
def test_bad_input_is_one_line(ragsieve, arguments, message):
    """Exit code 2, nothing on standard output, no index begun."""
    Path("empty").mkdir()
    ended = ragsieve("index", *arguments)

    assert (2, "") == (ended.code, ended.out)
    assert ended.err.startswith("error: ") and message in ended.err
    assert 1 == ended.err.count("\n")
    assert not Path("i").exists()


def test_the_index_may_lie_in_the_folder_that_is_read(ragsieve):
    """It does not read itself."""
    first = ragsieve("index", "build", "i", ".", *FAKE)
    again = ragsieve("index", "build", "i", ".", *FAKE)

    assert first.out.startswith("i: 4 added")
    assert again.out.startswith("i: 0 added, 0 changed, 4 unchanged")
    assert "left out" not in again.err


def test_an_interrupted_build_goes_on(ragsieve):
    """Until it is done the index is empty; the same command embeds the rest only."""
    rows = [json.dumps({"id": str(i), "text": f"Number {i} is a bee."}) + "\n" for i in range(400)]
    command = ("index", "build", "i", "many.jsonl", *FAKE, "--chunks", "whole")
    Path("many.jsonl").write_text("".join(rows[:300]) + "no JSON\n")
    broken = ragsieve(*command)
    Path("many.jsonl").write_text("".join(rows))
    between = ragsieve("index", "search", "i", "-q", "bee", "--by", "bm25")
    again = ragsieve(*command)

    assert 2 == broken.code
    assert (0, "") == between[:2]
    assert "an interrupted build goes on by the same command" in between.err
    assert again.out.startswith("i: 400 added, ")
    embedded = int(again.out.rpartition(";")[2].split()[0])
    assert 100 <= embedded < 400
