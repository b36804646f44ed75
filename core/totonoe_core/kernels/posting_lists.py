"""Conversion of postings from an inverted index' pool to plain lists and back.

In the lists the postings of a term follow each other without slack, so that a file can hold them
without anything else. Oracles: `tests/support/oracles_joins.py`.
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
        Number of postings to read of each term; receives the number written.
    new_slots : int32[n]
        By slot: its new number, ascending, or -1 to leave it out. Slots from n on are left out.
    slots, counts : int32[p], uint8[p]
        Receive new slots and counts; p is the sum of `sizes`.

    Returns
    -------
    int
        Number of postings written.
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


@kernel(types.boolean(int64_in, int64_out, int32_out), exact=True)
def put_terms(hashes: Int64, keys: Int64, ids: Int32) -> bool:
    """Number terms in their order, in an empty table that is large enough.

    Returns False, with the table half filled, if a term comes twice.
    """
    for term in range(hashes.shape[0]):
        place = postings._find(keys, ids, hashes[term])
        if ids[place] != 0:
            return False
        keys[place] = hashes[term]
        ids[place] = term + 1
    return True


@kernel(types.int64(types.int64), exact=True)
def _varint_bytes(value: int) -> int:
    """Return the bytes of a varint. Ends for negative values, which `write_lists` never gets."""
    size = 1
    while value >= 128:
        size += 1
        value >>= 7
    return size


@kernel(types.int64(int32_in, int32_in, uint8_in, types.int64), exact=True)
def lists_need(sizes: Int32, slots: Int32, counts: UInt8, end: int) -> int:
    """Check lists, and count the bytes of the pool that `write_lists` takes for them.

    Nothing is assumed about the contents of the arrays: each index is checked, and the work is at
    most one step for each term and posting.

    Parameters
    ----------
    sizes, slots, counts : int32[t], int32[p], uint8[p]
        Untrusted lists in the form that `flatten` writes.
    end : int64
        Slots must be below it; at most 2**31.

    Returns
    -------
    int
        Bytes, or -1: a term has no posting, sizes do not add up to p, the slots of a term do not
        ascend within [0, end), or a count is 0.
    """
    need, at = np.int64(0), np.int64(0)
    if counts.shape[0] != slots.shape[0]:
        return -1
    for term in range(sizes.shape[0]):
        if sizes[term] < 1 or sizes[term] > slots.shape[0] - at:
            return -1
        level, room, last_slot = 0, _SLICES[0], np.int64(-1)
        need += room + _LINK_BYTES
        for _ in range(sizes[term]):
            slot = np.int64(slots[at])
            if slot <= last_slot or slot >= end or counts[at] == 0:
                return -1
            size = _varint_bytes(int(slot - last_slot) << 1) + (counts[at] > 1)
            last_slot = slot
            if size > room:
                level = min(level + 1, _SLICES.shape[0] - 1)
                room = _SLICES[level]
                need += room + _LINK_BYTES
            room -= size
            at += 1
    return int(need) if at == slots.shape[0] else -1


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
        Lists that `lists_need` has accepted: their contents decide which bytes are written.
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
            size = _varint_bytes(value) + (count > 1)
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
