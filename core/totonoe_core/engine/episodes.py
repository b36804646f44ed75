"""Episodes: made, taken away, read with the memories that are there."""

from __future__ import annotations

from totonoe_core.commands import CreateEpisode, DeleteEpisode, EpisodeDeleted, EpisodeMade
from totonoe_core.engine.ledger import Ledger, Operation
from totonoe_core.engine.state import CollectionState
from totonoe_core.queries import EpisodePage, EpisodeRead
from totonoe_core.records import TimeRange
from totonoe_core.store.reader import Rows


def create(ledger: Ledger, operation: Operation, command: CreateEpisode) -> EpisodeMade:
    """Makes an episode."""
    raise NotImplementedError


def delete(ledger: Ledger, operation: Operation, command: DeleteEpisode) -> EpisodeDeleted:
    """Takes an episode away."""
    raise NotImplementedError


def read(
    state: CollectionState, rows: Rows, agent_id: str, episode_id: str, include_memories: bool
) -> EpisodeRead:
    """One episode."""
    raise NotImplementedError


def page(
    state: CollectionState,
    rows: Rows,
    agent_id: str,
    time: TimeRange,
    memory_id: str,
    page_size: int,
    page_token: str,
) -> EpisodePage:
    """One page of episodes by (start, id)."""
    raise NotImplementedError
