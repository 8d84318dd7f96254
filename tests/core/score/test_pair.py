"""Cross-encoders."""

import numpy as np
import pytest

from ragsieve import ModelError, Query
from ragsieve.models.fake import OverlapCrossEncoder
from ragsieve.score.pair import Pair
from tests.segments import wholes

QUERY = Query("who sang summer breeze")


class Recorder:
    """A cross-encoder that remembers its pairs and gives what it was told to."""

    identity = "recorder"

    def __init__(self, *values):
        self.values = values
        self.pairs = []

    def score(self, pairs):
        self.pairs += pairs
        return np.array(self.values, dtype=np.float32)


def test_the_model_reads_title_question_and_segment():
    """Its score is the score: two of the question's four words, then none."""
    scored = Pair(OverlapCrossEncoder())(QUERY, wholes("A summer breeze.", "It rained."))

    assert [2 / 4, 0] == [s.score for s in scored]
    assert {"pair"} == {*scored[0].scores}

    model = Recorder(1.0)
    Pair(model)(QUERY, wholes("It sold.", title="Song"))

    assert [(QUERY.text, "Song: It sold.")] == model.pairs


@pytest.mark.parametrize("values", [(), (1.0, 2.0), (float("nan"),), (float("inf"),)])
def test_a_model_that_gives_no_score_is_an_error(values):
    """Too few, too many, or no numbers never become a ranking."""
    with pytest.raises(ModelError, match="must give 1 finite scores"):
        Pair(Recorder(*values))(QUERY, wholes("text"))
