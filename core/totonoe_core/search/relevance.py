"""Relevance of a memory to a query: one number from cosine and shared terms."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

VECTOR_WEIGHT = 1.0
LEXICAL_WEIGHT = 2.0
"""Weight of shared terms, measured with the bundled embedder (docs/quality.md)."""


def relevance(
    cosines: NDArray[np.float64] | None, coverage: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Return the weighted mean of both similarities, 0..1; of one alone, that one.

    A convex combination of scores that need no scaling: Bruch, Gai and Ingber, "An Analysis of
    Fusion Functions for Hybrid Retrieval" (2023), section 4.

    Parameters
    ----------
    cosines : float64[n] or None
        Of query and memory, -1..1; below 0 counts as 0. `None` if the vector arm did not run.
    coverage : float64[n] or None
        Share of the query's weighted terms that the memory holds, 0..1. `None` if the lexical arm
        did not run. At least one of the two is given.
    """
    if cosines is None:
        assert coverage is not None
        return coverage
    positive = np.maximum(cosines, 0.0)
    if coverage is None:
        return positive
    total = VECTOR_WEIGHT + LEXICAL_WEIGHT
    return (VECTOR_WEIGHT * positive + LEXICAL_WEIGHT * coverage) / total


def ranks(ranking: NDArray[np.int64], slots: Sequence[int]) -> list[int]:
    """Return the rank from 1 of each slot in a ranking; 0 if it is absent."""
    places = {slot: rank for rank, slot in enumerate(ranking.tolist(), 1)}
    return [places.get(slot, 0) for slot in slots]
