"""Figures of calls: how many run, how they ended, how long they took."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from totonoe_core.base.histogram import Histogram


@dataclass(slots=True)
class MethodFigures:
    """Figures of one method: calls under way, and the seconds of ended ones by status code."""

    now: int = 0
    seconds: dict[str, Histogram] = field(default_factory=dict)


@dataclass(slots=True)
class CallFigures:
    """Figures of the contract's own calls (not health, not reflection). Written by the event loop.

    Attributes
    ----------
    now : int
        Calls under way.
    begun : int
        All calls that came in, refused ones too.
    ended : Counter of str
        Ended calls by status code name; cancelled ones under CANCELLED.
    seconds : float
        Wall time of all ended calls together.
    refused : Counter of str
        Calls, and items of RememberMany, that ended with an error, by its reason.
    methods : dict of str to MethodFigures
        By the name of the method.
    idle : asyncio.Event
        Set while no call is under way.
    """

    now: int = 0
    begun: int = 0
    ended: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    refused: Counter[str] = field(default_factory=Counter)
    methods: dict[str, MethodFigures] = field(default_factory=dict)
    idle: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.idle.set()

    def begin(self, method: str) -> None:
        """A call came in."""
        self.now += 1
        self.begun += 1
        self.idle.clear()
        figures = self.methods.get(method)
        if figures is None:
            figures = self.methods[method] = MethodFigures()
        figures.now += 1

    def items_refused(self, reasons: Iterable[str]) -> None:
        """Items of a message were answered, with an error where the reason is not empty."""
        for reason in reasons:
            if reason:
                self.refused[reason] += 1

    def end(self, method: str, code: str, seconds: float, reason: str = "") -> None:
        """A call ended, with an error if it has a reason."""
        self.now -= 1
        self.ended[code] += 1
        self.seconds += seconds
        if reason:
            self.refused[reason] += 1
        figures = self.methods[method]
        figures.now -= 1
        histogram = figures.seconds.get(code)
        if histogram is None:
            histogram = figures.seconds[code] = Histogram()
        histogram.add(seconds)
        if not self.now:
            self.idle.set()
