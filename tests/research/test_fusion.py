"""Weighted reciprocal rank fusion."""

from ragsieve_research.fusion import fuse


def test_scores_are_sums_of_weighted_reciprocal_ranks() -> None:
    """Weight / (60 + rank) by key, once a ranking; ties as first seen; none of none."""
    fused = fuse([["a", "b"], ["b", "c"]], [0.25, 0.75])

    assert {"b": 0.25 / 62 + 0.75 / 61, "c": 0.75 / 62, "a": 0.25 / 61} == fused
    assert ["b", "c", "a"] == list(fused)

    assert ["x", "y", "z"] == list(fuse([["x"], ["y"], ["z"]], [1, 1, 1]))

    assert {"a": 1 / 61, "b": 1 / 62} == fuse([["a", "a", "b"]], [1])

    assert {} == fuse([[], []], [0.5, 0.5])
