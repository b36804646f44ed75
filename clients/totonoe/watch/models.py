"""Models of changes."""

from __future__ import annotations

from dataclasses import dataclass

from totonoe.enums import ChangeType
from totonoe.history.models import Operation
from totonoe.memories.models import Link, Memory


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """One memory of a change; `memory` as it was right after it, without links and vector.

    `memory` is `None` where it is no longer to be seen: forgotten, made private, purged.
    """

    type: ChangeType
    memory_id: str
    memory: Memory | None


@dataclass(frozen=True, slots=True)
class LinkChange:
    """One link of a change, as `source_id` holds it; the other direction goes with it.

    `removed`: it was taken away; `link` is what it was.
    """

    source_id: str
    link: Link
    removed: bool


@dataclass(frozen=True, slots=True)
class Change:
    """The changes of one operation, as far as the caller may see them."""

    operation: Operation
    memories: tuple[MemoryChange, ...]
    links: tuple[LinkChange, ...]


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """One message of a watch.

    Attributes
    ----------
    revision : int
        All changes up to it were given: `after_revision` of a watch that goes on from here. A
        change too large for one message comes in several events, of which the last counts it.
    change : Change or None
        `None`: a heartbeat. The first event is one if there is nothing to tell yet.
    """

    revision: int
    change: Change | None
