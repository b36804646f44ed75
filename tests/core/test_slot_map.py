"""Slots by ids, rows and hashes, against dictionaries of lists."""

from __future__ import annotations

import numpy as np
import pytest

from totonoe_core.index.arrays import Arrays
from totonoe_core.index.slot_map import SlotById, SlotByRow, SlotMap

SEED = 20_263


def append(arrays: Arrays, **values: int) -> int:
    return arrays.append(values, np.zeros(2, np.float32), np.zeros(0, np.uint64))


def tricky(rng: np.random.Generator) -> list[int]:
    """64-bit values of which many share their lower half."""
    lower = [0, 1, 2**31, 2**32 - 1, *rng.integers(2**32, size=40).tolist()]
    upper = [0, 1, 2**31 - 1, 2**32 - 1]
    return [a << 32 | b for a in upper for b in lower]


def test_slots_of_a_value_match_a_dictionary_through_growth_and_taking_back() -> None:
    rng = np.random.default_rng(SEED)
    values = tricky(rng) + [
        int(number) for number in rng.integers(2**64, size=2000, dtype=np.uint64)
    ]
    arrays = Arrays(2)
    found, model = SlotMap(arrays, "text_hash"), dict[int, list[int]]()
    written: list[int] = []
    for _ in range(4000):
        if written and rng.random() < 0.2:
            value = written.pop()
            found.take_back(value)
            model[value].pop()
            arrays.truncate(arrays.end - 1)
        else:
            # A few values again and again: long chains.
            value = values[
                int(rng.integers(len(values)) if rng.random() < 0.7 else rng.integers(3))
            ]
            slot = append(arrays, text_hash=value)
            found.add(value, slot)
            model.setdefault(value, []).append(slot)
            written.append(value)
    for value in values:
        expected = tuple(model.get(value, ()))
        assert found.slots(value) == expected, f"value {value:#x} with seed {SEED}"
        assert found.newest(value) == (expected[-1] if expected else -1)
    assert max(map(len, model.values())) > 50
    assert found.slots(12345) == ()
    assert found.nbytes() < 100 * arrays.end


def test_map_keeps_slots_apart_whose_values_differ_above_the_tag() -> None:
    arrays = Arrays(2)
    found = SlotMap(arrays, "text_hash")
    for value in (7, 7 + 2**32, 7):
        found.add(value, append(arrays, text_hash=value))
    assert (found.slots(7), found.slots(7 + 2**32)) == ((0, 2), (1,))
    assert (found.newest(7 + 2**32), found.newest(7 + 2**33)) == (1, -1)


@pytest.mark.parametrize(
    "memory_id",
    [
        "mem_00000000000000ff",
        "mem_ffffffffffffffff",
        "mem_0123456789ab",
        "mem_" + "0" * 12,
        "mem_" + "f" * 32,
        "mem_0x00000000000000",
        "mem_000000000000_0ff",
        "mem_00000000000000FF",
        "mem_ 0000000000000ff",
        "abc_00000000000000ff",
        "",
    ],
)
def test_id_of_any_form_has_its_own_versions(memory_id: str) -> None:
    arrays = Arrays(2)
    found = SlotById(arrays)
    others = ["mem_00000000000000fe", "mem_ff", "mem_0000000000000000"]

    def add(one: str) -> int:
        slot = append(arrays, id_bits=SlotById.bits(one))
        found.add(one, slot)
        return slot

    for other in others:
        add(other)
    assert found.get(memory_id) is None
    assert memory_id not in found
    first, second = add(memory_id), add(memory_id)
    assert (found.get(memory_id), memory_id in found) == (second, True)
    found.take_back(memory_id)
    assert found.get(memory_id) == first
    found.take_back(memory_id)
    assert found.get(memory_id) is None
    assert [found.get(other) for other in others] == [0, 1, 2]
    assert found.nbytes() > 0


def test_id_of_zeros_is_found_after_filling() -> None:
    arrays = Arrays(2)
    slots = SlotById(arrays)
    slots.add("mem_" + "0" * 16, append(arrays, id_bits=0))
    arrays.publish()
    filled = SlotById(arrays)
    filled.fill(slots.others())
    assert filled.get("mem_" + "0" * 16) == 0


def test_rows_have_their_newest_slots_and_gaps_have_none() -> None:
    found = SlotByRow()
    for row, slot in ((1, 0), (2, 1), (5, 2), (2, 3)):
        found[row] = slot
    assert [found.get(row) for row in range(-1, 8)] == [None, None, 0, 3, None, None, 2, None, None]
    assert (len(found), found[5], found.get(4, -1)) == (3, 2, -1)
    assert found.slots().tolist() == [0, 3, 2]
    del found[2]
    assert (len(found), found.get(2), found.slots().tolist()) == (2, None, [0, 2])
    with pytest.raises(KeyError):
        found[2]
    assert found.nbytes() == 4 * 6
