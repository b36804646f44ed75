"""Calls of the asyncio client about collections and about the daemon itself."""

from __future__ import annotations

from collections.abc import Iterable

from totonoe import admin_models, history_models
from totonoe.aio_reembed import AsyncReembedCalls
from totonoe.aio_snapshot import AsyncSnapshotCalls
from totonoe.aio_transfer import AsyncTransferCalls
from totonoe.enums import SnapshotUse


class AsyncAdminCalls(AsyncReembedCalls, AsyncTransferCalls, AsyncSnapshotCalls):
    """What an asyncio client offers beside memories; `AsyncClient` adds these to its own calls."""

    async def create_collection(
        self,
        name: str,
        *,
        description: str = "",
        guard: admin_models.GuardPolicy | None = None,
        diversity: admin_models.DiversityPolicy | None = None,
        decay: admin_models.DecayPolicy | None = None,
        retention: admin_models.RetentionPolicy | None = None,
        blast: admin_models.BlastPolicy | None = None,
        tidy: admin_models.TidyPolicy | None = None,
        client_vector_dimension: int = 0,
        operation_id: str = "",
        timeout_s: float | None = None,
    ) -> admin_models.CollectionChange:
        """Makes an empty collection.

        Parameters
        ----------
        name : str
            1 to 64 of a-z, 0-9, `_`, `.`, `-`, beginning with a letter or digit.
        guard, diversity, decay, retention, blast, tidy : policies or None
            What is not said is the daemon's default.
        client_vector_dimension : int
            Clients bring vectors of this length and nothing is embedded. 0: the daemon embeds.
        """
        prepared = self._requests.create_collection(
            name,
            description,
            guard,
            diversity,
            decay,
            retention,
            blast,
            tidy,
            client_vector_dimension,
            operation_id,
        )
        return await self._run(prepared, timeout_s)

    async def get_collection(
        self, name: str | None = None, *, timeout_s: float | None = None
    ) -> admin_models.CollectionInfo:
        """Settings of a collection; `None`: the client's."""
        return await self._run(self._requests.get_collection(name), timeout_s)

    async def list_collections(
        self, *, page_size: int = 100, page_token: str = "", timeout_s: float | None = None
    ) -> admin_models.CollectionPage:
        """One page of collections by name; `page_size` 1 to 1,000."""
        return await self._run(self._requests.list_collections(page_size, page_token), timeout_s)

    async def update_collection(
        self,
        name: str | None = None,
        *,
        description: str | None = None,
        guard: admin_models.GuardPolicy | None = None,
        diversity: admin_models.DiversityPolicy | None = None,
        decay: admin_models.DecayPolicy | None = None,
        retention: admin_models.RetentionPolicy | None = None,
        blast: admin_models.BlastPolicy | None = None,
        tidy: admin_models.TidyPolicy | None = None,
        unset: Iterable[str] = (),
        expected_revision: int = 0,
        reason: str = "",
        operation_id: str = "",
        timeout_s: float | None = None,
    ) -> admin_models.CollectionChange:
        """Changes the settings that are said; the others stay.

        Parameters
        ----------
        guard : GuardPolicy or None
            A preset takes all of its values; fields said beside it win over them.
        unset : iterable of str
            Paths such as `guard.jaccard_above`, to be left without a value.
        expected_revision : int
            Raise `StaleRevision` unless the settings are at it. 0: whatever they are at.
        """
        prepared = self._requests.update_collection(
            name,
            description,
            guard,
            diversity,
            decay,
            retention,
            blast,
            tidy,
            unset,
            expected_revision,
            reason,
            operation_id,
        )
        return await self._run(prepared, timeout_s)

    async def delete_collection(
        self, name: str, *, operation_id: str = "", timeout_s: float | None = None
    ) -> admin_models.CollectionDeleted:
        """Takes a collection away with all that is in it. Its name must be given."""
        return await self._run(self._requests.delete_collection(name, operation_id), timeout_s)

    async def compare(
        self, text_a: str, text_b: str, *, timeout_s: float | None = None
    ) -> admin_models.Comparison:
        """Compares two texts as the guard would. Touches no store."""
        return await self._run(self._requests.compare(text_a, text_b), timeout_s)

    async def calibrate(
        self,
        *,
        false_merge_budget: float | None = None,
        dry_run: bool = False,
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> admin_models.Calibrated:
        """Fits the verdict of a collection to its model.

        Parameters
        ----------
        false_merge_budget : float or None
            Share of different pairs that may be called duplicates, 0 to 0.2; `None`: 0.005.
        dry_run : bool
            Only work it out; store nothing.
        """
        prepared = self._requests.calibrate(false_merge_budget, dry_run, operation_id, collection)
        return await self._run(prepared, timeout_s)

    async def purge(
        self,
        ids: str | Iterable[str],
        *,
        reason: str = "",
        dry_run: bool = False,
        snapshots: SnapshotUse | str = SnapshotUse.LIST,
        operation_id: str = "",
        collection: str | None = None,
        timeout_s: float | None = None,
    ) -> history_models.Purged:
        """Takes the bytes of memories out of everything; as `Client.purge`."""
        prepared = self._requests.purge(ids, reason, dry_run, snapshots, operation_id, collection)
        return await self._run(prepared, timeout_s)

    async def stats(
        self, collection: str = "", *, timeout_s: float | None = None
    ) -> admin_models.Stats:
        """Figures of the daemon, and of one collection or (empty) of all that are open."""
        return await self._run(self._requests.stats(collection), timeout_s)
