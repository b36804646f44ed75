"""Postings out of an inverted index' pool into plain lists, and back.

In the lists the postings of a term stand one after the other, without slack, so that they can be
kept and need nothing else to be read. Oracles: `tests/support/oracles_joins.py`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import types

from totonoe_core.kernels import postings
from totonoe_core.kernels.flags import int32_in, int32_out, int64_in, int64_out, kernel, uint8_in
from totonoe_core.kernels.postings import POOL_END, TERMS, uint8_out

UInt8 = npt.NDArray[np.uint8]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]

_SLICES = postings._SLICES
_LINK_BYTES = postings._LINK_BYTES


@kernel(types.int64(uint8_in, int64_in, int32_out, int32_in, int32_out, uint8_out), exact=True)
def flatten(
    pool: UInt8, heads: Int64, sizes: Int32, new_slots: Int32, slots: Int32, counts: UInt8
) -> int:
    """Write out the postings of some slots, term by term, under the slots' new numbers.

    Parameters
    ----------
    pool, heads
        As `postings.read_postings` takes them.
    sizes : int32[t]
        How many postings to read of each term; receives how many were written.
    new_slots : int32[n]
        By slot: its new number, ascending, or -1: it is left out, as are those from n on.
    slots, counts : int32[p], uint8[p]
        Receive new slots and counts; p is the sum of `sizes`.

    Returns
    -------
    int
        How many were written.
    """
    mask = (new_slots >= 0).view(np.uint8)
    end = 0
    for term in range(sizes.shape[0]):
        if sizes[term] == 0:
            continue
        found = postings.read_postings(
            pool, heads[term], sizes[term], mask, slots[end:], counts[end:]
        )
        sizes[term] = found
        for at in range(end, end + found):
            slots[at] = new_slots[slots[at]]
        end += found
    return end


@kernel(types.void(int64_in, int64_out, int32_out), exact=True)
def put_terms(hashes: Int64, keys: Int64, ids: Int32) -> None:
    """Number distinct terms in their order, in a table that is empty and large enough."""
    for term in range(hashes.shape[0]):
        place = postings._find(keys, ids, hashes[term])
        keys[place] = hashes[term]
        ids[place] = term + 1


@kernel(types.int64(int32_in, int32_in, uint8_in), exact=True)
def lists_need(sizes: Int32, slots: Int32, counts: UInt8) -> int:
    """Bytes of the pool that `write_lists` takes."""
    need, at = np.int64(0), 0
    for term in range(sizes.shape[0]):
        level, room, last_slot = 0, _SLICES[0], np.int64(-1)
        need += room + _LINK_BYTES
        for _ in range(sizes[term]):
            size = np.int64(counts[at] > 1)
            value = (slots[at] - last_slot) << 1
            last_slot = np.int64(slots[at])
            while True:
                size += 1
                value >>= 7
                if value == 0:
                    break
            if size > room:
                level = min(level + 1, _SLICES.shape[0] - 1)
                room = _SLICES[level]
                need += room + _LINK_BYTES
            room -= size
            at += 1
    return int(need)


@kernel(
    types.void(
        int32_in,
        int32_in,
        uint8_in,
        int64_out,
        int64_out,
        int32_out,
        uint8_out,
        int32_out,
        uint8_out,
        int64_out,
    ),
    exact=True,
)
def write_lists(
    sizes: Int32,
    slots: Int32,
    counts: UInt8,
    heads: Int64,
    tails: Int64,
    room: Int32,
    levels: UInt8,
    last_slots: Int32,
    pool: UInt8,
    state: Int64,
) -> None:
    """Write lists into the arrays of an empty index.

    Parameters
    ----------
    sizes, slots, counts
        As `flatten` leaves them, of terms that have postings.
    heads, tails, room, levels, last_slots, pool, state
        As `postings.append_postings` takes them, with room for all.
    """
    at, end = 0, np.int64(0)
    for term in range(sizes.shape[0]):
        level, last_slot = 0, np.int64(-1)
        heads[term] = tail = end
        left = _SLICES[0]
        end += left + _LINK_BYTES
        for _ in range(sizes[term]):
            count = counts[at]
            value = (slots[at] - last_slot) << 1 | (count > 1)
            last_slot = np.int64(slots[at])
            at += 1
            size = np.int64(count > 1)
            rest = value
            while True:
                size += 1
                rest >>= 7
                if rest == 0:
                    break
            if size > left:
                for byte in range(_LINK_BYTES):
                    pool[tail + left + byte] = end >> 8 * byte & 255
                level = min(level + 1, _SLICES.shape[0] - 1)
                tail, left = end, _SLICES[level]
                end += left + _LINK_BYTES
            left -= size
            while value >= 128:
                pool[tail] = value & 127 | 128
                value >>= 7
                tail += 1
            pool[tail] = value
            tail += 1
            if count > 1:
                pool[tail] = count
                tail += 1
        tails[term], room[term], levels[term], last_slots[term] = tail, left, level, last_slot
    state[TERMS], state[POOL_END] = sizes.shape[0], end
