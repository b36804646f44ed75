"""What was done, and what memories were: models of operations, versions and undos.

As in `totonoe.models`: `revision` of an answer is the collection's newest.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from totonoe.admin_models import CollectionInfo
from totonoe.enums import UndoConflictKind
from totonoe.models import Duplicate, Link, Memory
from totonoe.snapshot_models import HoldingSnapshot


@dataclass(frozen=True, slots=True)
class Operation:
    """One committed change of a collection.

    Attributes
    ----------
    revision : int
        That it made.
    kind : str
        Name of the call: `Remember`, `Forget`, `Undo` ...
    memory_ids, episode_ids : tuple of str
        What it made, changed or hid, as far as the caller may see it.
    link_count : int
        Links that it made, changed or took away, each pair counted once.
    undoes, undone_by : int
        Revision that it took back, and that of the newest Undo of it; 0: none.
    """

    revision: int
    operation_id: str
    agent_id: str
    kind: str
    reason: str
    time: datetime | None
    memory_ids: tuple[str, ...]
    episode_ids: tuple[str, ...]
    link_count: int
    settings: bool
    undoes: int
    undone_by: int


@dataclass(frozen=True, slots=True)
class OperationPage:
    """One page of operations, newest first; an empty token: it was the last."""

    revision: int
    operations: tuple[Operation, ...]
    next_page_token: str


@dataclass(frozen=True, slots=True)
class Version:
    """What a memory was from one operation on.

    Attributes
    ----------
    memory : Memory or None
        As it was then, without links; `None` if only its links changed, or it was purged.
    changed : tuple of str
        Names of the fields that differ from the version before.
    linked, unlinked : tuple of Link
        Links that the operation made or changed, and those that it took away.
    """

    operation: Operation
    memory: Memory | None
    changed: tuple[str, ...]
    linked: tuple[Link, ...]
    unlinked: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """One page of the versions of a memory, newest first; an empty token: it was the last."""

    revision: int
    versions: tuple[Version, ...]
    next_page_token: str


@dataclass(frozen=True, slots=True)
class UndoConflict:
    """One thing that keeps an operation from being taken back as a whole.

    Attributes
    ----------
    memory_id, episode_id : str
        What it is about, empty where it is something else; `settings`: the collection's.
    revision : int
        That of the operation that came between; 0: none.
    duplicate : Duplicate or None
        The memory that says the same now.
    target_id : str
        The other end of a link that would lead to something forgotten or purged.
    """

    kind: UndoConflictKind
    memory_id: str
    episode_id: str
    revision: int
    duplicate: Duplicate | None
    settings: bool
    target_id: str


@dataclass(frozen=True, slots=True)
class Undone:
    """Answer of `undo`.

    Attributes
    ----------
    undone : bool
        Whether anything was taken back; if not, `conflicts` say why and nothing was changed.
    operation : Operation
        The one that was taken back.
    memories : tuple of Memory
        As they are now; in a dry run as they would be.
    collection : CollectionInfo or None
        Settings as they are now, if those were taken back, or the collection that came back.
    operation_id : str
        That of the Undo itself, which another `undo` takes.
    """

    revision: int
    undone: bool
    operation: Operation
    memories: tuple[Memory, ...]
    episode_ids: tuple[str, ...]
    link_count: int
    collection: CollectionInfo | None
    conflicts: tuple[UndoConflict, ...]
    dry_run: bool
    replayed: bool
    operation_id: str


@dataclass(frozen=True, slots=True)
class Purged:
    """Answer of `purge`: memories whose bytes are gone, and what went with them.

    Attributes
    ----------
    version_count : int
        Earlier versions that are gone as well.
    reply_count : int
        Kept answers that quoted the memories.
    episode_count : int
        Episodes that they were taken out of.
    snapshots : tuple of HoldingSnapshot
        Snapshots that hold any of them, and what was done about each.
    """

    revision: int
    purged_ids: tuple[str, ...]
    missing_ids: tuple[str, ...]
    version_count: int
    reply_count: int
    episode_count: int
    dry_run: bool
    replayed: bool
    operation_id: str
    snapshots: tuple[HoldingSnapshot, ...] = ()
