"""Operations as they were last read for watchers: many of them follow the same ones."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass

from totonoe_core import limits
from totonoe_core.records import Link, LinkType, Memory
from totonoe_core.store.collection_file import Touched
from totonoe_core.store.history import OperationRow

_MEMORY_BYTES = 2048  # of a version besides its text, about


@dataclass(frozen=True, slots=True)
class DecodedLink:
    """One touched pair, as the source holds it; as it was, if it was taken away."""

    source: int
    target: int
    link: Link
    removed: bool


@dataclass(frozen=True, slots=True)
class DecodedOperation:
    """One operation with what it changed, by row number; nothing of it depends on who asks.

    `before` lacks what it made; `after` also has the ends of `pairs`, which are all that were
    linked or unlinked, and lacks what was purged since, as `links` do. Vectors are left out.
    """

    row: OperationRow
    touched: Touched
    before: dict[int, Memory]
    after: dict[int, Memory]
    pairs: tuple[tuple[int, int, LinkType], ...]
    links: tuple[DecodedLink, ...]

    def nbytes(self) -> int:
        """Bytes that it holds, about."""
        texts = (len(one.content) for part in (self.before, self.after) for one in part.values())
        return sum(2 * chars + _MEMORY_BYTES for chars in texts) + 512 * (1 + len(self.pairs))


class RecentOperations:
    """Keeps CHANGES_KEPT_BYTES_MAX of decoded operations, least recently read first out.

    Safe from any thread. `generation` tells a reader that began before a purge from later ones:
    what it read is not kept.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[int, tuple[DecodedOperation, int]] = OrderedDict()
        self._nbytes = 0
        self.generation = 0

    def get(self, revision: int) -> DecodedOperation | None:
        """The operation of a revision, if it is kept."""
        with self._lock:
            found = self._kept.get(revision)
            if found is None:
                return None
            self._kept.move_to_end(revision)
            return found[0]

    def put(self, operation: DecodedOperation, generation: int) -> None:
        """Keeps an operation that was read while `generation` was this."""
        nbytes = operation.nbytes()
        with self._lock:
            if generation != self.generation or operation.row.revision in self._kept:
                return
            self._kept[operation.row.revision] = (operation, nbytes)
            self._nbytes += nbytes
            while self._nbytes > limits.CHANGES_KEPT_BYTES_MAX:
                self._nbytes -= self._kept.popitem(last=False)[1][1]

    def clear(self) -> None:
        """Lets go of everything: a purge is one of bytes."""
        with self._lock:
            self.generation += 1
            self._kept.clear()
            self._nbytes = 0
