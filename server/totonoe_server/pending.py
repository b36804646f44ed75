"""Waiting for the engine's futures from the event loop, and not for ever."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from typing import TypeVar

from totonoe_core import limits
from totonoe_core.errors import Unavailable

_T = TypeVar("_T")


async def answer_of(future: Future[_T]) -> _T:
    """The result of an engine's future.

    If the call is cancelled meanwhile, a request that still waits in a queue is taken back;
    a started one runs to its end, and nobody hears of it.

    Raises
    ------
    TotonoeError
        What the engine failed with; `Unavailable` (SHUTTING_DOWN) if it dropped the request.
    asyncio.CancelledError
        The call was cancelled.
    """
    try:
        return await asyncio.wrap_future(future)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise shutting_down() from None


def shutting_down() -> Unavailable:
    """The error of a call that came too late, or that the engine dropped unstarted."""
    return Unavailable(
        "SHUTTING_DOWN", "the daemon is stopping", retry_delay_ms=limits.RETRY_DELAY_MS
    )
