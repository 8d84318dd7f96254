"""Differences of weights in few bytes."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from ragsieve.train.packing import differences  # noqa: E402


def test_a_difference_of_the_rank_is_kept_whole() -> None:
    """Two thin matrices of 16-bit floats, whose product is the difference."""
    made = torch.Generator().manual_seed(0)
    change = torch.randn(20, 2, generator=made) @ torch.randn(2, 30, generator=made)
    before = {"w": torch.randn(20, 30, generator=made)}
    packed = differences(before, {"w": before["w"] + change}, rank=2)

    assert {"w.up": (20, 2), "w.down": (2, 30)} == {n: tuple(t.shape) for n, t in packed.items()}
    assert {torch.float16} == {tensor.dtype for tensor in packed.values()}
    torch.testing.assert_close(
        change, packed["w.up"].float() @ packed["w.down"].float(), atol=0.02, rtol=0
    )


def test_of_a_larger_rank_the_largest_part_is_kept() -> None:
    """Singular values 4 and 1: of rank 1 the first stays."""
    change = torch.zeros(9, 9)
    change[0, 0], change[1, 1] = 4.0, 1.0
    packed = differences({"w": torch.zeros(9, 9)}, {"w": change}, rank=1)

    change[1, 1] = 0.0
    torch.testing.assert_close(change, (packed["w.up"] @ packed["w.down"]).float())


def test_what_thin_matrices_would_not_make_smaller_stays() -> None:
    """Vectors, and matrices of 4 x 4 at rank 2; what is the same takes no place."""
    before = {"bias": torch.zeros(3), "w": torch.zeros(4, 4), "same": torch.ones(2)}
    after = {"bias": torch.ones(3), "w": torch.eye(4), "same": torch.ones(2)}

    assert {"bias.diff", "w.diff"} == {*differences(before, after, rank=2)}
