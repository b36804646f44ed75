"""Reembed: what is under way is told to whoever asks, until it ends or the caller leaves."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing

from totonoe.v1 import reembed_pb2 as pb
from totonoe_server.services.building import Encoded
from totonoe_server.services.calls import Context, StreamingCalls
from totonoe_server.services.pending import answer_of
from totonoe_server.wire import reembed as codec
from totonoe_server.wire.scalars import collection_name


class ReembedCalls(StreamingCalls):
    """Reembed and CancelReembed over an engine."""

    async def Reembed(self, request: pb.ReembedRequest, _: Context) -> AsyncIterator[Encoded]:
        """Streams how far it is; the work goes on when the stream ends."""
        collection = collection_name(request.collection)
        command = codec.reembed_from_wire(request)
        future = self._engine.reembed(collection, request.operation_id, command)
        watch = await answer_of(future)
        async with aclosing(self._told(watch, codec.told_to_wire)) as messages:
            async for message in messages:
                yield message

    async def CancelReembed(
        self, request: pb.CancelReembedRequest, _: Context
    ) -> pb.CancelReembedResponse:
        """Ends what is under way, and drops what it made."""
        collection = collection_name(request.collection)
        dropped = await answer_of(self._engine.cancel_reembed(collection))
        return pb.CancelReembedResponse(cancelled=dropped >= 0, dropped_count=max(0, dropped))
