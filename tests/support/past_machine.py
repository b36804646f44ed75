"""The state machine with episodes and with the past, and what always holds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import apsw
import pytest
from hypothesis.stateful import invariant, precondition

from support.machine_parts import (
    AGENTS,
    BOTH,
    KEYS,
    WISE,
    Seen,
    State,
    bare,
    links_of,
    other_way,
    pairs_of,
    several,
    thrown,
)
from support.machine_rules import CallingMachine
from support.waits import wait_s
from totonoe_core.base import errors
from totonoe_core.domain.filter import Filter
from totonoe_core.domain.graph import CreateEpisode, DeleteEpisode
from totonoe_core.domain.queries import (
    AsOf,
    ChangesQuery,
    ChangeType,
    EpisodeQuery,
    EpisodesQuery,
    GetQuery,
    HistoryQuery,
    ListQuery,
    RecallQuery,
)
from totonoe_core.domain.records import ANY_TIME, Episode, Memory, Status

EVERY_STATUS = Filter(statuses=tuple(Status))


class PastMachine(CallingMachine):
    """Episodes; every revision can be looked at again, listed, and followed from."""

    def __init__(self) -> None:
        super().__init__()
        self.episodes: dict[str, Episode] = {}
        self.gone_episodes: dict[str, Episode] = {}
        self.episode_touch: dict[str, int] = {}

    # -- The model's own means

    def head(self, memory_id: str, agent: str) -> Seen | None:
        """Where an id leads to, as far as an agent sees."""
        one = self.now.get(memory_id)
        if one is None or not one.may_be_seen_by(agent):
            return None
        while one.memory.status is Status.SUPERSEDED:
            by = self.now.get(one.memory.superseded_by)
            if by is None or not by.may_be_seen_by(agent):
                break
            one = by
        return one

    def seen_then(self, revision: int, agent: str) -> dict[str, Seen]:
        """What an agent sees of a revision now: visible then and now, and not purged."""
        then = self.past[revision]
        visible = {
            memory_id
            for memory_id, seen in then.items()
            if memory_id in self.now
            and self.now[memory_id].may_be_seen_by(agent)
            and seen.may_be_seen_by(agent)
        }
        return {
            memory_id: Seen(
                self.told(then[memory_id].memory, then, agent),
                frozenset(link for link in then[memory_id].links if link[0] in visible),
            )
            for memory_id in sorted(visible)
        }

    def told(self, memory: Memory, then: State, agent: str) -> Memory:
        """A memory of then as an agent is told of it: no name of what is hidden now, or was.

        Nor of what is purged: its row keeps that id for an Undo, but no answer names it.
        """
        by = memory.superseded_by
        ones = [self.now.get(by), then.get(by)]
        if by not in self.now or any(
            seen is not None and not seen.may_be_seen_by(agent) for seen in ones
        ):
            memory = replace(memory, superseded_by="")
        return bare(memory)

    # -- Rules

    @thrown(
        keys=several(3),
        wise=WISE,
        agent=AGENTS,
        private=BOTH,
    )
    def create_episode(self, keys: list[int], wise: bool, agent: str, private: bool) -> None:
        ones = [self.choose(key, agent, wise, lambda one: not one.dead) for key in keys]
        ids = tuple(dict.fromkeys(seen.memory.id for seen in ones))
        command = CreateEpisode(agent, "what happened", ids, private=private)
        if not all(seen.may_be_seen_by(agent) and not seen.dead for seen in ones):
            self.refuses(command, errors.NotFound)
            return
        episode = self.apply(command, changes=True).episode
        assert (episode.agent_id, episode.private) == (agent, private)
        self.episodes[episode.id] = replace(episode, memory_ids=ids)
        self.touch_episode(episode.id)

    @precondition(lambda self: self.episodes)
    @thrown(key=KEYS, agent=AGENTS)
    def delete_episode(self, key: int, agent: str) -> None:
        episode = list(self.episodes.values())[key % len(self.episodes)]
        command = DeleteEpisode(agent, episode.id)
        if episode.private and episode.agent_id != agent:
            self.refuses(command, errors.NotFound)
            return
        self.apply(command, changes=True)
        self.gone_episodes[episode.id] = self.episodes.pop(episode.id)
        self.touch_episode(episode.id)

    def touch_episode(self, episode_id: str) -> None:
        self.done[-1].episode = episode_id
        self.episode_touch[episode_id] = self.revision

    @thrown(key=KEYS, agent=AGENTS, by_time=BOTH)
    def as_of_a_revision_or_time_equals_the_past(self, key: int, agent: str, by_time: bool) -> None:
        revision = 1 + key % self.revision
        as_of = AsOf(time_us=self.done[revision].time_us) if by_time else AsOf(revision)
        expected = self.seen_then(revision, agent)
        engine = self.store.engine
        page = engine.read("default", ListQuery(agent, EVERY_STATUS, 1000, "", as_of=as_of))
        listed = page.result(wait_s())
        assert listed.as_of_revision == revision
        assert {
            memory.id: Seen(bare(memory), links_of(memory)) for memory in listed.memories
        } == expected
        order = [(memory.created_us, memory.id) for memory in listed.memories]
        assert order == sorted(order)
        if expected:
            some = sorted(expected)[key % len(expected)]
            got = engine.read("default", GetQuery(agent, (some,), as_of=as_of)).result(wait_s())
            assert Seen(bare(got.memories[0]), links_of(got.memories[0])) == expected[some]
        external_id = "x1" if key % 2 else "x2"
        holders = {
            item
            for item, seen in expected.items()
            if seen.memory.fields.external_id == external_id and not seen.dead
        }
        # An own private one comes before the public one.
        own = {holder for holder in holders if expected[holder].memory.fields.private}
        holders = own or holders
        if holders:
            got = engine.read(
                "default", GetQuery(agent, ("ext:" + external_id,), as_of=as_of)
            ).result(wait_s())
            assert {memory.id for memory in got.memories} == holders
        query = RecallQuery(agent, "pump", b"", k=1000, as_of=as_of)
        hits = self.store.recall(query).hits
        live = {item for item, seen in expected.items() if seen.live}
        assert {hit.memory.id for hit in hits} <= live

    @thrown(key=KEYS, agent=AGENTS)
    def history_lists_every_version(self, key: int, agent: str) -> None:
        one = self.choose(key, agent, wise=False).memory.id
        engine, query = self.store.engine, HistoryQuery(agent, one, 1000)
        if not self.now[one].may_be_seen_by(agent):
            with pytest.raises(errors.NotFound):
                engine.read("default", query).result(wait_s())
            return
        versions = engine.read("default", query).result(wait_s()).versions
        found = {each.operation.revision: each for each in versions}
        revisions = [each.operation.revision for each in versions]
        assert revisions == sorted(set(revisions), reverse=True)
        for revision in range(1, self.revision + 1):
            seen = self.past[revision].get(one)
            if seen is not None and seen.memory.revision == revision and seen.may_be_seen_by(agent):
                memory = found[revision].memory
                assert memory is not None
                assert bare(memory) == self.told(seen.memory, self.past[revision], agent)
                undoes = self.done[revision].undoes
                assert found[revision].operation.undoes == undoes
            else:
                assert revision not in found or found[revision].memory is None

    @thrown(key=KEYS, agent=AGENTS)
    def a_watcher_from_any_revision_ends_with_what_is_there(self, key: int, agent: str) -> None:
        revision = key % (self.revision + 1)
        # As it was told then, whatever was hidden or purged since.
        then = self.past[revision]
        held: Mapping[str, Any] = {
            item: Seen(
                bare(seen.memory),
                frozenset(link for link in seen.links if then[link[0]].may_be_seen_by(agent)),
            )
            for item, seen in then.items()
            if seen.may_be_seen_by(agent)
        }
        memories = {item: seen.memory for item, seen in held.items() if not seen.dead}
        links = {pair: value for pair, (value, _) in pairs_of(held).items()}
        for _ in range(self.revision + 1):
            told = self.store.read(ChangesQuery(agent, revision, None))
            for change in told.changes:
                for each in change.memories:
                    if each.type in (ChangeType.FORGOTTEN, ChangeType.PURGED):
                        assert each.memory is None
                        memories.pop(each.memory_id, None)
                        # Links end with their memories, also where that alone is told.
                        for pair in [link for link in links if each.memory_id in link[:2]]:
                            del links[pair]
                    else:
                        assert each.memory is not None
                        memories[each.memory_id] = each.memory
                for link in change.links:
                    pair = (link.source_id, link.link.target_id, link.link.type.value)
                    for way in (pair, other_way(pair)):
                        if link.removed:
                            links.pop(way, None)
                        else:
                            links[way] = link.link.confidence
            if told.revision == revision:
                break
            revision = told.revision
        assert revision == self.revision
        there = {
            item: seen
            for item, seen in self.seen_then(self.revision, agent).items()
            if not seen.dead
        }
        # That what took its place is hidden or shown later is no change of a memory.
        assert {
            other: replace(bare(memory), superseded_by="") for other, memory in memories.items()
        } == {item: replace(seen.memory, superseded_by="") for item, seen in there.items()}
        expected = {pair: value for pair, (value, _) in pairs_of(there).items()}
        # What was linked while an end was hidden is not told when that comes into sight.
        assert links.items() <= expected.items()

    # -- What always holds

    @invariant()
    def reads_agree_with_the_model(self) -> None:
        for agent in AGENTS:
            expected = self.seen_then(self.revision, agent)
            listed = self.store.list(agent)
            assert len(listed) == len(expected)
            assert {
                memory.id: Seen(bare(memory), links_of(memory)) for memory in listed
            } == expected
            if listed:
                assert self.store.one(listed[0].id, agent) == listed[0]
            live = self.store.list(agent, Filter())
            assert live == [memory for memory in listed if memory.status is Status.ACTIVE]

    @invariant()
    def links_are_held_by_both_ends(self) -> None:
        pairs = pairs_of(self.now)
        for pair, value in pairs.items():
            assert pairs[other_way(pair)] == value

    @invariant()
    def no_link_leads_to_the_dead(self) -> None:
        for source, target, _ in pairs_of(self.now):
            assert not self.now[source].dead
            assert not self.now[target].dead

    @invariant()
    def counts_agree(self) -> None:
        for agent in AGENTS:
            figures = self.store.stats(agent)
            seen = {id_: state for id_, state in self.now.items() if state.may_be_seen_by(agent)}
            links = [pair for pair in pairs_of(seen) if pair[1] in seen]
            assert figures.active_count == sum(state.live for state in seen.values())
            assert figures.total_count == len(seen)
            assert figures.forgotten_count == sum(state.dead for state in seen.values())
            assert figures.link_count == len(links) // 2
            assert figures.revision == self.revision

    @invariant()
    def revisions_are_gapless_and_no_text_is_lost_before_its_purge(self) -> None:
        if not self.revision:
            return
        connection = apsw.Connection(str(self.store.file()), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            told = connection.execute("SELECT revision FROM operation ORDER BY revision")
            revisions = [row[0] for row in told]
            texts = set(connection.execute("SELECT id, content FROM memory"))
            images = connection.execute("SELECT before FROM image WHERE entity = 'memory'")
            texts |= {(row[1], row[3]) for row in (json.loads(each[0]) for each in images)}
        finally:
            connection.close()
        assert revisions == list(range(1, self.revision + 1))
        if self.past[-1] is not self.checked:
            kept = {(key, seen.memory.content) for key, seen in self.now.items()}
            self.texts = {item for item in self.texts | kept if item[0] in self.now}
            self.checked = self.past[-1]
        assert self.texts <= texts

    texts: frozenset[tuple[str, str]] | set[tuple[str, str]] = frozenset()
    checked: State | None = None

    @invariant()
    def superseded_memories_lead_to_an_end(self) -> None:
        for seen in self.now.values():
            steps, each = 0, seen
            while each.memory.status is Status.SUPERSEDED:
                assert each.memory.superseded_by
                by = self.now.get(each.memory.superseded_by)
                if by is None:
                    assert each.memory.superseded_by in self.purged
                    break
                each, steps = by, steps + 1
                assert steps <= len(self.now), "a chain that bites its tail"
            assert (
                seen.memory.status is Status.SUPERSEDED
                or not seen.live
                or (not seen.memory.superseded_by)
            )

    @invariant()
    def episodes_show_who_is_there(self) -> None:
        for agent in AGENTS:
            page = self.store.engine.read("default", EpisodesQuery(agent, ANY_TIME, "", 1000, ""))
            found = {episode.id: episode for episode in page.result(wait_s()).episodes}
            visible = {
                episode.id: episode
                for episode in self.episodes.values()
                if not episode.private or episode.agent_id == agent
            }
            assert found.keys() == visible.keys()
            for episode_id, episode in visible.items():
                heads = [self.head(memory_id, agent) for memory_id in episode.memory_ids]
                there = [seen for seen in heads if seen is not None]
                wanted = dict.fromkeys(seen.memory.id for seen in there if not seen.dead)
                assert found[episode_id].memory_ids == tuple(wanted)
                gone = len({seen.memory.id for seen in there if seen.dead})
                assert found[episode_id].gone_count == gone
                if self.episode_touch[episode_id] == self.revision:
                    read = self.store.engine.read("default", EpisodeQuery(agent, episode_id, True))
                    answer = read.result(wait_s())
                    assert answer.episode == found[episode_id]
                    assert [memory.id for memory in answer.memories] == list(wanted)

    @invariant()
    def purged_ids_stay_gone(self) -> None:
        assert not self.purged.keys() & self.now.keys()
        if self.purged:
            gone = list(self.purged)[-1]
            for agent in AGENTS:
                with pytest.raises(errors.NotFound):
                    self.store.get(gone, agent=agent)
