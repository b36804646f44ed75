"""Exports and imports of one open collection: how many at once, and the thread they read on."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from totonoe_core import limits, validate
from totonoe_core.embedding import EmbeddingService
from totonoe_core.engine.exporting import EXPORTED, Exporting
from totonoe_core.engine.futures import Why, shutting_down
from totonoe_core.engine.importing import Apply, Get, Importing
from totonoe_core.engine.state import CollectionState
from totonoe_core.engine.transfer_turns import TransferTurns
from totonoe_core.ids import new_operation_id
from totonoe_core.store.reader import ReaderPool
from totonoe_core.transfer import ExportQuery, ImportQuery

IMPORT_ID_BYTES_MAX = limits.OPERATION_ID_BYTES_MAX - 20
"""`/` and a number come behind it."""


class Transfers:
    """Begins exports and imports. Safe from any thread."""

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
        # Of its own: a step reads or checks hundreds of lines, and no search is to wait for that.
        self._executor = ThreadPoolExecutor(1, "transfer")
        self._turns = TransferTurns()

    def export(self, query: ExportQuery) -> Exporting:
        """A new export. Raises `InvalidArgument`, `Quota` if EXPORTS_MAX are read."""
        validate.optional_text(query.agent_id, "agent_id", limits.NAME_BYTES_MAX)
        validate.count(len(query.statuses), "statuses", len(EXPORTED))
        turn = self._turns.begin("exports", limits.EXPORTS_MAX)
        return Exporting(self._state, self._readers, self._executor, query, turn)

    def begin_import(self, operation_id: str, query: ImportQuery) -> Importing:
        """A new import. Raises `InvalidArgument`, `Quota` if IMPORTS_MAX are under way."""
        validate.optional_text(query.agent_id, "agent_id", limits.NAME_BYTES_MAX)
        validate.optional_text(operation_id, "operation_id", IMPORT_ID_BYTES_MAX)
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
        """Whether one is under way: then the collection is in use."""
        return self._turns.any()

    def end(self, why: Why) -> None:
        """Fails every read and every piece from now on. Idempotent; the first reason counts."""
        self._turns.stop(why)

    def close(self, why: Why = shutting_down) -> None:
        """The same, and drops what waits."""
        self.end(why)
        self._executor.shutdown(cancel_futures=True)
