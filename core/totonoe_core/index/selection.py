"""Which slots the guard asks about, worked out where it asks.

A Remember looks at tens of slots: equal texts, what the graph names, what is not in it yet. A
mask over all of them would cost more than that, so it is made only for a layer that scans all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from totonoe_core.index.arrays import KINDS, STATE_KINDS, STATUSES, Chunk, View
from totonoe_core.index.chunks import by_chunk
from totonoe_core.index.masks import Mask
from totonoe_core.records import Kind, StateKind, Status

Columns = Callable[[str], NDArray[Any]]
Condition = Callable[[Columns], Mask]
"""From columns by name to whether each of their rows fulfils it."""

_ACTIVE = STATUSES[Status.ACTIVE]


class Selection:
    """ACTIVE slots of a view that fulfil conditions. For the writer's thread, for one decision.

    Parameters
    ----------
    conditions : Condition
        All of them hold.
    pending : mapping of slot to status code
        Status changes that are not published yet; they count.
    """

    __slots__ = ("_all", "_conditions", "_pending", "_view")

    def __init__(
        self, view: View, *conditions: Condition, pending: Mapping[int, int] | None = None
    ) -> None:
        self._view = view
        self._conditions = conditions
        self._pending = pending or {}
        self._all: Mask | None = None

    def narrowed(self, *conditions: Condition) -> Selection:
        """Those of its slots that fulfil more conditions."""
        return Selection(self._view, *self._conditions, *conditions, pending=self._pending)

    def at(self, slots: NDArray[np.int64]) -> Mask:
        """Whether each of some ascending slots belongs to it."""
        out = np.empty(len(slots), np.bool_)
        for where, rows, chunk in by_chunk(self._view, slots):
            alive = chunk.columns["status"][rows] == _ACTIVE
            if self._pending:
                for at, slot in enumerate(slots[where].tolist()):
                    if slot in self._pending:
                        alive[at] = self._pending[slot] == _ACTIVE
            out[where] = self._fulfilled(alive, chunk, rows)
        return out

    def since(self, first: int) -> Mask:
        """Whether each slot from `first` on belongs to it: bool[view.count - first]."""
        out = np.empty(max(0, self._view.count - first), np.bool_)
        for base, size, chunk in self._view.parts():
            rows = slice(max(first - base, 0), size)
            if rows.start < size:
                where = slice(base + rows.start - first, base + size - first)
                out[where] = chunk.columns["status"][rows] == _ACTIVE
        for slot, status in self._pending.items():
            if first <= slot < self._view.count:
                out[slot - first] = status == _ACTIVE
        for base, size, chunk in self._view.parts():
            rows = slice(max(first - base, 0), size)
            if rows.start < size:
                where = slice(base + rows.start - first, base + size - first)
                self._fulfilled(out[where], chunk, rows)
        return out

    def all(self) -> Mask:
        """Whether each slot belongs to it: bool[view.count], made once."""
        if self._all is None:
            self._all = self.since(0)
        return self._all

    def _fulfilled(self, mask: Mask, chunk: Chunk, rows: NDArray[np.int32] | slice) -> Mask:
        """The mask without those of its rows that miss a condition; changed in place."""
        for condition in self._conditions:
            mask &= condition(lambda name: chunk.columns[name][rows])
        return mask


def readable(agent_code: int) -> Condition:
    """Public, or the agent's own."""
    return lambda columns: (columns("private") == 0) | (columns("agent") == agent_code)


def equal(column: str, value: int) -> Condition:
    """One value in a column."""
    return lambda columns: columns(column) == value


def of_kind(kind: Kind, state_kind: StateKind) -> Condition:
    """One kind and state kind."""
    code, state_code = KINDS[kind], STATE_KINDS[state_kind]
    return lambda columns: (columns("kind") == code) & (columns("state_kind") == state_code)
