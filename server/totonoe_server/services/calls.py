"""Share what all services need: one command as one operation, streams, sizes of answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from concurrent.futures import Future
from typing import Any, Protocol, TypeVar, cast

from google.protobuf.message import Message

from totonoe_core.base import limits
from totonoe_core.base.errors import InvalidArgument, NotCaughtUp, over_limit
from totonoe_core.domain.asking import Previewable, Query
from totonoe_core.domain.collections import Sees, sees_all
from totonoe_core.domain.commands import Applied, Command
from totonoe_core.engine.seam.seam import Engine
from totonoe_server.access.gate import CALL
from totonoe_server.services.building import Encoded, built, many_built
from totonoe_server.services.pending import answer_of, shutting_down
from totonoe_server.wire.encoding import length_of
from totonoe_server.wire.scalars import collection_name

T = TypeVar("T")
Context = Any  # grpc.aio.ServicerContext, whose stubs lack what it can do

UNMEASURED_MEMORIES_MAX = 16
"""A memory with all that hangs on it stays below 1 MiB, so that many always fit an answer."""


class Write(Protocol):
    """A request of a write: each has these fields."""

    @property
    def collection(self) -> str:
        """Collection; empty means `default`."""
        ...

    @property
    def operation_id(self) -> str:
        """Makes a retry safe."""
        ...


class Telling(Protocol[T]):
    """A stream of the engine, read in pieces: see `engine/seam/streams.py`."""

    def read(self) -> Future[tuple[T, ...]]:
        """The next messages; none: it is over."""
        ...

    def leave(self) -> None:
        """Lets go of it."""
        ...


class Calls:
    """Calls over an engine. Errors leave them as `TotonoeError`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def _read(
        self,
        collection: str,
        query: Query[T],
        to_wire: Callable[[T], Message],
        min_revision: int = 0,
    ) -> Encoded:
        """The answer to a query, of `min_revision` or later."""
        name = collection_name(collection)
        if min_revision:
            await self._caught_up(name, min_revision)
        future = self._engine.read(name, query)
        return await answer_of(built(future, to_wire, read=True))

    async def _caught_up(self, collection: str, revision: int) -> None:
        """Wait until a collection shows a revision.

        Raises
        ------
        InvalidArgument
            OUT_OF_RANGE: it is negative.
        NotCaughtUp
            It does not within CAUGHT_UP_MS_MAX, or no other daemon writes the store.
        """
        if revision < 0:
            raise InvalidArgument(
                "OUT_OF_RANGE", field="min_revision", got=revision, allowed="0 or more"
            )
        try:
            async with asyncio.timeout(limits.CAUGHT_UP_MS_MAX / 1000):
                await answer_of(self._engine.await_revision(collection, revision))
        except TimeoutError:
            raise NotCaughtUp(revision) from None

    async def _previewed(
        self, collection: str, command: Previewable[T], to_wire: Callable[[T, int], Message]
    ) -> Encoded:
        """The answer of a dry run, of the result and its revision."""
        future = self._engine.preview(collection_name(collection), command)
        return await answer_of(built(future, lambda found: to_wire(found.answer, found.revision)))

    async def _applied(
        self, request: Write, command: Command, to_wire: Callable[[Applied], Message]
    ) -> Encoded:
        """The answer of a write that may be long."""
        collection = collection_name(request.collection)
        future = self._engine.apply(collection, request.operation_id, (command,))
        return await answer_of(built(future, to_wire))

    async def _apply(self, request: Write, command: Command) -> Applied:
        collection = collection_name(request.collection)
        return await answer_of(self._engine.apply(collection, request.operation_id, (command,)))

    async def _applied_or_previewed(
        self,
        request: Write,
        command: Command,
        dry_run: bool,
        to_wire: Callable[[Any, int, Applied | None], Message],
    ) -> Encoded:
        """The answer of a command, or of its dry run; `to_wire` is `answer_or_preview`."""
        if dry_run:
            return await self._previewed(
                request.collection,
                cast(Any, command),
                lambda found, revision: to_wire(found, revision, None),
            )
        return await self._applied(
            request, command, lambda done: to_wire(done.results[0], done.revision, done)
        )


class StreamingCalls(Calls):
    """Calls whose streams may last for hours, and end with SHUTTING_DOWN when the daemon does."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self._ending = asyncio.Event()

    def end_streams(self) -> None:
        """Ends all of them soon. Event loop only."""
        self._ending.set()

    async def _unless_ending(self, work: Awaitable[T]) -> T:
        """The result of some work, which is taken back when the daemon stops."""
        working, ending = asyncio.ensure_future(work), asyncio.ensure_future(self._ending.wait())
        try:
            await asyncio.wait((working, ending), return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                raise shutting_down()
            return working.result()
        finally:
            ending.cancel()
            working.cancel()

    async def _told(
        self, run: Telling[T], to_wire: Callable[[T], Message]
    ) -> AsyncGenerator[Encoded, None]:
        """Yield the messages of a run as fast as they are read; leave the run at the end."""
        try:
            while messages := await self._unless_ending(answer_of(many_built(run.read(), to_wire))):
                for message in messages:
                    yield message
        finally:
            run.leave()


def seen() -> Sees:
    """Return which collections the caller of the running call may know of."""
    call = CALL.get()
    return sees_all if call is None else call.sees


def fits_an_answer(answer: Message, field: str, hint: str, beside_bytes: int = 0) -> None:
    """Refuses, while nothing is changed yet, what would have an answer too long to be sent.

    Raises
    ------
    InvalidArgument
        LIMIT_EXCEEDED.
    """
    size = length_of(answer) + beside_bytes
    if size > limits.MESSAGE_BYTES_MAX:
        raise over_limit(
            field, f"memories of {size} bytes", f"{limits.MESSAGE_BYTES_MAX} bytes: {hint}"
        )
