"""Passes of an encoder: as many at once as there are threads, whoever calls."""

import hashlib
import multiprocessing
import platform
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib import resources

import numpy as np
import onnxruntime
import pytest

from ragsieve.models.onnx import Encoder
from ragsieve.models.windows import Window
from ragsieve.timeouts import PROGRESS


class Counting(Encoder):
    """A net that notes how many passes there were at once, at most; each gives its first id."""

    def __init__(self):
        self._lock = threading.Lock()
        self._now = self.most = 0
        self.ids = []

    def _logits(self, window):
        with self._lock:
            self._now += 1
            self.ids.append(window.ids[0])
            self.most = max(self.most, self._now)
        time.sleep(0.01)
        with self._lock:
            self._now -= 1
        return np.array([[window.ids[0], 0]], np.float32)


def windows(first, most=5):
    return [Window(ids=[first + n], question=0, spans=[]) for n in range(most)]


def read(net, first, threads):
    return [int(logits[0, 0]) for logits in net.run(windows(first), threads)]


@pytest.mark.parametrize("threads", [1, 3])
def test_calls_share_the_passes(threads):
    """Of eight callers' windows as many are read at a time as one caller's, each for its caller."""
    net = Counting()
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda first: read(net, first, threads), range(0, 80, 10)))

    assert [[*range(first, first + 5)] for first in range(0, 80, 10)] == replies
    assert threads == net.most


def test_a_call_of_few_windows_does_not_wait_for_one_of_many():
    """Its windows go first; every fourth, on a busy machine more, is the one that waits longest."""
    net = Counting()
    with ThreadPoolExecutor(2) as pool:
        for first, most in ((0, 100), (1000, 9)):
            pool.submit(net.run, windows(first, most), 1)
            time.sleep(0.05)
    began, ended = map(net.ids.index, (1000, 1008))

    assert 1 <= sum(one < 1000 for one in net.ids[began:ended]) <= 20


@pytest.mark.slow
def test_a_long_call_says_how_far_it_is(caplog):
    """From two seconds on."""

    class Slow(Counting):
        def _logits(self, window):
            time.sleep(0.7)
            return super()._logits(window)

    caplog.set_level(PROGRESS, "ragsieve")
    read(Slow(), 7, 1)

    assert ["read 3 of 5 windows of the documents, 2 s so far"] == caplog.messages


def in_child(results):
    results.put(read(Counting(), 7, 2))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork")
def test_a_forked_process_reads_too():
    """Threads do not survive a fork: the child starts its own."""
    parent = read(Counting(), 7, 2)
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    child = context.Process(target=in_child, args=(results,))
    child.start()
    try:
        received = results.get(timeout=10)
    finally:
        child.kill()

    assert [7, 8, 9, 10, 11] == parent == received


@pytest.mark.parametrize("at", range(70, 130, 5))
def test_a_damaged_net_prints_nothing(at, tmp_path, capfd):
    """It is an error of the pruner alone, or reads: a command's output stays JSON."""
    folder = resources.files("ragsieve") / "weights" / "pruner"
    data = bytearray((folder / "model.onnx").read_bytes())
    data[at] = 0x9D
    (tmp_path / "model.onnx").write_bytes(data)
    with suppress(Exception):
        Encoder(tmp_path / "model.onnx")

    assert ("", "") == tuple(capfd.readouterr())


@pytest.mark.skipif(
    (platform.machine(), onnxruntime.__version__) != ("x86_64", "1.31.1"), reason="recorded there"
)
def test_the_bundled_net_gives_the_same_bits_on_every_processor():
    """Logits of a window, recorded with AVX-512 and VNNI, are those of others with AVX2."""
    ids = [101, *range(2000, 2000 + 37 * 254, 37), 102]
    with resources.as_file(resources.files("ragsieve") / "weights/pruner/model.onnx") as file:
        (logits,) = Encoder(file).run([Window(ids=ids, question=6, spans=[])], 1)

    assert "add606ed5ddbc88b" == hashlib.sha256(logits.tobytes()).hexdigest()[:16]
