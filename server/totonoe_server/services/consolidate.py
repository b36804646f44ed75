"""Consolidate: one run of the engine for each stream, read as fast as its caller reads."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing

from totonoe.v1 import consolidate_pb2 as pb
from totonoe_server.services.building import Encoded
from totonoe_server.services.calls import Context, StreamingCalls
from totonoe_server.services.pending import answer_of
from totonoe_server.wire import consolidate as codec
from totonoe_server.wire.scalars import collection_name


class ConsolidateCalls(StreamingCalls):
    """Consolidate over an engine."""

    async def Consolidate(
        self, request: pb.ConsolidateRequest, _: Context
    ) -> AsyncIterator[Encoded]:
        """Streams what a run tells; the run stays for a while when its stream ends."""
        collection, query = (
            collection_name(request.collection),
            codec.consolidate_from_wire(request),
        )
        future = self._engine.consolidate(collection, request.operation_id, query)
        run = await answer_of(future)
        async with aclosing(self._told(run, codec.message_to_wire)) as messages:
            async for message in messages:
                yield message
