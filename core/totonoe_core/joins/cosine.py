"""All pairs of slots below a cosine distance.

For unit vectors x, y and an orthogonal projection P onto a few directions

    x.y = Px.Py + (x - Px).(y - Py) <= Px.Py + |x - Px| |y - Py|       (Cauchy-Schwarz)

so with a = (Px, |x - Px|) a product of short rows bounds the similarity from above: BLAS makes
those products block by block, a fused kernel drops those below the threshold, and `similarity64`
decides the few that are left. The directions are the principal ones of a sample (a random choice
prunes nothing on real embeddings); they decide how many are left, never which are found.

Why it is exact in spite of float32: projections of unit vectors are wrong by less than 4e-6 (at
1,536 dimensions), so their products by less than 8e-6 and |Px|^2 by as much. The residual is
taken from norms in float64 with `_SQUARE_SLACK` added to its square, and the threshold lowered
by `_SLACK`; both exceed the sum of these errors.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from totonoe_core.index.arrays import CHUNK, View
from totonoe_core.kernels.joins import keep_below, pairs_at_least

_SLACK = 2e-5
_SQUARE_SLACK = 1e-5
_FIRST_BLOCK = 256
"""Rows of the first block, so that the first pairs come soon; blocks double up to `_BLOCK`."""
_BLOCK = 2048
_SLICE = 256
"""Rows multiplied at once: 256 x 2,048 products are 2 MB and stay in the cache."""
_SAMPLE = 4096
_SEED = 3


class CosinePairs(NamedTuple):
    """Some pairs: slots a < b, int64[p] each, and their distance, float64[p]."""

    a: NDArray[np.int64]
    b: NDArray[np.int64]
    distance: NDArray[np.float64]


class CosineStep(NamedTuple):
    """One product of a join: number of pairs compared, and the pairs found, if any.

    The counts of a whole join add up to `pair_count`.
    """

    looked_count: int
    pairs: CosinePairs | None


@dataclass(frozen=True, slots=True)
class _Block:
    """Rows of one chunk: their place, and their short rows float32[m, width + 1]."""

    base: int
    vectors: NDArray[np.float32]
    rows: NDArray[np.int32]
    short: NDArray[np.float32]


def cosine_pairs(
    view: View,
    slots: NDArray[np.int64],
    distance_below: float,
    *,
    changed: Collection[int] | None = None,
    stop: threading.Event | None = None,
) -> Iterator[CosinePairs]:
    """Yield every pair of slots whose cosine distance is below a threshold, once.

    Parameters
    ----------
    view : View
        Taken by the caller; read without a lock for as long as the iterator lives.
    slots : int64[n]
        Slots of the view, in any order; repeats are folded.
    distance_below : float
        Cosine distance 1 - `similarity64`, in 0..2, exclusive.
    changed : collection of int, optional
        Only pairs with at least one of these slots. Those not in `slots` are left out.
    stop : threading.Event, optional
        Checked after each 256 x 2,048 products; once it is set, the iterator ends.

    Yields
    ------
    CosinePairs
        At least one pair and at most 524,288, by place in memory. A zero vector has distance 1
        to everything.
    """
    steps = cosine_steps(view, slots, distance_below, changed=changed)
    while not (stop is not None and stop.is_set()):
        step = next(steps, None)
        if step is None:
            return
        if step.pairs is not None:
            yield step.pairs


def pair_count(size: int, changed_count: int) -> int:
    """Count the pairs of `size` slots with at least one changed slot."""
    return changed_count * (changed_count - 1) // 2 + changed_count * (size - changed_count)


def cosine_steps(
    view: View,
    slots: NDArray[np.int64],
    distance_below: float,
    *,
    changed: Collection[int] | None = None,
) -> Iterator[CosineStep]:
    """Run `cosine_pairs` product by product, a millisecond each, so that it can stop at any time.

    Parameters are those of `cosine_pairs`.
    """
    slots = np.unique(slots)
    if not len(slots):
        return
    is_changed = np.ones(len(slots), np.bool_)
    if changed is not None:
        is_changed = np.isin(slots, np.fromiter(changed, np.int64, len(changed)))
        if not is_changed.any():
            return
    basis = _basis(view, slots, _width(distance_below))
    products = np.empty(_SLICE * _BLOCK, np.float32)
    found = np.empty((2, _SLICE * _BLOCK), np.int32)
    old: list[_Block] = []
    for block in _blocks(view, slots[is_changed], basis):
        old.append(block)
        for other in old:
            yield from _join(other, block, distance_below, products, found)
    for block in _blocks(view, slots[~is_changed], basis):
        for other in old:
            yield from _join(other, block, distance_below, products, found)


def _width(distance_below: float) -> int:
    """Return the number of directions to keep.

    Narrow rows multiply faster, but leave more to re-score: of 100,000 real embeddings, 64 leave 53
    for each row at distance 0.15, and 128 leave 85 at 0.30.
    """
    return 63 if distance_below <= 0.16 else 127


def _basis(view: View, slots: NDArray[np.int64], width: int) -> NDArray[np.float32]:
    """Return orthonormal columns float32[dim, width], near the principal directions of a sample.

    Three rounds of subspace iteration (Halko, Martinsson, Tropp 2011, algorithm 4.4), which
    cost less than the eigenvectors of a dim x dim matrix. Seeded: the same for the same view.
    """
    dimension = view.chunks[0].vectors.shape[1]
    if dimension <= width:
        return np.eye(dimension, dtype=np.float32)
    step = max(1, len(slots) // _SAMPLE)
    sample = view.vectors(slots[::step][:_SAMPLE])
    start = np.random.default_rng(_SEED).standard_normal((dimension, width))
    basis: NDArray[np.float32] = np.linalg.qr(start)[0].astype(np.float32)
    for _ in range(3):
        product = sample.T @ (sample @ basis)
        basis = np.linalg.qr(product.astype(np.float64))[0].astype(np.float32)
    return basis


def _blocks(view: View, slots: NDArray[np.int64], basis: NDArray[np.float32]) -> Iterator[_Block]:
    """Yield ascending slots in blocks that each lie in one chunk, the first ones small."""
    size, begin = _FIRST_BLOCK, 0
    while begin < len(slots):
        number = int(slots[begin]) // CHUNK
        end = min(begin + size, int(np.searchsorted(slots, (number + 1) * CHUNK)))
        vectors = view.chunks[number].vectors
        rows = (slots[begin:end] - number * CHUNK).astype(np.int32)
        yield _Block(number * CHUNK, vectors, rows, _short(vectors[rows], basis))
        size, begin = min(_BLOCK, 2 * size), end


def _short(vectors: NDArray[np.float32], basis: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return projections, and as last column an upper bound of the length that they leave out."""
    short = np.empty((len(vectors), basis.shape[1] + 1), np.float32)
    short[:, :-1] = vectors @ basis
    # In float64: in float32 the difference of two numbers near 1 would be unsafe.
    squared = np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64)
    squared -= np.einsum("ij,ij->i", short[:, :-1], short[:, :-1], dtype=np.float64)
    short[:, -1] = np.sqrt(np.maximum(squared, 0.0) + _SQUARE_SLACK)
    return short


def _join(
    left: _Block,
    right: _Block,
    distance_below: float,
    products: NDArray[np.float32],
    found: NDArray[np.int32],
) -> Iterator[CosineStep]:
    """Yield pairs of a block with another, or within one block."""
    at_least = 1.0 - distance_below - _SLACK
    same = left is right
    for begin in range(0, len(left.rows), _SLICE):
        # Within a block, rows before the slice were joined with it already.
        first = begin if same else 0
        a, b = left.short[begin : begin + _SLICE], right.short[first:]
        out = products[: len(a) * len(b)].reshape(len(a), len(b))
        # The rows are finite: what a kernel of BLAS does beyond their ends is not in the result.
        with np.errstate(invalid="ignore"):
            np.matmul(a, b.T, out=out)
        count = pairs_at_least(out, at_least, 1 if same else -len(a), found[0], found[1])
        looked = len(a) * len(b) - (len(a) * (len(a) + 1) // 2 if same else 0)
        if not count:
            yield CosineStep(looked, None)
            continue
        rows, columns = left.rows[begin + found[0, :count]], right.rows[first + found[1, :count]]
        distance = np.empty(count, np.float64)
        kept = keep_below(
            left.vectors, right.vectors, rows, columns, at_least, distance_below, distance
        )
        if not kept:
            yield CosineStep(looked, None)
            continue
        one = rows[:kept].astype(np.int64) + left.base
        other = columns[:kept].astype(np.int64) + right.base
        pairs = CosinePairs(np.minimum(one, other), np.maximum(one, other), distance[:kept])
        yield CosineStep(looked, pairs)
