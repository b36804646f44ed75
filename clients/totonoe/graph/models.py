"""Memories in their relations: models of neighbours, merges and episodes.

As in `totonoe.memories.models`: `revision` of an answer is the collection's newest.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from totonoe.enums import Finding
from totonoe.memories.models import Duplicate, LayerReport, Link, Memory


@dataclass(frozen=True, slots=True)
class Neighbor:
    """A memory that links lead to.

    Attributes
    ----------
    depth : int
        Length of the shortest way to it, from 1.
    activation : float
        0 to 1: what arrives over all shortest ways; a start has 1.
    via_id : str
        The memory before it on its strongest way; `via` is the link from there.
    """

    memory: Memory
    depth: int
    activation: float
    via_id: str
    via: Link


@dataclass(frozen=True, slots=True)
class Neighborhood:
    """Answer of `neighbors`: highest activation first.

    `truncated`: more links led away than one call follows; these are the nearest.
    """

    revision: int
    neighbors: tuple[Neighbor, ...]
    truncated: bool


@dataclass(frozen=True, slots=True)
class LostDetail:
    """Something that a source says and the merged text does not: where it stood, and what.

    `finding` is `missing` for words. `place` is start and end in characters of the source.
    """

    memory_id: str
    finding: Finding
    place: tuple[int, int]
    text: str


@dataclass(frozen=True, slots=True)
class Merged:
    """Answer of `merge`: done, or refused with the memory that says the same.

    Attributes
    ----------
    memory : Memory
        The one that stayed, as it is now (in a dry run: as it would be).
    sources : tuple of Memory
        The others as they were before.
    layers : tuple of LayerReport
        What the guard did; empty if the text stayed.
    lost : tuple of LostDetail
        What the sources say and the text does not. A warning: the sources stay readable.
    moved_link_count, dropped_link_count : int
        Links that the one that stayed took over, and those that fell away; pairs.
    """

    revision: int
    merged: bool
    memory: Memory
    sources: tuple[Memory, ...]
    duplicate: Duplicate | None
    layers: tuple[LayerReport, ...]
    lost: tuple[LostDetail, ...]
    moved_link_count: int
    dropped_link_count: int
    dry_run: bool
    replayed: bool
    operation_id: str

    @property
    def duplicate_of(self) -> str | None:
        """Id of the memory that says the same, `None` if they were merged."""
        return self.duplicate.memory_id if self.duplicate else None


@dataclass(frozen=True, slots=True)
class Episode:
    """Memories that belong together as something that happened.

    Attributes
    ----------
    memory_ids : tuple of str
        In their order; of a superseded memory the one in its place, without forgotten ones.
    gone_count : int
        How many of its memories are forgotten.
    revision : int
        That of the operation that made it.
    """

    id: str
    summary: str
    memory_ids: tuple[str, ...]
    gone_count: int
    start_time: datetime | None
    end_time: datetime | None
    importance: int
    agent_id: str
    private: bool
    created_time: datetime
    revision: int


@dataclass(frozen=True, slots=True)
class EpisodeMade:
    """Answer of `create_episode`."""

    revision: int
    episode: Episode
    replayed: bool
    operation_id: str


@dataclass(frozen=True, slots=True)
class EpisodeRead:
    """Answer of `get_episode`. `memories` if asked for; `note` says how many are gone, if any."""

    revision: int
    episode: Episode
    memories: tuple[Memory, ...]
    note: str


@dataclass(frozen=True, slots=True)
class EpisodePage:
    """One page of episodes by start; an empty token: it was the last."""

    revision: int
    episodes: tuple[Episode, ...]
    next_page_token: str


@dataclass(frozen=True, slots=True)
class EpisodeDeleted:
    """Answer of `delete_episode`: the episode as it was. Its memories stay."""

    revision: int
    episode: Episode
    replayed: bool
    operation_id: str
