"""Audit: each figure against brute force, in the caller's view, and ended when nobody waits."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.engines import (
    DAY_US,
    HOUR_US,
    NOON,
    Store,
    dismiss,
    forget,
    link,
    opened,
    remember,
    undo,
    unit,
    unlink,
    update,
    vector_at,
    vector_of,
)
from support.likelihood import Likelihood
from support.waits import wait_s
from totonoe_core.base import errors, limits
from totonoe_core.domain.policy import Tokenizer
from totonoe_core.domain.queries import RecallMode, RecallQuery
from totonoe_core.domain.records import Fields, LinkType, Memory, Status, TypedKey
from totonoe_core.engine.queries import audit as auditing
from totonoe_core.index import hnsw
from totonoe_core.index.arrays import NO_TIME
from totonoe_core.index.collection_index import CollectionIndex, Features
from totonoe_core.rules import audit
from totonoe_core.rules.audit import AgentWrites, AuditQuery, AuditReport

NO_PAIRS = np.zeros((0, 2), np.int64)


def indexed(vectors: np.ndarray) -> CollectionIndex:
    """Memories of some vectors, all live."""
    index = CollectionIndex(vectors.shape[1], Tokenizer.SCRIPT_AWARE)
    for row, vector in enumerate(vectors):
        memory = Memory(
            row=row, id=f"mem_{row:016x}", content=f"m {row}", content_hash=b"%8d" % row,
            vector=b"", agent_id="anna", fields=Fields(), created_us=NOON, updated_us=NOON,
            status=Status.ACTIVE, superseded_by="", revision=1,
        )  # fmt: skip
        index.add(memory, Features.of(memory.content, vector, Tokenizer.SCRIPT_AWARE))
    index.publish()
    return index


COSINES = (1.0, 0.97, 0.9, 0.3)


def clustered(rng: np.random.Generator, count: int) -> np.ndarray:
    """Vectors of which some lie near others, some are equal and some alone."""
    centres = [unit(rng.normal(size=16)) for _ in range(count // 4)]
    found = []
    for _ in range(count):
        centre = centres[int(rng.integers(len(centres)))]
        found.append(vector_at(centre, float(rng.choice(COSINES)), int(rng.integers(10**6))))
    return np.stack(found)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("block", [4, 256])
def test_near_duplicates_are_those_of_brute_force(
    seed: int, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "_FIRST_BLOCK", block)
    rng = np.random.default_rng(seed)
    vectors = clustered(rng, 80)
    view = indexed(vectors).view()
    slots = np.sort(rng.choice(80, 70, replace=False)).astype(np.int64)
    dismissed = rng.choice(slots, (60, 2)).astype(np.int64)
    if seed >= 2:
        monkeypatch.setattr(limits, "AUDIT_JOINED_MAX", 50)
        monkeypatch.setattr(limits, "AUDIT_SAMPLED", 20)
    found = audit.near_duplicates(view, slots, 0.1, dismissed, threading.Event())
    wide = vectors.astype(np.float64)
    distance = 1.0 - wide @ wide.T
    left_out = {frozenset(pair) for pair in dismissed.tolist()}

    def is_near(one: int, other: int) -> bool:
        return distance[one, other] < 0.1 and one != other and {one, other} not in left_out

    assert len(found.examined) == (20 if seed >= 2 else 70)
    assert set(found.examined.tolist()) <= set(slots.tolist())
    expected = sum(any(is_near(item, other) for other in slots) for item in found.examined.tolist())
    assert found.near_count == expected > 0
    assert 0 < len(found.pairs) <= limits.AUDIT_SHOWN_MAX
    assert all(
        is_near(pair, other) and {pair, other} <= set(slots) for pair, other, _ in found.pairs
    )
    assert [pair[2] for pair in found.pairs] == sorted(pair[2] for pair in found.pairs)


def test_copies_of_one_text_cost_a_block_of_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "_FIRST_BLOCK", 2)
    view = indexed(np.stack([vector_of("same")] * 200)).view()
    looked = 0
    join = audit.cosine_pairs

    def counting(*args: Any, **more: Any) -> Iterator[Any]:
        nonlocal looked
        for pairs in join(*args, **more):
            looked += len(pairs.a)
            yield pairs

    monkeypatch.setattr(audit, "cosine_pairs", counting)
    found = audit.near_duplicates(view, np.arange(200), 0.1, NO_PAIRS, threading.Event())
    assert (found.near_count, looked) == (200, 199 + 198)


def test_near_duplicates_of_nothing_are_none() -> None:
    view = indexed(np.stack([vector_of("one")])).view()
    nothing = np.zeros(0, np.int64)
    assert audit.near_duplicates(view, nothing, 0.1, NO_PAIRS, threading.Event()).near_count == 0


@pytest.mark.parametrize("seed", range(20))
def test_chains_are_those_of_a_walk(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.permutation(30)
    # Each points to a later one, so that there is no circle.
    above = {
        int(rows[at]): int(rows[rng.integers(at + 1, 30)]) for at in range(29) if rng.random() < 0.6
    }

    def end(row: int) -> tuple[int, int]:
        steps = 0
        while row in above:
            row, steps = above[row], steps + 1
        return steps, row

    walked = [end(row) for row in above]
    count, longest, at = audit.chains(np.array(list(above)), np.array(list(above.values())))
    assert count == len({row for _, row in walked})
    assert longest == max(steps for steps, _ in walked)
    assert at == min(row for steps, row in walked if steps == longest)


def test_chains_of_nothing_and_of_a_circle_end() -> None:
    nothing = np.zeros(0, np.int64)
    assert audit.chains(nothing, nothing) == (0, 0, -1)
    _, longest, _ = audit.chains(np.array([1, 2]), np.array([2, 1]))
    assert longest == limits.SUPERSEDED_STEPS_MAX + 1


@pytest.mark.parametrize("seed", range(20))
def test_echoes_are_those_of_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    text = rng.integers(0, 6, 40).astype(np.uint64)
    created = rng.integers(0, 100, 40)
    last = np.where(rng.random(40) < 0.5, NO_TIME, created + rng.integers(0, 100, 40))
    since, window = int(rng.integers(0, 80)), int(rng.integers(1, 30))
    expected = sum(
        created[number] >= since
        and any(
            text[other] == text[number]
            and created[number] - window <= last[other] < created[number]
            for other in range(40)
            if last[other] != NO_TIME
        )
        for number in range(40)
    )
    assert audit.echoes(text, created, last, since, window) == expected


@pytest.fixture
def store(store: Store) -> Store:
    store.set(("guard.link_distance_below", 0.0))
    return store


def report(store: Store, *, agent: str = "anna", **more: Any) -> AuditReport:
    return store.read(AuditQuery(agent, **more))


def recall(store: Store, words: str) -> list[str]:
    query = RecallQuery("anna", words, mode=RecallMode.LEXICAL, k=1)
    return [hit.memory.content for hit in store.recall(query).hits]


def test_an_empty_collection_has_nothing_to_tell(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        assert report(store) == AuditReport(
            revision=0, active_count=0, examined_count=0, near_count=0, near_pairs=(),
            never_recalled_count=0, contradiction_count=0, contradictions=(), open_question_count=0,
            confidence_below=0.3, faded_count=0, chain_count=0, longest_chain=0,
            longest_chain_id="", days=30, operations_from_us=NOON - 30 * DAY_US, agents=(),
            repeat_count=0, repeats_from_us=NOON - 30 * DAY_US, echo_refused_count=0,
            echo_saved_count=0, recall_at_k=0.0, recall_sampled_count=0, texts={},
        )  # fmt: skip


def test_near_pairs_are_named_until_they_are_dismissed(store: Store) -> None:
    base = vector_of("base")
    one = store.save("the pump is hot", vector=base)
    two = store.save("apples are red", vector=vector_at(base, 0.95, 1), force=True)
    store.save("far away")
    store.do(forget(store.save("gone", vector=vector_at(base, 0.99, 2), force=True)))
    found = report(store)
    assert (found.active_count, found.examined_count, found.near_count) == (3, 3, 2)
    (pair,) = found.near_pairs
    assert {pair.id_a, pair.id_b} == {one, two}
    assert found.texts == {one: "the pump is hot", two: "apples are red"}
    assert pair.distance == pytest.approx(0.05, abs=1e-6)
    store.do(dismiss(one, two))
    found = report(store)
    assert (found.near_count, found.near_pairs) == (0, ())
    store.do(update(two, content="pears are green", vector=vector_at(base, 0.95, 1), force=True))
    assert report(store).near_count == 2


def test_never_recalled_and_faded_are_counted_of_live_ones(store: Store) -> None:
    store.save("the pump", confidence=0.5)
    store.save("the valve", confidence=0.25)
    store.do(forget(store.save("the motor", confidence=0.1)))
    assert recall(store, "pump") == ["the pump"]
    found = report(store)
    assert (found.never_recalled_count, found.faded_count) == (1, 1)
    store.clock.advance(60 * DAY_US)
    assert report(store).faded_count == 2
    assert report(store, confidence_below=0.2).faded_count == 1
    assert report(store, confidence_below=0.0).faded_count == 0


def test_contradictions_are_open_while_both_are_live(store: Store) -> None:
    ids = [store.save(f"memory {number}") for number in range(4)]
    store.do(link(ids[0], ids[1], LinkType.CONTRADICTS))
    store.do(link(ids[3], ids[2], LinkType.CONTRADICTS))
    store.do(link(ids[0], ids[2], LinkType.UPDATES))
    found = report(store)
    assert found.contradiction_count == 2
    assert found.contradictions == ((ids[0], ids[1]), (ids[2], ids[3]))
    store.do(replace(remember("in its place"), supersede_ids=(ids[3],)))
    assert report(store).contradictions == ((ids[0], ids[1]),)
    store.do(unlink(ids[0], ids[1]))
    assert report(store).contradiction_count == 0


def test_open_questions_are_counted_for_those_who_may_read_both(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    likelihood = Likelihood(monkeypatch)
    base = vector_of("base")
    for number, private in ((1, False), (2, True)):
        likelihood.say(f"one {number}", f"other {number}", 0.9)
        store.save(f"one {number}", vector=vector_at(base, 0.9, seed=number))
        store.do(
            remember(f"other {number}", vector=vector_at(base, 0.9, seed=number), private=private)
        )
    assert report(store).open_question_count == 2
    assert report(store, agent="ben").open_question_count == 1


def test_chains_are_counted_with_the_end_of_the_longest(store: Store) -> None:
    port, colour = TypedKey("server", "port"), TypedKey("sky", "colour")
    for number in range(4):
        last = store.save(f"port {number}", key=port)
    for name in ("blue", "grey"):
        store.save(f"colour {name}", key=colour)
    found = report(store)
    assert (found.chain_count, found.longest_chain, found.longest_chain_id) == (2, 3, last)


def test_operations_are_counted_by_agent_and_kind(store: Store) -> None:
    store.save("long ago")
    store.clock.advance(40 * DAY_US)
    one = store.save("one", agent="ben")
    store.save("two", agent="ben")
    store.do(update(one, agent="ben", importance=5))
    store.do(forget(store.save("three")))
    store.do(undo(store.revision))
    found = report(store)
    assert found.operations_from_us == store.clock.now_us - 30 * DAY_US
    assert found.agents == (
        AgentWrites("anna", (("Forget", 1), ("Remember", 1), ("Undo", 1))),
        AgentWrites("ben", (("Remember", 2), ("Update", 1))),
    )
    assert report(store, days=41).agents[0].operation_count == 5


def test_of_many_operations_the_newest_are_counted_and_since_when_is_told(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(9):
        store.clock.advance(HOUR_US)
        store.save(f"memory {number}")
    monkeypatch.setattr(limits, "AUDIT_OPERATIONS_MAX", 4)
    monkeypatch.setattr(auditing, "_READ_AT_ONCE", 2)
    found = report(store)
    assert found.agents == (AgentWrites("anna", (("Remember", 4),)),)
    assert found.operations_from_us == store.clock.now_us - 3 * HOUR_US


def test_texts_that_come_back_from_a_recall_are_counted(store: Store) -> None:
    store.save("the pump is hot")
    store.save("the valve is cold")
    store.apply(remember("the pump is hot", agent="ben"), operation_id="before")
    store.clock.advance(HOUR_US)
    assert recall(store, "pump") == ["the pump is hot"]
    store.clock.advance(HOUR_US)
    store.apply(remember("the  pump is hot ", agent="ben"), operation_id="echo")
    store.apply(remember("the valve is cold", agent="ben"), operation_id="repeat")
    store.do(remember("the pump is hot", force=True))
    found = report(store)
    assert (found.repeat_count, found.echo_refused_count, found.echo_saved_count) == (3, 1, 1)
    store.clock.advance(25 * HOUR_US)
    store.apply(remember("the pump is hot"), operation_id="too late")
    found = report(store)
    assert (found.repeat_count, found.echo_refused_count, found.echo_saved_count) == (4, 1, 1)
    found = report(store, days=1)
    assert (found.repeat_count, found.echo_refused_count, found.echo_saved_count) == (1, 0, 0)


def test_private_memories_of_others_are_not_there(store: Store) -> None:
    base, key = vector_of("base"), TypedKey("a", "b")
    store.save("public", vector=base)
    hers = {"agent": "berta", "private": True}
    one = store.save("her secret", vector=vector_at(base, 0.99), confidence=0.1, key=key, **hers)
    two = store.save("her other secret", confidence=0.1, key=key, **hers)
    three = store.save("a third", confidence=0.1, **hers)
    store.do(link(two, three, LinkType.CONTRADICTS, agent="berta"))
    store.recall(RecallQuery("berta", "third", mode=RecallMode.LEXICAL))
    store.clock.advance(HOUR_US)
    store.apply(remember("a third", **hers), operation_id="again")
    seen = report(store)
    assert (seen.active_count, seen.near_count, seen.faded_count) == (1, 0, 0)
    assert (seen.contradiction_count, seen.chain_count, seen.repeat_count) == (0, 0, 0)
    assert [writes.agent_id for writes in seen.agents] == ["anna"]
    own = report(store, agent="berta")
    assert (own.active_count, own.faded_count, own.contradiction_count) == (3, 2, 1)
    assert (own.chain_count, own.longest_chain_id) == (1, two)
    assert (own.repeat_count, own.echo_refused_count) == (1, 1)
    assert one not in str(seen)


def test_index_recall_is_measured_where_there_is_a_graph(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hnsw, "FROM_COUNT", 50)
    commands = [remember(f"memory {number}", force=True) for number in range(120)]
    store.apply(*commands)
    index: CollectionIndex = (
        store.engine._collections.opened("default").result(wait_s())._state.index
    )
    index.graph.maintain(threading.Event())
    found = report(store)
    assert found.recall_sampled_count == limits.AUDIT_RECALLS
    assert 0.9 <= found.recall_at_k <= 1.0
    # A graph that finds nothing has a recall of nothing.
    monkeypatch.setattr(index.graph, "_nominated", lambda *_: np.zeros(0, np.int64))
    assert report(store).recall_at_k == 0.0


def test_an_audit_that_nobody_waits_for_ends(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.save("one")
    begun, go_on, ended = threading.Event(), threading.Event(), threading.Event()
    stops: list[bool] = []
    near = audit.near_duplicates

    def held(*args: Any) -> Any:
        begun.set()
        assert go_on.wait(wait_s())
        stops.append(args[-1].is_set())
        return near(*args)

    class Told(auditing._Audit):
        def _go_on(self) -> None:
            try:
                super()._go_on()
            except errors.Unavailable:
                ended.set()
                raise

    monkeypatch.setattr(audit, "near_duplicates", held)
    monkeypatch.setattr(auditing, "_Audit", Told)
    future = store.engine.read(store.collection, AuditQuery("anna"))
    assert begun.wait(wait_s())
    assert future.cancel()
    go_on.set()
    with pytest.raises(CancelledError):
        future.result(wait_s())
    assert ended.wait(wait_s())
    assert stops == [True]


def test_an_audit_ends_when_the_engine_closes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = threading.Event()

    def held(*args: Any) -> Any:
        begun.set()
        for _ in range(3000):
            if args[-1].is_set():
                break
            threading.Event().wait(0.01)
        return audit.Near(np.zeros(0, np.int64), 0, ())

    monkeypatch.setattr(audit, "near_duplicates", held)
    store = Store(tmp_path)
    first, second = (store.engine.read(store.collection, AuditQuery("anna")) for _ in range(2))
    assert begun.wait(wait_s())
    assert store.recall(RecallQuery("anna", "x", mode=RecallMode.LEXICAL)).hits == ()
    store.close()
    for future in (first, second):
        with pytest.raises(errors.Unavailable) as caught:
            future.result(wait_s())
        assert caught.value.reason == "SHUTTING_DOWN"


@pytest.mark.parametrize(
    "more",
    [{"days": 0}, {"days": 4000}, {"confidence_below": -0.1}, {"confidence_below": float("nan")}],
)
def test_what_makes_no_sense_is_refused(store: Store, more: dict[str, Any]) -> None:
    with pytest.raises(errors.InvalidArgument) as caught:
        report(store, **more)
    assert caught.value.details["field"] == next(iter(more))
