"""Numbers in the attributes of memories, in columns, so that comparisons read no row.

    paths    int64[n]     hash of the path of keys, as the terms of labels
    slots    int32[n]
    values   float64[n]

The writer appends when an operation is published; readers take the prefix that existed. A
comparison scans all of them: some 2 ns for each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from totonoe_core.domain.filter import Comparison, Operator
from totonoe_core.index.lexical import hashes_of, name_of

_FIRST = 256
_COMPARED: dict[Operator, Any] = {
    Operator.GT: np.greater,
    Operator.GTE: np.greater_equal,
    Operator.LT: np.less,
    Operator.LTE: np.less_equal,
}


@dataclass(frozen=True, slots=True)
class _Readable:
    """The columns in one step, so that they fit together. They grow by copying."""

    paths: NDArray[np.int64]
    slots: NDArray[np.int32]
    values: NDArray[np.float64]


class Numbers:
    """Numbers by path and slot. One writer, any readers."""

    def __init__(self) -> None:
        self._arrays = _Readable(
            np.zeros(_FIRST, np.int64), np.zeros(_FIRST, np.int32), np.zeros(_FIRST)
        )
        self._count = 0

    def add(
        self, slot: int, found: Iterable[tuple[tuple[str, ...], float]], key: NDArray[np.uint64]
    ) -> None:
        """Add the numbers of a slot. Slots come in ascending order, each once."""
        pairs = list(found)
        if not pairs:
            return
        begin, end = self._count, self._count + len(pairs)
        self._make_room(end)
        arrays = self._arrays
        arrays.paths[begin:end] = _hashes([path for path, _ in pairs], key)
        arrays.slots[begin:end] = slot
        arrays.values[begin:end] = [value for _, value in pairs]
        # The count last: a reader ignores what is beyond it.
        self._count = end

    def slots_where(self, asked: Comparison, key: NDArray[np.uint64]) -> NDArray[np.int32]:
        """Return the slots that meet an ordering comparison, ascending."""
        # The count first: the arrays hold at least that many.
        count = self._count
        arrays = self._arrays
        (path,) = _hashes([asked.path], key)
        here = arrays.paths[:count] == path
        here &= _COMPARED[asked.operator](arrays.values[:count], float(asked.value))
        found: NDArray[np.int32] = arrays.slots[:count][here]
        return found

    def empty(self, slot: int) -> None:
        """Overwrite the numbers of a purged slot. Writer only."""
        begin, end = np.searchsorted(self._arrays.slots[: self._count], (slot, slot + 1))
        self._arrays.values[begin:end] = np.nan
        self._arrays.paths[begin:end] = 0

    def dump(self, new_slots: NDArray[np.int32]) -> _Readable:
        """Return the numbers of some slots; `new_slots` as for `InvertedIndex.dump`. Any thread."""
        count = self._count
        arrays = self._arrays
        slots = arrays.slots[:count]
        slots = slots[: np.searchsorted(slots, len(new_slots))]
        renamed = new_slots[slots]
        kept = renamed >= 0
        end = len(slots)
        return _Readable(arrays.paths[:end][kept], renamed[kept], arrays.values[:end][kept])

    @classmethod
    def load(
        cls,
        paths: NDArray[np.int64],
        slots: NDArray[np.int32],
        values: NDArray[np.float64],
        end: int,
    ) -> Numbers | None:
        """Build from a dump, whose slots are below `end`. `None` if it is invalid."""
        if not len(paths) == len(slots) == len(values):
            return None
        if len(slots) and (slots.min() < 0 or slots.max() >= end or (np.diff(slots) < 0).any()):
            return None
        made = cls()
        made._arrays, made._count = _Readable(paths, slots, values), len(slots)
        return made

    def _make_room(self, needed: int) -> None:
        arrays = self._arrays
        if needed <= len(arrays.slots):
            return
        size = needed + needed // 4
        grown = _Readable(np.zeros(size, np.int64), np.zeros(size, np.int32), np.zeros(size))
        for name in ("paths", "slots", "values"):
            getattr(grown, name)[: self._count] = getattr(arrays, name)[: self._count]
        self._arrays = grown

    def __len__(self) -> int:
        return self._count

    def nbytes(self) -> int:
        """Bytes of all arrays."""
        arrays = self._arrays
        return arrays.paths.nbytes + arrays.slots.nbytes + arrays.values.nbytes


def numbers_in(attributes: dict[str, Any]) -> Iterator[tuple[tuple[str, ...], float]]:
    """Yield each number in attributes with its path of keys. Lists are not entered."""
    left: list[tuple[tuple[str, ...], Any]] = [((key,), item) for key, item in attributes.items()]
    while left:
        path, item = left.pop()
        if isinstance(item, dict):
            left.extend(((*path, key), value) for key, value in item.items())
        elif type(item) in (int, float):
            yield path, float(item)


def _hashes(paths: list[tuple[str, ...]], key: NDArray[np.uint64]) -> NDArray[np.int64]:
    return hashes_of((name_of(path) for path in paths), key)
