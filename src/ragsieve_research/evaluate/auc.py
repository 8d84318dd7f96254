"""The area under the ROC curve, on the core alone."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def auc(grades: NDArray[Any], scores: NDArray[np.floating[Any]]) -> float | None:
    """Probability that one that helps scores above one that does not, in [0, 1]; ties count half.

    Where the grade is over 0, a segment helps. None without segments of both kinds.
    """
    good, other = scores[grades > 0], scores[grades <= 0]
    if not len(good) or not len(other):
        return None
    difference = good[:, None] - other  # (n_good, n_other)
    return float(((difference > 0) + 0.5 * (difference == 0)).mean())
