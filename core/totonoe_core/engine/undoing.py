"""Undo: every row that an operation touched is again what it was before."""

from __future__ import annotations

from totonoe_core.commands import Undo, Undone
from totonoe_core.engine.guarding import Guarding
from totonoe_core.engine.ledger import Ledger, Operation


class Undoing:
    """Carries out Undo on one collection."""

    def __init__(self, ledger: Ledger, guarding: Guarding) -> None:
        self._ledger = ledger
        self._guarding = guarding

    def undo(self, operation: Operation, command: Undo) -> Undone:
        """Takes an operation back."""
        raise NotImplementedError

    def preview(self, command: Undo) -> Undone:
        """What an Undo would take back, and every conflict."""
        raise NotImplementedError
