"""Sum of boosted regression trees for one row, over flat arrays.

A tree is a root node; a node is a number into arrays of one length. An inner node sends a row to
`left` if its feature is at most `threshold`, or is NaN and `missing_left` says so; else to `right`.
A leaf has `feature` -1 and a `value`. Oracle: `tests/support/oracles.py`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import types

from totonoe_core.kernels.flags import float64_in, int32_in, kernel, uint8_in

Float64 = npt.NDArray[np.float64]
Int32 = npt.NDArray[np.int32]
UInt8 = npt.NDArray[np.uint8]


@kernel(
    types.float64(
        float64_in, int32_in, int32_in, float64_in, int32_in, int32_in, uint8_in, float64_in
    ),
    exact=True,
)
def sum_of_trees(
    row: Float64,
    roots: Int32,
    feature: Int32,
    threshold: Float64,
    left: Int32,
    right: Int32,
    missing_left: UInt8,
    value: Float64,
) -> float:
    """Return the sum of the values of the leaves that a row reaches, one in each tree.

    Parameters
    ----------
    row : float64[n]
        Features, possibly NaN.
    roots : int32[trees]
    feature, threshold, left, right, missing_left, value : array[nodes]
        Children have higher numbers than their parent, so that every walk ends.
    """
    total = 0.0
    for tree in range(roots.shape[0]):
        node = roots[tree]
        while feature[node] >= 0:
            found = row[feature[node]]
            if np.isnan(found):
                node = left[node] if missing_left[node] else right[node]
            elif found <= threshold[node]:
                node = left[node]
            else:
                node = right[node]
        total += value[node]
    return total
