"""What was embedded lately is not embedded again."""

import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.typing import NDArray

from ragsieve.errors import ModelError
from ragsieve.models.cache import Cached
from ragsieve.models.fake import HashingEmbedder
from ragsieve.trace import Step, Usage, collect_step, note, record_usage


@dataclass(frozen=True)
class Counting(HashingEmbedder):
    """Remembers what it was asked, and tells questions from texts by the last axis."""

    asked: list[tuple[str, bool]] = field(default_factory=list)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        self.asked.extend((text, query) for text in texts)
        vectors = super().embed(texts)
        return vectors[:, ::-1] if query else vectors


def spent(model: Cached, *texts: str, query: bool = False) -> Step:
    """What a call notes and spends."""
    with collect_step() as seen:
        model.embed(texts, query=query)
    return seen


def test_what_was_asked_for_longest_ago_goes_first() -> None:
    """Of three kept, asking for the oldest again makes the second the oldest."""
    inner = Counting()
    model = Cached(inner, most=3)
    model.embed(["a", "b", "c"])
    model.embed(["a"])
    model.embed(["d"])  # b goes
    model.embed(["a", "c", "d"])
    model.embed(["b"])

    assert "abcdb" == "".join(text for text, _ in inner.asked)


def test_more_texts_than_are_kept_are_all_answered() -> None:
    """The last ones are remembered."""
    inner = Counting()
    model = Cached(inner, most=2)
    texts = ["a", "b", "c", "a"]

    assert HashingEmbedder().embed(texts).tolist() == model.embed(texts).tolist()

    model.embed(["b", "c"])

    assert "abc" == "".join(text for text, _ in inner.asked)


def test_a_model_that_charges_by_the_batch_is_charged_once() -> None:
    """What a single text cost is not known: hits cost nothing."""

    class Batch(HashingEmbedder):
        def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
            with collect_step():
                vectors = super().embed(texts)
            record_usage([Usage("batch", 7)])
            return vectors

    model = Cached(Batch())

    assert [Usage("batch", 7)] == spent(model, "one", "two").usages
    assert [Usage("hashing:256", 0, cached=True, embedded=True)] == spent(model, "two").usages


def test_callers_own_what_they_get() -> None:
    """Writing into a vector changes nobody else's."""
    model = Cached(HashingEmbedder())
    expected = model.embed(["one"])
    model.embed(["one"])[:] = 7

    assert HashingEmbedder().embed(["one"]).tolist() == model.embed(["one"]).tolist()
    assert HashingEmbedder().embed(["one"]).tolist() == expected.tolist()


def test_threads_get_their_own_vectors() -> None:
    """Eight at once over a memory that is too small: every vector is right, none is lost."""
    model = Cached(HashingEmbedder(), most=16)
    barrier = threading.Barrier(8)

    def run(worker: int) -> list[bool]:
        barrier.wait()
        texts = [f"word{(worker * 7 + n) % 60}" for n in range(60)]
        return [
            HashingEmbedder().embed(some).tolist() == model.embed(some).tolist()
            for some in (texts[n : n + 4] for n in range(56))
        ]

    with ThreadPoolExecutor(8) as pool:
        found = Counter(right for part in pool.map(run, range(8)) for right in part)

    assert {True: 8 * 56} == found


def test_a_failure_has_its_cost() -> None:
    """What was spent and noted before it is charged."""

    class Failing(HashingEmbedder):
        def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
            super().embed(texts)
            note("tried")
            raise ModelError("the server is gone")

    with collect_step() as seen, pytest.raises(ModelError):
        Cached(Failing(8)).embed(["one two"])

    assert ([Usage("hashing:8", 2, embedded=True)], ["tried"]) == (seen.usages, seen.notes)
