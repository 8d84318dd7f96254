"""k-means, ellipse and hyperbola merging, on plain arrays.

Rows of ``vectors``, ``(n, dim)``, are points; a set is a sequence of row numbers, in any order, not
empty, and no row stands in two sets.
Everything is computed in float64. Equality up to rounding counts as equality: two distances are
equal if they differ by no more than a billionth of the largest at hand.

Source: WinnowRAG (arXiv 2511.04700), section 3.4; numbers of equations below are the paper's.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragsieve.errors import InputError, needs_extra

Vectors = NDArray[np.floating[Any]]
_Array = NDArray[np.float64]

_ROUNDING = 1e-9  # a share of the largest distance; far above float64's, far below any meaning
_LARGEST = 1e100  # of an entry, so that no sum of squares overflows

_one_at_a_time = threading.Lock()  # thread limits and warning filters belong to the whole process


@dataclass(frozen=True)
class Merged:
    """Result of merging sets of rows.

    Args:
        members: Their union, rising.
        values: The left side of the inequality, one a member, in the unit of the vectors.
        threshold: Its right side, in the same unit.
        kept: The members that stay, rising, at least one.
    """

    members: tuple[int, ...]
    values: tuple[float, ...]
    threshold: float
    kept: tuple[int, ...]


def inequality(value: float, threshold: float) -> str:
    """Reason why a document fell, with enough digits to show which side it fell on."""
    pairs = [(f"{value:.{digits}f}", f"{threshold:.{digits}f}") for digits in range(2, 18)]
    left, right = next((pair for pair in pairs if pair[0] != pair[1]), pairs[0])
    return f"{left} {'>' if value > threshold else '≤'} {right}"


def kmeans(vectors: Vectors, clusters: int, *, seed: int) -> list[list[int]]:
    """Sets of rows near each other: Lloyd's algorithm, the best of ten starts.

    The same call gives the same sets, whatever the number of threads.

    Args:
        vectors: ``(n, dim)``, finite. No more rows than ``clusters``: one set a row.
        clusters: Sets at most, at least 1; there are never more than distinct rows.
        seed: Where the starts are drawn from, in [0, 2**32).

    Returns:
        Disjoint sets that hold every row, none empty, by their smallest row; rows rising.

    Raises:
        InputError: If ``vectors`` is no finite matrix.
        MissingExtra: If scikit-learn is not installed.
    """
    array = _matrix(vectors)
    with needs_extra("bench"):  # which is light
        from sklearn.cluster import KMeans
        from sklearn.exceptions import ConvergenceWarning
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]
    if len(array) <= clusters:
        return [[row] for row in range(len(array))]
    distinct, labels = np.unique(array, axis=0, return_inverse=True)
    if len(distinct) > clusters:
        model = KMeans(clusters, n_init=10, algorithm="lloyd", random_state=seed)
        # Several threads would add up parts of a centroid in the order in which they finish.
        with _one_at_a_time, threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # rows equal up to rounding
            labels = model.fit(array).labels_
    sets: dict[int, list[int]] = {}
    for row, label in enumerate(labels.ravel().tolist()):
        sets.setdefault(label, []).append(row)
    return list(sets.values())


def ellipse(vectors: Vectors, *sets: Sequence[int]) -> Merged:
    """The rows whose distances to all centroids add up to no more than they do on average.

    Args:
        vectors: ``(n, dim)``, finite.
        sets: Two sets of rows or more; their order is of no account.

    Raises:
        InputError: If ``vectors`` is no finite matrix.

    Source: Equation 3.
    Differs: The paper merges two; more have one ellipse over all their centroids, as merging pair
        after pair halves the sets that agree each time.
    """
    array = _matrix(vectors)
    members = sorted(row for rows in sets for row in rows)
    distances = _distances(array, members, sets)
    values = distances.sum(axis=0)
    threshold = float(values.mean())
    # The smallest value always stays: it is no more than the mean, up to rounding.
    stays = values <= threshold + _ROUNDING * distances.max()
    return _merged(members, values, threshold, stays)


def hyperbola(vectors: Vectors, right: Sequence[int], *sets: Sequence[int]) -> Merged:
    """The rows nearer to one centroid than to the other by more than they are on average.

    If all are equally so, the first row of ``right`` stays: all have the largest difference.

    Args:
        vectors: ``(n, dim)``, finite.
        right: The set of the agent that remains.
        sets: Those of the agents that were judged incorrect; their order is of no account.

    Raises:
        InputError: If ``vectors`` is no finite matrix.

    Source: Equation 5.
    Differs: The paper merges one; several are one set, so that no order of merging counts.
    """
    array, wrong = _matrix(vectors), [row for rows in sets for row in rows]
    members = sorted([*right, *wrong])
    distances = _distances(array, members, (right, wrong))
    to_right, to_wrong = distances
    values = to_wrong - to_right
    threshold = float(to_wrong.mean() - to_right.mean())
    stays = values > threshold + _ROUNDING * distances.max()
    if not stays.any():
        stays[members.index(min(right))] = True
    return _merged(members, values, threshold, stays)


def nearest(vectors: Vectors, group: Sequence[int], others: Sequence[Sequence[int]]) -> int:
    """The place in ``others`` of the set whose centroid is nearest, the first of equal ones.

    Args:
        vectors: ``(n, dim)``, finite.
        group: The set that is measured from.
        others: At least one set.

    Raises:
        InputError: If ``vectors`` is no finite matrix.

    Source: Equation 2.
    """
    array = _matrix(vectors)
    centroids = _centroids(array, (group, *others), min(group))
    distances = np.linalg.norm(centroids[1:] - centroids[0], axis=1)  # (n_others,)
    return int(np.argmax(distances <= distances.min() + _ROUNDING * distances.max()))


def projected(vectors: Vectors) -> _Array:
    """Coordinates for a plot: the two directions in which the rows differ most, ``(n, 2)``.

    Centred; in the unit of the vectors. Where the rows differ in fewer directions, the rest is 0.
    On each axis the first row that is off 0 is positive, so the picture is never mirrored.

    Args:
        vectors: ``(n, dim)``, finite; n from 0, dim from 1.

    Raises:
        InputError: If ``vectors`` is no finite matrix.
    """
    array = _matrix(vectors)
    plane = np.zeros((len(array), 2))
    if not len(array):
        return plane
    near = array - array[0]
    places, spreads, _ = np.linalg.svd(near - near.mean(axis=0), full_matrices=False)
    for axis in np.flatnonzero(spreads[:2] > _ROUNDING * spreads[0]):
        along = places[:, axis] * spreads[axis]
        first = along[np.argmax(np.abs(along) > _ROUNDING * np.abs(along).max())]
        plane[:, axis] = along * np.sign(first)
    return plane


def _matrix(vectors: Vectors) -> _Array:
    # A fixed memory order: sums over another order round otherwise.
    array = np.ascontiguousarray(vectors, np.float64)
    if np.ndim(vectors) != 2 or not array.shape[1]:
        raise InputError(f"vectors must be (n, dim) with dim >= 1, got shape {np.shape(vectors)}")
    allowed = np.abs(array) <= _LARGEST  # false for NaN too
    if not allowed.all():
        wrong = float(array[~allowed][0])
        raise InputError(f"vectors must be finite, with entries up to {_LARGEST:g}, got {wrong!r}")
    return array


def _centroids(array: _Array, sets: Sequence[Sequence[int]], origin: int) -> _Array:
    """Means of the sets, ``(n_sets, dim)``, measured from row ``origin``.

    Equal rows far from 0 then have a mean that equals them to the last bit.
    """
    return np.stack([(array[sorted(rows)] - array[origin]).mean(axis=0) for rows in sets])


def _distances(array: _Array, members: list[int], sets: Sequence[Sequence[int]]) -> _Array:
    """From each set's centroid to each member, ``(n_sets, n_members)``."""
    origin = members[0]
    near = array[members] - array[origin]  # (n_members, dim)
    centroids = _centroids(array, sets, origin)
    return np.stack([np.linalg.norm(near - centroid, axis=1) for centroid in centroids])


def _merged(
    members: list[int], values: _Array, threshold: float, stays: NDArray[np.bool_]
) -> Merged:
    return Merged(
        members=tuple(int(row) for row in members),
        values=tuple(values.tolist()),
        threshold=threshold,
        kept=tuple(int(row) for row, stay in zip(members, stays, strict=True) if stay),
    )
