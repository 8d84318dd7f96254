"""Cosine to the question."""

import numpy as np
import pytest

from ragsieve.score.embedding import Cosine
from ragsieve.types import Query
from tests.segments import wholes


class Angles:
    """An embedder of the plane: a text is an angle in degrees; it remembers what it was given."""

    identity = "angles"

    def __init__(self):
        self.asked = []

    def embed(self, texts, *, query=False):
        self.asked.append((list(texts), query))
        radians = np.radians([float(text.rpartition(": ")[2]) for text in texts])
        return np.stack([np.cos(radians), np.sin(radians)], axis=1).astype(np.float32)


def test_the_score_is_the_cosine():
    """cos 0° = 1, cos 60° = 1/2, cos 90° = 0, cos 180° = -1; the question embedded as one."""
    scored = Cosine(Angles())(Query("0"), wholes("0", "60", "90", "180"))

    assert [1, 0.5, 0, -1] == pytest.approx([s.score for s in scored], abs=1e-6)
    assert {"cosine"} == {*scored[0].scores}

    embedder = Angles()
    Cosine(embedder)(Query("0"), wholes("60", "90"))

    assert [(["0"], True), (["60", "90"], False)] == embedder.asked


@pytest.mark.parametrize(("titles", "expected"), [(True, "Degrees: 60"), (False, "60")])
def test_titles_are_embedded_where_asked(titles, expected):
    """A title before a sentence says of what it speaks."""
    embedder = Angles()
    Cosine(embedder, titles=titles)(Query("0"), wholes("60", title="Degrees"))

    assert [expected] == embedder.asked[1][0]
