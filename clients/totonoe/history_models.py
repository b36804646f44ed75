"""What was done, and what memories were: models of operations, versions and changes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


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
