"""How confidence fades: a pure function of base, last access and now.

002 ("Time Decay") writes the result back, so that a second run decays what was decayed
before. Here nothing is written back: running it hourly, daily or once gives the same.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from totonoe_core.guard.policy import DecayPolicy

DAY_US = 86_400_000_000


def effective_confidence(
    base: NDArray[np.float64],
    since_us: NDArray[np.int64],
    policy: DecayPolicy,
    now_us: int,
) -> NDArray[np.float64]:
    """max(min(base, floor), base * (1 - rate)^days) once `min_interval_days` have passed.

    Parameters
    ----------
    base : float64[n]
        Confidence as given, 0..1; never changed.
    since_us : int64[n]
        Last access, or creation if there was none, UTC microseconds. A moment after
        `now_us` counts as now.

    Returns
    -------
    float64[n]
        Effective confidence, 0..1 (DESIGN.md §10, "Decay").
    """
    days = np.maximum(now_us - since_us, 0) / DAY_US
    faded = np.maximum(
        np.minimum(base, policy.floor), base * np.power(1.0 - policy.rate_per_day, days)
    )
    return np.where(days > policy.min_interval_days, faded, base)
