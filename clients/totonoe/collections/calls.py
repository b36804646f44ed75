"""Calls about collections, their policies, and the daemon itself."""

from __future__ import annotations

from collections.abc import Iterable

from google.protobuf.field_mask_pb2 import FieldMask

from totonoe.call.base import Calls
from totonoe.call.lazily import collections_models as models
from totonoe.collections.encoding import collection_of, encode_settings
from totonoe.memories.models import DiversityPolicy
from totonoe.v1 import admin_service_pb2 as admin_pb


class CollectionCalls(Calls):
    """Calls about collections and about the daemon itself."""

    def create_collection(
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

        Parameters
        ----------
        name : str
            1 to 64 of a-z, 0-9, `_`, `.`, `-`, beginning with a letter or digit.
        guard, diversity, decay, retention, blast, tidy : policies or None
            A field that is not given has the daemon's default.
        client_vector_dimension : int
            Clients bring vectors of this length and nothing is embedded. 0: the daemon embeds.
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
        return self._run(request, models.CollectionChange, timeout_s)

    def get_collection(
        self, name: str | None = None, *, timeout_s: float | None = None
    ) -> models.CollectionInfo:
        """Returns the settings of a collection; `None`: the client's."""
        request = self._request(admin_pb.GetCollectionRequest, name=self._caller.where(name))
        return self._run(request, collection_of, timeout_s)

    def list_collections(
        self, *, page_size: int = 100, page_token: str = "", timeout_s: float | None = None
    ) -> models.CollectionPage:
        """Returns a page of collections by name; `page_size` 1 to 1,000."""
        request = self._request(
            admin_pb.ListCollectionsRequest, page_size=page_size, page_token=page_token
        )
        return self._run(request, models.CollectionPage, timeout_s)

    def update_collection(
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

        Parameters
        ----------
        guard : GuardPolicy or None
            A preset takes all of its values; fields said beside it win over them.
        unset : iterable of str
            Paths such as `guard.jaccard_above`, to be left without a value.
        expected_revision : int
            Raise `StaleRevision` unless the settings are at it. 0: whatever they are at.
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
        return self._run(request, models.CollectionChange, timeout_s)

    def delete_collection(
        self, name: str, *, operation_id: str = "", timeout_s: float | None = None
    ) -> models.CollectionDeleted:
        """Deletes a collection with all that is in it. Its name must be given."""
        request = self._request(
            admin_pb.DeleteCollectionRequest, name=name, operation_id=operation_id
        )
        return self._run(request, models.CollectionDeleted, timeout_s)

    def compare(
        self, text_a: str, text_b: str, *, timeout_s: float | None = None
    ) -> models.Comparison:
        """Compares two texts as the guard would. Touches no store."""
        request = self._request(admin_pb.CompareRequest, text_a=text_a, text_b=text_b)
        return self._run(request, models.Comparison, timeout_s)

    def calibrate(
        self,
        *,
        false_merge_budget: float | None = None,
        dry_run: bool = False,
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> models.Calibrated:
        """Fits the verdict of a collection to its model.

        The fit uses the pairs that ship with the daemon, and those that were dismissed or merged in
        the collection.

        Parameters
        ----------
        false_merge_budget : float or None
            Share of different pairs that may be called duplicates, 0 to 0.2; `None`: 0.005.
        dry_run : bool
            Only compute the fit; store nothing.
        """
        request = self._request(
            admin_pb.CalibrateRequest,
            false_merge_budget=false_merge_budget,
            dry_run=dry_run,
            operation_id=operation_id,
            collection=collection,
        )
        return self._run(request, models.Calibrated, timeout_s)

    def stats(self, collection: str = "", *, timeout_s: float | None = None) -> models.Stats:
        """Returns figures of the daemon, and of one collection or (empty) of all that are open."""
        request = self._request(admin_pb.StatsRequest, collection=collection)
        return self._run(request, models.Stats, timeout_s)
