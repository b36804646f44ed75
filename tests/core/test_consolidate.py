"""The pure part of Consolidate: which pairs are kept, whom to keep, what is gained together."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest

from totonoe_core.base import limits
from totonoe_core.domain.consolidate import KeepReason, MergeCluster
from totonoe_core.domain.records import Fields, Link, LinkType, Memory, RecallEvent, Status, Verdict
from totonoe_core.rules.consolidate import (
    Nearest,
    clusters,
    coactivated_link,
    coactivations,
    keeper,
)

NOTHING: frozenset[tuple[int, int]] = frozenset()


def memory(row: int, content: str = "text", **more: Any) -> Memory:
    confidence = more.pop("confidence", 0.8)
    values: dict[str, Any] = {
        "row": row,
        "id": f"mem_{row:016x}",
        "content": content,
        "content_hash": b"",
        "vector": b"",
        "agent_id": "anna",
        "fields": Fields(confidence=confidence),
        "created_us": 0,
        "updated_us": 0,
        "status": Status.ACTIVE,
        "superseded_by": "",
        "revision": 1,
    }
    return Memory(**(values | more))


# -- the nearest


@pytest.mark.parametrize("limit", [1, 3, 7, 100])
@pytest.mark.parametrize("seed", range(4))
def test_nearest_in_any_order_keeps_what_a_sort_keeps(limit: int, seed: int) -> None:
    rng = random.Random(seed)
    rank = np.array(rng.sample(range(12), 12), np.int64)
    # Few distances, so that ids decide; some pairs are none.
    pairs = {pair: rng.choice((0.0, 0.01, 0.02)) for pair in itertools.combinations(range(12), 2)}
    gone = set(rng.sample(sorted(pairs), 12))

    def key(pair: tuple[int, int]) -> tuple[float, int, int]:
        ranks = sorted((int(rank[pair[0]]), int(rank[pair[1]])))
        return pairs[pair], ranks[0], ranks[1]

    expected = sorted(set(pairs) - gone, key=key)[:limit]
    for _ in range(5):
        order = rng.sample(sorted(pairs), len(pairs))
        nearest = Nearest(limit, rank)
        told = []
        while order:
            part, order = order[:9], order[9:]
            a, b = (np.array(side, np.int64) for side in zip(*part, strict=True))
            distance = np.array([pairs[pair] for pair in part])
            told += nearest.add(a, b, distance, lambda asked: gone & set(asked)).pairs()
        assert nearest.kept().pairs() == expected
        assert set(told) >= set(expected), "what is kept was told"
        assert not set(told) & gone


def test_nearest_asks_about_near_pairs_only() -> None:
    asked = []

    def out(pairs: Any) -> frozenset[tuple[int, int]]:
        asked.extend(pairs)
        return NOTHING

    nearest = Nearest(2, np.arange(4))
    a, b = np.array([0, 0]), np.array([1, 2])
    nearest.add(a, b, np.array([0.01, 0.02]), out)
    assert nearest.bound == 0.02
    assert nearest.add(np.array([1]), np.array([3]), np.array([0.03]), out).pairs() == []
    assert asked == [(0, 1), (0, 2)]


# -- whom to keep


@pytest.mark.parametrize(
    ("other", "verdict", "wins", "reason"),
    [
        ({"content": "text and more"}, Verdict.REFINEMENT, True, KeepReason.MORE_DETAIL),
        ({"content": "text and more"}, Verdict.DUPLICATE, False, KeepReason.ID),
        ({"content": "te"}, Verdict.REFINEMENT, False, KeepReason.MORE_DETAIL),
        ({"confidence": 0.9}, Verdict.DUPLICATE, True, KeepReason.CONFIDENCE),
        ({"confidence": 0.7, "access_count": 9}, Verdict.DUPLICATE, False, KeepReason.CONFIDENCE),
        ({"access_count": 9, "created_us": -1}, Verdict.UPDATE, True, KeepReason.ACCESS_COUNT),
        ({"created_us": 5}, Verdict.DUPLICATE, True, KeepReason.NEWER),
        ({}, Verdict.REFINEMENT, False, KeepReason.ID),
    ],
)
def test_keeper_is_the_same_whichever_comes_first(
    other: dict[str, Any], verdict: Verdict, wins: bool, reason: KeepReason
) -> None:
    one, two = memory(1), memory(2, **other)
    assert keeper(one, two, verdict) == keeper(two, one, verdict) == (two if wins else one, reason)


# -- clusters


def test_clusters_hold_memories_of_which_every_two_are_a_pair() -> None:
    memories = [memory(1), memory(2, confidence=0.9), memory(3), memory(4)]
    pairs = [(1, 2), (1, 3), (2, 3), (3, 4)]
    ids = [other.id for other in memories]
    assert clusters(pairs, memories) == [MergeCluster((ids[1], ids[0], ids[2]))]
    assert clusters(pairs[1:3], memories) == [MergeCluster((ids[1], ids[2]))]


def test_clusters_do_not_depend_on_the_order_of_pairs_and_memories() -> None:
    rng = random.Random(5)
    memories = [memory(row, confidence=rng.choice((0.5, 0.8))) for row in range(1, 20)]
    pairs = [pair for pair in itertools.combinations(range(1, 20), 2) if rng.random() < 0.4]
    expected = clusters(pairs, memories)
    assert expected
    for _ in range(100):
        rng.shuffle(pairs)
        rng.shuffle(memories)
        assert clusters(pairs, memories) == expected


# -- what is gained together


def event(*rows: int) -> RecallEvent:
    return RecallEvent("anna", 0, rows)


def test_coactivations_count_each_pair_once_an_event() -> None:
    events = [event(3, 1, 2), event(1, 3), event(3, 3, 1), event(2)]
    assert coactivations(events, {1, 2, 3}) == {(1, 2): 1, (1, 3): 3, (2, 3): 1}
    assert coactivations(events, {1, 3}) == {(1, 3): 3}


def test_coactivations_take_the_first_hits_alone() -> None:
    rows = range(1, limits.COACTIVATED_HITS_MAX + 4)
    found = coactivations([event(*rows)], set(rows))
    assert len(found) == limits.COACTIVATED_HITS_MAX * (limits.COACTIVATED_HITS_MAX - 1) // 2


@pytest.mark.parametrize(
    ("before", "count", "gained", "confidence"),
    [
        (None, 1, 1, None),
        (None, 2, 1, 0.1),
        (None, 2, 2, 0.1),
        (None, 4, 4, 0.3),
        (0.1, 3, 1, 0.2),
        (0.2, 6, 3, 0.5),
        (0.95, 12, 1, 1.0),
        (None, 40, 40, 1.0),
    ],
)
def test_coactivated_link_begins_at_two_and_grows(
    before: float | None, count: int, gained: int, confidence: float | None
) -> None:
    held = None if before is None else Link("x", LinkType.COACTIVATED, before, "why")
    found = coactivated_link("x", held, count, gained)
    if confidence is None:
        assert found is None
        return
    note = "" if before is None else "why"
    assert found == Link("x", LinkType.COACTIVATED, confidence, note)
