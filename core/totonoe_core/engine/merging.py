"""Merge: one memory of several, in one operation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from totonoe_core.commands import Merge, Merged
from totonoe_core.engine.guarding import Guarding
from totonoe_core.engine.ledger import Ledger, Operation


class Merging:
    """Carries out Merge on one collection."""

    def __init__(self, ledger: Ledger, guarding: Guarding) -> None:
        self._ledger = ledger
        self._guarding = guarding

    def merge(
        self, operation: Operation, command: Merge, vector: NDArray[np.float32] | None
    ) -> Merged:
        """Merges."""
        raise NotImplementedError
