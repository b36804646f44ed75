"""Fading of confidence: a pure function of base, last access and now; and reports of it.

docs/sources.md, 002 ("Time Decay") writes the result back, so that a second run decays decayed
values. Here nothing is written back: hourly, daily and single runs give the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from totonoe_core.domain.policy import DecayPolicy

DAY_US = 86_400_000_000
RECALLED_LATELY_DAYS = 7
SURVIVAL_DAYS = (7, 30, 90, 180, 365)
HIDDEN_BELOW = 0.3
"""Confidence below which 002's recall hides a memory; the default threshold of a report."""
_BANDS = 10


def effective_confidence(
    base: NDArray[np.float64],
    since_us: NDArray[np.int64],
    policy: DecayPolicy,
    now_us: int,
    rates: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return max(min(base, floor), base * (1 - rate)^days) once `min_interval_days` have passed.

    Parameters
    ----------
    base : float64[n]
        Confidence as given, 0..1; never changed.
    since_us : int64[n]
        Last access, or creation if there was none, UTC microseconds. A moment after
        `now_us` counts as now.
    rates : float64[n], optional
        Loss a day of each, where kinds have rates of their own (`DecayPolicy.rate_of`); by
        default `rate_per_day` of all.

    Returns
    -------
    float64[n]
        Effective confidence, 0..1.
    """
    days = np.maximum(now_us - since_us, 0) / DAY_US
    rate = policy.rate_per_day if rates is None else rates
    faded = np.maximum(np.minimum(base, policy.floor), base * np.power(1.0 - rate, days))
    return np.where(days > policy.min_interval_days, faded, base)


@dataclass(frozen=True, slots=True)
class DecayReport:
    """Counts of faded memories among some live ones.

    Attributes
    ----------
    band_counts : tuple of int
        By effective confidence, in ten bands of 0.1; 1 lies in the last.
    faded_count, at_floor_count : int
        Memories that lost any confidence, and those that are at the floor.
    threshold, below_count : float, int
        Memories whose effective confidence lies below the threshold.
    recalled_count : int
        Memories recalled in the last 7 days.
    survival : tuple of (int, int)
        Days without any recall, and how many memories would then still reach the threshold.
    """

    live_count: int
    band_counts: tuple[int, ...]
    faded_count: int
    at_floor_count: int
    threshold: float
    below_count: int
    protected_count: int
    recalled_count: int
    survival: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Columns:
    """Live memories as columns of n.

    Attributes
    ----------
    base, created_us, last_access_us, rates
        float64, int64, int64 and float64 or `None`, as `effective_confidence` takes them.
    accessed, protected : bool[n]
        True if it was ever accessed; true if no rule may close it.
    """

    base: NDArray[np.float64]
    created_us: NDArray[np.int64]
    last_access_us: NDArray[np.int64]
    accessed: NDArray[np.bool_]
    protected: NDArray[np.bool_]
    rates: NDArray[np.float64] | None

    def effective(self, policy: DecayPolicy, now_us: int) -> NDArray[np.float64]:
        """Return the effective confidence of each memory: float64[n]."""
        since_us = np.where(self.accessed, self.last_access_us, self.created_us)
        return effective_confidence(self.base, since_us, policy, now_us, self.rates)

    def recalled(self, now_us: int) -> NDArray[np.bool_]:
        """Return which memories were recalled in the last 7 days: bool[n]."""
        return self.accessed & recalled_lately(self.last_access_us, now_us)


def recalled_lately(last_access_us: NDArray[np.int64], now_us: int) -> NDArray[np.bool_]:
    """Return which accesses lie in the last 7 days: bool[n]."""
    recent: NDArray[np.bool_] = last_access_us >= now_us - RECALLED_LATELY_DAYS * DAY_US
    return recent


def report(columns: Columns, policy: DecayPolicy, now_us: int, threshold: float) -> DecayReport:
    """Count the faded memories at a moment, UTC microseconds."""
    effective = columns.effective(policy, now_us)
    bands = np.minimum((effective * _BANDS).astype(np.int64), _BANDS - 1)
    faded = effective < columns.base
    survival = [
        (days, _count(columns.effective(policy, now_us + days * DAY_US) >= threshold))
        for days in SURVIVAL_DAYS
    ]
    return DecayReport(
        live_count=len(effective),
        band_counts=tuple(np.bincount(bands, minlength=_BANDS).tolist()),
        faded_count=_count(faded),
        at_floor_count=_count(faded & (effective <= policy.floor)),
        threshold=threshold,
        below_count=_count(effective < threshold),
        protected_count=_count(columns.protected),
        recalled_count=_count(columns.recalled(now_us)),
        survival=tuple(survival),
    )


def _count(mask: NDArray[np.bool_]) -> int:
    return int(np.count_nonzero(mask))
