"""Figures of the daemon's own process, for Stats."""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from totonoe_server.access.expiry import Expiring


@dataclass(frozen=True, slots=True)
class Process:
    """Read the figures that Stats shows of the process.

    Attributes
    ----------
    started_us : int
        UTC microseconds.
    ends_s : callable
        Returns when certificates and identities end, by kind, in seconds since 1970.
    number : int
        Of a daemon that was started with others, from 1 on; 0: it was started by itself.
    """

    started_us: int
    version: str
    ends_s: Callable[[], Mapping[Expiring, float]] = dict
    number: int = 0

    def cpu_s(self) -> float:
        """CPU seconds, user and system."""
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return usage.ru_utime + usage.ru_stime

    def rss_bytes(self) -> int:
        """Resident memory now; where the system does not tell (macOS), its highest so far."""
        try:
            pages = int(Path("/proc/self/statm").read_text().split()[1])
        except (OSError, IndexError, ValueError):
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            return peak if sys.platform == "darwin" else peak * 1024
        return pages * os.sysconf("SC_PAGE_SIZE")
