"""Answers about several memories together, for people."""

from __future__ import annotations

from collections.abc import Sequence

from totonoe.cli.output import line, more, repeated, table
from totonoe.cli.text import age, snippet
from totonoe.graph_models import (
    Episode,
    EpisodeDeleted,
    EpisodeMade,
    EpisodePage,
    EpisodeRead,
    LostDetail,
    Merged,
    Neighborhood,
)


def counted(count: int, one: str, several: str = "") -> str:
    """A number of things: "1 memory", "2 memories"."""
    return f"{count} {one if count == 1 else several or one + 's'}"


def neighbors(answer: Neighborhood) -> None:
    """Neighbours, highest activation first."""
    rows = [
        (
            f"{one.activation:.2f}",
            str(one.depth),
            f"{one.via.type} of {one.via_id}",
            one.memory.id,
            one.memory.content,
        )
        for one in answer.neighbors
    ]
    if rows:
        table(("activation", "depth", "as", "id", "memory"), rows, wide="memory")
    else:
        line("No neighbours.")
    if answer.truncated:
        line("There are more links than one call follows: these are the nearest.")


def merged(answer: Merged) -> None:
    """What became one, what its text lacks, and how to take it back."""
    if not answer.merged:
        line("Not merged — very similar memory already exists.")
        if answer.duplicate is not None:
            repeated(answer.duplicate)
        return
    kept = answer.memory
    line(f"Merged {counted(len(answer.sources), 'memory', 'memories')} into {kept.id}:")
    line(kept.content)
    moved, dropped = answer.moved_link_count, answer.dropped_link_count
    if moved or dropped:
        line(f"Links moved: {moved}, dropped: {dropped}")
    _lost(answer.lost)
    line(f"Take it back with: totonoe undo {kept.revision}")
    if answer.replayed:
        line("This operation id was used before: its first answer again, nothing was done now.")


def _lost(details: Sequence[LostDetail]) -> None:
    if details:
        line("Warning: the text no longer has")
    for one in details:
        line(f"- {one.finding} {one.text!r} of {one.memory_id}")


# -- episodes


def _span(episode: Episode) -> str:
    """From when to when, to the minute in UTC."""
    ends = (episode.start_time, episode.end_time)
    return " to ".join(f"{end:%Y-%m-%d %H:%M}" if end else "?" for end in ends)


def episodes(page: EpisodePage) -> None:
    """A page of episodes, and how to get the next one."""
    rows = [
        (one.id, _span(one), str(len(one.memory_ids)), str(one.importance), one.summary)
        for one in page.episodes
    ]
    if rows:
        table(("id", "from, to", "memories", "importance", "summary"), rows, wide="summary")
    else:
        line("No episodes.")
    more(page.next_page_token)


def episode_made(answer: EpisodeMade) -> None:
    """The new episode."""
    held = counted(len(answer.episode.memory_ids), "memory", "memories")
    line(f"Saved (id: {answer.episode.id}) with {held}, {_span(answer.episode)}.")


def episode(answer: EpisodeRead) -> None:
    """An episode with its memories, or their ids."""
    one = answer.episode
    private = ", private" if one.private else ""
    line(f"{one.id} ({_span(one)}, importance {one.importance}{private})")
    line(one.summary)
    if answer.memories:
        for memory in answer.memories:
            line(f"- [{age(memory.created_time)}] {snippet(memory.content)} (id: {memory.id})")
    else:
        for memory_id in one.memory_ids:
            line(f"- {memory_id}")
    if answer.note:
        line(f"Note: {answer.note}")


def episode_deleted(answer: EpisodeDeleted) -> None:
    """What is gone, and how to get it back."""
    line(f"Deleted {answer.episode.id}: {snippet(answer.episode.summary)}")
    line(f"Take it back with: totonoe undo {answer.operation_id}")
