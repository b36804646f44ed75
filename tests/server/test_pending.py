"""Futures of the engine on the event loop."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future

import pytest

from totonoe_core.base.errors import Unavailable
from totonoe_server.services.pending import answer_of, wrapped


def test_results_errors_and_cancelled_ones_come_over_from_another_thread() -> None:
    async def scene() -> None:
        futures: list[Future[int]] = [Future() for _ in range(5)]
        waiting = [wrapped(future) for future in futures]

        def end() -> None:
            for number in range(3):
                futures[number].set_result(number)
            futures[3].set_exception(KeyError("a"))
            futures[4].cancel()

        # From one other thread and at once, as the writer answers for a commit.
        await asyncio.to_thread(end)
        outcomes = await asyncio.gather(*waiting, return_exceptions=True)
        assert outcomes[:3] == [0, 1, 2]
        assert isinstance(outcomes[3], KeyError)
        assert isinstance(outcomes[4], asyncio.CancelledError)

        later: Future[str] = Future()
        again = wrapped(later)
        later.set_result("later")
        assert await again == "later"

    asyncio.run(scene())


def test_many_that_end_on_the_loop_itself_wake_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene() -> None:
        loop = asyncio.get_running_loop()
        wakeups = []
        call = loop.call_soon_threadsafe
        monkeypatch.setattr(
            loop, "call_soon_threadsafe", lambda *given: (wakeups.append(given), call(*given))
        )
        futures: list[Future[int]] = [Future() for _ in range(64)]
        waiting = [wrapped(future) for future in futures]
        for number, future in enumerate(futures):
            future.set_result(number)
        assert await asyncio.gather(*waiting) == list(range(64))
        assert len(wakeups) == 1

    asyncio.run(scene())


def test_cancelled_call_takes_a_waiting_request_back_and_leaves_a_started_one() -> None:
    async def scene() -> None:
        waiting: Future[int] = Future()
        started: Future[int] = Future()
        assert started.set_running_or_notify_cancel()
        for future in (waiting, started):
            task = asyncio.create_task(answer_of(future))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        await asyncio.sleep(0)
        assert waiting.cancelled()
        assert not started.cancelled()
        started.set_result(1)
        await asyncio.sleep(0)

    asyncio.run(scene())


def test_request_that_the_engine_drops_is_unavailable() -> None:
    async def scene() -> None:
        future: Future[int] = Future()
        future.cancel()
        with pytest.raises(Unavailable):
            await answer_of(future)

    asyncio.run(scene())


def test_answer_after_the_loop_has_closed_harms_nobody() -> None:
    future: Future[int] = Future()

    async def scene() -> None:
        wrapped(future)

    asyncio.run(scene())
    future.set_result(1)
    assert future.result() == 1
