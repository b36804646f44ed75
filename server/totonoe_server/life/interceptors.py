"""Wrap every call: typed errors, readable bytes, a bound on calls at once.

grpc.aio decodes a request before its handler runs and answers bytes that are no message,
like any exception it meets, by UNKNOWN with the text of the inside. So the handlers are
wrapped: the deserialiser never raises, and the call as well as the *iteration* of a
stream turn errors into a status. Cancellation belongs to gRPC; only the one by which a stop cuts
off what still runs is caught.

To gRPC every method streams its requests, which looks the same on the wire: so the one message of
other calls is read here too, after the caller is known and for a limited time, and a call without
one gets an answer. gRPC itself would read it first, and wait for ever.
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    nullcontext,
)
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import grpc
from google.protobuf.message import DecodeError, Message
from grpc import aio

from totonoe_core.base import limits, names
from totonoe_core.base.errors import InvalidArgument, Quota, TotonoeError, over_limit
from totonoe_core.base.turn import TURN
from totonoe_server import status
from totonoe_server.access.gate import Call, Gate
from totonoe_server.access.table import RULES, Rule
from totonoe_server.life.admission import Admission, Place, too_idle
from totonoe_server.life.call_log import CallLog, request_id_of
from totonoe_server.life.figures import CallFigures
from totonoe_server.life.multiplex import Answer, ItemContext, Items
from totonoe_server.life.unread import Unread
from totonoe_server.logger import logger
from totonoe_server.services.building import Encoded, encoded
from totonoe_server.services.pending import shutting_down
from totonoe_server.wire.methods import MULTIPLEX, PATHS, WATCH

if TYPE_CHECKING:
    from totonoe_server.life.tracing import Tracing

CALLS_MAX = 1024
"""Unary calls at once. More are told to come back: the writer's queue is what they wait in."""
OTHER_STREAMS_MAX = 64
"""Streams of the health and reflection services at once."""
ABORT_S_MAX = 1.0
"""For the end of a stream whose caller reads nothing: its messages come before it."""

Handler = Callable[..., Any]


_STREAM_NUMBERS = itertools.count(1)


class Malformed:
    """Stands in for a message whose bytes did not decode."""


def _too_many_watch(at_once_max: int) -> TotonoeError:
    return Quota("QUOTA_EXCEEDED", f"{at_once_max} streams watch, the most at once")


class Interceptor(aio.ServerInterceptor):
    """Wraps every handler of the server.

    Attributes
    ----------
    tracing : Tracing or None
        Makes spans of the calls of the contract. It is set before the first call comes.
    draining : bool
        Whether new calls are refused.
    """

    def __init__(
        self,
        gate: Gate,
        calls_max: int = CALLS_MAX,
        streams_max: int = limits.STREAMS_MAX,
        peer_streams_max: int = limits.PEER_STREAMS_MAX,
    ) -> None:
        self.gate = gate
        self.figures = CallFigures()
        self.call_log = CallLog()
        self.tracing: Tracing | None = None
        self._other_figures = CallFigures()
        self._calls = Admission(calls_max)
        # By method: the streams of one kind must not keep out those of another.
        self._streams: dict[str, Admission] = {}
        self._streams_max, self._peer_streams_max = streams_max, peer_streams_max
        # They live as long as their agents and mostly wait.
        self._watches = Admission(limits.WATCHERS_MAX, _too_many_watch)
        # Health must answer under load, so it does not wait behind what loads the daemon.
        self._others = Admission(calls_max)
        self._other_streams = Admission(OTHER_STREAMS_MAX)
        self._unread = Unread()
        # Wrapped once per method: each call asks for its handler.
        self._wrapped: dict[str, grpc.RpcMethodHandler[Any, Any]] = {}
        # What serves each call: items of streams find it here.
        self._behaviours: dict[str, Handler] = {}
        self._answers: dict[str, Answer] = {}
        self._multiplexed = Admission(limits.MULTIPLEX_STREAMS_MAX, peer_max=peer_streams_max)
        self._item_streams: set[Items] = set()
        self.draining = False
        self._running: set[_Counted] = set()

    def serve_items(self, service: object) -> None:
        """Let a service, whose methods have the names of the contract, serve items of streams."""
        for path in RULES[MULTIPLEX].calls.values():
            self._behaviours[path] = getattr(service, path.rpartition("/")[2])

    def drain(self) -> None:
        """Refuses new calls, but for health and reflection. Running ones go on."""
        self.draining = True
        streams = (self._watches, self._multiplexed, *self._streams.values())
        for admission in (self._calls, *streams):
            admission.drain()
        for items in self._item_streams:
            items.end(shutting_down())

    def cut_off(self) -> None:
        """End running calls of the contract with SHUTTING_DOWN, which gRPC would only cancel.

        Their requests that still wait in a queue are taken back; started ones run to their end.
        """
        for counted in self._running:
            counted.cut_off()

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Any:
        """The wrapped handler of a method; `None` (UNIMPLEMENTED) for unknown ones."""
        method = handler_call_details.method
        known = self._wrapped.get(method)
        if known is not None:
            return known
        handler = await continuation(handler_call_details)
        if handler is not None:
            handler = self._wrap(method, handler)
            self._wrapped[method] = handler
        return handler

    def _wrap(self, method: str, handler: Any) -> grpc.RpcMethodHandler[Any, Any]:
        behaviour = self._serve_items if method == MULTIPLEX else _behaviour(handler)
        streams = handler.request_streaming or handler.response_streaming
        admission = self._admission(method, streams)
        call = self._call(method, behaviour, admission, handler.request_streaming)
        make = grpc.stream_stream_rpc_method_handler
        if method == MULTIPLEX:
            wrapped: Handler = call.hold
        elif not handler.response_streaming:
            wrapped = call.answer_one
            make = grpc.stream_unary_rpc_method_handler
        elif not inspect.isasyncgenfunction(behaviour):
            wrapped = call.write_many
        else:
            wrapped = call.answer_many
        return make(
            wrapped,
            request_deserializer=_readable(handler.request_deserializer),
            # Answers are bytes when they leave their call: gRPC would encode them on the event
            # loop. Only the health service writes its own.
            response_serializer=(
                handler.response_serializer
                if wrapped == call.write_many and method not in PATHS
                else None
            ),
        )

    def _admission(self, method: str, streams: bool) -> Admission:
        own = method in PATHS
        if method == MULTIPLEX:
            return self._multiplexed
        if method == WATCH:
            return self._watches
        if not streams:
            return self._calls if own else self._others
        if not own:
            return self._other_streams
        admission = self._streams[method] = Admission(
            self._streams_max, peer_max=self._peer_streams_max
        )
        if self.draining:
            admission.drain()
        return admission

    def _call(
        self, method: str, behaviour: Handler, admission: Admission, request_streaming: bool = False
    ) -> _Call:
        own = method in PATHS
        return _Call(
            method,
            PATHS[method].name if own else method,
            behaviour,
            admission,
            self.figures if own else self._other_figures,
            self._running if own else set(),
            request_streaming,
            self.call_log if own else None,
            self.tracing if own else None,
            self.gate,
            # Health and reflection are for everybody: they show the contract, and no memory.
            RULES[method] if own else None,
            self._unread,
        )

    async def _serve_items(self, context: Any, place: Place, call: Call) -> None:
        """Answer the items of a Multiplex stream until it ends."""
        if not self._answers:
            for field, path in RULES[MULTIPLEX].calls.items():
                single = self._call(path, self._behaviours[path], self._calls)
                self._answers[field] = single.answer_item
        items = Items(self._answers, context, place)
        self._item_streams.add(items)
        try:
            await items.serve(call)
        finally:
            self._item_streams.discard(items)


@dataclass(frozen=True, slots=True)
class _Call:
    """One method's behaviour with everything that stands around it."""

    path: str
    method: str
    """Its name; of health and reflection its path."""
    behaviour: Handler
    admission: Admission
    figures: CallFigures
    running: set[_Counted]
    request_streaming: bool
    log: CallLog | None
    tracing: Tracing | None
    gate: Gate
    rule: Rule | None
    unread: Unread

    async def answer_one(self, _: Any, context: Any) -> bytes:
        """One answer."""
        return await self._answer(context, None)

    async def answer_item(self, request: Any, context: ItemContext) -> bytes:
        """The answer to an item of a stream; all that holds for a call by itself holds for it."""
        return await self._answer(context, request)

    async def _answer(self, context: Any, request: Any) -> bytes:
        with _Counted(self, context) as counted:
            try:
                with self._passed(context) as call:
                    counted.call = call
                    # It takes no place of calls at work while its request is on the way.
                    if request is None:
                        request = await counted.request_of(context)
                    request = _well_formed(request)
                    peer = context.peer()
                    with self.admission.place(peer):
                        self.unread.check(counted.identity or peer)
                        if call is not None:
                            await call.admit(request)
                        _in_time(context)
                        TURN.set((peer, getattr(request, "agent_id", "")))
                        if counted.traced is not None:
                            counted.traced.mark()
                        counted.request = request
                        answer = _encoded(await self.behaviour(request, context), call)
                        self.unread.hold(counted.identity or peer, len(answer.data))
                        if call is not None:
                            call.leave_when_sent()
                        counted.answer = answer.message
                        return answer.data
            except aio.AbortError:
                raise
            except (Exception, asyncio.CancelledError) as error:
                await counted.abort(error)

    async def hold(self, _: Any, context: Any) -> None:
        """A stream of items, which answers each of them by itself."""
        async with self._stream(context) as (counted, place):
            await self.behaviour(context, place, counted.call)

    async def answer_many(self, requests: AsyncIterator[Any], context: Any) -> None:
        """A stream of answers that the behaviour generates."""
        async with self._stream(context) as (counted, place), _while_allowed(counted.call):
            await self._generate(requests, counted, place, counted.call)

    async def _generate(
        self, requests: AsyncIterator[Any], counted: _Counted, place: Place, call: Call | None
    ) -> None:
        context = counted.context
        request: Any
        if self.request_streaming:
            request = _readable_stream(requests, counted, place, call)
        else:
            request = counted.request = await _only(context, place)
            if call is not None:
                await call.admit(request)
        _in_time(context)
        TURN.set((context.peer(), f"stream {next(_STREAM_NUMBERS)}"))
        answers = self.behaviour(request, context)
        try:
            async for message in answers:
                answer = _encoded(message, call)
                counted.answer = answer.message
                if self.rule is not None and self.rule.per_item:
                    self.figures.items_refused(
                        result.error.reason for result in answer.message.results
                    )
                await place.waiting(context.write(answer.data), limits.STREAM_UNREAD_S_MAX)
        finally:
            # A generator that is left by an exception is not closed by it.
            await answers.aclose()

    async def write_many(self, _: Any, context: Any) -> None:
        """A stream of answers that the behaviour writes itself (Watch, the health service)."""
        async with self._stream(context) as (counted, place):
            request = counted.request = await _only(context, place)
            async with _while_allowed(counted.call):
                if counted.call is not None:
                    await counted.call.admit(request)
                _in_time(context)
                TURN.set((context.peer(), f"stream {next(_STREAM_NUMBERS)}"))
                await self.behaviour(request, context)

    @asynccontextmanager
    async def _stream(self, context: Any) -> AsyncIterator[tuple[_Counted, Place]]:
        """A stream's place and its way through the gate; an error inside becomes its status."""
        with _Counted(self, context) as counted:
            try:
                with (
                    self.admission.place(context.peer()) as place,
                    self._passed(context) as counted.call,
                ):
                    yield counted, place
            except aio.AbortError:
                raise
            except (Exception, asyncio.CancelledError) as error:
                await counted.abort(error)

    def _passed(self, context: Any) -> AbstractContextManager[Call | None]:
        """Let the call through the gate; `None` for what is not of the contract."""
        if self.rule is None:
            return nullcontext()
        _metadata_fits(context)
        return self.gate.call(self.rule, context)


def _while_allowed(call: Call | None) -> AbstractAsyncContextManager[Any]:
    """End the stream when its caller loses what it needs; health and reflection need nothing."""
    return nullcontext() if call is None else call.while_allowed()


class _Counted:
    """Figures of one call, its line in the log, and how it ends with an error.

    Attributes
    ----------
    request, answer : message or None
        The first and the last message so far.
    call : Call or None
        The call as it passed the gate.
    traced : Traced or None
        The span of the call.
    """

    def __init__(self, call: _Call, context: Any) -> None:
        self._call = call
        self.context = context
        self._begun_s = time.monotonic()
        self._code, self._reason = "OK", ""
        self._task = asyncio.current_task()
        self._why: TotonoeError | None = None
        self.request: Any = None
        self.answer: Any = None
        self.call: Call | None = None
        self.traced = None if call.tracing is None else call.tracing.begin(call.path, context)

    def __enter__(self) -> _Counted:
        self._call.figures.begin(self._call.method)
        self._call.running.add(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        code = self._code
        if kind is not None and code == "OK":
            # Not by `abort` below: the health service aborts by itself, and what is no
            # `Exception` (CancelledError, GeneratorExit) is gRPC ending the call.
            code = "ABORTED_BY_HANDLER" if issubclass(kind, Exception) else "CANCELLED"
        self._call.running.discard(self)
        call, seconds = self._call, time.monotonic() - self._begun_s
        call.figures.end(call.method, code, seconds, self._reason)
        logged = call.log is not None and call.log.wanted()
        if not logged and self.traced is None:
            return
        request_id = request_id_of(self.context)
        if self.traced is not None:
            self.traced.end(code, self._reason, request_id, self.request, self.answer)
        if call.log is not None and logged:
            call.log.write(
                request_id,
                call.method,
                code,
                self._reason,
                seconds,
                self.identity,
                self.request,
                self.answer,
            )

    @property
    def identity(self) -> str:
        """Name of the caller that the daemon found out; empty for none."""
        caller = self.call.caller if self.call is not None else None
        return caller.name if caller is not None and caller.identity is not None else ""

    async def request_of(self, context: Any) -> Any:
        """The one message of the call, or `None`; ends the call if it does not arrive in time."""
        timer = asyncio.get_running_loop().call_later(limits.STREAM_IDLE_S_MAX, self._end, too_idle)
        try:
            request = await context.read()
        finally:
            timer.cancel()
        return None if request is aio.EOF else request

    def cut_off(self) -> None:
        """End the call with SHUTTING_DOWN."""
        self._end(shutting_down)

    def _end(self, why: Callable[[], TotonoeError]) -> None:
        """Ends the call with an error, once."""
        if self._task is not None and self._why is None:
            self._why = why()
            self._task.cancel()

    async def abort(self, error: Exception | asyncio.CancelledError) -> NoReturn:
        """End the call with the status of `error`; always raises `AbortError`.

        A cancellation that is not ours goes on as it is.
        """
        if isinstance(error, asyncio.CancelledError):
            if self._why is None or self._task is None:
                raise error
            self._task.uncancel()
            error = self._why
        end = status.grpc_status_of(error)
        self._code, self._reason = end.code.name, status.reason_of(error)
        try:
            async with asyncio.timeout(ABORT_S_MAX):
                await self.context.abort_with_status(end)
        except TimeoutError:
            # It takes nothing any more, its end included: what waits for it goes with the call.
            logger.debug("end not taken", method=self._call.method, code=self._code)
            # gRPC keeps the error that it wants to see now, and raises it from any use of the call.
            await self.context.read()
        raise aio.AbortError


def _behaviour(handler: Any) -> Handler:
    """The function of a handler, whatever its kind."""
    if handler.request_streaming:
        found = handler.stream_stream if handler.response_streaming else handler.stream_unary
    else:
        found = handler.unary_stream if handler.response_streaming else handler.unary_unary
    return found  # type: ignore[no-any-return]


def _readable(deserialize: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    """The deserialiser, with a marker where it would raise."""

    def read(data: bytes) -> Any:
        try:
            return deserialize(data)
        except DecodeError:
            return Malformed()

    return read


def _well_formed(request: Any) -> Any:
    """The request, if its bytes decode and its `agent_id` is a name."""
    if request is None or isinstance(request, Malformed):
        raise InvalidArgument(
            "MALFORMED_MESSAGE",
            field="request",
            got="no whole message" if request is None else "bytes that do not decode",
            allowed="a message of the contract",
        )
    agent_id = getattr(request, "agent_id", "")
    if agent_id:
        names.check(agent_id, "agent_id")
    return request


async def _only(context: Any, place: Place) -> Any:
    """The request of a call that has one.

    Raises
    ------
    InvalidArgument
        MALFORMED_MESSAGE, or `agent_id` is no name.
    Unavailable
        STREAM_IDLE: it did not arrive in time.
    """
    request = await place.waiting(context.read(), limits.STREAM_IDLE_S_MAX)
    return _well_formed(None if request is aio.EOF else request)


async def _readable_stream(
    requests: AsyncIterator[Any], counted: _Counted, place: Place, call: Call | None
) -> AsyncIterator[Any]:
    while True:
        request = await place.waiting(anext(requests, None), limits.STREAM_IDLE_S_MAX)
        if request is None:
            return
        request = _well_formed(request)
        if counted.request is None:
            counted.request = request
        if call is not None:
            await call.admit(request)
        yield request


def _metadata_fits(context: Any) -> None:
    """Refuses a call with long metadata: gRPC holds each frame of them to the limit, not all."""
    size = sum(len(name) + len(value) for name, value in context.invocation_metadata() or ())
    if size > limits.METADATA_BYTES_MAX:
        raise over_limit("metadata", f"{size} bytes", f"{limits.METADATA_BYTES_MAX} bytes")


def _in_time(context: Any) -> None:
    """Refuses to start what nobody waits for any more.

    A call may wait for the event loop longer than its deadline.
    """
    left_s = context.time_remaining()
    if left_s is not None and left_s <= 0:
        raise TotonoeError("DEADLINE_PASSED", "the deadline passed before the call was started")


def _encoded(answer: Message | Encoded, call: Call | None) -> Encoded:
    """An answer with its bytes; a short one may come without, and is encoded here."""
    if not isinstance(answer, Encoded):
        answer = encoded(answer, call)
    _fits(len(answer.data))
    return answer


def _fits(size: int) -> None:
    """Refuses an answer that gRPC would not send, by a name that tells what to do."""
    if size > limits.MESSAGE_BYTES_MAX:
        raise over_limit(
            "answer", f"{size} bytes", f"{limits.MESSAGE_BYTES_MAX} bytes: ask for fewer at once"
        )
