"""A state machine against a dict: whatever the order, the engine holds what it was given.

`support.reversing` adds merging, taking back, purging and the past.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from support.engines import (
    Store,
    change,
    forget,
    link,
    remember,
    unlink,
    update,
    vector_at,
    vector_of,
)
from support.models import Known, Thresholds, decide
from totonoe_core import errors
from totonoe_core.commands import Applied, Command
from totonoe_core.queries import Filter, RecallQuery
from totonoe_core.records import Kind, LinkType, StateKind, Status

AGENTS = ["anna", "ben"]
TEXTS = [
    f"{first} {second}{end}"
    for first in ("pump", "valve", "Pump", "motor")
    for second in ("hot", "cold", "old")
    for end in ("", ".")
]
KINDS = [
    (Kind.STATE, StateKind.FACT),
    (Kind.STATE, StateKind.FACT),
    (Kind.STATE, StateKind.TASK),
    (Kind.EVENT, StateKind.NONE),
    (Kind.AFFECT, StateKind.NONE),
]
PRESETS = {
    "standard": Thresholds(),
    "ego": Thresholds(exact=False, cosine_distance_below=0.05, judged=False, similar_above=0.7),
    "robotmem": Thresholds(
        jaccard_above=0.70,
        cosine_at_least=0.85,
        session_cosine_at_least=0.85,
        judged=False,
        similar_above=0.40,
        tokenizer="whitespace",
    ),
}
# A few directions, some near to each other: the layers by vector get their share.
VECTORS = [vector_of("a"), vector_of("b"), vector_of("c")]
VECTORS += [vector_at(VECTORS[0], cosine, 7) for cosine in (0.97, 0.9, 0.75)]


@dataclass
class Held(Known):
    """What the model holds of a memory."""

    row: int = 0
    importance: int = 3
    external_id: str = ""
    links: dict[tuple[str, str], float] = field(default_factory=dict)
    status: str = "active"
    superseded_by: str = ""
    texts: set[str] = field(default_factory=set)

    @property
    def dead(self) -> bool:
        return self.status in ("forgotten", "purged")


Keys = st.integers(0, 40)


class EngineMachine(RuleBasedStateMachine):
    """Rules are calls; the model carries out each one by itself and compares."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp(prefix="totonoe-machine-"))
        self.store = Store(self.directory)
        self.policy = "standard"
        self.revision = 0
        self.memories: dict[str, Held] = {}
        self.replies: dict[str, tuple[str, Command, Applied]] = {}
        self.operation = 0
        self.order = 0

    def teardown(self) -> None:
        self.store.close()
        shutil.rmtree(self.directory)

    # -- The model's own means

    def some(self, key: int, live: bool = True) -> Held:
        found = [one for one in self.memories.values() if one.live or not live]
        assume(found)
        return found[key % len(found)]

    def visible(self, one: Held, agent: str) -> bool:
        return not one.private or one.agent == agent

    def apply(self, command: Command, changes: bool) -> Any:
        """The command's result; the revision moves by one if something changed."""
        self.operation += 1
        operation_id = f"op-{self.operation}"
        self.store.clock.advance(1000)
        answer = self.store.apply(command, operation_id=operation_id)
        self.revision += changes
        assert answer.revision == self.revision
        assert not answer.replayed
        self.replies[operation_id] = (operation_id, command, answer)
        return answer.results[0]

    def refuses(self, command: Command, kind: type[errors.TotonoeError]) -> None:
        with pytest.raises(kind):
            self.store.apply(command)

    def known(self, without: str = "") -> list[Known]:
        return [one for one in self.memories.values() if one.id != without]

    def join(self, source: str, target: str, type_: LinkType, confidence: float) -> None:
        self.memories[source].links[target, type_.value] = confidence
        self.memories[target].links[source, type_.inverse.value] = confidence

    # -- Rules

    @initialize(preset=st.sampled_from(sorted(PRESETS)))
    def begin(self, preset: str) -> None:
        self.policy = preset
        self.apply(change(("guard.preset", preset)), changes=True)

    @rule(
        text=st.sampled_from(TEXTS),
        vector=st.integers(0, len(VECTORS) - 1),
        kind=st.sampled_from(KINDS),
        agent=st.sampled_from(AGENTS),
        private=st.booleans(),
        force=st.sampled_from([False, False, False, True]),
        session=st.sampled_from(["", "s"]),
        external_id=st.sampled_from(["", "", "x1", "x2"]),
        payload=st.sampled_from([{}, {}, {"at": "shelf"}]),
    )
    def remember(
        self,
        text: str,
        vector: int,
        kind: tuple[Kind, StateKind],
        agent: str,
        private: bool,
        force: bool,
        session: str,
        external_id: str,
        payload: dict[str, Any],
    ) -> None:
        command = remember(
            text,
            agent=agent,
            vector=VECTORS[vector],
            force=force,
            kind=kind[0],
            state_kind=kind[1],
            private=private,
            session_id=session,
            external_id=external_id,
            payload=payload,
        )
        new = Held(
            id="",
            content=text,
            vector=VECTORS[vector],
            agent=agent,
            kind=kind[0].value,
            state_kind=kind[1].value,
            private=private,
            payload=payload,
            session=session,
            external_id=external_id,
        )
        expected = decide(self.known(), new, PRESETS[self.policy], force)
        would = self.store.check(command)
        assert would.would_save is not bool(expected.duplicate)
        taken = {one.external_id for one in self.memories.values() if not one.dead} - {""}
        if external_id in taken and not expected.duplicate:
            self.refuses(command, errors.AlreadyExists)
            return
        found = self.apply(command, changes=not expected.duplicate)
        assert found.guard.method.value == expected.method
        if expected.duplicate:
            assert found.memory_id == expected.duplicate
            return
        assert found.saved
        assert found.memory_id not in self.memories, "ids are never used twice"
        self.order += 1
        new.id, new.order = found.memory_id, self.order
        new.texts.add(text)
        self.memories[new.id] = new
        # Near-ties of these few vectors leave the choice of the sixteen open, not its rule.
        for one in found.links:
            assert self.visible(self.memories[one.target_id], agent)
            self.join(new.id, one.target_id, one.type, one.confidence)
        assert len(found.links) <= 5

    @precondition(lambda self: self.memories)
    @rule(
        key=Keys,
        agent=st.sampled_from(AGENTS),
        text=st.sampled_from([None, *TEXTS]),
        vector=st.integers(0, len(VECTORS) - 1),
        importance=st.sampled_from([None, 1, 5]),
        stale=st.booleans(),
        force=st.booleans(),
    )
    def update(
        self,
        key: int,
        agent: str,
        text: str | None,
        vector: int,
        importance: int | None,
        stale: bool,
        force: bool,
    ) -> None:
        assume(text is not None or importance is not None)
        one = self.some(key, live=False)
        named: dict[str, Any] = {}
        if text is not None:
            named |= {"content": text, "vector": VECTORS[vector]}
        if importance is not None:
            named["importance"] = importance
        command = update(one.id, agent=agent, force=force, **named)
        if not self.visible(one, agent):
            self.refuses(command, errors.NotFound)
            return
        if not one.live:
            self.refuses(command, errors.Precondition)
            return
        if stale:
            late = update(one.id, agent=agent, expected_revision=self.revision + 1, **named)
            self.refuses(late, errors.StaleRevision)
        duplicate = ""
        if text is not None:
            new = Held(**{**vars(one), "content": text, "vector": VECTORS[vector], "agent": agent})
            duplicate = decide(self.known(one.id), new, PRESETS[self.policy], force).duplicate
        found = self.apply(command, changes=not duplicate)
        assert found.updated is not bool(duplicate)
        if duplicate:
            assert found.guard.duplicate.memory_id == duplicate
            return
        if text is not None:
            one.content, one.vector = text, VECTORS[vector]
            one.texts.add(text)
        # Every update is a new version: of equally near ones it now counts as the last.
        self.order += 1
        one.order = self.order
        one.importance = importance or one.importance

    @precondition(lambda self: self.memories)
    @rule(keys=st.lists(Keys, min_size=1, max_size=3), agent=st.sampled_from(AGENTS))
    def forget(self, keys: list[int], agent: str) -> None:
        ids = list(dict.fromkeys(self.some(key, live=False).id for key in keys))
        command = forget(*ids, agent=agent)
        going = [
            one
            for one in (self.memories[memory_id] for memory_id in ids)
            if not one.dead and self.visible(one, agent)
        ]
        if len(ids) == 1 and not going:
            self.refuses(command, errors.NotFound)
            return
        pairs = {
            frozenset([(one.id, target, type_), (target, one.id, LinkType(type_).inverse.value)])
            for one in going
            for target, type_ in one.links
        }
        found = self.apply(command, changes=bool(going))
        assert [memory.id for memory in found.memories] == [one.id for one in going]
        assert set(found.missing_ids) == set(ids) - {one.id for one in going}
        assert found.unlinked_count == len(pairs)
        for one in going:
            one.live, one.status = False, "forgotten"
            for target, type_ in list(one.links):
                self.memories[target].links.pop((one.id, LinkType(type_).inverse.value), None)
            one.links.clear()

    @precondition(lambda self: len(self.memories) > 1)
    @rule(
        source=Keys,
        to=Keys,
        type_=st.sampled_from(list(LinkType)),
        confidence=st.sampled_from([0.0, 0.5, 1.0]),
        agent=st.sampled_from(AGENTS),
    )
    def link(self, source: int, to: int, type_: LinkType, confidence: float, agent: str) -> None:
        one, other = self.some(source), self.some(to)
        command = link(one.id, other.id, type_, agent=agent, confidence=confidence)
        if not (self.visible(one, agent) and self.visible(other, agent)):
            self.refuses(command, errors.NotFound)
        elif one is other:
            self.refuses(command, errors.InvalidArgument)
        else:
            found = self.apply(command, changes=True)
            assert found.created is ((other.id, type_.value) not in one.links)
            self.join(one.id, other.id, type_, confidence)

    @precondition(lambda self: len(self.memories) > 1)
    @rule(source=Keys, to=Keys, all_types=st.booleans(), agent=st.sampled_from(AGENTS))
    def unlink(self, source: int, to: int, all_types: bool, agent: str) -> None:
        one = self.some(source)
        targets = sorted({target_id for target_id, _ in one.links})
        other = self.memories[targets[to % len(targets)]] if targets else self.some(to)
        types = [type_ for target_id, type_ in one.links if target_id == other.id]
        wanted = None if all_types or not types else LinkType(types[0])
        command = unlink(one.id, other.id, wanted, agent=agent)
        visible = self.visible(one, agent) and self.visible(other, agent)
        if not visible or not types:
            self.refuses(command, errors.NotFound)
            return
        found = self.apply(command, changes=True)
        gone = types if wanted is None else [wanted.value]
        assert {one.type.value for one in found.removed} == set(gone)
        for type_ in gone:
            del one.links[other.id, type_]
            other.links.pop((one.id, LinkType(type_).inverse.value), None)

    @rule(preset=st.sampled_from(sorted(PRESETS)))
    def change_settings(self, preset: str) -> None:
        tokenizer = PRESETS[preset].tokenizer != PRESETS[self.policy].tokenizer
        self.apply(change(("guard.preset", preset)), changes=True)
        self.policy = preset
        if tokenizer:
            self.arrange_by_row()

    def arrange_by_row(self) -> None:
        """An index that is made again knows the newest versions only, by row."""
        for place, one in enumerate(self.memories.values()):
            one.order = place
        self.order = len(self.memories)

    @precondition(lambda self: self.replies)
    @rule(key=Keys)
    def replay(self, key: int) -> None:
        operation_id, command, first = sorted(self.replies.values(), key=lambda one: one[0])[
            key % len(self.replies)
        ]
        again = self.store.apply(command, operation_id=operation_id)
        assert again.replayed
        assert (again.revision, again.results) == (first.revision, first.results)

    @rule(text=st.sampled_from(TEXTS), vector=st.integers(0, 5), agent=st.sampled_from(AGENTS))
    def recall(self, text: str, vector: int, agent: str) -> None:
        query = RecallQuery(agent, text, VECTORS[vector].tobytes(), k=1000)
        found = self.store.recall(query)
        ids = [hit.memory.id for hit in found.hits]
        expected = {
            one.id for one in self.memories.values() if one.live and self.visible(one, agent)
        }
        assert len(ids) == len(set(ids))
        assert set(ids) == expected
        assert found.revision == self.revision

    @rule(crash=st.booleans())
    def restart(self, crash: bool) -> None:
        if crash:
            # What a crash leaves: the files as they are, copied from under the engine.
            other = Path(tempfile.mkdtemp(prefix="totonoe-machine-"))
            shutil.copytree(self.directory, other, dirs_exist_ok=True)
            clock = self.store.clock
            self.store.close()
            shutil.rmtree(self.directory)
            self.directory = other
            self.store = Store(other, clock=clock)
        else:
            self.store.reopen()
        self.arrange_by_row()

    # -- What always holds

    @invariant()
    def reads_agree_with_the_model(self) -> None:
        for agent in AGENTS:
            expected = {one.id: one for one in self.memories.values() if self.visible(one, agent)}
            listed = self.store.list(agent)
            assert {memory.id for memory in listed} == set(expected), "others' private is not seen"
            assert len(listed) == len(expected)
            for memory in listed:
                one = expected[memory.id]
                assert memory.content == one.content
                assert memory.status.value == one.status
                assert memory.superseded_by == one.superseded_by
                assert memory.fields.importance == one.importance
                assert memory.fields.external_id == one.external_id
                links = {
                    (each.target_id, each.type.value): each.confidence for each in memory.links
                }
                assert links == {
                    key: value
                    for key, value in one.links.items()
                    if self.visible(self.memories[key[0]], agent)
                }
            if listed:
                assert self.store.one(listed[0].id, agent) == listed[0]
            live = self.store.list(agent, Filter())
            assert [memory.id for memory in live] == [
                memory.id for memory in listed if memory.status is Status.ACTIVE
            ]

    @invariant()
    def links_are_held_by_both_ends(self) -> None:
        for one in self.memories.values():
            for (target, type_), confidence in one.links.items():
                back = self.memories[target].links
                assert back[one.id, LinkType(type_).inverse.value] == confidence

    @invariant()
    def links_lead_to_no_forgotten_memory(self) -> None:
        for one in self.memories.values():
            assert not any(self.memories[target].dead for target, _ in one.links)
            assert not (one.dead and one.links)

    @invariant()
    def counts_agree(self) -> None:
        figures = self.store.stats()
        live = sum(one.live for one in self.memories.values())
        assert figures.active_count == live
        assert figures.total_count == len(self.memories)
        forgotten = sum(one.status == "forgotten" for one in self.memories.values())
        assert figures.forgotten_count == forgotten
        assert figures.link_count == sum(len(one.links) for one in self.memories.values()) // 2
        assert figures.revision == self.revision

    @invariant()
    def revisions_are_gapless_and_no_text_is_lost_before_its_purge(self) -> None:
        if not self.memories:
            return
        connection = apsw.Connection(str(self.store.file()), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            revisions = [
                row[0]
                for row in connection.execute("SELECT revision FROM operation ORDER BY revision")
            ]
            texts = {row[0] for row in connection.execute("SELECT content FROM memory")}
            images = connection.execute("SELECT before FROM image WHERE entity = 'memory'")
            texts |= {json.loads(row[0])[3] for row in images}
        finally:
            connection.close()
        assert revisions == list(range(1, self.revision + 1))
        kept = set().union(*(one.texts for one in self.memories.values()))
        assert kept <= texts
