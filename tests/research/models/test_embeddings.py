"""Embedders behind a server's ``/v1/embeddings``."""

from typing import Any, ClassVar

import numpy as np
import pytest

from ragsieve import ModelError, models
from ragsieve.models.embeddings import OpenAIEmbeddings
from ragsieve.trace import step
from tests.serving import Handler, served


class Embeddings(Handler):
    """A text's vector is its length and 1, in any order; ``bad`` is sent in its place."""

    bad: Any = None
    sizes: ClassVar[list[int]] = []

    def do_POST(self):
        """Reply."""
        texts = self.asked()["input"]
        self.sizes.append(len(texts))
        rows = [{"index": n, "embedding": [len(text), 1]} for n, text in enumerate(texts)]
        usage = {"prompt_tokens": 4 * len(texts)}
        self.reply(200, self.bad or {"data": rows[::-1], "usage": usage})


def test_texts_are_embedded_in_batches_of_unit_length():
    """In the order given; each is charged its share of the tokens."""
    texts = ["a" * n for n in range(1, 6)]
    with served(Embeddings) as url, step("embed") as record:
        model = models.load("openai:text-embedding-3-small", base_url=f"{url}/v1", max_texts=2)
        vectors = model.embed(texts)

    assert [2, 2, 1] == sorted(Embeddings.sizes, reverse=True)
    assert np.allclose(1, np.linalg.norm(vectors, axis=1))
    assert [1, 2, 3, 4, 5] == (vectors[:, 0] / vectors[:, 1]).round().tolist()
    assert [4] * 5 == [usage.tokens_in for usage in record.usages]


@pytest.mark.parametrize(
    "bad",
    [
        [],
        {"data": [{"index": 1, "embedding": [1.0]}]},
        {"data": [{"index": 0, "embedding": []}]},
        {"data": [{"index": 0, "embedding": [1e300, 1]}]},
    ],
)
def test_a_reply_without_a_vector_a_text_is_an_error(bad):
    """In one line."""
    with served(type("Bad", (Embeddings,), {"bad": bad or {"x": 1}})) as url:
        model = OpenAIEmbeddings("m", base_url=url, max_retries=0)

        with pytest.raises(ModelError, match="openai_embeddings:m@"):
            model.embed(["a"])


def test_vectors_before_an_error_are_charged():
    """A request of two texts is read before one that is refused."""

    class Refusing(Embeddings):
        def do_POST(self):
            self.bad = {"x": 1} if len(self.sizes) else None
            super().do_POST()

    with served(type("Own", (Refusing,), {"sizes": []})) as url, step("embed") as record:
        model = OpenAIEmbeddings("m", base_url=url, max_retries=0, max_texts=2, concurrency=1)
        with pytest.raises(ModelError):
            model.embed(["a", "b", "c", "d"])

    assert [4, 4] == [usage.tokens_in for usage in record.usages]


@pytest.mark.parametrize("usage", [[], "x", {"prompt_tokens": -3}, {"prompt_tokens": 10**400}])
def test_vectors_do_not_depend_on_what_is_said_beside(usage):
    """Words are charged where no count can be read; large vectors are of unit length, too."""
    said = {"data": [{"index": 0, "embedding": [3e30, 4e30]}], "usage": usage}
    with served(type("Odd", (Embeddings,), {"bad": said})) as url, step("embed") as record:
        vectors = OpenAIEmbeddings("m", base_url=url, max_retries=0).embed(["two words"])

    assert np.allclose([[0.6, 0.8]], vectors)
    assert [2] == [one.tokens_in for one in record.usages]
