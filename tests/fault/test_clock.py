"""A clock that steps back or far ahead: order and retention do not depend on it being right."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.engines import DAY_US, HOUR_US, NOON, FakeClock, change, forget, opened, remember
from totonoe_core.domain.filter import Filter
from totonoe_core.domain.queries import (
    AsOf,
    ListQuery,
    OperationFilter,
    OperationsQuery,
    RecallQuery,
)

STEPS_US = (-DAY_US, 3 * HOUR_US, -40 * 365 * DAY_US, 60 * 365 * DAY_US, -20 * 365 * DAY_US)


@pytest.mark.parametrize("restarts", [False, True])
def test_clock_that_steps_keeps_operations_in_order(tmp_path: Path, restarts: bool) -> None:
    clock = FakeClock()
    with opened(tmp_path, clock=clock) as store:
        ids = [store.save("pump 0 is on")]
        for number, step_us in enumerate(STEPS_US, 1):
            clock.now_us = NOON + step_us
            if restarts:
                store.reopen()
            ids.append(store.save(f"pump {number} is on"))
            store.recall(RecallQuery("anna", f"pump {number}"))
        store.do(forget(ids[0]))
        page = store.read(OperationsQuery("anna", OperationFilter(), 100, ""))
        newest_first = [(operation.revision, operation.time_us) for operation in page.operations]
        assert [revision for revision, _ in newest_first] == list(range(len(ids) + 1, 0, -1))
        times = [time_us for _, time_us in newest_first]
        assert times == sorted(times, reverse=True)
        assert len(set(times)) == len(times)
        # A moment is a revision, whatever the clock said.
        for revision, time_us in newest_first[1:]:
            at = [AsOf(revision=revision), AsOf(time_us=time_us)]
            pages = [store.read(ListQuery("anna", Filter(), 100, "", as_of=of)) for of in at]
            assert {memory.id for memory in pages[0].memories} == set(ids[:revision])
            assert pages[0].memories == pages[1].memories


def test_clock_that_goes_back_does_not_purge_early(tmp_path: Path) -> None:
    clock = FakeClock()
    with opened(tmp_path, clock=clock) as store:
        kept = store.save("forgotten just now")
        store.do(change(("retention.purge_forgotten_days", 1.0)))
        store.do(forget(kept))
        clock.now_us = NOON - 400 * DAY_US
        store.reopen()
        assert store.do(remember("a write, after which retention looks")).saved
        assert store.get(kept).memories[0].content == "forgotten just now"
