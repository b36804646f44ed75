"""Swap of models: an index with other vectors, built beside the one that answers.

Slots, columns, tokens, words and maps are shared; only vectors, prefix and graph are new. So it
costs its vectors while it is built, and the swap costs one commit at any size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from totonoe_core.base import limits
from totonoe_core.base.errors import Precondition
from totonoe_core.domain.records import Memory, Status
from totonoe_core.domain.reembed import Reembed, Reembedded, guard_for
from totonoe_core.engine.state.ledger import Ledger, Operation
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.index.arrays import View
from totonoe_core.index.collection_index import CollectionIndex
from totonoe_core.store.rows import Embedding
from totonoe_core.store.seam import Rows

_FILLED_AT_ONCE = 1024


class NotPreparedError(Exception):
    """The prepared index no longer fits, or lacks rows; it is prepared again."""


@dataclass(slots=True)
class Prepared:
    """An index beside `source`, with all vectors as of `revision` except the `lacking` rows.

    Made and filled on any one thread, until the writer takes it.
    """

    source: CollectionIndex
    index: CollectionIndex
    revision: int
    lacking: set[int] = field(default_factory=set)
    embed: Callable[[Sequence[str]], NDArray[np.float32]] | None = None
    """Embeds the last texts while the swap is decided; `None`: it waits until none is lacking."""
    _revived_before: int = 0
    _purged_before: int = 0

    @classmethod
    def begun(cls, state: CollectionState, model_number: int, dimension: int) -> Prepared:
        """Return a prepared index that holds no vectors yet."""
        # Before the slots: later memories are then filled twice rather than left out.
        revision = state.published.revision
        source = state.index
        revived, purged = len(source.arrays.revived), len(source.arrays.purged)
        index = source.beside(dimension, model_number)
        return cls(source, index, revision, _revived_before=revived, _purged_before=purged)

    def fits(self, state: CollectionState) -> bool:
        """Return whether it still fits the collection's index, and nothing was purged since."""
        arrays = self.source.arrays
        return state.index is self.source and len(arrays.purged) == self._purged_before

    def fill(self, rows: Rows, memories: Iterable[Memory]) -> None:
        """Fill in the vectors of memories as stored in the file."""
        view = self.index.view()
        slots_by_row = _newest_slots(view)
        slots: list[int] = []
        vectors: list[NDArray[np.float32]] = []
        for memory in rows.beside.of_model(self.index.model_number, memories):
            slot = int(slots_by_row[memory.row]) if memory.row < len(slots_by_row) else -1
            if memory.status is Status.PURGED or slot < 0:
                continue
            if not memory.vector:
                self.lacking.add(memory.row)
                continue
            self.lacking.discard(memory.row)
            slots.append(slot)
            vectors.append(np.frombuffer(memory.vector, np.float32))
            if len(slots) == _FILLED_AT_ONCE:
                self._set(slots, vectors)
        self._set(slots, vectors)

    def _set(self, slots: list[int], vectors: list[NDArray[np.float32]]) -> None:
        if slots:
            self.index.arrays.set_vectors(np.array(slots, np.int64), np.array(vectors))
        slots.clear()
        vectors.clear()

    def catch_up(self, rows: Rows, published: int) -> None:
        """Fill in memories written since, up to a published revision, and those lacking."""
        self.index.arrays.follow(self.source.arrays, self._revived_before)
        changed = rows.rows_after(self.revision)
        wanted = sorted({*changed, *self.lacking})
        self.fill(rows, rows.memories(wanted).values())
        self.revision = max(self.revision, published)

    def embed_lacking(self, ledger: Ledger) -> None:
        """Embed the last rows, at most REEMBED_STORED_AT_ONCE, while nobody writes others.

        Else a daemon that always writes, and runs the model before, keeps the swap from its turn.
        """
        if self.embed is None or len(self.lacking) > limits.REEMBED_STORED_AT_ONCE:
            return
        memories = list(ledger.rows.memories(sorted(self.lacking)).values())
        vectors = self.embed([memory.content for memory in memories])
        number = self.index.model_number
        ledger.file.beside.put(
            Embedding(memory.row, memory.revision, vector.tobytes(), number)
            for memory, vector in zip(memories, vectors, strict=True)
        )
        self.fill(ledger.rows, memories)


def _newest_slots(view: View) -> NDArray[np.int64]:
    """Return the newest slot in a view of each row number, or -1."""
    rows = view.column("row")
    newest = np.full(int(rows.max(initial=0)) + 1, -1, np.int64)
    newest[rows] = np.arange(len(rows))
    return newest


def swap(ledger: Ledger, operation: Operation, command: Reembed) -> Reembedded:
    """Give a collection its new vectors, in one operation that is decided alone.

    Raises `NotPreparedError` if vectors are missing; the caller rolls the operation back.
    """
    state, prepared = ledger.state, command.prepared
    if not isinstance(prepared, Prepared):
        raise Precondition("NOTHING_TO_REEMBED", "no re-embedding is under way")
    # Under the lock: another daemon may have cancelled it, or carried it out.
    pending = state.read_pending()
    if pending is None or pending.cancelled:
        raise NotPreparedError
    if not prepared.fits(state) or prepared.index.model_number != pending.model_number:
        raise NotPreparedError
    prepared.catch_up(ledger.rows, state.revision)
    if prepared.lacking:
        prepared.embed_lacking(ledger)
    if prepared.lacking:
        raise NotPreparedError
    before, models = state.info, state.models()
    known = models[pending.model_number]
    guard = guard_for(known, before.guard)
    ledger.put_settings(
        operation,
        replace(
            before,
            model=pending.model,
            model_number=pending.model_number,
            model_since=operation.revision,
            calibration=known.calibration,
            guard=guard,
        ),
    )
    state.put_models(models)
    state.put_pending(None)
    state.put_settling(True)
    prepared.index.take_place()
    state.next_index = prepared.index
    memory_count = len(prepared.index.slot_by_row)
    return Reembedded(
        before=before.model,
        after=pending.model,
        memory_count=memory_count,
        embedded_count=pending.embedded_count,
        calibrated=known.calibration is not None,
        thresholds_reset=guard != before.guard,
    )
