"""A state machine against a dict: whatever the order, the engine holds what it was given.

Rules are calls. Most of the time they choose what is allowed, now and then anything. After each
operation all that lies in the file is looked at and kept: what an Undo, an `as_of`, a history or a
Watch must give is read off that. `support.past_machine` adds episodes and the past,
`support.reversing` merging, superseding, taking back and purging.
"""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from support.engines import (
    DAY_US,
    NOON,
    WAIT_S,
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
from support.models import Decision, Known, Thresholds, decide
from totonoe_core import errors
from totonoe_core.commands import Applied, Command, LinkMemories
from totonoe_core.queries import RecallQuery
from totonoe_core.records import Fields, Kind, LinkType, Memory, StateKind, Status, TypedKey
from totonoe_core.store.reader import Rows
from totonoe_core.store.schema import open_reader

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
    (Kind.STATE, StateKind.FACT),
    (Kind.STATE, StateKind.TASK),
    (Kind.EVENT, StateKind.NONE),
    (Kind.AFFECT, StateKind.NONE),
]
FACT, EVENT = KINDS[0], KINDS[4]
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
FIRST = [
    ("pump hot", 0, FACT, "anna", False),
    ("valve cold", 1, FACT, "ben", False),
    ("motor old", 2, FACT, "anna", False),
    ("pump old", 5, FACT, "ben", False),
    ("pump cold", 3, FACT, "anna", False),
    ("valve old", 4, FACT, "ben", False),
    ("valve hot", 1, FACT, "anna", True),
    ("motor cold", 2, FACT, "anna", True),
    ("motor hot", 2, EVENT, "ben", False),
]

KEYS = range(1000)
WISE = [True] * 7 + [False]
RARELY = [False] * 5 + [True]
BOTH = [False, True]
Pair = tuple[str, str, str]


Choices = Sequence[Any] | Callable[[random.Random], Any]


def thrown(**choices: Choices) -> Callable[[Callable[..., None]], Any]:
    """A rule whose arguments are chosen by throwing dice, each value as often as the others.

    Hypothesis prefers simple values, so that hardly ever three of them are not at once.
    """

    def decorate(call: Callable[..., None]) -> Any:
        def throw(self: EngineMachine, dice: int) -> None:
            generator = random.Random(f"{dice} {self.revision}")
            call(
                self,
                **{
                    name: values(generator) if callable(values) else generator.choice(values)
                    for name, values in choices.items()
                },
            )

        throw.__name__, throw.__doc__ = call.__name__, call.__doc__
        return rule(dice=st.integers(0, 2**32))(throw)

    return decorate


def several(at_most: int) -> Callable[[random.Random], list[int]]:
    """Up to so many keys, one for the most part."""

    def draw(generator: random.Random) -> list[int]:
        count = generator.choice([1, 1, *range(1, at_most + 1)])
        return [generator.choice(KEYS) for _ in range(count)]

    return draw


def named(often: float, **choices: Sequence[Any]) -> Callable[[random.Random], dict[str, Any]]:
    """Fields by name, each of them as often."""

    def draw(generator: random.Random) -> dict[str, Any]:
        return {
            name: generator.choice(values)
            for name, values in choices.items()
            if generator.random() < often
        }

    return draw


@dataclass(frozen=True)
class Seen:
    """A memory as it lies in the file, and its links."""

    memory: Memory
    links: frozenset[tuple[str, str, float, str]]

    @property
    def live(self) -> bool:
        return self.memory.status is Status.ACTIVE

    @property
    def dead(self) -> bool:
        return self.memory.status is Status.FORGOTTEN

    def may_be_seen_by(self, agent: str) -> bool:
        return not self.memory.fields.private or self.memory.agent_id == agent

    def known(self, order: int) -> Known:
        """As the oracle of the guard knows it."""
        memory, fields = self.memory, self.memory.fields
        return Known(
            memory.id,
            memory.content,
            np.frombuffer(memory.vector, np.float32),
            memory.agent_id,
            fields.kind.value,
            fields.state_kind.value,
            fields.private,
            said_beside(fields),
            fields.session_id,
            self.live,
            order,
        )


State = Mapping[str, Seen]


def said_beside(fields: Fields) -> dict[str, Any]:
    """Payload and typed key: equal texts say the same only if these are equal too."""
    return {"payload": fields.payload, "key": fields.key}


def bare(memory: Memory) -> Memory:
    """A memory without links, access figures, vector and row number: as an answer has it."""
    return replace(memory, links=(), last_access_us=None, access_count=0, vector=b"", row=0)


def links_of(memory: Memory) -> frozenset[tuple[str, str, float, str]]:
    return frozenset(
        (one.target_id, one.type.value, one.confidence, one.note) for one in memory.links
    )


def pairs_of(state: State) -> dict[Pair, tuple[float, str]]:
    """Each link by its ends, once from either side."""
    return {
        (memory_id, target, type_): (confidence, note)
        for memory_id, seen in state.items()
        for target, type_, confidence, note in seen.links
    }


def other_way(pair: Pair) -> Pair:
    source, target, type_ = pair
    return target, source, LinkType(type_).inverse.value


@dataclass
class Done:
    """An operation: who did it, what it changed; `undoes` is the revision that it took back."""

    kind: str
    agent: str
    time_us: int
    rows: frozenset[str] = frozenset()
    pairs: set[Pair] = field(default_factory=set)
    episode: str = ""
    settings: bool = False
    force: bool = False
    undoes: int = 0


class EngineMachine(RuleBasedStateMachine):
    """Rules are calls; the model carries out each one by itself and compares."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp(prefix="totonoe-machine-"))
        self.store = Store(self.directory)
        self.policy = "standard"
        self.revision = 0
        self.past: list[State] = [{}]
        self.done: list[Done] = [Done("", "", 0)]
        self.last_touch: dict[Pair, int] = {}
        self.replies: dict[str, tuple[Command, Applied]] = {}
        self.purged: dict[str, Seen] = {}
        self.marks = 0

    def teardown(self) -> None:
        self.store.close()
        self.check_files()
        shutil.rmtree(self.directory)

    # -- The model's own means

    @property
    def now(self) -> State:
        return self.past[-1]

    def choose(
        self,
        key: int,
        agent: str,
        wise: bool,
        allowed: Callable[[Seen], bool] = lambda one: one.live,
    ) -> Seen:
        """Any memory; a wise choice is one that the agent sees and that is allowed, if any is."""
        ones = list(self.now.values())
        if wise:
            seen = (one for one in ones if one.may_be_seen_by(agent))
            ones = [one for one in seen if allowed(one)] or ones
        return ones[key % len(ones)]

    def mark(self) -> str:
        """A word that no other memory has: by it the bytes of a purged one are looked for."""
        self.marks += 1
        return f"mark-{self.marks:04}-of-this-memory"

    def observe(self) -> State:
        """Everything that lies in the file, but tombstones."""
        connection = open_reader(self.store.file())
        try:
            rows = Rows(connection)
            memories = [one for one in rows.all_memories() if one.status is not Status.PURGED]
            links = rows.links([one.row for one in memories])
        finally:
            connection.close()
        found = {}
        for memory in memories:
            held = links_of(replace(memory, links=tuple(link for _, link in links[memory.row])))
            seen, before = Seen(memory, held), self.now.get(memory.id)
            found[memory.id] = before if before == seen else seen
        return found

    def apply(self, command: Command, changes: bool) -> Any:
        """The command's result; the revision moves by one if something changed."""
        return self.applied(command, changes).results[0]

    def applied(self, command: Command, changes: bool | None = None) -> Applied:
        """The same with its revision; `None`: the answer alone says whether it changes."""
        self.store.clock.advance(1000)
        operation_id = f"op-{len(self.replies)}-{self.revision}"
        answer = self.store.apply(command, operation_id=operation_id)
        if changes is None:
            changes = answer.revision > self.revision
        self.revision += changes
        assert answer.revision == self.revision
        assert not answer.replayed
        self.replies[operation_id] = command, answer
        if changes:
            self.keep(command)
        return answer

    def keep(self, command: Command) -> None:
        """Keeps what is there after an operation, and what of it the operation touched."""
        before, after = self.now, self.observe()
        self.past.append(after)
        old, new = pairs_of(before), pairs_of(after)
        changed = {pair for pair in old.keys() | new.keys() if old.get(pair) != new.get(pair)}
        if isinstance(command, LinkMemories):
            pair = (command.source_id, command.target_id, command.type.value)
            changed |= {pair, other_way(pair)}
        rows = frozenset(
            one for one, seen in after.items() if seen.memory.revision == self.revision
        )
        force = bool(getattr(command, "force", False))
        now_us = self.store.clock.now_us
        done = Done(type(command).__name__, command.agent_id, now_us, rows, changed, force=force)
        done.settings = done.kind == "ChangeSettings"
        self.done.append(done)
        self.last_touch |= dict.fromkeys(changed, self.revision)

    def refuses(self, command: Command, *kinds: type[errors.TotonoeError]) -> None:
        with pytest.raises(kinds):
            self.store.apply(command)

    def orders(self) -> dict[str, int]:
        """Which of equally near ones was written first is as the engine has it, by slot."""
        index = self.store.engine._collections.opened("default").result(WAIT_S)._state.index
        return {memory_id: index.slot_by_id.get(memory_id) for memory_id in self.now}

    def decide(
        self,
        agent: str,
        new: Memory,
        force: bool = False,
        replaced: Iterable[str] = (),
        state: State | None = None,
    ) -> Decision:
        """What the guard must say to a memory."""
        orders, gone = self.orders(), {new.id, *replaced}
        known = [
            one.known(orders[memory_id])
            for memory_id, one in (self.now if state is None else state).items()
            if memory_id not in gone
        ]
        asked = replace(Seen(new, frozenset()).known(0), agent=agent)
        found = decide(known, asked, PRESETS[self.policy], force)
        if new.fields.key is not None and found.method != "exact":
            # Under a key nothing but the same text is a duplicate: it is a new value.
            return replace(found, method="none", duplicate="", similarity=0.0)
        return found

    def holders(self, agent: str, key: TypedKey | None) -> list[str]:
        """Live memories with a typed key, as far as the agent sees."""
        return [
            memory_id
            for memory_id, one in self.now.items()
            if key and one.live and one.memory.fields.key == key and one.may_be_seen_by(agent)
        ]

    def taken(self, external_id: str, without: str = "") -> bool:
        """Whether a memory that is not dead has an external id."""
        return bool(external_id) and any(
            one.memory.fields.external_id == external_id and not one.dead
            for memory_id, one in self.now.items()
            if memory_id != without
        )

    def save(self, command: Any, replaced: tuple[str, ...] = ()) -> None:
        """A Remember, and all that it must answer and leave."""
        agent, fields = command.agent_id, command.fields
        new = Memory(
            0, "", command.content, b"", command.vector, agent, fields, 0, 0, Status.ACTIVE, "", 0
        )
        expected = self.decide(agent, new, command.force, replaced)
        would = self.store.check(command)
        assert would.would_save is not bool(expected.duplicate)
        if self.taken(fields.external_id) and not expected.duplicate:
            self.refuses(command, errors.AlreadyExists)
            return
        before, holders = self.now, self.holders(agent, fields.key)
        holders = [one for one in holders if one not in replaced]
        found = self.apply(command, changes=not expected.duplicate)
        assert found.guard.method.value == expected.method
        if expected.duplicate:
            assert found.memory_id == expected.duplicate
            return
        assert found.saved
        assert found.memory_id not in {*before, *self.purged}, "ids are never used twice"
        seen = self.now[found.memory_id]
        assert seen.memory.fields == fields
        assert (seen.memory.content, seen.memory.vector) == (command.content, command.vector)
        assert seen.links == links_of(replace(seen.memory, links=found.links))
        assert len(found.links) <= 5
        assert all(before[one.target_id].may_be_seen_by(agent) for one in found.links)
        superseded = found.superseded_ids
        assert superseded[: len(replaced)] == replaced
        assert set(superseded[len(replaced) :]) == set(holders)
        for one in superseded:
            memory = self.now[one].memory
            assert (memory.status, memory.superseded_by) == (Status.SUPERSEDED, found.memory_id)
        self.check_untouched(before, {*superseded, found.memory_id}, {found.memory_id})

    def check_untouched(self, before: State, changed: set[str], linked: set[str]) -> None:
        """Nothing is different but what changed, and links that lead to what was linked."""
        assert before.keys() - changed <= self.now.keys()
        for memory_id in before.keys() - changed:
            one, other = before[memory_id], self.now[memory_id]
            assert one.memory == other.memory
            assert {each for each in one.links ^ other.links if each[0] not in linked} == set()

    def check_files(self) -> None:
        """Of what was purged no byte is left in a closed directory."""
        words = [one.memory.fields.attributes["mark"].encode() for one in self.purged.values()]
        for path in self.directory.rglob("*") if words else ():
            data = path.read_bytes() if path.is_file() else b""
            assert not [word for word in words if word in data], f"purged bytes in {path.name}"

    # -- Rules

    @initialize(preset=st.sampled_from(sorted(PRESETS)))
    def begin(self, preset: str) -> None:
        self.policy = preset
        self.apply(change(("guard.preset", preset)), changes=True)
        for text, vector, kind, agent, private in FIRST:
            self.save(
                remember(
                    text,
                    agent=agent,
                    vector=VECTORS[vector],
                    force=True,
                    kind=kind[0],
                    state_kind=kind[1],
                    private=private,
                    attributes={"mark": self.mark()},
                )
            )

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
        new = replace(one.memory, fields=replace(one.memory.fields, **named))
        if text is not None:
            named |= {"content": text, "vector": VECTORS[vector]}
            new = replace(new, content=text, vector=VECTORS[vector].tobytes())
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
        external_id = new.fields.external_id
        if external_id != one.memory.fields.external_id and self.taken(external_id, new.id):
            self.refuses(command, errors.AlreadyExists)
            return
        duplicate = ""
        if {"content", "payload", "private"} & named.keys():
            duplicate = self.decide(agent, new, force).duplicate
        before, holders = self.now, set()
        if one.memory.fields.private > new.fields.private:
            # In more sight than before it is the value of its key.
            holders = {*self.holders(agent, new.fields.key)} - {new.id}
        found = self.apply(command, changes=not duplicate)
        assert found.updated is not bool(duplicate)
        if duplicate:
            assert found.guard.duplicate.memory_id == duplicate
            return
        seen = self.now[new.id]
        assert seen.links == one.links
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
        ids = list(dict.fromkeys(one.memory.id for one in chosen))
        command = forget(*ids, agent=agent)
        before = self.now
        going = [one for one in ids if not before[one].dead and before[one].may_be_seen_by(agent)]
        if len(ids) == 1 and not going:
            self.refuses(command, errors.NotFound)
            return
        if stale and going:
            late = replace(command, expected_revisions=((going[0], 10**6),))
            self.refuses(late, errors.StaleRevision)
        pairs = {
            frozenset([(one, target, type_), other_way((one, target, type_))])
            for one in going
            for target, type_, *_ in before[one].links
        }
        found = self.apply(command, changes=bool(going))
        assert [memory.id for memory in found.memories] == going
        assert set(found.missing_ids) == set(ids) - set(going)
        assert found.unlinked_count == len(pairs)
        for one in going:
            assert self.now[one].dead
            assert not self.now[one].links
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
        operation_id, (command, first) = list(self.replies.items())[key % len(self.replies)]
        again = self.store.apply(command, operation_id=operation_id)
        assert again.replayed
        assert (again.revision, again.results) == (first.revision, first.results)

    @thrown(text=TEXTS, vector=range(len(VECTORS)), agent=AGENTS)
    def recall(self, text: str, vector: int, agent: str) -> None:
        query = RecallQuery(agent, text, VECTORS[vector].tobytes(), k=1000)
        found = self.store.recall(query)
        ids = [hit.memory.id for hit in found.hits]
        expected = {
            memory_id
            for memory_id, one in self.now.items()
            if one.live and one.may_be_seen_by(agent)
        }
        assert len(ids) == len(set(ids))
        assert set(ids) == expected
        assert found.revision == self.revision

    @thrown(crash=BOTH, now=RARELY)
    def restart(self, crash: bool, now: bool) -> None:
        if not now:
            return
        if not crash:
            self.store.engine.close(WAIT_S)
            self.check_files()
            self.store = Store(self.directory, clock=self.store.clock)
            return
        # What a crash leaves: the files as they are, copied from under the engine.
        other = Path(tempfile.mkdtemp(prefix="totonoe-machine-"))
        shutil.copytree(self.directory, other, dirs_exist_ok=True)
        clock = self.store.clock
        self.store.close()
        shutil.rmtree(self.directory)
        self.directory = other
        self.store = Store(other, clock=clock)
