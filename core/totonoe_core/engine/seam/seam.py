"""The interface between the server and any engine that keeps memories.

Everything above it (services, commands, quality) uses only `Engine`; the embedded engine is its
first implementation. All calls are safe from any thread, check their arguments before they change
anything, and return a future that fails with a `TotonoeError`.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Protocol, TypeVar

from totonoe_core.domain.asking import Previewable, Previewed, Query
from totonoe_core.domain.collections import CollectionInfo, NewCollection, Sees, sees_all
from totonoe_core.domain.commands import Applied, Command
from totonoe_core.domain.consolidate import ConsolidateQuery
from totonoe_core.domain.figures import EngineFigures
from totonoe_core.domain.queries import (
    CollectionPage,
    Comparison,
    EngineStats,
    TurnRecorded,
)
from totonoe_core.domain.reembed import Reembed
from totonoe_core.domain.snapshots import (
    Restored,
    SnapshotCreated,
    SnapshotDeleted,
    SnapshotHolding,
    SnapshotPage,
    SnapshotUse,
)
from totonoe_core.domain.transfer import ExportQuery, ImportQuery
from totonoe_core.engine.seam.streams import Consolidation, Export, Import, Reembedding

A = TypeVar("A")


class Engine(Protocol):
    """Memories in collections. `collection` is a name; empty names are the caller's fault.

    Raises, for every call on a collection: `NotFound` (COLLECTION_NOT_FOUND),
    `Unavailable` (SHUTTING_DOWN, OVERLOADED), `ReadOnly` for writes.
    """

    def apply(
        self, collection: str, operation_id: str, commands: Sequence[Command]
    ) -> Future[Applied]:
        """Carry out all commands as one operation, or none.

        The same id and commands again return the first answer, `replayed`; with other commands
        `AlreadyExists` (OPERATION_ID_REUSED). Ids are per caller and collection; the caller is the
        agent of the first command. An empty id is replaced by a new one, which is returned. An
        answer means that the change is on disk.
        """
        ...

    def apply_all(
        self, collection: str, requests: Sequence[tuple[str, Sequence[Command]]]
    ) -> list[Future[Applied]]:
        """Like `apply` for several operations, decided in their order; others come in between.

        Each has its own operation id and fails alone.
        """
        ...

    def preview(self, collection: str, command: Previewable[A]) -> Future[Previewed[A]]:
        """Shows what `apply` of a command would answer now, and changes nothing.

        A Remember is answered by `Checked`, a `ForgetMatching` by `Matching`, an Undo with every
        conflict. Where `apply` would refuse for the blast radius, `blast.over` says so.
        """
        ...

    def read(self, collection: str, query: Query[A]) -> Future[A]:
        """Answers a query; each class of queries says how.

        Of a revision or time to come it is `OutOfRange`; of a memory that came later `NotYet`.
        Cancelling the future ends an audit, which takes seconds.
        """
        ...

    def record_turn(
        self, collection: str, operation_id: str, agent_id: str
    ) -> Future[TurnRecorded]:
        """Count a turn, and start to tidy if that is due. This is no operation.

        The same id again returns the first answer, as with `apply`, and counts nothing.
        """
        ...

    def await_change(self, collection: str, after_revision: int) -> Future[int]:
        """Return the newest revision, once it is later than this one; that may take for ever.

        Cancel it when it is no longer needed. `Quota` if WATCHERS_MAX wait, `Unavailable`
        (SHUTTING_DOWN) when the collection is closed meanwhile.
        """
        ...

    def await_revision(self, collection: str, revision: int) -> Future[int]:
        """Return the newest revision, once it is this one or later; that may take for ever.

        A store that other daemons write is looked at now. `NotCaughtUp` if there are no others.
        Otherwise as `await_change`.
        """
        ...

    def consolidate(
        self, collection: str, operation_id: str, query: ConsolidateQuery
    ) -> Future[Consolidation]:
        """Link memories that were recalled together, and find pairs that may say the same.

        Linking is one operation, as `apply` does it, before the last message. `OutOfRange` for a
        future revision, `Quota` if CONSOLIDATIONS_MAX run, `InvalidArgument` (BAD_PAGE_TOKEN) for a
        token without a run.
        """
        ...

    def export(self, collection: str, query: ExportQuery) -> Future[Export]:
        """Read the collection as the caller sees it now, in lines (`totonoe_core.jsonl`).

        `Quota` if EXPORTS_MAX of the collection are read.
        """
        ...

    def begin_import(
        self, collection: str, operation_id: str, query: ImportQuery
    ) -> Future[Import]:
        """Import the lines of a file: live memories through the guard, or all as they are.

        The ids of its operations begin with this one. `Quota` if IMPORTS_MAX are running.
        """
        ...

    def reembed(self, collection: str, operation_id: str, command: Reembed) -> Future[Reembedding]:
        """Give a collection the vectors of the daemon's model, beside all other work.

        It is one operation at the end; a second call joins a running one. `Precondition`
        (NOTHING_TO_REEMBED, REEMBEDDING), `AlreadyExists` (OPERATION_ID_REUSED), `Quota` if
        REEMBED_WATCHERS_MAX watch it, `Unavailable` while the embedder does not run.
        """
        ...

    def cancel_reembed(self, collection: str) -> Future[int]:
        """Cancel a re-embedding; return how many vectors it dropped, -1 if none was running."""
        ...

    def create_collection(
        self, new: NewCollection, operation_id: str, *, agent_id: str
    ) -> Future[tuple[CollectionInfo, str, bool]]:
        """Create an empty collection; return it, the operation id and `replayed`."""
        ...

    def get_collection(self, name: str) -> Future[CollectionInfo]:
        """Return the settings of one collection."""
        ...

    def list_collections(
        self, page_size: int, page_token: str, sees: Sees = sees_all
    ) -> Future[CollectionPage]:
        """Return one page of the collections that the caller sees, by name."""
        ...

    def delete_collection(
        self, name: str, operation_id: str, *, agent_id: str
    ) -> Future[tuple[int, int, str, bool]]:
        """Delete a collection; its files are kept aside.

        Returns its live count, the catalogue's revision, the operation id, `replayed`.
        """
        ...

    def restore_collection(
        self, name: str, operation_id: str, *, target_operation_id: str, agent_id: str
    ) -> Future[tuple[CollectionInfo, str, bool]]:
        """Restore a deleted collection; return it, the operation id and `replayed`.

        `target_operation_id` is that of its deletion, `NotFound` (OPERATION_NOT_FOUND) if there is
        none; the caller's own comes first. The name must be free (`AlreadyExists`).
        """
        ...

    def create_snapshot(
        self, collection: str, operation_id: str, *, agent_id: str, name: str, comment: str
    ) -> Future[SnapshotCreated]:
        """Keep a copy of a collection as it is when the copy ends, while others write.

        `Quota` if it has SNAPSHOTS_PER_COLLECTION_MAX, `AlreadyExists` (SNAPSHOT_EXISTS) if another
        snapshot of it has the name, `ReadOnly` if the disk refuses the copy.
        """
        ...

    def list_snapshots(
        self, collection: str, page_size: int, page_token: str, sees: Sees = sees_all
    ) -> Future[SnapshotPage]:
        """Return one page of the snapshots of a collection, or (empty) of all, newest first.

        Those of collections that the caller does not see are left out.
        """
        ...

    def delete_snapshot(
        self, snapshot_id: str, operation_id: str, *, agent_id: str
    ) -> Future[SnapshotDeleted]:
        """Delete a snapshot for good. `NotFound` (SNAPSHOT_NOT_FOUND)."""
        ...

    def restore_snapshot(
        self,
        snapshot_id: str,
        collection: str,
        operation_id: str,
        *,
        agent_id: str,
        confirmation_token: str,
    ) -> Future[Restored]:
        """Restore a snapshot as a collection.

        If the name is taken, a call without a token changes nothing and returns one; a call with
        the token replaces the collection of that name, which is kept like a deleted one.
        `NotConfirmed` if that changed since. `Corruption` if the file differs from its seal.
        `restore_collection` undoes it.
        """
        ...

    def purge_snapshots(
        self,
        collection: str,
        agent_id: str,
        memory_ids: Sequence[str],
        use: SnapshotUse,
        *,
        dry_run: bool,
        sees: Sees = sees_all,
    ) -> Future[tuple[SnapshotHolding, ...]]:
        """Treat the snapshots that hold any of some purged memories, and return them.

        A snapshot of a collection that the caller does not see is not returned, and not deleted:
        with `SnapshotUse.DELETE` it is rewritten.

        Searches those of the collection, of the collections it was restored from, and of those
        restored from it. Ids of memories that are not purged (in a dry run: that do not exist), or
        that the agent might not see, are left out.
        """
        ...

    def compare(self, text_a: str, text_b: str) -> Future[Comparison]:
        """Compare two texts as the guard would, without a store."""
        ...

    def stats(
        self, collection: str, agent_id: str, sees: Sees | None = None
    ) -> Future[EngineStats]:
        """Return figures of one collection, or (empty name) of all open ones.

        Private memories, and links that lead to them, count for their own agent only. With `sees`,
        the default collection, open ones and snapshots count only if the caller sees them, and
        what is open in all (`EngineStats.open`) is left out.
        """
        ...

    def figures(self) -> EngineFigures:
        """Return figures of the engine and its open collections, at once: not by a future."""
        ...

    def close(self, timeout_s: float) -> None:
        """Let queued writes finish within the time, then close. Idempotent."""
        ...
