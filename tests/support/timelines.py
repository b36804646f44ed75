"""A store with a past: random operations, and what each agent saw right after each of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from support.engines import (
    EVERY_STATUS,
    HOUR_US,
    Store,
    change,
    forget,
    link,
    remember,
    unlink,
    update,
    vector_of,
)
from totonoe_core.base import errors
from totonoe_core.domain.commands import Command
from totonoe_core.domain.filter import Filter
from totonoe_core.domain.queries import AsOf, ListQuery, RecallMode, RecallQuery
from totonoe_core.domain.records import LinkType, Memory, Status, TypedKey

AGENTS = ("anna", "ben")
FIRST, SECOND = ("pump", "valve", "motor"), ("hot", "cold", "old", "loud")
CONFIDENT = Filter(min_confidence=0.3, statuses=tuple(Status))
QUERIES = (
    RecallQuery("", "hot pump", vector_of("q").tobytes(), k=5, touch=False),
    RecallQuery("", "loud", k=50, touch=False, mode=RecallMode.LEXICAL, filter=CONFIDENT),
    RecallQuery("", "", vector_of("r").tobytes(), k=3, touch=False, filter=EVERY_STATUS),
)


@dataclass
class Moment:
    """What was told right after one revision, by agent."""

    time_us: int
    lists: dict[str, list[Memory]]
    confident: dict[str, list[Memory]]
    recalls: dict[str, list[Any]]


@dataclass
class Timeline:
    """A store with the moments of its revisions; revision 0 is the empty one."""

    store: Store
    rng: np.random.Generator
    moments: list[Moment] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.note()

    def note(self) -> None:
        """Keeps what is told now."""
        store = self.store
        self.moments.append(
            Moment(
                store.clock.now_us,
                {agent: store.list(agent) for agent in AGENTS},
                {agent: store.list(agent, CONFIDENT) for agent in AGENTS},
                {
                    agent: [store.recall(replace(query, agent_id=agent)) for query in QUERIES]
                    for agent in AGENTS
                },
            )
        )

    def one_of(self, values: Any) -> Any:
        return values[int(self.rng.integers(len(values)))]

    def step(self) -> None:
        """A random operation at a later time; one that is refused leaves no moment."""
        self.store.clock.advance(1 + int(self.rng.integers(0, 80)) * HOUR_US)
        command = self._command()
        if command is None:
            return
        before = self.store.revision
        try:
            commands = [command]
            if self.rng.random() < 0.2:
                commands.append(self._remember(self.one_of(AGENTS)))
            answer = self.store.apply(*commands)
        except errors.TotonoeError:
            assert self.store.revision == before
            return
        if answer.revision != before:
            assert answer.revision == len(self.moments)
            self.note()

    def _remember(self, agent: str) -> Command:
        text = f"{self.one_of(FIRST)} {self.one_of(SECOND)} {int(self.rng.integers(3))}"
        options: dict[str, Any] = {}
        if self.rng.random() < 0.2:
            options["key"] = TypedKey("pump", self.one_of(("state", "place")))
        if self.rng.random() < 0.3:
            options["external_id"] = self.one_of(("x", "y"))
        if self.rng.random() < 0.3:
            options["created_us"] = self.store.clock.now_us - int(self.rng.integers(0, 200)) * 2 * (
                HOUR_US
            )
        return remember(
            text,
            agent=agent,
            force=True,
            private=bool(self.rng.random() < 0.2),
            confidence=float(self.rng.integers(2, 11)) / 10,
            tags=(self.one_of(FIRST),),
            **options,
        )

    def _command(self) -> Command | None:
        agent = self.one_of(AGENTS)
        seen = self.moments[-1].lists[agent]
        live = [memory for memory in seen if memory.status is Status.ACTIVE]
        kind = self.one_of(("remember",) * 4 + ("update",) * 3 + ("private", "forget", "link"))
        if kind == "remember" or len(live) < 3:
            return self._remember(agent)
        memory, other = self.one_of(live), self.one_of(live)
        match kind:
            case "update":
                if self.rng.random() < 0.5:
                    return update(memory.id, agent=agent, content=f"loud hot {len(seen)}")
                text = self.one_of(("x", "y", "z", ""))
                return update(memory.id, agent=agent, external_id=text, tags=("new", text or "-"))
            case "private":
                return update(memory.id, agent=agent, private=not memory.fields.private)
            case "forget":
                return forget(*{memory.id, other.id}, agent=agent, reason=f"Zu alt {len(seen)}")
        held = [item.target_id for item in memory.links]
        if held and self.rng.random() < 0.4:
            return unlink(memory.id, self.one_of(held), agent=agent)
        if held and self.rng.random() < 0.2:
            return change(("description", f"of {len(seen)}"), agent=agent)
        return link(
            memory.id,
            other.id,
            self.one_of((LinkType.REFINES, LinkType.CAUSES, LinkType.RELATED)),
            agent=agent,
            confidence=float(self.rng.random()),
        )

    def now(self, agent: str) -> set[str]:
        """Ids that an agent sees now."""
        return {memory.id for memory in self.store.list(agent)}

    def expected(self, memories: list[Memory], agent: str) -> list[Memory]:
        """What was told then, without what is hidden now and without figures of access."""
        now = self.now(agent)
        return [bare(memory, now) for memory in memories if memory.id in now]

    def listed(self, agent: str, where: Filter, as_of: AsOf, page_size: int) -> list[Memory]:
        """All pages of a List of the past."""
        found: list[Memory] = []
        for page in self.store.pages(ListQuery(agent, where, page_size, as_of=as_of)):
            assert len(page.memories) <= page_size
            found += page.memories
        return found


def bare(memory: Memory, visible: set[str]) -> Memory:
    """A memory without figures of access, that names visible ones only."""
    links = tuple(link for link in memory.links if link.target_id in visible)
    by = memory.superseded_by if memory.superseded_by in visible else ""
    return replace(memory, links=links, superseded_by=by, last_access_us=None, access_count=0)
