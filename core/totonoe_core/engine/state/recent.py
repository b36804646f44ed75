"""Cache of operations that were recently read for watchers, who often follow the same ones."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass

from totonoe_core.base import limits
from totonoe_core.domain.records import Link, LinkType, Memory
from totonoe_core.store.records import OperationRow, Touched

_MEMORY_BYTES = 2048  # approximate size of a version besides its text


@dataclass(frozen=True, slots=True)
class DecodedLink:
    """One touched pair, as the source holds it; the former link, if it was removed."""

    source: int
    target: int
    link: Link
    removed: bool


@dataclass(frozen=True, slots=True)
class DecodedOperation:
    """One operation with its changes, by row number, independent of any agent.

    `before` lacks memories that it made; `after` also has the ends of `pairs`, which are all linked
    or unlinked pairs, and lacks memories purged since, as `links` do. Vectors are left out.
    """

    row: OperationRow
    touched: Touched
    before: dict[int, Memory]
    after: dict[int, Memory]
    pairs: tuple[tuple[int, int, LinkType], ...]
    links: tuple[DecodedLink, ...]

    def nbytes(self) -> int:
        """Approximate size in bytes."""
        texts = (
            len(memory.content) for part in (self.before, self.after) for memory in part.values()
        )
        return sum(2 * chars + _MEMORY_BYTES for chars in texts) + 512 * (1 + len(self.pairs))


class RecentOperations:
    """Keeps CHANGES_KEPT_BYTES_MAX of decoded operations, dropping the least recently read first.

    Safe from any thread. `generation` identifies readers that started before a purge: the
    operations that they read are not kept.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[int, tuple[DecodedOperation, int]] = OrderedDict()
        self._nbytes = 0
        self.generation = 0

    def get(self, revision: int) -> DecodedOperation | None:
        """Return the operation of a revision, if it is kept."""
        with self._lock:
            found = self._kept.get(revision)
            if found is None:
                return None
            self._kept.move_to_end(revision)
            return found[0]

    def put(self, operation: DecodedOperation, generation: int) -> None:
        """Keep an operation that was read in a `generation`."""
        nbytes = operation.nbytes()
        with self._lock:
            if generation != self.generation or operation.row.revision in self._kept:
                return
            self._kept[operation.row.revision] = (operation, nbytes)
            self._nbytes += nbytes
            while self._nbytes > limits.CHANGES_KEPT_BYTES_MAX:
                self._nbytes -= self._kept.popitem(last=False)[1][1]

    def clear(self) -> None:
        """Drop everything: a purge is one of bytes."""
        with self._lock:
            self.generation += 1
            self._kept.clear()
            self._nbytes = 0
