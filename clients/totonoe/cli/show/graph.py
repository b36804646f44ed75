"""Answers about links, neighbours, merges and episodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from totonoe.cli.printing import line, table
from totonoe.cli.show.parts import more, not_read, repeated, replay
from totonoe.cli.stepping import step
from totonoe.words.parts import counted, no_longer_said, shown_link
from totonoe.words.text import age, snippet

if TYPE_CHECKING:
    from totonoe.graph.models import (
        Episode,
        EpisodeDeleted,
        EpisodeMade,
        EpisodePage,
        EpisodeRead,
        Merged,
        Neighborhood,
    )
    from totonoe.memories.models import Linked, Unlinked


def neighbors(answer: Neighborhood) -> None:
    """Print neighbours, highest activation first."""
    rows = [
        (
            f"{neighbor.activation:.2f}",
            str(neighbor.depth),
            f"{neighbor.via.type} of {neighbor.via_id}",
            neighbor.memory.id,
            neighbor.memory.content,
        )
        for neighbor in answer.neighbors
    ]
    if rows:
        table(("activation", "depth", "as", "id", "memory"), rows, wide="memory")
    else:
        line("No neighbours.")
    if answer.truncated:
        line("There are more links than one call follows: these are the nearest.")


def merged(answer: Merged) -> None:
    """Print the merged memory, the details that its text lost, and how to undo it."""
    if not answer.merged:
        line("Not merged — very similar memory already exists.")
        if answer.duplicate is not None:
            repeated(answer.duplicate)
        return
    kept = answer.memory
    did = "Would merge" if answer.dry_run else "Merged"
    line(f"{did} {counted(len(answer.sources), 'memory', 'memories')} into {kept.id}:")
    line(kept.content)
    moved, dropped = answer.moved_link_count, answer.dropped_link_count
    if moved or dropped:
        line(f"Links moved: {moved}, dropped: {dropped}")
    for warning in no_longer_said(answer.lost):
        line(warning)
    not_read(answer.layers)
    if not answer.dry_run:
        line(f"Take it back with: {step('undo', kept.revision)}")
    replay(answer.replayed)


# -- episodes


def _span(episode: Episode) -> str:
    """Return begin and end, to the minute in UTC."""
    ends = (episode.start_time, episode.end_time)
    return " to ".join(f"{end:%Y-%m-%d %H:%M}" if end else "?" for end in ends)


def episodes(page: EpisodePage) -> None:
    """Print a page of episodes, and how to get the next one."""
    rows = [
        (
            episode.id,
            _span(episode),
            str(len(episode.memory_ids)),
            str(episode.importance),
            episode.summary,
        )
        for episode in page.episodes
    ]
    if rows:
        table(("id", "from, to", "memories", "importance", "summary"), rows, wide="summary")
    else:
        line("No episodes.")
    more(page.next_page_token)


def episode_made(answer: EpisodeMade) -> None:
    """Print the new episode."""
    held = counted(len(answer.episode.memory_ids), "memory", "memories")
    line(f"Saved (id: {answer.episode.id}) with {held}, {_span(answer.episode)}.")


def episode(answer: EpisodeRead) -> None:
    """Print an episode with its memories, or their ids."""
    episode = answer.episode
    private = ", private" if episode.private else ""
    line(f"{episode.id} ({_span(episode)}, importance {episode.importance}{private})")
    line(episode.summary)
    if answer.memories:
        for memory in answer.memories:
            line(f"- [{age(memory.created_time)}] {snippet(memory.content)} (id: {memory.id})")
    else:
        for memory_id in episode.memory_ids:
            line(f"- {memory_id}")
    if answer.note:
        line(f"Note: {answer.note}")


def episode_deleted(answer: EpisodeDeleted) -> None:
    """Print the deleted episode, and how to restore it."""
    line(f"Deleted {answer.episode.id}: {snippet(answer.episode.summary)}")
    line(f"Take it back with: {step('undo', answer.operation_id)}")


def linked(answer: Linked) -> None:
    """Print the link in both directions."""
    line("Linked." if answer.created else "Link changed.")
    line(f"- {shown_link(answer.link)}")
    line(f"- {shown_link(answer.inverse)}")


def unlinked(answer: Unlinked) -> None:
    """Print the removed links."""
    for link in answer.removed:
        line(f"Unlinked: {shown_link(link)}")
