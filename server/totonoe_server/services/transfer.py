"""Export and Import: streams of lines, as fast as the other side takes or gives them.

Both read the next message only when the one before is dealt with, so that nothing piles up, and
both end with SHUTTING_DOWN when the daemon stops: a file may take minutes.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from totonoe.v1 import transfer_pb2 as pb
from totonoe_server.services.building import Encoded, built
from totonoe_server.services.calls import Context, StreamingCalls
from totonoe_server.services.pending import answer_of
from totonoe_server.wire import transfer as codec
from totonoe_server.wire.scalars import collection_name


class TransferCalls(StreamingCalls):
    """Export and Import over an engine. Errors leave them as `TotonoeError`."""

    async def Export(self, request: pb.ExportRequest, _: Context) -> AsyncIterator[Encoded]:
        """Streams the lines of a collection."""
        collection, query = collection_name(request.collection), codec.export_from_wire(request)
        export = await answer_of(self._engine.export(collection, query))
        try:
            while True:
                chunk = built(export.read(), codec.chunk_to_wire, read=True)
                message = await self._unless_ending(answer_of(chunk))
                if not message.message.data:
                    return
                yield message
        finally:
            export.leave()

    async def Import(
        self, request_iterator: AsyncIterator[pb.ImportRequest], _: Context
    ) -> AsyncIterator[Encoded]:
        """Takes the lines of a file, and tells after each piece how far it is."""
        requests = aiter(request_iterator)
        first = await self._next(requests)
        if first is None:
            return
        start = codec.start_from_wire(first)
        begun = await answer_of(
            self._engine.begin_import(
                collection_name(start.collection), start.operation_id, codec.import_from_wire(start)
            )
        )
        try:
            # What was made of the start alone: the operation id, before anything is done.
            yield await answer_of(built(begun.feed(b"", False), codec.told_to_wire))
            last = False
            while not last:
                request = await self._next(requests)
                data, last = (b"", True) if request is None else codec.piece_from_wire(request)
                told = built(begun.feed(data, last), codec.told_to_wire)
                yield await self._unless_ending(answer_of(told))
        finally:
            begun.leave()

    async def _next(self, requests: AsyncIterator[pb.ImportRequest]) -> pb.ImportRequest | None:
        """The next message; `None`: the caller sends no more."""
        return await self._unless_ending(anext(requests, None))
