"""What is loaded once is loaded by one thread."""

from __future__ import annotations

import threading

import pytest

from support.waits import wait_s
from totonoe_core.base.once import once


def test_threads_that_ask_at_once_wait_for_one_load() -> None:
    begun, go_on = threading.Event(), threading.Event()
    loads: list[int] = []

    @once
    def load(number: int) -> list[int]:
        loads.append(number)
        begun.set()
        assert go_on.wait(wait_s())
        return [number]

    found: list[list[int]] = []
    threads = [threading.Thread(target=lambda: found.append(load(7))) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert begun.wait(wait_s())
    go_on.set()
    for thread in threads:
        thread.join(wait_s())
    assert loads == [7] and found == [[7]] * 4
    assert len({id(item) for item in found}) == 1


def test_error_is_not_kept() -> None:
    tries: list[int] = []

    @once
    def load() -> int:
        tries.append(1)
        if len(tries) == 1:
            raise OSError(24, "no descriptor left")
        return 5

    with pytest.raises(OSError, match="no descriptor"):
        load()
    assert load() == 5 and load() == 5 and len(tries) == 2
