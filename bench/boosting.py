"""Gradient boosting of small regression trees for a yes or no, on histograms of 64 bins.

Each tree grows best split first to `leaves` leaves. A missing value (NaN) goes to the side that
fits better; where none was missing, to the left. `monotone` holds, for each feature, 1 if the
sum may only rise with it, -1 if it may only fall, else 0. Deterministic: the same rows and seed
give the same trees, as `totonoe_core.kernels.trees` evaluates them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numba import njit
from numpy.typing import NDArray

Float64 = NDArray[np.float64]
_BINS = 63
_MISSING = 63
_NO_GAIN = 1e-6
_ALL = 1e300
"""Threshold that parts what is missing from all the rest."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How trees grow.

    Attributes
    ----------
    rate : float
        Factor on every leaf.
    ridge : float
        Added to a leaf's sum of second derivatives.
    least : float
        Smallest sum of second derivatives of a leaf.
    columns, rows : float
        Shares of features and rows that a tree sees.
    """

    trees: int = 300
    leaves: int = 8
    rate: float = 0.05
    ridge: float = 5.0
    least: float = 2.0
    columns: float = 0.5
    rows: float = 0.7
    seed: int = 7


@dataclass(slots=True)
class Trees:
    """Flat arrays, as `kernels.trees.sum_of_trees` takes them."""

    roots: list[int] = field(default_factory=list)
    feature: list[int] = field(default_factory=list)
    threshold: list[float] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    missing_left: list[int] = field(default_factory=list)
    value: list[float] = field(default_factory=list)

    def add(self) -> int:
        """Add a leaf of value 0; return its number."""
        for column, start in (
            (self.feature, -1), (self.threshold, 0.0), (self.left, -1), (self.right, -1),
            (self.missing_left, 0), (self.value, 0.0),
        ):  # fmt: skip
            column.append(start)  # type: ignore[attr-defined]
        return len(self.feature) - 1

    def sums(self, rows: Float64) -> Float64:
        """Return the sum of the trees for each row."""
        return np.asarray(
            _sums(
                np.ascontiguousarray(rows),
                np.array(self.roots, np.int32),
                np.array(self.feature, np.int32),
                np.array(self.threshold, np.float64),
                np.array(self.left, np.int32),
                np.array(self.right, np.int32),
                np.array(self.missing_left, np.uint8),
                np.array(self.value, np.float64),
            )
        )


@dataclass(slots=True)
class _Leaf:
    node: int
    rows: NDArray[np.int64]
    low: float
    high: float
    split: tuple[float, int, int, int, float, float]


def fit(
    rows: Float64, same: NDArray[np.bool_], weights: Float64, base: Float64,
    monotone: Sequence[int], by: Settings,
) -> Trees:  # fmt: skip
    """Return trees whose sum is the log odds of `same`, up to a scale that calibration sets.

    They add to `base`, the log odds that are known before.
    """
    edges = [_edges(rows[:, at]) for at in range(rows.shape[1])]
    bins = np.empty(rows.shape, np.uint8)
    for at, cuts in enumerate(edges):
        bins[:, at] = np.searchsorted(cuts, rows[:, at], "left")
        bins[np.isnan(rows[:, at]), at] = _MISSING
    rng = np.random.default_rng(by.seed)
    signs = np.array(monotone, np.int64)
    made = Trees()
    sums = base.copy()
    target = same.astype(np.float64)
    for _ in range(by.trees):
        p = 1.0 / (1.0 + np.exp(-sums))
        slope, bend = weights * (p - target), weights * p * (1.0 - p)
        seen = np.flatnonzero(rng.random(len(rows)) < by.rows)
        columns = np.flatnonzero(rng.random(rows.shape[1]) < by.columns)
        if len(columns) == 0:
            continue
        first = len(made.feature)
        _grow(made, bins, slope, bend, seen, columns, signs, edges, by)
        sums += _one(bins, made, first, edges)
    return made


def _edges(column: Float64) -> Float64:
    """Return at most 62 cuts of a column, half-way between neighbouring values."""
    values = np.unique(column[~np.isnan(column)])
    if len(values) > _BINS:
        spread = np.quantile(column[~np.isnan(column)], np.linspace(0, 1, _BINS + 1)[1:-1])
        return np.unique(spread)
    return (values[1:] + values[:-1]) / 2.0


def _grow(
    made: Trees,
    bins: NDArray[np.uint8],
    slope: Float64,
    bend: Float64,
    seen: NDArray[np.int64],
    columns: NDArray[np.int64],
    signs: NDArray[np.int64],
    edges: list[Float64],
    by: Settings,
) -> None:
    """Add a tree."""

    def leaf(node: int, rows: NDArray[np.int64], low: float, high: float) -> _Leaf:
        split = _best(bins, slope, bend, rows, columns, signs, low, high, by.ridge, by.least)
        return _Leaf(node, rows, low, high, split)

    root = made.add()
    made.roots.append(root)
    leaves = [leaf(root, seen, -np.inf, np.inf)]
    while len(leaves) < by.leaves:
        best = max(leaves, key=lambda one: one.split[0])
        gain, column, cut, missing_left, left_value, right_value = best.split
        if gain <= _NO_GAIN:
            break
        leaves.remove(best)
        goes_left = bins[best.rows, column] <= cut
        if missing_left:
            goes_left |= bins[best.rows, column] == _MISSING
        node = best.node
        cuts = edges[column]
        made.feature[node] = int(column)
        made.threshold[node] = float(cuts[cut]) if cut < len(cuts) else _ALL
        made.missing_left[node] = int(missing_left)
        middle = (left_value + right_value) / 2.0
        bounds = [(best.low, best.high), (best.low, best.high)]
        if signs[column]:
            ends = [(best.low, middle), (middle, best.high)]
            bounds = ends if signs[column] > 0 else ends[::-1]
        for side, rows in enumerate((best.rows[goes_left], best.rows[~goes_left])):
            child = made.add()
            (made.right if side else made.left)[node] = child
            made.value[child] = by.rate * (right_value if side else left_value)
            leaves.append(leaf(child, rows, *bounds[side]))


@njit(cache=True)  # type: ignore[untyped-decorator]
def _best(bins, slope, bend, rows, columns, signs, low, high, ridge, least):  # type: ignore
    """Return gain, feature, cut, side of missing values and both leaves of the best split."""
    found = (0.0, -1, 0, 0, 0.0, 0.0)
    all_slope, all_bend = 0.0, 0.0
    for row in rows:
        all_slope += slope[row]
        all_bend += bend[row]
    before = all_slope * all_slope / (all_bend + ridge)
    first, second, count = np.zeros(64), np.zeros(64), np.zeros(64)
    for column in columns:
        first[:], second[:], count[:] = 0.0, 0.0, 0.0
        for row in rows:
            at = bins[row, column]
            first[at] += slope[row]
            second[at] += bend[row]
            count[at] += 1.0
        for missing_left in range(2):
            if missing_left == 0 and count[_MISSING] == 0.0:
                continue
            left_slope = first[_MISSING] if missing_left else 0.0
            left_bend = second[_MISSING] if missing_left else 0.0
            for cut in range(_BINS - 1):
                left_slope += first[cut]
                left_bend += second[cut]
                right_slope, right_bend = all_slope - left_slope, all_bend - left_bend
                if count[cut] == 0.0 or left_bend < least or right_bend < least:
                    continue
                left = min(max(-left_slope / (left_bend + ridge), low), high)
                right = min(max(-right_slope / (right_bend + ridge), low), high)
                if signs[column] * (right - left) < 0.0:
                    continue
                gain = -before
                gain -= 2.0 * left_slope * left + (left_bend + ridge) * left * left
                gain -= 2.0 * right_slope * right + (right_bend + ridge) * right * right
                if gain > found[0]:
                    found = (gain, column, cut, missing_left, left, right)
    return found


@njit(cache=True)  # type: ignore[untyped-decorator]
def _sums(rows, roots, feature, threshold, left, right, missing_left, value):  # type: ignore
    total = np.zeros(len(rows))
    for number in range(len(rows)):
        for root in roots:
            node = root
            while feature[node] >= 0:
                seen = rows[number, feature[node]]
                goes_left = missing_left[node] if np.isnan(seen) else seen <= threshold[node]
                node = left[node] if goes_left else right[node]
            total[number] += value[node]
    return total


def _one(bins: NDArray[np.uint8], made: Trees, first: int, edges: list[Float64]) -> Float64:
    """Return the values of the last tree, which begins at a node, for all rows."""
    total = np.zeros(len(bins))
    stack = [(first, np.arange(len(bins)))]
    while stack:
        node, rows = stack.pop()
        column = made.feature[node]
        if column < 0:
            total[rows] = made.value[node]
            continue
        cut = int(np.searchsorted(edges[column], made.threshold[node]))
        goes_left = bins[rows, column] <= cut
        if made.missing_left[node]:
            goes_left |= bins[rows, column] == _MISSING
        stack += [(made.left[node], rows[goes_left]), (made.right[node], rows[~goes_left])]
    return total
