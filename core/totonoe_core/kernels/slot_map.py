"""A hash map from 32-bit tags to chains of slots, newest first, in three arrays.

    tags   uint32[c]   open addressing with linear probing, c a power of two, never full
    heads  int32[c]    newest slot of the place's tag + 2; 1: the tag has no slot; 0: free place
    older  int32[n]    by slot: the one added before it under the same tag, -1 at the end

`index/slot_map.py` says which readers may run beside the writer. Oracle: a dictionary of lists in
`tests/core/test_slot_map.py`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import types

from totonoe_core.kernels.flags import int32_in, int32_out, kernel, uint64_in

UInt32 = npt.NDArray[np.uint32]
UInt64 = npt.NDArray[np.uint64]
Int32 = npt.NDArray[np.int32]

_TAG = np.uint64(0xFFFFFFFF)

uint32_in = types.Array(types.uint32, 1, "C", readonly=True)
uint32_out = types.Array(types.uint32, 1, "C")


@kernel(types.int64(uint32_in, int32_in, types.uint32), exact=True)
def _find(tags: UInt32, heads: Int32, tag: int) -> int:
    """Return the place of a tag, or the free place where it would go."""
    last = tags.shape[0] - 1
    # Fibonacci hashing (Knuth, The Art of Computer Programming, vol. 3, 6.4).
    mixed = int(tag) * 0x9E3779B1 & 0xFFFFFFFF
    place = (mixed ^ mixed >> 15) & last
    # At most once around, even if the table is damaged.
    for _ in range(tags.shape[0]):
        if heads[place] == 0 or tags[place] == tag:
            break
        place = (place + 1) & last
    return int(place)


@kernel(types.int64(uint32_in, int32_in, types.uint32), exact=True)
def newest_slot(tags: UInt32, heads: Int32, tag: int) -> int:
    """Return the slot that was added last under a tag; -1 if none."""
    return max(-1, int(heads[_find(tags, heads, tag)]) - 2)


@kernel(types.boolean(uint32_out, int32_out, int32_out, types.uint32, types.int64), exact=True)
def put_slot(tags: UInt32, heads: Int32, older: Int32, tag: int, slot: int) -> bool:
    """Add a slot under a tag.

    Parameters
    ----------
    slot : int64
        In [0, len(older)), added nowhere yet.

    Returns
    -------
    bool
        True if it took a free place.
    """
    place = _find(tags, heads, tag)
    head = int(heads[place])
    older[slot] = max(-1, head - 2)
    tags[place] = tag
    heads[place] = slot + 2
    return bool(head == 0)


@kernel(
    types.int64(uint32_out, int32_out, int32_out, uint64_in, types.int64, types.boolean),
    exact=True,
)
def put_slots(
    tags: UInt32, heads: Int32, older: Int32, values: UInt64, first: int, without_zero: bool
) -> int:
    """Add slots from one on under the lower halves of their values; return the places taken.

    `without_zero` leaves out those of value 0.
    """
    taken = 0
    for at in range(values.shape[0]):
        if values[at] != 0 or not without_zero:
            taken += put_slot(tags, heads, older, int(values[at] & _TAG), first + at)
    return taken


@kernel(types.void(uint32_in, int32_out, int32_in, types.uint32), exact=True)
def take_newest(tags: UInt32, heads: Int32, older: Int32, tag: int) -> None:
    """Remove the slot that was added last under a tag; there must be one."""
    place = _find(tags, heads, tag)
    heads[place] = older[heads[place] - 2] + 2


@kernel(types.int64(int32_in, types.int64, int32_out), exact=True)
def follow(older: Int32, slot: int, out: Int32) -> int:
    """Return the length of the chain from a slot on; `out` receives as many of its slots as fit.

    Slots of a chain descend; the chain ends where they do not.
    """
    count = 0
    last = older.shape[0]
    while 0 <= slot < last:
        last = slot
        if count < out.shape[0]:
            out[count] = slot
        count += 1
        slot = int(older[slot])
    return count


@kernel(types.void(uint32_in, int32_in, uint32_out, int32_out), exact=True)
def move_tags(tags: UInt32, heads: Int32, new_tags: UInt32, new_heads: Int32) -> None:
    """Copy a table into a larger, empty one."""
    for at in range(tags.shape[0]):
        if heads[at] != 0:
            place = _find(new_tags, new_heads, tags[at])
            new_tags[place] = tags[at]
            new_heads[place] = heads[at]
