"""The lock that is handed on in the order of asking."""

from __future__ import annotations

import threading
import time

import pytest

from support.waits import wait_s
from totonoe_core.base.fair_lock import FairLock

THREADS = 4
TURNS = 200


def test_who_waits_comes_before_who_asks_again() -> None:
    lock, order, ready = FairLock(), list[int](), threading.Barrier(THREADS)

    def work(number: int) -> None:
        ready.wait(wait_s())
        for _ in range(TURNS):
            with lock:
                order.append(number)
                time.sleep(0.0)  # lets the others ask

    threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    with lock:
        for thread in threads:
            thread.start()
        while len(lock._gates) < THREADS:
            time.sleep(0.001)
    for thread in threads:
        thread.join(wait_s())
    assert sorted(order) == sorted(list(range(THREADS)) * TURNS)
    # All of them had asked before the first was served: each comes once in the first round.
    assert sorted(order[:THREADS]) == list(range(THREADS))


def test_one_at_a_time_and_an_error_gives_it_back() -> None:
    lock, inside, most = FairLock(), 0, 0

    def work() -> None:
        nonlocal inside, most
        for _ in range(TURNS):
            with lock:
                inside += 1
                most = max(most, inside)
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(wait_s())
    assert most == 1
    with pytest.raises(ZeroDivisionError), lock:
        _ = 1 / 0
    with lock:
        pass
