"""The calls about snapshots, and Purge, which looks into them."""

from __future__ import annotations

from totonoe.v1 import admin_service_pb2, snapshot_pb2
from totonoe_core.base import limits
from totonoe_core.base.errors import NotFound
from totonoe_core.domain import memories
from totonoe_core.domain.commands import Applied
from totonoe_core.domain.snapshots import SnapshotUse
from totonoe_server.services.building import Encoded, built
from totonoe_server.services.calls import Calls, Context, seen
from totonoe_server.services.pending import answer_of
from totonoe_server.wire import snapshots as codec
from totonoe_server.wire.history import purge_from_wire
from totonoe_server.wire.scalars import collection_name, required


class SnapshotCalls(Calls):
    """Create-, List-, Delete- and RestoreSnapshot, and Purge, over an engine."""

    async def CreateSnapshot(
        self, request: snapshot_pb2.CreateSnapshotRequest, _: Context
    ) -> snapshot_pb2.CreateSnapshotResponse:
        """Keeps a copy of a collection."""
        future = self._engine.create_snapshot(
            collection_name(request.collection),
            request.operation_id,
            agent_id=request.agent_id,
            name=request.name,
            comment=request.comment,
        )
        return codec.created_to_wire(await answer_of(future))

    async def ListSnapshots(
        self, request: snapshot_pb2.ListSnapshotsRequest, _: Context
    ) -> Encoded:
        """One page of snapshots."""
        size = request.page_size or limits.PAGE_SIZE_DEFAULT
        future = self._engine.list_snapshots(request.collection, size, request.page_token, seen())
        return await answer_of(built(future, codec.listed_to_wire, read=True))

    async def DeleteSnapshot(
        self, request: snapshot_pb2.DeleteSnapshotRequest, _: Context
    ) -> snapshot_pb2.DeleteSnapshotResponse:
        """Deletes a snapshot."""
        required(bool(request.snapshot_id), "snapshot_id")
        future = self._engine.delete_snapshot(
            request.snapshot_id, request.operation_id, agent_id=request.agent_id
        )
        return codec.deleted_to_wire(await answer_of(future))

    async def RestoreSnapshot(
        self, request: snapshot_pb2.RestoreSnapshotRequest, _: Context
    ) -> snapshot_pb2.RestoreSnapshotResponse:
        """Makes a collection of a snapshot."""
        required(bool(request.snapshot_id), "snapshot_id")
        required(bool(request.collection), "collection")
        future = self._engine.restore_snapshot(
            request.snapshot_id,
            request.collection,
            request.operation_id,
            agent_id=request.agent_id,
            confirmation_token=request.confirmation_token,
        )
        return codec.restored_to_wire(await answer_of(future))

    async def Purge(
        self, request: admin_service_pb2.PurgeRequest, _: Context
    ) -> admin_service_pb2.PurgeResponse:
        """Takes the bytes of memories out of everything, snapshots if asked to."""
        name, command = collection_name(request.collection), purge_from_wire(request)
        use = codec.use_from_wire(request)
        done: Applied | tuple[int, memories.Purged]
        if request.dry_run:
            done = await answer_of(self._engine.preview(name, command))
            (_, result) = done
        else:
            try:
                done = await answer_of(self._engine.apply(name, request.operation_id, (command,)))
            except NotFound as error:
                return await self._purged_before(name, command, use, error)
            (found,) = done.results
            assert isinstance(found, memories.Purged)
            result = found
        ids = (*result.purged_ids, *result.missing_ids)
        holding = await answer_of(
            self._engine.purge_snapshots(
                name, command.agent_id, ids, use, dry_run=request.dry_run, sees=seen()
            )
        )
        return codec.purged_with_snapshots_to_wire(done, holding)

    async def _purged_before(
        self, name: str, command: memories.Purge, use: SnapshotUse, error: NotFound
    ) -> admin_service_pb2.PurgeResponse:
        """The answer for one memory that was purged before, if snapshots still hold it.

        Else it is the error that was met: it is not there.
        """
        if error.reason != "MEMORY_NOT_FOUND":
            raise error
        holding = await answer_of(
            self._engine.purge_snapshots(
                name, command.agent_id, command.ids, use, dry_run=False, sees=seen()
            )
        )
        if not holding:
            raise error
        info = await answer_of(self._engine.get_collection(name))
        nothing = Applied("", info.revision, (memories.Purged((), command.ids),))
        return codec.purged_with_snapshots_to_wire(nothing, holding)
