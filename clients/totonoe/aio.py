"""The asyncio client: the same calls and arguments as `totonoe.Client`, to be awaited."""

from __future__ import annotations

import asyncio
import copy
import os
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, TypeVar

import grpc
import grpc.aio
from google.protobuf.message import Message

from totonoe.audit._aio import AsyncAuditCalls
from totonoe.call import status, tracing
from totonoe.call.channel import Connection, resolve_addresses
from totonoe.call.credentials import connection, resolve_credentials
from totonoe.call.multiplex import AsyncMultiplexed
from totonoe.call.places import SeenRevisions, collection_of
from totonoe.call.prepared import Caller, Prepared, prepared, serialize
from totonoe.call.readiness import AsyncHealthCalls
from totonoe.call.retry import Attempts, RetryPolicy, checked_timeout_s
from totonoe.cleanup._aio import AsyncCleanupCalls
from totonoe.collections._aio import AsyncCollectionCalls
from totonoe.consolidate._aio import AsyncConsolidateCalls
from totonoe.graph._aio import AsyncGraphCalls
from totonoe.history._aio import AsyncHistoryCalls
from totonoe.memories._aio import AsyncMemoryCalls
from totonoe.questions._aio import AsyncQuestionCalls
from totonoe.reembed._aio import AsyncReembedCalls
from totonoe.snapshots._aio import AsyncSnapshotCalls
from totonoe.tidy._aio import AsyncTidyCalls
from totonoe.transfer._aio import AsyncTransferCalls
from totonoe.watch._aio import AsyncWatchCalls

R = TypeVar("R")


class AsyncClient(
    AsyncMemoryCalls,
    AsyncGraphCalls,
    AsyncWatchCalls,
    AsyncHistoryCalls,
    AsyncAuditCalls,
    AsyncQuestionCalls,
    AsyncCleanupCalls,
    AsyncTidyCalls,
    AsyncConsolidateCalls,
    AsyncCollectionCalls,
    AsyncSnapshotCalls,
    AsyncReembedCalls,
    AsyncTransferCalls,
    AsyncHealthCalls,
):
    """A connection to one daemon or several, made on the first call, for one event loop.

    Calls, arguments and errors are those of `totonoe.Client`. A call that is cancelled
    while it waits is cancelled at the daemon as well; a write may have been done then.

    Parameters
    ----------
    address, agent_id, collection, timeout_s, retry, token, ca, cert, key, multiplex
        As for `totonoe.Client`.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        agent_id: str = "",
        collection: str = "",
        timeout_s: float = 30.0,
        retry: RetryPolicy | None = None,
        token: str | None = None,
        ca: str | os.PathLike[str] | None = None,
        cert: str | os.PathLike[str] | None = None,
        key: str | os.PathLike[str] | None = None,
        multiplex: bool = True,
    ) -> None:
        addresses = resolve_addresses(address)
        self.address = ",".join(addresses)
        self._credentials = [resolve_credentials(host, token, ca, cert, key) for host in addresses]
        self._seen = SeenRevisions() if len(addresses) > 1 else None
        self._timeout_s = checked_timeout_s(timeout_s)
        self._retry = retry or RetryPolicy()
        self._caller = Caller(agent_id, collection)
        self._multiplex = multiplex
        self._opened: Connection | None = None
        self._stream: AsyncMultiplexed | None = None

    @property
    def _channel(self) -> Connection:
        """The connection. It belongs to the loop that runs when it is made, so not earlier."""
        if self._opened is None:
            self._opened = connection(self._credentials, grpc.aio)
            if self._multiplex:
                self._stream = AsyncMultiplexed(self._opened, self.address)
        return self._opened

    def as_agent(self, agent_id: str) -> Self:
        """Returns a client of another agent over the same connection; closing one closes both.

        Call it where the event loop runs: it makes the connection if there is none yet.
        """
        twin = copy.copy(self)
        twin._opened, twin._stream = self._channel, self._stream
        twin._caller = Caller(agent_id, self._caller.where(None))
        return twin

    def in_collection(self, collection: str) -> Self:
        """Returns a client of another collection over the same connection, as `as_agent`."""
        twin = copy.copy(self)
        twin._opened, twin._stream = self._channel, self._stream
        twin._caller = self._caller.of(collection)
        return twin

    async def close(self) -> None:
        """Closes the connection; calls that run are cancelled. Safe to call twice."""
        channel = self._channel
        if self._stream is not None:
            self._stream.close()
        await channel.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def _run(self, request: Message, result: Callable[..., R], timeout_s: float | None) -> R:
        """Makes a call, again while the daemon is unavailable and time is left."""
        call = prepared(request, result)
        attempts = self._attempts(timeout_s)
        if self._seen is not None:
            self._seen.carry(request)
            attempts.collection = collection_of(request)
        with tracing.begin(request, self.address) as span:
            while True:
                try:
                    answer = await self._answer(call, attempts, span.metadata)
                except grpc.RpcError as error:
                    failure = status.from_call(error, self.address)
                    wait_s = attempts.wait_s(failure)
                    behind = self._seen and self._seen.gives_up(request, attempts, failure)
                    if wait_s is None or behind:
                        raise failure from error
                    wait_s = self._channel.places.after(attempts, failure, wait_s)
                else:
                    span.answered(answer)
                    if self._seen is not None:
                        self._seen.note(request, answer)
                        self._channel.places.answered(attempts)
                    return call.decode(answer)
                span.retried()
                await asyncio.sleep(wait_s)

    async def _answer(
        self, made: Prepared[Any], attempts: Attempts, metadata: tracing.Metadata
    ) -> Any:
        """The answer to one try, over the stream or by itself. Raises `grpc.RpcError`."""
        if self._stream is not None and not attempts.moved_on:
            answer = await self._stream.answer(made.request, attempts.remaining_s(), metadata)
            if answer is not None:
                return answer
        attempts.place = self._channel.places.pick(attempts.collection)
        method: Any = self._channel.unary_unary(
            made.method.path,
            request_serializer=serialize,
            response_deserializer=made.method.answer.FromString,
        )
        call = method(
            made.request,
            timeout=attempts.remaining_s(),
            metadata=metadata,
            place=attempts.place,
        )
        try:
            return await call
        finally:
            # A call that is left behind, as by a cancelled task, is kept for good.
            call.cancel()
