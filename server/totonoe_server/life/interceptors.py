"""Wrap every call: typed errors, readable bytes, a bound on calls at once.

grpc.aio decodes a request before its handler runs and answers bytes that are no message,
like any exception it meets, by UNKNOWN with the text of the inside. So the handlers are
wrapped: the deserialiser never raises, and the call as well as the *iteration* of a
stream turn errors into a status. Cancellation is never caught: it belongs to gRPC.
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import grpc
from google.protobuf.message import DecodeError, Message
from grpc import aio

from totonoe_core.base import limits
from totonoe_core.base.errors import InvalidArgument, Quota, TotonoeError
from totonoe_core.base.turn import TURN
from totonoe_server import status
from totonoe_server.life.admission import Admission, Place
from totonoe_server.logger import logger
from totonoe_server.wire.methods import PATHS, WATCH

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


@dataclass(slots=True)
class CallFigures:
    """Figures of the contract's own calls (not health, not reflection).

    Attributes
    ----------
    now : int
        Calls under way.
    ended : Counter of str
        Ended calls by status code name; cancelled ones under CANCELLED.
    seconds : float
        Wall time of all ended calls together.
    idle : asyncio.Event
        Set while no call is under way.
    """

    now: int = 0
    ended: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    idle: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.idle.set()

    def begin(self) -> None:
        """A call came in."""
        self.now += 1
        self.idle.clear()

    def end(self, code: str, seconds: float) -> None:
        """A call ended."""
        self.now -= 1
        self.ended[code] += 1
        self.seconds += seconds
        if not self.now:
            self.idle.set()


def _too_many_watch(at_once_max: int) -> TotonoeError:
    return Quota("QUOTA_EXCEEDED", f"{at_once_max} streams watch, the most at once")


class Guard(aio.ServerInterceptor):
    """Wraps every handler of the server."""

    def __init__(
        self,
        calls_max: int = CALLS_MAX,
        streams_max: int = limits.STREAMS_MAX,
        peer_streams_max: int = limits.PEER_STREAMS_MAX,
    ) -> None:
        self.figures = CallFigures()
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
        # Wrapped once per method: each call asks for its handler.
        self._wrapped: dict[str, grpc.RpcMethodHandler[Any, Any]] = {}
        self._draining = False

    def drain(self) -> None:
        """Refuses new calls, but for health and reflection. Running ones go on."""
        self._draining = True
        for admission in (self._calls, self._watches, *self._streams.values()):
            admission.drain()

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
        own = method in PATHS
        streams = handler.request_streaming or handler.response_streaming
        if method == WATCH:
            admission = self._watches
        elif streams and own:
            admission = Admission(self._streams_max, peer_max=self._peer_streams_max)
            self._streams[method] = admission
            if self._draining:
                admission.drain()
        elif streams:
            admission = self._other_streams
        else:
            admission = self._calls if own else self._others
        make, behaviour = _parts(handler)
        figures = self.figures if own else self._other_figures
        call = _Call(method, behaviour, admission, figures, handler.request_streaming)
        if not handler.response_streaming:
            wrapped: Handler = call.answer_one
        elif inspect.isasyncgenfunction(behaviour):
            wrapped = call.answer_many
        else:
            wrapped = call.write_many
        return make(  # type: ignore[no-any-return]
            wrapped,
            request_deserializer=_readable(handler.request_deserializer),
            response_serializer=handler.response_serializer,
        )


@dataclass(frozen=True, slots=True)
class _Call:
    """One method's behaviour with everything that stands around it."""

    method: str
    behaviour: Handler
    admission: Admission
    figures: CallFigures
    request_streaming: bool

    async def answer_one(self, request: Any, context: Any) -> Any:
        """One answer."""
        with _Counted(self, context) as counted:
            try:
                with self.admission.place(context.peer()):
                    agent_id = getattr(request, "agent_id", "")[: limits.NAME_BYTES_MAX]
                    TURN.set((context.peer(), agent_id))
                    answer = await self.behaviour(self._checked(request), context)
                    _answer_fits(answer)
                    return answer
            except aio.AbortError:
                raise
            except Exception as error:
                await counted.abort(error)

    async def answer_many(self, request: Any, context: Any) -> None:
        """A stream of answers that the behaviour generates."""
        with _Counted(self, context) as counted:
            try:
                with self.admission.place(context.peer()) as place:
                    TURN.set((context.peer(), f"stream {next(_STREAM_NUMBERS)}"))
                    answers = self.behaviour(self._checked(request, place), context)
                    try:
                        async for answer in answers:
                            _answer_fits(answer)
                            sent = context.write(answer)
                            await place.waiting(sent, limits.STREAM_UNREAD_S_MAX)
                    finally:
                        # A generator that is left by an exception is not closed by it.
                        await answers.aclose()
            except aio.AbortError:
                raise
            except Exception as error:
                await counted.abort(error)

    async def write_many(self, request: Any, context: Any) -> None:
        """A stream of answers that the behaviour writes itself (Watch, the health service)."""
        with _Counted(self, context) as counted:
            try:
                with self.admission.place(context.peer()):
                    await self.behaviour(self._checked(request), context)
            except aio.AbortError:
                raise
            except Exception as error:
                await counted.abort(error)

    def _checked(self, request: Any, place: Place | None = None) -> Any:
        if self.request_streaming and place is not None:
            return _readable_stream(request, place)
        return _well_formed(request)


class _Counted:
    """Figures of one call, and how it ends with an error."""

    def __init__(self, call: _Call, context: Any) -> None:
        self._call = call
        self._context = context
        self._begun_s = time.monotonic()
        self._code = "OK"

    def __enter__(self) -> _Counted:
        self._call.figures.begin()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        code = self._code
        if kind is not None and code == "OK":
            # Not by `abort` below: the health service aborts by itself, and what is no
            # `Exception` (CancelledError, GeneratorExit) is gRPC ending the call.
            code = "ABORTED_BY_HANDLER" if issubclass(kind, Exception) else "CANCELLED"
        self._call.figures.end(code, time.monotonic() - self._begun_s)

    async def abort(self, error: Exception) -> None:
        """Ends the call with the status of `error`; always raises `AbortError`."""
        end = status.grpc_status_of(error)
        self._code = end.code.name
        logger.debug("call failed", method=self._call.method, code=self._code)
        try:
            async with asyncio.timeout(ABORT_S_MAX):
                await self._context.abort_with_status(end)
        except TimeoutError:
            # It takes nothing any more, its end included: what waits for it goes with the call.
            logger.debug("end not taken", method=self._call.method, code=self._code)
            raise aio.AbortError from None


def _parts(handler: Any) -> tuple[Callable[..., Any], Handler]:
    """Constructor of the handler's kind, and its behaviour."""
    if handler.request_streaming and handler.response_streaming:
        return grpc.stream_stream_rpc_method_handler, handler.stream_stream
    if handler.request_streaming:
        return grpc.stream_unary_rpc_method_handler, handler.stream_unary
    if handler.response_streaming:
        return grpc.unary_stream_rpc_method_handler, handler.unary_stream
    return grpc.unary_unary_rpc_method_handler, handler.unary_unary


def _readable(deserialize: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    """The deserialiser, with a marker where it would raise."""

    def read(data: bytes) -> Any:
        try:
            return deserialize(data)
        except DecodeError:
            return Malformed()

    return read


def _well_formed(request: Any) -> Any:
    if isinstance(request, Malformed):
        raise InvalidArgument(
            "MALFORMED_MESSAGE",
            field="request",
            got="bytes that do not decode",
            allowed="a message of the contract",
        )
    return request


async def _readable_stream(requests: AsyncIterator[Any], place: Place) -> AsyncIterator[Any]:
    while True:
        request = await place.waiting(anext(requests, None), limits.STREAM_IDLE_S_MAX)
        if request is None:
            return
        yield _well_formed(request)


def _answer_fits(answer: Message) -> None:
    """Refuses an answer that gRPC would not send, by a name that tells what to do."""
    size = answer.ByteSize()
    if size > limits.MESSAGE_BYTES_MAX:
        raise InvalidArgument(
            "LIMIT_EXCEEDED",
            field="answer",
            got=f"{size} bytes",
            allowed=f"at most {limits.MESSAGE_BYTES_MAX} bytes: ask for fewer at once",
        )
