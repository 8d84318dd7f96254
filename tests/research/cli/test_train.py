"""`ragsieve annotate`, as a user meets it."""

import json
from pathlib import Path

import pytest

from tests.named import asking, who_ran, write_rows

FAKE = ("--llm", "fake:echo", "--embedder", "fake:hashing")
SUNG = "Bees make honey. Summer Breeze was sung by Seals."
ROW = asking("Who sang Summer Breeze?", SUNG, "Seals are animals.", answers=["Seals"])


@pytest.fixture(autouse=True)
def questions(ragsieve):
    """q.jsonl with three questions."""
    return write_rows(Path("q.jsonl"), ({**ROW, "id": str(n)} for n in range(3)))


def test_labels_are_written_and_shown(ragsieve):
    """The model that echoes the first sentence answers from a clue alone, and from the first."""
    ended = ragsieve("annotate", "q.jsonl", "o.jsonl", *FAKE, "--show", "1")
    records = [json.loads(line) for line in Path("o.jsonl").read_text().splitlines()]

    assert 0 == ended.code
    assert [[1, 2]] * 3 == [record["clues"] for record in records]
    assert "cut points: K=1 in 3" in ended.err
    assert "Summer Breeze was sung by Seals." in ended.out
    assert 1 == ended.out.count("Who sang Summer Breeze?")


def test_a_second_start_adds_what_is_missing(ragsieve, questions):
    """What is labelled stays; a question without a gold answer is an error that stops nothing."""
    with questions.open("a") as file:
        file.write(json.dumps({**ROW, "answers": []}) + "\n")
    first = ragsieve("annotate", "q.jsonl", "o.jsonl", *FAKE, "--limit", "2")
    second = ragsieve("annotate", "q.jsonl", "o.jsonl", *FAKE)

    assert (0, 1) == (first.code, second.code)
    assert 3 == len(Path("o.jsonl").read_text().splitlines())
    assert "line 4: question '' has no gold answer" in second.err


@pytest.mark.slow
def test_a_filter_is_trained_and_used(ragsieve):
    """By two commands; the first says how good it is."""
    pytest.importorskip("torch")
    pytest.importorskip("accelerate")
    pytest.importorskip("jinja2")
    write_rows(Path("mine.jsonl"), who_ran())
    tiny = ("--labelled", "4", "--workers", "2")
    ended = ragsieve("train", "finefilter", "made", "mine.jsonl", *tiny, *FAKE)
    Path("a.txt").write_text("The seals ran. It rained.")
    asked = ragsieve("ask", "-q", "Who ran?", "--system", "made", "--llm", "fake:echo", "a.txt")

    assert (0, 0) == (ended.code, asked.code)
    assert ["questions", "5", "the"] == [line.split()[0] for line in ended.out.splitlines()[:3]]
    assert "each cut by the labels of the others" in ended.err
    assert "cross-fitted" in Path("made", "README.md").read_text()
    assert Path("made.work", "report.html").is_file()
