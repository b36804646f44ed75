"""The two searches of Recall: nearest vectors, and best matching words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from totonoe_core.guard.cosines import similarities64_at, similarities_at
from totonoe_core.index.arrays import View
from totonoe_core.index.hnsw import Graph
from totonoe_core.index.keys import Keys
from totonoe_core.index.lexical import InvertedIndex, bm25
from totonoe_core.index.masks import Mask
from totonoe_core.index.prefix import SLACK
from totonoe_core.kernels.cosine import nearest_rows, similarity64_rows

_SLACK = 2 * SLACK
"""Twice the bound on the float32 error of a similarity: no nearest one is lost to rounding."""
_SPARE = 16
"""Slots of the graph that are compared exactly beyond those asked for, for the same reason."""
_OVERFETCH = 64
STEP_ROWS = 150
"""Rows that a scan reads in the time that the graph takes for each requested slot.

That is 10 us, with 50,000 rows of 384 dimensions.
"""


@dataclass(frozen=True, slots=True)
class Ranking:
    """Slots best first with their similarities (float64)."""

    slots: NDArray[np.int64]
    similarity: NDArray[np.float64]


def by_vector(
    view: View,
    query: NDArray[np.float32],
    mask: Mask,
    limit: int,
    graph: Graph | None,
    keys: Keys | None = None,
) -> tuple[Ranking, str]:
    """Return the `limit` nearest slots of a mask, and how they were found: "exact" or "hnsw".

    A slot is as near as its text or, with `keys`, its typed key, whichever is nearer.
    """
    ranking, how = _by_text(view, query, mask, limit, graph)
    near = np.zeros(0, np.int64) if keys is None else keys.nearest(view, query, mask, limit)
    if keys is not None and len(near):
        slots = np.union1d(ranking.slots, near)
        ranking = _ranked(view, slots, closeness(view, keys, query, slots), limit)
    return ranking, how


def closeness(
    view: View, keys: Keys, query: NDArray[np.float32], slots: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the float64 similarity of ascending slots: that of the text or of the typed key."""
    own = similarities64_at(view, query, slots)
    return np.maximum(own, keys.similarities64_at(query, slots))


def _by_text(
    view: View,
    query: NDArray[np.float32],
    mask: Mask,
    limit: int,
    graph: Graph | None,
) -> tuple[Ranking, str]:
    """Return the `limit` slots of a mask with the nearest texts, and how they were found.

    Slots without a vector are left out, whatever the mask says. The graph is used where it is
    cheaper than reading all slots that pass, for so many that `limit` of them should pass. If fewer
    do, or there is no graph (`None`), the exact search answers.
    """
    if graph is not None and graph.count:
        able = mask & view.has_vectors()
        # The share among slots in the graph. The tail is read in any case.
        inside = int(np.count_nonzero(able[: graph.indexed]))
        wanted = min(limit, inside)
        asked = wanted * graph.count // max(1, inside) + _OVERFETCH
        passing = int(np.count_nonzero(able))
        found = graph.search(query, asked) if STEP_ROWS * asked < passing else None
        if found is not None:
            slots, first_unindexed = found
            slots = slots[slots < view.count]
            slots = slots[able[slots]]
            if len(slots) >= wanted:
                tail = np.flatnonzero(able[first_unindexed:]).astype(np.int64) + first_unindexed
                slots = np.union1d(slots, tail)
                if len(slots) > limit + _SPARE:
                    rough = similarities_at(view, query, slots)
                    slots = slots[
                        np.sort(np.argpartition(-rough, limit + _SPARE - 1)[: limit + _SPARE])
                    ]
                return _ranked(view, slots, similarities64_at(view, query, slots), limit), "hnsw"
    return _nearest(view, query, mask, limit), "exact"


def _nearest(view: View, query: NDArray[np.float32], mask: Mask, limit: int) -> Ranking:
    """Return the `limit` most similar slots of a mask, by reading all of them."""
    heap = np.empty(limit, np.float32)
    slots, exact = [np.zeros(0, np.int64)], [np.zeros(0)]
    for base, size, chunk in view.parts():
        rows, rough = np.empty(size, np.int32), np.empty(size, np.float32)
        asked, vectored = mask[base : base + size].view(np.uint8), chunk.vectored[:size]
        vectors = chunk.vectors[:size]
        count = nearest_rows(vectors, asked, vectored, query, _SLACK, rows, rough, heap)
        similarity = np.empty(count)
        similarity64_rows(vectors, rows[:count], query, similarity)
        slots.append(rows[:count].astype(np.int64) + base)
        exact.append(similarity)
    return _ranked(view, np.concatenate(slots), np.concatenate(exact), limit)


def _ranked(
    view: View, slots: NDArray[np.int64], similarity: NDArray[np.float64], limit: int
) -> Ranking:
    """Return the `limit` most similar of some slots; ties by row number.

    Ties are not broken by slot, which changes with an update or an opening of the file.
    """
    order = np.lexsort((view.take("row", slots), -similarity))[:limit]
    return Ranking(slots[order], similarity[order])


def by_words(
    view: View, index: InvertedIndex, terms: Mapping[str, float], mask: Mask, limit: int
) -> tuple[Ranking, NDArray[np.float64]]:
    """Return the `limit` slots of the highest BM25 weight, ties by row number.

    Also returns every slot's term coverage, 0..1. `terms` are the query's, with their weights.
    """
    weight, coverage = bm25(index, terms, view.column("term_count"), mask)
    slots = np.flatnonzero(weight > 0.0).astype(np.int64)
    if len(slots) > limit:
        # With 4-grams most slots hold a term: only the best are sorted, including ties at the cut.
        least = np.partition(weight[slots], len(slots) - limit)[len(slots) - limit]
        slots = slots[weight[slots] >= least]
    order = np.lexsort((view.take("row", slots), -weight[slots]))[:limit]
    return Ranking(slots[order], weight[slots[order]]), coverage
