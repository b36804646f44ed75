# Made by clients/generate_async.py from calls.py. Do not edit.
"""Calls about collections, their policies, and the daemon itself."""

from __future__ import annotations

from collections.abc import Iterable

from google.protobuf.field_mask_pb2 import FieldMask

from totonoe.call.base import AsyncCalls
from totonoe.call.lazily import collections_models as models
from totonoe.collections.encoding import collection_of, encode_settings
from totonoe.memories.models import DiversityPolicy
from totonoe.v1 import admin_service_pb2 as admin_pb


class AsyncCollectionCalls(AsyncCalls):
    """Calls about collections and about the daemon itself."""

    async def create_collection(
        self,
        name: str,
        *,
        description: str = "",
        guard: models.GuardPolicy | None = None,
        diversity: DiversityPolicy | None = None,
        decay: models.DecayPolicy | None = None,
        retention: models.RetentionPolicy | None = None,
        blast: models.BlastPolicy | None = None,
        tidy: models.TidyPolicy | None = None,
        client_vector_dimension: int = 0,
        operation_id: str = "",
        timeout_s: float | None = None,
    ) -> models.CollectionChange:
        """Creates an empty collection.

        See `Client.create_collection`.
        """
        request = self._request(
            admin_pb.CreateCollectionRequest,
            name=name,
            description=description,
            guard=guard,
            diversity=diversity,
            decay=decay,
            retention=retention,
            blast=blast,
            tidy=tidy,
            client_vector_dimension=client_vector_dimension,
            operation_id=operation_id,
        )
        return await self._run(request, models.CollectionChange, timeout_s)

    async def get_collection(
        self, name: str | None = None, *, timeout_s: float | None = None
    ) -> models.CollectionInfo:
        """Returns the settings of a collection; `None`: the client's."""
        request = self._request(admin_pb.GetCollectionRequest, name=self._caller.where(name))
        return await self._run(request, collection_of, timeout_s)

    async def list_collections(
        self, *, page_size: int = 100, page_token: str = "", timeout_s: float | None = None
    ) -> models.CollectionPage:
        """Returns a page of collections by name; `page_size` 1 to 1,000."""
        request = self._request(
            admin_pb.ListCollectionsRequest, page_size=page_size, page_token=page_token
        )
        return await self._run(request, models.CollectionPage, timeout_s)

    async def update_collection(
        self,
        name: str | None = None,
        *,
        description: str | None = None,
        guard: models.GuardPolicy | None = None,
        diversity: DiversityPolicy | None = None,
        decay: models.DecayPolicy | None = None,
        retention: models.RetentionPolicy | None = None,
        blast: models.BlastPolicy | None = None,
        tidy: models.TidyPolicy | None = None,
        unset: Iterable[str] = (),
        expected_revision: int = 0,
        reason: str = "",
        operation_id: str = "",
        timeout_s: float | None = None,
    ) -> models.CollectionChange:
        """Changes the settings that are given; the others stay.

        See `Client.update_collection`.
        """
        policies = {
            "guard": guard,
            "diversity": diversity,
            "decay": decay,
            "retention": retention,
            "blast": blast,
            "tidy": tidy,
        }
        settings, paths = encode_settings(description, policies, unset)
        request = self._request(
            admin_pb.UpdateCollectionRequest,
            name=self._caller.where(name),
            collection=settings,
            update_mask=FieldMask(paths=paths),
            expected_revision=expected_revision,
            reason=reason,
            operation_id=operation_id,
        )
        return await self._run(request, models.CollectionChange, timeout_s)

    async def delete_collection(
        self, name: str, *, operation_id: str = "", timeout_s: float | None = None
    ) -> models.CollectionDeleted:
        """Deletes a collection with all that is in it. Its name must be given."""
        request = self._request(
            admin_pb.DeleteCollectionRequest, name=name, operation_id=operation_id
        )
        return await self._run(request, models.CollectionDeleted, timeout_s)

    async def compare(
        self, text_a: str, text_b: str, *, timeout_s: float | None = None
    ) -> models.Comparison:
        """Compares two texts as the guard would. Touches no store."""
        request = self._request(admin_pb.CompareRequest, text_a=text_a, text_b=text_b)
        return await self._run(request, models.Comparison, timeout_s)

    async def calibrate(
        self,
        *,
        false_merge_budget: float | None = None,
        dry_run: bool = False,
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> models.Calibrated:
        """Fits the verdict of a collection to its model.

        See `Client.calibrate`.
        """
        request = self._request(
            admin_pb.CalibrateRequest,
            false_merge_budget=false_merge_budget,
            dry_run=dry_run,
            operation_id=operation_id,
            collection=collection,
        )
        return await self._run(request, models.Calibrated, timeout_s)

    async def stats(self, collection: str = "", *, timeout_s: float | None = None) -> models.Stats:
        """Returns figures of the daemon, and of one collection or (empty) of all that are open."""
        request = self._request(admin_pb.StatsRequest, collection=collection)
        return await self._run(request, models.Stats, timeout_s)
