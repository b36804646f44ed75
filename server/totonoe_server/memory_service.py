"""The calls that agents make: decode, ask the engine, encode."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from totonoe.v1 import memory_service_pb2 as pb
from totonoe.v1 import memory_service_pb2_grpc
from totonoe_core import limits
from totonoe_core.commands import (
    Applied,
    Command,
    Forgotten,
    LinkMemories,
    UnlinkMemories,
)
from totonoe_core.commands import Forget as ForgetCommand
from totonoe_core.engine.seam import Engine
from totonoe_core.errors import InvalidArgument
from totonoe_core.guard.policy import DiversityPolicy
from totonoe_core.records import LinkType
from totonoe_server import codec_answers as answers
from totonoe_server.bulk import Bulk
from totonoe_server.codec import LINK_TYPES, collection_name
from totonoe_server.codec_memory import (
    filter_from_wire,
    memory_to_wire,
    remember_from_wire,
    update_from_wire,
)
from totonoe_server.pending import answer_of

LINK_CONFIDENCE_DEFAULT = 0.5
FORGET_UNMEASURED_IDS_MAX = 16
"""A memory with all that hangs on it stays below 1 MiB, so that many always fit an answer."""

Context = Any  # grpc.aio.ServicerContext, whose stubs lack what it can do

_Write = (
    pb.RememberRequest | pb.UpdateRequest | pb.ForgetRequest | pb.LinkRequest | pb.UnlinkRequest
)


class MemoryService(memory_service_pb2_grpc.MemoryServiceServicer):
    """MemoryService over an engine. Errors leave it as `TotonoeError`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._bulk = Bulk(engine)

    async def Remember(self, request: pb.RememberRequest, _: Context) -> pb.RememberResponse:
        """Saves or refuses one memory."""
        return answers.remembered_to_wire(await self._apply(request, remember_from_wire(request)))

    async def Check(self, request: pb.CheckRequest, _: Context) -> pb.CheckResponse:
        """What Remember would answer."""
        command = remember_from_wire(request)
        future = self._engine.check(collection_name(request.collection), command)
        return answers.checked_to_wire(await answer_of(future))

    async def RememberMany(
        self, request_iterator: AsyncIterator[pb.RememberManyRequest], _: Context
    ) -> AsyncIterator[pb.RememberManyResponse]:
        """Saves or refuses the items of a stream, in their order."""
        responses = self._bulk.remember(request_iterator)
        try:
            async for response in responses:
                yield response
        finally:
            await responses.aclose()

    async def Recall(self, request: pb.RecallRequest, _: Context) -> pb.RecallResponse:
        """Finds memories."""
        collection = collection_name(request.collection)
        base = DiversityPolicy()
        if request.HasField("diversity"):
            base = (await answer_of(self._engine.get_collection(collection))).diversity
        query = answers.recall_from_wire(request, base)
        recalled = await answer_of(self._engine.search(collection, query))
        return answers.recalled_to_wire(recalled, request.include_vectors)

    async def Get(self, request: pb.GetRequest, _: Context) -> pb.GetResponse:
        """Reads memories by id."""
        collection = collection_name(request.collection)
        got = await answer_of(self._engine.get(collection, request.agent_id, tuple(request.ids)))
        return pb.GetResponse(
            revision=got.revision,
            memories=[memory_to_wire(memory, request.include_vectors) for memory in got.memories],
            missing_ids=got.missing_ids,
        )

    async def List(self, request: pb.ListRequest, _: Context) -> pb.ListResponse:
        """One page of memories."""
        page = await answer_of(
            self._engine.scan(
                collection_name(request.collection),
                request.agent_id,
                filter_from_wire(request.filter),
                request.page_size or limits.PAGE_SIZE_DEFAULT,
                request.page_token,
            )
        )
        return pb.ListResponse(
            revision=page.revision,
            memories=[memory_to_wire(memory, request.include_vectors) for memory in page.memories],
            next_page_token=page.next_page_token,
        )

    async def Update(self, request: pb.UpdateRequest, _: Context) -> pb.UpdateResponse:
        """Changes one memory."""
        return answers.updated_to_wire(await self._apply(request, update_from_wire(request)))

    async def Forget(self, request: pb.ForgetRequest, _: Context) -> pb.ForgetResponse:
        """Hides memories."""
        command = ForgetCommand(request.agent_id, tuple(request.ids), request.reason)
        if request.dry_run or len(command.ids) > FORGET_UNMEASURED_IDS_MAX:
            preview = await self._previewed(request, command)
            if request.dry_run:
                return preview
        applied = await self._apply(request, command)
        (result,) = applied.results
        assert isinstance(result, Forgotten)
        return answers.forgotten_to_wire(result, applied.revision, applied)

    async def _previewed(
        self, request: pb.ForgetRequest, command: ForgetCommand
    ) -> pb.ForgetResponse:
        """The answer of a dry run, or an error while nothing is forgotten yet if the answer
        would be too long to be sent."""
        collection = collection_name(request.collection)
        revision, result = await answer_of(self._engine.preview_forget(collection, command))
        preview = answers.forgotten_to_wire(result, revision, None)
        if preview.ByteSize() > limits.MESSAGE_BYTES_MAX:
            raise InvalidArgument(
                "LIMIT_EXCEEDED",
                field="ids",
                got=f"memories of {preview.ByteSize()} bytes",
                allowed=f"at most {limits.MESSAGE_BYTES_MAX} bytes: name fewer at once",
            )
        return preview

    async def Link(self, request: pb.LinkRequest, _: Context) -> pb.LinkResponse:
        """Links two memories."""
        command = LinkMemories(
            agent_id=request.agent_id,
            source_id=request.source_id,
            target_id=request.target_id,
            type=LINK_TYPES.from_wire(request.type, "type", unset=LinkType.RELATED),
            confidence=request.confidence
            if request.HasField("confidence")
            else LINK_CONFIDENCE_DEFAULT,
            note=request.note,
        )
        return answers.linked_to_wire(await self._apply(request, command))

    async def Unlink(self, request: pb.UnlinkRequest, _: Context) -> pb.UnlinkResponse:
        """Takes links away."""
        command = UnlinkMemories(
            agent_id=request.agent_id,
            source_id=request.source_id,
            target_id=request.target_id,
            type=LINK_TYPES.from_wire(request.type, "type") if request.type else None,
        )
        return answers.unlinked_to_wire(await self._apply(request, command))

    async def _apply(self, request: _Write, command: Command) -> Applied:
        collection = collection_name(request.collection)
        return await answer_of(self._engine.apply(collection, request.operation_id, (command,)))
