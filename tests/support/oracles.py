"""Slow twins of the kernels: plain Python over plain numbers, the specification of the results.

They import nothing of the package and no numba. Arrays come in, are turned into lists, and
every loop is written out; where a kernel may reorder a sum, the twin's is exact (`fsum`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any


def _floats(values: Any) -> list[float]:
    return [float(value) for value in values]


def exact_similarity(a: Any, b: Any) -> float:
    """Correctly rounded dot product."""
    return math.fsum(x * y for x, y in zip(_floats(a), _floats(b), strict=True))


def ordered_similarity(a: Any, b: Any) -> float:
    """Float64 dot product summed from the first column to the last, rounded at each step."""
    total = 0.0
    for x, y in zip(_floats(a), _floats(b), strict=True):
        total = total + x * y
    return total


def rows_at_least(block: Any, mask: Any, query: Any, threshold: float) -> list[int]:
    """Row numbers, ascending, that pass the mask and reach the threshold."""
    return [
        row
        for row in range(len(block))
        if mask[row] and exact_similarity(block[row], query) >= threshold
    ]


def nearest_rows(block: Any, mask: Any, vectored: Any, query: Any, limit: int) -> list[int]:
    """Rows of which fewer than `limit` others are nearer, ascending."""
    left = [row for row in range(len(block)) if mask[row] and vectored[row]]
    near = {row: exact_similarity(block[row], query) for row in left}
    least = sorted(near.values(), reverse=True)[:limit]
    return [row for row in left if limit and near[row] >= least[-1]]


def visible(
    status: Any, replaced_by: Any, private: Any, agent: Any, wanted: Any, count: int, own: int
) -> list[bool]:
    """Whether each slot is its memory's newest, of a wanted status, and public or the agent's."""
    return [
        bool(wanted[status[slot]])
        and replaced_by[slot] >= count
        and (not private[slot] or agent[slot] == own)
        for slot in range(len(status))
    ]


def unit(vector: Any) -> list[float]:
    """The vector over its norm, in float64; zeros stay zeros."""
    values = _floats(vector)
    norm = math.sqrt(math.fsum(value * value for value in values))
    return [value / norm for value in values] if norm else values


def jaccard(a: Any, b: Any) -> float:
    """Shared elements over all elements; 0 if there are none to share."""
    left, right = {int(value) for value in a}, {int(value) for value in b}
    if not left or not right:
        return 0.0
    return len(left & right) / len(left | right)


def jaccard_above(
    rows: Sequence[Any], mask: Any, query: Any, threshold: float
) -> list[tuple[int, float]]:
    """(row, similarity) of rows that pass the mask and lie strictly above the threshold."""
    return [
        (number, jaccard(row, query))
        for number, row in enumerate(rows)
        if mask[number] and jaccard(row, query) > threshold
    ]


def coordinates(vector: Any, basis: Any) -> list[float]:
    """Dot products of a vector with the rows of a basis."""
    return [exact_similarity(vector, direction) for direction in basis]


def length_left_over(vector: Any, basis: Any, along: Any) -> float:
    """Length of a vector less its part along a basis: `along[i]` times row i, for all i."""
    left = _floats(vector)
    for value, direction in zip(_floats(along), basis, strict=True):
        left = [x - value * y for x, y in zip(left, _floats(direction), strict=True)]
    return math.sqrt(math.fsum(x * x for x in left))


def sum_of_trees(
    row: Any,
    roots: Any,
    feature: Any,
    threshold: Any,
    left: Any,
    right: Any,
    missing_left: Any,
    value: Any,
) -> float:
    """Sum of the leaves that a row of features reaches, tree by tree, each walk by recursion."""

    def leaf(node: int) -> float:
        if int(feature[node]) < 0:
            return float(value[node])
        found = float(row[int(feature[node])])
        if math.isnan(found):
            goes_left = int(missing_left[node]) == 1
        else:
            goes_left = found <= float(threshold[node])
        return leaf(int(left[node]) if goes_left else int(right[node]))

    total = 0.0
    for root in roots:
        total = total + leaf(int(root))
    return total
