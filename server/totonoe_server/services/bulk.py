"""RememberMany: items of a stream, decided and answered in their order.

The items of one message go to the engine together and share its commits. The next message
is taken up when the one before is answered for: only so is an item sure to be compared
with all that came before it, because texts wait for the embedder and others overtake them.
What the client sends meanwhile waits in gRPC's flow-control window, so nothing here grows.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from concurrent.futures import Future
from functools import partial

from totonoe.v1 import memory_service_pb2 as pb
from totonoe_core.base import limits
from totonoe_core.base.errors import InvalidArgument, over_limit
from totonoe_core.domain.commands import Applied
from totonoe_core.domain.memories import Remember
from totonoe_core.engine.seam.seam import Engine
from totonoe_server import status
from totonoe_server.access.gate import CALL
from totonoe_server.services.building import (
    ROWS_BUILT_THERE,
    Encoded,
    built,
    encoded,
    ready,
    run,
)
from totonoe_server.services.pending import answer_of, shutting_down, wrapped
from totonoe_server.wire.answers import remembered_to_wire
from totonoe_server.wire.memories import remember_from_wire
from totonoe_server.wire.scalars import collection_name

MESSAGES_AT_WORK_MAX = limits.WRITER_QUEUE_MAX // limits.ITEMS_PER_MESSAGE_MAX // 2
"""Over all streams: bulk work alone must not fill the writer's queue and have others refused."""


class Bulk:
    """All RememberMany streams of a daemon. Event loop only."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._at_work = asyncio.Semaphore(MESSAGES_AT_WORK_MAX)

    async def remember(
        self, requests: AsyncIterator[pb.RememberManyRequest]
    ) -> AsyncGenerator[Encoded, None]:
        """Answers to a stream of items, message by message.

        However it is left (the client cancels, breaks off, or fails in the middle), items
        that still wait are taken back and started ones run to their end.

        Raises
        ------
        InvalidArgument
            A message does not decode or holds too many items; the messages before it are
            answered.
        """
        async for request in requests:
            _check_size(request)
            call = CALL.get()
            refused = {} if call is None else await call.refusals(request)
            items, many = request.items, len(request.items) > ROWS_BUILT_THERE
            async with self._at_work:
                if many:
                    answers = await answer_of(run(partial(self._submitted, items, refused)))
                else:
                    answers = self._submitted(items, refused)
                outcomes = await asyncio.gather(*map(wrapped, answers), return_exceptions=True)
            if many:
                yield await answer_of(built(ready(tuple(outcomes)), _response))
            else:
                yield encoded(_response(outcomes), call)

    def _submitted(
        self, items: Sequence[pb.RememberRequest], refused: Mapping[int, Exception]
    ) -> list[Future[Applied]]:
        """Items to the engine, those of one collection in order. What is wrong with an item, or
        is refused to the caller, becomes its own answer."""
        answers: list[Future[Applied]] = [Future() for _ in items]
        by_collection: dict[str, list[tuple[int, str, Remember]]] = {}
        for position, item in enumerate(items):
            if position in refused:
                answers[position].set_exception(refused[position])
                continue
            try:
                command = remember_from_wire(item)
            except InvalidArgument as error:
                answers[position].set_exception(error)
                continue
            entries = by_collection.setdefault(collection_name(item.collection), [])
            entries.append((position, item.operation_id, command))
        for collection, entries in by_collection.items():
            try:
                futures = self._engine.apply_all(
                    collection, [(operation_id, (command,)) for _, operation_id, command in entries]
                )
            except Exception as error:
                for position, _, _ in entries:
                    answers[position].set_exception(error)
                continue
            for (position, _, _), future in zip(entries, futures, strict=True):
                answers[position] = future
        return answers


def _check_size(request: pb.RememberManyRequest) -> None:
    if len(request.items) > limits.ITEMS_PER_MESSAGE_MAX:
        raise over_limit("items", len(request.items), limits.ITEMS_PER_MESSAGE_MAX)


def _response(outcomes: Sequence[Applied | BaseException]) -> pb.RememberManyResponse:
    return pb.RememberManyResponse(results=[_result(outcome) for outcome in outcomes])


def _result(outcome: Applied | BaseException) -> pb.RememberManyResult:
    if isinstance(outcome, asyncio.CancelledError):
        outcome = shutting_down()
    if isinstance(outcome, Exception):
        return pb.RememberManyResult(error=status.item_error_of(outcome))
    assert isinstance(outcome, Applied)
    return pb.RememberManyResult(answer=remembered_to_wire(outcome))
