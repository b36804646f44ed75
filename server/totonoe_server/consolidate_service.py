"""Consolidate: one run of the engine for each stream, read as fast as its caller reads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from totonoe.v1 import consolidate_pb2 as pb
from totonoe_core.engine.seam import Engine
from totonoe_server import codec_consolidate as codec
from totonoe_server.calls import Calls, Context
from totonoe_server.codec import collection_name
from totonoe_server.pending import answer_of, shutting_down


class ConsolidateCalls(Calls):
    """Consolidate over an engine."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self._ending = asyncio.Event()

    def end_consolidations(self) -> None:
        """Ends all streams with SHUTTING_DOWN: they may take minutes. Event loop only."""
        self._ending.set()

    async def Consolidate(
        self, request: pb.ConsolidateRequest, _: Context
    ) -> AsyncIterator[pb.ConsolidateResponse]:
        """Streams what a run tells; the run stays for a while when its stream ends."""
        collection, query = (
            collection_name(request.collection),
            codec.consolidate_from_wire(request),
        )
        future = self._engine.consolidate(collection, request.operation_id, query)
        run = await answer_of(future)
        ending = asyncio.ensure_future(self._ending.wait())
        try:
            while True:
                reading = asyncio.ensure_future(answer_of(run.read()))
                await asyncio.wait((reading, ending), return_when=asyncio.FIRST_COMPLETED)
                if not reading.done():
                    reading.cancel()
                    raise shutting_down()
                messages = reading.result()
                if not messages:
                    return
                for message in messages:
                    yield codec.message_to_wire(message)
        finally:
            ending.cancel()
            run.leave()
