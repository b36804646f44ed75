"""Calls that a generator asks for, made by a blocking or an asynchronous client.

The work of an adapter is written once, as a generator that yields each `Call` and gets its answer.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Generator, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

from totonoe.errors import TotonoeError

if TYPE_CHECKING:
    from totonoe.aio import AsyncClient
    from totonoe.client import Client

T = TypeVar("T")


class Call:
    """One call of a client, by the name of its method."""

    __slots__ = ("_args", "_kwargs", "_name")

    def __init__(self, name: str, /, *args: Any, **kwargs: Any) -> None:
        self._name, self._args, self._kwargs = name, args, kwargs

    def on(self, client: object) -> Any:
        """Make the call, and return what the client returns: with an `AsyncClient`, not awaited."""
        return getattr(client, self._name)(*self._args, **self._kwargs)


Steps: TypeAlias = Generator[Call, Any, T]
"""Yields calls, gets their answers (iterators as lists) or their errors, returns a `T`."""


def run(client: Client, steps: Steps[T]) -> T:
    """Make all calls of some steps. Raises the `TotonoeError` of a call that they do not handle."""
    try:
        call = next(steps)
        while True:
            try:
                answer = call.on(client)
                answer = list(answer) if isinstance(answer, Iterator) else answer
            except TotonoeError as error:
                call = steps.throw(error)
            else:
                call = steps.send(answer)
    except StopIteration as done:
        return cast(T, done.value)


async def run_async(client: AsyncClient, steps: Steps[T]) -> T:
    """Do the same with an asynchronous client."""
    try:
        call = next(steps)
        while True:
            try:
                answer = await _awaited(call.on(client))
            except TotonoeError as error:
                call = steps.throw(error)
            else:
                call = steps.send(answer)
    except StopIteration as done:
        return cast(T, done.value)


async def _awaited(answer: AsyncIterator[Any] | Awaitable[Any]) -> Any:
    if isinstance(answer, AsyncIterator):
        return [item async for item in answer]
    return await answer
