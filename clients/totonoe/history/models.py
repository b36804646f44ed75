"""Models of operations, versions, undos and purges.

As in `totonoe.memories.models`: `revision` of an answer is the collection's newest.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from totonoe.collections.models import CollectionInfo
from totonoe.enums import LinkType, UndoConflictKind
from totonoe.memories.models import Duplicate, Link, Memory
from totonoe.snapshots.models import HoldingSnapshot


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
    """The state of a memory from one operation on.

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

    @property
    def only_linked(self) -> bool:
        """True if the memory only got automatic links: another was saved, or recalled, beside it.

        Not where it took the place of that memory (a link `updates`), nor where that was undone.
        """
        changed = self.memory is not None or self.unlinked or self.operation.undone_by
        took_place = any(link.type is LinkType.UPDATES for link in self.linked)
        automatic = self.operation.kind in _LINKING_KINDS
        return bool(self.linked) and automatic and not changed and not took_place


_LINKING_KINDS = frozenset({"Remember", "ApplyTidyPlan", "Consolidate", "Import"})
"""Kinds of operations that link memories to what they save or replay, without being asked to."""


@dataclass(frozen=True, slots=True)
class Recaller:
    """An agent that recalled a memory: how often, and when last."""

    agent_id: str
    count: int
    last_time: datetime


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """One page of the versions of a memory, newest first; an empty token: it was the last.

    The first page says who recalled the memory since the last Consolidate: `recallers`, the latest
    first, and `other_recall_count` by agents that are not named, since only who may `admin` learns
    the names of others.
    """

    revision: int
    versions: tuple[Version, ...]
    next_page_token: str
    recallers: tuple[Recaller, ...] = ()
    other_recall_count: int = 0


@dataclass(frozen=True, slots=True)
class UndoConflict:
    """One thing that keeps an operation from being taken back as a whole.

    Attributes
    ----------
    memory_id, episode_id : str
        What it is about, empty where it is something else; `settings`: the collection's.
    revision : int
        The operation that is in the way: the one to undo first, the Undo that took this back
        already, or the one that no Undo takes back; 0: none.
    duplicate : Duplicate or None
        The memory that says the same now.
    target_id : str
        The other memory of a link, or of a dismissed pair.
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
