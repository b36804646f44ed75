"""The writer's queue: callers take turns, so that one caller's bulk does not delay others.

    peers ──► flows of a peer ──► entries of a flow, first in, first out

Peers take turns, and the flows of one peer do (`turn`). If peers cannot be told apart, the flows
still can.
"""

from __future__ import annotations

import queue
import threading
from collections import OrderedDict, deque
from collections.abc import Collection, Iterable, Iterator
from typing import Generic, Protocol, TypeVar

from totonoe_core.base.turn import Turn


class Entry(Protocol):
    """A waiting entry."""

    @property
    def turn(self) -> Turn:
        """The flow that it belongs to."""
        ...


E = TypeVar("E", bound=Entry)


class TurnQueue(Generic[E]):
    """Entries of many flows. Safe from any thread; one thread takes.

    Parameters
    ----------
    entries_max : int
        Entries that may wait.
    """

    def __init__(self, entries_max: int) -> None:
        self._entries_max = entries_max
        self._peers: OrderedDict[str, OrderedDict[str, deque[E]]] = OrderedDict()
        self._count = 0
        self._woken = False
        self._changed = threading.Condition()

    def __len__(self) -> int:
        return self._count

    def put(self, entries: Collection[E]) -> None:
        """Append entries to their flows, all or none. Raises `queue.Full`."""
        with self._changed:
            if self._count + len(entries) > self._entries_max:
                raise queue.Full
            for entry in entries:
                self._flow(entry).append(entry)
            self._count += len(entries)
            self._changed.notify()

    def put_back(self, entries: Iterable[E]) -> None:
        """Put taken entries back in front of all others, in their order."""
        with self._changed:
            for entry in reversed(list(entries)):
                peer, flow = entry.turn
                self._flow(entry).appendleft(entry)
                self._peers[peer].move_to_end(flow, last=False)
                self._peers.move_to_end(peer, last=False)
                self._count += 1

    def drop(self, entries: Collection[E]) -> None:
        """Remove waiting entries; ignore others."""
        gone = set(map(id, entries))
        with self._changed:
            for peer, flow in {entry.turn for entry in entries}:
                if peer in self._peers and flow in self._peers[peer]:
                    waiting = self._peers[peer][flow]
                    kept = [entry for entry in waiting if id(entry) not in gone]
                    self._count -= len(waiting) - len(kept)
                    waiting.clear()
                    waiting.extend(kept)
                    self._settle(peer, flow)

    def wake(self) -> None:
        """End a waiting `take`."""
        with self._changed:
            self._woken = True
            self._changed.notify()

    def take(self, entries_max: int, timeout_s: float) -> list[E]:
        """Return the next entries, a turn of each peer after the other; none after the time."""
        with self._changed:
            self._changed.wait_for(lambda: self._count or self._woken, timeout_s)
            self._woken = False
            return [self._next() for _ in range(min(entries_max, self._count))]

    def drained(self) -> Iterator[E]:
        """Yield all waiting entries, until none is left."""
        while taken := self.take(self._entries_max, 0.0):
            yield from taken

    def _flow(self, entry: E) -> deque[E]:
        peer, flow = entry.turn
        return self._peers.setdefault(peer, OrderedDict()).setdefault(flow, deque())

    def _next(self) -> E:
        peer = next(iter(self._peers))
        flow = next(iter(self._peers[peer]))
        entry = self._peers[peer][flow].popleft()
        self._count -= 1
        self._peers[peer].move_to_end(flow)
        self._peers.move_to_end(peer)
        self._settle(peer, flow)
        return entry

    def _settle(self, peer: str, flow: str) -> None:
        """Drop a flow, and a peer, without waiting entries."""
        if not self._peers[peer][flow]:
            del self._peers[peer][flow]
        if not self._peers[peer]:
            del self._peers[peer]
