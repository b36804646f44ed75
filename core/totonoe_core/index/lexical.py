"""Inverted index over term hashes: words for Recall, and exact labels for filters.

The writer appends postings when an operation is published; readers take the prefix that existed.
Slots are never removed: readers mask dead ones.

Why readers need no lock: bytes of postings are written once, into a pool that grows by
copying, and never move. The writer appends a memory's postings first and then, under the
GIL, raises the `sizes` of its terms; a reader takes the sizes under the GIL and reads that
many postings. A reader that took its view before has every posting of every slot in its
view: slots are published after their postings. What is added meanwhile belongs to later
slots, and is left out by the length of the reader's mask.

Terms are kept as a 64-bit hash of their UTF-8 (`kernels/hashing.py`) under a random key, so that
nobody can choose collisions. Two terms of a million share a hash with probability 3e-8; they would
then share their postings. The key goes with the index when it is dumped.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from totonoe_core.kernels.bm25 import bm25_into
from totonoe_core.kernels.hashing import SEPARATOR, hash_terms
from totonoe_core.kernels.posting_lists import flatten, lists_need, put_terms, write_lists
from totonoe_core.kernels.postings import (
    POOL_END,
    TERMS,
    append_slots,
    find_terms,
    read_postings,
    rehash,
)

_FIRST_TERMS = 64
_FIRST_BYTES = 1024
_HASHES_AT_ONCE = 8192
_BETWEEN = bytes([SEPARATOR])


class Lists(NamedTuple):
    """An inverted index without its slack, term after term.

    `hashes int64[t]`, `sizes int32[t]` postings of each, `slots int32[sum(sizes)]` ascending for
    each term, `counts uint8[sum(sizes)]`.
    """

    hashes: NDArray[np.int64]
    sizes: NDArray[np.int32]
    slots: NDArray[np.int32]
    counts: NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class _Readable:
    """The arrays of an index as a reader takes them: in one step, so that they fit together.

    They grow by copying: a reader's arrays stay as they were up to the sizes that it took.
    """

    keys: NDArray[np.int64]
    ids: NDArray[np.int32]
    heads: NDArray[np.int64]
    sizes: NDArray[np.int32]
    pool: NDArray[np.uint8]


class InvertedIndex:
    """Terms to postings (slots ascending, and frequencies). One writer, any readers.

    About 2 bytes for each posting of short texts, and 70 for each term. `key uint64[2]` is that of
    the hashes; by default a random one.
    """

    def __init__(self, key: NDArray[np.uint64] | None = None) -> None:
        self.key = np.frombuffer(os.urandom(16), np.uint64) if key is None else key
        self._arrays = _Readable(
            keys=np.zeros(2 * _FIRST_TERMS, np.int64),
            ids=np.zeros(2 * _FIRST_TERMS, np.int32),
            heads=np.zeros(_FIRST_TERMS, np.int64),
            sizes=np.zeros(_FIRST_TERMS, np.int32),
            pool=np.zeros(_FIRST_BYTES, np.uint8),
        )
        # The writer's own, by term: see `kernels.postings.append_postings`.
        self._tails = np.zeros(_FIRST_TERMS, np.int64)
        self._room = np.zeros(_FIRST_TERMS, np.int32)
        self._levels = np.zeros(_FIRST_TERMS, np.uint8)
        self._last_slots = np.zeros(_FIRST_TERMS, np.int32)
        self._seen_at = np.zeros(_FIRST_TERMS, np.int32)
        self._state = np.zeros(2, np.int64)
        self._last_slot = -1

    def add(self, slot: int, terms: Iterable[str]) -> int:
        """Add a slot under its terms (repeats count); return how many terms it has.

        Slots come in ascending order, each once.
        """
        hashes = hashes_of(terms, self.key)
        self.add_hashes(slot, hashes)
        return len(hashes)

    def add_hashes(self, slot: int, hashes: NDArray[np.int64]) -> None:
        """Add a slot under terms that are hashes already: int64[m], repeats count."""
        self.add_slots(slot, np.array([0, len(hashes)]), hashes)

    def add_slots(self, first: int, begins: NDArray[np.int64], hashes: NDArray[np.int64]) -> None:
        """Add slots from one on: `hashes[begins[k] : begins[k + 1]]` are those of `first + k`."""
        count = len(begins) - 1
        assert first > self._last_slot
        self._last_slot = first + count - 1
        done, told = 0, np.empty(2, np.int64)
        while done < count:
            # Room for as many terms as may be new, so a few at once.
            upto = int(np.searchsorted(begins, begins[done] + _HASHES_AT_ONCE, side="right")) - 1
            upto = max(upto, done + 1)
            part = hashes[: begins[upto]]
            self._make_room_for_terms(int(begins[upto] - begins[done]))
            touched, counts = np.empty((2, len(part) - begins[done]), np.int32)
            while done < upto:
                arrays = self._arrays
                done = append_slots(
                    first, done, begins[: upto + 1], part, arrays.keys, arrays.ids, arrays.heads,
                    self._seen_at, self._tails, self._room, self._levels, self._last_slots,
                    arrays.pool, self._state, touched, counts, told,
                )  # fmt: skip
                # The sizes last: a reader ignores postings beyond them.
                np.add.at(arrays.sizes, touched[: told[0]], 1)
                self._make_room_for_bytes(int(told[1]))

    def _make_room_for_terms(self, more: int) -> None:
        """Grows the table and the arrays by term before `more` new terms."""
        arrays = self._arrays
        needed = int(self._state[TERMS]) + more
        keys, ids = arrays.keys, arrays.ids
        if 2 * needed > len(keys):
            # At most half full, so that a probe ends soon.
            size = 1 << (2 * needed).bit_length()
            keys, ids = np.zeros(size, np.int64), np.zeros(size, np.int32)
            rehash(arrays.keys, arrays.ids, keys, ids)
        elif needed <= len(arrays.sizes):
            return
        size = max(len(arrays.sizes), needed + needed // 4)
        self._tails, self._room = _longer(self._tails, size), _longer(self._room, size)
        self._levels = _longer(self._levels, size)
        self._last_slots = _longer(self._last_slots, size)
        self._seen_at = _longer(self._seen_at, size)
        heads, sizes = _longer(arrays.heads, size), _longer(arrays.sizes, size)
        self._arrays = _Readable(keys, ids, heads, sizes, arrays.pool)

    def _make_room_for_bytes(self, more: int) -> None:
        arrays = self._arrays
        needed = int(self._state[POOL_END]) + more
        if needed <= len(arrays.pool):
            return
        pool = _longer(arrays.pool, needed + needed // 4)
        # Copies the sizes too: readers of the old pool must not see sizes beyond it.
        self._arrays = _Readable(arrays.keys, arrays.ids, arrays.heads, arrays.sizes.copy(), pool)

    def find(
        self, hashes: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.uint8]]:
        """Return heads and sizes of the postings of some terms (size 0: none), and the pool."""
        arrays = self._arrays
        ids = np.empty(len(hashes), np.int32)
        find_terms(arrays.keys, arrays.ids, hashes, ids)
        # A term that is newer than our arrays is not visible to us yet.
        known = (ids >= 0) & (ids < len(arrays.sizes))
        sizes = np.where(known, arrays.sizes[np.where(known, ids, 0)], np.int32(0))
        return arrays.heads[np.where(known, ids, 0)], sizes, arrays.pool

    def posting(self, term: str) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
        """Return slots int32[m], ascending, and frequencies uint8[m] (255: or more) of a term."""
        heads, sizes, pool = self.find(hashes_of((term,), self.key))
        size = int(sizes[0])
        slots, counts = np.empty(size, np.int32), np.empty(size, np.uint8)
        every = np.ones(self._last_slot + 1, np.uint8)
        size = read_postings(pool, heads[0], size, every, slots, counts)
        return slots[:size], counts[:size]

    def slots_with_all(self, terms: Sequence[str]) -> NDArray[np.int32]:
        """Slots that hold every term, ascending."""
        lists = sorted((self.posting(term)[0] for term in terms), key=len)
        slots = lists[0]
        for other in lists[1:]:
            slots = np.intersect1d(slots, other, assume_unique=True)
        return slots

    def dump(self, new_slots: NDArray[np.int32]) -> Lists:
        """Return all postings of some slots. Any thread.

        Parameters
        ----------
        new_slots : int32[n]
            By slot: its new number, ascending, or -1 to leave it out. Slots from n on are left
            out too, and terms that no other slot has.
        """
        arrays = self._arrays
        # In one step: each term has at least as many postings as we read.
        sizes = arrays.sizes.copy()
        # A copy: numpy gives up if the writer adds a term while it counts.
        ids = arrays.ids.copy()
        place = np.flatnonzero(ids)
        place = place[ids[place] <= len(sizes)]
        hashes = np.zeros(len(sizes), np.int64)
        hashes[ids[place] - 1] = arrays.keys[place]
        total = int(sizes.sum())
        slots, counts = np.empty(total, np.int32), np.empty(total, np.uint8)
        total = flatten(arrays.pool, arrays.heads, sizes, new_slots, slots, counts)
        left = sizes > 0
        return Lists(hashes[left], sizes[left], slots[:total], counts[:total])

    @classmethod
    def load(cls, lists: Lists, key: NDArray[np.uint64], end: int) -> InvertedIndex | None:
        """Build an index from a dump; the next slot to be added is `end` or later.

        `None` if the lists are invalid. Whatever the arrays hold, it terminates and reads within
        them.
        """
        need = lists_need(lists.sizes, lists.slots, lists.counts, end)
        if need < 0 or len(lists.hashes) != len(lists.sizes):
            return None
        index = cls(key)
        # Leaves spare room, as growing does.
        index._make_room_for_terms(len(lists.hashes))
        index._make_room_for_bytes(need)
        arrays = index._arrays
        if not put_terms(lists.hashes, arrays.keys, arrays.ids):
            return None
        write_lists(
            lists.sizes, lists.slots, lists.counts, arrays.heads, index._tails, index._room,
            index._levels, index._last_slots, arrays.pool, index._state,
        )  # fmt: skip
        arrays.sizes[: len(lists.sizes)] = lists.sizes
        index._last_slot = end - 1
        return index

    def __len__(self) -> int:
        return int(self._state[TERMS])

    def nbytes(self) -> int:
        """Bytes of all arrays."""
        arrays = self._arrays
        shared = (arrays.keys, arrays.ids, arrays.heads, arrays.sizes, arrays.pool)
        own = (self._tails, self._room, self._levels, self._last_slots, self._seen_at)
        return sum(array.nbytes for array in (*shared, *own))


def hashes_of(terms: Iterable[str], key: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the 64-bit hashes of terms under a key."""
    coded = list(map(str.encode, terms, repeat("utf-8"), repeat("surrogatepass")))
    hashes = np.empty(len(coded), np.int64)
    if coded:
        hash_terms(np.frombuffer(_BETWEEN.join(coded), np.uint8), key, hashes)
    return hashes


def _longer(values: NDArray[Any], size: int) -> NDArray[Any]:
    """Return a copy with zeros after it. Pages of zeros that nobody writes take no memory."""
    grown = np.zeros(size, values.dtype)
    grown[: len(values)] = values
    return grown


def bm25(
    index: InvertedIndex,
    terms: Mapping[str, float],
    term_counts: NDArray[np.int32],
    mask: NDArray[np.bool_],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return BM25 weight and weighted term coverage of every slot; see `kernels.bm25.bm25_into`.

    Parameters
    ----------
    terms : mapping of str to float
        Terms of the query, with the factor of each one's idf, above 0.
    term_counts : int32[n]
        Number of terms of each slot.
    mask : bool[n]
        Slots that may be found; document frequencies count only these, so that dead
        slots do not shift the weights.

    Returns
    -------
    weight, coverage : float64[n]
        `coverage` is the share (0..1) of the query's idf weight that a slot holds.
    """
    weight, coverage = np.zeros(len(mask)), np.zeros(len(mask))
    heads, sizes, pool = index.find(hashes_of(terms, index.key))
    factors = np.fromiter(terms.values(), np.float64, len(terms))
    longest = int(sizes.max(initial=0))
    slots, counts = np.empty(longest, np.int32), np.empty(longest, np.uint8)
    passing = mask.view(np.uint8)
    bm25_into(pool, heads, sizes, factors, term_counts, passing, slots, counts, weight, coverage)
    return weight, coverage


def label_terms(
    tags: Iterable[str], entities: Iterable[str], attributes: dict[str, Any]
) -> list[str]:
    """Return exact-match terms of a memory's labels, for filters."""
    return [
        *(f"t{tag}" for tag in tags),
        *(f"e{entity}" for entity in entities),
        *(f"a{key}\0{_value_key(value)}" for key, value in attributes.items()),
    ]


def nested_terms(attributes: dict[str, Any]) -> list[str]:
    """Return exact-match terms of the values below the top level of attributes."""
    found: list[str] = []
    left: list[tuple[tuple[str, ...], dict[str, Any]]] = [
        ((key,), item) for key, item in attributes.items() if isinstance(item, dict)
    ]
    # The depth is limited, and so are the bytes.
    while left:
        path, holder = left.pop()
        for key, item in holder.items():
            found.append(value_term((*path, key), item))
            if isinstance(item, dict):
                left.append(((*path, key), item))
    return found


def value_term(path: tuple[str, ...], value: Any) -> str:
    """Return the term of a value at a path of keys in attributes."""
    if len(path) == 1:
        return f"a{path[0]}\0{_value_key(value)}"
    return f"p{name_of(path)}\0{_value_key(value)}"


def namespace_terms(namespace: tuple[str, ...]) -> list[str]:
    """Return exact-match terms of all beginnings of a namespace."""
    return [f"n{name_of(namespace[:end])}" for end in range(1, len(namespace) + 1)]


def name_of(names: tuple[str, ...]) -> str:
    """Return a tuple of names as one string, unlike that of any other; empty for none."""
    return json.dumps(names, ensure_ascii=False, separators=(",", ":")) if names else ""


def names_in(name: str) -> tuple[str, ...]:
    """Return the names of a string that `name_of` made."""
    return tuple(json.loads(name)) if name else ()


def _value_key(value: Any) -> str:
    if type(value) is float and value.is_integer():
        # Equal numbers are one value.
        value = int(value)
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    if len(text) <= 64:
        return text
    return blake2b(text.encode(), digest_size=16).hexdigest()
