"""Snapshots as plain data: what one is, what restoring it would replace, what a purge finds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from totonoe_core.commands import CollectionInfo
from totonoe_core.records import ModelIdentity


class SnapshotUse(StrEnum):
    """What a Purge does about the snapshots that hold what it purges."""

    LIST = "list"
    REWRITE = "rewrite"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One snapshot, as its file and its manifest say.

    `revision` is that of the collection when it was taken, and stays when it is rewritten;
    `rewrite_count` purges were written into it since, each a revision of the file's own, of
    `purged_count` memories. `asked` is a digest of the call that made it; empty: the schedule did.
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
    """Of the file; 0 within it, which cannot know."""
    sha256: str = ""
    """Of the file; empty within it."""


@dataclass(frozen=True, slots=True)
class TableDigest:
    """The rows of one table: how many, and BLAKE2b over their checksums in the order of keys."""

    table: str
    row_count: int
    digest: str


@dataclass(frozen=True, slots=True)
class SnapshotSeal:
    """What a snapshot's file says of itself, in its `setting` table."""

    snapshot: Snapshot
    tables: tuple[TableDigest, ...]


@dataclass(frozen=True, slots=True)
class ListedSnapshot:
    """A snapshot, and the name its collection has now; empty: it was deleted or replaced, or is
    of another data directory."""

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

    Not restored: the name is taken, and `confirmation_token` confirms that what it has now
    (`replaced_revision`, `replaced_active_count`) may be replaced.
    """

    snapshot: Snapshot
    restored: bool
    collection: CollectionInfo | None = None
    replaced_revision: int = 0
    replaced_active_count: int = 0
    confirmation_token: str = ""
    purged_again_count: int = 0
    """Memories that were purged after the snapshot was taken, and are purged in what it became."""
    operation_id: str = ""
    replayed: bool = False
    uid: str = ""
    replaced_uid: str = ""


@dataclass(frozen=True, slots=True)
class SnapshotHolding:
    """A snapshot that holds memories which are, or are to be, purged; what was done about it."""

    snapshot: Snapshot
    memory_count: int
    rewritten: bool = False
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class SnapshotSchedule:
    """When snapshots are taken by themselves: every so many hours (0: never), if there is a newer
    revision; the newest `keep` of these stay, for each collection."""

    every_h: float = 0.0
    keep: int = 7


NO_SCHEDULE = SnapshotSchedule()


@dataclass(frozen=True, slots=True)
class SnapshotStats:
    """Figures of snapshots; `failed_count` is of those of the schedule, since the start."""

    count: int = 0
    file_bytes: int = 0
    newest_us: int = 0
    scheduled_count: int = 0
    failed_count: int = 0
