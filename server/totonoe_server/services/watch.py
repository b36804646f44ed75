"""Watch: read what is new, send it, wait for more.

Each watcher has one read or one message under way at a time, so that what it holds is bounded;
where it lags behind, the file is its queue. It waits on a future of the engine, and nobody
waits for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from totonoe.v1 import operations_pb2
from totonoe_core.base import limits
from totonoe_core.base.errors import InvalidArgument, Quota
from totonoe_core.domain.filter import Filter
from totonoe_core.domain.queries import Changes, ChangesQuery
from totonoe_core.engine.seam.seam import Engine
from totonoe_server.services.building import ROWS_BUILT_THERE, made, run
from totonoe_server.services.pending import answer_of, shutting_down, wrapped
from totonoe_server.wire.encoding import message_bytes
from totonoe_server.wire.memories import filter_from_wire
from totonoe_server.wire.scalars import collection_name
from totonoe_server.wire.watch import changes_to_wire

HEARTBEAT_S_DEFAULT = 15.0
HEARTBEAT_S_MIN, HEARTBEAT_S_MAX = 1.0, 300.0
WRITE_END_S = 0.2
"""Seconds that a write may still take when its stream ends."""
READ_EVERY_S = 0.02
READ_EVERY_S_PER_WATCHER = 0.002
"""Where many write, commits are told together, and the more the more watch: a read by itself costs
more than what it tells. One that lags behind does not wait so."""

Context = Any  # grpc.aio.ServicerContext, whose stubs lack what it can do


class Watching:
    """All Watch streams of a daemon. Event loop only.

    Parameters
    ----------
    send_s_max : float
        Seconds that a watcher may leave a message lying before it is cut.
    """

    def __init__(self, engine: Engine, send_s_max: float) -> None:
        self._engine = engine
        self._send_s_max = send_s_max
        self._stopping = asyncio.Event()
        self._count = 0

    def stop(self) -> None:
        """Ends all streams with SHUTTING_DOWN."""
        self._stopping.set()

    async def watch(self, request: operations_pb2.WatchRequest, context: Context) -> None:
        """Sends changes until the caller ends it.

        Raises
        ------
        InvalidArgument
            A heartbeat out of its range, a filter that is none.
        OutOfRange
            The collection has not reached `after_revision`.
        Quota
            WATCH_TOO_SLOW: a message was not taken in time; `after_revision` in the details is
            where to go on. QUOTA_EXCEEDED: too many wait.
        Unavailable
            SHUTTING_DOWN: the daemon stops, or the collection was closed.
        """
        stream = _Stream(self._engine, request, context, self._send_s_max, self._read_every_s)
        self._count += 1
        running = asyncio.ensure_future(stream.run())
        stopping = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait((running, stopping), return_when=asyncio.FIRST_COMPLETED)
            if not running.done():
                raise shutting_down()
            await running
        finally:
            self._count -= 1
            stopping.cancel()
            running.cancel()
            await asyncio.gather(running, stopping, return_exceptions=True)
            await stream.end_write()

    def _read_every_s(self) -> float:
        return max(READ_EVERY_S, READ_EVERY_S_PER_WATCHER * self._count)


class _Stream:
    """One watcher."""

    def __init__(
        self,
        engine: Engine,
        request: operations_pb2.WatchRequest,
        context: Context,
        send_s_max: float,
        read_every_s: Callable[[], float],
    ) -> None:
        self._engine = engine
        self._context = context
        self._send_s_max = send_s_max
        self._read_every_s = read_every_s
        self._collection = collection_name(request.collection)
        self._agent_id = request.agent_id
        self._heartbeat_s = _heartbeat_s(request.heartbeat_s)
        self._where: Filter | None = None
        if request.HasField("filter"):
            self._where = filter_from_wire(request.filter)
        self._from = request.after_revision if request.HasField("after_revision") else None
        self._after = 0
        self._silent_from_s = asyncio.get_running_loop().time()
        self._caught_up = False
        self._lags = True
        self._writing: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Reads, sends, waits, for ever."""
        if self._from is None:
            info = await answer_of(self._engine.get_collection(self._collection))
            self._after = info.revision
        else:
            self._after = self._from
        loop = asyncio.get_running_loop()
        while True:
            begun_s = loop.time()
            await self._send_changes()
            await self._wait()
            if not self._lags:
                await asyncio.sleep(begun_s + self._read_every_s() - loop.time())

    async def _send_changes(self) -> None:
        begun = self._after
        query = ChangesQuery(self._agent_id, self._after, self._where)
        reading = self._engine.read(self._collection, query)
        found = await answer_of(made(reading, partial(_told, self._after), read=True))
        for data, revision in found.short:
            await self._send(data)
            self._after = revision
        while found.long is not None:
            # A message at a time, as the watcher takes them.
            told = await answer_of(run(partial(next, found.long, None)))
            if told is None:
                break
            await self._send(told[0])
            self._after = told[1]
        self._lags = found.revision - begun >= limits.CHANGES_PER_READ_MAX // 2
        self._after = found.revision

    async def _wait(self) -> None:
        """Until there is more; meanwhile says that the stream lives.

        At once where all that there was is sent for the first time: so the watcher knows that what
        follows is new. Later only after a silence.
        """
        waiting = self._engine.await_change(self._collection, self._after)
        begins = not (self._caught_up or waiting.done())
        changed = wrapped(waiting)
        loop = asyncio.get_running_loop()
        try:
            while True:
                left_s = self._silent_from_s + self._heartbeat_s - loop.time()
                if begins or left_s <= 0:
                    begins, self._caught_up = False, True
                    heartbeat = operations_pb2.Heartbeat()
                    alive = operations_pb2.WatchResponse(revision=self._after, heartbeat=heartbeat)
                    await self._send(alive.SerializeToString())
                elif (await asyncio.wait((changed,), timeout=left_s))[0]:
                    if changed.cancelled():
                        raise shutting_down()
                    changed.result()
                    return
        finally:
            changed.cancel()

    async def end_write(self) -> None:
        """Let the write that is under way end, before a status follows it.

        A first write that is cancelled leaves gRPC unsure whether the metadata went out, and then
        the status is not sent at all.
        """
        if self._writing is not None:
            await asyncio.wait((self._writing,), timeout=WRITE_END_S)
            self._writing.cancel()
            await asyncio.gather(self._writing, return_exceptions=True)

    async def _send(self, data: bytes) -> None:
        self._writing = asyncio.ensure_future(self._context.write(data))
        if not (await asyncio.wait((self._writing,), timeout=self._send_s_max))[0]:
            raise Quota(
                "WATCH_TOO_SLOW",
                f"a message was not taken within {self._send_s_max:g} s",
                after_revision=self._after,
            )
        self._writing.result()
        self._silent_from_s = asyncio.get_running_loop().time()


class _EncodedChanges(NamedTuple):
    """Changes as messages, each with the revision that it brings the watcher to."""

    revision: int
    short: list[tuple[bytes, int]]
    long: Iterator[tuple[bytes, int]] | None


def _told(after: int, changes: Changes, _: bool) -> _EncodedChanges:
    """Encode few rows at once; of many each message when it is sent: there may be a hundred MB."""
    messages = _encoded(after, changes)
    count = sum(len(change.memories) + len(change.links) for change in changes.changes)
    if count > ROWS_BUILT_THERE:
        return _EncodedChanges(changes.revision, [], messages)
    return _EncodedChanges(changes.revision, list(messages), None)


def _encoded(after: int, changes: Changes) -> Iterator[tuple[bytes, int]]:
    for change in changes.changes:
        for message in changes_to_wire(change, after):
            yield message_bytes(message), message.revision
        after = change.operation.revision


def _heartbeat_s(asked_s: float) -> float:
    heartbeat_s = asked_s or HEARTBEAT_S_DEFAULT
    if not HEARTBEAT_S_MIN <= heartbeat_s <= HEARTBEAT_S_MAX:
        raise InvalidArgument(
            "OUT_OF_RANGE",
            field="heartbeat_s",
            got=f"{asked_s:g}",
            allowed=f"{HEARTBEAT_S_MIN:g} to {HEARTBEAT_S_MAX:g}",
        )
    return heartbeat_s
