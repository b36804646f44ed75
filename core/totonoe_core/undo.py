"""What an operation was, and what keeps it from being taken back: plain data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from totonoe_core.records import Duplicate


class ConflictKind(StrEnum):
    """Why a row cannot be taken back."""

    CHANGED = "changed"
    PURGED = "purged"
    LINK_END_GONE = "link_end_gone"
    EXTERNAL_ID_TAKEN = "external_id_taken"
    KEY_TAKEN = "key_taken"
    DUPLICATE = "duplicate"


@dataclass(frozen=True, slots=True)
class UndoConflict:
    """One thing that keeps an operation from being taken back.

    `revision` is the operation that came between; `duplicate` the memory that now says the same.
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
    """One committed operation, with what the asking agent may see of it."""

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
