"""Neighbors: links are followed by spreading activation."""

from __future__ import annotations

from totonoe_core.engine.state import CollectionState
from totonoe_core.queries import Neighborhood, NeighborsQuery
from totonoe_core.store.reader import Rows


def neighbors(state: CollectionState, rows: Rows, query: NeighborsQuery) -> Neighborhood:
    """Memories that are reached by links."""
    raise NotImplementedError
