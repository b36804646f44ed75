"""Changes after a revision, as an agent may see them; whoever waits is told of new ones."""

from __future__ import annotations

from totonoe_core.engine.state import CollectionState
from totonoe_core.queries import Changes, Filter
from totonoe_core.store.reader import Rows


def changes(
    state: CollectionState, rows: Rows, agent_id: str, after_revision: int, where: Filter | None
) -> Changes:
    """Operations after a revision, oldest first."""
    raise NotImplementedError
