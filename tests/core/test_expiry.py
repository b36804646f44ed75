"""Memories that expire: hidden from the instant on, forgotten soon after, put off by reads."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.engines import (
    HOUR_US,
    NOON,
    FakeClock,
    Store,
    forget,
    link,
    merge,
    opened,
    remember,
    undo,
    update,
)
from support.transfers import exported, imported
from support.waits import wait_until
from totonoe_core.base import limits
from totonoe_core.base.errors import InvalidArgument, NotFound
from totonoe_core.domain.cleanup import CleanUpDuplicates
from totonoe_core.domain.filter import Filter
from totonoe_core.domain.memories import Remember
from totonoe_core.domain.queries import (
    AsOf,
    GetQuery,
    ListQuery,
    OperationFilter,
    OperationsQuery,
    RecallMode,
    RecallQuery,
)
from totonoe_core.domain.records import Status
from totonoe_core.engine.writer.writer import Writer

TEA = "The tea is in the blue tin"
HOUR_S = 3600.0


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def store(tmp_path: Path, clock: FakeClock) -> Iterator[Store]:
    with opened(tmp_path / "data", clock=clock) as made:
        yield made


def until(at_us: int) -> dict[str, Any]:
    return {"expires_us": at_us}


def found(store: Store, **more: Any) -> list[str]:
    query = RecallQuery("anna", "tea tin", mode=RecallMode.LEXICAL, **more)
    return [hit.memory.id for hit in store.recall(query).hits]


def listed(store: Store, *statuses: Status, **more: Any) -> list[str]:
    return [memory.id for memory in store.list(where=Filter(statuses=statuses), **more)]


def kinds(store: Store) -> list[str]:
    page = store.read(OperationsQuery("anna", OperationFilter()))
    return [operation.kind for operation in page.operations]


def test_expired_memory_is_hidden_from_its_instant_on(store: Store, clock: FakeClock) -> None:
    tea = store.save(TEA, **until(NOON + HOUR_US))
    clock.now_us = NOON + HOUR_US - 1
    assert found(store) == listed(store) == [tea]
    assert store.one(tea).status is Status.ACTIVE
    clock.now_us = NOON + HOUR_US
    assert found(store) == listed(store) == []
    assert listed(store, Status.FORGOTTEN) == [tea]
    assert store.one(tea).status is Status.FORGOTTEN
    assert store.do(remember(TEA)).saved, "the guard does not see it"


def test_reads_hide_it_without_a_write(
    store: Store, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    tea = store.save(TEA, **until(NOON + HOUR_US))
    monkeypatch.setattr(Writer, "_expire", lambda _: None)
    clock.now_us = NOON + HOUR_US
    assert (found(store), listed(store)) == ([], [])
    assert listed(store, Status.FORGOTTEN) == [tea]
    assert store.one(tea).status is Status.FORGOTTEN
    assert store.revision == 1


def test_sweep_is_one_operation_that_undo_takes_back_for_good(
    store: Store, clock: FakeClock
) -> None:
    ids = [store.save(f"{TEA} number {at}", force=True, **until(NOON + HOUR_US)) for at in range(3)]
    clock.now_us = NOON + HOUR_US
    other = store.save("The coffee is in the red tin")
    assert kinds(store)[:2] == ["Remember", "Expire"]
    assert store.stats().forgotten_count == 3
    swept = store.revision - 1
    assert store.do(undo(swept)).undone
    assert sorted(listed(store)) == sorted([*ids, other])
    assert store.one(ids[0]).fields.expires_us is None
    clock.now_us += HOUR_US
    store.save("The sugar is in the green tin")
    assert len(listed(store)) == 5, "what was brought back stays"


def test_sweep_of_many_is_an_operation_for_each_batch(
    store: Store, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "EXPIRED_PER_OPERATION_MAX", 2)
    for at in range(5):
        store.save(f"{TEA} number {at}", force=True, **until(NOON + HOUR_US))
    clock.now_us = NOON + HOUR_US
    store.save("The coffee is in the red tin")
    assert kinds(store)[:4] == ["Remember", "Expire", "Expire", "Expire"]


def test_external_id_of_an_expired_memory_is_free(store: Store, clock: FakeClock) -> None:
    old = store.save(TEA, external_id="tea", **until(NOON + HOUR_US))
    clock.now_us = NOON + HOUR_US
    new = store.save(TEA, external_id="tea")
    assert store.one("ext:tea").id == new != old


def test_time_after_reads_counts_from_the_save_and_each_counted_read(
    store: Store, clock: FakeClock
) -> None:
    tea = store.save(TEA, expires_after_s=HOUR_S)
    assert store.one(tea).fields.expires_us == NOON + HOUR_US
    clock.now_us = NOON + HOUR_US - 1
    assert found(store) == [tea]
    clock.now_us = NOON + 2 * HOUR_US - 2
    assert found(store, touch=False) == [tea], "the first read put it off"
    assert store.read(GetQuery("anna", (tea,), touch=True)).memories
    clock.now_us = NOON + 3 * HOUR_US - 3
    assert store.read(ListQuery("anna", touch=True)).memories
    clock.now_us = NOON + 4 * HOUR_US - 4
    assert listed(store) == [tea]
    clock.now_us += 1
    assert listed(store) == [], "a read that counts no access puts nothing off"


def test_put_off_outlives_a_restart(store: Store, clock: FakeClock) -> None:
    tea = store.save(TEA, expires_after_s=HOUR_S)
    clock.now_us = NOON + HOUR_US - 1
    assert found(store) == [tea]
    store.reopen()
    clock.now_us = NOON + HOUR_US + 1
    store.save("The coffee is in the red tin")
    assert store.one(tea).status is Status.ACTIVE
    clock.now_us = NOON + 2 * HOUR_US
    assert store.one(tea).status is Status.FORGOTTEN
    store.reopen()
    assert listed(store, Status.FORGOTTEN) == [tea]


def test_update_sets_and_clears_it(store: Store, clock: FakeClock) -> None:
    tea = store.save(TEA, **until(NOON + HOUR_US))
    assert store.do(update(tea, expires_us=None)).updated
    clock.now_us = NOON + HOUR_US
    assert listed(store) == [tea]
    assert store.do(update(tea, expires_after_s=60.0)).updated
    assert store.one(tea).fields.expires_us > clock.now_us
    assert store.do(update(tea, expires_after_s=None)).updated
    assert store.one(tea).fields.expires_us is not None, "it still expires, but reads do not help"
    store.do(update(tea, expires_after_s=60.0))
    store.do(update(tea, expires_us=None))
    fields = store.one(tea).fields
    assert (fields.expires_us, fields.expires_after_s) == (None, None)


def test_expired_memory_cannot_be_changed(store: Store, clock: FakeClock) -> None:
    tea = store.save(TEA, **until(NOON + HOUR_US))
    clock.now_us = NOON + HOUR_US
    with pytest.raises(NotFound):
        store.do(forget(tea))


def test_forgotten_by_expiry_is_not_held_against_a_text(store: Store, clock: FakeClock) -> None:
    store.set(("guard.refuse_forgotten", True))
    store.save(TEA, **until(NOON + HOUR_US))
    clock.now_us = NOON + HOUR_US
    answer = store.do(remember(TEA))
    assert answer.saved
    assert answer.guard.forgotten is None


def test_past_shows_it_as_it_was(store: Store, clock: FakeClock) -> None:
    tea = store.save(TEA, **until(NOON + HOUR_US))
    clock.now_us = NOON + 2 * HOUR_US
    store.save("The coffee is in the red tin")
    then = GetQuery("anna", (tea,), as_of=AsOf(1))
    assert store.read(then).memories[0].status is Status.ACTIVE
    assert found(store, as_of=AsOf(1)) == [tea]
    assert tea not in found(store, as_of=AsOf(store.revision))


@pytest.mark.parametrize(
    ("fields", "field", "reason"),
    [
        ({"expires_us": NOON}, "memory.expires_time", "BAD_TIME"),
        ({"expires_us": NOON - 1}, "memory.expires_time", "BAD_TIME"),
        ({"expires_after_s": 0.0}, "memory.expires_after_s", "OUT_OF_RANGE"),
        ({"expires_after_s": -1.0}, "memory.expires_after_s", "OUT_OF_RANGE"),
        ({"expires_after_s": float("nan")}, "memory.expires_after_s", "OUT_OF_RANGE"),
        ({"expires_after_s": 1e12}, "memory.expires_after_s", "OUT_OF_RANGE"),
    ],
)
def test_times_that_are_refused(
    store: Store, fields: dict[str, Any], field: str, reason: str
) -> None:
    command: Remember = remember(TEA, **fields)
    error = store.refused(command, InvalidArgument)
    assert (error.reason, error.details["field"]) == (reason, field)


def test_read_of_the_past_counts_no_access(store: Store) -> None:
    tea = store.save(TEA)
    with pytest.raises(InvalidArgument, match="touch"):
        store.read(GetQuery("anna", (tea,), AsOf(1), touch=True))


def test_bad_row_that_expired_is_in_nobodys_way(store: Store, clock: FakeClock) -> None:
    bad = store.save(TEA, **until(NOON + HOUR_US))
    good = store.save("The coffee is in the red tin", **until(NOON + HOUR_US))
    store.alter("UPDATE memory SET content = 'x' WHERE id = ?", (bad,))
    clock.now_us = NOON + HOUR_US
    other = store.save("The sugar is in the green tin")
    assert listed(store) == [other]

    def swept() -> bool:
        store.save(f"Note at revision {store.revision}", force=True)
        return store.stats().forgotten_count == 1

    wait_until(swept)
    assert store.one(good).status is Status.FORGOTTEN


def test_import_leaves_out_links_of_what_has_expired_meanwhile(
    store: Store, clock: FakeClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "IMPORT_BATCH_LINES", 1)
    tea = store.save(TEA, **until(NOON + HOUR_US))
    tin = store.save("The blue tin is from Berlin", expires_after_s=HOUR_S)
    store.do(link(tea, tin))
    data = exported(store, include_vectors=True)
    clock.now_us = NOON + HOUR_US + 1
    with opened(tmp_path / "other", clock=clock) as other:
        told, _ = imported(other, data, as_is=True)
        assert told.done
        other.save("The coffee is in the red tin")
        assert {memory.status for memory in map(other.one, (tea, tin))} == {Status.FORGOTTEN}
        assert other.one(tin).fields.expires_after_s == HOUR_S


def test_import_through_the_guard_reports_what_has_expired(
    store: Store, clock: FakeClock, tmp_path: Path
) -> None:
    store.save(TEA, **until(NOON + HOUR_US))
    store.save("The coffee is in the red tin")
    data = exported(store, include_vectors=True)
    clock.now_us = NOON + HOUR_US + 1
    with opened(tmp_path / "other", clock=clock) as other:
        told, _ = imported(other, data)
        assert (told.saved_count, told.failed_count) == (1, 1)
        assert [memory.content for memory in other.list()] == ["The coffee is in the red tin"]


def test_text_that_would_outlive_a_memory_is_saved(store: Store, clock: FakeClock) -> None:
    short = store.save(TEA, **until(NOON + HOUR_US))
    kept = store.do(remember(TEA))
    assert kept.saved, "it would be lost with the memory that refused it"
    again = store.do(remember(TEA, **until(NOON + 2 * HOUR_US)))
    assert (again.saved, again.memory_id) == (False, kept.memory_id)
    assert store.check(remember(TEA)).guard.duplicate.memory_id == kept.memory_id
    clock.now_us = NOON + HOUR_US
    assert listed(store) == [kept.memory_id] != [short]


def test_refusal_is_a_read_of_the_memory_that_refused(store: Store, clock: FakeClock) -> None:
    tea = store.save(TEA, expires_after_s=HOUR_S)
    clock.now_us = NOON + HOUR_US // 2
    assert not store.do(remember(TEA, expires_after_s=HOUR_S)).saved
    store.reopen()
    clock.now_us = NOON + HOUR_US + 1
    assert listed(store) == [tea], "it lasts as long as the refused one would"
    assert store.do(remember(TEA, expires_after_s=2 * HOUR_S)).saved


def test_merged_memory_lasts_as_long_as_the_longest(store: Store) -> None:
    def merged(*expiry: dict[str, Any]) -> Any:
        ids = [store.save(f"{TEA} {next(numbers)}", force=True, **entry) for entry in expiry]
        fields = store.do(merge(*ids)).memory.fields
        return fields.expires_us, fields.expires_after_s

    numbers = itertools.count()
    assert merged(until(NOON + HOUR_US), {}) == (None, None)
    assert merged(until(NOON + HOUR_US), until(NOON + 2 * HOUR_US)) == (NOON + 2 * HOUR_US, None)
    late = NOON + 9 * HOUR_US
    assert merged(until(late), {"expires_after_s": HOUR_S}) == (late, HOUR_S)


def test_clean_up_by_rule_leaves_out_what_goes_by_itself(store: Store) -> None:
    for at in range(2):
        store.save(TEA, force=True, **until(NOON + (1 + at) * HOUR_US))
    assert store.do(CleanUpDuplicates("anna")).duplicates == ()
