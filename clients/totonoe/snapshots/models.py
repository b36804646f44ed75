"""Models of snapshots."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from totonoe.collections.models import CollectionInfo, EmbeddingModel


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot: a copy of a collection as it was at a revision.

    Attributes
    ----------
    collection : str
        Name that the collection had.
    collection_uid : str
        Which one it was, for good: names change hands.
    current_collection : str
        Name that it has now; empty: it was deleted or replaced, or is of another data directory.
    revision : int
        Of the collection when it was taken; it stays when a purge is written into the snapshot.
    scheduled : bool
        The schedule took it, and deletes it in the end.
    rewrite_count, purged_count : int
        How often a purge was written into it, and of how many memories.
    """

    id: str
    collection: str
    collection_uid: str
    current_collection: str
    name: str
    comment: str
    created_time: datetime
    revision: int
    active_count: int
    total_count: int
    file_bytes: int
    sha256: str
    model: EmbeddingModel
    scheduled: bool
    rewrite_count: int
    purged_count: int


@dataclass(frozen=True, slots=True)
class SnapshotCreated:
    """Answer of `create_snapshot`."""

    snapshot: Snapshot
    replayed: bool
    operation_id: str


@dataclass(frozen=True, slots=True)
class SnapshotPage:
    """One page of snapshots, newest first."""

    snapshots: tuple[Snapshot, ...]
    next_page_token: str


@dataclass(frozen=True, slots=True)
class SnapshotDeleted:
    """Answer of `delete_snapshot`: what it was."""

    snapshot: Snapshot
    replayed: bool
    operation_id: str


@dataclass(frozen=True, slots=True)
class ReplacedCollection:
    """Figures of the collection that a snapshot replaces, or would replace."""

    revision: int
    active_count: int


@dataclass(frozen=True, slots=True)
class SnapshotRestored:
    """Answer of `restore_snapshot`.

    Attributes
    ----------
    restored : bool
        If not, the name is taken and nothing was changed.
    collection : CollectionInfo or None
        What it became.
    replaced : ReplacedCollection or None
        What it replaced, or would; `None`: the name was free.
    confirmation_token : str
        Confirms that `replaced` may be replaced, for as long as it stays as it is.
    purged_again_count : int
        Memories that were purged since the snapshot was taken, and were purged again.
    operation_id : str
        What `undo` takes; empty unless it was restored.
    unread_uids : tuple of str
        Directories of collections that may share memories with the snapshot and whose files cannot
        be read: what was purged in them since is not known, and may be back.
    """

    snapshot: Snapshot
    restored: bool
    collection: CollectionInfo | None
    replaced: ReplacedCollection | None
    confirmation_token: str
    purged_again_count: int
    revision: int
    replayed: bool
    operation_id: str
    unread_uids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HoldingSnapshot:
    """A snapshot that holds, or held, memories that were purged, and what was done about it."""

    snapshot: Snapshot
    memory_count: int
    rewritten: bool
    deleted: bool
