"""The one seam between the service and whatever keeps the memories.

Everything above it (services, commands, quality) speaks only to `Engine`; the
embedded engine is its first implementation. All calls are safe from any thread, check
their arguments before they change anything, and answer by a future that fails with a
`TotonoeError`.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Protocol

from totonoe_core.audit import AuditQuery, AuditReport
from totonoe_core.cleanup import (
    CleanedUp,
    CleanUpDuplicates,
    Decay,
    Decayed,
    EndSession,
    SessionEnded,
)
from totonoe_core.commands import (
    Applied,
    Calibrate,
    Calibrated,
    CollectionInfo,
    Command,
    Forget,
    Forgotten,
    Purge,
    Purged,
    Remember,
    Undo,
    Undone,
)
from totonoe_core.consolidate import ConsolidateQuery
from totonoe_core.engine.streams import Consolidation, Export, Import, Reembedding
from totonoe_core.guard.policy import (
    NO_RETENTION,
    STANDARD_BLAST,
    STANDARD_TIDY,
    BlastPolicy,
    DecayPolicy,
    DiversityPolicy,
    GuardPolicy,
    RetentionPolicy,
    TidyPolicy,
)
from totonoe_core.queries import (
    AsOf,
    Changes,
    Checked,
    CollectionPage,
    Comparison,
    EngineStats,
    EpisodePage,
    EpisodeRead,
    Filter,
    Gotten,
    HistoryPage,
    NearCluster,
    NearGroups,
    NearQuery,
    Neighborhood,
    NeighborsQuery,
    OperationFilter,
    OperationPage,
    Page,
    Recalled,
    RecallQuery,
    TurnRecorded,
)
from totonoe_core.records import TimeRange
from totonoe_core.reembed import Reembed
from totonoe_core.snapshots import (
    Restored,
    SnapshotCreated,
    SnapshotDeleted,
    SnapshotHolding,
    SnapshotPage,
    SnapshotUse,
)
from totonoe_core.tidy import Tidied, Tidy
from totonoe_core.transfer import ExportQuery, ImportQuery
from totonoe_core.why_not import WhyNot


class Engine(Protocol):
    """Memories in collections. `collection` is a name; empty names are the caller's fault.

    Raises, for every call on a collection: `NotFound` (COLLECTION_NOT_FOUND),
    `Unavailable` (SHUTTING_DOWN, OVERLOADED), `ReadOnly` for writes.
    """

    def apply(
        self, collection: str, operation_id: str, commands: Sequence[Command]
    ) -> Future[Applied]:
        """Carries out all commands as one operation, or none.

        The same id and commands again gives the first answer, `replayed`; with other
        commands `AlreadyExists` (OPERATION_ID_REUSED). Ids are per caller and
        collection; the caller is the agent of the first command. An empty id is made up
        and returned. An answer means that the change is on disk.
        """
        ...

    def apply_all(
        self, collection: str, requests: Sequence[tuple[str, Sequence[Command]]]
    ) -> list[Future[Applied]]:
        """Like `apply` for several operations, decided next to each other in their order.

        Each has its own operation id and fails for itself.
        """
        ...

    def check(self, collection: str, command: Remember) -> Future[Checked]:
        """What `apply` of this Remember would answer now; changes nothing."""
        ...

    def preview_forget(self, collection: str, command: Forget) -> Future[tuple[int, Forgotten]]:
        """Revision, and what `apply` of this Forget would answer; changes nothing."""
        ...

    def preview_forget_filter(
        self, collection: str, agent_id: str, where: Filter
    ) -> Future[tuple[int, Forgotten, int]]:
        """Revision, what a Forget of all that meet a filter would hide (the oldest
        IDS_PER_REQUEST_MAX), and how many there are in all; changes nothing.

        Empty `statuses` means ACTIVE only; those of memories that are gone already are
        `InvalidArgument`.
        """
        ...

    def preview_undo(self, collection: str, command: Undo) -> Future[tuple[int, Undone]]:
        """Revision, and what `apply` of this Undo would answer, with every conflict; changes
        nothing."""
        ...

    def preview_purge(self, collection: str, command: Purge) -> Future[tuple[int, Purged]]:
        """Revision, and what `apply` of this Purge would answer; changes nothing."""
        ...

    def preview_tidy(self, collection: str, command: Tidy) -> Future[tuple[int, Tidied]]:
        """Revision, and what `apply` of this Tidy would close; changes nothing.

        More than the blast radius allows is told here, and refused there.
        """
        ...

    def tidy_groups(self, collection: str, query: NearQuery) -> Future[NearGroups]:
        """Groups of near states, by their vectors alone."""
        ...

    def tidy_clusters(
        self, collection: str, agent_id: str, group: Sequence[int]
    ) -> Future[list[NearCluster]]:
        """What the texts make of one of those groups: some clusters, or none."""
        ...

    def record_turn(
        self, collection: str, operation_id: str, agent_id: str
    ) -> Future[TurnRecorded]:
        """Counts a turn, and begins to tidy where one is due. No operation.

        The same id again gives the first answer, as with `apply`, and counts nothing.
        """
        ...

    def preview_calibration(
        self, collection: str, command: Calibrate
    ) -> Future[tuple[int, Calibrated]]:
        """Revision, and what `apply` of this Calibrate would answer; changes nothing."""
        ...

    def preview_end_session(
        self, collection: str, command: EndSession
    ) -> Future[tuple[int, SessionEnded]]:
        """Revision, and what `apply` of this EndSession would answer; changes nothing."""
        ...

    def preview_clean_up(
        self, collection: str, command: CleanUpDuplicates
    ) -> Future[tuple[int, CleanedUp]]:
        """Revision, and what `apply` of this CleanUpDuplicates would answer; changes nothing.

        Where that would be refused, `blast.over` says so.
        """
        ...

    def preview_decay(self, collection: str, command: Decay) -> Future[tuple[int, Decayed]]:
        """Revision, and what `apply` of this Decay would answer; changes nothing.

        Where that would be refused, `blast.over` says so.
        """
        ...

    def search(self, collection: str, query: RecallQuery) -> Future[Recalled]:
        """Finds memories by meaning and by words."""
        ...

    def why_not(self, collection: str, memory_id: str, query: RecallQuery) -> Future[WhyNot]:
        """Why a memory does not come in a search, or at which place it comes.

        What is not there, or hidden from the caller, is an answer (NOT_THERE). `touch` of the query
        is left out of account, and a query of the past is `InvalidArgument`.
        """
        ...

    def get(
        self,
        collection: str,
        agent_id: str,
        ids: Sequence[str],
        *,
        as_of: AsOf | None = None,
        follow_superseded: bool = False,
    ) -> Future[Gotten]:
        """Reads memories by id or `ext:` external id, in the order asked.

        One unknown id alone is `NotFound`; among several it is listed. `as_of` reads them as they
        were then (`OutOfRange` for a revision to come); `follow_superseded` reads the one at the
        end of the chain in place of a superseded one.
        """
        ...

    def scan(
        self,
        collection: str,
        agent_id: str,
        where: Filter,
        page_size: int,
        page_token: str,
        *,
        as_of: AsOf | None = None,
    ) -> Future[Page]:
        """One page of memories by (created time, id). Tokens survive writes."""
        ...

    def neighbors(self, collection: str, query: NeighborsQuery) -> Future[Neighborhood]:
        """Follows links from some memories. An unknown id is `NotFound`."""
        ...

    def history(
        self, collection: str, agent_id: str, memory_id: str, page_size: int, page_token: str
    ) -> Future[HistoryPage]:
        """One page of what a memory was, newest first. An unknown id is `NotFound`."""
        ...

    def operations(
        self,
        collection: str,
        agent_id: str,
        where: OperationFilter,
        page_size: int,
        page_token: str,
    ) -> Future[OperationPage]:
        """One page of operations, newest first, with what the agent may see of them."""
        ...

    def episode(
        self, collection: str, agent_id: str, episode_id: str, include_memories: bool
    ) -> Future[EpisodeRead]:
        """One episode with the memories that are there; `NotFound` (EPISODE_NOT_FOUND)."""
        ...

    def episodes(
        self,
        collection: str,
        agent_id: str,
        time: TimeRange,
        memory_id: str,
        page_size: int,
        page_token: str,
    ) -> Future[EpisodePage]:
        """One page of episodes by (start, id) that overlap a time and hold a memory, if named."""
        ...

    def changes(
        self, collection: str, agent_id: str, after_revision: int, where: Filter | None
    ) -> Future[Changes]:
        """What the next operations after a revision changed, as far as the agent may see it.

        At most CHANGES_PER_READ_MAX operations; none: `revision` is the collection's newest.
        `OutOfRange` for a revision to come.
        """
        ...

    def await_change(self, collection: str, after_revision: int) -> Future[int]:
        """The newest revision, once it is later than this one; it may take for ever.

        Cancel it when nobody waits any more. `Quota` if WATCHERS_MAX wait, `Unavailable`
        (SHUTTING_DOWN) when the collection is closed meanwhile.
        """
        ...

    def consolidate(
        self, collection: str, operation_id: str, query: ConsolidateQuery
    ) -> Future[Consolidation]:
        """Links what was recalled together, and looks for pairs that may say the same.

        The first is one operation, as `apply` does it, before the last message. `OutOfRange` for a
        revision to come, `Quota` if CONSOLIDATIONS_MAX run, `InvalidArgument` (BAD_PAGE_TOKEN) for
        a token that leads to no run.
        """
        ...

    def export(self, collection: str, query: ExportQuery) -> Future[Export]:
        """The collection as the caller sees it, as it is now, in lines (`totonoe_core.lines`).

        `Quota` if EXPORTS_MAX of the collection are read.
        """
        ...

    def begin_import(
        self, collection: str, operation_id: str, query: ImportQuery
    ) -> Future[Import]:
        """Takes the lines of a file: live memories through the guard, or all as they are.

        The operations have ids that begin with this one. `Quota` if IMPORTS_MAX are under way.
        """
        ...

    def reembed(self, collection: str, operation_id: str, command: Reembed) -> Future[Reembedding]:
        """Gives a collection the vectors of the daemon's model beside all other work.

        One operation in the end; joins what is under way. `Precondition` (NOTHING_TO_REEMBED,
        REEMBEDDING), `AlreadyExists` (OPERATION_ID_REUSED), `Quota` if REEMBED_WATCHERS_MAX watch
        it, `Unavailable` while the embedder does not run.
        """
        ...

    def cancel_reembed(self, collection: str) -> Future[int]:
        """Ends what is under way; answers how many vectors it dropped, -1 where nothing was."""
        ...

    def create_collection(
        self,
        name: str,
        operation_id: str,
        *,
        agent_id: str,
        description: str,
        guard: GuardPolicy,
        diversity: DiversityPolicy,
        decay: DecayPolicy,
        client_vector_dimension: int,
        retention: RetentionPolicy = NO_RETENTION,
        blast: BlastPolicy = STANDARD_BLAST,
        tidy: TidyPolicy = STANDARD_TIDY,
    ) -> Future[tuple[CollectionInfo, str, bool]]:
        """Makes an empty collection; answers it, the operation id and `replayed`."""
        ...

    def get_collection(self, name: str) -> Future[CollectionInfo]:
        """Settings of one collection."""
        ...

    def list_collections(self, page_size: int, page_token: str) -> Future[CollectionPage]:
        """One page of collections by name."""
        ...

    def delete_collection(
        self, name: str, operation_id: str, *, agent_id: str
    ) -> Future[tuple[int, int, str, bool]]:
        """Takes a collection away; its files are kept aside.

        Answers its live count, the catalogue's revision, the operation id, `replayed`.
        """
        ...

    def restore_collection(
        self, name: str, operation_id: str, *, target_operation_id: str, agent_id: str
    ) -> Future[tuple[CollectionInfo, str, bool]]:
        """Brings a deleted collection back; answers it, the operation id and `replayed`.

        `target_operation_id` is that of its deletion, `NotFound` (OPERATION_NOT_FOUND) if there
        was none; the caller's own comes first. The name must be free (`AlreadyExists`).
        """
        ...

    def create_snapshot(
        self, collection: str, operation_id: str, *, agent_id: str, name: str, comment: str
    ) -> Future[SnapshotCreated]:
        """Keeps a copy of a collection as it is when the copy ends, while others write.

        `Quota` if it has SNAPSHOTS_PER_COLLECTION_MAX, `AlreadyExists` (SNAPSHOT_EXISTS) for a
        name that another one of it has, `ReadOnly` if the disk takes no copy.
        """
        ...

    def list_snapshots(
        self, collection: str, page_size: int, page_token: str
    ) -> Future[SnapshotPage]:
        """One page of the snapshots of a collection, or (empty) of all, newest first."""
        ...

    def delete_snapshot(
        self, snapshot_id: str, operation_id: str, *, agent_id: str
    ) -> Future[SnapshotDeleted]:
        """Deletes a snapshot for good. `NotFound` (SNAPSHOT_NOT_FOUND)."""
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
        """Makes a collection of a snapshot.

        A name that is taken: without a token nothing changes, and the answer has one; with it what
        has the name is replaced, and kept as deleted ones are. `NotConfirmed` if that changed
        since. `Corruption` if the file is not what was sealed. `restore_collection` takes it back.
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
    ) -> Future[tuple[SnapshotHolding, ...]]:
        """The snapshots that hold any of some purged memories, and what was done about them.

        Of the collection, of those it was restored from, and of those restored from its own. Ids
        of memories that are not purged (in a dry run: that are not there), or that the agent might
        not see, are left out.
        """
        ...

    def compare(self, text_a: str, text_b: str) -> Future[Comparison]:
        """Compares two texts as the guard would, without a store."""
        ...

    def audit(self, collection: str, query: AuditQuery) -> Future[AuditReport]:
        """How healthy a collection is, as far as the caller sees it. Takes seconds.

        Cancelling the future ends it.
        """
        ...

    def stats(self, collection: str) -> Future[EngineStats]:
        """Figures of one collection, or (empty name) of all that are open."""
        ...

    def close(self, timeout_s: float) -> None:
        """Lets queued writes finish within the time, then closes. Idempotent."""
        ...
