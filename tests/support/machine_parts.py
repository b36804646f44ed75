"""What the state machine is made of: what it saves, how it chooses, what it has seen."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import rule

from support.engines import (
    vector_at,
    vector_of,
)
from support.models import Known, Thresholds
from totonoe_core.domain.records import TIDY_KEY, Fields, Kind, LinkType, Memory, StateKind, Status

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
    (Kind.STATE, StateKind.SUMMARY),
    (Kind.EVENT, StateKind.NONE),
    (Kind.AFFECT, StateKind.NONE),
]
FACT, SUMMARY, EVENT = KINDS[0], KINDS[4], KINDS[5]
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
# And a text may have none.
VECTORS.append(np.zeros(0, np.float32))
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
    ("motor hot.", 3, SUMMARY, "anna", False),
    ("valve old.", 4, SUMMARY, "ben", True),
]

FIELDS = frozenset(Fields.__dataclass_fields__)
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
        def throw(self: Any, dice: int) -> None:
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
    payload = {name: value for name, value in fields.payload.items() if name != TIDY_KEY}
    return {"payload": payload, "key": fields.key}


def bare(memory: Memory) -> Memory:
    """A memory without links, access figures, vector and row number: as an answer has it."""
    return replace(memory, links=(), last_access_us=None, access_count=0, vector=b"", row=0)


def links_of(memory: Memory) -> frozenset[tuple[str, str, float, str]]:
    return frozenset(
        (link.target_id, link.type.value, link.confidence, link.note) for link in memory.links
    )


def unlikely(links: frozenset[tuple[str, str, float, str]]) -> set[tuple[str, str, float, str]]:
    """Links without those of questions."""
    return {link for link in links if link[1] != LinkType.LIKELY_SAME}


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
    dismissed: set[frozenset[str]] = field(default_factory=set)

    def changed(self) -> set[object]:
        """All that it changed: memories and episodes by id, links, dismissed pairs, settings."""
        keys: set[object] = {*self.rows, *self.pairs, *self.dismissed}
        keys |= {self.episode} if self.episode else set()
        return keys | ({"settings"} if self.settings else set())
