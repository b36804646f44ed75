"""History of a memory, and the operations of a collection, as an agent may see them."""

from __future__ import annotations

from totonoe_core.engine.state import CollectionState
from totonoe_core.queries import HistoryPage, OperationFilter, OperationPage
from totonoe_core.store.reader import Rows


def history(
    state: CollectionState,
    rows: Rows,
    agent_id: str,
    memory_id: str,
    page_size: int,
    page_token: str,
) -> HistoryPage:
    """One page of versions, newest first."""
    raise NotImplementedError


def operations(
    state: CollectionState,
    rows: Rows,
    agent_id: str,
    where: OperationFilter,
    page_size: int,
    page_token: str,
) -> OperationPage:
    """One page of operations, newest first."""
    raise NotImplementedError
