"""Time, handed in from outside so that everything else is testable.

Times are UTC in integer microseconds since 1970 (`_us`). The wall clock may step;
a collection's own times never run backwards because the writer takes
`max(last + 1, now)`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Clock = Callable[[], int]
"""Returns UTC microseconds since 1970-01-01."""


def system_clock() -> int:
    """Return the machine's time as UTC microseconds since 1970-01-01."""
    return time.time_ns() // 1000


def time_text(time_us: int) -> str:
    """Format a time as ISO 8601 in UTC, or as microseconds if no calendar has it."""
    try:
        return (_EPOCH + timedelta(microseconds=time_us)).isoformat()
    except OverflowError:
        return f"{time_us} us"


def age_text(then_us: int, now_us: int) -> str:
    """Format an age for people: "just now", "5m ago", "3h ago", "3d ago", "2y ago".

    A time in the future counts as now.
    """
    seconds = max(0, now_us - then_us) // 1_000_000
    for unit_s, suffix in ((365 * 86400, "y"), (86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= unit_s:
            return f"{seconds // unit_s}{suffix} ago"
    return "just now"
