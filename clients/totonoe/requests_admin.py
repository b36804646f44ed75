"""Requests about collections and about the daemon itself."""

from __future__ import annotations

from collections.abc import Iterable

from google.protobuf.field_mask_pb2 import FieldMask

from totonoe import (
    admin_models,
    convert_admin,
    convert_history,
    convert_snapshot,
    history_models,
    scalars,
)
from totonoe.enums import SnapshotUse
from totonoe.prepared import ADMIN_SERVICE as _ADMIN
from totonoe.prepared import Prepared, new_operation_id
from totonoe.requests_reembed import ReembedRequests
from totonoe.requests_snapshot import SnapshotRequests
from totonoe.requests_transfer import TransferRequests
from totonoe.v1 import admin_service_pb2 as admin_pb
from totonoe.v1 import types_pb2


class AdminRequests(ReembedRequests, TransferRequests, SnapshotRequests):
    """What the admin service is asked."""

    def create_collection(
        self,
        name: str,
        description: str,
        guard: admin_models.GuardPolicy | None,
        diversity: admin_models.DiversityPolicy | None,
        decay: admin_models.DecayPolicy | None,
        retention: admin_models.RetentionPolicy | None,
        blast: admin_models.BlastPolicy | None,
        tidy: admin_models.TidyPolicy | None,
        client_vector_dimension: int,
        operation_id: str,
    ) -> Prepared[admin_models.CollectionChange]:
        """CreateCollection."""
        request = admin_pb.CreateCollectionRequest(
            operation_id=operation_id or new_operation_id(),
            agent_id=self._agent_id,
            name=name,
            description=description,
            guard=convert_admin.encode_policy(types_pb2.GuardPolicy, guard),
            diversity=convert_admin.encode_policy(types_pb2.DiversityPolicy, diversity),
            decay=convert_admin.encode_policy(types_pb2.DecayPolicy, decay),
            retention=convert_admin.encode_policy(types_pb2.RetentionPolicy, retention),
            blast=convert_admin.encode_policy(types_pb2.BlastPolicy, blast),
            tidy=convert_admin.encode_policy(types_pb2.TidyPolicy, tidy),
            client_vector_dimension=client_vector_dimension,
        )
        return Prepared(
            _ADMIN + "CreateCollection",
            request,
            admin_pb.CreateCollectionResponse,
            convert_admin.decode_change,
        )

    def get_collection(self, name: str | None) -> Prepared[admin_models.CollectionInfo]:
        """GetCollection."""
        return Prepared(
            _ADMIN + "GetCollection",
            admin_pb.GetCollectionRequest(name=self._where(name)),
            admin_pb.GetCollectionResponse,
            convert_admin.decode_got,
        )

    def list_collections(
        self, page_size: int, page_token: str
    ) -> Prepared[admin_models.CollectionPage]:
        """ListCollections."""
        return Prepared(
            _ADMIN + "ListCollections",
            admin_pb.ListCollectionsRequest(page_size=page_size, page_token=page_token),
            admin_pb.ListCollectionsResponse,
            convert_admin.decode_collections,
        )

    def update_collection(
        self,
        name: str | None,
        description: str | None,
        guard: admin_models.GuardPolicy | None,
        diversity: admin_models.DiversityPolicy | None,
        decay: admin_models.DecayPolicy | None,
        retention: admin_models.RetentionPolicy | None,
        blast: admin_models.BlastPolicy | None,
        tidy: admin_models.TidyPolicy | None,
        unset: Iterable[str],
        expected_revision: int,
        reason: str,
        operation_id: str,
    ) -> Prepared[admin_models.CollectionChange]:
        """UpdateCollection; the mask is what is said."""
        settings, paths = convert_admin.encode_settings(
            description, guard, diversity, decay, retention, blast, tidy, unset
        )
        request = admin_pb.UpdateCollectionRequest(
            operation_id=operation_id or new_operation_id(),
            agent_id=self._agent_id,
            name=self._where(name),
            collection=settings,
            update_mask=FieldMask(paths=paths),
            expected_revision=expected_revision,
            reason=reason,
        )
        return Prepared(
            _ADMIN + "UpdateCollection",
            request,
            admin_pb.UpdateCollectionResponse,
            convert_admin.decode_change,
        )

    def delete_collection(
        self, name: str, operation_id: str
    ) -> Prepared[admin_models.CollectionDeleted]:
        """DeleteCollection."""
        request = admin_pb.DeleteCollectionRequest(
            operation_id=operation_id or new_operation_id(), agent_id=self._agent_id, name=name
        )
        return Prepared(
            _ADMIN + "DeleteCollection",
            request,
            admin_pb.DeleteCollectionResponse,
            convert_admin.decode_deleted,
        )

    # -- the daemon

    def compare(self, text_a: str, text_b: str) -> Prepared[admin_models.Comparison]:
        """Compare."""
        return Prepared(
            _ADMIN + "Compare",
            admin_pb.CompareRequest(text_a=text_a, text_b=text_b),
            admin_pb.CompareResponse,
            convert_admin.decode_comparison,
        )

    def calibrate(
        self,
        false_merge_budget: float | None,
        dry_run: bool,
        operation_id: str,
        collection: str | None,
    ) -> Prepared[admin_models.Calibrated]:
        """Calibrate."""
        request = admin_pb.CalibrateRequest(
            operation_id=operation_id or new_operation_id(),
            agent_id=self._agent_id,
            collection=self._where(collection),
            false_merge_budget=false_merge_budget,
            dry_run=dry_run,
        )
        return Prepared(
            _ADMIN + "Calibrate",
            request,
            admin_pb.CalibrateResponse,
            convert_admin.decode_calibrated,
        )

    def purge(
        self,
        ids: str | Iterable[str],
        reason: str,
        dry_run: bool,
        snapshots: SnapshotUse | str,
        operation_id: str,
        collection: str | None,
    ) -> Prepared[history_models.Purged]:
        """Purge of one id or several."""
        request = admin_pb.PurgeRequest(
            operation_id=operation_id or new_operation_id(),
            agent_id=self._agent_id,
            collection=self._where(collection),
            ids=scalars.encode_ids(ids, "ids"),
            reason=reason,
            dry_run=dry_run,
            snapshots=convert_snapshot.SNAPSHOT_USE.encode(snapshots, "snapshots"),
        )
        return Prepared(
            _ADMIN + "Purge", request, admin_pb.PurgeResponse, convert_history.decode_purged
        )

    def stats(self, collection: str) -> Prepared[admin_models.Stats]:
        """Stats of one collection, or of all open ones if it is empty."""
        return Prepared(
            _ADMIN + "Stats",
            admin_pb.StatsRequest(collection=collection),
            admin_pb.StatsResponse,
            convert_admin.decode_stats,
        )
