"""Writes of links and episodes and their answers, as plain data."""

from __future__ import annotations

from dataclasses import dataclass

from totonoe_core.domain.records import Episode, Link, LinkType


@dataclass(frozen=True, slots=True)
class LinkMemories:
    """Link two live memories in both directions, or change the link that is there."""

    agent_id: str
    source_id: str
    target_id: str
    type: LinkType
    confidence: float
    note: str = ""


@dataclass(frozen=True, slots=True)
class Linked:
    """Answer to `LinkMemories`."""

    link: Link
    inverse: Link
    created: bool


@dataclass(frozen=True, slots=True)
class UnlinkMemories:
    """Remove the link of one type, or with `None` every link, between two memories."""

    agent_id: str
    source_id: str
    target_id: str
    type: LinkType | None = None


@dataclass(frozen=True, slots=True)
class Unlinked:
    """Answer to `UnlinkMemories`: the removed links as the source held them."""

    removed: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class CreateEpisode:
    """Group memories as one event.

    Times that are `None` are taken from its first and its last memory.
    """

    agent_id: str
    summary: str
    memory_ids: tuple[str, ...]
    start_us: int | None = None
    end_us: int | None = None
    importance: int = 3
    private: bool = False


@dataclass(frozen=True, slots=True)
class EpisodeMade:
    """Answer to `CreateEpisode`."""

    episode: Episode


@dataclass(frozen=True, slots=True)
class DeleteEpisode:
    """Delete an episode; its memories stay."""

    agent_id: str
    episode_id: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class EpisodeDeleted:
    """Answer to `DeleteEpisode`: the deleted episode."""

    episode: Episode
