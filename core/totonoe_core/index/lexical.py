"""Inverted index over term hashes: words for Recall, and exact labels for filters.

Postings are appended by the writer when an operation is published; readers take the
prefix that was there. Slots are never taken out: who reads masks what is not live.
BM25 after Robertson and Zaragoza, "The Probabilistic Relevance Framework" (2009), §3.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

K1 = 1.2
B = 0.75
_FIRST_CAPACITY = 4


class _Posting:
    """Slots (ascending) and term frequencies of one term; `size` entries are valid."""

    __slots__ = ("counts", "size", "slots")

    def __init__(self) -> None:
        self.slots = np.zeros(_FIRST_CAPACITY, np.int32)
        self.counts = np.zeros(_FIRST_CAPACITY, np.uint8)
        self.size = 0

    def append(self, slot: int, count: int) -> None:
        if self.size == len(self.slots):
            # Grown by copying: a reader's arrays stay as they were.
            self.slots = np.concatenate([self.slots, np.zeros_like(self.slots)])
            self.counts = np.concatenate([self.counts, np.zeros_like(self.counts)])
        self.slots[self.size] = slot
        self.counts[self.size] = min(count, 255)
        self.size += 1

    def read(self) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
        # The size first: arrays that are taken later hold at least as much.
        size = self.size
        return self.slots[:size], self.counts[:size]


class InvertedIndex:
    """Terms to postings. One writer, any readers."""

    def __init__(self) -> None:
        # Most terms occur once: those keep (slot << 8 | count) in place of an object.
        self._postings: dict[str, int | _Posting] = {}

    def add(self, slot: int, terms: Iterable[str]) -> int:
        """Adds a slot under its terms (repeats count); returns how many terms it has."""
        total = 0
        for term, count in Counter(terms).items():
            total += count
            found = self._postings.get(term)
            if found is None:
                self._postings[term] = slot << 8 | min(count, 255)
                continue
            if isinstance(found, int):
                posting = _Posting()
                posting.append(found >> 8, found & 255)
                self._postings[term] = posting
                found = posting
            found.append(slot, count)
        return total

    def posting(self, term: str) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
        """Slots int32[m], ascending, and frequencies uint8[m] of a term."""
        found = self._postings.get(term)
        if found is None:
            return np.zeros(0, np.int32), np.zeros(0, np.uint8)
        if isinstance(found, int):
            return np.array([found >> 8], np.int32), np.array([found & 255], np.uint8)
        return found.read()

    def slots_with_all(self, terms: Sequence[str]) -> NDArray[np.int32]:
        """Slots that hold every term, ascending."""
        lists = sorted((self.posting(term)[0] for term in terms), key=len)
        slots = lists[0]
        for other in lists[1:]:
            slots = np.intersect1d(slots, other, assume_unique=True)
        return slots

    def __len__(self) -> int:
        return len(self._postings)


def bm25(
    index: InvertedIndex,
    terms: Sequence[str],
    term_counts: NDArray[np.int32],
    mask: NDArray[np.bool_],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """BM25 weight and weighted term coverage of every slot.

    Parameters
    ----------
    terms : sequence of str
        Terms of the query; repeats are folded.
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
    size = len(mask)
    weight = np.zeros(size)
    coverage = np.zeros(size)
    live = max(1, int(np.count_nonzero(mask)))
    mean = max(1.0, float(term_counts[mask].mean()) if mask.any() else 1.0)
    total = 0.0
    for term in dict.fromkeys(terms):
        slots, counts = index.posting(term)
        keep = slots < size
        slots, counts = slots[keep], counts[keep]
        passing = mask[slots]
        slots, counts = slots[passing], counts[passing].astype(np.float64)
        idf = float(np.log1p((live - len(slots) + 0.5) / (len(slots) + 0.5)))
        total += idf
        length = 1.0 - B + B * term_counts[slots] / mean
        weight[slots] += idf * counts * (K1 + 1.0) / (counts + K1 * length)
        coverage[slots] += idf
    if total > 0.0:
        coverage /= total
    return weight, coverage


def label_terms(
    tags: Iterable[str], entities: Iterable[str], attributes: dict[str, Any]
) -> list[str]:
    """Exact-match terms of a memory's labels, for filters."""
    return [
        *(f"t{tag}" for tag in tags),
        *(f"e{entity}" for entity in entities),
        *(f"a{key}\0{_value_key(value)}" for key, value in attributes.items()),
    ]


def _value_key(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    if len(text) <= 64:
        return text
    return blake2b(text.encode(), digest_size=16).hexdigest()
