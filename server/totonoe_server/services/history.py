"""The calls about what was done: take it back, read it."""

from __future__ import annotations

from totonoe.v1 import operations_pb2 as pb
from totonoe_core.base import limits
from totonoe_core.base.errors import NotFound
from totonoe_core.domain.queries import HistoryQuery, OperationsQuery
from totonoe_server.access.gate import CALL
from totonoe_server.services.building import Encoded
from totonoe_server.services.calls import Calls, Context
from totonoe_server.services.pending import answer_of
from totonoe_server.wire import history as codec
from totonoe_server.wire.scalars import collection_name

UNDONE_FOLLOWED_MAX = 16
"""Undos of Undos that are followed to the call they are about; beyond, `admin` is needed."""


class HistoryCalls(Calls):
    """Undo, History and ListOperations over an engine."""

    async def Undo(self, request: pb.UndoRequest, _: Context) -> Encoded | pb.UndoResponse:
        """Takes an operation back."""
        call = CALL.get()
        if call is not None and not call.by_owner:
            call.needs_verb_of([await self._call_to_take_back(request)])
        if request.dry_run:
            return await self._undo_previewed(request)
        try:
            return await self._applied(request, codec.undo_from_wire(request), codec.undone_to_wire)
        except NotFound as error:
            return await self._collection_restored(request, error)

    async def _call_to_take_back(self, request: pb.UndoRequest) -> str:
        """Return the name of the call that an Undo takes back or, of an Undo, brings back again.

        Empty for what is not found here: the catalogue may know it, whose calls need `admin`.
        """
        look = pb.UndoRequest()
        look.CopyFrom(request)
        look.own_only = False  # of what an own Undo took back, another agent may be the author
        for _ in range(UNDONE_FOLLOWED_MAX):
            try:
                kind, undoes = await self._operation_of(look)
            except NotFound:
                return ""
            if kind != "Undo":
                return kind
            look.target_revision = undoes
        return ""

    async def _operation_of(self, request: pb.UndoRequest) -> tuple[str, int]:
        """Return the name of the call of the target of an Undo, and the revision that it undoes."""
        collection, command = collection_name(request.collection), codec.undo_from_wire(request)
        found = await answer_of(self._engine.preview(collection, command))
        return found.answer.operation.kind, found.answer.operation.undoes

    async def _undo_previewed(self, request: pb.UndoRequest) -> Encoded:
        command = codec.undo_from_wire(request)
        return await self._previewed(request.collection, command, codec.undo_preview_to_wire)

    async def _collection_restored(
        self, request: pb.UndoRequest, error: NotFound
    ) -> pb.UndoResponse:
        """The answer of an Undo that means the DeleteCollection of a collection.

        A retry finds the collection that is back, and the operation not in it: the catalogue has
        the first answer. What is not there either is the error that was met first.
        """
        reasons = ("COLLECTION_NOT_FOUND", "OPERATION_NOT_FOUND")
        if request.own_only or not request.target_operation_id or error.reason not in reasons:
            raise error
        future = self._engine.restore_collection(
            collection_name(request.collection),
            request.operation_id,
            target_operation_id=request.target_operation_id,
            agent_id=request.agent_id,
        )
        try:
            return codec.restored_to_wire(*await answer_of(future))
        except NotFound:
            raise error from None

    async def History(self, request: pb.HistoryRequest, _: Context) -> Encoded:
        """One page of what a memory was."""
        call = CALL.get()
        query = HistoryQuery(
            request.agent_id,
            request.memory_id,
            request.page_size or limits.PAGE_SIZE_DEFAULT,
            request.page_token,
            names_others=call is None or call.has("admin"),
        )
        return await self._read(
            request.collection, query, codec.history_to_wire, request.min_revision
        )

    async def ListOperations(self, request: pb.ListOperationsRequest, _: Context) -> Encoded:
        """One page of operations."""
        query = OperationsQuery(
            request.agent_id,
            codec.operations_from_wire(request),
            request.page_size or limits.PAGE_SIZE_DEFAULT,
            request.page_token,
        )
        return await self._read(
            request.collection, query, codec.operations_to_wire, request.min_revision
        )
