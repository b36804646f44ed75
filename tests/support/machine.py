"""A state machine against a dict: whatever the order, the engine holds what it was given.

Rules are calls. Most of the time they choose what is allowed, now and then anything. After each
operation all that lies in the file is looked at and kept: what an Undo, an `as_of`, a history or a
Watch must give is read off that. This is the ground;
`support.machine_rules` has the plain calls, `support.past_machine` episodes and the past,
`support.reversing` merging, superseding, taking back and purging.
"""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize

from support.engines import (
    Store,
    change,
    remember,
)
from support.machine_parts import (
    FIELDS,
    FIRST,
    PRESETS,
    VECTORS,
    Done,
    Seen,
    State,
    links_of,
    other_way,
    pairs_of,
    unlikely,
)
from support.models import Decision, decide, refusing_form
from support.waits import wait_s
from totonoe_core.base import errors, ids
from totonoe_core.domain.commands import Applied, Command
from totonoe_core.domain.graph import LinkMemories
from totonoe_core.domain.queries import RecallQuery
from totonoe_core.domain.records import Fields, Memory, StateKind, Status
from totonoe_core.store.sqlite.reader import Rows
from totonoe_core.store.sqlite.schema import open_reader


def vars_of(fields: Fields) -> dict[str, Any]:
    """What is said of a memory: fields that are not as they are without a word."""
    plain = Fields()
    named = {name: getattr(fields, name) for name in FIELDS}
    return {name: value for name, value in named.items() if value != getattr(plain, name)}


class EngineMachine(RuleBasedStateMachine):
    """The engine, what was seen of it after each operation, and what a call must leave."""

    SETTINGS: tuple[tuple[str, Any], ...] = ()
    """What else is set in the beginning."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp(prefix="totonoe-machine-"))
        # The same in each run of the same rules: ids break ties.
        generator = random.Random(0)
        self.ids = mock.patch.object(
            ids.secrets, "token_hex", lambda size: generator.randbytes(size).hex()
        )
        self.ids.start()
        self.store = Store(self.directory)
        self.policy = "standard"
        self.revision = 0
        self.past: list[State] = [{}]
        self.done: list[Done] = [Done("", "", 0)]
        self.replies: dict[str, tuple[tuple[Command, ...], Applied]] = {}
        self.purged: dict[str, Seen] = {}
        self.marks = 0
        self.asked = 0

    def teardown(self) -> None:
        self.store.close()
        self.ids.stop()
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
            seen = (state for state in ones if state.may_be_seen_by(agent))
            ones = [state for state in seen if allowed(state)] or ones
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
            memories = [
                memory for memory in rows.all_memories() if memory.status is not Status.PURGED
            ]
            links = rows.links([memory.row for memory in memories])
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

    def applied(
        self, command: Command, changes: bool | None = None, more: tuple[Command, ...] = ()
    ) -> Applied:
        """The same with its revision; `None`: the answer alone says whether it changes.

        `more` are commands of the same operation.
        """
        self.store.clock.advance(1000)
        self.asked += 1
        operation_id = f"op-{self.asked}"
        answer = self.store.apply(command, *more, operation_id=operation_id)
        if changes is None:
            changes = answer.revision > self.revision
        self.revision += changes
        assert answer.revision == self.revision
        assert not answer.replayed
        self.replies[operation_id] = (command, *more), answer
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
            key for key, seen in after.items() if seen.memory.revision == self.revision
        )
        force = bool(getattr(command, "force", False))
        now_us = self.store.clock.now_us
        done = Done(type(command).__name__, command.agent_id, now_us, rows, changed, force=force)
        done.settings = done.kind == "ChangeSettings"
        self.done.append(done)

    def refuses(self, command: Command, *kinds: type[errors.TotonoeError]) -> None:
        self.refuses_all((command,), *kinds)

    def refuses_all(self, commands: tuple[Command, ...], *kinds: type[errors.TotonoeError]) -> None:
        with pytest.raises(kinds):
            self.store.apply(*commands)

    def orders(self) -> dict[str, int]:
        """Which of equally near ones was written first is as the engine has it, by slot."""
        index = self.store.engine._collections.opened("default").result(wait_s())._state.index
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
            seen.known(orders[memory_id])
            for memory_id, seen in (self.now if state is None else state).items()
            if memory_id not in gone
        ]
        asked = replace(Seen(new, frozenset()).known(0), agent=agent)
        found = decide(known, asked, PRESETS[self.policy], force)
        if new.fields.key is not None and found.method != "exact":
            # Under a key nothing but the same text is a duplicate: it is a new value.
            return replace(found, method="none", duplicate="", similarity=0.0)
        return found

    def holders(self, agent: str, fields: Fields) -> list[str]:
        """Live memories whose place an agent's value of their typed key takes.

        A private one takes that of private ones only.
        """
        return [
            memory_id
            for memory_id, seen in self.now.items()
            if fields.key and seen.live and seen.memory.fields.key == fields.key
            if seen.may_be_seen_by(agent) and seen.memory.fields.private >= fields.private
        ]

    def taken(self, agent: str, external_id: str, without: str = "") -> bool:
        """Whether a memory that an agent sees and that is not dead has an external id."""
        return bool(external_id) and any(
            seen.memory.fields.external_id == external_id
            and not seen.dead
            and seen.may_be_seen_by(agent)
            for memory_id, seen in self.now.items()
            if memory_id != without
        )

    def grown(self, command: Any, replaced: tuple[str, ...]) -> Memory | None:
        """The summary whose next version a Remember is: the newest of its scope, if any."""
        said, now_us = command.fields, self.store.clock.now_us
        if said.state_kind is not StateKind.SUMMARY or command.force or replaced or said.key:
            return None

        def over(fields: Fields) -> bool:
            return fields.valid_to_us is not None and fields.valid_to_us <= now_us

        scope = []
        for seen in self.now.values():
            memory, fields = seen.memory, seen.memory.fields
            alike = ("state_kind", "private", "category", "thread_id", "session_id", "key")
            if (
                seen.live
                and not over(said)
                and not over(fields)
                and all(getattr(fields, name) == getattr(said, name) for name in alike)
                and (memory.agent_id == command.agent_id or (said.session_id and not said.private))
                and said.external_id in ("", fields.external_id)
            ):
                scope.append(memory)
        return max(scope, key=lambda memory: (memory.created_us, memory.row), default=None)

    def grow(self, command: Any, before: Memory) -> None:
        """The same where the text is the next version of a memory."""
        said = vars_of(command.fields)
        if "valid_to_us" in said:
            said["valid_from_us"] = None
        fields = replace(before.fields, **said)
        new = replace(before, content=command.content, vector=command.vector, fields=fields)
        asked = replace(new, agent_id=command.agent_id)
        same = (
            refusing_form(new.content) == refusing_form(before.content)
            and fields.payload == before.fields.payload
        )
        # What says it already refuses it.
        asked = replace(asked, id="" if same else before.id)
        expected = self.decide(command.agent_id, asked)
        would = self.store.check(command)
        assert would.would_save is not bool(expected.duplicate)
        assert would.grown_id == ("" if expected.duplicate else before.id)
        state = self.now
        found = self.apply(command, changes=not expected.duplicate)
        assert found.guard.method.value == expected.method
        if expected.duplicate:
            assert (found.memory_id, found.grown_id) == (expected.duplicate, "")
            return
        assert (found.saved, found.memory_id, found.grown_id) == (True, before.id, before.id)
        assert (found.links, found.superseded_ids) == ((), ())
        after = self.now[before.id]
        stamps = {"revision": self.revision, "updated_us": after.memory.updated_us}
        assert after.memory == replace(new, content_hash=after.memory.content_hash, **stamps)
        # A new text is asked about anew.
        assert unlikely(after.links) == unlikely(state[before.id].links)
        self.check_untouched(state, {before.id}, set())

    def save(self, command: Any, replaced: tuple[str, ...] = ()) -> None:
        """A Remember, and all that it must answer and leave."""
        grown = self.grown(command, replaced)
        if grown is not None:
            self.grow(command, grown)
            return
        agent, fields = command.agent_id, command.fields
        new = Memory(
            0, "", command.content, b"", command.vector, agent, fields, 0, 0, Status.ACTIVE, "", 0
        )
        expected = self.decide(agent, new, command.force, replaced)
        before, holders = self.now, self.holders(agent, fields)
        holders = [holder for holder in holders if holder not in replaced]
        if expected.duplicate:
            self.repeat(command, expected, replaced, holders)
            return
        if self.taken(agent, fields.external_id):
            with pytest.raises(errors.AlreadyExists):
                self.store.check(command)
            self.refuses(command, errors.AlreadyExists)
            return
        would = self.store.check(command)
        assert would.would_save
        assert would.superseded_ids[: len(replaced)] == replaced
        assert set(would.superseded_ids[len(replaced) :]) == set(holders)
        found = self.apply(command, changes=True)
        assert found.guard.method.value == expected.method
        assert (found.saved, found.grown_id) == (True, "")
        assert found.memory_id not in {*before, *self.purged}, "ids are never used twice"
        seen = self.now[found.memory_id]
        assert seen.memory.fields == fields
        assert (seen.memory.content, seen.memory.vector) == (command.content, command.vector)
        assert seen.links == links_of(replace(seen.memory, links=found.links))
        assert len(found.links) <= 5
        assert all(before[link.target_id].may_be_seen_by(agent) for link in found.links)
        superseded = found.superseded_ids
        assert superseded[: len(replaced)] == replaced
        assert set(superseded[len(replaced) :]) == set(holders)
        for other in superseded:
            memory = self.now[other].memory
            assert (memory.status, memory.superseded_by) == (Status.SUPERSEDED, found.memory_id)
        self.check_untouched(before, {*superseded, found.memory_id}, {found.memory_id})

    def repeat(
        self, command: Any, expected: Any, replaced: tuple[str, ...], holders: list[str]
    ) -> None:
        """The same where a live memory says it: that one takes the place of the others."""
        before, kept = self.now, expected.duplicate
        hidden = before[kept].memory.fields.private
        private = {memory_id for memory_id in before if before[memory_id].memory.fields.private}
        if hidden and not private.issuperset(replaced):
            self.refuses(command, errors.InvalidArgument)
            return
        others = {
            holder for holder in holders if holder != kept and (not hidden or holder in private)
        }
        would = self.store.check(command)
        gone = would.superseded_ids
        assert (would.would_save, gone[: len(replaced)]) == (False, replaced)
        assert set(gone[len(replaced) :]) == others
        found = self.apply(command, changes=bool(gone))
        assert found.guard.method.value == expected.method
        assert (found.saved, found.memory_id, found.superseded_ids) == (False, kept, gone)
        for item in gone:
            memory = self.now[item].memory
            assert (memory.status, memory.superseded_by) == (Status.SUPERSEDED, kept)
        self.check_untouched(before, {kept, *gone}, {kept})
        now, was = self.now[kept], before[kept]
        assert now.memory == was.memory
        assert {each[:2] for each in now.links ^ was.links} <= {(item, "updates") for item in gone}

    def check_untouched(self, before: State, changed: set[str], linked: set[str]) -> None:
        """Nothing is different but what changed, and links that lead to what was linked.

        What changes its text is asked about anew: so questions may lead to it or no longer.
        """
        assert before.keys() - changed <= self.now.keys()
        for memory_id in before.keys() - changed:
            one, other = before[memory_id], self.now[memory_id]
            assert one.memory == other.memory
            differing = {each for each in one.links ^ other.links if each[0] not in linked}
            assert {each[:2] for each in differing} <= {(it, "likely_same") for it in changed}

    def found_by_recall(self, query: RecallQuery, ids: list[str]) -> None:
        """What a Recall answered."""

    def crashed(self) -> None:
        """It was started again from what a crash left."""

    def check_files(self) -> None:
        """Of what was purged no byte is left in a closed directory."""
        words = [seen.memory.fields.attributes["mark"].encode() for seen in self.purged.values()]
        for path in self.directory.rglob("*") if words else ():
            data = path.read_bytes() if path.is_file() else b""
            assert not [word for word in words if word in data], f"purged bytes in {path.name}"

    # -- Rules

    @initialize(preset=st.sampled_from(sorted(PRESETS)))
    def begin(self, preset: str) -> None:
        self.policy = preset
        self.apply(change(("guard.preset", preset), *self.SETTINGS), changes=True)
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
