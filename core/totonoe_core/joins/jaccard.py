"""All pairs of slots above a Jaccard similarity of their token sets.

Tokens are numbered from the rarest to the commonest of the run, in an order that is fixed for the
run, and sets are taken from the smallest to the largest. If a pair needs c common tokens, then the
first |x| - c + 1 tokens of one and the first |y| - c + 1 of the other share one. Only those
prefixes, which hold the rare tokens, are indexed and looked up (Bayardo, Ma, Srikant, "Scaling Up
All Pairs Similarity Search", 2007; the shorter index prefix is that of Xiao, Wang, Lin, Yu,
"Efficient Similarity Joins for Near Duplicate Detection", 2008). The remaining pairs are filtered
by size and by bitmaps (Sandes, Teodoro, Melo, "Bitmap Filter: Speeding up Exact Set Similarity
Joins with Bitwise Operations", 2020), of one word in the index itself and then of several, and
merged in full.

Why it is exact: each filter is an upper bound on the common tokens, compared with a need that is
at most one too low (`kernels.joins.overlap_needed`); the last comparison is that of
`kernels.jaccard.jaccard_pair`, with the same bits. An empty set is similar to nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from totonoe_core.index.arrays import View
from totonoe_core.kernels.joins import (
    STRETCH,
    Index,
    fold_bits,
    index_prefixes,
    prefix_total,
    probe_rows,
)

_WORDS = 4
"""64-bit words of the bitmap of a close look."""
_PAIRS = 1 << 16
"""Pairs that one step can at least hold."""
_FIRST_WORK = 1 << 18
_WORK = 1 << 24
"""Index entries that one step reads: about a millisecond first, then some tens."""


class JaccardPairs(NamedTuple):
    """Some pairs: a < b, int64[p] each, and their similarity, float64[p]."""

    a: NDArray[np.int64]
    b: NDArray[np.int64]
    similarity: NDArray[np.float64]


class JaccardStep(NamedTuple):
    """Part of a join: the share of it that is done, 0..1, and the pairs found, if any."""

    done: float
    pairs: JaccardPairs | None


def jaccard_pairs(
    view: View,
    slots: NDArray[np.int64],
    similarity_above: float,
    *,
    changed: Collection[int] | None = None,
    stop: threading.Event | None = None,
) -> Iterator[JaccardPairs]:
    """Yield every pair of slots whose Jaccard similarity is above a threshold, once.

    Parameters
    ----------
    view : View
        Taken by the caller. Before the first pair its tokens are copied, 4 bytes each, and those
        of the prefixes indexed, 12 bytes each.
    slots : int64[n]
        Slots of the view, in any order; repeats are folded.
    similarity_above : float
        In 0..1 without 1, exclusive. Near 0 nearly every pair that shares a token is read.
    changed : collection of int, optional
        Only pairs with at least one of these slots.
    stop : threading.Event, optional
        Checked between steps of a few million index entries.

    Yields
    ------
    JaccardPairs
        Slots; at least one pair.
    """
    steps = jaccard_steps(view, slots, similarity_above, changed=changed)
    while not (stop is not None and stop.is_set()):
        step = next(steps, None)
        if step is None:
            return
        if step.pairs is not None:
            yield step.pairs


def jaccard_steps(
    view: View,
    slots: NDArray[np.int64],
    similarity_above: float,
    *,
    changed: Collection[int] | None = None,
) -> Iterator[JaccardStep]:
    """Run `jaccard_pairs` step by step, so that it can stop at any time."""
    slots = np.unique(slots)
    indptr, values = _gather(view, slots)
    if changed is not None:
        wanted = np.fromiter(changed, np.int64, len(changed))
        changed = set(np.flatnonzero(np.isin(slots, wanted)).tolist())
    for step in steps_of_sets(indptr, values, similarity_above, changed):
        pairs = step.pairs
        if pairs is None:
            yield step
        else:
            found = JaccardPairs(slots[pairs.a], slots[pairs.b], pairs.similarity)
            yield JaccardStep(step.done, found)


def steps_of_sets(
    indptr: NDArray[np.int64],
    values: NDArray[np.uint64],
    similarity_above: float,
    changed: Collection[int] | None = None,
) -> Iterator[JaccardStep]:
    """Run the join on CSR rows, in row numbers.

    Parameters
    ----------
    indptr : int64[n + 1]
        Row bounds, from 0.
    values : uint64[nnz]
        Token hashes, unique inside each row.
    similarity_above, changed
        As `jaccard_pairs` takes them, in rows.
    """
    assert 0.0 <= similarity_above < 1.0
    sizes = np.diff(indptr)
    is_changed = np.ones(len(sizes), np.uint8)
    if changed is not None:
        is_changed[:] = 0
        is_changed[np.fromiter(changed, np.int64, len(changed))] = 1
    if not is_changed.any():
        return
    # Smallest first, ties by row, without empty sets.
    order = np.argsort(sizes, kind="stable")
    order = order[int(np.count_nonzero(sizes == 0)) :]
    ranks, tokens = _ranks(indptr, values, order)
    bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes[order])])
    is_changed = is_changed[order]
    folded, bits = (np.zeros((len(order), words), np.uint64) for words in (1, _WORDS))
    fold_bits(bounds, ranks, folded)
    fold_bits(bounds, ranks, bits)
    of_one_word = folded[:, 0]
    every, some = (
        _index(bounds, ranks, of_one_word, chosen, similarity_above, tokens)
        for chosen in (np.ones_like(is_changed), is_changed * (not is_changed.all()))
    )
    seen, scratch = np.full(len(order), -1, np.int32), np.empty(2 * STRETCH, np.int32)
    capacity = max(len(order), _PAIRS)
    a, b = np.empty(capacity, np.int32), np.empty(capacity, np.int32)
    similarity = np.empty(capacity, np.float64)
    state = np.array([0, 0, _FIRST_WORK], np.int64)
    while state[0] < len(order):
        probe_rows(
            bounds, ranks, of_one_word, bits, is_changed, similarity_above, every, some,
            seen, scratch, state, a, b, similarity,
        )  # fmt: skip
        state[2] = min(_WORK, 2 * int(state[2]))
        count, done = int(state[1]), int(state[0]) / len(order)
        pairs = None
        if count:
            one, other = order[a[:count]], order[b[:count]]
            pairs = JaccardPairs(
                np.minimum(one, other), np.maximum(one, other), similarity[:count].copy()
            )
        yield JaccardStep(done, pairs)


def _index(
    bounds: NDArray[np.int64],
    ranks: NDArray[np.int32],
    folded: NDArray[np.uint64],
    chosen: NDArray[np.uint8],
    similarity_above: float,
    tokens: int,
) -> Index:
    """Index prefixes of chosen rows; the part of each list that is in reach starts empty."""
    size = prefix_total(bounds, chosen, similarity_above)
    starts = np.zeros(tokens + 1, np.int64)
    rows, words = np.empty(size, np.int32), np.empty(size, np.uint64)
    index_prefixes(bounds, ranks, folded, chosen, similarity_above, starts, rows, words)
    return starts, rows, words, np.stack([starts[:-1], starts[:-1]])


def _ranks(
    indptr: NDArray[np.int64], values: NDArray[np.uint64], order: NDArray[np.int64]
) -> tuple[NDArray[np.int32], int]:
    """Number tokens, rarest first (ties by hash), ascending in each row; rows in `order`."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    number = np.empty(len(counts), np.int64)
    number[np.argsort(counts, kind="stable")] = np.arange(len(counts))
    place = np.empty(len(indptr) - 1, np.int64)
    place[order] = np.arange(len(order))
    # One sort of (row, token) pairs in 64 bits puts rows and the tokens inside them in order.
    keys = np.repeat(place, np.diff(indptr)) << 32 | number[inverse]
    keys.sort()
    return (keys & 0xFFFFFFFF).astype(np.int32), len(counts)


def _gather(view: View, slots: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Return tokens of ascending slots as CSR."""
    sizes = [np.zeros(1, np.int64)]
    values = [np.zeros(0, np.uint64)]
    for base, size, chunk in view.parts():
        rows = slots[slice(*np.searchsorted(slots, (base, base + size)))] - base
        begin = chunk.indptr[rows]
        length = chunk.indptr[rows + 1] - begin
        sizes.append(length)
        first = np.cumsum(length) - length
        at = np.arange(int(length.sum())) + np.repeat(begin - first, length)
        values.append(chunk.tokens[at])
    return np.cumsum(np.concatenate(sizes)), np.concatenate(values)
