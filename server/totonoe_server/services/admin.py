"""The calls that whoever runs the daemon makes: decode, ask the engine, encode."""

from __future__ import annotations

from functools import partial

from totonoe.v1 import admin_service_pb2 as pb
from totonoe.v1 import admin_service_pb2_grpc, audit_pb2
from totonoe_core.base import limits
from totonoe_core.domain.collections import NewCollection
from totonoe_core.domain.commands import Applied
from totonoe_core.domain.policy import (
    NO_RETENTION,
    STANDARD_BLAST,
    STANDARD_DECAY,
    STANDARD_DIVERSITY,
    STANDARD_TIDY,
)
from totonoe_core.domain.queries import EngineStats
from totonoe_core.engine.seam.seam import Engine
from totonoe_server.access.gate import CALL
from totonoe_server.services.building import Encoded, built
from totonoe_server.services.calls import Context, seen
from totonoe_server.services.pending import answer_of
from totonoe_server.services.process import Process
from totonoe_server.services.reembed import ReembedCalls
from totonoe_server.services.snapshots import SnapshotCalls
from totonoe_server.services.transfer import TransferCalls
from totonoe_server.wire import admin, policy
from totonoe_server.wire.audit import audit_from_wire, audit_to_wire
from totonoe_server.wire.policy import (
    calibrate_from_wire,
    changes_from_wire,
    collection_to_wire,
    guard_from_wire,
    overlaid,
)
from totonoe_server.wire.scalars import collection_name, required, time_to_wire


class AdminService(
    ReembedCalls, SnapshotCalls, TransferCalls, admin_service_pb2_grpc.AdminServiceServicer
):
    """AdminService over an engine. Errors leave it as `TotonoeError`."""

    def __init__(self, engine: Engine, process: Process) -> None:
        super().__init__(engine)
        self._process = process

    async def CreateCollection(
        self, request: pb.CreateCollectionRequest, _: Context
    ) -> pb.CreateCollectionResponse:
        """Makes a collection."""
        required(bool(request.name), "name")
        new = NewCollection(
            name=request.name,
            description=request.description,
            guard=guard_from_wire(request),
            diversity=overlaid(STANDARD_DIVERSITY, request, "diversity"),
            decay=overlaid(STANDARD_DECAY, request, "decay"),
            retention=overlaid(NO_RETENTION, request, "retention"),
            blast=overlaid(STANDARD_BLAST, request, "blast"),
            tidy=overlaid(STANDARD_TIDY, request, "tidy"),
            client_vector_dimension=request.client_vector_dimension,
        )
        future = self._engine.create_collection(
            new, request.operation_id, agent_id=request.agent_id
        )
        info, operation_id, replayed = await answer_of(future)
        return pb.CreateCollectionResponse(
            collection=collection_to_wire(info),
            replayed=replayed,
            operation_id=operation_id,
            revision=info.revision,
        )

    async def GetCollection(
        self, request: pb.GetCollectionRequest, _: Context
    ) -> pb.GetCollectionResponse:
        """Reads settings."""
        info = await answer_of(self._engine.get_collection(collection_name(request.name)))
        return pb.GetCollectionResponse(collection=collection_to_wire(info), revision=info.revision)

    async def ListCollections(self, request: pb.ListCollectionsRequest, _: Context) -> Encoded:
        """One page of collections."""
        size = request.page_size or limits.PAGE_SIZE_DEFAULT
        future = self._engine.list_collections(size, request.page_token, seen())
        return await answer_of(built(future, policy.collections_to_wire, read=True))

    async def UpdateCollection(
        self, request: pb.UpdateCollectionRequest, _: Context
    ) -> pb.UpdateCollectionResponse:
        """Changes settings."""
        future = self._engine.apply(
            collection_name(request.name), request.operation_id, (changes_from_wire(request),)
        )
        return policy.settings_changed_to_wire(await answer_of(future))

    async def DeleteCollection(
        self, request: pb.DeleteCollectionRequest, _: Context
    ) -> pb.DeleteCollectionResponse:
        """Takes a collection away."""
        required(bool(request.name), "name")
        future = self._engine.delete_collection(
            request.name, request.operation_id, agent_id=request.agent_id
        )
        active_count, revision, operation_id, replayed = await answer_of(future)
        return pb.DeleteCollectionResponse(
            active_count=active_count,
            replayed=replayed,
            operation_id=operation_id,
            revision=revision,
        )

    async def Compare(self, request: pb.CompareRequest, _: Context) -> pb.CompareResponse:
        """Two texts as the guard sees them."""
        comparison = await answer_of(self._engine.compare(request.text_a, request.text_b))
        return admin.comparison_to_wire(comparison)

    async def Calibrate(self, request: pb.CalibrateRequest, _: Context) -> pb.CalibrateResponse:
        """Fits the verdict to the collection's model."""
        name, command = collection_name(request.collection), calibrate_from_wire(request)
        if request.dry_run:
            found = await answer_of(self._engine.preview(name, command))
            applied = Applied(request.operation_id, found.revision, (found.answer,))
            return admin.calibrated_to_wire(applied)
        applied = await answer_of(self._engine.apply(name, request.operation_id, (command,)))
        return admin.calibrated_to_wire(applied)

    async def Audit(self, request: audit_pb2.AuditRequest, _: Context) -> Encoded:
        """How healthy a collection is."""
        return await self._read(request.collection, audit_from_wire(request), audit_to_wire)

    async def Stats(self, request: pb.StatsRequest, _: Context) -> Encoded:
        """Figures of engine and process."""
        call = CALL.get()
        sees = None if call is None or call.sees_everything else call.sees
        future = self._engine.stats(request.collection, request.agent_id, sees)
        to_wire = partial(self._stats_to_wire, of_all=sees is None)
        return await answer_of(built(future, to_wire, read=True))

    def _stats_to_wire(self, stats: EngineStats, of_all: bool) -> pb.StatsResponse:
        ends_s = self._process.ends_s() if of_all else {}
        return admin.stats_to_wire(
            stats,
            version=self._process.version,
            started_time=time_to_wire(self._process.started_us),
            cpu_s=self._process.cpu_s(),
            rss_bytes=self._process.rss_bytes(),
            daemon=self._process.number,
            expiries=admin.expiries_to_wire({kind.value: at for kind, at in ends_s.items()}),
        )
