"""The state machine with the plain calls: save, change, forget, link, search, start again."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis.stateful import precondition

from support.engines import (
    DAY_US,
    NOON,
    Store,
    change,
    forget,
    link,
    remember,
    unlink,
    update,
)
from support.indexes import assert_same_index
from support.machine import EngineMachine
from support.machine_parts import (
    AGENTS,
    BOTH,
    FIELDS,
    KEYS,
    KINDS,
    PRESETS,
    RARELY,
    TEXTS,
    VECTORS,
    WISE,
    Seen,
    named,
    other_way,
    pairs_of,
    several,
    thrown,
    unlikely,
)
from support.models import words_of
from support.waits import wait_s
from totonoe_core.base import errors
from totonoe_core.domain.queries import RecallQuery
from totonoe_core.domain.records import Kind, LinkType, StateKind, Status, TypedKey
from totonoe_core.engine.state import loading
from totonoe_core.index.collection_index import CollectionIndex


class CallingMachine(EngineMachine):
    """Rules are calls; the model carries out each one by itself and compares."""

    @thrown(
        text=TEXTS,
        vector=range(len(VECTORS)),
        kind=KINDS,
        agent=AGENTS,
        private=[False, False, True],
        force=BOTH,
        named=named(
            0.5,
            session_id=["", "s"],
            external_id=["", "x1", "x2"],
            payload=[{}, {"at": "shelf"}],
            importance=[1, 3, 5],
            confidence=[0.3, 0.8, 0.95],
            category=["", "constraint"],
            valid_to_us=[None, NOON + 10 * DAY_US],
            tags=[(), ("dry",), ("wet", "dry")],
        ),
        key=[None, None, TypedKey("pump", "place"), TypedKey("pump", "state")],
    )
    def remember(
        self,
        text: str,
        vector: int,
        kind: tuple[Kind, StateKind],
        agent: str,
        private: bool,
        force: bool,
        named: dict[str, Any],
        key: TypedKey | None,
    ) -> None:
        self.save(
            remember(
                text,
                agent=agent,
                vector=VECTORS[vector],
                force=force,
                kind=kind[0],
                state_kind=kind[1],
                private=private,
                key=key if kind[0] is Kind.STATE else None,
                attributes={"mark": self.mark()},
                **named,
            )
        )

    @thrown(
        text=TEXTS,
        vector=range(len(VECTORS)),
        agent=AGENTS,
        private=BOTH,
        session=["", "", "s"],
        named=named(
            0.2,
            external_id=["", "x1"],
            payload=[{}, {"at": "shelf"}],
            importance=[1, 5],
            valid_to_us=[None, NOON + 10 * DAY_US],
        ),
    )
    def summarise(
        self,
        text: str,
        vector: int,
        agent: str,
        private: bool,
        session: str,
        named: dict[str, Any],
    ) -> None:
        self.save(
            remember(
                text,
                agent=agent,
                vector=VECTORS[vector],
                state_kind=StateKind.SUMMARY,
                private=private,
                session_id=session,
                attributes={"mark": self.mark()},
                **named,
            )
        )

    @thrown(
        at=KEYS,
        wise=WISE,
        agent=AGENTS,
        text=[None, *TEXTS],
        vector=range(len(VECTORS)),
        named=named(
            0.3,
            importance=[1, 2, 5],
            private=BOTH,
            external_id=["", "x1", "x2"],
            payload=[{}, {"at": "shelf"}],
            valid_to_us=[None, NOON + 20 * DAY_US],
        ),
        stale=RARELY,
        force=BOTH,
    )
    def update(
        self,
        at: int,
        wise: bool,
        agent: str,
        text: str | None,
        vector: int,
        named: dict[str, Any],
        stale: bool,
        force: bool,
    ) -> None:
        one = self.choose(at, agent, wise)
        if agent != one.memory.agent_id:
            named.pop("private", None)
        if text is None and not named:
            return
        if text is not None:
            named |= {"content": text, "vector": VECTORS[vector]}
        self.change(one, agent, named, stale, force)

    @thrown(at=KEYS, agent=AGENTS, force=RARELY)
    def turn_private_or_public(self, at: int, agent: str, force: bool) -> None:
        one = self.choose(at, agent, True, lambda each: each.live and each.memory.agent_id == agent)
        if one.memory.agent_id == agent:
            private = not one.memory.fields.private
            self.change(one, agent, {"private": private}, False, force)

    def change(
        self, one: Seen, agent: str, named: dict[str, Any], stale: bool, force: bool
    ) -> None:
        """An Update, and all that it must answer and leave."""
        fields = {name: value for name, value in named.items() if name in FIELDS}
        new = replace(one.memory, fields=replace(one.memory.fields, **fields))
        if "content" in named:
            vector = named["vector"].tobytes()
            if not vector and named["content"] == one.memory.content:
                # It says what it said, and keeps its vector.
                vector = one.memory.vector
            new = replace(new, content=named["content"], vector=vector)
        command = update(one.memory.id, agent=agent, force=force, **named)
        if not one.may_be_seen_by(agent):
            self.refuses(command, errors.NotFound)
            return
        if not one.live:
            self.refuses(command, errors.Precondition)
            return
        if stale:
            self.refuses(
                replace(command, expected_revision=self.revision + 1), errors.StaleRevision
            )
        said = [(each.external_id, each.private) for each in (new.fields, one.memory.fields)]
        if said[0] != said[1] and self.taken(agent, new.fields.external_id, new.id):
            self.refuses(command, errors.AlreadyExists)
            return
        duplicate = ""
        if {"content", "payload", "private"} & named.keys():
            duplicate = self.decide(agent, new, force).duplicate
        before, holders = self.now, set()
        if one.memory.fields.private is not new.fields.private:
            # It is the value of its key among others than before.
            holders = {*self.holders(agent, new.fields)} - {new.id}
        found = self.apply(command, changes=not duplicate)
        assert found.updated is not bool(duplicate)
        if duplicate:
            assert found.guard.duplicate.memory_id == duplicate
            return
        seen = self.now[new.id]
        # An Update scores the links of a new text again.
        assert unlikely(seen.links) == unlikely(one.links)
        assert (seen.memory.content, seen.memory.vector) == (new.content, new.vector)
        assert seen.memory.fields == new.fields
        for other in holders:
            memory = self.now[other].memory
            assert (memory.status, memory.superseded_by) == (Status.SUPERSEDED, new.id)
        self.check_untouched(before, {new.id, *holders}, set())

    @thrown(
        keys=several(3),
        wise=WISE,
        agent=AGENTS,
        stale=RARELY,
    )
    def forget(self, keys: list[int], wise: bool, agent: str, stale: bool) -> None:
        chosen = [
            self.choose(key, agent, wise, lambda one: not one.dead)
            for key in keys[-(keys[0] % 3) :]
        ]
        ids = list(dict.fromkeys(seen.memory.id for seen in chosen))
        command = forget(*ids, agent=agent)
        before = self.now
        going = [
            memory_id
            for memory_id in ids
            if not before[memory_id].dead and before[memory_id].may_be_seen_by(agent)
        ]
        if len(ids) == 1 and not going:
            self.refuses(command, errors.NotFound)
            return
        if stale and going:
            late = replace(command, expected_revisions=((going[0], 10**6),))
            self.refuses(late, errors.StaleRevision)
        pairs = {
            frozenset([(memory_id, target, type_), other_way((memory_id, target, type_))])
            for memory_id in going
            for target, type_, *_ in before[memory_id].links
            if before[target].may_be_seen_by(agent)
        }
        found = self.apply(command, changes=bool(going))
        assert [memory.id for memory in found.memories] == going
        assert set(found.missing_ids) == set(ids) - set(going)
        assert found.unlinked_count == len(pairs)
        for memory_id in going:
            assert self.now[memory_id].dead
            assert not self.now[memory_id].links
        self.check_untouched(before, set(going), set(going))

    @thrown(
        source=KEYS,
        to=KEYS,
        wise=WISE,
        type_=list(LinkType),
        confidence=[0.0, 0.5, 1.0],
        agent=AGENTS,
    )
    def link(
        self,
        source: int,
        to: int,
        wise: bool,
        type_: LinkType,
        confidence: float,
        agent: str,
    ) -> None:
        one = self.choose(source, agent, wise)
        other = self.choose(to, agent, wise, lambda each: each.live and each is not one)
        mine, theirs = one.memory.id, other.memory.id
        command = link(mine, theirs, type_, agent=agent, confidence=confidence)
        wrong: list[type[errors.TotonoeError]] = []
        if not (one.may_be_seen_by(agent) and other.may_be_seen_by(agent)):
            wrong.append(errors.NotFound)
        if not (one.live and other.live):
            wrong.append(errors.Precondition)
        if one is other:
            wrong.append(errors.InvalidArgument)
        if wrong:
            self.refuses(command, *wrong)
            return
        before = self.now
        found = self.apply(command, changes=True)
        assert found.created is ((mine, theirs, type_.value) not in pairs_of(before))
        assert pairs_of(self.now)[mine, theirs, type_.value] == (confidence, "")
        self.check_untouched(before, set(), {mine, theirs})

    @thrown(at=KEYS, to=KEYS, wise=WISE, all_types=BOTH, agent=AGENTS)
    def unlink(self, at: int, to: int, wise: bool, all_types: bool, agent: str) -> None:
        def linked(each: Seen) -> bool:
            return any(self.now[target].may_be_seen_by(agent) for target, *_ in each.links)

        one = self.choose(at, agent, wise, lambda each: each.live and linked(each))
        if wise and not linked(one):
            return
        targets = {target for target, *_ in one.links}
        other = self.choose(to, agent, wise, lambda each: each.memory.id in targets)
        mine, theirs = one.memory.id, other.memory.id
        types = sorted(type_ for target, type_, *_ in one.links if target == theirs)
        wanted = None if all_types or not types else LinkType(types[0])
        command = unlink(mine, theirs, wanted, agent=agent)
        if not (one.may_be_seen_by(agent) and other.may_be_seen_by(agent) and types):
            self.refuses(command, errors.NotFound)
            return
        before = self.now
        found = self.apply(command, changes=True)
        gone = set(types) if wanted is None else {wanted.value}
        assert {each.type.value for each in found.removed} == gone
        left = {type_ for target, type_, *_ in self.now[mine].links if target == theirs}
        assert left == set(types) - gone
        self.check_untouched(before, set(), {mine, theirs})

    @thrown(preset=sorted(PRESETS), now=RARELY)
    def change_settings(self, preset: str, now: bool) -> None:
        if now:
            before = self.now
            self.apply(change(("guard.preset", preset)), changes=True)
            self.policy = preset
            self.check_untouched(before, set(), set())

    @precondition(lambda self: self.replies)
    @thrown(key=KEYS)
    def replay(self, key: int) -> None:
        operation_id, (commands, first) = list(self.replies.items())[key % len(self.replies)]
        again = self.store.apply(*commands, operation_id=operation_id)
        assert again.replayed
        assert (again.revision, again.results) == (first.revision, first.results)

    @thrown(text=TEXTS, vector=range(len(VECTORS)), agent=AGENTS)
    def recall(self, text: str, vector: int, agent: str) -> None:
        query = RecallQuery(agent, text, VECTORS[vector].tobytes(), k=1000)
        found = self.store.recall(query)
        ids = [hit.memory.id for hit in found.hits]
        self.found_by_recall(query, ids)
        readable = {
            memory_id: seen.memory
            for memory_id, seen in self.now.items()
            if seen.live and seen.may_be_seen_by(agent)
        }
        words = {*words_of(text).split()}
        # By a vector all that have one; by words at least those that share a whole one.
        expected = {
            memory_id
            for memory_id, memory in readable.items()
            if (query.vector and memory.vector) or words & {*words_of(memory.content).split()}
        }
        assert len(ids) == len(set(ids))
        assert expected <= set(ids) <= readable.keys()
        assert found.revision == self.revision

    @thrown(crash=BOTH, now=RARELY)
    def restart(self, crash: bool, now: bool) -> None:
        if not now:
            return
        if not crash:
            self.store.engine.close(wait_s())
            self.check_files()
            self.store = Store(self.directory, clock=self.store.clock)
            self.check_index()
            return
        # What a crash leaves: the files as they are, copied from under the engine.
        other = Path(tempfile.mkdtemp(prefix="totonoe-machine-"))
        shutil.copytree(self.directory, other, dirs_exist_ok=True)
        clock = self.store.clock
        self.store.close()
        shutil.rmtree(self.directory)
        self.directory = other
        self.store = Store(other, clock=clock)
        self.crashed()
        self.check_index()

    def check_index(self) -> None:
        """What was loaded, from a checkpoint or not, is what all rows say."""
        opened = self.store.engine._collections.opened(self.store.collection).result(wait_s())
        state = opened._state

        def rebuilt() -> CollectionIndex:
            return loading.rebuilt(state.file, state.info, state.index.access())

        assert_same_index(state.index, opened._on_writer(rebuilt).result(wait_s()))
