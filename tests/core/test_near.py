"""Clusters of near states: who is in one, what is told of each pair, where a page ends."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import pytest

from support.engines import DAY_US, NOON, Store, opened, update, vector_at, vector_of
from totonoe_core.base import errors
from totonoe_core.domain.queries import ClustersQuery, NearCluster, NearGroups, NearQuery
from totonoe_core.domain.records import Kind, StateKind, TimeRange, Verdict

TEA = (
    "Anna drinks tea in the kitchen.",
    "In the kitchen Anna likes to sit with a cup of tea.",
    "Tea is what you find Anna with, mostly in the kitchen.",
)


@pytest.fixture
def store(store: Store) -> Store:
    store.set(("guard.link_distance_below", 0.0))
    return store


def near(store: Store, text: str, base: str = "tea", cosine: float = 0.98, **fields: Any) -> str:
    """A state whose vector lies near that of `base`."""
    store.clock.advance(1_000_000)
    vector = vector_at(vector_of(base), cosine, seed=len(text))
    return store.save(text, vector=vector, force=True, **fields)


def groups(store: Store, agent: str = "anna", **more: Any) -> NearGroups:
    return store.read(NearQuery(agent, **more))


def clusters(store: Store, agent: str = "anna", **more: Any) -> list[NearCluster]:
    return [
        cluster
        for group in groups(store, agent, **more).groups
        for cluster in store.read(ClustersQuery(agent, group))
    ]


def members(found: list[NearCluster]) -> list[list[str]]:
    return [[memory.id for memory in cluster.members] for cluster in found]


def test_near_states_of_one_kind_are_a_cluster_the_most_wanted_first(store: Store) -> None:
    ids = [near(store, text) for text in TEA]
    store.do(update(ids[0], confidence=0.9))
    near(store, "A task about tea.", state_kind=StateKind.TASK)
    near(store, "Something about the sea.", base="sea")
    (found,) = clusters(store)
    assert [memory.id for memory in found.members] == [ids[0], ids[2], ids[1]]
    assert found.state_kind is StateKind.FACT
    assert len(found.pairs) == 3
    assert [pair.distance for pair in found.pairs] == sorted(pair.distance for pair in found.pairs)
    assert all(0.0 <= pair.distance < 0.1 for pair in found.pairs)


def test_what_updates_or_contradicts_is_parted(store: Store) -> None:
    one = near(store, "The server runs on port 80.")
    other = near(store, "The server runs on port 81.")
    near(store, "The server does not run on port 80.")
    assert len(groups(store).groups) == 1, "by their vectors they are near"
    assert clusters(store) == []
    same = near(store, "On port 80 the server runs.")
    (found,) = clusters(store)
    assert {member.id for member in found.members} == {one, same}
    assert other not in {member.id for member in found.members}
    assert not {pair.verdict for pair in found.pairs} & {Verdict.UPDATE, Verdict.CONTRADICTION}


def test_each_pair_tells_what_there_is_to_judge_by(store: Store) -> None:
    one = near(
        store,
        TEA[0],
        thread_id="t",
        entities=("Anna", "tea", "kitchen"),
        about_time=TimeRange(NOON, NOON + DAY_US),
        valid_from_us=NOON - 10 * DAY_US,
        category="gotcha",
    )
    other = near(
        store,
        TEA[1],
        thread_id="t",
        entities=("tea", "Anna"),
        about_time=TimeRange(NOON + 3 * DAY_US, None),
    )
    third = near(store, TEA[2], valid_from_us=NOON - DAY_US)
    (found,) = clusters(store)
    assert found.protected == {one}
    pairs = {frozenset((pair.a_id, pair.b_id)): pair for pair in found.pairs}
    told = pairs[frozenset((one, other))]
    assert told.same_thread
    assert set(told.shared_entities) == {"Anna", "tea"}
    assert told.about_gap_days == 2.0
    assert told.valid_together
    told = pairs[frozenset((other, third))]
    assert not told.same_thread
    assert told.shared_entities == ()
    assert told.about_gap_days is None


def test_private_states_are_their_agents_alone_and_never_beside_public_ones(store: Store) -> None:
    own = [near(store, text, private=True) for text in TEA[:2]]
    public = near(store, TEA[2])
    assert [set(member) for member in members(clusters(store))] == [set(own)]
    assert clusters(store, "bert") == []
    group = groups(store).groups[0]
    # Rows by themselves open nothing.
    assert store.read(ClustersQuery("bert", group)) == ()
    more = near(store, "Public too: tea, Anna, kitchen.")
    assert {frozenset(member) for member in members(clusters(store, "bert"))} <= {
        frozenset({public, more})
    }


def test_logs_long_moods_and_what_is_over_are_in_no_cluster(store: Store) -> None:
    near(store, TEA[0])
    near(store, TEA[1], kind=Kind.EVENT, state_kind=StateKind.NONE)
    near(store, TEA[2], state_kind=StateKind.LONG_MOOD)
    near(store, TEA[2], valid_to_us=NOON - DAY_US)
    assert groups(store).groups == ()


def test_a_chain_is_no_cluster(store: Store) -> None:
    base = vector_of("tea")
    ids = []
    for text, angle in zip(TEA, (0.0, 0.4, 0.8), strict=True):
        # In one plane, each 0.4 rad from the next: distances 0.08, 0.08 and 0.30.
        vector = vector_at(base, math.cos(angle), seed=5)
        ids.append(store.save(text, vector=vector, force=True))
    (group,) = groups(store).groups
    assert len(group) == 2
    assert len(groups(store, distance_below=0.4).groups[0]) == 3


def test_a_page_ends_where_the_policy_says_and_the_token_goes_on(store: Store) -> None:
    store.set(("tidy.read_max", 2))
    for text in TEA:
        near(store, text)
    first = groups(store)
    assert first.read_count == 2
    assert len(first.groups[0]) == 3, "others are looked at as neighbours"
    second = groups(store, page_token=first.next_page_token)
    assert (second.read_count, second.next_page_token) == (1, "")
    with pytest.raises(errors.InvalidArgument) as caught:
        groups(store, page_token=first.next_page_token, distance_below=0.2)
    assert caught.value.reason == "BAD_PAGE_TOKEN"


def test_the_nearest_clusters_are_told_and_the_others_counted(store: Store) -> None:
    for text in TEA[:2]:
        near(store, text, cosine=0.999)
        near(store, text + " By the sea.", base="sea", cosine=0.97)
    found = groups(store, clusters_max=1)
    assert (len(found.groups), found.left_out_count) == (1, 1)
    (cluster,) = clusters(store, clusters_max=1)
    assert {memory.content for memory in cluster.members} == set(TEA[:2])


@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_writing_does_not_count(tmp_path: Path, seed: int) -> None:
    said = [(f"{text} {base}", base) for text in TEA for base in ("tea", "sea", "lee")]
    random.Random(seed).shuffle(said)
    with opened(tmp_path) as store:
        store.set(("guard.link_distance_below", 0.0))
        for text, base in said:
            near(store, text, base=base, confidence=0.5 + len(text) % 7 / 20)
        found = {
            frozenset(memory.content for memory in cluster.members) for cluster in clusters(store)
        }
    assert found == {frozenset(f"{text} {base}" for text in TEA) for base in ("tea", "sea", "lee")}


@pytest.mark.parametrize(
    "query", [{"distance_below": 0.0}, {"distance_below": 0.6}, {"clusters_max": 201}]
)
def test_what_is_out_of_range_is_refused(store: Store, query: dict[str, Any]) -> None:
    with pytest.raises(errors.InvalidArgument) as caught:
        groups(store, **query)
    assert caught.value.reason == "OUT_OF_RANGE"


def test_without_any_state_there_is_nothing(store: Store) -> None:
    assert groups(store) == NearGroups(1, (), 0, 0, "")
