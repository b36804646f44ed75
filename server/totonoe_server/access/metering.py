"""Limits of identities as they are used up: rates, calls at once, memories and bytes.

Event loop only. A meter exists for each identity and pattern of collections with limits.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass

from totonoe_core.base.errors import Quota
from totonoe_server.access.buckets import AtOnce, Bucket
from totonoe_server.access.grants import fits
from totonoe_server.access.identities import Identity, Limits
from totonoe_server.access.table import Rule

FIGURES_KEPT_S = 1.0
"""How long the size of a collection is kept; what is written meanwhile is added to it."""
_FIGURES_KEPT_MAX = 1024


@dataclass(slots=True)
class Figures:
    """Size of a collection: memories of every status that an agent sees, bytes of its file."""

    memories: int
    bytes: int


Read = Callable[[str, str], Awaitable[Figures]]
"""`read(collection, agent_id)` returns the size of a collection as an agent sees it."""


class Meter:
    """Count what an identity has used up on the collections of one pattern."""

    def __init__(self, bounds: Limits, clock: Callable[[], float]) -> None:
        self.bounds = bounds
        self._clock = clock
        self._rates: dict[bool, Bucket] = {}
        self._at_once: dict[bool, AtOnce] = {}

    def set(self, bounds: Limits) -> None:
        """Changes the bounds; what is used up stays used up."""
        self.bounds = bounds
        for writes, bucket in tuple(self._rates.items()):
            per_s = bounds.writes_per_s if writes else bounds.reads_per_s
            if per_s is None:
                del self._rates[writes]
            else:
                bucket.set_rate(per_s)
        for streams, at_once in self._at_once.items():
            most = bounds.streams_at_once if streams else bounds.calls_at_once
            # Those that run are counted on, so that they can leave.
            at_once.most = most if most is not None else 2**31

    def rate(self, writes: bool) -> Bucket | None:
        """The bucket of writes or of reads; `None`: there is no such bound."""
        per_s = self.bounds.writes_per_s if writes else self.bounds.reads_per_s
        if per_s is None:
            return None
        if writes not in self._rates:
            name = "writes_per_s" if writes else "reads_per_s"
            self._rates[writes] = Bucket(name, per_s, self._clock)
        return self._rates[writes]

    def at_once(self, streams: bool) -> AtOnce | None:
        """Streams or calls at once; `None`: there is no such bound."""
        most = self.bounds.streams_at_once if streams else self.bounds.calls_at_once
        if most is None:
            return None
        if streams not in self._at_once:
            name = "streams_at_once" if streams else "calls_at_once"
            self._at_once[streams] = AtOnce(name, most)
        return self._at_once[streams]


class Meters:
    """All meters of a daemon.

    Parameters
    ----------
    clock : callable
        Monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.read: Read | None = None
        self._meters: dict[tuple[str, str], Meter] = {}
        self._figures: dict[tuple[str, str], tuple[float, Figures]] = {}

    def settle(self, identities: Mapping[str, Identity]) -> None:
        """Takes over the limits of identities that were read again."""
        for name, pattern in tuple(self._meters):
            identity = identities.get(name)
            bounds = identity.limits.get(pattern) if identity else None
            if bounds is None:
                del self._meters[name, pattern]
            else:
                self._meters[name, pattern].set(bounds)

    def of(self, identity: Identity, collection: str) -> Iterator[Meter]:
        """Yield the meters that hold for an identity on a collection."""
        for pattern, bounds in identity.limits.items():
            # A call on no collection counts where all of them count.
            if not fits(pattern, collection):
                continue
            key = identity.name, pattern
            if key not in self._meters:
                self._meters[key] = Meter(bounds, self.clock)
            yield self._meters[key]

    async def check_room(self, bounds: Limits, identity: Identity, collection: str) -> None:
        """Checks the quotas of a collection, and counts one memory more.

        Raises
        ------
        Quota
            The collection has as many memories or bytes as the identity may fill it with.
        """
        figures = await self._size(collection, identity.agent_id)
        for name, most, now in (
            ("memories", bounds.memories, figures.memories),
            ("bytes", bounds.bytes, figures.bytes),
        ):
            if most is not None and now >= most:
                raise Quota(
                    "QUOTA_EXCEEDED",
                    f"{name}: this collection has {now}; the identity {identity.name!r} may add to "
                    f"it up to {most}",
                    limit=name,
                    allowed=most,
                )
        figures.memories += 1

    async def _size(self, collection: str, agent_id: str) -> Figures:
        key, now_s = (collection, agent_id), self.clock()
        kept = self._figures.get(key)
        if kept is not None and now_s - kept[0] < FIGURES_KEPT_S:
            return kept[1]
        assert self.read is not None
        figures = await self.read(collection, agent_id)
        if len(self._figures) >= _FIGURES_KEPT_MAX:
            self._figures.clear()
        self._figures[key] = now_s, figures
        return figures


class Metered:
    """Take one call off the meters of its caller."""

    def __init__(self, meters: Meters, rule: Rule) -> None:
        self._meters, self._rule = meters, rule
        self._inside: list[AtOnce] = []
        self._entered: set[Meter] = set()

    async def take(self, identity: Identity, collection: str) -> None:
        """Takes one request, or one item, on a collection. Nothing is taken if it raises.

        Raises
        ------
        RateLimited
            A rate or a number of calls at once is used up.
        Quota
            The collection is full.
        """
        rule = self._rule
        meters = tuple(self._meters.of(identity, collection))
        rates = [rate for meter in meters if (rate := meter.rate(rule.writes)) is not None]
        for rate in rates:
            rate.check()
        self._enter(meters)
        if rule.adds:
            for meter in meters:
                if meter.bounds.memories is not None or meter.bounds.bytes is not None:
                    await self._meters.check_room(meter.bounds, identity, collection)
        for rate in rates:
            rate.take(1)

    def leave(self) -> None:
        """The call ended."""
        for at_once in self._inside:
            at_once.leave()
        self._inside.clear()

    def _enter(self, meters: tuple[Meter, ...]) -> None:
        streams = self._rule.streams_in or self._rule.streams_out
        for meter in meters:
            at_once = meter.at_once(streams)
            if at_once is not None and meter not in self._entered:
                at_once.enter()
                self._inside.append(at_once)
            self._entered.add(meter)
