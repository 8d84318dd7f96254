"""A fixed cutoff."""

from __future__ import annotations

import pytest

from ragsieve.errors import InputError
from ragsieve.select import Threshold, TopK
from ragsieve.types import Document, Segment
from tests.select.segments import QUERY, scored, traced


def test_the_cutoff_itself_is_kept() -> None:
    """At least min_score, in the order given."""
    kept = Threshold(0.5)(QUERY, scored(0.4, 0.5, 0.9, 0.1))

    assert [0.5, 0.9] == [s.score for s in kept]


def test_noise_in_the_last_digits_moves_nothing() -> None:
    """What float32 computes a millionth too low still reaches the cutoff; ties stay in order."""
    assert 3 == len(Threshold(0.5)(QUERY, scored(0.5 - 1e-6, 0.5, 0.5 + 1e-6)))
    assert ["0", "1", "2"] == [
        s.document.id for s in TopK(3)(QUERY, scored(0.5, 0.5 + 1e-6, 0.5 - 1e-6))
    ]


def test_the_best_are_spared() -> None:
    """With min_keep some stay though all score below; the order stays too."""
    kept = Threshold(0.5, min_keep=2)(QUERY, scored(0.2, 0.1, 0.3))

    assert [0.2, 0.3] == [s.score for s in kept]


def test_a_low_score_is_the_reason() -> None:
    """The reason names score and cutoff."""
    _, record = traced(Threshold(0.5), scored(0.25))

    assert ["score 0.250 is below min_score=0.5"] == [d.reason for d in record.dropped]


def test_unscored_segments_have_no_cutoff() -> None:
    """The error says what to do."""
    with pytest.raises(InputError, match="has no score yet: put a scorer before"):
        Threshold(0.5)(QUERY, [Segment.whole(Document("d", "text"))])


@pytest.mark.parametrize(
    ("best", "kept"), [(0.9, [0.9, 0.5]), (0.5, [0.5, 0.25]), (0.1, [0.1, 0.08]), (1.0, [1.0])]
)
def test_a_relative_threshold_goes_with_the_best(best: float, kept: list[float]) -> None:
    """From 0.2 on, by half the best's log-odds: 0.2 at 0.5, 0.43 at 0.9, 0.08 at 0.1, 0.71 at 1."""
    given = scored(*sorted({best, min(best, 0.5), min(best, 0.25), min(best, 0.08), 0.07})[::-1])
    stage = Threshold(0.2, relative=0.5)

    assert kept == [s.score for s in stage(QUERY, given)]
