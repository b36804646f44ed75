"""The budgets of document 004 in a Recall: type, state kind, life stage or year, thread.

All memories are of one calendar year, so that the year is a group that everything shares unless a
memory has a life stage.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support import spreading
from support.engines import DAY_US, Store, opened, remember, vector_at, vector_of
from totonoe_core.domain.policy import DiversityPolicy
from totonoe_core.domain.queries import DiversityEffect, RecallMode, RecallQuery
from totonoe_core.domain.records import Kind, Memory, StateKind

BASE = vector_of("base", 64)
K = 10
EVENT = {"kind": Kind.EVENT, "state_kind": StateKind.NONE}
AFFECT = {"kind": Kind.AFFECT, "state_kind": StateKind.NONE}
OPEN = {"kind_share_max": 1.0, "state_kind_share_max": 1.0}
OPEN |= {"life_stage_share_max": 1.0, "thread_share_max": 1.0}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with opened(tmp_path, client_vector_dimension=64) as made:
        made.set(("guard.link_distance_below", 0.0))
        yield made


def fill(store: Store, *groups: tuple[int, dict[str, Any]]) -> None:
    """So many memories of each group, the first ones nearest to the query."""
    number = 0
    for count, fields in groups:
        for _ in range(count):
            vector = vector_at(BASE, 0.74 - 0.01 * number, number)
            store.apply(remember(f"memory {number}", vector=vector, force=True, **fields))
            number += 1


def recalled(store: Store, **shares: float) -> list[Memory]:
    """The hits of a Recall under some budgets."""
    policy = DiversityPolicy(**shares)
    query = RecallQuery(
        "anna", "", BASE.tobytes(), k=K, mode=RecallMode.VECTOR, diversity=policy, touch=False
    )
    hits = store.recall(query).hits
    assert [hit.memory.id for hit in store.recall(query).hits] == [hit.memory.id for hit in hits]
    for hit in hits:
        assert (hit.diversity is DiversityEffect.NONE) is (hits.index(hit) + 1 == hit.fused_rank)
    assert [hit.memory.id for hit in hits] == expected(store, policy)
    return [hit.memory for hit in hits]


def expected(store: Store, policy: DiversityPolicy) -> list[str]:
    """Ids that the twin picks, from the memories as a List shows them."""
    known = sorted(store.list(), key=lambda one: (-float(_vector(one) @ BASE), one.row))
    codes: list[tuple[list[Any], float]] = [
        ([memory.fields.kind for memory in known], policy.kind_share_max),
        ([memory.fields.state_kind.value for memory in known], policy.state_kind_share_max),
        ([memory.fields.life_stage or "2026" for memory in known], policy.life_stage_share_max),
        ([memory.fields.thread_id for memory in known], policy.thread_share_max),
    ]
    groups = []
    for labels, share in codes:
        numbers = {label: at for at, label in enumerate(dict.fromkeys(labels))}
        groups.append(([numbers[label] if label else -1 for label in labels], share))
    relevance = [float(_vector(memory) @ BASE) for memory in known]
    vectors = [_vector(memory).tolist() for memory in known]
    picked, _ = spreading.spread(relevance, vectors, groups, policy.mmr_lambda, K)
    return [known[at].id for at in picked]


def _vector(memory: Memory) -> np.ndarray:
    return np.frombuffer(memory.vector, "<f4")


def numbers(memories: list[Memory]) -> list[int]:
    return [int(memory.content.split()[1]) for memory in memories]


ALONE = [
    ("kind_share_max", [(14, {}), (4, EVENT)], 0.9, 9),
    ("kind_share_max", [(14, EVENT), (2, AFFECT), (2, {})], 0.9, 9),
    ("kind_share_max", [(14, EVENT), (2, AFFECT), (2, {})], 0.5, 5),
    ("state_kind_share_max", [(14, {}), (4, {"state_kind": StateKind.TASK})], 0.9, 9),
    ("state_kind_share_max", [(14, {"state_kind": StateKind.RELATION}), (4, {})], 0.6, 6),
    ("life_stage_share_max", [(14, {"life_stage": "school"}), (4, {})], 0.9, 9),
    ("life_stage_share_max", [(14, {}), (4, {"life_stage": "school"})], 0.6, 6),
    ("thread_share_max", [(14, {"thread_id": "t"}), (4, {"thread_id": "u"})], 0.8, 8),
    ("thread_share_max", [(14, {"thread_id": "t"}), (4, {})], 0.3, 3),
]


@pytest.mark.parametrize(("name", "groups", "share", "first"), ALONE)
@pytest.mark.parametrize("others", ["open", "shipped"])
def test_one_budget_leaves_places_to_the_others(
    store: Store, name: str, groups: list[Any], share: float, first: int, others: str
) -> None:
    fill(store, *groups)
    shares = (OPEN if others == "open" else {}) | {name: share}
    found = numbers(recalled(store, **shares))
    size = groups[0][0]
    behind = [number for number in found if number >= size]
    wanted = min(K - first, sum(count for count, _ in groups[1:]))
    assert len(behind) == wanted
    assert found[:first] == list(range(first))


def test_a_share_of_one_group_alone_drops_nothing(store: Store) -> None:
    fill(store, (12, {"thread_id": "t", "life_stage": "school"}))
    assert numbers(recalled(store)) == list(range(K))
    assert numbers(recalled(store, **dict.fromkeys(OPEN, 0.1))) == list(range(K))


def test_logs_are_in_no_state_kind(store: Store) -> None:
    fill(store, (10, EVENT), (4, {}))
    assert numbers(recalled(store, **(OPEN | {"state_kind_share_max": 0.1}))) == list(range(K))


def test_together_they_all_hold_while_somebody_fits_them(store: Store) -> None:
    fill(
        store,
        (12, {"thread_id": "t"}),
        (3, {"thread_id": "u", "state_kind": StateKind.TASK}),
        (3, {"thread_id": "u", "life_stage": "school"}),
        (3, EVENT),
    )
    found = recalled(store, **dict.fromkeys(OPEN, 0.5))
    assert sum(memory.fields.thread_id == "t" for memory in found) == 5
    assert sum(memory.fields.kind is Kind.EVENT for memory in found) == 3


def test_the_least_important_gives_way_first(store: Store) -> None:
    # The only other type is of the same thread: its type lets it in, whatever its thread says.
    fill(store, (8, {"thread_id": "t"}), (2, {"thread_id": "u"}), (8, EVENT | {"thread_id": "t"}))
    found = recalled(store, **(OPEN | {"kind_share_max": 0.5, "thread_share_max": 0.5}))
    assert numbers(found) == [0, 1, 2, 3, 4, 10, 11, 12, 13, 14]


def test_years_are_the_life_stage_of_what_has_none(store: Store) -> None:
    old = store.clock() - 800 * DAY_US
    fill(store, (12, {}), (4, {"created_us": old}))
    query = RecallQuery(
        "anna", "", BASE.tobytes(), k=K, mode=RecallMode.VECTOR, touch=False,
        diversity=DiversityPolicy(**(OPEN | {"life_stage_share_max": 0.6})),
    )  # fmt: skip
    found = [hit.memory for hit in store.recall(query).hits]
    assert numbers(found) == [0, 1, 2, 3, 4, 5, 12, 13, 14, 15]
