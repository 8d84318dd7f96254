"""A system over many questions: written as they are done, and none made twice."""

import gzip
import json
import os
import threading
from itertools import islice

import pytest

from ragsieve import InputError, ModelError
from ragsieve.files import replace_lines
from ragsieve.models.fake import HashingEmbedder, echo
from ragsieve.run.batch import Batch, Tally, judged, stream
from ragsieve_research.systems.finefilter import finefilter
from tests.named import asking, write_rows

SYSTEM = finefilter(echo(), HashingEmbedder())
FOUND = {"line": 1, "input": "x", "system": "l", "tokens": {"before": 4, "after": 1}}


def ask(example):
    return judged(example, SYSTEM.ask(example.query, example.documents))


def questions(path, n):
    """A file of ``n`` questions, whose answer is their number."""
    found = "Bees make honey. This bee has number {}."
    rows = [
        asking(f"Which bee has number {i}?", found.format(i), id=f"q{i}", answers=[f"number {i}"])
        for i in range(1, n + 1)
    ]
    return write_rows(path, rows)


def finished(source, output, process=ask, *, workers=8, limit=None):
    with Batch(source, output, label="l") as batch:
        return list(batch.run(process, workers=workers, limit=limit))


def written(output):
    """Records by line, but for what was measured by the clock."""
    rows = [json.loads(line) for line in output.read_text().splitlines()]
    for row in rows:
        for step in row["trace"]["steps"]:
            del step["seconds"]
    return sorted(rows, key=lambda row: int(row["line"]))


def test_each_question_becomes_a_record(tmp_path):
    """It names its line, and says whether the answer is right."""
    finished(questions(tmp_path / "q.jsonl", 20), tmp_path / "o.jsonl")
    rows = written(tmp_path / "o.jsonl")

    assert list(range(1, 21)) == [row["line"] for row in rows]
    assert [f"q{i}" for i in range(1, 21)] == [row["id"] for row in rows]
    assert [1.0] * 20 == [row["accuracy"] for row in rows]
    assert "This bee has number 7." == rows[6]["answer"]


def test_an_interrupted_run_goes_on(tmp_path):
    """Stopped after five questions and cut in the middle of a line: the records are the same."""
    source = questions(tmp_path / "q.jsonl", 30)
    finished(source, tmp_path / "whole.jsonl")
    with Batch(source, tmp_path / "o.jsonl", label="l") as batch:
        taken = list(islice(batch.run(ask, workers=2), 5))
    output = tmp_path / "o.jsonl"
    output.write_bytes(output.read_bytes()[:-20])
    left = output.read_bytes().count(b"\n")
    again = finished(source, output)

    assert 5 == len(taken)
    assert 4 <= left < 30
    assert left == sum(done.again for done in again)
    assert written(tmp_path / "whole.jsonl") == written(output)


@pytest.mark.parametrize(
    ("number", "torn"),
    [
        (3, b"\0" * 4096),
        (3, b'{"line": 3, "input": "ab\0\0\0'),
        (2, b'{"line": 9, "inp{"line": 3, "input": "x"}\n'),
        (1, b'"kept": [], "text": "the end of a line"}\n'),
        (2, b"\n"),
        (2, b'{"line": 2, "text": "\xe2\x82\n'),
    ],
)
def test_a_torn_record_is_named_and_asked_again(tmp_path, caplog, number, torn):
    """A tail of zeros, two records in one line, the end of one, half a letter: at any line."""
    source, output = questions(tmp_path / "q.jsonl", 3), tmp_path / "o.jsonl"
    finished(source, tmp_path / "whole.jsonl")
    finished(source, output, workers=1)
    rows = output.read_bytes().splitlines(keepends=True)
    output.write_bytes(b"".join([*rows[: number - 1], torn, *rows[number:]]))
    again = finished(source, output)

    assert [False] == [done.again for done in again if not done.again]
    assert written(tmp_path / "whole.jsonl") == written(output)
    assert [f"line {number} of output {output} was torn"] == [
        message.partition(",")[0] for message in caplog.messages
    ]


def test_a_file_of_nothing_but_a_torn_record_is_begun_anew(tmp_path):
    """The first record was being written when the power went."""
    source, output = questions(tmp_path / "q.jsonl", 2), tmp_path / "o.jsonl"
    for torn in (b"\0" * 50, b'{"line": 1, "inp', b'{"li\0\0'):
        output.write_bytes(torn)
        finished(source, output)

        assert [1, 2] == [row["line"] for row in written(output)]


def test_what_is_done_is_not_made_again(tmp_path):
    """The second run asks nothing, and sums up as the first."""
    source = questions(tmp_path / "q.jsonl", 3)
    sums = []

    def unwanted(example):
        raise ModelError("asked again")

    for process in (ask, unwanted):
        tally = Tally()
        for done in finished(source, tmp_path / "o.jsonl", process):
            tally.add(done)
        sums.append([tally[n] for n in ("written", "failed", "before", "after", "right")])

    assert sums[0] == sums[1]
    assert (3, 0, 3.0) == (sums[0][0], sums[0][1], sums[0][4])


def test_a_record_is_written_when_it_is_done(tmp_path):
    """A slow question holds nothing back: the others are in the file before it ends."""
    source, output = questions(tmp_path / "q.jsonl", 4), tmp_path / "o.jsonl"
    go_on = threading.Event()

    def slow_first(example):
        if example.query.id == "q1":
            go_on.wait(10)
        return ask(example)

    seen = []
    with Batch(source, output, label="l") as batch:
        for done in batch.run(slow_first, workers=2):
            seen.append((done.line, len(output.read_text().splitlines())))
            if len(seen) == 3:
                go_on.set()

    assert (3, 4) == (seen[2][1], seen[3][1])
    assert 1 == seen[-1][0]


def test_a_bad_record_stops_nothing(tmp_path):
    """Nor does a model that fails, or a fault in somebody's system; none of them is written."""
    source = questions(tmp_path / "q.jsonl", 3)
    with source.open("ab") as file:
        file.write(b'\xff\n{nope\n{"question": " "}\n')

    def faulty(example):
        if example.query.id == "q1":
            raise ModelError("down")
        if example.query.id == "q2":
            raise ZeroDivisionError
        return ask(example)

    done = sorted(finished(source, tmp_path / "o.jsonl", faulty), key=lambda d: d.line)
    kinds = [ModelError, ZeroDivisionError, type(None), InputError, InputError, InputError]

    assert kinds == [type(d.error) for d in done]
    assert [3] == [row["line"] for row in written(tmp_path / "o.jsonl")]
    assert 3 == sum(not d.error for d in finished(source, tmp_path / "o.jsonl"))


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(5, "Input/output error"), "^standard input cannot be read: Input/output error$"),
        (RuntimeError("no thread"), "^standard input cannot be read: no thread$"),
    ],
)
def test_a_stream_that_breaks_off_is_answered_and_then_named(error, message):
    """It does not look as if it had ended."""

    def broken():
        yield from [b'{"question": "Who?"}\n'] * 3
        raise error

    done = stream(broken(), lambda example: {"text": ""})

    assert [1, 2, 3] == [one.line for one in islice(done, 3)]
    with pytest.raises(InputError, match=message):
        next(done)


def test_an_input_that_breaks_off_is_answered_and_then_named(tmp_path):
    """What was read of a broken archive has its records, and is not asked again."""
    source, output = tmp_path / "q.jsonl.gz", tmp_path / "o.jsonl"
    rows = questions(tmp_path / "q.jsonl", 3).read_bytes()
    source.write_bytes(gzip.compress(rows)[:-4])

    with pytest.raises(InputError, match="cannot be read: Compressed file ended"):
        finished(source, output, workers=9)
    assert [1, 2, 3] == [row["line"] for row in written(output)]


def test_a_limit_takes_the_first_lines(tmp_path):
    """A larger one goes on from there."""
    source = questions(tmp_path / "q.jsonl", 5)
    first = finished(source, tmp_path / "o.jsonl", limit=2)
    more = finished(source, tmp_path / "o.jsonl", limit=4)

    assert [1, 2] == sorted(d.line for d in first)
    assert [(1, True), (2, True), (3, False), (4, False)] == sorted((d.line, d.again) for d in more)


@pytest.mark.parametrize(
    "content",
    [
        *(b"my notes", b"my notes\n", b'{"a": 1}\n', b"[]\n", b"\xff\n"),
        json.dumps({**FOUND, "line": "1"}).encode() + b"\n",
        b"my notes\n" + json.dumps({**FOUND, "system": "other"}).encode() + b"\n",
        json.dumps({**FOUND, "system": "other"}).encode() + b"\n",
    ],
)
def test_a_file_that_is_not_ours_stays_as_it_is(tmp_path, content):
    """Notes, other JSON, and what another command made."""
    (tmp_path / "o.jsonl").write_bytes(content)

    with pytest.raises(InputError, match=r"must be empty or made by ragsieve|made by other, not"):
        finished(questions(tmp_path / "q.jsonl", 1), tmp_path / "o.jsonl")
    assert content == (tmp_path / "o.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("output", "options", "message"),
    [
        ("o.jsonl", {"workers": 0}, "workers must be at least 1, got 0"),
        ("link", {}, "must not be the input"),  # a link to the input is the input
        (".", {}, "must be a regular file"),
        ("/dev/null", {}, "must be a regular file"),
        ("pipe", {}, "must be a regular file"),
        ("/proc/o.jsonl", {}, "cannot be written: No such file"),
        ("o.jsonl.gz", {}, "must not end in .gz"),
        ("none/o.jsonl", {}, "must lie in a folder that is there"),
    ],
)
def test_bad_options_are_named(tmp_path, output, options, message):
    """The input stays as it is."""
    source = questions(tmp_path / "q.jsonl", 1)
    before = source.read_bytes()
    (tmp_path / "link").symlink_to(source)
    reading, writing = os.pipe()  # as of --output /dev/stdout | jq
    (tmp_path / "pipe").symlink_to(f"/proc/self/fd/{writing}")

    with pytest.raises(InputError, match=message):
        finished(source, tmp_path / output, **options)
    os.close(reading)
    os.close(writing)
    assert before == source.read_bytes()


def test_two_runs_or_inputs_are_not_mixed(tmp_path):
    """The second is turned away until the first has ended, as is another line for a done one."""
    source, output = questions(tmp_path / "q.jsonl", 1), tmp_path / "o.jsonl"
    with (
        Batch(source, output, label="l"),
        pytest.raises(InputError, match="is being written by another run"),
    ):
        finished(source, output)

    assert 1 == len(finished(source, output))

    source, output = questions(tmp_path / "q.jsonl", 3), tmp_path / "o.jsonl"
    finished(source, output)
    longer = finished(questions(source, 4), output)
    source.write_text(source.read_text().replace("number 2", "number 9"))

    assert 3 == sum(done.again for done in longer)
    with pytest.raises(InputError, match=r"line 2 of .* is not the one"):
        finished(source, output)


def test_what_failed_can_be_written_and_made_again(tmp_path):
    """A record with its error stands for it; it stays, unless the next run retries."""
    source, output = questions(tmp_path / "q.jsonl", 3), tmp_path / "o.jsonl"

    def second_fails(example):
        if example.query.id == "q2":
            raise ModelError("no luck")
        return ask(example)

    found = []
    for retry, process in ((False, second_fails), (False, ask), (True, ask)):
        with Batch(source, output, label="l", retry=retry) as batch:
            list(batch.run(process, failed=lambda _, error: {"error": str(error)}))
            batch.sort()
        found.append([json.loads(line).get("error") for line in output.read_text().splitlines()])

    assert [[None, "no luck", None]] * 2 + [[None] * 3] == found


def test_sorted_records_stand_in_the_order_of_the_questions(tmp_path):
    """In whatever order they were done; the batch can go on."""
    source, output = questions(tmp_path / "q.jsonl", 6), tmp_path / "o.jsonl"
    with Batch(source, output, label="l") as batch:
        list(batch.run(ask, limit=3))
        output.write_bytes(b"".join(reversed(output.read_bytes().splitlines(True))))
    with Batch(source, output, label="l") as batch:
        batch.sort()
        list(batch.run(ask, workers=1))

    numbers = [json.loads(line)["line"] for line in output.read_text().splitlines()]

    assert [1, 2, 3] == numbers[:3]
    assert {4, 5, 6} == {*numbers[3:]}


def test_a_file_stays_where_the_lines_that_would_replace_it_break_off(tmp_path):
    """Nothing half written lies beside it."""
    path = tmp_path / "o.jsonl"
    path.write_bytes(b"old")

    def broken():
        yield b"new"
        raise InputError("a mistake")

    with pytest.raises(InputError):
        replace_lines(path, broken())

    assert [(path, b"old")] == [(file, file.read_bytes()) for file in tmp_path.iterdir()]
