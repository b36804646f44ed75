"""Search for slots that share enough tokens with a text: exact, without reading all tokens.

A slot with a Jaccard similarity above t shares more than t * |query| tokens with the query. So it
holds one of any |query| - needed + 1 of the query's tokens. The rarest of them are looked up, the
commonest, with their long lists, are not (the prefix filter of Bayardo, Ma, Srikant, "Scaling Up
All Pairs Similarity Search", 2007, on the query's side alone). All tokens of a slot are indexed, so
that each query can use its own order of rarity. Nominated slots are decided by merging the sorted
tokens, with the bits of `kernels.jaccard.jaccard_pair`.

The index may lag: slots that it does not hold yet are checked one by one, so that the answer is the
same. It takes published slots only, since nothing is ever removed from it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from totonoe_core.index.arrays import View
from totonoe_core.index.chunks import by_chunk
from totonoe_core.index.lexical import InvertedIndex
from totonoe_core.kernels.jaccard import overlap_needed, rows_above
from totonoe_core.kernels.postings import count_shared


class TokenIndex:
    """Tokens to slots. One writer, any readers, no lock; see `index.lexical`.

    `postings` hold the slots below `end`.
    """

    def __init__(self, postings: InvertedIndex | None = None, end: int = 0) -> None:
        self.postings = InvertedIndex() if postings is None else postings
        self._end = end

    @property
    def end(self) -> int:
        """First slot that is not in the index."""
        return self._end

    def nbytes(self) -> int:
        """Bytes of the postings."""
        return self.postings.nbytes()

    def catch_up(self, view: View) -> None:
        """Add the published slots of a view that are not in the index. Writer only."""
        for base, size, chunk in view.parts():
            if base + size <= self._end:
                continue
            at, end = self._end - base, base + size
            begins = chunk.indptr[at : size + 1]
            hashes = chunk.tokens[begins[0] : begins[-1]].view(np.int64)
            self.postings.add_slots(self._end, begins - begins[0], hashes)
            self._end = end

    def above(
        self,
        view: View,
        tokens: NDArray[np.uint64],
        similarity_above: float,
        mask: NDArray[np.bool_],
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return slots whose Jaccard similarity to a token set is above a threshold.

        Parameters
        ----------
        view : View
            Published slots or more.
        tokens : uint64[q]
            Ascending, unique; an empty set finds nothing.
        similarity_above : float
            In 0..1 without 1, exclusive.
        mask : bool[view.count]
            Slots that may be found.

        Returns
        -------
        slots, similarity : int64[m], float64[m]
            Slots ascending.
        """
        assert 0.0 <= similarity_above < 1.0
        if not len(tokens) or not view.count:
            return np.zeros(0, np.int64), np.zeros(0, np.float64)
        # The end first: postings that are read later reach at least as far.
        end = min(self._end, view.count)
        needed = overlap_needed(len(tokens), similarity_above)
        nominated, shared = self._nominated(tokens, len(tokens) - needed + 1, mask[:end])
        tail = np.flatnonzero(mask[end:]) + end
        candidates = np.concatenate([nominated.astype(np.int64), tail])
        # The tail is not indexed: each of its slots may hold every token.
        shared = np.concatenate([shared, np.full(len(tail), len(tokens), np.int32)])
        slots, similarity = [np.zeros(0, np.int64)], [np.zeros(0, np.float64)]
        for where, rows, chunk in by_chunk(view, candidates):
            base = int(candidates[where.start]) - int(rows[0])
            found, values = np.empty(len(rows), np.int32), np.empty(len(rows), np.float64)
            count = rows_above(
                chunk.indptr,
                chunk.tokens,
                rows,
                shared[where],
                needed - 1,
                tokens,
                similarity_above,
                found,
                values,
            )
            slots.append(found[:count].astype(np.int64) + base)
            similarity.append(values[:count])
        return np.concatenate(slots), np.concatenate(similarity)

    def _nominated(
        self, tokens: NDArray[np.uint64], looked_up: int, mask: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return slots, ascending, with any of the rarest tokens, and the number that they hold."""
        heads, sizes, pool = self.postings.find(tokens.view(np.int64))
        rarest = np.argsort(sizes, kind="stable")[:looked_up]
        heads, sizes = heads[rarest], sizes[rarest]
        longest = int(sizes.max(initial=0))
        slots, counts = np.empty(longest, np.int32), np.empty(longest, np.uint8)
        shared, out = np.zeros(len(mask), np.int32), np.empty(int(sizes.sum()), np.int32)
        count = count_shared(pool, heads, sizes, mask.view(np.uint8), slots, counts, shared, out)
        found = np.sort(out[:count])
        return found, shared[found]


def jaccard_at(
    view: View, tokens: NDArray[np.uint64], slots: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the Jaccard similarity of ascending slots to a token set, as by `jaccard_pair`."""
    out = np.zeros(len(slots), np.float64)
    for where, rows, chunk in by_chunk(view, slots):
        shared = np.full(len(rows), len(tokens), np.int32)
        found, values = np.empty(len(rows), np.int32), np.empty(len(rows), np.float64)
        # Slots above 0 share a token; all others stay at 0.
        count = rows_above(chunk.indptr, chunk.tokens, rows, shared, 0, tokens, 0.0, found, values)
        out[where][np.searchsorted(rows, found[:count])] = values[:count]
    return out
