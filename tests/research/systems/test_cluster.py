"""Sets of rows: k-means, the two mergings, and their picture."""

import math
import warnings
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from ragsieve_research.systems.cluster import ellipse, hyperbola, kmeans, nearest, projected

Array = NDArray[np.float64]
Sets = tuple[Array, list[int], list[int]]

needs_sklearn = pytest.mark.skipif(not find_spec("sklearn"), reason="scikit-learn is not installed")


def points(*rows):
    return np.array(rows, np.float64)


@st.composite
def two_sets(draw: st.DrawFn) -> Sets:
    """Points of small whole numbers, so that ties are many and all else is clearly apart."""
    dim = draw(st.integers(1, 4))
    row = st.tuples(*[st.integers(-3, 3)] * dim)
    rows = draw(st.lists(row, min_size=2, max_size=12))
    order = draw(st.permutations(range(len(rows))))
    cut = draw(st.integers(1, len(rows) - 1))
    return points(*rows), order[:cut], order[cut:]


def distance(vectors, rows, row):
    """From a row to the centroid of rows, with no array in it."""
    centroid = [math.fsum(column) / len(rows) for column in vectors[rows].T.tolist()]
    return math.dist(vectors[row].tolist(), centroid)


def test_the_mean_itself_passes_the_ellipse_but_not_the_hyperbola():
    """Sums 8 + 10; differences 4, 0, 0, -4; of equal rows all pass, or one is left."""
    corners = points((-3, 8), (-3, -8), (3, 8), (3, -8))

    merged = ellipse(corners, [0, 1], [2, 3])
    assert (18.0, (0, 1, 2, 3)) == (merged.threshold, merged.kept)

    merged = hyperbola(points((-4,), (0,), (0,), (4,)), [0, 1], [2, 3])

    assert ((4.0, 0.0, 0.0, -4.0), 0.0) == (merged.values, merged.threshold)
    assert (0,) == merged.kept

    same = np.full((6, 3), 0.1)

    assert (0, 1, 2, 3, 4, 5) == ellipse(same, [0, 1, 2], [3, 4, 5]).kept

    assert (2,) == hyperbola(same, [5, 4, 2], [0, 1, 3]).kept


@given(two_sets())
def test_ellipse_is_symmetric(sets):
    """To the last bit, and the order within a set is of no account either."""
    vectors, left, right = sets

    assert ellipse(vectors, left, right) == ellipse(vectors, right, left[::-1])


@given(two_sets())
def test_values_are_what_the_equations_say(sets):
    """Written out once more in plain numbers, in rising rows; some are kept, by the inequality."""
    vectors, right, wrong = sets
    members = sorted([*right, *wrong])
    near = [distance(vectors, right, row) for row in members]
    far = [distance(vectors, wrong, row) for row in members]
    inner, outer = ellipse(vectors, right, wrong), hyperbola(vectors, right, wrong)
    sums = [a + b for a, b in zip(near, far, strict=True)]
    gaps = [b - a for a, b in zip(near, far, strict=True)]

    assert tuple(members) == inner.members == outer.members
    assert inner.values == pytest.approx(sums)
    assert inner.threshold == pytest.approx(math.fsum(sums) / len(members))
    assert outer.values == pytest.approx(gaps, abs=1e-9)
    assert outer.threshold == pytest.approx(math.fsum(gaps) / len(members), abs=1e-9)
    within = [r for r, v in zip(members, sums, strict=True) if v <= inner.threshold + 1e-7]
    beyond = [r for r, v in zip(members, gaps, strict=True) if v > outer.threshold + 1e-7]
    assert within == [*inner.kept] != []
    assert (beyond or [min(right)]) == [*outer.kept]


@given(two_sets(), st.floats(1e-6, 1e6), st.integers(0, 99), st.floats(-9, 9))
def test_merging_knows_no_scale_rotation_or_place(sets, scale, seed, shift):
    """The same rows stay, and values and threshold grow with the scale alone, ties included."""
    vectors, left, right = sets
    noise = np.random.default_rng(seed).normal(size=(vectors.shape[1],) * 2)
    moved = (vectors @ np.linalg.qr(noise)[0] + shift) * scale
    for merge in (ellipse, hyperbola):
        before, after = merge(vectors, left, right), merge(moved, left, right)

        assert before.kept == after.kept
        assert after.values == pytest.approx([scale * v for v in before.values], abs=1e-9 * scale)
        assert after.threshold == pytest.approx(scale * before.threshold, abs=1e-9 * scale)


@pytest.mark.parametrize("merge", [ellipse, hyperbola])
def test_all_is_computed_in_double_precision(merge):
    """Embeddings come as float32 and in any memory order: to the last bit the same values."""
    single = np.random.default_rng(0).normal(size=(20, 9)).astype(np.float32)
    left, right = [*range(12)], [*range(12, 20)]

    assert merge(single.astype(np.float64), left, right) == merge(single, left, right)
    assert merge(single, left, right) == merge(np.asfortranarray(single), left, right)


def test_more_than_two_sets_have_one_ellipse():
    """0 + 6 + 5, 6 + 0 + 5, 5 + 5 + 0, mean 32/3; pair after pair kept 11% of ten sets."""
    found = ellipse(points((0, 0), (6, 0), (3, 4)), [0], [1], [2])

    assert ((11.0, 11.0, 10.0), (2,)) == (found.values, found.kept)
    assert found.threshold == pytest.approx(32 / 3)

    draw = np.random.default_rng(0)
    vectors = draw.normal(size=(50, 16))
    sets = np.array_split(draw.permutation(50), 10)

    assert 20 <= len(ellipse(vectors, *(rows.tolist() for rows in sets)).kept)


def test_nearest_is_by_centroid_and_the_first_of_equals():
    """From (0, 0): (6, 8) is 10 away, the mean of (3, 0) and (3, 8) is 5 away, (-3, -4) too."""
    vectors = points((0, 0), (6, 8), (3, 0), (3, 8), (-3, -4))

    assert 1 == nearest(vectors, [0], [[1], [2, 3], [4]])
    assert 0 == nearest(vectors, [0], [[4], [2, 3], [1]])


def test_kmeans_finds_what_lies_apart():
    """Three heaps 100 apart, dealt out in turn: sets by their smallest row, rows rising."""
    heaps = points((0, 0), (100, 0), (0, 100)).repeat(10, axis=0)
    mixed = heaps.reshape(3, 10, 2).transpose(1, 0, 2).reshape(30, 2)
    noise = np.random.default_rng(0).normal(size=(30, 2))
    expected = [[*range(0, 30, 3)], [*range(1, 30, 3)], [*range(2, 30, 3)]]

    assert [expected] * 5 == [kmeans(mixed + noise, 3, seed=seed) for seed in range(5)]


@needs_sklearn
@pytest.mark.parametrize("seed", range(4))
def test_kmeans_does_not_depend_on_the_number_of_threads(seed):
    """On a circle every halving is as good, so the last bit of a sum decides which is taken. Of
    more than 256 rows scikit-learn's threads would add up parts, as each finishes."""
    from threadpoolctl import threadpool_limits

    angles = np.arange(600) * math.tau / 600
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    with threadpool_limits(1):
        one = kmeans(circle, 2, seed=seed)
    with threadpool_limits(4):
        four = kmeans(circle, 2, seed=seed)

    assert one == four


@needs_sklearn
def test_kmeans_repeats_itself_ten_times_and_in_parallel():
    """Ten calls, then eight of four threads at once; the memory order is of no account."""
    vectors = np.random.default_rng(2).normal(size=(60, 8))
    first = kmeans(vectors, 5, seed=7)
    with ThreadPoolExecutor(4) as pool:
        parallel = [*pool.map(lambda _: kmeans(vectors, 5, seed=7), range(8))]

    assert [first] * 10 == [kmeans(np.asfortranarray(vectors), 5, seed=7) for _ in range(10)]
    assert [first] * 8 == parallel


@needs_sklearn
@pytest.mark.parametrize(
    ("rows", "clusters", "expected"),
    [
        ([], 3, []),
        ([7], 1, [[0]]),
        ([7], 3, [[0]]),
        ([7, 7, 8], 3, [[0], [1], [2]]),
        ([7, 7, 8], 9, [[0], [1], [2]]),
        ([7, 8, 9, 7], 1, [[0, 1, 2, 3]]),
        ([7, 7, 7, 7], 3, [[0, 1, 2, 3]]),
        ([8, 7, 8, 7, 8], 4, [[0, 2, 4], [1, 3]]),
        ([8, 7, 8, 7, 8], 2, [[0, 2, 4], [1, 3]]),
        ([9, 1, 2, 9, 9], 2, [[0, 3, 4], [1, 2]]),
        ([0, 1e-9, 1, 1], 3, [[0], [1], [2, 3]]),
    ],
)
def test_kmeans_of_few_or_equal_rows(rows, clusters, expected):
    """One set a row where clusters suffice, else no more than distinct rows; no warning."""
    vectors = np.array(rows).reshape(-1, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")

        assert expected == kmeans(vectors, clusters, seed=0)


@needs_sklearn
@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e-17, 1e99])
def test_kmeans_is_quiet_about_rows_that_rounding_cannot_tell_apart(scale):
    """There may be fewer sets than asked for, but none is empty and none is lost."""
    rows = points((0,), (1,)).repeat(10, axis=0) + np.arange(20).reshape(-1, 1) * 1e-17
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sets = kmeans(rows * scale, 6, seed=0)

    assert all(sets)
    assert [*range(20)] == sorted(row for rows in sets for row in rows)


@given(two_sets(), st.integers(0, 99))
def test_a_picture_of_the_plane_keeps_its_distances(sets, seed):
    """Two dimensions at most, turned into five: what is plotted is the plane again, unmirrored."""
    vectors = sets[0][:, :2]
    axes = np.linalg.qr(np.random.default_rng(seed).normal(size=(5, 5)))[0][: vectors.shape[1]]
    plane = projected(vectors @ axes)

    assert (len(vectors), 2) == plane.shape
    for row, other in zip(vectors, plane, strict=True):
        given_distances = np.linalg.norm(vectors - row, axis=1)
        assert np.linalg.norm(plane - other, axis=1) == pytest.approx(given_distances, abs=1e-9)
    assert np.zeros(2) == pytest.approx(plane.mean(axis=0), abs=1e-9)


@pytest.mark.parametrize(
    ("vectors", "expected"),
    [
        (np.zeros((0, 3)), np.zeros((0, 2))),
        (np.full((1, 3), 0.1), np.zeros((1, 2))),
        (np.full((3, 3), 0.1), np.zeros((3, 2))),
        (points((1,), (3,)), points((1, 0), (-1, 0))),
        (points((0, 0), (3, 4), (6, 8)), points((5, 0), (0, 0), (-5, 0))),
    ],
)
def test_a_picture_of_less_than_a_plane_is_0_elsewhere(vectors, expected):
    """No rows, one, equal ones, one dimension, a line; rounding is not drawn as a direction."""
    plane = projected(vectors)

    assert expected.shape == plane.shape
    assert expected == pytest.approx(plane, abs=1e-12)
    assert [0.0] * len(expected) == plane[:, 1].tolist()
