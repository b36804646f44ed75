"""Episodes: created, deleted, and read with their present memories.

An episode keeps the ids of its creation (docs/sources.md, 001 §C: ids are looked up on reading, so
that forgetting costs nothing). Reading replaces a superseded or merged memory by the head of its
chain, names each memory once, leaves out and counts forgotten ones, and leaves out uncounted those
that the agent may not see. So an undone Forget, Supersede or Merge needs no change here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple, cast

from totonoe_core.base import ids, limits, plain
from totonoe_core.base.errors import InvalidArgument, NotFound
from totonoe_core.domain.graph import CreateEpisode, DeleteEpisode, EpisodeDeleted, EpisodeMade
from totonoe_core.domain.queries import EpisodePage, EpisodeQuery, EpisodeRead, EpisodesQuery
from totonoe_core.domain.records import Episode, Memory, Status
from totonoe_core.engine.state import paging, sizes
from totonoe_core.engine.state.ledger import Ledger, Operation
from totonoe_core.engine.state.sight import may_see, may_see_episode
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.store.seam import Rows

_STEP = 64  # episodes that are read together
_BEGINNING = (-(2**63), "")


def create(ledger: Ledger, operation: Operation, command: CreateEpisode) -> EpisodeMade:
    """Create an episode. Raises `NotFound`, `InvalidArgument` (BAD_TIME)."""
    memories: dict[str, Memory] = {}
    for memory_id in command.memory_ids:
        found = ledger.find(memory_id, command.agent_id)
        if found is None or found.status is Status.FORGOTTEN:
            raise NotFound("MEMORY_NOT_FOUND", kind="memory", name=memory_id)
        memories.setdefault(found.id, found)
    created = [memory.created_us for memory in memories.values()]
    start_us = min(created) if command.start_us is None else command.start_us
    end_us = max(created) if command.end_us is None else command.end_us
    if end_us < start_us:
        raise InvalidArgument(
            "BAD_TIME",
            field="episode.end_time",
            got="an end before its beginning",
            allowed="from start_time on",
        )
    episode = Episode(
        id=_new_id(ledger.rows),
        summary=command.summary,
        memory_ids=tuple(memories),
        start_us=start_us,
        end_us=end_us,
        importance=command.importance,
        agent_id=command.agent_id,
        private=command.private,
        created_us=operation.now_us,
        revision=operation.revision,
    )
    ledger.file.put_episode(episode)
    operation.touched.episodes.append(episode.id)
    return EpisodeMade(_Heads(ledger.state, ledger.rows, command.agent_id).shown(episode))


def delete(ledger: Ledger, operation: Operation, command: DeleteEpisode) -> EpisodeDeleted:
    """Delete an episode. Raises `NotFound` (EPISODE_NOT_FOUND)."""
    episode = _visible(ledger.rows, command.episode_id, command.agent_id)
    ledger.file.delete_episode(episode, operation.revision)
    operation.touched.episodes.append(episode.id)
    return EpisodeDeleted(_Heads(ledger.state, ledger.rows, command.agent_id).shown(episode))


def read(state: CollectionState, rows: Rows, query: EpisodeQuery) -> EpisodeRead:
    """Read one episode. Raises `NotFound` (EPISODE_NOT_FOUND)."""
    revision = state.published.revision
    heads = _Heads(state, rows, query.agent_id)
    episode = heads.shown(_visible(rows, query.episode_id, query.agent_id))
    memories = heads.memories(episode) if query.include_memories else []
    return EpisodeRead(revision, episode, tuple(state.shown(rows, memories, query.agent_id)))


def page(state: CollectionState, rows: Rows, query: EpisodesQuery) -> EpisodePage:
    """Read one page of episodes by (start, id) that overlap a time and hold a memory.

    An episode holds a memory if it names it, or one that leads to the same head. A page ends
    early, with a token, after EPISODE_IDS_READ_MAX ids. Raises `NotFound` for an unknown
    memory, `InvalidArgument` (BAD_PAGE_TOKEN).
    """
    agent_id, time, memory_id = query.agent_id, query.time, query.memory_id
    page_size, revision = query.page_size, state.published.revision
    asked = ("episodes", plain.dumps(time), memory_id)
    given = paging.position(query.page_token, (int, str), *asked)
    position = _BEGINNING if given is None else cast(tuple[int, str], given)
    heads = _Heads(state, rows, agent_id)
    wanted = ""
    if memory_id:
        memory = state.find(rows, memory_id, agent_id)
        if memory is None:
            raise NotFound("MEMORY_NOT_FOUND", kind="memory", name=memory_id)
        wanted = memory.id
        heads.look_up([wanted])
    shown: list[Episode] = []
    left, nbytes = limits.EPISODE_IDS_READ_MAX, 0
    while True:
        step = rows.episodes_by_start(position, _STEP, agent_id, time)
        for episode in step:
            # Only now is it certain that one more follows, so that no token leads to an empty page.
            full = left <= 0 or nbytes >= limits.PAGE_BYTES_GOAL
            if full or len(shown) == page_size:
                return EpisodePage(revision, tuple(shown), paging.token(position, *asked))
            position = episode.start_us, episode.id
            left -= max(len(episode.memory_ids), heads.look_up(episode.memory_ids))
            if not wanted or heads.leads_alike(wanted, episode.memory_ids):
                shown.append(heads.shown(episode))
                nbytes += sizes.episode_bytes(episode)
        if len(step) < _STEP:
            return EpisodePage(revision, tuple(shown), "")


def _visible(rows: Rows, episode_id: str, agent_id: str) -> Episode:
    episode = rows.episode(episode_id)
    if episode is None or not may_see_episode(episode, agent_id):
        raise NotFound("EPISODE_NOT_FOUND", kind="episode", name=episode_id)
    return episode


def _new_id(rows: Rows) -> str:
    """Return an episode id that is unused now; 64 random bits make past ones improbable."""
    for _ in range(16):
        episode_id = ids.new_episode_id()
        if rows.episode(episode_id) is None:
            return episode_id
    raise RuntimeError("16 random ids in a row were taken")


class _Place(NamedTuple):
    """The kept part of a memory that an id leads to: a page has too many to keep them whole."""

    row: int
    id: str
    status: Status
    superseded_by: str


class _Heads:
    """Present targets of ids, as far as an agent sees; each id is looked up once for an answer.

    The same as `CollectionState.find` and `head`, for many ids together.
    """

    def __init__(self, state: CollectionState, rows: Rows, agent_id: str) -> None:
        self._state = state
        self._rows = rows
        self._agent_id = agent_id
        self._places: dict[str, _Place | None] = {}

    def look_up(self, wanted: Iterable[str]) -> int:
        """Look up ids and those on the way to their heads; return how many were read."""
        before = len(self._places)
        for _ in range(limits.SUPERSEDED_STEPS_MAX + 1):
            new = list(
                dict.fromkeys(memory_id for memory_id in wanted if memory_id not in self._places)
            )
            if not new:
                break
            wanted = self._read(new)
        return len(self._places) - before

    def _read(self, new: Sequence[str]) -> list[str]:
        """Read memories; return the ids that superseded them."""
        index, row_of = self._state.index, {}
        for memory_id in new:
            slot = index.slot_by_id.get(memory_id)
            if slot is not None:
                # A view for each slot, since it may be newer than the view before.
                row_of[memory_id] = int(index.arrays.writer_view().value("row", slot))
        memories = self._rows.memories(list(row_of.values()))
        following = []
        for memory_id in new:
            memory = memories.get(row_of.get(memory_id, -1))
            if memory is None or not self._sees(memory_id, memory):
                self._places[memory_id] = None
                continue
            self._places[memory_id] = _Place(
                memory.row, memory_id, memory.status, memory.superseded_by
            )
            if memory.status is Status.SUPERSEDED:
                following.append(memory.superseded_by)
        return following

    def _sees(self, memory_id: str, memory: Memory) -> bool:
        # After a rollback the slot may be another memory's when its row is read.
        if memory.id != memory_id or memory.status is Status.PURGED:
            return False
        return may_see(memory, self._agent_id)

    def _head(self, memory_id: str) -> _Place | None:
        """Return the head of an id that was looked up; `None` if the agent sees no such memory."""
        place = self._places[memory_id]
        for _ in range(limits.SUPERSEDED_STEPS_MAX):
            if place is None or place.status is not Status.SUPERSEDED:
                break
            by = self._places.get(place.superseded_by)
            if by is None:
                break
            place = by
        return place

    def leads_alike(self, memory_id: str, others: Iterable[str]) -> bool:
        """Return whether one of the ids has the same head as a memory; all were looked up."""
        head = self._head(memory_id)
        return head is not None and any(self._head(other) == head for other in others)

    def shown(self, episode: Episode) -> Episode:
        """Return an episode as an answer shows it."""
        self.look_up(episode.memory_ids)
        heads = dict.fromkeys(self._head(memory_id) for memory_id in episode.memory_ids)
        seen = [head for head in heads if head is not None]
        there = [head.id for head in seen if head.status is not Status.FORGOTTEN]
        return replace(episode, memory_ids=tuple(there), gone_count=len(seen) - len(there))

    def memories(self, episode: Episode) -> list[Memory]:
        """Return the memories of a shown episode, without those hidden or forgotten meanwhile."""
        places = [
            place
            for memory_id in episode.memory_ids
            if (place := self._places[memory_id]) is not None
        ]
        memories = self._rows.memories([place.row for place in places])
        return [
            memory
            for place in places
            if (memory := memories.get(place.row)) is not None
            and self._sees(place.id, memory)
            and memory.status is not Status.FORGOTTEN
        ]
