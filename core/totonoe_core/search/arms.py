"""The two searches of Recall: nearest vectors, and best matching words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from totonoe_core.guard.cosines import similarities, similarities64_at, similarities_at
from totonoe_core.index.arrays import View
from totonoe_core.index.hnsw import Graph
from totonoe_core.index.lexical import InvertedIndex, bm25
from totonoe_core.index.masks import Mask
from totonoe_core.text.tokens import search_terms

_SELECTIVE = 0.25
"""Below this share of passing slots, only their rows are read."""
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
) -> tuple[Ranking, str]:
    """Return the `limit` nearest slots of a mask, and how they were found: "exact" or "hnsw".

    Slots without a vector are left out, whatever the mask says. The graph is used where it is
    cheaper than reading all slots that pass, for so many that `limit` of them should pass. If fewer
    do, or there is no graph (`None`), the exact search answers.
    """
    mask = mask & view.has_vectors()
    passing = int(np.count_nonzero(mask))
    if graph is not None and graph.count:
        # The share among slots in the graph. The tail is read in any case.
        inside = int(np.count_nonzero(mask[: graph.indexed]))
        wanted = min(limit, inside)
        asked = wanted * graph.count // max(1, inside) + _OVERFETCH
        found = graph.search(query, asked) if STEP_ROWS * asked < passing else None
        if found is not None:
            slots, first_unindexed = found
            slots = slots[slots < view.count]
            slots = slots[mask[slots]]
            if len(slots) >= wanted:
                tail = np.flatnonzero(mask[first_unindexed:]).astype(np.int64) + first_unindexed
                return _top(view, query, np.union1d(slots, tail), limit), "hnsw"
    return _top(view, query, np.flatnonzero(mask).astype(np.int64), limit), "exact"


def _top(view: View, query: NDArray[np.float32], slots: NDArray[np.int64], limit: int) -> Ranking:
    """Return the `limit` most similar of some slots, decided by float64; ties by row number.

    Ties are not broken by slot, which changes with an update or an opening of the file.
    """
    if len(slots) > limit:
        if len(slots) > _SELECTIVE * view.count:
            rough = similarities(view, query)[slots]
        else:
            rough = similarities_at(view, query, slots)
        # A few more than asked for, so that float32 rounding cuts off no true hit.
        kept = min(len(slots), limit + 16)
        slots = slots[np.sort(np.argpartition(-rough, kept - 1)[:kept])]
    exact = similarities64_at(view, query, slots)
    order = np.lexsort((view.take("row", slots), -exact))[:limit]
    return Ranking(slots[order], exact[order])


def by_words(
    view: View, index: InvertedIndex, text: str, mask: Mask, limit: int
) -> tuple[Ranking, NDArray[np.float64]]:
    """Return the `limit` slots of the highest BM25 weight, ties by row number.

    Also returns every slot's term coverage, 0..1.
    """
    weight, coverage = bm25(index, search_terms(text), view.column("term_count"), mask)
    slots = np.flatnonzero(weight > 0.0).astype(np.int64)
    if len(slots) > limit:
        # With 4-grams most slots hold a term: only the best are sorted, including ties at the cut.
        least = np.partition(weight[slots], len(slots) - limit)[len(slots) - limit]
        slots = slots[weight[slots] >= least]
    order = np.lexsort((view.take("row", slots), -weight[slots]))[:limit]
    return Ranking(slots[order], weight[slots[order]]), coverage
