"""The calls that agents make: decode, ask the engine, encode."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

from totonoe.v1 import memory_service_pb2 as pb
from totonoe.v1 import memory_service_pb2_grpc, operations_pb2
from totonoe_core import limits
from totonoe_core.commands import Forget as ForgetCommand
from totonoe_core.commands import Forgotten, LinkMemories, UnlinkMemories
from totonoe_core.engine.seam import Engine
from totonoe_core.records import LinkType
from totonoe_server import codec_answers as answers
from totonoe_server.audit_service import AuditCalls
from totonoe_server.bulk import Bulk
from totonoe_server.calls import UNMEASURED_MEMORIES_MAX, Context, fits_an_answer
from totonoe_server.cleanup_service import CleanupCalls
from totonoe_server.codec import LINK_TYPES, as_of_from_wire, collection_name
from totonoe_server.codec_memory import (
    filter_from_wire,
    forget_filter_from_wire,
    forget_from_wire,
    remember_from_wire,
    update_from_wire,
)
from totonoe_server.consolidate_service import ConsolidateCalls
from totonoe_server.graph_service import GraphCalls
from totonoe_server.history_service import HistoryCalls
from totonoe_server.pending import answer_of
from totonoe_server.tidy_service import TidyCalls
from totonoe_server.watching import Watching

LINK_CONFIDENCE_DEFAULT = 0.5


class MemoryService(
    AuditCalls,
    CleanupCalls,
    GraphCalls,
    HistoryCalls,
    TidyCalls,
    ConsolidateCalls,
    memory_service_pb2_grpc.MemoryServiceServicer,
):
    """MemoryService over an engine. Errors leave it as `TotonoeError`."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self._bulk = Bulk(engine)
        self.watching = Watching(engine, limits.WATCH_SEND_S_MAX)

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
        collection, query = await self._asked(request)
        recalled = await answer_of(self._engine.search(collection, query))
        return answers.recalled_to_wire(recalled, request.include_vectors)

    async def Get(self, request: pb.GetRequest, _: Context) -> pb.GetResponse:
        """Reads memories by id."""
        collection = collection_name(request.collection)
        future = self._engine.get(
            collection,
            request.agent_id,
            tuple(request.ids),
            as_of=as_of_from_wire(request),
            follow_superseded=request.follow_superseded,
        )
        return answers.gotten_to_wire(await answer_of(future), request.include_vectors)

    async def List(self, request: pb.ListRequest, _: Context) -> pb.ListResponse:
        """One page of memories."""
        page = await answer_of(
            self._engine.scan(
                collection_name(request.collection),
                request.agent_id,
                filter_from_wire(request.filter),
                request.page_size or limits.PAGE_SIZE_DEFAULT,
                request.page_token,
                as_of=as_of_from_wire(request),
            )
        )
        return answers.page_to_wire(page, request.include_vectors)

    async def Update(self, request: pb.UpdateRequest, _: Context) -> pb.UpdateResponse:
        """Changes one memory."""
        return answers.updated_to_wire(await self._apply(request, update_from_wire(request)))

    async def Forget(self, request: pb.ForgetRequest, _: Context) -> pb.ForgetResponse:
        """Hides memories."""
        if request.HasField("filter"):
            return await self._found_to_forget(request)
        command = forget_from_wire(request)
        if request.dry_run:
            return await self._forget_previewed(request, command)
        if len(command.ids) > UNMEASURED_MEMORIES_MAX:
            # Of a retry the revisions have moved on: they are for `apply` to compare.
            await self._forget_previewed(request, replace(command, expected_revisions=()))
        applied = await self._apply(request, command)
        (result,) = applied.results
        assert isinstance(result, Forgotten)
        return answers.forgotten_to_wire(result, applied.revision, applied)

    async def _forget_previewed(
        self, request: pb.ForgetRequest, command: ForgetCommand
    ) -> pb.ForgetResponse:
        collection = collection_name(request.collection)
        revision, result = await answer_of(self._engine.preview_forget(collection, command))
        preview = answers.forgotten_to_wire(result, revision, None)
        fits_an_answer(preview, "ids", "name fewer at once")
        return preview

    async def _found_to_forget(self, request: pb.ForgetRequest) -> pb.ForgetResponse:
        collection, where = collection_name(request.collection), forget_filter_from_wire(request)
        revision, result, matching_count = await answer_of(
            self._engine.preview_forget_filter(collection, request.agent_id, where)
        )
        preview = answers.forgotten_to_wire(result, revision, None, matching_count)
        fits_an_answer(preview, "filter", "make it narrower")
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

    async def Watch(self, request: operations_pb2.WatchRequest, context: Context) -> None:
        """Streams changes."""
        await self.watching.watch(request, context)
