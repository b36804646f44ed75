"""Exports and imports of one open collection: their limits, and their thread."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from totonoe_core.base import limits, names
from totonoe_core.base.ids import new_operation_id
from totonoe_core.domain.transfer import ExportQuery, ImportQuery
from totonoe_core.embedding import EmbeddingService
from totonoe_core.engine.jobs.exporting import EXPORTED, Exporting
from totonoe_core.engine.jobs.importing import Apply, Get, Importing
from totonoe_core.engine.jobs.transfer_turns import TransferTurns
from totonoe_core.engine.state.futures import Why, shutting_down
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.rules import validate
from totonoe_core.store.seam import ReaderPool

IMPORT_ID_BYTES_MAX = limits.OPERATION_ID_BYTES_MAX - 20
"""Leaves room for `/` and a number after it."""


class Transfers:
    """Starts exports and imports. Safe from any thread."""

    def __init__(
        self,
        state: CollectionState,
        readers: ReaderPool,
        *,
        apply: Apply,
        get: Get,
        embedder: Callable[[], EmbeddingService],
    ) -> None:
        self._state = state
        self._readers = readers
        self._apply = apply
        self._get = get
        self._embedder = embedder
        # A thread of its own: a step handles hundreds of lines, and no search must wait for it.
        self._executor = ThreadPoolExecutor(1, "transfer")
        self._turns = TransferTurns()

    def export(self, query: ExportQuery) -> Exporting:
        """Start an export. Raises `InvalidArgument`, `Quota` if EXPORTS_MAX are running."""
        names.check(query.agent_id, "agent_id")
        validate.count(len(query.statuses), "statuses", len(EXPORTED))
        turn = self._turns.begin("exports", limits.EXPORTS_MAX)
        return Exporting(self._state, self._readers, self._executor, query, turn)

    def begin_import(self, operation_id: str, query: ImportQuery) -> Importing:
        """Start an import. Raises `InvalidArgument`, `Quota` if IMPORTS_MAX are running."""
        names.check(query.agent_id, "agent_id")
        names.check(operation_id, "operation_id", IMPORT_ID_BYTES_MAX)
        turn = self._turns.begin("imports", limits.IMPORTS_MAX)
        return Importing(
            self._state,
            self._executor,
            query,
            operation_id or new_operation_id(),
            apply=self._apply,
            get=self._get,
            embedder=self._embedder,
            turn=turn,
        )

    def busy(self) -> bool:
        """Return whether one is running: then the collection is in use."""
        return self._turns.any()

    def end(self, why: Why) -> None:
        """Fail every read and every piece from now on. Idempotent; the first reason counts."""
        self._turns.stop(why)

    def close(self, why: Why = shutting_down) -> None:
        """Do the same as `end`, and drop queued steps."""
        self.end(why)
        self._executor.shutdown(cancel_futures=True)
