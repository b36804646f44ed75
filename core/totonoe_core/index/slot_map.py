"""Maps from ids, rows and hashes to slots, in typed arrays: some 50 bytes for each memory.

Only the writer writes. Readers on other threads see a slot or do not see it yet: an entry is filled
with one aligned store, after the slot's columns and its link to the slot before it, and arrays grow
by copying. Readers check a slot against their view.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

from totonoe_core.index.arrays import Arrays
from totonoe_core.kernels.slot_map import (
    follow,
    move_tags,
    newest_slot,
    put_slot,
    put_slots,
    take_newest,
)

_FIRST_PLACES = 64
_FIRST_SLOTS = 1024
_TAG = 2**32 - 1


class SlotMap:
    """Slots by the 64-bit values of one column, which need not be distinct.

    The table holds the lower half of a value; the column decides.
    """

    def __init__(self, arrays: Arrays, column: str) -> None:
        self._arrays = arrays
        self._column = column
        # In one tuple, so that a reader takes a consistent pair.
        self._table = np.zeros(_FIRST_PLACES, np.uint32), np.zeros(_FIRST_PLACES, np.int32)
        self._older = np.zeros(_FIRST_SLOTS, np.int32)
        self._taken = 0

    def read_in(self, arrays: Arrays) -> None:
        """Decide by the columns of other arrays with the same slots from now on."""
        self._arrays = arrays

    def add(self, value: int, slot: int) -> None:
        """Add a slot after all others; its column holds the value already."""
        self._make_room(slot + 1, 1)
        self._taken += put_slot(*self._table, self._older, value & _TAG, slot)

    def add_all(self, first: int, values: NDArray[np.uint64], without_zero: bool = False) -> None:
        """Add slots from one on, as `add`; with `without_zero` not those of value 0."""
        self._make_room(first + len(values), len(values))
        self._taken += put_slots(*self._table, self._older, values, first, without_zero)

    def _make_room(self, end: int, more: int) -> None:
        """Make room for slots below one, and for some more values."""
        if end > len(self._older):
            older = np.zeros(end + end // 4, np.int32)
            older[: len(self._older)] = self._older
            self._older = older
        size = len(self._table[0])
        while 3 * (self._taken + more) > 2 * size:
            size *= 2
        if size > len(self._table[0]):
            larger = np.zeros(size, np.uint32), np.zeros(size, np.int32)
            move_tags(*self._table, *larger)
            self._table = larger

    def fill(self, *, without_zero: bool = False) -> None:
        """Add every published slot to an empty map; with `without_zero` not those of value 0."""
        view = self._arrays.view()
        self._make_room(view.count, view.count)
        for base, size, chunk in view.parts():
            values = chunk.columns[self._column][:size]
            self._taken += put_slots(*self._table, self._older, values, base, without_zero)

    def take_back(self, value: int) -> None:
        """Remove the slot that was added last under a value."""
        take_newest(*self._table, self._older, value & _TAG)

    def slots(self, value: int) -> tuple[int, ...]:
        """Return all slots of a value, ascending."""
        # The table first: the slot that it names already links to the older ones.
        newest = newest_slot(*self._table, value & _TAG)
        if newest < 0:
            return ()
        older = self._older
        found = np.empty(1, np.int32)
        count = follow(older, newest, found)
        if count > 1:
            found = np.empty(count, np.int32)
            follow(older, newest, found)
        slots = found[::-1].astype(np.int64)
        return tuple(slots[self._arrays.writer_view().take(self._column, slots) == value].tolist())

    def newest(self, value: int) -> int:
        """Return the slot that was added last under a value; -1 if none."""
        slot = newest_slot(*self._table, value & _TAG)
        view = self._arrays.writer_view()
        if slot < 0 or view.value(self._column, slot) == value:
            return slot
        slots = self.slots(value)
        return slots[-1] if slots else -1

    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(part.nbytes for part in self._table) + self._older.nbytes


class SlotById:
    """Newest slot of each memory id.

    Ids of 16 hexadecimal digits, which the daemon makes, are their own 64-bit value. Others go into
    a dictionary.
    """

    def __init__(self, arrays: Arrays) -> None:
        self._map = SlotMap(arrays, "id_bits")
        self._others: dict[str, list[int]] = {}

    def fill(self, others: Iterable[tuple[str, int]]) -> None:
        """Add every published slot, and `others`, the ids of another form with their slots."""
        self._map.fill(without_zero=True)
        for memory_id, slot in others:
            self.add(memory_id, slot)

    def others(self) -> list[tuple[str, int]]:
        """Return ids of another form with the slot of their newest version. Writer only."""
        return [(memory_id, slots[-1]) for memory_id, slots in self._others.items()]

    @staticmethod
    def bits(memory_id: str) -> int:
        """Return the value of column `id_bits` for an id; 0 for ids of another form."""
        return _bits(memory_id) or 0

    def read_in(self, arrays: Arrays) -> None:
        """Read other arrays, as `SlotMap.read_in`."""
        self._map.read_in(arrays)

    def add(self, memory_id: str, slot: int) -> None:
        """Add a version of a memory."""
        self.add_all(slot, [memory_id])

    def add_all(self, first: int, memory_ids: Sequence[str]) -> None:
        """Add versions of memories in slots from one on."""
        found = [_bits(memory_id) for memory_id in memory_ids]
        self._map.add_all(first, np.array([bits or 0 for bits in found], np.uint64), True)
        for slot, (bits, memory_id) in enumerate(zip(found, memory_ids, strict=True), first):
            if bits is None:
                self._others.setdefault(memory_id, []).append(slot)

    def take_back(self, memory_id: str) -> None:
        """Remove the newest version of a memory."""
        bits = _bits(memory_id)
        if bits is not None:
            self._map.take_back(bits)
            return
        self._others[memory_id].pop()
        if not self._others[memory_id]:
            del self._others[memory_id]

    def versions(self, memory_id: str) -> tuple[int, ...]:
        """Slots of all versions of a memory, ascending."""
        bits = _bits(memory_id)
        return tuple(self._others.get(memory_id, ())) if bits is None else self._map.slots(bits)

    def get(self, memory_id: str) -> int | None:
        """Slot of a memory's newest version, or `None`."""
        bits = _bits(memory_id)
        if bits is None:
            versions = self._others.get(memory_id)
            return versions[-1] if versions else None
        slot = self._map.newest(bits)
        return None if slot < 0 else slot

    def __contains__(self, memory_id: str) -> bool:
        return self.get(memory_id) is not None

    def nbytes(self) -> int:
        """Bytes of the arrays, without those of ids of another form."""
        return self._map.nbytes()


class SlotByRow:
    """Newest slot of each row number. Rows are counted from 1 and nearly without gaps."""

    def __init__(self) -> None:
        # Not numpy: single values are read, in loops over a page's rows and links.
        self._slots = array("i")
        self._count = 0

    @overload
    def get(self, row: int) -> int | None: ...
    @overload
    def get(self, row: int, default: int) -> int: ...
    def get(self, row: int, default: int | None = None) -> int | None:
        """Return the slot of a row, or the default."""
        slot = self._slots[row] if 0 <= row < len(self._slots) else -1
        return default if slot < 0 else slot

    def __contains__(self, row: int) -> bool:
        return self.get(row) is not None

    def __getitem__(self, row: int) -> int:
        slot = self.get(row)
        if slot is None:
            raise KeyError(row)
        return slot

    def __setitem__(self, row: int, slot: int) -> None:
        if row >= len(self._slots):
            self._slots.extend([-1] * (row + 1 - len(self._slots)))
        self._count += self._slots[row] < 0
        self._slots[row] = slot

    def fill(self, rows: NDArray[np.int64]) -> None:
        """Set the slots of distinct rows, numbered from 0, in an empty map."""
        slots = np.full(int(rows.max(initial=-1)) + 1, -1, np.int32)
        slots[rows] = np.arange(len(rows), dtype=np.int32)
        self._slots = array("i")
        self._slots.frombytes(slots.tobytes())
        self._count = len(rows)

    def find_all(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return slots of rows, -1 for missing ones: int64[len(rows)]."""
        known = (rows >= 0) & (rows < len(self._slots))
        slots = np.full(len(rows), -1, np.int64)
        slots[known] = np.array(self._slots, np.int32)[rows[known]]
        return slots

    def __delitem__(self, row: int) -> None:
        self._count -= self._slots[row] >= 0
        self._slots[row] = -1

    def __len__(self) -> int:
        return self._count

    def slots(self) -> NDArray[np.int64]:
        """Slots of all rows, in the order of the rows: int64[len]."""
        slots = np.array(self._slots, np.int64)
        return slots[slots >= 0]

    def nbytes(self) -> int:
        """Bytes of the array."""
        return self._slots.itemsize * len(self._slots)


def _bits(memory_id: str) -> int | None:
    """Return the value of `mem_` and 16 lower-case hexadecimal digits; `None` for anything else.

    Also `None` for zero, which the column holds for ids of another form.
    """
    digits = memory_id[4:]
    if len(digits) != 16 or not memory_id.startswith("mem_"):
        return None
    try:
        bits = int(digits, 16)
    except ValueError:
        return None
    # `int` also accepts "0x12", "1_2" and "AB", which are other ids.
    return bits if bits and format(bits, "016x") == digits else None
