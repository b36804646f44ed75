"""Numbers in attributes: found by comparisons, kept over a dump, gone with a purge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.engines import opened
from totonoe_core.domain.filter import Comparison, Filter, Operator
from totonoe_core.domain.memories import Purge
from totonoe_core.domain.queries import NamespacesQuery
from totonoe_core.engine.state import checkpointing
from totonoe_core.index.numbers import Numbers, numbers_in

KEY = np.array([1, 2], np.uint64)
AT = ("a",)


def filled(count: int) -> Numbers:
    made = Numbers()
    for slot in range(count):
        made.add(slot, numbers_in({"a": slot, "b": {"a": -slot}, "c": [slot], "d": True}), KEY)
    return made


def where(numbers: Numbers, operator: Operator, value: float, *path: str) -> list[int]:
    asked = Comparison(path or AT, operator, value)
    return numbers.slots_where(asked, KEY).tolist()


def test_comparison_finds_the_slots_of_its_path() -> None:
    numbers = filled(1000)
    assert len(numbers) == 2000
    assert where(numbers, Operator.GT, 997) == [998, 999]
    assert where(numbers, Operator.GTE, 998) == [998, 999]
    assert where(numbers, Operator.LT, 2) == where(numbers, Operator.LTE, 1) == [0, 1]
    assert where(numbers, Operator.LT, -997, "b", "a") == [998, 999]
    for path in (("c",), ("d",), ("b",), ("unknown",)):
        assert where(numbers, Operator.GTE, -1e300, *path) == []


def test_dump_without_some_slots_loads_under_their_new_numbers() -> None:
    numbers = filled(10)
    kept = np.array([0, -1, 1, -1, 2, -1, -1, -1, 3], np.int32)
    dumped = numbers.dump(kept)
    loaded = Numbers.load(dumped.paths, dumped.slots, dumped.values, 4)
    assert loaded is not None
    assert where(loaded, Operator.GTE, 2) == [1, 2, 3]
    loaded.add(4, numbers_in({"a": 99}), KEY)
    assert where(loaded, Operator.GTE, 8) == [3, 4]


@pytest.mark.parametrize("slots", [[0, 4], [1, 0], [-1, 0], [0]])
def test_dump_with_impossible_slots_is_refused(slots: Any) -> None:
    given = np.array(slots, np.int32)
    assert Numbers.load(np.zeros(2, np.int64), given, np.zeros(2), 4) is None


def test_emptied_slot_is_found_no_more_and_holds_no_number() -> None:
    numbers = filled(5)
    numbers.empty(3)
    assert where(numbers, Operator.GTE, 0) == [0, 1, 2, 4]
    values = numbers.dump(np.arange(5, dtype=np.int32)).values
    assert 3.0 not in values and -3.0 not in values


def test_index_of_a_checkpoint_answers_as_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpointing, "FROM_COUNT", 1)
    monkeypatch.setattr(checkpointing, "CHANGED_AT_CLOSE", 1)
    with opened(tmp_path / "data") as store:
        for at in range(20):
            store.save(
                f"Fact number {at} of them",
                attributes={"a": {"b": at, "c": f"c{at % 2}"}},
                namespace=("n", f"n{at % 3}"),
            )
        gone = store.list()[7].id
        store.do(Purge("anna", (gone,), "wrong"))
        where = Filter(
            comparisons=(
                Comparison(("a", "b"), Operator.GTE, 5),
                Comparison(("a", "c"), Operator.EQ, "c1"),
            ),
            namespace_prefix=("n", "n0"),
        )

        def found() -> list[int]:
            return [memory.fields.attributes["a"]["b"] for memory in store.list(where=where)]

        def namespaces() -> list[tuple[tuple[str, ...], int]]:
            page = store.read(NamespacesQuery("anna"))
            return [(namespace.names, namespace.memory_count) for namespace in page.namespaces]

        before = found(), namespaces()
        assert before == ([9, 15], [(("n", "n0"), 7), (("n", "n1"), 6), (("n", "n2"), 6)])
        for _ in range(2):
            store.reopen()
            assert store.stats().checkpoint.opened_from_revision, "an index of a checkpoint"
            assert (found(), namespaces()) == before
