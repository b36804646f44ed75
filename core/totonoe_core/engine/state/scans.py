"""Prefetched scans: the vectors of a batch are announced, and one scan serves many of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from totonoe_core.domain.commands import Command
from totonoe_core.domain.memories import Remember, Update
from totonoe_core.domain.policy import GuardPolicy
from totonoe_core.guard.candidates import lowest_near, scanned_from
from totonoe_core.guard.cosines import suffices
from totonoe_core.guard.prefetched import (
    FullScans,
    PrefetchedScan,
    PrefixScans,
    Similarities,
    Vector,
)
from totonoe_core.index.collection_index import CollectionIndex


class PrefetchedScans:
    """Scans of one collection's index for announced vectors. For the writer's thread."""

    def __init__(self) -> None:
        self._scans: PrefixScans | FullScans | None = None
        self._at_least: float | None = None
        self._neighbours = True

    def expect(
        self,
        index: CollectionIndex,
        policy: GuardPolicy,
        vectors: Sequence[Vector],
        neighbours: bool = True,
    ) -> None:
        """Announce the vectors of a batch; none: no scan is kept.

        What was scanned for those that the batch before left over is not scanned again.

        Parameters
        ----------
        policy : GuardPolicy
            The collection's. It says how far a scan reaches.
        vectors : sequence of float32[dim]
            The objects that `of` will be asked for, in their order.
        neighbours : bool
            The nearest are asked for too: the scan reaches as far as the policy shows and links.
        """
        before, self._scans = self._scans, None
        self._neighbours = neighbours
        self._at_least = scanned_from(policy, neighbours)
        if not vectors:
            return
        arrays = index.arrays
        if not suffices(index.prefix, index.graph, lowest_near(policy, neighbours)):
            full_scans = before.carried(arrays, vectors) if isinstance(before, FullScans) else None
            self._scans = full_scans or FullScans(arrays, vectors)
        elif self._at_least is not None:
            reaching = before.carried(arrays, vectors) if isinstance(before, PrefixScans) else None
            if reaching is None or reaching.at_least != self._at_least:
                reaching = PrefixScans(arrays, index.prefix, vectors, self._at_least)
            self._scans = reaching

    @contextmanager
    def expecting(
        self, index: CollectionIndex, policy: GuardPolicy, vectors: Sequence[Vector]
    ) -> Iterator[None]:
        """Announce the vectors of one command, whose neighbours are not needed."""
        before = self._scans, self._at_least, self._neighbours
        self._scans = None
        self.expect(index, policy, vectors, neighbours=False)
        try:
            yield
        finally:
            self._scans, self._at_least, self._neighbours = before

    def of(
        self, index: CollectionIndex, vector: Vector, policy: GuardPolicy
    ) -> PrefetchedScan | Similarities | None:
        """Return the result of a scan; `None` if the vector needs one of its own.

        `policy` is that of the call: its threshold may be below that of the scan.
        """
        asked = scanned_from(policy, self._neighbours)
        if isinstance(self._scans, PrefixScans) and asked != self._at_least:
            return None
        return None if self._scans is None else self._scans.of(index.arrays, vector)


def guarded(command: Command) -> bool:
    """Return whether the guard's layers run for a command, judging by the command alone."""
    match command:
        case Remember(fields=fields, force=force):
            return not force and fields.compared and fields.key is None
        case Update(force=force):
            return not force
        case _:
            return False
