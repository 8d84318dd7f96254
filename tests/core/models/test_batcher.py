"""Calls from several threads as one batch."""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from ragsieve.errors import ContextOverflow, ModelError
from ragsieve.models.base import Passage
from ragsieve.models.batcher import DynamicBatcher
from ragsieve.models.fake import HashingEmbedder, OverlapCrossEncoder, OverlapPruner, ScriptedLLM
from ragsieve.trace import Trace, Usage, note, record_usage, step
from tests.tiny import ask

LONG_S = 5.0  # a wait that a batch's becoming full ends, long before it is over


def at_once(calls):
    """The results of calls that begin together, a thread each."""
    ready = threading.Barrier(len(calls))

    def run(call):
        ready.wait(10)
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return [future.result(30) for future in [pool.submit(run, call) for call in calls]]


class Recorder:
    """An embedder that remembers its batches; its first call waits until ``go`` is set."""

    identity = "recorder"

    def __init__(self):
        self.batches = []
        self.started = threading.Event()
        self.go = threading.Event()

    def embed(self, texts, *, query=False):
        self.batches.append(list(texts))
        self.started.set()
        assert self.go.wait(10)
        note(f"batch of {len(texts)}")
        record_usage([Usage("recorder", len(text)) for text in texts])
        return np.array([[len(text), query] for text in texts], dtype=np.float32).reshape(-1, 2)


def behind(model, wrapper, calls):
    """The results of calls that all came in while the model was busy with another one."""
    with ThreadPoolExecutor(len(calls) + 1) as pool:
        pool.submit(wrapper.embed, ["first"])
        assert model.started.wait(10)
        futures = []
        for waiting, call in enumerate(calls, start=1):
            futures.append(pool.submit(call))
            while len(wrapper.waiting) <= waiting:
                time.sleep(0.001)
        model.go.set()
        return [future.result(30) for future in futures]


@settings(max_examples=8, deadline=None)
@given(st.lists(st.text(max_size=20), min_size=1, max_size=12), st.integers(1, 8))
def test_results_are_those_of_the_bare_model(texts, max_batch):
    """From eight threads or alone, one by one or as a list, bit for bit."""
    bare = ScriptedLLM(lambda prompt: prompt[0].content[::-1])
    embedder, pairs = HashingEmbedder(16), [(text, texts[0]) for text in texts]
    passages = [Passage("", texts)]
    with (
        DynamicBatcher(bare, max_batch=max_batch) as llm,
        DynamicBatcher(embedder, max_batch=max_batch) as vectors,
        DynamicBatcher(OverlapCrossEncoder(), max_batch=max_batch) as scorer,
        DynamicBatcher(OverlapPruner(), max_batch=max_batch) as pruner,
        ThreadPoolExecutor(8) as pool,
    ):
        replies = list(pool.map(lambda text: llm.complete([ask(text)])[0], texts))
        rows = list(pool.map(lambda text: vectors.embed([text]), texts))
        pruned = list(pool.map(lambda text: pruner.prune([text], [passages])[0], texts))

        assert bare.complete([ask(text) for text in texts]) == replies
        assert embedder.embed(texts).tobytes() == np.concatenate(rows).tobytes()
        assert embedder.embed(texts).tobytes() == vectors.embed(texts).tobytes()
        assert (0, 16) == vectors.embed([]).shape
        assert OverlapCrossEncoder().score(pairs).tobytes() == scorer.score(pairs).tobytes()
        assert OverlapPruner().prune(texts, [passages] * len(texts)) == pruned


def test_calls_that_wait_become_one_batch_of_their_kind():
    """In the order they came; questions are never embedded with texts."""
    model = Recorder()
    with DynamicBatcher(model) as wrapper:
        calls = [lambda n=n: wrapper.embed(["x" * n, "x"], query=n % 2 == 1) for n in range(4)]
        results = behind(model, wrapper, calls)

    assert [["first"], ["", "x", "xx", "x"], ["x", "x", "xxx", "x"]] == model.batches
    assert [[[n, n % 2], [1, n % 2]] for n in range(4)] == [one.tolist() for one in results]


def test_a_batch_has_at_most_max_batch_items():
    """Three calls of two items each fill batches of four; one of nine goes whole."""
    model = Recorder()
    with DynamicBatcher(model, max_batch=4) as wrapper:
        sizes = (2, 9, 2, 2)
        behind(model, wrapper, [lambda n=n: wrapper.embed(["x"] * n) for n in sizes])

    assert [1, 4, 9, 2] == [len(batch) for batch in model.batches]


@pytest.mark.parametrize(("max_batch", "threads", "times"), [(1, 4, 1), (8, 1, 20)])
def test_nobody_waits_in_vain(max_batch, threads, times):
    """Once a batch is full the rest of wait_s is not waited; a lone caller waits for nobody."""
    with DynamicBatcher(HashingEmbedder(4), max_batch=max_batch, wait_s=LONG_S) as wrapper:
        began = time.perf_counter()
        at_once([lambda: [wrapper.embed(["x"]) for _ in range(times)]] * threads)

    assert time.perf_counter() - began < LONG_S


def told(model, *calls):
    """What is told in the steps of callers whose calls are one batch."""

    def call(texts):
        with Trace().recording(), step("call") as seen:
            wrapper.embed(texts)
        return seen

    with DynamicBatcher(model) as wrapper:
        return behind(model, wrapper, [partial(call, texts) for texts in calls])


def test_each_caller_pays_for_its_own_items():
    """Usages and notes of the batch arrive in the steps of the callers. A model that charges once a
    call charges the first caller: what fits no item is not lost."""
    one, steps = Usage("recorder", 1), told(Recorder(), ["aa", "x"], ["bbb", "x"])

    assert [[Usage("recorder", 2), one], [Usage("recorder", 3), one]] == [s.usages for s in steps]
    assert [["batch of 4"]] * 2 == [s.notes for s in steps]

    class Once(Recorder):
        def embed(self, texts, *, query=False):
            with step("inner"):
                vectors = super().embed(texts, query=query)
            record_usage([Usage("once", len(texts))])
            return vectors

    assert [[Usage("once", 3)], [], []] == [s.usages for s in told(Once(), ["x"], ["x"], ["x"])]


def test_a_bad_input_fails_only_its_caller():
    """Of eight calls at once one is too long; it gets its own error, the others their replies."""
    llm = ScriptedLLM(lambda prompt: prompt[0].content, context=20)

    def call(wrapper, text):
        try:
            return wrapper.complete([ask(text)], max_tokens=5)
        except ContextOverflow as error:
            return error.needed

    with DynamicBatcher(llm, wait_s=0.1) as wrapper:
        texts = [f"word {n}" for n in range(7)] + ["long " * 30]
        results = at_once([lambda t=t: call(wrapper, t) for t in texts])
        after = wrapper.complete([ask("well again")], max_tokens=5)

    assert [*([text] for text in texts[:7]), 35] == results
    assert ["well again"] == after


def test_the_models_own_exception_arrives():
    """Whatever it is, the very object that the model raised."""
    error = ZeroDivisionError("mine")

    def reply(prompt):
        raise error

    with DynamicBatcher(ScriptedLLM(reply)) as wrapper, pytest.raises(ZeroDivisionError) as caught:
        wrapper.complete([ask("a")])

    assert error is caught.value


def test_an_interrupted_caller_takes_no_other_with_it():
    """The batch it was running goes on without it, in another caller's thread."""
    interrupted = threading.Event()

    def reply(prompt):
        if not interrupted.is_set():
            interrupted.set()
            raise KeyboardInterrupt
        return prompt[0].content

    def call(wrapper, text):
        try:
            return wrapper.complete([ask(text)])
        except KeyboardInterrupt:
            return ["interrupted"]

    with DynamicBatcher(ScriptedLLM(reply), wait_s=0.1) as wrapper:
        replies = at_once([lambda n=n: call(wrapper, f"{n}") for n in range(4)])

    assert 1 == replies.count(["interrupted"])
    assert all(reply in ([f"{n}"], ["interrupted"]) for n, reply in enumerate(replies))


def test_closing_answers_who_is_inside_and_refuses_who_comes():
    """The end of the block waits for the calls that were accepted."""
    model = Recorder()
    wrapper = DynamicBatcher(model)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(wrapper.embed, ["a"])
        assert model.started.wait(10)
        second = pool.submit(wrapper.embed, ["bb"])
        while len(wrapper.waiting) < 2:
            time.sleep(0.001)
        threading.Timer(0.05, model.go.set).start()
        wrapper.close()

    assert [[1.0], [2.0]] == [f.result(0)[:, 0].tolist() for f in (first, second)]
    with pytest.raises(ModelError, match="the wrapper of recorder is closed"):
        wrapper.embed(["c"])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_waits_for_no_thread_of_its_parent():
    """Calls that are inside stay in the parent."""
    with DynamicBatcher(HashingEmbedder(4)) as wrapper:
        wrapper.embed(["x"])
        child = os.fork()
        if child == 0:
            os._exit(0 if len(wrapper.embed(["x", "y"])) == 2 else 1)
        _, status = os.waitpid(child, 0)

    assert 0 == status
