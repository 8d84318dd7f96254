"""What was embedded lately is not embedded again."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.typing import NDArray

from ragsieve.errors import InputError, ModelError, Unsupported
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


def test_each_text_is_embedded_once() -> None:
    """In one call or in several; only what is new is asked for, in the order of the texts."""
    inner = Counting()
    model = Cached(inner)
    model.embed(["one", "two", "one"])
    model.embed(["three", "two", "four"])

    assert [(text, False) for text in ("one", "two", "three", "four")] == inner.asked


def test_vectors_are_those_of_the_model_inside() -> None:
    """Known, new and twice in one call, each in its place."""
    model = Cached(HashingEmbedder())
    model.embed(["one", "two"])
    texts = ["three", "two", "three", "one", "two"]
    expected, found = HashingEmbedder().embed(texts), model.embed(texts)

    assert expected.tolist() == found.tolist()
    assert (expected.dtype, expected.shape) == (found.dtype, found.shape)


def test_questions_and_texts_are_kept_apart() -> None:
    """The same words have another vector where they ask."""
    inner = Counting()
    model = Cached(inner)
    text, query = model.embed(["one"]), model.embed(["one"], query=True)

    assert [("one", False), ("one", True)] == inner.asked
    assert text.tolist() != query.tolist()
    assert query.tolist() == model.embed(["one"], query=True).tolist()
    assert text.tolist() == model.embed(["one"]).tolist()
    assert 2 == len(inner.asked)


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


def test_a_hit_is_charged_as_cached_with_the_tokens_it_once_cost() -> None:
    """One usage an item, paid ones first."""
    model = Cached(HashingEmbedder(8))
    paid = spent(model, "one two", "three")
    mixed = spent(model, "one two", "four", "one two", "four")

    assert [
        Usage("hashing:8", 2, embedded=True),
        Usage("hashing:8", 1, embedded=True),
    ] == paid.usages
    assert Usage("hashing:8", 1, embedded=True) == mixed.usages[0]
    assert [
        Usage("hashing:8", 2, cached=True, embedded=True),
        Usage("hashing:8", 2, cached=True, embedded=True),
        Usage("hashing:8", 1, cached=True, embedded=True),
    ] == mixed.usages[1:]


def test_what_a_hit_says_of_its_item_is_said_again() -> None:
    """Notes of single items belong to the text, notes of a call to the call."""

    class Cutting(HashingEmbedder):
        def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
            with collect_step():
                vectors = super().embed(texts)
            note("on the CPU")
            record_usage([Usage("cutting", 512, note="cut to 512 tokens") for _ in texts])
            return vectors

    model = Cached(Cutting())
    first, again = spent(model, "one"), spent(model, "one")

    assert ["on the CPU", "cut to 512 tokens"] == first.messages
    assert ["cut to 512 tokens"] == again.messages


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


@pytest.mark.parametrize("text", ["", " ", "\ud800", "\x00", "A" * 10**6])
def test_any_text_is_remembered(text: str) -> None:
    """Empty, unencodable or long."""
    inner = Counting()
    model = Cached(inner)

    assert model.embed([text]).tolist() == model.embed([text]).tolist()
    assert 1 == len(inner.asked)


def test_a_failure_is_not_remembered() -> None:
    """The next call asks again."""

    class Flaky(Counting):
        def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
            found = super().embed(texts, query=query)
            if len(self.asked) == 1:
                raise ModelError("the server is gone")
            return found

    inner = Flaky()
    model = Cached(inner)
    with pytest.raises(ModelError, match="is gone"):
        model.embed(["one"])

    assert HashingEmbedder().embed(["one"]).tolist() == model.embed(["one"]).tolist()
    assert 2 == len(inner.asked)


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


def test_no_texts_are_no_vectors_of_the_same_length() -> None:
    """As the model inside has it."""
    assert (0, 8) == Cached(HashingEmbedder(8)).embed([]).shape


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


def test_it_stands_for_the_model_inside() -> None:
    """In a trace and in a cache; it has no call that the model has not."""
    model = Cached(HashingEmbedder(8))

    assert ("hashing:8", "HashingEmbedder(dim=8)") == (model.identity, repr(model))
    with pytest.raises(Unsupported, match="has no score"):
        model.score([("a", "b")])


def test_a_model_with_too_few_vectors_is_told() -> None:
    """Nothing of it is remembered."""

    class Short(HashingEmbedder):
        def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
            return super().embed(texts)[1:]

    with pytest.raises(ModelError, match="must give 2 results, got 1"):
        Cached(Short()).embed(["one", "two"])


def test_most_is_checked() -> None:
    """The error names option, rule and value."""
    with pytest.raises(InputError, match="most must be at least 1, got 0"):
        Cached(HashingEmbedder(), most=0)
