"""The state machine with all that can be taken back, and with the past that it must show.

After each operation everything is looked at and kept. What an Undo, an `as_of`, a history or a
Watch must give is then read off these, without a word of how the engine does it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from support.engines import WAIT_S, forget, merge, remember, undo
from support.machine import AGENTS, PRESETS, TEXTS, VECTORS, EngineMachine, Held, Keys
from support.models import Known, decide
from totonoe_core import errors
from totonoe_core.commands import Command, CreateEpisode, LinkMemories, Purge
from totonoe_core.queries import AsOf, ChangeType, Filter, RecallQuery
from totonoe_core.records import Episode, LinkType, Memory, Status

Pair = tuple[str, str, str]


@dataclass(frozen=True)
class Seen:
    """A memory as it was seen: `memory` without links and access figures."""

    memory: Memory
    links: frozenset[tuple[str, str, float, str]]

    def may_be_seen_by(self, agent: str) -> bool:
        return not self.memory.fields.private or self.memory.agent_id == agent

    def alike(self, other: Seen) -> bool:
        """The same but for the revision and time of the last change."""
        later = replace(
            other.memory, revision=self.memory.revision, updated_us=self.memory.updated_us
        )
        return self.memory == later and self.links == other.links


State = Mapping[str, Seen]


def bare(memory: Memory) -> Memory:
    return replace(memory, links=(), last_access_us=None, access_count=0)


def links_of(memory: Memory) -> frozenset[tuple[str, str, float, str]]:
    return frozenset(
        (one.target_id, one.type.value, one.confidence, one.note) for one in memory.links
    )


def pairs_of(state: State) -> dict[Pair, tuple[float, str]]:
    """Each link by its end, once from either side."""
    return {
        (memory_id, target, type_): (confidence, note)
        for memory_id, seen in state.items()
        for target, type_, confidence, note in seen.links
    }


def other_way(pair: Pair) -> Pair:
    source, target, type_ = pair
    return target, source, LinkType(type_).inverse.value


class ReversingMachine(EngineMachine):
    """Merge, supersede, undo, purge, episodes; every revision can be looked at again."""

    def __init__(self) -> None:
        super().__init__()
        self.past: list[State] = [{}]
        self.times: list[int] = [0]
        self.kinds: list[str] = [""]
        self.touched: list[set[Pair]] = [set()]
        self.last_touch: dict[Pair, int] = {}
        self.purged: set[str] = set()
        self.episodes: dict[str, Episode] = {}
        self.episode_of_revision: dict[int, str] = {}

    # -- The model's own means

    def observe(self) -> dict[str, Seen]:
        """Everything there is, put together from what each agent sees."""
        found: dict[str, Seen] = {}
        for agent in AGENTS:
            for memory in self.store.list(agent):
                links = links_of(memory)
                if memory.id in found:
                    links |= found[memory.id].links
                found[memory.id] = Seen(bare(memory), links)
        return found

    def apply(self, command: Command, changes: bool) -> Any:
        result = super().apply(command, changes)
        if changes:
            self.keep(command)
        return result

    def keep(self, command: Command) -> None:
        """Keeps what is there after an operation, and what of it the operation touched."""
        before, after = self.past[-1], self.observe()
        self.past.append(after)
        self.times.append(self.store.clock.now_us)
        self.kinds.append(type(command).__name__)
        old, new = pairs_of(before), pairs_of(after)
        changed = {pair for pair in old.keys() | new.keys() if old.get(pair) != new.get(pair)}
        if isinstance(command, LinkMemories):
            pair = (command.source_id, command.target_id, command.type.value)
            changed |= {pair, other_way(pair)}
        self.touched.append(changed)
        self.last_touch |= dict.fromkeys(changed, self.revision)

    def take_over(self) -> None:
        """Brings the model to what is there; whoever calls has checked that."""
        for memory_id, seen in self.past[-1].items():
            one = self.memories[memory_id]
            memory = seen.memory
            if (one.content, one.live) != (memory.content, memory.status is Status.ACTIVE):
                self.order += 1
                one.order = self.order
            one.content, one.vector = memory.content, VECTORS_BY_BYTES[memory.vector]
            one.status, one.superseded_by = memory.status.value, memory.superseded_by
            one.live = memory.status is Status.ACTIVE
            one.importance = memory.fields.importance
            one.external_id = memory.fields.external_id
            one.texts.add(memory.content)
            one.links = {(target, type_): value for target, type_, value, _ in seen.links}
        for memory_id in self.memories.keys() - self.past[-1].keys():
            del self.memories[memory_id]
        self.settle_order()

    def settle_order(self) -> None:
        """Which of equally near ones was written first is not what is tested here: as the
        engine has it, by slot."""
        index = self.store.engine._collections.opened("default").result(WAIT_S)._state.index
        for memory_id, one in self.memories.items():
            one.order = index.slot_by_id.get(memory_id)
        self.order = index.arrays.end

    def head(self, memory_id: str, agent: str) -> Held | None:
        one = self.memories.get(memory_id)
        if one is None or not self.visible(one, agent):
            return None
        while one.status == "superseded":
            by = self.memories.get(one.superseded_by)
            if by is None or not self.visible(by, agent):
                break
            one = by
        return one

    def seen_then(self, revision: int, agent: str) -> dict[str, Seen]:
        """What an agent sees of a revision now: visible then and now, and not purged."""
        now = self.past[-1]

        def visible(memory_id: str) -> bool:
            return (
                memory_id in now
                and now[memory_id].may_be_seen_by(agent)
                and self.past[revision][memory_id].may_be_seen_by(agent)
            )

        found = {}
        for memory_id, seen in self.past[revision].items():
            if visible(memory_id):
                links = frozenset(one for one in seen.links if visible(one[0]))
                found[memory_id] = Seen(seen.memory, links)
        return found

    # -- Rules

    @precondition(lambda self: self.memories)
    @rule(key=Keys, agent=st.sampled_from(AGENTS), text=st.sampled_from(TEXTS))
    def remember_in_place_of(self, key: int, agent: str, text: str) -> None:
        one = self.some(key)
        command = replace(
            remember(text, agent=agent, vector=VECTORS[key % len(VECTORS)], force=True),
            supersede_ids=(one.id,),
        )
        if not self.visible(one, agent):
            self.refuses(command, errors.NotFound)
            return
        if one.kind != "state":
            self.refuses(command, errors.Precondition)
            return
        found = self.apply(command, changes=True)
        assert found.saved
        assert found.superseded_ids == (one.id,)
        new = Held(found.memory_id, text, VECTORS[key % len(VECTORS)], agent, texts={text})
        self.memories[new.id] = new
        seen = self.past[-1][one.id].memory
        assert (seen.status, seen.superseded_by) == (Status.SUPERSEDED, new.id)
        self.take_over()

    @precondition(lambda self: len(self.memories) > 1)
    @rule(
        key=Keys,
        others=st.lists(Keys, min_size=1, max_size=2),
        agent=st.sampled_from(AGENTS),
        text=st.sampled_from(["", "", *TEXTS]),
        force=st.booleans(),
        stale=st.booleans(),
    )
    def merge(
        self, key: int, others: list[int], agent: str, text: str, force: bool, stale: bool
    ) -> None:
        keep, removed = self.some(key), [self.some(other) for other in others]
        vector = VECTORS[key % len(VECTORS)] if text else None
        ids = [one.id for one in removed]
        command = merge(keep.id, *ids, agent=agent, content=text, vector=vector, force=force)
        together = [keep, *removed]
        wrong: list[type[errors.TotonoeError]] = []
        if not all(self.visible(one, agent) for one in together):
            wrong.append(errors.NotFound)
        if len({one.id for one in together}) < len(together):
            wrong.append(errors.InvalidArgument)
        if any(one.kind != "state" for one in together):
            wrong.append(errors.Precondition)
        if len({one.private for one in together}) > 1:
            wrong.append(errors.InvalidArgument)
        if wrong:
            with pytest.raises(tuple(wrong)):
                self.store.apply(command)
            return
        if stale:
            late = replace(command, expected_revisions=((ids[0], self.revision + 1),))
            self.refuses(late, errors.StaleRevision)
        duplicate = ""
        if text and text != keep.content:
            new = Held(**{**vars(keep), "content": text, "vector": vector, "agent": agent})
            rest = [one for one in self.memories.values() if one not in together]
            known: list[Known] = list(rest)
            duplicate = decide(known, new, PRESETS[self.policy], force).duplicate
        before = self.past[-1]
        found = self.apply(command, changes=not duplicate)
        assert found.merged is not bool(duplicate)
        if duplicate:
            assert found.guard.duplicate.memory_id == duplicate
            return
        now = self.past[-1]
        kept = now[keep.id].memory
        assert kept.status is Status.ACTIVE
        assert kept.content == (text or keep.content)
        assert kept.created_us == min(before[one.id].memory.created_us for one in together)
        assert kept.fields.importance == max(one.importance for one in together)
        wanted: dict[tuple[str, str], float] = {}
        for one in together:
            for (target, type_), value in one.links.items():
                if target not in {each.id for each in together}:
                    wanted[target, type_] = max(value, wanted.get((target, type_), 0.0))
        links = {(target, type_): value for target, type_, value, _ in now[keep.id].links}
        assert links == wanted
        for one in removed:
            seen = now[one.id]
            assert (seen.memory.status, seen.memory.superseded_by) == (Status.SUPERSEDED, keep.id)
            assert not seen.links
        for memory_id, seen in before.items():
            if seen.memory.superseded_by in ids:
                assert now[memory_id].memory.superseded_by == keep.id
        self.take_over()

    @precondition(lambda self: self.revision > 0)
    @rule(
        key=st.integers(0, 200),
        agent=st.sampled_from(AGENTS),
        partial=st.sampled_from([False, False, True]),
        force=st.booleans(),
    )
    def undo(self, key: int, agent: str, partial: bool, force: bool) -> None:
        # The newest are the likeliest to be as they were left.
        revision = self.revision - key % min(self.revision, 12)
        command = undo(revision, agent=agent, partial=partial, force=force)
        before, then, now = self.past[revision - 1], self.past[revision], self.past[-1]
        rows = [one for one in then if then[one].memory.revision == revision]
        ends = {end for pair in self.touched[revision] for end in pair[:2]}
        involved = {*rows, *ends}
        if self.kinds[revision] == "Purge":
            with pytest.raises((errors.Precondition, errors.NotFound)):
                self.store.apply(command)
            return
        states = [state[one] for one in involved for state in (before, then, now) if one in state]
        if not all(seen.may_be_seen_by(agent) for seen in states):
            with pytest.raises((errors.NotFound, errors.UndoRefused)):
                self.store.apply(command)
            return
        changed = [one for one in rows if one not in now or now[one].memory.revision != revision]
        changed += [pair for pair in self.touched[revision] if self.last_touch[pair] != revision]
        others = self.kinds[revision] in ("ChangeSettings", "CreateEpisode", "Undo")
        try:
            self.operation += 1
            self.store.clock.advance(1000)
            answer = self.store.apply(command, operation_id=f"op-{self.operation}")
        except errors.UndoRefused:
            assert changed or others or self.taken_meanwhile(before, rows)
            assert not partial
            return
        found = answer.results[0]
        if not found.undone:
            assert found.conflicts
            assert answer.revision == self.revision
            assert partial or all(one.kind.value == "duplicate" for one in found.conflicts)
            return
        self.revision += 1
        assert answer.revision == self.revision
        self.keep(command)
        self.touched[-1] |= self.touched[revision]
        self.last_touch |= dict.fromkeys(self.touched[revision], self.revision)
        after = self.past[-1]
        if not found.conflicts:
            gone = {one for one in rows if one not in before}
            for memory_id in rows:
                if memory_id in gone:
                    assert after[memory_id].memory.status is Status.FORGOTTEN
                    assert not after[memory_id].links
                    assert after[memory_id].memory.content == then[memory_id].memory.content
                else:
                    self.check_restored(before[memory_id], after[memory_id])
            was, is_ = pairs_of(before), pairs_of(after)
            for pair in self.touched[revision]:
                if not gone & set(pair[:2]):
                    assert is_.get(pair) == was.get(pair)
            for memory_id in now.keys() - involved:
                unlinked = {one for one in now[memory_id].links if one[0] not in gone}
                assert after[memory_id].memory == now[memory_id].memory
                assert after[memory_id].links == unlinked
        self.take_over()
        if self.kinds[revision] in ("ChangeSettings", "Undo"):
            self.policy = self.preset()
            self.settle_order()
        self.read_episodes()

    def taken_meanwhile(self, before: State, rows: Iterable[str]) -> bool:
        """Whether an external id that would come back is another memory's, or a link's end gone."""
        taken = {one.external_id: one.id for one in self.memories.values() if not one.dead}
        return any(
            taken.get(before[one].memory.fields.external_id, one) != one
            for one in rows
            if one in before and before[one].memory.fields.external_id
        ) or any(
            target not in self.memories or self.memories[target].dead
            for one in rows
            if one in before
            for target, *_ in before[one].links
        )

    @staticmethod
    def check_restored(before: Seen, after: Seen) -> None:
        for name in ("content", "content_hash", "vector", "fields", "status", "superseded_by"):
            assert getattr(after.memory, name) == getattr(before.memory, name), name
        assert after.memory.created_us == before.memory.created_us

    def preset(self) -> str:
        info = self.store.engine.get_collection("default").result(WAIT_S)
        return str(info.guard.preset.value)

    @precondition(lambda self: self.memories)
    @rule(key=Keys, agent=st.sampled_from(AGENTS))
    def forget_what_was_shown(self, key: int, agent: str) -> None:
        one = self.some(key)
        assume(self.visible(one, agent))
        late = replace(forget(one.id, agent=agent), expected_revisions=((one.id, 10**6),))
        self.refuses(late, errors.StaleRevision)

    @precondition(lambda self: len(self.memories) > 3)
    @rule(key=Keys, agent=st.sampled_from(AGENTS), sure=st.integers(0, 3))
    def purge(self, key: int, agent: str, sure: int) -> None:
        assume(sure == 0)
        one = self.some(key, live=False)
        command = Purge(agent, (one.id,))
        if not self.visible(one, agent):
            self.refuses(command, errors.NotFound)
            return
        found = self.apply(command, changes=True)
        assert found.purged_ids == (one.id,)
        self.purged.add(one.id)
        # What was answered then no longer quotes it.
        self.replies.clear()
        self.take_over()
        assert one.id not in self.memories
        for each in AGENTS:
            with pytest.raises(errors.NotFound):
                self.store.get(one.id, agent=each)

    @precondition(lambda self: self.memories)
    @rule(keys=st.lists(Keys, min_size=1, max_size=3), agent=st.sampled_from(AGENTS))
    def create_episode(self, keys: list[int], agent: str) -> None:
        ones = [self.some(key, live=False) for key in keys]
        ids = tuple(dict.fromkeys(one.id for one in ones))
        command = CreateEpisode(agent, "what happened", ids)
        if not all(self.visible(one, agent) and not one.dead for one in ones):
            self.refuses(command, errors.NotFound)
            return
        episode = self.apply(command, changes=True).episode
        self.episodes[episode.id] = replace(episode, memory_ids=ids)
        self.episode_of_revision[self.revision] = episode.id

    def read_episodes(self) -> None:
        """After an Undo: which episodes are there is for the engine to say, once."""
        listed = self.store.engine.episodes("default", "anna", Filter().created, "", 1000, "")
        there = {one.id for one in listed.result(WAIT_S).episodes}
        assert there <= set(self.episode_of_revision.values())
        for revision, episode_id in self.episode_of_revision.items():
            if episode_id in there and episode_id not in self.episodes:
                seen = self.store.engine.episode("default", "anna", episode_id, False)
                self.episodes[episode_id] = seen.result(WAIT_S).episode
                del revision
        for episode_id in self.episodes.keys() - there:
            del self.episodes[episode_id]

    @rule(key=st.integers(0, 200), agent=st.sampled_from(AGENTS), by_time=st.booleans())
    def look_back(self, key: int, agent: str, by_time: bool) -> None:
        revision = key % (self.revision + 1)
        as_of = AsOf(time_us=self.times[revision]) if by_time else AsOf(revision)
        assume(not (by_time and revision == 0))
        expected = self.seen_then(revision, agent)
        statuses = Filter(statuses=tuple(Status))
        page = self.store.engine.scan("default", agent, statuses, 1000, "", as_of=as_of)
        listed = page.result(WAIT_S)
        assert listed.as_of_revision == revision
        assert {one.id: Seen(bare(one), links_of(one)) for one in listed.memories} == expected
        order = [(one.created_us, one.id) for one in listed.memories]
        assert order == sorted(order)
        if expected:
            some = sorted(expected)[key % len(expected)]
            got = self.store.engine.get("default", agent, [some], as_of=as_of).result(WAIT_S)
            assert Seen(bare(got.memories[0]), links_of(got.memories[0])) == expected[some]
        query = RecallQuery(agent, "pump", VECTORS[0].tobytes(), k=1000, as_of=as_of)
        hits = self.store.recall(query).hits
        live = {one for one, seen in expected.items() if seen.memory.status is Status.ACTIVE}
        assert {hit.memory.id for hit in hits} == live

    @precondition(lambda self: self.memories)
    @rule(key=Keys, agent=st.sampled_from(AGENTS))
    def read_history(self, key: int, agent: str) -> None:
        one = self.some(key, live=False)
        asked = self.store.engine.history
        if not self.visible(one, agent):
            with pytest.raises(errors.NotFound):
                asked("default", agent, one.id, 1000, "").result(WAIT_S)
            return
        versions = asked("default", agent, one.id, 1000, "").result(WAIT_S).versions
        found = {each.operation.revision: each for each in versions}
        revisions = [each.operation.revision for each in versions]
        assert revisions == sorted(set(revisions), reverse=True)
        for revision in range(1, self.revision + 1):
            seen = self.past[revision].get(one.id)
            if seen is None or seen.memory.revision != revision:
                assert revision not in found or found[revision].memory is None
            elif seen.may_be_seen_by(agent):
                memory = found[revision].memory
                assert memory is not None
                assert bare(memory) == replace(seen.memory, vector=memory.vector)
            else:
                assert revision not in found or found[revision].memory is None

    @rule(key=st.integers(0, 200), agent=st.sampled_from(AGENTS))
    def follow(self, key: int, agent: str) -> None:
        """Whoever watches from any revision on ends with what is there."""
        revision = key % (self.revision + 1)
        held = {
            one: seen.memory
            for one, seen in self.seen_then(revision, agent).items()
            if seen.memory.status is not Status.FORGOTTEN
        }
        for _ in range(self.revision + 1):
            told = self.store.engine.changes("default", agent, revision, None).result(WAIT_S)
            for change in told.changes:
                for each in change.memories:
                    if each.type in (ChangeType.FORGOTTEN, ChangeType.PURGED):
                        assert each.memory is None
                        held.pop(each.memory_id, None)
                    else:
                        assert each.memory is not None
                        held[each.memory_id] = bare(each.memory)
            if told.revision == revision:
                break
            revision = told.revision
        assert revision == self.revision
        expected = {
            one: seen.memory
            for one, seen in self.past[-1].items()
            if seen.may_be_seen_by(agent) and seen.memory.status is not Status.FORGOTTEN
        }
        assert {one: replace(memory, vector=b"") for one, memory in held.items()} == {
            one: replace(memory, vector=b"") for one, memory in expected.items()
        }

    # -- What always holds

    @invariant()
    def superseded_memories_lead_to_an_end(self) -> None:
        for one in self.memories.values():
            steps, each = 0, one
            while each.status == "superseded" and each.superseded_by in self.memories:
                each = self.memories[each.superseded_by]
                steps += 1
                assert steps <= len(self.memories), "a chain that bites its tail"
            assert (each.status == "superseded") <= (each.superseded_by not in self.memories)

    @invariant()
    def episodes_show_who_is_there(self) -> None:
        for agent in AGENTS:
            for episode in self.episodes.values():
                read = self.store.engine.episode("default", agent, episode.id, False)
                found = read.result(WAIT_S).episode
                heads = [self.head(one, agent) for one in episode.memory_ids]
                there = [one for one in heads if one is not None]
                wanted = dict.fromkeys(one.id for one in there if not one.dead)
                assert found.memory_ids == tuple(wanted)
                assert found.gone_count == len({one.id for one in there if one.dead})

    @invariant()
    def purged_ids_stay_gone(self) -> None:
        assert not self.purged & self.memories.keys()


VECTORS_BY_BYTES = {vector.tobytes(): vector for vector in VECTORS}
