"""Get, List and Recall of what was there at a moment of the past."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from totonoe_core.engine.state import CollectionState
from totonoe_core.queries import AsOf, Filter, Gotten, Page, Recalled, RecallQuery
from totonoe_core.store.reader import Rows


def get(
    state: CollectionState,
    rows: Rows,
    agent_id: str,
    ids: Sequence[str],
    as_of: AsOf,
    follow_superseded: bool,
) -> Gotten:
    """Memories by id as they were then."""
    raise NotImplementedError


def scan(
    state: CollectionState,
    rows: Rows,
    agent_id: str,
    where: Filter,
    page_size: int,
    page_token: str,
    as_of: AsOf,
) -> Page:
    """One page of what was there then."""
    raise NotImplementedError


def recall(
    state: CollectionState,
    rows: Rows,
    query: RecallQuery,
    vector: Any,
    degraded: str,
) -> Recalled:
    """Finds what was there then."""
    raise NotImplementedError
