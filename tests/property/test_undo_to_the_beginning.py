"""Any history can be taken back newest first to its beginning, and done again to its end.

After each operation what a reader sees is kept: memories with text, vector, fields and status,
links, dismissals, episodes, settings, and what a search finds. Each step back and forth must show
the same. Left out are revisions, times of change and figures of access, which an Undo does not take
back. A memory that is not made yet is there, forgotten, without any link.

Taken back in any order, an operation takes nothing away that its answer does not name.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.engines import (
    Store,
    change,
    contents,
    dismiss,
    episode,
    forget,
    link,
    merge,
    opened,
    remember,
    undismiss,
    undo,
    unlink,
    update,
    vector_at,
    vector_of,
)
from totonoe_core.base import errors
from totonoe_core.domain.cleanup import CleanUpDuplicates, EndSession
from totonoe_core.domain.commands import Applied, Command
from totonoe_core.domain.graph import DeleteEpisode
from totonoe_core.domain.memories import Remember
from totonoe_core.domain.policy import Action, Tokenizer
from totonoe_core.domain.queries import RecallMode, RecallQuery
from totonoe_core.domain.questions import Answer, Resolve
from totonoe_core.domain.records import (
    Kind,
    LinkType,
    Memory,
    StateKind,
    Status,
    TypedKey,
    Verdict,
    said_payload,
)
from totonoe_core.domain.tidy import Tidy
from totonoe_core.domain.undo import Undone

AGENTS = ("anna", "ben")
TEXTS = tuple(f"the {what} is {how}" for what in ("pump", "valve") for how in ("hot", "old", "on"))
VECTOR = vector_of("pump")
VECTORS = (VECTOR, vector_at(VECTOR, 0.97), vector_at(VECTOR, 0.8), vector_of("valve"))
KEYS = (None, None, TypedKey("pump", "state"), TypedKey("valve", "state"))
SETTINGS: tuple[tuple[str, Any], ...] = (
    ("description", "one"),
    ("description", "two"),
    ("guard.tokenizer", Tokenizer.WHITESPACE.value),
    ("guard.link_distance_below", 0.0),
    ("guard.preset", "robotmem"),
    ("decay.floor", 0.25),
)


@dataclass
class History:
    """What was done to a store, and what could be seen after each operation."""

    store: Store
    dice: random.Random
    agents: list[str] = field(default_factory=lambda: [""])
    seen: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        # Makes the collection.
        assert self.store.revision == 0
        self.seen.append(self.look())

    @property
    def revision(self) -> int:
        return len(self.agents) - 1

    def look(self) -> dict[str, Any]:
        """All that a reader sees."""
        found = contents(self.store)
        query = RecallQuery("anna", "pump valve", mode=RecallMode.LEXICAL, touch=False, k=1000)
        found["hits"] = {hit.memory.id for hit in self.store.recall(query).hits}
        return found

    def ids(self, agent: str, count: int) -> list[str]:
        """Up to so many different memories that an agent may see, live for the most part."""
        seen = [
            memory
            for memory in self.seen[-1]["memories"].values()
            if memory.agent_id == agent or not memory.fields.private
        ]
        live = [item for item in seen if item.status is Status.ACTIVE]
        chosen = live if self.dice.random() < 0.95 and len(live) >= count else seen
        return [item.id for item in self.dice.sample(chosen, min(count, len(chosen)))]

    def do(self, command: Command) -> None:
        """One operation, if it is allowed and changes anything."""
        self.store.clock.advance(1000)
        try:
            answer = self.store.apply(command)
        except errors.TotonoeError:
            return
        if answer.revision > self.revision:
            assert answer.revision == self.revision + 1
            self.agents.append(command.agent_id)
            self.seen.append(self.look())

    def grow(self, count: int, kinds: Sequence[Making] = ()) -> None:
        """So many more operations of some kinds, of both agents, fewer if many are refused."""
        for _ in range(4):
            self.do(self.remember(self.dice.choice(AGENTS)))
        for _ in range(10 * count):
            if self.revision >= count:
                return
            kind = self.dice.choice(kinds or KINDS)
            command = kind(self, self.dice.choice(AGENTS))
            if command is not None:
                self.do(command)

    # -- Kinds of operations

    def remember(self, agent: str) -> Command:
        pick = self.dice.choice
        log = self.dice.random() < 0.1
        summary = not log and self.dice.random() < 0.15
        said = remember(
            pick(TEXTS),
            agent=agent,
            vector=pick(VECTORS),
            force=self.dice.random() < 0.4,
            kind=Kind.EVENT if log else Kind.STATE,
            state_kind=StateKind.NONE if log else StateKind.SUMMARY if summary else StateKind.FACT,
            key=None if log else pick(KEYS),
            external_id=pick(("", "", "x1", "x2")),
            private=self.dice.random() < 0.2,
            session_id=pick(("", "s")),
        )
        if not log and self.dice.random() < 0.2:
            said = replace(said, supersede_ids=tuple(self.ids(agent, 1)))
        if self.dice.random() < 0.3:
            said = replace(said, actions=((Verdict.UPDATE, Action.SUPERSEDE),))
        return said

    def double(self, agent: str) -> Command | None:
        """The same again, for a clean-up."""
        for memory_id in self.ids(agent, 1):
            same = self.seen[-1]["memories"][memory_id]
            fields = replace(same.fields, external_id="", created_us=None)
            return Remember(agent, same.content, fields, same.vector, force=True)
        return None

    def update(self, agent: str) -> Command | None:
        pick = self.dice.choice
        named: dict[str, Any] = pick(
            (
                {"content": pick(TEXTS), "vector": pick(VECTORS)},
                {"tags": pick((("a",), ("b",)))},
                {"external_id": pick(("", "x1", "x2"))},
                {"importance": pick((1, 5))},
                {"private": pick((False, True))},
            )
        )
        force = self.dice.random() < 0.3
        return next(
            (
                update(memory_id, agent=agent, force=force, **named)
                for memory_id in self.ids(agent, 1)
            ),
            None,
        )

    def forget(self, agent: str) -> Command | None:
        ids = self.ids(agent, self.dice.choice((1, 1, 3)))
        return forget(*ids, agent=agent) if ids else None

    def merge(self, agent: str) -> Command | None:
        ids = self.ids(agent, self.dice.choice((2, 2, 3)))
        ids = [
            memory_id
            for memory_id in ids
            if self.seen[-1]["memories"][memory_id].fields.kind is Kind.STATE
        ]
        content = self.dice.choice(("", "", *TEXTS))
        force = self.dice.random() < 0.5
        return merge(*ids, agent=agent, content=content, force=force) if len(ids) > 1 else None

    def resolve(self, agent: str) -> Command | None:
        ids = self.ids(agent, 2)
        answer = self.dice.choice((Answer.SAME, *Answer))
        return Resolve(agent, *ids, answer) if len(ids) == 2 else None

    def link(self, agent: str) -> Command | None:
        ids = self.ids(agent, 2)
        type_ = self.dice.choice((LinkType.RELATED, LinkType.CAUSES, LinkType.CAUSED_BY))
        confidence = self.dice.choice((0.25, 0.75))
        return link(*ids, type_, agent, confidence=confidence) if len(ids) == 2 else None

    def unlink(self, agent: str) -> Command | None:
        held = sorted(self.seen[-1]["links"])
        if not held:
            return None
        rows = {memory.row: memory.id for memory in self.seen[-1]["memories"].values()}
        source, target, _ = self.dice.choice(held)
        return unlink(rows[source], rows[target], agent=agent)

    def dismiss(self, agent: str) -> Command | None:
        ids = self.ids(agent, 2)
        return dismiss(*ids, agent=agent) if len(ids) == 2 else None

    def undismiss(self, agent: str) -> Command | None:
        held = sorted((dismissal.a, dismissal.b) for dismissal in self.seen[-1]["dismissals"])
        if not held:
            return None
        rows = {memory.row: memory.id for memory in self.seen[-1]["memories"].values()}
        return undismiss(*(rows[row] for row in self.dice.choice(held)), agent=agent)

    def episode(self, agent: str) -> Command | None:
        ids, private = self.ids(agent, 2), self.dice.random() < 0.2
        return episode("a day", *ids, agent=agent, private=private) if ids else None

    def delete_episode(self, agent: str) -> Command | None:
        held = self.seen[-1]["episodes"]
        return DeleteEpisode(agent, self.dice.choice(held).id) if held else None

    def change(self, agent: str) -> Command:
        return change(self.dice.choice(SETTINGS), agent=agent)

    def clean_up(self, agent: str) -> Command:
        return CleanUpDuplicates(agent)

    def tidy(self, agent: str) -> Command:
        return Tidy(agent)

    def end_session(self, agent: str) -> Command:
        return EndSession(agent, "s", threshold=self.dice.choice((0.3, 0.9)))

    def undo(self, agent: str) -> Command:
        """Of anything, also of an Undo; what of it is not in the way."""
        lately = self.dice.choice((1, max(1, self.revision - 4)))
        target = self.dice.randint(lately, max(1, self.revision))
        partial, force = self.dice.random() < 0.5, self.dice.random() < 0.3
        return undo(target, agent=agent, partial=partial, force=force)

    # -- In any order

    def take_any_back(self) -> None:
        """Undo any operation, and compare what its agent finds before and after."""
        target = self.dice.randint(1, self.revision)
        agent, before = self.agents[target], self.seen[-1]["memories"]
        options = {name: self.dice.random() < 0.3 for name in ("partial", "force")}
        self.store.clock.advance(1000)
        try:
            answer = self.store.apply(undo(target, agent=agent, **options))
        except errors.TotonoeError:
            return
        done: Undone = answer.results[0]
        if not done.undone:
            return
        self.agents.append(agent)
        self.seen.append(self.look())
        named = {memory.id for memory in done.memories}
        named |= {
            id_ for conflict in done.conflicts for id_ in (conflict.memory_id, conflict.target_id)
        }
        then = self.seen[target - 1]["memories"]
        states = [seen_by(agent, memories) for memories in (before, then)]
        after = seen_by(agent, self.seen[-1]["memories"])
        for memory_id in states[0].keys() - named:
            was, earlier = (found_for(memory_id, state) for state in states)
            now = found_for(memory_id, after)
            # What was lost before the operation may be so again.
            assert was is None or same(now, was) or same(now, earlier), (target, memory_id)

    # -- Back and forth

    def walk(self, places: list[int]) -> None:
        """Goes back and forth to some places of the history, one operation after the other."""
        end = self.revision
        # Operations that do, and that take back, what the operation of a place did.
        does = {place: [place] for place in range(1, end + 1)}
        takes: dict[int, list[int]] = {place: [] for place in does}
        at, newest = end, end
        for place in places:
            while at != place:
                back = place < at
                step = at if back else at + 1
                # Each of them was undone but the last: to undo any says the same.
                target = self.dice.choice((does if back else takes)[step])
                answer = self.take_back(target, self.agents[step])
                newest += 1
                assert answer.results[0].undone, answer
                assert not answer.results[0].conflicts
                assert answer.revision == newest
                (takes if back else does)[step].append(newest)
                at += -1 if back else 1
                self.same_as(at)

    def take_back(self, target: int, agent: str) -> Applied:
        """An Undo by the agent that did it.

        Where only links to another's private memories went, that other one must do it.
        """
        try:
            return self.store.apply(undo(target, agent=agent))
        except errors.NotFound:
            other = AGENTS[1 - AGENTS.index(agent)]
            return self.store.apply(undo(target, agent=other))

    def same_as(self, place: int) -> None:
        """What is seen now is what was seen there."""
        now, then = self.look(), self.seen[place]
        not_yet = now["memories"].keys() - then["memories"].keys()
        for item in not_yet:
            assert now["memories"][item].status is Status.FORGOTTEN
        now["memories"] = {
            other: memory for other, memory in now["memories"].items() if other not in not_yet
        }
        for name in then:
            assert now[name] == then[name], f"{name} as of revision {place}"


Making = Callable[[History, str], Command | None]
KINDS: tuple[Making, ...] = (
    *(History.remember,) * 4,
    *(History.update,) * 3,
    *(History.undo,) * 4,
    *(History.link,) * 2,
    History.double,
    History.forget,
    *(History.merge,) * 3,
    History.unlink,
    History.dismiss,
    History.undismiss,
    History.episode,
    History.delete_episode,
    History.change,
    History.clean_up,
    History.tidy,
    History.end_session,
    *(History.resolve,) * 3,
)


TAKING_PLACES: tuple[Making, ...] = (
    *(History.remember,) * 3,
    *(History.resolve,) * 6,
    *(History.double,) * 2,
    *(History.clean_up,) * 2,
    *(History.undo,) * 2,
    History.merge,
    History.update,
    History.forget,
    History.tidy,
    History.end_session,
)


def seen_by(agent: str, memories: dict[str, Memory]) -> dict[str, Memory]:
    """Memories that an agent may see."""
    return {
        memory.id: memory
        for memory in memories.values()
        if memory.agent_id == agent or not memory.fields.private
    }


def found_for(memory_id: str, memories: dict[str, Memory]) -> Memory | None:
    """The live memory that a reader comes to from one: itself, or what took its place."""
    found = memories.get(memory_id)
    while found is not None and found.status is Status.SUPERSEDED:
        found = memories.get(found.superseded_by)
    return found if found is not None and found.status is Status.ACTIVE else None


def same(now: Memory | None, was: Memory | None) -> bool:
    """Whether a reader still comes to as much: another memory, or the same with what it says."""
    if now is None or was is None:
        return now is was
    said = [(memory.content, said_payload(memory.fields.payload)) for memory in (now, was)]
    return now.id != was.id or said[0] == said[1]


def run(seed: int, count: int) -> None:
    """One history of some `count` operations, back, forth, and to some places between."""
    with tempfile.TemporaryDirectory() as directory, opened(Path(directory)) as store:
        history = History(store, random.Random(seed))
        history.do(change(("guard.link_distance_below", 0.5)))
        history.grow(count)
        end = history.revision
        between = [history.dice.randint(0, end) for _ in range(3)]
        history.walk([0, end, *between, 0])
        store.reopen()
        history.same_as(0)


@settings(
    max_examples=15,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(seed=st.integers(0, 2**32))
def test_history_undone_to_its_beginning_and_redone_is_what_it_was(seed: int) -> None:
    run(seed, 16)


@settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(seed=st.integers(0, 2**32))
def test_operation_undone_in_any_order_loses_nothing_that_it_does_not_name(seed: int) -> None:
    with tempfile.TemporaryDirectory() as directory, opened(Path(directory)) as store:
        history = History(store, random.Random(seed))
        history.grow(14, TAKING_PLACES)
        for _ in range(20):
            history.take_any_back()
