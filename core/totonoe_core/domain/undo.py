"""Undo as plain data: an operation, the command that reverses it, and the conflicts in its way."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from totonoe_core.domain.asking import Previewable
from totonoe_core.domain.collections import CollectionInfo
from totonoe_core.domain.records import Duplicate, Memory


class ConflictKind(StrEnum):
    """Reason why a row cannot be reverted."""

    CHANGED = "changed"
    PURGED = "purged"
    LINK_END_GONE = "link_end_gone"
    EXTERNAL_ID_TAKEN = "external_id_taken"
    KEY_TAKEN = "key_taken"
    DUPLICATE = "duplicate"
    UNDONE_ALREADY = "undone_already"
    CHANGED_FOR_GOOD = "changed_for_good"
    NOTHING_LEFT = "nothing_left"
    LAST_COPY = "last_copy"
    SUCCESSOR_GONE = "successor_gone"


@dataclass(frozen=True, slots=True)
class UndoConflict:
    """One conflict that keeps an operation from being undone.

    `revision` is the operation in between: the one to undo first, the Undo that already reverted
    the row, or the one that no Undo reverts. `duplicate` is the memory that now says the same. With
    LAST_COPY the memory has superseded `target_id`, which would be lost with it. SUCCESSOR_GONE:
    the memory would give its place to another one again, and no live one is left there.
    """

    kind: ConflictKind
    memory_id: str = ""
    episode_id: str = ""
    target_id: str = ""
    settings: bool = False
    revision: int = 0
    duplicate: Duplicate | None = None


@dataclass(frozen=True, slots=True)
class OperationInfo:
    """One committed operation, as far as the asking agent may see it."""

    revision: int
    operation_id: str
    agent_id: str
    kind: str
    reason: str
    time_us: int
    memory_ids: tuple[str, ...] = ()
    episode_ids: tuple[str, ...] = ()
    link_count: int = 0
    settings: bool = False
    undoes: int = 0
    undone_by: int = 0


NOT_UNDOABLE = frozenset({"Purge", "Reembed"})
"""Kinds of operations that no Undo reverts."""


@dataclass(frozen=True, slots=True)
class Undo(Previewable["Undone"]):
    """Reverse an operation, named by its revision or (revision 0) by its id.

    With `own_only` it must be the agent's own.
    """

    agent_id: str
    revision: int = 0
    operation_id: str = ""
    reason: str = ""
    force: bool = False
    partial: bool = False
    own_only: bool = False


@dataclass(frozen=True, slots=True)
class Undone:
    """Answer to `Undo`: memories as they are now.

    If not undone, every conflict is a DUPLICATE, which `force` would pass.
    """

    undone: bool
    operation: OperationInfo
    memories: tuple[Memory, ...] = ()
    episode_ids: tuple[str, ...] = ()
    link_count: int = 0
    collection: CollectionInfo | None = None
    conflicts: tuple[UndoConflict, ...] = ()
