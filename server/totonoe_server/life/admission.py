"""How many calls of one sort may be under way, and which stream gives way to another one.

A stream is idle while it waits for its caller: for the next message, or for an answer to be taken.
One that is idle for too long is ended, so that streams that are left open cost nobody a place.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Self, TypeVar

from totonoe_core.base import limits
from totonoe_core.base.errors import TotonoeError, Unavailable
from totonoe_server.services.pending import shutting_down

T = TypeVar("T")

_NOT_TOLD_APART = "unix:"
"""Peer name that gRPC gives to every peer on a Unix socket."""


class Place:
    """The place of one call of a peer, "" for one that is not told apart. Event loop only.

    A context manager around the call.
    """

    def __init__(self, peer: str, admission: Admission) -> None:
        self.peer = peer
        self._admission = admission
        self._idle_from_s: float | None = None
        self._end: Callable[[], None] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._admission.leave(self)

    async def waiting(self, caller: Awaitable[T], limit_s: float) -> T:
        """Wait until the caller of a stream sends a message or takes an answer.

        Raises
        ------
        Unavailable
            STREAM_IDLE: it did not within `limit_s`, or another stream took the place.
        """
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(limit_s) as timeout:
                self.idle(lambda: timeout.reschedule(loop.time()))
                return await caller
        except TimeoutError:
            raise too_idle() from None
        finally:
            self.busy()

    def idle(self, end: Callable[[], None]) -> None:
        """From now on it waits for its caller; `end` ends the stream."""
        self._idle_from_s = asyncio.get_running_loop().time()
        self._end = end

    def busy(self) -> None:
        """It no longer waits for its caller."""
        self._idle_from_s = self._end = None

    def idle_s(self) -> float:
        """Seconds that it has been waiting for its caller; 0 if it is not."""
        if self._idle_from_s is None:
            return 0.0
        return asyncio.get_running_loop().time() - self._idle_from_s

    def give_way(self) -> None:
        """Ends a stream that waits for its caller."""
        if self._end is not None:
            self._end()


class Admission:
    """Counts calls of one sort and refuses those over the bound. Event loop only.

    Parameters
    ----------
    at_once_max : int
        Calls under way.
    full : callable
        Makes the error of a call over that bound.
    peer_max : int, optional
        Calls of one connection under way. Peers on Unix sockets cannot be told apart: there is no
        such bound for them.
    """

    def __init__(
        self,
        at_once_max: int,
        full: Callable[[int], TotonoeError] | None = None,
        peer_max: int | None = None,
    ) -> None:
        self._at_once_max, self._peer_max = at_once_max, peer_max
        self._full = full or _overloaded
        self._places: dict[Place, None] = {}
        self._by_peer: Counter[str] = Counter()
        self._draining = False

    def drain(self) -> None:
        """From now on lets nothing in."""
        self._draining = True

    def place(self, peer: str) -> Place:
        """A place of a call of this peer, until its `with` block ends.

        Raises
        ------
        Unavailable
            SHUTTING_DOWN, or OVERLOADED where the peer or all together have as many as they may.
        """
        if self._draining:
            raise shutting_down()
        if peer.startswith(_NOT_TOLD_APART):
            peer = ""
        if peer and self._peer_max is not None and self._by_peer[peer] >= self._peer_max:
            raise _overloaded(self._peer_max, " on this connection")
        if len(self._places) >= self._at_once_max and not self._longest_idle_gives_way():
            raise self._full(self._at_once_max)
        place = Place(peer, self)
        self._places[place] = None
        self._by_peer[peer] += 1
        return place

    def _longest_idle_gives_way(self) -> bool:
        """Frees a place, if a stream has been idle long enough."""
        idle = max(self._places, key=Place.idle_s, default=None)
        if idle is None or idle.idle_s() < limits.STREAM_GIVES_WAY_S:
            return False
        idle.give_way()
        self.leave(idle)
        return True

    def leave(self, place: Place) -> None:
        """Frees a place. Safe to call twice."""
        if place in self._places:
            del self._places[place]
            self._by_peer[place.peer] -= 1
            if not self._by_peer[place.peer]:
                del self._by_peer[place.peer]


def too_idle() -> Unavailable:
    """The error of a stream that waited too long for its caller."""
    return Unavailable(
        "STREAM_IDLE",
        "the stream waited too long for its caller; open it again",
        retry_delay_ms=limits.RETRY_DELAY_MS,
    )


def _overloaded(at_once_max: int, where: str = "") -> TotonoeError:
    return Unavailable(
        "OVERLOADED",
        f"{at_once_max} calls of this kind are under way{where}",
        retry_delay_ms=limits.RETRY_DELAY_MS,
    )
