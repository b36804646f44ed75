"""Selection of slots for the guard, evaluated only where it looks.

A Remember looks at tens of slots: equal texts, what a scan found, slots behind the
prefix. A mask over all slots would cost more than that, so it is made only for a layer that scans
all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from totonoe_core.domain.records import Kind, StateKind, Status
from totonoe_core.index.arrays import KINDS, STATE_KINDS, STATUSES, Chunk, View
from totonoe_core.index.chunks import by_chunk
from totonoe_core.index.masks import Mask

Columns = Callable[[str], NDArray[Any]]
Condition = Callable[[Columns], Mask]
"""Function from columns by name to a mask of the rows that meet the condition."""

_ACTIVE = STATUSES[Status.ACTIVE]


class Selection:
    """ACTIVE slots of a view that meet conditions. For the writer's thread, for one decision.

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
        """Return the selection with more conditions."""
        return Selection(self._view, *self._conditions, *conditions, pending=self._pending)

    def at(self, slots: NDArray[np.int64]) -> Mask:
        """Return whether each of some ascending slots is selected."""
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
        """Return whether each slot from `first` on is selected: bool[view.count - first]."""
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
        """Return whether each slot is selected: bool[view.count], computed once."""
        if self._all is None:
            self._all = self.since(0)
        return self._all

    def _fulfilled(self, mask: Mask, chunk: Chunk, rows: NDArray[np.int32] | slice) -> Mask:
        """Clear the rows of a mask that miss a condition, in place, and return it."""
        for condition in self._conditions:
            mask &= condition(lambda name: chunk.columns[name][rows])
        return mask


def readable(agent_code: int) -> Condition:
    """Select public slots, and the agent's own."""
    return lambda columns: (columns("private") == 0) | (columns("agent") == agent_code)


def equal(column: str, value: int) -> Condition:
    """Select slots with one value in a column."""
    return lambda columns: columns(column) == value


def differing(column: str, value: int) -> Condition:
    """Select slots with any other value in a column."""
    return lambda columns: columns(column) != value


def at_least(column: str, value: int) -> Condition:
    """Select slots with this value in a column, or a higher one."""
    return lambda columns: columns(column) >= value


def none() -> Condition:
    """Select no slot."""
    return lambda columns: np.zeros(len(columns("status")), np.bool_)


def of_kind(kind: Kind, state_kind: StateKind) -> Condition:
    """Select slots of one kind and state kind."""
    code, state_code = KINDS[kind], STATE_KINDS[state_kind]
    return lambda columns: (columns("kind") == code) & (columns("state_kind") == state_code)
