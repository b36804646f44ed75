"""A filter on one memory answers as the masks over all slots do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from support.engines import DAY_US, NOON, vector_of
from totonoe_core.domain.filter import ORDERING, Comparison, Filter, Operator
from totonoe_core.domain.policy import DecayPolicy, Tokenizer
from totonoe_core.domain.records import Fields, Kind, Memory, Source, StateKind, Status, TimeRange
from totonoe_core.index import masks
from totonoe_core.index.collection_index import CollectionIndex, Features
from totonoe_core.search.filters import matches
from totonoe_core.text.normalize import refusing_hash

DECAY = DecayPolicy()
LABELS = ("", "a", "b")
VALUES = (1, 1.0, 2.5, True, "1", None, [1, {"x": "é"}], {"k": "v" * 80}, {"k": 3, "p": {"q": -1}})
PATHS = (("p",), ("q",), ("p", "k"), ("q", "p", "q"), ("p\x1fk",), ("unknown",))
NAMESPACES = ((), ("a",), ("a", "b"), ("a,b",), ('a","b',), ("b", "a", "c"))


def some(rng: np.random.Generator, values: Any, least: int = 0, most: int = 3) -> tuple[Any, ...]:
    """A few of some values, each once."""
    count = min(len(values), int(rng.integers(least, most + 1)))
    return tuple(values[at] for at in rng.permutation(len(values))[:count])


def moment(rng: np.random.Generator) -> int | None:
    """A day near noon, or none; few enough that ranges touch at their ends."""
    return None if rng.random() < 0.3 else NOON - int(rng.integers(0, 6)) * DAY_US


def time_range(rng: np.random.Generator) -> TimeRange:
    """A range of days, open on either side or empty."""
    if rng.random() < 0.5:
        return TimeRange()
    begin, end = moment(rng), moment(rng)
    if begin is not None and end is not None:
        begin, end = min(begin, end), max(begin, end)
    return TimeRange(begin, end)


def attributes(rng: np.random.Generator) -> dict[str, Any]:
    return {name: VALUES[int(rng.integers(len(VALUES)))] for name in some(rng, ("p", "q"))}


def comparison(rng: np.random.Generator) -> Comparison:
    """A comparison; an ordering one with a number, as `validate` demands."""
    operator = some(rng, tuple(Operator), 1, 1)[0]
    value = some(rng, (-1, 1, 2, 2.5) if operator in ORDERING else VALUES, 1, 1)[0]
    return Comparison(some(rng, PATHS, 1, 1)[0], operator, value)


def random_memory(rng: np.random.Generator, row: int) -> Memory:
    kind = some(rng, tuple(Kind), 1, 1)[0]
    valid = time_range(rng)
    fields = Fields(
        kind=kind,
        state_kind=StateKind.NONE
        if kind is not Kind.STATE
        else some(rng, tuple(StateKind)[1:], 1, 1)[0],
        category=LABELS[int(rng.integers(3))],
        tags=some(rng, ("a", "b", "red")),
        entities=some(rng, ("a", "Ada")),
        attributes=attributes(rng),
        importance=int(rng.integers(1, 6)),
        confidence=float(rng.integers(0, 11)) / 10,
        session_id=LABELS[int(rng.integers(3))],
        thread_id=LABELS[int(rng.integers(3))],
        about_time=time_range(rng),
        valid_from_us=valid.from_us,
        valid_to_us=valid.to_us,
        namespace=some(rng, NAMESPACES, 1, 1)[0],
        source=some(rng, tuple(Source), 1, 1)[0],
    )
    statuses = (*(Status.ACTIVE,) * 4, Status.SUPERSEDED, Status.CLOSED, Status.FORGOTTEN)
    text = f"memory {row}"
    accessed = moment(rng) if rng.random() < 0.5 else None
    return Memory(
        row=row,
        id=f"mem_{row:016x}",
        content=text,
        content_hash=refusing_hash(text),
        vector=vector_of(text).tobytes(),
        agent_id=("anna", "ben", "")[int(rng.integers(3))],
        fields=fields,
        created_us=NOON - int(rng.integers(0, 6)) * 20 * DAY_US,
        updated_us=NOON - int(rng.integers(0, 6)) * DAY_US,
        status=statuses[int(rng.integers(len(statuses)))],
        superseded_by="",
        revision=row,
        last_access_us=accessed,
        access_count=0 if accessed is None else 1,
    )


def random_filter(rng: np.random.Generator) -> Filter:
    """Few conditions at once, so that something is left."""
    conditions: dict[str, Any] = {
        "kinds": some(rng, tuple(Kind)),
        "state_kinds": some(rng, tuple(StateKind)),
        "categories": some(rng, (*LABELS, "unknown")),
        "tags": some(rng, ("a", "red", "unknown"), 0, 2),
        "agent_ids": some(rng, ("anna", "ben", "", "nobody")),
        "session_ids": some(rng, LABELS),
        "thread_ids": some(rng, LABELS),
        "statuses": some(rng, tuple(Status)),
        "created": time_range(rng),
        "updated": time_range(rng),
        "about": time_range(rng),
        "valid": time_range(rng),
        "min_confidence": float(rng.integers(0, 11)) / 10,
        "min_importance": int(rng.integers(0, 6)),
        "attributes": attributes(rng),
        "entities": some(rng, ("a", "Ada"), 0, 2),
        "comparisons": tuple(comparison(rng) for _ in range(int(rng.integers(0, 3)))),
        "namespace_prefix": some(rng, NAMESPACES, 1, 1)[0],
        "sources": some(rng, tuple(Source)),
        "min_source": some(rng, tuple(Source), 1, 1)[0],
    }
    return Filter(**{name: conditions[name] for name in some(rng, tuple(conditions), 0, 3)})


@pytest.mark.parametrize("seed", range(4))
def test_matches_random_memories_and_filters_answers_as_the_masks(seed: int) -> None:
    rng = np.random.default_rng(seed)
    index = CollectionIndex(8, Tokenizer.SCRIPT_AWARE)
    memories = [random_memory(rng, row) for row in range(1, 61)]
    for memory in memories:
        index.add(memory, Features.of(memory.content, vector_of(memory.content), index.tokenizer))
    index.publish()
    view = index.view()
    met = 0
    for _ in range(60):
        where = random_filter(rng)
        now_us = NOON + int(rng.integers(0, 100)) * DAY_US
        mask = masks.matching(index, view, where, "anna", DECAY, now_us)
        assert [matches(memory, where, DECAY, now_us) for memory in memories] == mask.tolist()
        met += int(mask.sum())
    assert 200 < met < 3000, "filters that let something through, but not all"


def test_matches_purged_memory_is_false_whatever_is_asked() -> None:
    memory = replace(random_memory(np.random.default_rng(0), 1), status=Status.PURGED)
    assert not matches(memory, Filter(statuses=tuple(Status)), DECAY, NOON)
