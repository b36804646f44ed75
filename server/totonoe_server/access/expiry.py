"""When certificates and identities end: for metrics, and for a line in the log before they do."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from enum import StrEnum

from totonoe_core.base import clock
from totonoe_server.access.gate import Gate
from totonoe_server.access.transport import Certificates
from totonoe_server.logger import logger

WARNED_DAYS = 14
"""From so many days before the end on, the log says so once a day."""
_DAY_S = 86_400.0


class Expiring(StrEnum):
    """The kinds of what ends; labels of the metric."""

    DAEMON = "daemon_certificate"
    AUTHORITY = "client_authority"
    CLIENT = "client_certificate"
    IDENTITY = "identity"


class Expiries:
    """The earliest end of each kind.

    Parameters
    ----------
    gate : Gate
        Knows the identities, and the certificates that clients came with.
    certificates : Certificates or None
        What the daemon serves TLS with; `None`: it does not.
    now_us : callable
        Time of day in microseconds.
    """

    def __init__(
        self,
        gate: Gate,
        certificates: Certificates | None,
        now_us: Callable[[], int] = clock.system_clock,
    ) -> None:
        self._gate, self._certificates, self._now_us = gate, certificates, now_us

    def earliest_s(self) -> dict[Expiring, float]:
        """Return the earliest end of each kind that ends, in seconds since 1970; from any thread.

        Identities and client certificates that have ended are left out, because others would hide
        behind them; their calls are refused. The daemon's own files are not left out.
        """
        now_s = self._now_us() / 1e6
        found: dict[Expiring, float] = {}
        if self._certificates is not None:
            daemon_s, authority_s = self._certificates.ends_s
            found = {Expiring.DAEMON: daemon_s, Expiring.AUTHORITY: authority_s}
        for kind, ends_s in (
            (Expiring.CLIENT, self._gate.client_certificates_end_s()),
            (Expiring.IDENTITY, self._gate.identities_end_s()),
        ):
            found[kind] = min((end_s for end_s in ends_s if end_s > now_s), default=math.inf)
        return {kind: end_s for kind, end_s in found.items() if math.isfinite(end_s)}

    def report(self) -> None:
        """Log what ends within WARNED_DAYS."""
        now_s = self._now_us() / 1e6
        for kind, end_s in self.earliest_s().items():
            left_days = (end_s - now_s) / _DAY_S
            if left_days <= 0:
                logger.error("has expired", what=kind.value)
            elif left_days < WARNED_DAYS:
                logger.warning("expires soon", what=kind.value, left_days=round(left_days, 1))

    async def watch(self) -> None:
        """Report now, and once a day."""
        while True:
            self.report()
            await asyncio.sleep(_DAY_S)
