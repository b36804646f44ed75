"""Snapshots as plain data: records, pages, answers, schedule and figures."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from totonoe_core.domain.collections import CollectionInfo
from totonoe_core.domain.records import ModelIdentity


class SnapshotUse(StrEnum):
    """Treatment of the snapshots that hold purged memories."""

    LIST = "list"
    REWRITE = "rewrite"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One snapshot, as described by its file and manifest.

    `revision` is that of the collection when it was taken, also after a rewrite; `rewrite_count`
    purges were written into it since, each a revision of the file's own, of `purged_count`
    memories. `asked` is a digest of the call that made it; empty if the schedule did.
    """

    id: str
    collection_uid: str
    collection: str
    name: str
    comment: str
    created_us: int
    revision: int
    active_count: int
    total_count: int
    model: ModelIdentity
    format: int
    scheduled: bool = False
    asked: str = ""
    rewrite_count: int = 0
    purged_count: int = 0
    file_bytes: int = 0
    """Size of the file; 0 inside the file, which cannot know it."""
    sha256: str = ""
    """Digest of the file; empty inside the file."""


@dataclass(frozen=True, slots=True)
class TableDigest:
    """Rows of one table: their number, and BLAKE2b over their checksums in the order of keys."""

    table: str
    row_count: int
    digest: str


@dataclass(frozen=True, slots=True)
class SnapshotSeal:
    """Seal of a snapshot's file, stored in its `setting` table."""

    snapshot: Snapshot
    tables: tuple[TableDigest, ...]


@dataclass(frozen=True, slots=True)
class ListedSnapshot:
    """A snapshot with the current name of its collection.

    The name is empty if the collection was deleted or replaced, or is of another data directory.
    """

    snapshot: Snapshot
    collection_now: str


@dataclass(frozen=True, slots=True)
class SnapshotPage:
    """One page of snapshots, newest first."""

    snapshots: tuple[ListedSnapshot, ...]
    next_page_token: str


@dataclass(frozen=True, slots=True)
class SnapshotCreated:
    """Answer to CreateSnapshot."""

    snapshot: Snapshot
    operation_id: str = ""
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class SnapshotDeleted:
    """Answer to DeleteSnapshot."""

    snapshot: Snapshot
    operation_id: str = ""
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class Restored:
    """Answer to RestoreSnapshot.

    If not restored, the name is taken. `confirmation_token` then confirms that the collection at
    that name (`replaced_revision`, `replaced_active_count`) may be replaced.
    """

    snapshot: Snapshot
    restored: bool
    collection: CollectionInfo | None = None
    replaced_revision: int = 0
    replaced_active_count: int = 0
    confirmation_token: str = ""
    purged_again_count: int = 0
    """Memories that were purged after the snapshot was taken, and that the restore purged again."""
    operation_id: str = ""
    replayed: bool = False
    uid: str = ""
    replaced_uid: str = ""
    unread_uids: tuple[str, ...] = ()
    """Collections that may share memories with the snapshot, and whose files cannot be read: what
    was purged in them since is not known, and may be back."""


@dataclass(frozen=True, slots=True)
class SnapshotHolding:
    """A snapshot that holds purged memories, and its treatment."""

    snapshot: Snapshot
    memory_count: int
    rewritten: bool = False
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class SnapshotSchedule:
    """Automatic snapshots of each collection.

    One is taken every so many hours (0: never) if there is a newer revision; the newest
    `keep` stay.
    """

    every_h: float = 0.0
    keep: int = 7


NO_SCHEDULE = SnapshotSchedule()


@dataclass(frozen=True, slots=True)
class SnapshotJob:
    """A snapshot that is being created, or restored as a collection, and how far that is.

    `kind` is "create" or "restore", `step` "copying", "sealing", "checking" or "naming";
    `step_share` is the done part of that step, in [0, 1].
    """

    kind: str
    snapshot_id: str
    step: str
    step_share: float
    begun_us: int


@dataclass(frozen=True, slots=True)
class SnapshotStats:
    """Figures of snapshots; `failed_count` counts failures of the schedule since the start."""

    count: int = 0
    file_bytes: int = 0
    newest_us: int = 0
    scheduled_count: int = 0
    failed_count: int = 0
    running: SnapshotJob | None = None
