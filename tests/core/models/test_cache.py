"""Same input, same output, no second call; and nothing that befalls the file loses an answer."""

import json
import logging
import math
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from ragsieve.errors import ContextOverflow, InputError, ModelError
from ragsieve.models.base import Passage, Pruned
from ragsieve.models.batcher import DynamicBatcher
from ragsieve.models.cache import Cached, checksum_of
from ragsieve.models.fake import HashingEmbedder, OverlapCrossEncoder, OverlapPruner, ScriptedLLM
from ragsieve.trace import CUT, Usage, collect_step, note, record_usage, step
from tests.tiny import ask

UPDATE = "UPDATE ragsieve_cache SET value = ?, sum = ?"


def echo():
    return ScriptedLLM(lambda prompt: prompt[0].content)


class Vectors:
    """An embedder that remembers what it was asked and gives the rows it was made with."""

    identity = "vectors"

    def __init__(self, *row):
        self.row = row
        self.asked = []

    def embed(self, texts, *, query=False):
        self.asked += texts
        return np.array([self.row] * len(texts), dtype=np.float32)


def change(path, statement, values=()):
    with closing(sqlite3.connect(path)) as connection, connection:
        return connection.execute(statement, values).fetchall()


def entries(path):
    return change(path, "SELECT key, value, sum FROM ragsieve_cache")


def replies_of(path, texts, llm=None):
    """What a model, an echo by default, says by a cache that is opened for it."""
    with Cached(llm or echo(), path) as cached:
        return cached.complete([ask(text) for text in texts])


@settings(max_examples=20, deadline=None)
@given(st.lists(st.text(max_size=20), min_size=1, max_size=12))
def test_results_are_those_of_the_bare_model(texts):
    """Twice, one by one, as a list and coalesced from eight threads, bit for bit."""
    prompts, bare, pairs = [ask(text) for text in texts], echo(), [(t, texts[0]) for t in texts]
    embedder, scorer = HashingEmbedder(16), OverlapCrossEncoder()
    with (
        TemporaryDirectory() as folder,
        DynamicBatcher(echo()) as together,
        Cached(together, Path(folder, "c")) as llm,
        Cached(embedder, Path(folder, "c")) as vectors,
        Cached(scorer, Path(folder, "c")) as scores,
        ThreadPoolExecutor(8) as pool,
    ):
        for _ in range(2):
            alone = list(pool.map(lambda prompt: llm.complete([prompt])[0], prompts))
            rows = [vectors.embed([text]) for text in texts]

            assert bare.complete(prompts) == alone == llm.complete(prompts)
            assert bare.loglik(prompts, texts) == llm.loglik(prompts, texts)
            pieces = [(text, "\n") for text in texts]
            assert bare.surprisals(pieces, texts) == llm.surprisals(pieces, texts)
            assert embedder.embed(texts).tobytes() == np.concatenate(rows).tobytes()
            assert embedder.embed(texts).tobytes() == vectors.embed(texts, query=True).tobytes()
            assert (0, 16) == vectors.embed([]).shape
            assert scorer.score(pairs).tobytes() == scores.score(pairs).tobytes()


def test_hits_are_charged_as_cached(tmp_path):
    """The model charges what it was asked, the cache the rest at what it once cost."""
    known = Usage("scripted", 1, 1, cached=True)
    twice = Usage("scripted", 2, 2, cached=True)
    with Cached(echo(), tmp_path / "c") as cached:
        cached.complete([ask("a")])
        with step("test") as seen:
            cached.complete([ask("a"), ask("b c"), ask("b c")])

    assert sorted([Usage("scripted", 2, 2), known, twice]) == sorted(seen.usages)


class Noting(Vectors):
    """Says of every text of more than one letter that it was cut."""

    def embed(self, texts, *, query=False):
        record_usage([Usage(self.identity, 1, note="cut" if text[1:] else "") for text in texts])
        return super().embed(texts, query=query)


def test_notes_of_an_item_come_alone_shared_and_cached(tmp_path):
    """What a person should know of how a text was read depends on nothing but the text."""

    def told(embedder, texts):
        with step("test") as seen:
            embedder.embed(texts)
        return seen.messages

    asked = [["a"], ["bc", "de", "f"], ["g"], ["hi"]]
    alone = [told(Noting(1.0), texts) for texts in asked]
    with DynamicBatcher(Noting(1.0), callers=4) as shared, Cached(shared, tmp_path / "c") as cached:
        with ThreadPoolExecutor(4) as pool:
            together = list(pool.map(lambda texts: told(cached, texts), asked))
        again = [told(cached, texts) for texts in asked]

    assert [[], ["cut (2 times)"], [], ["cut"]] == alone == together == again


def test_whatever_a_reply_depends_on_is_in_the_key(tmp_path):
    """Model, method, every option, the order of a schema's keys, and each code point."""
    first, second = {"a": 1, "b": 2}, {"b": 2, "a": 1}
    llm, other, vectors = echo(), ScriptedLLM(lambda p: "other", identity="other"), Vectors(1.0)
    with (
        Cached(llm, tmp_path / "c") as cached,
        Cached(other, tmp_path / "c") as others,
        Cached(vectors, tmp_path / "c") as embedder,
    ):
        for _ in range(2):
            cached.complete([ask("a")])
            cached.complete([ask("a")], max_tokens=7)
            cached.complete([ask("a")], schema=first)
            cached.complete([ask("a")], schema=second)
            cached.complete([ask("\ud83d\ude00"), ask("\U0001f600")])
            others.complete([ask("a")])
            cached.loglik([ask("a")], ["x"])
            cached.choose([ask("a")], [["x"]])
            embedder.embed(["a"])
            embedder.embed(["a"], query=True)

    assert (8, 1, 2) == (len(llm.prompts), len(other.prompts), len(vectors.asked))


class Pruning:
    """A sentence pruner that counts how often it was asked, and gives the same to everybody."""

    identity = "pruning"

    def __init__(self, *values, passages=1):
        self.pruned = Pruned([*values], [0.25] * passages)
        self.asked = 0

    def prune(self, questions, passages):
        self.asked += len(questions)
        return [self.pruned] * len(questions)


def test_probabilities_come_back_bit_for_bit(tmp_path):
    """One question with several passages is one entry; another split of them is another."""
    passages = [Passage("\ud800", ["a b", ""]), Passage("", ["c"])]
    other = [Passage("\ud800", ["a b"]), Passage("", ["", "c"])]
    model = Pruning(1 / 3, 0.0, 1.0, passages=2)
    with Cached(model, tmp_path / "c") as cached:
        for _ in range(2):
            assert [model.pruned] * 2 == cached.prune(["a?", "a?"], [passages, other])

    assert 2 == model.asked
    with Cached(OverlapPruner(), tmp_path / "c") as bare:
        assert [Pruned([0.5, 0.0, 0.0], [0.5, 0.0])] == bare.prune(["a d"], [passages])


@pytest.mark.parametrize("values", [(0.5, 1.5), (0.5, math.nan)])
def test_probabilities_that_cannot_be_are_asked_again(tmp_path, values):
    """What is not in [0, 1] is not stored."""
    model = Pruning(*values)
    with Cached(model, tmp_path / "c") as cached:
        for _ in range(2):
            cached.prune(["a?"], [[Passage("", ["a", "b"])]])

    assert 2 == model.asked


def test_values_come_back_bit_for_bit_as_json(tmp_path):
    """Subnormals, negative zero, halves of a pair; reading the file runs no code."""
    texts = ["\ud83d\ude00", "\U0001f600", "\udfff", "\x00", '"\\']
    with Cached(echo(), tmp_path / "c") as cached:
        cached.complete([ask(text) for text in texts])

        assert texts == cached.complete([ask(text) for text in texts])

    vectors = Vectors(1e-45, -0.0, 3.4028235e38, 1 / 3)
    with Cached(vectors, tmp_path / "c") as cached:
        fresh, stored = cached.embed(["a"]), cached.embed(["a"])

    assert ["a"] == vectors.asked
    assert vectors.embed(["a"]).tobytes() == fresh.tobytes() == stored.tobytes()

    with Cached(ScriptedLLM([], choices=lambda *_: [1, 3]), tmp_path / "json") as cached:
        cached.choose([ask("a")], [["x", "y"]])

    assert [[[0.25, 0.75], 1, 0, ""]] == [
        json.loads(value) for _, value, _ in entries(tmp_path / "json")
    ]


@pytest.mark.parametrize(
    ("method", "body"),
    [
        *(
            ("complete", body)
            for body in (b"", b'"wrong', b"1", b"null", b'"a"', b"\xff", b"[" * 99_999)
        ),
        ("complete", b'[["a"], 1, 1, ""]'),
        *(("choose", b'[%s, 1, 1, ""]' % value) for value in (b"[0.5, NaN]", b'["a"]', b"[2]")),
        *(("embed", b'[%s, 1, 1, ""]' % value) for value in (b'"AAAA"', b'"AACAPw"', b"1")),
    ],
)
def test_a_result_of_the_wrong_form_is_asked_again(tmp_path, method, body):
    """Even if its checksum is right; and the new result takes its place."""
    llm, vectors = echo(), Vectors(1.0, 0.0)
    calls = {
        "complete": lambda: Cached(llm, tmp_path / "c").complete([ask("a")]),
        "choose": lambda: Cached(llm, tmp_path / "c").choose([ask("a")], [["x", "y"]]),
        "embed": lambda: Cached(vectors, tmp_path / "c").embed(["a"]).tolist(),
    }
    first = calls[method]()
    ((key, _, _),) = entries(tmp_path / "c")
    change(tmp_path / "c", UPDATE, (body, checksum_of(key, body)))

    assert [first, first] == [calls[method](), calls[method]()]
    assert 2 == len(llm.prompts) + len(vectors.asked)


@pytest.mark.parametrize("value", [b'"b"', '"b"', None, 3, 0.5])
def test_a_wrong_checksum_is_a_miss(tmp_path, value):
    """Whatever type SQLite finds where the value was."""
    replies_of(tmp_path / "c", "a")
    change(tmp_path / "c", "UPDATE ragsieve_cache SET value = ?", (value,))

    assert ["a"] == replies_of(tmp_path / "c", "a")


def test_an_entry_under_anothers_key_is_a_miss(tmp_path):
    """The checksum holds key and value together."""
    replies_of(tmp_path / "c", "ab")
    (key, _, _), (_, value, checksum) = entries(tmp_path / "c")
    change(tmp_path / "c", UPDATE + " WHERE key = ?", (value, checksum, key))

    assert ["a", "b"] == replies_of(tmp_path / "c", "ab")


def test_what_fails_is_not_stored(tmp_path):
    """An error comes every time, what is not finite is given: one failure is not for ever."""
    vectors = Vectors(math.nan)
    with Cached(vectors, tmp_path / "c") as cached:
        results = [cached.embed(["a"]), cached.embed(["a"])]

    assert [True, True] == [bool(np.isnan(result).all()) for result in results]
    assert ["a", "a"] == vectors.asked

    with Cached(ScriptedLLM(["a"], context=3), tmp_path / "c") as cached:
        for _ in range(2):
            with pytest.raises(ContextOverflow):
                cached.complete([ask("one two three")], max_tokens=1)

        assert ["a"] == cached.complete([ask("b")], max_tokens=1)


DAMAGED = b"SQLite format 3\x00" + b"\xff" * 5000


@pytest.mark.parametrize("content", [b"my notes", b"SQLite", b"\0" * 4096])
def test_a_file_that_never_was_a_cache_stays(tmp_path, content):
    (tmp_path / "c").write_bytes(content)

    with pytest.raises(InputError, match=r"--cache must be a cache or a new file, got '.*c'"):
        Cached(echo(), tmp_path / "c")
    assert [(tmp_path / "c")] == [*tmp_path.iterdir()]
    assert content == (tmp_path / "c").read_bytes()


def test_a_damaged_file_is_moved_aside(tmp_path, caplog):
    """With a warning; the fresh one works, and what was moved aside before stays."""
    llm, path, content = echo(), tmp_path / "c", DAMAGED
    (tmp_path / "c.damaged").write_text("earlier")
    path.write_bytes(content)
    with Cached(llm, path) as cached:
        replies = [cached.complete([ask("a")]), cached.complete([ask("a")])]

    assert [["a"], ["a"]] == replies
    assert 1 == len(llm.prompts)
    assert content == (tmp_path / "c.damaged1").read_bytes()
    assert "earlier" == (tmp_path / "c.damaged").read_text()
    assert ["WARNING"] == [record.levelname for record in caplog.records]


@pytest.mark.parametrize("cut", [False, True])
def test_a_database_with_damaged_pages_loses_no_answer(tmp_path, cut):
    """Half its pages overwritten, or gone."""
    path, prompts = tmp_path / "c", [ask(f"{n} " + "x" * 300) for n in range(200)]
    with Cached(echo(), path) as cached:
        cached.complete(prompts, max_tokens=2)
    content = path.read_bytes()
    half = len(content) // 2
    path.write_bytes(content[:half] + (b"" if cut else b"\xa5" * (len(content) - half)))
    with Cached(echo(), path) as cached:
        replies = [cached.complete(prompts, max_tokens=2) for _ in range(2)]

    assert [echo().complete(prompts, max_tokens=2)] * 2 == replies
    with Cached(ScriptedLLM([]), path) as cached:
        assert replies[0] == cached.complete(prompts, max_tokens=2)


def test_a_file_damaged_while_open_loses_no_answer(tmp_path):
    """Another program may write over it at any time."""
    path = tmp_path / "c"
    with Cached(echo(), path) as cached:
        cached.complete([ask("a")])
        for place in tmp_path.glob("c*"):
            place.write_bytes(b"\xa5" * 4096)
        replies = cached.complete([ask("a"), ask("b")])
        cached.complete([ask("a")])

    assert [["a", "b"]] * 2 == [replies, replies_of(path, "ab")]


def test_another_programs_database_is_left_alone(tmp_path):
    """A sound file is never moved, whatever else it holds."""
    change(tmp_path / "c", "CREATE TABLE mine (x)")
    replies_of(tmp_path / "c", "a")
    change(tmp_path / "c", "INSERT INTO mine VALUES (1)")

    assert not (tmp_path / "c.damaged").exists()


@pytest.mark.parametrize("place", ["file/c", "folder"])
def test_a_place_that_holds_no_file_costs_one_warning(tmp_path, place, caplog):
    """A folder that cannot be made, or a path that is a folder."""
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    with Cached(echo(), tmp_path / place) as cached:
        replies = [cached.complete([ask(text)]) for text in "abc"]

    assert [["a"], ["b"], ["c"]] == replies
    assert ["WARNING"] == [record.levelname for record in caplog.records]


def test_a_disk_that_takes_nothing_costs_one_warning(tmp_path, caplog):
    """What is stored is still found, what is new is answered."""
    path, llm = tmp_path / "c", echo()
    replies_of(path, "a", llm)
    refuse = "CREATE TRIGGER full BEFORE INSERT ON ragsieve_cache "
    change(path, refuse + "BEGIN SELECT RAISE(FAIL, 'disk full'); END")
    with Cached(llm, path) as cached:
        replies = [cached.complete([ask("a"), ask(text)]) for text in "bcd"]

    assert [["a", "b"], ["a", "c"], ["a", "d"]] == replies
    assert [ask(text) for text in "abcd"] == llm.prompts
    assert 1 == len(caplog.records)


def test_a_file_that_stays_locked_is_gone_without(tmp_path, caplog):
    """After ``timeout_s`` the reply is given and not stored."""
    path, llm = tmp_path / "c", echo()
    with Cached(llm, path, timeout_s=0.05) as cached:
        cached.complete([ask("a")])
        other = sqlite3.connect(path)
        other.execute("BEGIN IMMEDIATE")
        replies = cached.complete([ask("a"), ask("b")])
        other.close()

    assert ["a", "b"] == replies
    assert [ask("a"), ask("b")] == llm.prompts
    assert "locked" in caplog.text


def test_many_threads_share_a_file(tmp_path, caplog):
    """Through one wrapper or several, each answer is the caller's own."""
    caplog.set_level(logging.WARNING)
    wrappers = [Cached(echo(), tmp_path / "c") for _ in range(2)]
    with ThreadPoolExecutor(8) as pool:
        calls = [pool.submit(wrappers[n % 2].complete, [ask(f"{n // 4}")]) for n in range(200)]
        replies = [call.result(30) for call in calls]
    for wrapper in wrappers:
        wrapper.close()

    assert [[f"{n // 4}"] for n in range(200)] == replies
    assert [] == caplog.records
    assert 50 == len(entries(tmp_path / "c"))


WRITER = """
import sys
from ragsieve.models.base import Message
from ragsieve.models.cache import Cached
from ragsieve.models.fake import ScriptedLLM
llm = ScriptedLLM(lambda prompt: prompt[0].content)
with Cached(llm, sys.argv[1], timeout_s=60) as cached:
    sys.stdin.readline()
    for n in range(int(sys.argv[2]), int(sys.argv[3])):
        assert cached.complete([(Message("user", f"word{n}"),)]) == [f"word{n}"]
        print(n, flush=True)
"""


def writer(path, start, end):
    command = [sys.executable, "-c", WRITER, str(path), str(start), str(end)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


@pytest.mark.slow
@pytest.mark.parametrize("damaged", [False, True])
def test_two_processes_share_a_file(tmp_path, damaged):
    """Both write 50 entries at once, into a fresh file or a damaged one; all are there."""
    if damaged:
        (tmp_path / "c").write_bytes(DAMAGED)
    processes = [writer(tmp_path / "c", start, start + 50) for start in (0, 50)]
    errors = [process.communicate("go\n", timeout=60)[1] for process in processes]
    words = [f"word{n}" for n in range(100)]

    assert words == replies_of(tmp_path / "c", words, ScriptedLLM([]))
    assert damaged == any(errors)  # whoever comes first says that it moves the file
    assert [0, 0] == [process.returncode for process in processes]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_killed_writer_leaves_a_sound_file(tmp_path):
    """What it had stored before the kill is found, nothing is moved aside."""
    process = writer(tmp_path / "c", 0, 1_000_000)
    process.stdin.write("go\n")
    process.stdin.flush()
    for _ in range(50):
        process.stdout.readline()
    process.kill()
    process.communicate(timeout=30)
    llm = echo()
    replies_of(tmp_path / "c", [*(f"word{n}" for n in range(50)), "new"], llm)

    assert [ask("new")] == llm.prompts
    assert not (tmp_path / "c.damaged").exists()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_opens_its_own_connection(tmp_path):
    """Parent and child write on, while a thread of the parent has the file in use."""
    stop = threading.Event()
    with Cached(echo(), tmp_path / "c") as cached, ThreadPoolExecutor(1) as pool:
        busy = pool.submit(
            lambda: [cached.complete([ask(f"t{n}")]) for n in range(100_000) if not stop.is_set()]
        )
        statuses = []
        for turn in range(5):
            child = os.fork()
            if child == 0:
                done = cached.complete([ask(f"child{turn}")]) == [f"child{turn}"]
                os._exit(0 if done else 1)
            statuses.append(os.waitpid(child, 0)[1])
        stop.set()
        busy.result(30)
    children = [f"child{turn}" for turn in range(5)]

    assert [0] * 5 == statuses
    assert children == replies_of(tmp_path / "c", children, ScriptedLLM([]))


def spent(model, texts):
    """What a call spends."""
    with collect_step() as seen:
        model.embed(texts)
    return seen.usages


def test_what_was_asked_for_longest_ago_goes_first():
    """Of three kept, asking for the oldest again makes the second the oldest. More texts than are
    kept are all answered, and the last ones remembered."""
    inner = Vectors(1.0)
    model = Cached(inner, most=3)
    for texts in ("abc", "a", "d", "acd", "b"):  # b goes with d
        model.embed([*texts])

    assert [*"abcdb"] == inner.asked

    model = Cached(HashingEmbedder(), most=2)

    assert HashingEmbedder().embed([*"abca"]).tolist() == model.embed([*"abca"]).tolist()
    assert [True, True] == [usage.cached for usage in spent(model, "bc")]


def test_a_model_that_charges_by_the_batch_is_charged_once():
    """What a single text cost is not known: hits cost nothing."""

    class Batch(HashingEmbedder):
        def embed(self, texts, *, query=False):
            with collect_step():
                vectors = super().embed(texts)
            record_usage([Usage("batch", 7)])
            return vectors

    model = Cached(Batch())

    assert [Usage("batch", 7)] == spent(model, ["one", "two"])
    assert [Usage("hashing:256", 0, cached=True, embedded=True)] == spent(model, ["two"])


def test_callers_own_what_they_get():
    """Writing into a vector changes nobody else's."""
    model = Cached(HashingEmbedder())
    expected = model.embed(["one"])
    model.embed(["one"])[:] = 7

    assert HashingEmbedder().embed(["one"]).tolist() == model.embed(["one"]).tolist()
    assert HashingEmbedder().embed(["one"]).tolist() == expected.tolist()


def test_threads_get_their_own_vectors():
    """Eight at once over a memory that is too small: every vector is right, none is lost."""
    model = Cached(HashingEmbedder(), most=16)
    barrier = threading.Barrier(8)

    def run(worker):
        barrier.wait()
        texts = [f"word{(worker * 7 + n) % 60}" for n in range(60)]
        return [
            HashingEmbedder().embed(some).tolist() == model.embed(some).tolist()
            for some in (texts[n : n + 4] for n in range(56))
        ]

    with ThreadPoolExecutor(8) as pool:
        found = Counter(right for part in pool.map(run, range(8)) for right in part)

    assert {True: 8 * 56} == found


def test_a_failure_has_its_cost():
    """What was spent and noted before it is charged."""

    class Failing(HashingEmbedder):
        def embed(self, texts, *, query=False):
            super().embed(texts)
            note("tried")
            raise ModelError("the server is gone")

    with collect_step() as seen, pytest.raises(ModelError):
        Cached(Failing(8)).embed(["one two"])

    assert ([Usage("hashing:8", 2, embedded=True)], ["tried"]) == (seen.usages, seen.notes)


def test_odds_of_a_reply_that_was_cut_stay_odds(tmp_path):
    class Cutting(ScriptedLLM):
        def choose(self, prompts, options):
            record_usage([Usage("m", 5, 5, note=f"{CUT} 41 tokens") for _ in prompts])
            return [[1.0, 0.0] for _ in prompts]

    with Cached(Cutting([]), tmp_path / "c") as cached, collect_step():
        assert [[1.0, 0.0]] == cached.choose([ask("a")], [["yes", "no"]])
