"""Neighbors: spreading activation against an enumeration of ways, and what an agent sees of it."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from support.engines import Store, forget, link, remember, update
from totonoe_core.base import errors, limits
from totonoe_core.domain.queries import Neighborhood, NeighborsQuery
from totonoe_core.domain.records import Link, LinkType, Status, TypedKey
from totonoe_core.rules.association import LOOKED_AT_ONCE, Spread, spread

Graph = dict[str, list[Link]]

# -- The formula


def random_graph(rng: random.Random, nodes: int, pairs: int, confidence_max: float) -> Graph:
    """Links both ways between random nodes, some of them double."""
    names = [f"n{number:02}" for number in range(nodes)]
    graph: Graph = {name: [] for name in names}
    taken = set()
    for _ in range(pairs):
        one, other = rng.sample(names, 2)
        type_ = rng.choice(list(LinkType))
        if (one, other, type_) in taken:
            continue
        taken |= {(one, other, type_), (other, one, type_.inverse)}
        # Few values, so that there are ties.
        confidence = rng.choice([0.0, 0.25, 0.5, 0.75, 1.0]) * confidence_max
        graph[one].append(Link(other, type_, confidence))
        graph[other].append(Link(one, type_.inverse, confidence))
    return graph


def ways(graph: Graph, start: str, length: int) -> Iterator[list[tuple[str, Link]]]:
    """Every way of so many links, as (from, link)."""
    if length == 0:
        yield []
        return
    for edge in graph[start]:
        for rest in ways(graph, edge.target_id, length - 1):
            yield [(start, edge), *rest]


def naive(graph: Graph, starts: Sequence[str], depth: int, decay: float) -> dict[str, Any]:
    """(depth, activation, via id, via) of what is reached, from an enumeration of all ways."""
    every = [way for start in starts for size in range(1, depth + 1)
             for way in ways(graph, start, size)]  # fmt: skip
    nearest: dict[str, int] = dict.fromkeys(starts, 0)
    for way in sorted(every, key=len):
        nearest.setdefault(way[-1][1].target_id, len(way))
    arriving: dict[str, set[tuple[str, Link]]] = {}
    for way in every:
        holder, last = way[-1]
        if nearest[last.target_id] == len(way) and nearest[holder] == len(way) - 1:
            arriving.setdefault(last.target_id, set()).add((holder, last))

    def activation(node: str) -> float:
        if node in starts:
            return 1.0
        return min(1.0, math.fsum(flow(holder, last) for holder, last in arriving[node]))

    def flow(holder: str, last: Link) -> float:
        return activation(holder) * decay * last.confidence

    found = {}
    for node, links in arriving.items():
        best = min(links, key=lambda one: (-flow(*one), one[0], one[1].type))
        found[node] = (nearest[node], activation(node), *best)
    return found


def spread_of(graph: Graph, starts: Sequence[str], **more: Any) -> Spread:
    options: dict[str, Any] = {"depth": 3, "hop_decay": 0.5, "links_max": 10**6}
    follows = more.pop("follows", lambda _: True)
    options.update(more)
    return spread(
        starts, lambda ids: {memory_id: graph[memory_id] for memory_id in ids}, follows, **options
    )


@pytest.mark.parametrize("seed", range(12))
def test_spreading_is_what_an_enumeration_of_ways_finds(seed: int) -> None:
    rng = random.Random(seed)
    graph = random_graph(rng, 9, 12, rng.choice([0.3, 1.0]))
    starts = rng.sample(sorted(graph), rng.choice([1, 2]))
    depth, decay = rng.choice([1, 2, 3, 4]), rng.choice([0.25, 0.5, 1.0])
    found = spread_of(graph, starts, depth=depth, hop_decay=decay)
    shown = {
        node: (memory.depth, memory.activation, memory.via_id, memory.via)
        for node, memory in found.reached.items()
    }
    assert shown == naive(graph, starts, depth, decay), f"seed {seed}"
    assert not found.truncated


@pytest.mark.parametrize("seed", range(6))
def test_activation_below_one_is_the_sum_over_all_shortest_ways(seed: int) -> None:
    """As the contract says it; nothing reaches 1 where confidences are so low."""
    rng = random.Random(100 + seed)
    graph = random_graph(rng, 8, 12, 0.2)
    start = rng.choice(sorted(graph))
    for node, memory in spread_of(graph, [start], hop_decay=0.5).reached.items():
        products = [
            math.prod(0.5 * link.confidence for _, link in way)
            for way in ways(graph, start, memory.depth)
            if way[-1][1].target_id == node
        ]
        assert memory.activation == pytest.approx(sum(products), rel=1e-12), f"seed {seed}"


@pytest.mark.parametrize("links_max", [10**6, 23])
def test_order_of_starts_and_links_changes_nothing(links_max: int) -> None:
    rng = random.Random(7)
    graph = random_graph(rng, 14, 40, 0.3)
    starts = sorted(graph)[:2]
    first = spread_of(graph, starts, links_max=links_max)
    for _ in range(10):
        shuffled = {node: rng.sample(links, len(links)) for node, links in graph.items()}
        rng.shuffle(starts)
        assert spread_of(shuffled, starts, links_max=links_max) == first, "seed 7"


def star(rays: int) -> Graph:
    """A hub `h` with rays r000, r001, ... of rising confidence, and one leaf behind each."""
    graph: Graph = {"h": []}
    for number in range(rays):
        ray, leaf, confidence = f"r{number:03}", f"s{number:03}", (number + 1) / rays
        graph["h"].append(Link(ray, LinkType.RELATED, confidence))
        graph[ray] = [
            Link("h", LinkType.RELATED, confidence),
            Link(leaf, LinkType.RELATED, 1.0),
        ]
        graph[leaf] = [Link(ray, LinkType.RELATED, 1.0)]
    return graph


def test_bound_leaves_out_the_least_activated_of_a_hop_and_all_farther_hops() -> None:
    graph = star(5)
    nearest = [f"r{number:03}" for number in range(5)]
    # 5 links of the hub, then 2 for each ray: two rays fit into 9, and half of the third.
    found = spread_of(graph, ["h"], links_max=9)
    assert found.truncated
    assert sorted(found.reached) == [*nearest, "s003", "s004"]
    assert found.reached["s003"].activation == 0.25 * 0.8
    assert not spread_of(graph, ["h"], depth=2, links_max=15).truncated, "all fit"
    assert "s000" not in spread_of(graph, ["h"], depth=2, links_max=14).reached


def test_bound_leaves_out_the_last_ids_of_the_equally_activated() -> None:
    graph: Graph = {"h": [Link(ray, LinkType.RELATED, 0.5) for ray in "cabd"]}
    graph |= {ray: [Link(ray * 2, LinkType.RELATED, 0.5)] for ray in "abcd"}
    found = spread_of(graph, ["h"], links_max=6)
    assert sorted(found.reached) == ["a", "aa", "b", "bb", "c", "d"]


def test_first_memory_whose_links_do_not_fit_ends_the_search() -> None:
    graph = star(3)
    graph["r001"] += [Link(f"t{number}", LinkType.RELATED, 1.0) for number in range(10)]
    found = spread_of(graph, ["h"], depth=2, links_max=10)
    assert found.truncated
    assert "s000" not in found.reached, "smaller ones behind it do not slip in"


def test_links_that_are_not_followed_are_looked_at_all_the_same() -> None:
    graph = star(4)
    found = spread_of(graph, ["h"], follows=lambda link: link.target_id == "r003", links_max=5)
    assert list(found.reached) == ["r003"]
    assert found.truncated, "4 of the hub and 2 of the ray"


def test_links_are_read_together_and_no_more_than_needed() -> None:
    rays = 3 * LOOKED_AT_ONCE
    graph, asked = star(rays), []

    def links_of(ids: Sequence[str]) -> Graph:
        asked.append(len(ids))
        return {memory_id: graph[memory_id] for memory_id in ids}

    spread(["h"], links_of, lambda _: True, depth=2, hop_decay=1.0, links_max=10**6)
    assert asked == [1, *[LOOKED_AT_ONCE] * 3], "the last hop's links are not read"
    asked.clear()
    spread(["h"], links_of, lambda _: True, depth=2, hop_decay=1.0, links_max=rays + 2)
    assert asked == [1, LOOKED_AT_ONCE]


# -- The call


@pytest.fixture
def store(store: Store) -> Store:
    # Links are those that the tests make.
    store.set(("guard.link_distance_below", None))
    return store


def near(store: Store, *ids: str, agent: str = "anna", **more: Any) -> Neighborhood:
    query = NeighborsQuery(agent, ids, **more)
    return store.read(query)


def shape(found: Neighborhood) -> list[tuple[str, int, float, str]]:
    return [
        (neighbor.memory.content, neighbor.depth, neighbor.activation, neighbor.via_id)
        for neighbor in found.neighbors
    ]


def contents(found: Neighborhood) -> list[str]:
    return [neighbor.memory.content for neighbor in found.neighbors]


def chained(store: Store, *names: str, confidence: float = 0.5) -> list[str]:
    """Memories, each linked to the next by CAUSES."""
    ids = [store.save(name) for name in names]
    for memory_id, other in itertools.pairwise(ids):
        store.do(link(memory_id, other, LinkType.CAUSES, confidence=confidence))
    return ids


def test_memories_come_with_depth_activation_and_the_link_before_them(store: Store) -> None:
    one, two, three = chained(store, "one", "two", "three")
    found = near(store, one, depth=2, hop_decay=0.8)
    assert shape(found) == [("two", 1, 0.8 * 0.5, one), ("three", 2, 0.8 * 0.5 * 0.8 * 0.5, two)]
    assert [neighbor.via for neighbor in found.neighbors] == [
        Link(two, LinkType.CAUSES, 0.5),
        Link(three, LinkType.CAUSES, 0.5),
    ]
    assert (found.revision, found.truncated) == (store.revision, False)
    assert found.neighbors[0].memory == store.one(two), "as Get shows it"
    assert shape(near(store, three)) == [("two", 1, 0.25, three)], "one hop, decay 0.5"


def test_seeds_are_folded_named_in_any_way_and_never_in_the_answer(store: Store) -> None:
    one, two, three = chained(store, "one", "two", "three")
    four = store.save("four", external_id="4")
    store.do(link(four, two))
    assert shape(near(store, one, one, "ext:4", four)) == [("two", 1, 0.5, min(one, four))]
    assert contents(near(store, one, two, three, four, depth=5)) == []


def test_order_is_activation_then_depth_then_id_and_the_limit_cuts_there(store: Store) -> None:
    seed, strong = store.save("seed"), store.save("strong")
    # Farther, although its id is the first.
    far, weak, same = sorted(store.save(text) for text in ("one", "two", "three"))
    for other, confidence in ((strong, 1.0), (same, 0.2), (weak, 0.2)):
        store.do(link(seed, other, confidence=confidence))
    store.do(link(strong, far, confidence=0.4))
    found = [neighbor.memory.id for neighbor in near(store, seed, depth=2).neighbors]
    assert found == [strong, weak, same, far], "0.5, 0.1, 0.1, and 0.1 a hop farther"
    found = [neighbor.memory.id for neighbor in near(store, seed, depth=2, limit=2).neighbors]
    assert found == [strong, weak]


def test_types_are_those_that_the_nearer_memory_holds(store: Store) -> None:
    one, two, _ = chained(store, "one", "two", "three")
    assert contents(near(store, two, types=(LinkType.CAUSES,))) == ["three"]
    assert contents(near(store, two, types=(LinkType.CAUSED_BY,))) == ["one"]
    assert contents(near(store, one, types=(LinkType.RELATED,), depth=5)) == []
    both = (LinkType.CAUSES, LinkType.CAUSED_BY)
    assert sorted(contents(near(store, two, types=both))) == ["one", "three"]


def test_links_of_less_confidence_are_not_followed(store: Store) -> None:
    one, two, three = chained(store, "one", "two", "three", confidence=0.5)
    store.do(link(two, three, LinkType.CAUSES, confidence=0.499))
    assert contents(near(store, one, depth=2, min_confidence=0.5)) == ["two"]
    assert contents(near(store, one, depth=2)) == ["two", "three"]


def test_private_memories_of_others_are_neither_shown_nor_passed_through(store: Store) -> None:
    one, two = store.save("one"), store.save("secret", private=True)
    three = store.save("three")
    store.do(link(one, two))
    store.do(link(two, three))
    assert contents(near(store, one, depth=2)) == ["secret", "three"]
    assert contents(near(store, one, agent="ben", depth=5)) == []
    assert not near(store, one, agent="ben").truncated
    with pytest.raises(errors.NotFound) as caught:
        near(store, one, two, agent="ben")
    assert (caught.value.reason, caught.value.details["name"]) == ("MEMORY_NOT_FOUND", two)
    store.do(update(three, private=True))
    store.do(link(one, three))
    assert contents(near(store, one, agent="ben", depth=5)) == []
    store.do(update(two, private=False))
    assert contents(near(store, one, agent="ben", depth=5)) == ["secret"]


def test_links_that_a_shown_neighbor_holds_leave_out_what_is_private(store: Store) -> None:
    one, two = chained(store, "one", "two")
    store.do(link(two, store.save("secret", private=True)))
    (found,) = near(store, one, agent="ben").neighbors
    assert [held.target_id for held in found.memory.links] == [one]


def test_unknown_seed_is_not_found_and_forgotten_memories_are_out_of_reach(store: Store) -> None:
    one, two, _ = chained(store, "one", "two", "three")
    with pytest.raises(errors.NotFound):
        near(store, one, "mem_0123456789abcdef")
    store.do(forget(two))
    assert contents(near(store, one, depth=5)) == []
    assert contents(near(store, two, depth=5)) == [], "it has no links"


def test_superseded_memories_are_reached_and_passed(store: Store) -> None:
    key = TypedKey("server", "port")
    first, cause = store.save("The port is 8080", key=key), store.save("why")
    store.do(link(first, cause))
    answer = store.do(remember("Listening at 9090", key=key))
    assert answer.superseded_ids == (first,)
    found = near(store, answer.memory_id, depth=2)
    assert contents(found) == ["The port is 8080", "why"]
    assert found.neighbors[0].memory.status is Status.SUPERSEDED


def test_more_links_than_one_call_looks_at_are_told(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, *_ = chained(store, "one", "two", "three", "four")
    monkeypatch.setattr(limits, "NEIGHBOR_LINKS_MAX", 3)
    found = near(store, one, depth=3)
    assert (contents(found), found.truncated) == (["two", "three"], True)
    assert not near(store, one, depth=2).truncated


@pytest.mark.parametrize(
    "wrong",
    [{"depth": 0}, {"depth": 6}, {"limit": 0}, {"limit": 1001}, {"min_confidence": 1.1},
     {"hop_decay": 0.0}, {"hop_decay": 1.5}, {"hop_decay": math.nan}],
)  # fmt: skip
def test_figures_out_of_range_are_refused(store: Store, wrong: dict[str, Any]) -> None:
    with pytest.raises(errors.InvalidArgument) as caught:
        near(store, store.save("one"), **wrong)
    assert caught.value.details["field"] in wrong
