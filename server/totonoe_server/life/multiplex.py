"""Serve the items of a Multiplex stream, each by the function that serves the call by itself.

An item has a task, and a context in place of gRPC's: what stands around a call (identity, verb,
limits, places, errors, figures, log, trace) finds in it what it finds in the other. So no rule is
written twice, and nothing here knows one.

The stream reads on while items run, so that one can be cancelled. What it holds is bounded by the
number of unanswered items; an item is answered when gRPC has taken the answer.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import grpc
from google.rpc import code_pb2, status_pb2
from grpc import aio

from totonoe.v1 import memory_service_pb2 as pb
from totonoe_core.base import limits
from totonoe_core.base.errors import InvalidArgument, TotonoeError, Unavailable
from totonoe_server import status
from totonoe_server.access.gate import Call
from totonoe_server.life.admission import Place, too_idle
from totonoe_server.life.call_log import REQUEST_ID_KEY, TRACEPARENT
from totonoe_server.wire.encoding import varint

_OF_ITEMS = (TRACEPARENT, REQUEST_ID_KEY)
"""Metadata that each item has for itself."""
_LENGTH_DELIMITED = 2
_FIELDS = {
    field.name: bytes((field.number << 3 | _LENGTH_DELIMITED,))
    for field in pb.MultiplexResponse.DESCRIPTOR.oneofs_by_name["outcome"].fields
}
"""Tags of the outcomes, one byte each."""

Answer = Callable[[Any, Any], Awaitable[bytes]]
"""Serves a request with a context; returns the bytes of the answer, or aborts by the context."""
Context = Any  # grpc.aio.ServicerContext, whose stubs lack what it can do


class ItemContext:
    """Stands for an item where a call by itself has gRPC's context.

    Attributes
    ----------
    ended : google.rpc.Status or None
        How the item was aborted.
    """

    __slots__ = ("_deadline_s", "_item", "_stream", "ended")

    def __init__(self, stream: Items, item: pb.MultiplexRequest, deadline_s: float) -> None:
        self._stream, self._item, self._deadline_s = stream, item, deadline_s
        self.ended: status_pb2.Status | None = None

    def peer(self) -> str:
        """The connection of the stream."""
        return self._stream.peer

    def invocation_metadata(self) -> tuple[tuple[str, Any], ...]:
        """Return the metadata of the stream, and the item's own."""
        own: tuple[tuple[str, Any], ...] = ()
        if self._item.traceparent:
            own = ((TRACEPARENT, self._item.traceparent),)
        if self._item.request_id:
            own = (*own, (REQUEST_ID_KEY, self._item.request_id))
        return self._stream.metadata + own

    def auth_context(self) -> Mapping[str, Any]:
        """That of the stream."""
        return self._stream.auth_context

    def time_remaining(self) -> float | None:
        """Seconds until the deadline; `None` if there is none."""
        if math.isinf(self._deadline_s):
            return None
        return self._deadline_s - asyncio.get_running_loop().time()

    async def abort_with_status(self, end: grpc.Status) -> None:
        """Ends the item; always raises `AbortError`."""
        self.ended = status.message_of(end)
        raise aio.AbortError


class _Item:
    """An item that has no answer yet."""

    __slots__ = ("_task", "cancelled", "timer")

    def __init__(self) -> None:
        self.cancelled: status_pb2.Status | None = None
        self.timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[Any] | None = None

    def begin(self) -> bool:
        """Its task begins; returns whether there is something to do."""
        self._task = asyncio.current_task()
        return self.cancelled is None

    def answering(self) -> None:
        """From now on it is not cancelled."""
        if self.timer is not None:
            self.timer.cancel()
        if self.cancelled is not None and self._task is not None:
            self._task.uncancel()
        self._task = None

    def cancel(self, end: status_pb2.Status) -> None:
        """Takes it back, unless its answer is on the way."""
        if self.cancelled is None:
            self.cancelled = end
            # A task that has not begun must still answer: cancelled, it would never run.
            if self._task is not None:
                self._task.cancel()


class Items:
    """The items of one stream. Event loop only.

    Parameters
    ----------
    answers : mapping of str to callable
        What serves a call, by the field of its request.
    context : grpc.aio.ServicerContext
        Of the stream.
    place : Place
        Of the stream.

    Attributes
    ----------
    peer, metadata, auth_context
        Of the stream, for all items.
    """

    def __init__(self, answers: Mapping[str, Answer], context: Context, place: Place) -> None:
        self.peer: str = context.peer()
        self.metadata = tuple(
            (name, value)
            for name, value in context.invocation_metadata() or ()
            if name not in _OF_ITEMS
        )
        self.auth_context: Mapping[str, Any] = context.auth_context()
        self._answers, self._context, self._place = answers, context, place
        self._loop = asyncio.get_running_loop()
        self._items: dict[int, _Item] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._sending = asyncio.Lock()
        self._sending_from_s = math.inf
        self._reading: asyncio.Timeout | None = None
        self._why: BaseException | None = None
        self._looking: asyncio.TimerHandle | None = None

    async def serve(self, call: Call) -> None:
        """Answers items until the client ends the stream.

        When it ends for another reason, no further item is read, and those that were are answered.

        Raises
        ------
        TotonoeError
            The caller may no longer call, the daemon stops, the stream was idle, or it is none.
        """
        opened = pb.MultiplexOpened(unanswered_max=limits.MULTIPLEX_UNANSWERED_MAX)
        why: BaseException | None = None
        try:
            await self._send(pb.MultiplexResponse(opened=opened).SerializeToString())
            self._place.idle(self._give_way)
            self._look()
            try:
                async with call.while_allowed(), asyncio.timeout(None) as self._reading:
                    if self._why is None:
                        await self._read()
            except TimeoutError:
                why = self._why
            except TotonoeError as error:
                why = error
            self._reading = None
            while self._tasks:
                await asyncio.wait(self._tasks)
        finally:
            # The call was cancelled, or cut off: nobody takes an answer any more.
            if self._looking is not None:
                self._looking.cancel()
            for task in self._tasks:
                task.cancel()
        if why is not None:
            raise why

    def end(self, why: BaseException) -> None:
        """Reads no further item; ends the stream when those that it has are answered."""
        if self._why is None:
            self._why = why
            if self._reading is not None:
                self._reading.reschedule(self._loop.time())

    def _give_way(self) -> None:
        self.end(too_idle())

    def _look(self) -> None:
        """Ends the stream if it is idle, or if its client takes nothing. Once in a while: a timer
        for each item would cost more than all of this."""
        unread_s = self._loop.time() - self._sending_from_s
        if self._place.idle_s() >= limits.MULTIPLEX_IDLE_S_MAX:
            self._give_way()
        elif unread_s >= limits.STREAM_UNREAD_S_MAX:
            self._give_way()
            for task in self._tasks:
                task.cancel()
        else:
            often_s = min(limits.MULTIPLEX_IDLE_S_MAX, limits.STREAM_UNREAD_S_MAX) / 8
            self._looking = self._loop.call_later(often_s, self._look)

    async def _read(self) -> None:
        while True:
            message = await self._context.read()
            if message is aio.EOF:
                return
            if not isinstance(message, pb.MultiplexRequest):
                raise InvalidArgument(
                    "MALFORMED_MESSAGE",
                    field="request",
                    got="bytes that do not decode",
                    allowed="a message of the contract",
                )
            if message.cancel:
                item = self._items.get(message.id)
                if item is not None:
                    item.cancel(_CANCELLED)
            elif message.id in self._items:
                raise InvalidArgument(
                    "OUT_OF_RANGE",
                    field="id",
                    got=message.id,
                    allowed="a number that no unanswered item of the stream has",
                )
            else:
                await self._begin(message)

    async def _begin(self, message: pb.MultiplexRequest) -> None:
        kind = message.WhichOneof("call") or ""
        refusal = _fault(kind, message.timeout_s)
        if refusal is None and len(self._items) >= limits.MULTIPLEX_UNANSWERED_MAX:
            refusal = Unavailable(
                "OVERLOADED",
                f"{limits.MULTIPLEX_UNANSWERED_MAX} items of this stream have no answer yet",
                retry_delay_ms=limits.RETRY_DELAY_MS,
            )
        if refusal is not None:
            # Nothing more is read until it is sent: refusals do not pile up.
            await self._send(_failed(message.id, status.status_of(refusal)))
            return
        item = self._items[message.id] = _Item()
        self._place.busy()
        deadline_s = math.inf
        if message.timeout_s and not math.isinf(message.timeout_s):
            deadline_s = self._loop.time() + message.timeout_s
            item.timer = self._loop.call_at(deadline_s, item.cancel, _LATE)
        context = ItemContext(self, message, deadline_s)
        task = self._loop.create_task(self._serve_item(message, kind, item, context))
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        # Its answer could not be sent, so that its client would wait for ever.
        if not task.cancelled() and (error := task.exception()) is not None:
            self.end(error)

    async def _serve_item(
        self, message: pb.MultiplexRequest, kind: str, item: _Item, context: ItemContext
    ) -> None:
        answer: bytes | None = None
        try:
            if item.begin():
                answer = await self._answers[kind](getattr(message, kind), context)
        except aio.AbortError:
            pass
        except asyncio.CancelledError:
            if item.cancelled is None:
                raise
        item.answering()
        if answer is not None:
            await self._send(_framed(message.id, kind, answer))
        else:
            ended = context.ended or item.cancelled
            assert ended is not None
            await self._send(_failed(message.id, ended))
        del self._items[message.id]
        if not self._items:
            self._place.idle(self._give_way)

    async def _send(self, data: bytes) -> None:
        """Writes a message when it is its turn: a stream takes one after the other."""
        async with self._sending:
            self._sending_from_s = self._loop.time()
            await self._context.write(data)
            self._sending_from_s = math.inf


def _fault(kind: str, timeout_s: float) -> TotonoeError | None:
    """The error of an item that is about no call of its own."""
    if not kind:
        return InvalidArgument(
            "MISSING_FIELD", field="call", got="none", allowed="a request, or cancel"
        )
    if not timeout_s >= 0:
        return InvalidArgument(
            "OUT_OF_RANGE", field="timeout_s", got=f"{timeout_s:g}", allowed="0 or more"
        )
    return None


def _failed(number: int, error: status_pb2.Status) -> bytes:
    return pb.MultiplexResponse(id=number, error=error).SerializeToString()


def _framed(number: int, kind: str, answer: bytes) -> bytes:
    """The bytes of a response with an answer whose bytes are there: it is not encoded again."""
    return b"".join(
        (
            pb.MultiplexResponse(id=number).SerializeToString(),
            _FIELDS[kind],
            varint(len(answer)),
            answer,
        )
    )


_CANCELLED = status_pb2.Status(code=code_pb2.CANCELLED, message="the client took the item back")
_LATE = status.status_of(TotonoeError("DEADLINE_PASSED", "the deadline of the item passed"))
