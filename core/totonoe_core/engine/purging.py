"""Purge: the bytes of memories go from everything."""

from __future__ import annotations

from totonoe_core.commands import Purge, Purged
from totonoe_core.engine.ledger import Ledger, Operation


class Purging:
    """Carries out Purge on one collection."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def purge(self, operation: Operation, command: Purge) -> Purged:
        """Purges."""
        raise NotImplementedError

    def preview(self, command: Purge) -> Purged:
        """What a Purge would take."""
        raise NotImplementedError
