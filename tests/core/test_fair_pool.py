"""The fair pool: a turn of each peer after the other, and the end."""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError

import pytest

from support.waits import wait_s
from totonoe_core.base import limits
from totonoe_core.base.fair_pool import FairPool, ReadPool
from totonoe_core.base.turn import taking


def held(pool: FairPool) -> threading.Event:
    """Hold its thread up until the event is set."""
    go_on, begun = threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        go_on.wait(wait_s())

    pool.submit(wait)
    assert begun.wait(wait_s())
    return go_on


def test_peers_take_turns_and_keep_their_own_order() -> None:
    pool, done = FairPool(1, "test"), []
    go_on = held(pool)
    futures = []
    for peer, number in [("a", 1), ("a", 2), ("a", 3), ("b", 1), ("c", 1), ("b", 2)]:
        with taking((peer, "flow")):
            futures.append(pool.submit(done.append, f"{peer}{number}"))
    go_on.set()
    for future in futures:
        future.result(wait_s())
    assert done == ["a1", "b1", "c1", "a2", "b2", "a3"]
    pool.shutdown()


def test_results_and_failures_are_those_of_the_work() -> None:
    pool = FairPool(2, "test")
    assert pool.submit(divmod, 7, 2).result(wait_s()) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        pool.submit(divmod, 7, 0).result(wait_s())
    assert pool.submit(int, "ff", base=16).result(wait_s()) == 255
    pool.shutdown()


def test_work_that_is_cancelled_is_not_done() -> None:
    pool, done = FairPool(1, "test"), []
    go_on = held(pool)
    future = pool.submit(done.append, 1)
    assert future.cancel()
    go_on.set()
    pool.submit(done.append, 2).result(wait_s())
    assert done == [2]
    pool.shutdown()


@pytest.mark.parametrize("dropped", [True, False])
def test_shutdown_drops_or_does_what_waits_and_takes_no_more(dropped: bool) -> None:
    pool = FairPool(1, "test")
    go_on = held(pool)
    waiting = pool.submit(int, "1")
    pool.shutdown(wait=False, cancel_futures=dropped)
    with pytest.raises(RuntimeError):
        pool.submit(int, "2")
    go_on.set()
    pool.shutdown()
    pool.shutdown()
    if dropped:
        with pytest.raises(CancelledError):
            waiting.result(wait_s())
    else:
        assert waiting.result(wait_s()) == 1


def test_long_reads_have_a_thread_of_their_own() -> None:
    pool = ReadPool(1, "test")
    go_on = held(pool.of(limits.PAGE_ROWS_READ + 1))
    assert pool.of(limits.PAGE_ROWS_READ).submit(int, "3").result(wait_s()) == 3
    go_on.set()
    pool.shutdown()
    with pytest.raises(RuntimeError):
        pool.of(limits.PAGE_ROWS_READ + 1).submit(int, "3")
