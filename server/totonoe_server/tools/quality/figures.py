"""Arithmetic of the figures: pure, and `None` where nothing was there to count."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

DIGITS = 6


def share(part: float, whole: float) -> float | None:
    """part / whole; `None` for an empty whole."""
    return round(part / whole, DIGITS) if whole else None


def mean(values: Iterable[float]) -> float | None:
    """Arithmetic mean; `None` of nothing."""
    found = list(values)
    return share(sum(found), len(found))


def auc(similarity: NDArray[np.float64], same: NDArray[np.bool_]) -> float | None:
    """Chance that a pair that says the same is more similar than one that does not.

    Ties count half: the Mann-Whitney statistic over both sizes, by mid-ranks.

    Parameters
    ----------
    similarity : float64[n]
    same : bool[n]

    Returns
    -------
    float or None
        0..1; `None` if one of the classes is empty.
    """
    n_same = int(np.count_nonzero(same))
    n_different = len(same) - n_same
    if not n_same or not n_different:
        return None
    _, which, counts = np.unique(similarity, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    middle = last - (counts - 1) / 2.0
    ranks = float(middle[which][same].sum())
    wins = ranks - n_same * (n_same + 1) / 2.0
    return round(wins / (n_same * n_different), DIGITS)


def recall_at(hits: Sequence[str], evidence: Sequence[Collection[str]], k: int) -> float:
    """Share of the evidence that is among the first k hits.

    Parameters
    ----------
    hits : sequence of str
        Ids of memories, best first.
    evidence : sequence of collections of str
        For each piece of evidence the ids of the memories that hold it; not empty.
    """
    first = set(hits[:k])
    return sum(not first.isdisjoint(ids) for ids in evidence) / len(evidence)


def reciprocal_rank(hits: Sequence[str], evidence: Sequence[Collection[str]]) -> float:
    """1 / rank of the first hit that is evidence; 0 if none is."""
    wanted = {memory_id for ids in evidence for memory_id in ids}
    return next((1.0 / rank for rank, hit in enumerate(hits, 1) if hit in wanted), 0.0)


def percentile(values: Sequence[float], percent: float) -> float | None:
    """The smallest value that at least `percent` of the values do not exceed."""
    if not values:
        return None
    return float(np.percentile(np.array(values), percent, method="inverted_cdf"))
