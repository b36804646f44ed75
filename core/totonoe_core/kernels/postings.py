"""Postings of an inverted index in one pool of bytes.

A term is known by a 64-bit hash. Its postings lie in slices of the pool that are linked one to
the next and get longer (after the byte slices of Lucene's `ByteBlockPool`): nothing is ever
moved, and a term that occurs once takes ten bytes. A posting is

    varint    2 * delta + (count > 1), delta = slot - slot before it (-1 before the first), >= 1
    byte      count, at most 255; only if the flag is set

so its first byte is never 0, and a 0 where a posting could begin, or the end of the slice,
means "go on in the next slice". Frequent terms take about 1.2 bytes a posting.

Readers run beside the writer without a lock. They read `limits[i]` postings of a term, a number
that the writer raises only after the bytes are written (see `index.lexical`), and ignore everything
after them. The hash table may gain entries while it is read: they belong to terms whose postings
the reader's limits do not reach yet.

Oracles: `tests/support/oracles_joins.py`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import types

from totonoe_core.kernels.flags import (
    int32_in,
    int32_out,
    int64_in,
    int64_out,
    kernel,
    uint8_in,
)

UInt8 = npt.NDArray[np.uint8]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]

uint8_out = types.Array(types.uint8, 1, "C")

POSTING_BYTES_MAX = 6
"""Longest posting: five bytes of varint for slots below 2**31, and the count."""
_LINK_BYTES = 4
_SLICES = np.array(
    [6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048], np.int64
)
"""Bytes of the first, second, ... slice of a term without its link; the last size repeats."""

TERMS, POOL_END = 0, 1
"""Places in the writer's `state`: the number of terms, and the first free byte."""


@kernel(types.int64(int64_in, int32_in, types.int64), exact=True)
def _find(keys: Int64, ids: Int32, key: int) -> int:
    """Return the place of a key in the table, or the free place where it would go."""
    last = keys.shape[0] - 1
    at = (key ^ (key >> 32)) & last
    # At most once around, even if the table is damaged.
    for _ in range(keys.shape[0]):
        if ids[at] == 0 or keys[at] == key:
            break
        at = (at + 1) & last
    return int(at)


@kernel(types.void(int64_in, int32_in, int64_in, int32_out), exact=True)
def find_terms(keys: Int64, ids: Int32, hashes: Int64, out: Int32) -> None:
    """Look up the numbers of the terms with these hashes.

    Parameters
    ----------
    keys, ids : int64[c], int32[c]
        Open addressing with linear probing; c is a power of two and at least one place is free.
        `ids` holds the term's number + 1, 0 where a place is free.
    hashes : int64[m]
        Any.
    out : int32[m]
        Receives the numbers, -1 for terms that are not in the table.
    """
    for at in range(hashes.shape[0]):
        out[at] = ids[_find(keys, ids, hashes[at])] - 1


@kernel(types.void(int64_in, int32_in, int64_out, int32_out), exact=True)
def rehash(keys: Int64, ids: Int32, new_keys: Int64, new_ids: Int32) -> None:
    """Copy a table into a larger, empty one."""
    for at in range(keys.shape[0]):
        if ids[at] != 0:
            place = _find(new_keys, new_ids, keys[at])
            new_keys[place] = keys[at]
            new_ids[place] = ids[at]


@kernel(
    types.int64(
        int64_in, int64_out, int32_out, int64_out, int32_out, int32_out, int32_out, int64_out
    ),
    exact=True,
)
def fold_terms(
    hashes: Int64,
    keys: Int64,
    ids: Int32,
    heads: Int64,
    seen_at: Int32,
    touched: Int32,
    counts: Int32,
    state: Int64,
) -> int:
    """Number the terms of one memory, new ones included, and count their repeats.

    Parameters
    ----------
    hashes : int64[m]
        Terms of the memory, with repeats.
    keys, ids : int64[c], int32[c]
        As `find_terms` takes them, with more than m places free.
    heads, seen_at : int64[t], int32[t]
        By term number, with room for m new ones. A new term gets head -1. `seen_at` may hold
        anything: it is trusted only where `touched` agrees (the sparse set of Briggs and
        Torczon, "An Efficient Representation for Sparse Sets", 1993).
    touched, counts : int32[m]
        Receive each distinct term's number, in order of first occurrence, and its number of
        occurrences.
    state : int64[2]
        `state[TERMS]` is raised by the new terms.

    Returns
    -------
    int
        Number of distinct terms.
    """
    distinct = 0
    for at in range(hashes.shape[0]):
        place = _find(keys, ids, hashes[at])
        term = ids[place] - 1
        if term < 0:
            term = state[TERMS]
            state[TERMS] += 1
            heads[term] = -1
            keys[place] = hashes[at]
            ids[place] = term + 1
        seen = seen_at[term]
        if 0 <= seen < distinct and touched[seen] == term:
            counts[seen] += 1
        else:
            seen_at[term] = distinct
            touched[distinct] = term
            counts[distinct] = 1
            distinct += 1
    return distinct


@kernel(
    types.void(
        types.int64,
        int32_in,
        int32_in,
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
def append_postings(
    slot: int,
    touched: Int32,
    counts: Int32,
    heads: Int64,
    tails: Int64,
    room: Int32,
    levels: UInt8,
    last_slots: Int32,
    pool: UInt8,
    state: Int64,
) -> None:
    """Write one posting for each term of a memory.

    Parameters
    ----------
    slot : int64
        Higher than every slot written before, below 2**31.
    touched, counts : int32[m]
        Distinct term numbers, and counts >= 1; counts above 255 are written as 255.
    heads : int64[t]
        Start of a term's first slice, -1 if it has none; set for those.
    tails, room, levels, last_slots : int64[t], int32[t], uint8[t], int32[t]
        The writer's: next byte to write, bytes left in the slice, its place in `_SLICES`, and
        the slot of the last posting. Read only where the head is set.
    pool : uint8[p]
        Zero from `state[POOL_END]` on, with room for `pool_need` bytes.
    state : int64[2]
        `state[POOL_END]` moves past the new slices.
    """
    for at in range(touched.shape[0]):
        term = touched[at]
        count = min(counts[at], 255)
        if heads[term] < 0:
            heads[term] = tails[term] = state[POOL_END]
            levels[term], room[term], last_slots[term] = 0, _SLICES[0], -1
            state[POOL_END] += _SLICES[0] + _LINK_BYTES
        value = np.int64(slot - last_slots[term]) << 1 | (count > 1)
        last_slots[term] = slot
        size = np.int64(count > 1)
        rest = value
        while True:
            size += 1
            rest >>= 7
            if rest == 0:
                break
        if size > room[term]:
            link = tails[term] + room[term]
            level = min(levels[term] + 1, _SLICES.shape[0] - 1)
            begin = state[POOL_END]
            state[POOL_END] = begin + _SLICES[level] + _LINK_BYTES
            for byte in range(_LINK_BYTES):
                pool[link + byte] = begin >> 8 * byte & 255
            levels[term], room[term], tails[term] = level, _SLICES[level], begin
        tail = tails[term]
        room[term] -= size
        tails[term] = tail + size
        while value >= 128:
            pool[tail] = value & 127 | 128
            value >>= 7
            tail += 1
        pool[tail] = value
        if count > 1:
            pool[tail + 1] = count


@kernel(types.int64(int32_in, int64_in, int32_in, uint8_in), exact=True)
def pool_need(touched: Int32, heads: Int64, room: Int32, levels: UInt8) -> int:
    """Return an upper bound on the bytes of new slices that `append_postings` takes."""
    need = 0
    for at in range(touched.shape[0]):
        term = touched[at]
        if heads[term] < 0:
            need += _SLICES[0] + _LINK_BYTES
        elif room[term] < POSTING_BYTES_MAX:
            need += _SLICES[min(levels[term] + 1, _SLICES.shape[0] - 1)] + _LINK_BYTES
    return need


@kernel(
    types.int64(
        types.int64,
        types.int64,
        int64_in,
        int64_in,
        int64_out,
        int32_out,
        int64_out,
        int32_out,
        int64_out,
        int32_out,
        uint8_out,
        int32_out,
        uint8_out,
        int64_out,
        int32_out,
        int32_out,
        int64_out,
    ),
    exact=True,
)
def append_slots(
    first: int,
    done: int,
    begins: Int64,
    hashes: Int64,
    keys: Int64,
    ids: Int32,
    heads: Int64,
    seen_at: Int32,
    tails: Int64,
    room: Int32,
    levels: UInt8,
    last_slots: Int32,
    pool: UInt8,
    state: Int64,
    touched: Int32,
    counts: Int32,
    told: Int64,
) -> int:
    """Write the postings of several memories, as far as the pool has room.

    Parameters
    ----------
    first, done : int64
        Slot of the first memory, and the number of memories that are written already.
    begins : int64[n + 1]
        `hashes[begins[k] : begins[k + 1]]` are the terms of slot `first + k`, with repeats.
    hashes : int64[begins[n]]
        Terms of all memories.
    keys, ids, heads, seen_at : int64[c], int32[c], int64[t], int32[t]
        As `fold_terms` takes them, with room for all terms.
    tails, room, levels, last_slots, pool, state : as `append_postings` takes them
        But the pool may have any length.
    touched, counts : int32[begins[n]]
        `touched` receives the numbers of the terms that got a posting, memory after memory.
    told : int64[2]
        Receives how many places of `touched` are filled, and how many bytes of the pool the next
        memory takes at most; 0 if all are written.

    Returns
    -------
    int
        Memories that are written, those before the call included.
    """
    filled = np.int64(0)
    told[0] = told[1] = 0
    while done < begins.shape[0] - 1:
        own = hashes[begins[done] : begins[done + 1]]
        end = filled + own.shape[0]
        distinct = fold_terms(
            own, keys, ids, heads, seen_at, touched[filled:end], counts[filled:end], state
        )
        end = filled + distinct
        need = pool_need(touched[filled:end], heads, room, levels)
        if state[POOL_END] + need > pool.shape[0]:
            told[1] = need
            break
        append_postings(
            first + done,
            touched[filled:end],
            counts[filled:end],
            heads,
            tails,
            room,
            levels,
            last_slots,
            pool,
            state,
        )
        told[0] = filled = end
        done += 1
    return done


@kernel(types.int64(uint8_in, types.int64, types.int64, uint8_in, int32_out, uint8_out), exact=True)
def read_postings(
    pool: UInt8, head: int, limit: int, mask: UInt8, slots: Int32, counts: UInt8
) -> int:
    """Read the postings of one term whose slots pass a mask.

    Parameters
    ----------
    pool : uint8[p]
        As `append_postings` writes it.
    head : int64
        Start of the term's first slice; not read if `limit` is 0.
    limit : int64
        Number of postings to read at most.
    mask : uint8[n]
        Slots with 0, and those from n on, are left out.
    slots, counts : int32[limit], uint8[limit]
        Receive slots, ascending, and counts in their first places.

    Returns
    -------
    int
        Number of places filled. Reading ends early at an impossible slice or slot, so that no byte
        of the pool leads outside of it or of the mask.
    """
    size, last_end = mask.shape[0], pool.shape[0] - _LINK_BYTES
    found = 0
    at, level = np.int64(head), 0
    end = at + _SLICES[0]
    slot = np.int64(-1)
    if limit > 0 and (at < 0 or end > last_end):
        return 0
    for _ in range(limit):
        if at == end or pool[at] == 0:
            at = np.int64(0)
            for place in range(_LINK_BYTES):
                at |= np.int64(pool[end + place]) << 8 * place
            level = min(level + 1, _SLICES.shape[0] - 1)
            end = at + _SLICES[level]
            if end > last_end:
                break
        value = np.int64(pool[at])
        at += 1
        if value >= 128:
            value &= 127
            shift = 7
            # A posting lies within its slice.
            while at < end and shift < 7 * POSTING_BYTES_MAX:
                byte = np.int64(pool[at])
                at += 1
                value |= (byte & 127) << shift
                if byte < 128:
                    break
                shift += 7
        count = np.uint8(1)
        if value & 1 and at < end:
            count = pool[at]
            at += 1
        slot += value >> 1
        if slot < 0 or slot >= size:
            break
        # Written always, kept only if it passes: no mispredicted branch.
        slots[found] = slot
        counts[found] = count
        found += mask[slot] != 0
    return found


@kernel(
    types.int64(uint8_in, int64_in, int32_in, uint8_in, int32_out, uint8_out, int32_out, int32_out),
    exact=True,
)
def count_shared(
    pool: UInt8,
    heads: Int64,
    limits: Int32,
    mask: UInt8,
    slots: Int32,
    counts: UInt8,
    shared: Int32,
    out: Int32,
) -> int:
    """Count how many of some terms each slot that passes a mask holds.

    Parameters
    ----------
    pool, heads, limits, mask, slots, counts
        As `kernels.bm25.bm25_into` takes them.
    shared : int32[n]
        Zero; receives the numbers.
    out : int32[sum(limits)]
        Receives the slots that hold any, each once, in the order of the lists.

    Returns
    -------
    int
        Number of such slots.
    """
    size = 0
    for term in range(limits.shape[0]):
        found = read_postings(pool, heads[term], limits[term], mask, slots, counts)
        for at in range(found):
            slot = slots[at]
            # Written always, kept only the first time: no mispredicted branch.
            out[size] = slot
            size += shared[slot] == 0
            shared[slot] += 1
    return size
