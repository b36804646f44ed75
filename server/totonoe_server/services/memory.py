"""The calls that agents make: decode, ask the engine, encode."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

from totonoe.v1 import memory_service_pb2 as pb
from totonoe.v1 import memory_service_pb2_grpc, operations_pb2
from totonoe_core.base import limits
from totonoe_core.domain.memories import Forget as ForgetCommand
from totonoe_core.domain.memories import ForgetMatching, Forgotten, Matching
from totonoe_core.domain.queries import GetQuery, ListQuery
from totonoe_core.engine.seam.seam import Engine
from totonoe_server.access.gate import CALL
from totonoe_server.services.audit import AuditCalls
from totonoe_server.services.building import Encoded
from totonoe_server.services.bulk import Bulk
from totonoe_server.services.calls import UNMEASURED_MEMORIES_MAX, Context, fits_an_answer
from totonoe_server.services.cleanup import CleanupCalls
from totonoe_server.services.consolidate import ConsolidateCalls
from totonoe_server.services.graph import GraphCalls
from totonoe_server.services.history import HistoryCalls
from totonoe_server.services.pending import answer_of
from totonoe_server.services.questions import QuestionCalls
from totonoe_server.services.tidy import TidyCalls
from totonoe_server.services.watch import Watching
from totonoe_server.wire import answers
from totonoe_server.wire.memories import (
    filter_from_wire,
    forget_filter_from_wire,
    forget_from_wire,
    link_from_wire,
    remember_from_wire,
    unlink_from_wire,
    update_from_wire,
)
from totonoe_server.wire.namespaces import namespaces_from_wire, namespaces_to_wire
from totonoe_server.wire.scalars import as_of_from_wire, collection_name


class MemoryService(
    AuditCalls,
    QuestionCalls,
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
        """Answer as Remember would, and save nothing."""
        command = remember_from_wire(request)
        future = self._engine.preview(collection_name(request.collection), command)
        found = await answer_of(future)
        return answers.checked_to_wire(found.answer, revision=found.revision)

    async def RememberMany(
        self, request_iterator: AsyncIterator[pb.RememberManyRequest], _: Context
    ) -> AsyncIterator[Encoded]:
        """Saves or refuses the items of a stream, in their order."""
        responses = self._bulk.remember(request_iterator)
        try:
            async for response in responses:
                yield response
        finally:
            await responses.aclose()

    async def Recall(self, request: pb.RecallRequest, _: Context) -> Encoded:
        """Finds memories."""
        collection, query = await self._asked(request)
        with_vectors = request.include_vectors
        return await self._read(
            collection,
            query,
            lambda recalled: answers.recalled_to_wire(recalled, with_vectors),
            request.min_revision,
        )

    async def Get(self, request: pb.GetRequest, _: Context) -> Encoded:
        """Reads memories by id."""
        query = GetQuery(
            request.agent_id,
            tuple(request.ids),
            as_of=as_of_from_wire(request),
            follow_superseded=request.follow_superseded,
            touch=request.touch,
        )
        with_vectors = request.include_vectors
        return await self._read(
            request.collection,
            query,
            lambda gotten: answers.gotten_to_wire(gotten, with_vectors),
            request.min_revision,
        )

    async def List(self, request: pb.ListRequest, _: Context) -> Encoded:
        """One page of memories."""
        with_vectors = request.include_vectors
        query = ListQuery(
            request.agent_id,
            filter_from_wire(request.filter),
            request.page_size or limits.PAGE_SIZE_DEFAULT,
            request.page_token,
            as_of=as_of_from_wire(request),
            touch=request.touch,
            include_vectors=with_vectors,
        )
        return await self._read(
            request.collection,
            query,
            lambda page: answers.page_to_wire(page, with_vectors),
            request.min_revision,
        )

    async def ListNamespaces(self, request: pb.ListNamespacesRequest, _: Context) -> Encoded:
        """The distinct namespaces of memories."""
        query = namespaces_from_wire(request)
        return await self._read(request.collection, query, namespaces_to_wire, request.min_revision)

    async def Update(self, request: pb.UpdateRequest, _: Context) -> Encoded:
        """Changes one memory."""
        return await self._applied(request, update_from_wire(request), answers.updated_to_wire)

    async def Forget(self, request: pb.ForgetRequest, _: Context) -> Encoded:
        """Hides memories."""
        if request.HasField("filter"):
            return await self._found_to_forget(request)
        command = forget_from_wire(request)
        if request.dry_run:
            return await self._forget_previewed(request, command)
        if len(command.ids) > UNMEASURED_MEMORIES_MAX:
            # Of a retry the revisions have moved on: they are for `apply` to compare.
            await self._forget_previewed(request, replace(command, expected_revisions=()))
        return await self._applied(request, command, answers.forget_applied_to_wire)

    async def _forget_previewed(self, request: pb.ForgetRequest, command: ForgetCommand) -> Encoded:
        def to_wire(forgotten: Forgotten, revision: int) -> pb.ForgetResponse:
            preview = answers.forgotten_to_wire(forgotten, revision, None)
            fits_an_answer(preview, "ids", "name fewer at once")
            return preview

        return await self._previewed(request.collection, command, to_wire)

    async def _found_to_forget(self, request: pb.ForgetRequest) -> Encoded:
        call = CALL.get()
        if call is not None:
            # What a filter finds, and that it finds it, is about contents.
            call.needs("read")

        def to_wire(matching: Matching, revision: int) -> pb.ForgetResponse:
            preview = answers.forgotten_to_wire(matching.forgotten, revision, None, matching.count)
            fits_an_answer(preview, "filter", "make it narrower")
            return preview

        command = ForgetMatching(request.agent_id, forget_filter_from_wire(request))
        return await self._previewed(request.collection, command, to_wire)

    async def Link(self, request: pb.LinkRequest, _: Context) -> pb.LinkResponse:
        """Links two memories."""
        return answers.linked_to_wire(await self._apply(request, link_from_wire(request)))

    async def Unlink(self, request: pb.UnlinkRequest, _: Context) -> pb.UnlinkResponse:
        """Takes links away."""
        return answers.unlinked_to_wire(await self._apply(request, unlink_from_wire(request)))

    async def Watch(self, request: operations_pb2.WatchRequest, context: Context) -> None:
        """Streams changes."""
        await self.watching.watch(request, context)
