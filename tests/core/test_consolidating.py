"""Consolidate in the engine: against every pair written out, left, gone on with, many at once."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.engines import (
    HOUR_US,
    Store,
    forget,
    merge,
    opened,
    undo,
    unit,
    update,
    vector_at,
    vector_of,
)
from support.oracles_joins import cosine_pairs
from support.waits import wait_s
from totonoe_core.base import limits
from totonoe_core.base.errors import InvalidArgument, OutOfRange, Quota, Unavailable
from totonoe_core.domain.calibration import CAREFUL
from totonoe_core.domain.consolidate import (
    Consolidated,
    ConsolidateItem,
    ConsolidateMessage,
    ConsolidateProgress,
    ConsolidateQuery,
    MergeCandidate,
    MergeCluster,
)
from totonoe_core.domain.dismissals import Dismiss
from totonoe_core.domain.memories import Purge
from totonoe_core.domain.records import Kind, StateKind, Verdict
from totonoe_core.engine.jobs import join
from totonoe_core.guard.verdict import judged
from totonoe_core.text.tokens import tokens

EVER = {"window_hours": 0.0, "max_merge_candidates": 0, "max_replay_events": 0}


def begun(store: Store, agent: str = "anna", operation_id: str = "", **asked: Any) -> Any:
    query = ConsolidateQuery(agent, **(EVER | asked))
    return store.engine.consolidate(store.collection, operation_id, query).result(wait_s())


def read_all(run: Any) -> list[ConsolidateMessage]:
    found: list[ConsolidateMessage] = []
    while messages := run.read().result(wait_s()):
        found += messages
    return found


def consolidated(store: Store, agent: str = "anna", **asked: Any) -> Consolidated:
    run = begun(store, agent, **asked)
    done = read_all(run)[-1].told
    run.leave()
    assert isinstance(done, Consolidated)
    return done


def pairs_of(done: Consolidated) -> list[tuple[str, str]]:
    return [
        (
            min(candidate.memory_a_id, candidate.memory_b_id),
            max(candidate.memory_a_id, candidate.memory_b_id),
        )
        for candidate in done.candidates
    ]


def near(store: Store, *contents: str, cosine: float = 0.98, **more: Any) -> list[str]:
    """Memories about the first one's vector, and nothing else near them."""
    base = vector_of(contents[0])
    vectors = [base] + [vector_at(base, cosine, seed) for seed in range(len(contents) - 1)]
    return [
        store.save(content, vector=vector, force=True, **more)
        for content, vector in zip(contents, vectors, strict=True)
    ]


def note(number: int) -> str:
    """A text of a language that no reader knows: nothing in it certainly differs from another."""
    return f"\u0e42\u0e19\u0e49\u0e15 {chr(0x0E01 + number) * 3}"


# -- exactness


class Random:
    """A store of random memories in few places, and what there is of them."""

    def __init__(self, store: Store, seed: int) -> None:
        rng, numbers = random.Random(seed), np.random.default_rng(seed)
        centres = [unit(numbers.normal(size=8)) for _ in range(4)]
        words = ["port", "host", "disk", "lamp", "door", "path", "team", "node"]
        self.rows: dict[str, dict[str, Any]] = {}
        for number in range(40):
            store.clock.advance(HOUR_US)
            kind = rng.choice([Kind.STATE] * 7 + [Kind.EVENT])
            state = rng.choice([StateKind.FACT, StateKind.FACT, StateKind.TASK])
            row = {
                "content": f"{' '.join(rng.sample(words, 4))} {number % 7}",
                "vector": vector_at(rng.choice(centres), rng.uniform(0.9, 1.0), number),
                "agent": rng.choice(["anna", "anna", "bert"]),
                "private": rng.random() < 0.3,
                "kind": kind,
                "state_kind": state if kind is Kind.STATE else StateKind.NONE,
            }
            row["id"] = store.save(
                row["content"],
                force=True,
                **{
                    name: row[name] for name in ("vector", "agent", "private", "kind", "state_kind")
                },
            )
            row["created_us"] = store.clock.now_us
            row["revision"] = store.revision
            self.rows[row["id"]] = row
        for memory_id in rng.sample(sorted(self.rows), 6):
            store.do(forget(memory_id, agent=self.rows[memory_id]["agent"]))
            del self.rows[memory_id]
        self.known = store.revision
        for memory_id in rng.sample(sorted(self.rows), 4):
            row = self.rows[memory_id]
            store.do(update(memory_id, agent=row["agent"], importance=5))
            row["revision"] = store.revision

    def differ(self, one: str, other: str) -> bool:
        """Whether two texts certainly say two things."""
        a, b = sorted((self.rows[one], self.rows[other]), key=lambda row: row["created_us"])
        found = judged(b["content"], a["content"], 0.99, CAREFUL)
        return found.hard or found.verdict in (Verdict.UPDATE, Verdict.CONTRADICTION)

    def expected(
        self, agent: str, below: float, above: float | None, now_us: int, hours: float, since: int
    ) -> list[tuple[str, str, float]]:
        """Every pair that counts, nearest first."""
        seen = [
            row
            for row in self.rows.values()
            if row["kind"] is Kind.STATE and (not row["private"] or row["agent"] == agent)
        ]
        distances = cosine_pairs(np.array([unit(row["vector"]) for row in seen]), 2.5)
        found = []
        for (i, j), distance in distances.items():
            a, b = seen[i], seen[j]
            if a["state_kind"] is not b["state_kind"]:
                continue
            left, right = set(tokens(a["content"])), set(tokens(b["content"]))
            shared = len(left & right) / len(left | right)
            if not (distance < below or (above is not None and shared > above)):
                continue
            if hours and max(a["created_us"], b["created_us"]) < now_us - hours * HOUR_US:
                continue
            if since and max(a["revision"], b["revision"]) <= since:
                continue
            found.append((*sorted((a["id"], b["id"])), distance))
        return sorted(found, key=lambda one: (one[2], one[0], one[1]))


@pytest.mark.parametrize("seed", range(6))
def test_consolidate_of_random_stores_finds_what_every_pair_written_out_shows(
    store: Store, seed: int
) -> None:
    made = Random(store, seed)
    cases = [
        (agent, below, above, hours, since, cap)
        for agent in ("anna", "bert", "carl")
        for below, above in ((0.1, None), (0.02, 0.5), (0.3, None))
        for hours, since in ((0.0, 0), (9.0, 0), (0.0, made.known), (20.0, made.known))
        for cap in (0, 4)
    ]
    found_count = 0
    for agent, below, above, hours, since, cap in random.Random(seed).sample(cases, 8):
        done = consolidated(
            store,
            agent,
            distance_below=below,
            jaccard_above=above,
            window_hours=hours,
            since_revision=since,
            max_merge_candidates=cap,
        )
        expected = made.expected(agent, below, above, store.clock.now_us, hours, since)
        assert done.pair_count == len(expected)
        near = expected[: 8 * cap] if cap else expected
        alike = [pair for pair in near if not made.differ(*pair[:2])]
        kept = [
            (*pair, candidate.distance)
            for pair, candidate in zip(pairs_of(done), done.candidates, strict=True)
        ]
        assert set(kept) <= set(alike)
        assert len(kept) == (min(cap, len(alike)) if cap else len(alike))
        order = [
            (-candidate.judgement.same_probability, candidate.distance)
            for candidate in done.candidates
        ]
        assert order == sorted(order)
        found_count += len(expected)
    assert found_count > 8


def test_consolidate_candidate_says_all_of_its_pair(store: Store) -> None:
    a, b = near(store, "The gripper holds the cup", "The gripper holds the cup tightly")
    (one,) = consolidated(store).candidates
    assert (one.memory_a_id, one.memory_b_id) == (a, b)
    assert (one.revision_a, one.revision_b) == (store.one(a).revision, store.one(b).revision)
    assert one.judgement.verdict is Verdict.REFINEMENT
    assert one.judgement.evidence
    assert one.distance == pytest.approx(0.02, abs=1e-6)
    assert (one.snippet_a, one.snippet_b) == (store.one(a).content, store.one(b).content)
    assert store.do(
        merge(a, b, expected_revisions=((a, one.revision_a), (b, one.revision_b)))
    ).merged


@pytest.mark.parametrize(
    "other",
    ["The gripper force is 15 N", "The gripper force is not 12.5 N", "The arm force is 12.5 kg"],
)
def test_consolidate_lists_nothing_that_certainly_differs(store: Store, other: str) -> None:
    near(store, "The gripper force is 12.5 N", other)
    done = consolidated(store)
    assert (done.candidates, done.pair_count) == ((), 1)


def test_consolidate_shows_the_most_probable_pair_though_others_are_nearer(store: Store) -> None:
    near(store, *(f"The force of gripper {number} is {number} N" for number in range(4)))
    base = vector_of("Backups run nightly at two")
    same = [
        store.save(text, vector=vector_at(base, cosine, 1), force=True)
        for text, cosine in (("Backups run every night", 1.0), ("Backups run nightly", 0.95))
    ]
    done = consolidated(store, max_merge_candidates=1)
    assert pairs_of(done) == [tuple(sorted(same))]


def test_consolidate_snippets_are_cut_at_a_hundred_characters(store: Store) -> None:
    near(store, "long " * 50, "longer " * 50)
    (one,) = consolidated(store).candidates
    assert (len(one.snippet_a), one.snippet_a[-1]) == (limits.CANDIDATE_SNIPPET_CHARS, "…")


def test_consolidate_of_an_empty_collection_is_through_at_once(store: Store) -> None:
    messages = read_all(begun(store))
    assert [type(message.told) for message in messages][-1] is Consolidated
    assert messages[-1].told.candidates == ()


def test_consolidate_tells_progress_that_ends_at_the_total(store: Store) -> None:
    near(store, *map(note, range(3)))
    for above in (None, 0.5):
        told = [message.told for message in read_all(begun(store, jaccard_above=above))]
        progress = [item for item in told if isinstance(item, ConsolidateProgress)]
        assert progress[-1].scanned_count == progress[-1].total_count == (3 if above is None else 6)
        assert progress[-1].left_s == 0.0


def test_consolidate_tells_clusters_of_the_kept_pairs(store: Store) -> None:
    base = vector_of("x")
    texts = ["The door is open.", "the door is open", "The door is open!"]
    ids = [store.save(text, vector=base, force=True) for text in texts]
    told = [message.told for message in read_all(begun(store))]
    (cluster,) = [item for item in told if isinstance(item, MergeCluster)]
    # Of the same confidence and never recalled: the newest first.
    assert cluster.memory_ids == tuple(reversed(ids))


def test_consolidate_order_of_saving_does_not_change_the_pairs(tmp_path: Path) -> None:
    rng = random.Random(3)
    base = vector_of("x")
    items = [(note(number), vector_at(base, 0.97, number)) for number in range(12)]
    seen = set()
    for turn in range(4):
        rng.shuffle(items)
        with opened(tmp_path / str(turn)) as made:
            names = {made.save(text, vector=vector, force=True): text for text, vector in items}
            done = consolidated(made, max_merge_candidates=6)
            seen.add(frozenset(frozenset(map(names.get, pair)) for pair in pairs_of(done)))
    assert len(seen) == 1


# -- what does not come


def test_consolidate_twice_finds_the_same_and_changes_nothing(store: Store) -> None:
    near(store, *map(note, range(3)))
    revision = store.revision
    first = consolidated(store)
    assert consolidated(store) == first
    assert store.revision == revision == first.revision


def test_consolidate_leaves_dismissed_pairs_out_until_a_text_changes(store: Store) -> None:
    a, b, c = near(store, *map(note, range(3)))
    store.do(Dismiss("anna", a, b))
    done = consolidated(store)
    assert len(done.candidates) == 2
    assert tuple(sorted((a, b))) not in pairs_of(done)
    # They take no place from others either.
    assert len(consolidated(store, max_merge_candidates=2).candidates) == 2
    store.do(update(b, content=note(8), vector=vector_of(note(0))))
    assert tuple(sorted((a, b))) in pairs_of(consolidated(store))
    assert c


def test_consolidate_shows_no_private_memory_of_another(store: Store) -> None:
    near(store, note(0), note(1), private=True)
    assert consolidated(store, "bert").candidates == ()
    assert consolidated(store, "bert").memory_count == 0
    assert len(consolidated(store).candidates) == 1


def test_consolidate_since_its_own_revision_finds_only_what_changed(store: Store) -> None:
    near(store, note(1), note(2))
    done = consolidated(store)
    assert consolidated(store, since_revision=done.revision).candidates == ()
    third = store.save(note(3), vector=vector_at(vector_of(note(1)), 0.99, 9), force=True)
    again = consolidated(store, since_revision=done.revision)
    assert len(again.candidates) == 2
    assert all(third in pair for pair in pairs_of(again))


# -- left and gone on with


def test_consolidate_left_goes_on_and_tells_nothing_twice(store: Store) -> None:
    near(store, *(note(number) for number in range(30)))
    straight = read_all(begun(store))
    whole = [
        message.told for message in straight if not isinstance(message.told, ConsolidateProgress)
    ]
    told: list[Any] = []
    token, run = "", begun(store)
    for _ in range(1000):
        messages = run.read().result(wait_s())
        if not messages:
            break
        for message in messages:
            token = message.token
            if not isinstance(message.told, ConsolidateProgress):
                told.append(message.told)
        run.leave()
        run = begun(store, resume_token=token)
    assert told == whole


def test_consolidate_resumed_from_an_earlier_token_tells_the_rest_again(store: Store) -> None:
    near(store, *map(note, range(3)))
    run = begun(store)
    messages = read_all(run)
    run.leave()
    # Figures of progress may come between them, as time goes.
    first, *rest = [message for message in messages if isinstance(message.told, MergeCandidate)]
    again = read_all(begun(store, resume_token=first.token))
    kept = [message for message in again if not isinstance(message.told, ConsolidateProgress)]
    assert kept[: len(rest)] == rest
    assert kept[-1] == messages[-1]


def test_consolidate_resumed_twice_ends_the_reader_before(store: Store) -> None:
    near(store, note(0), note(1))
    first = begun(store)
    first.read().result(wait_s())
    second = begun(store, resume_token=run_token(first))
    assert first.read().result(wait_s()) == ()
    first.leave()
    assert isinstance(read_all(second)[-1].told, Consolidated)


def test_consolidate_token_of_something_else_is_refused(store: Store) -> None:
    near(store, note(0), note(1))
    run = begun(store)
    token = read_all(run)[-1].token
    others: list[tuple[str, dict[str, Any]]] = [
        ("bert", {"resume_token": token}),
        ("anna", {"resume_token": token, "distance_below": 0.2}),
        ("anna", {"resume_token": token.split("-")[0] + "-99"}),
        ("anna", {"resume_token": token.split("-")[0] + "-x"}),
        ("anna", {"resume_token": "0123456789abcdef-0"}),
        ("anna", {"resume_token": "no token"}),
    ]
    for agent, asked in others:
        with pytest.raises(InvalidArgument, match="resume_token"):
            begun(store, agent, **asked)


def test_consolidate_left_too_long_ago_is_refused(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    near(store, note(0), note(1))
    run = begun(store)
    token = read_all(run)[-1].token
    run.leave()
    monkeypatch.setattr(limits, "CONSOLIDATION_KEPT_S", 0)
    with pytest.raises(InvalidArgument, match="resume_token"):
        begun(store, resume_token=token)


def consolidate_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "consolidate"]


def ended(what: Callable[[], bool]) -> bool:
    """Waits for threads; bounded."""
    for thread in consolidate_threads():
        thread.join(wait_s())
    return what()


def test_consolidate_left_frees_its_thread_though_nobody_reads(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CONSOLIDATE_QUEUE_MAX", 2)
    near(store, *(note(number) for number in range(12)))
    run = begun(store)
    run.read().result(wait_s())
    run.leave()
    assert ended(lambda: not consolidate_threads())


def test_consolidate_waits_for_its_reader_and_holds_nobody_up(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CONSOLIDATE_QUEUE_MAX", 3)
    near(store, *(note(number) for number in range(20)))
    run = begun(store)
    first = run.read().result(wait_s())
    # Nobody reads; writers go on.
    store.save("written meanwhile")
    assert len(first) <= 1 + 3
    counts = []
    while messages := run.read().result(wait_s()):
        counts.append(len(messages))
        last = messages[-1].told
    assert max(counts) <= 1 + 3
    assert isinstance(last, Consolidated)
    assert len(last.candidates) == 190


# -- what changes meanwhile


def test_consolidate_does_not_tell_what_changed_meanwhile(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CONSOLIDATE_QUEUE_MAX", 1)
    a, b, c, d = near(store, *map(note, range(4)))
    run = begun(store)
    run.read().result(wait_s())
    run.leave()
    assert ended(lambda: not consolidate_threads())
    store.do(forget(a))
    store.do(update(b, private=True))
    token = run_token(run)
    told = [message.told for message in read_all(begun(store, resume_token=token))]
    assert a not in repr(told[-1])
    assert pairs_of(told[-1]) == sorted(
        pairs_of(told[-1]), key=pairs_of(told[-1]).index
    )  # as they were kept
    assert {c, d} <= {memory_id for pair in pairs_of(told[-1]) for memory_id in pair}


def run_token(run: Any) -> str:
    """The token with which a run begins anew."""
    return f"{run._run.id}-0"


def test_consolidate_after_a_purge_quotes_nothing_of_it(store: Store) -> None:
    a, b = near(store, "secret one", "secret two")
    run = begun(store)
    messages = read_all(run)
    assert "secret one" in repr(messages)
    run.leave()
    store.do(Purge("anna", (a,)))
    again = read_all(begun(store, resume_token=run_token(run)))
    assert "secret" not in repr(again)
    assert again[-1].told.candidates == ()
    assert b


def test_consolidate_pair_that_waits_is_made_again_after_a_purge(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CONSOLIDATE_QUEUE_MAX", 1)
    a, *_ = near(store, "secret one", note(2), note(3))
    run = begun(store)
    messages = list(run.read().result(wait_s()))
    store.do(Purge("anna", (a,)))
    rest = read_all(run)
    assert "secret one" not in repr([message for message in rest if message not in messages][1:])
    assert len(rest[-1].told.candidates) == 1


# -- many at once


def test_consolidate_by_several_agents_at_once_finds_the_same_for_each(store: Store) -> None:
    near(store, *(note(number) for number in range(15)))
    expected = consolidated(store)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda n: consolidated(store, f"agent {n}"), range(4)))
    assert found == [expected] * 4


def test_consolidate_more_than_may_run_is_refused_and_a_left_one_gives_way(store: Store) -> None:
    runs = [
        begun(store, max_merge_candidates=most) for most in range(1, limits.CONSOLIDATIONS_MAX + 1)
    ]
    with pytest.raises(Quota):
        begun(store)
    runs[0].leave()
    again = begun(store)
    assert isinstance(read_all(again)[-1].told, Consolidated)


def test_consolidate_runs_of_one_question_are_bounded_too(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CONSOLIDATE_RUNS_MAX", 3)
    runs = [begun(store, f"agent {number}") for number in range(3)]
    with pytest.raises(Quota, match="3 Consolidates"):
        begun(store)
    runs[1].leave()
    assert isinstance(read_all(begun(store))[-1].told, Consolidated)


# -- with the same question


@pytest.fixture(name="products")
def _products(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Sizes of the products that joins compute, in small blocks."""
    found: list[int] = []
    real = join.cosine_steps

    def steps(*asked: Any, **more: Any) -> Iterator[Any]:
        for step in real(*asked, **more):
            found.append(step.looked_count)
            yield step

    monkeypatch.setattr(join, "cosine_steps", steps)
    monkeypatch.setattr("totonoe_core.joins.cosine._FIRST_BLOCK", 4)
    monkeypatch.setattr("totonoe_core.joins.cosine._BLOCK", 4)
    monkeypatch.setattr("totonoe_core.joins.cosine._SLICE", 4)
    return found


def without_progress(messages: Sequence[ConsolidateMessage]) -> list[ConsolidateItem]:
    return [
        message.told for message in messages if not isinstance(message.told, ConsolidateProgress)
    ]


def all_pairs(count: int) -> int:
    return count * (count - 1) // 2


def test_consolidate_by_ten_agents_computes_the_join_once(
    store: Store, products: list[int]
) -> None:
    near(store, *(note(number) for number in range(40)))
    asked = {"max_merge_candidates": 50}
    alone = without_progress(read_all(begun(store, "first", **asked)))
    assert sum(products) == all_pairs(40)
    store.save("nobody shares a join of before", vector=vector_of("far away"), force=True)
    store.do(forget(*[memory.id for memory in store.list() if "nobody" in memory.content]))
    products.clear()
    runs = [begun(store, f"agent {number}", distance_below=0.11, **asked) for number in range(10)]
    with ThreadPoolExecutor(10) as pool:
        found = list(pool.map(without_progress, pool.map(read_all, runs)))
    assert sum(products) == all_pairs(40)
    assert found == [found[0]] * 10
    assert found[0][:-1] == alone[:-1]


def test_consolidate_that_comes_late_gets_all_of_it(
    store: Store, products: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CONSOLIDATE_QUEUE_MAX", 1)
    near(store, *(note(number) for number in range(20)))
    first = begun(store)
    begin = list(first.read().result(wait_s()))
    late = read_all(begun(store, "bert"))
    assert without_progress(begin + read_all(first)) == without_progress(late)
    first.leave()
    # The join is through, and stays as long as one of its runs may be resumed.
    assert without_progress(read_all(begun(store, "carl"))) == without_progress(late)
    assert sum(products) == all_pairs(20)


def test_consolidate_that_comes_late_sees_what_was_written_since(
    store: Store, products: list[int]
) -> None:
    ids = near(store, *(note(number) for number in range(20)))
    first = begun(store)
    new = store.save("news", vector=vector_at(vector_of(note(0)), 0.99, 99), force=True)
    second = begun(store, "bert")
    done = read_all(second)[-1].told
    assert isinstance(done, Consolidated)
    assert (done.memory_count, done.pair_count) == (21, all_pairs(21))
    assert sum(new in pair for pair in pairs_of(done)) == 20
    assert read_all(first)[-1].told.pair_count == all_pairs(20)
    # The second computed the pairs of the new memory alone.
    assert sum(products) == all_pairs(20) + 20
    assert ids


@pytest.mark.parametrize("change", ["forget", "update", "dismiss", "settings", "window", "undo"])
def test_consolidate_shares_no_join_whose_pairs_are_others_by_now(
    store: Store, products: list[int], change: str
) -> None:
    a, b, *_ = near(store, *(note(number) for number in range(6)))
    asked = {"max_merge_candidates": 3, "window_hours": 5.0}
    store.clock.advance(HOUR_US)
    store.save("note of later", vector=vector_of(note(0)), force=True)
    if change == "undo":
        store.do(Dismiss("anna", a, b))
    read_all(begun(store, **asked))
    products.clear()
    if change == "forget":
        store.do(forget(a))
    elif change == "update":
        store.do(update(a, content="note 0, new", vector=vector_of(note(0))))
    elif change == "dismiss":
        store.do(Dismiss("anna", a, b))
    elif change == "undo":
        store.do(undo(store.revision))
    elif change == "settings":
        store.set(("guard.similar_above", 0.97))
    else:
        store.clock.advance(5 * HOUR_US)
    found = consolidated(store, "bert", **asked)
    assert sum(products) >= (0 if change == "window" else all_pairs(5))
    # With another bound, which no pair is at, it shares nothing.
    assert found == consolidated(store, "bert", **asked, distance_below=0.101)


@pytest.mark.parametrize("seed", range(4))
def test_consolidate_that_shares_finds_what_one_alone_finds(
    store: Store, products: list[int], seed: int
) -> None:
    made, rng = Random(store, seed), random.Random(seed)
    asked = {
        "distance_below": 0.2,
        "window_hours": rng.choice((0.0, 30.0)),
        "since_revision": rng.choice((0, made.known)),
        "max_merge_candidates": rng.choice((0, 6)),
        "jaccard_above": rng.choice((None, 0.5)),
    }
    first = begun(store, "anna", **asked)
    found = [without_progress(read_all(first))]
    for number, agent in enumerate(["anna", "bert", "carl", "anna", "bert"]):
        content = f"later note {number} of {agent}"
        vector = vector_at(vector_of(f"base {number % 2}"), 0.97, number)
        store.save(content, agent=agent, private=number % 2 == 0, vector=vector, force=True)
        run = begun(store, agent, **asked)
        assert run._run.public is first._run.public
        shared = read_all(run)[-1].told
        run.leave()
        # With another bound, which no pair is at, it shares nothing.
        assert shared == consolidated(store, agent, **(asked | {"distance_below": 0.2 + 1e-9}))
        found.append(shared)
    assert len({repr(item) for item in found}) > 3
    assert products


def test_consolidate_shows_a_private_memory_to_its_agent_alone(
    store: Store, products: list[int]
) -> None:
    near(store, *(note(number) for number in range(10)))
    base = vector_of(note(0))
    own = store.save("mine", agent="anna", private=True, vector=base, force=True)
    runs = {agent: begun(store, agent) for agent in ("bert", "anna", "carl")}
    found = {agent: read_all(run) for agent, run in runs.items()}
    assert own in repr(found["anna"])
    assert found["anna"][-1].told.pair_count == all_pairs(11)
    for agent in ("bert", "carl"):
        assert own not in repr(found[agent])
        assert found[agent][-1].told.pair_count == all_pairs(10)
        assert found[agent][-1].told.memory_count == 10
    assert without_progress(found["bert"]) == without_progress(found["carl"])
    # The ten public ones once, and the eleventh against them for its agent alone.
    assert sum(products) == all_pairs(10) + 10


def test_consolidate_slow_reader_stops_nobody_and_piles_nothing_up(
    store: Store, products: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CONSOLIDATE_QUEUE_MAX", 2)
    near(store, *(note(number) for number in range(20)))
    slow, fast = begun(store, "anna"), begun(store, "bert")
    begin = list(slow.read().result(wait_s()))
    whole = without_progress(read_all(fast))
    assert sum(products) == all_pairs(20)
    assert len(slow._run._ready) <= 2
    assert without_progress(begin + read_all(slow)) == whole
    assert sum(products) == all_pairs(20)


def test_consolidate_cancelled_by_one_goes_on_for_others_and_ends_with_the_last(
    store: Store, products: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CONSOLIDATE_QUEUE_MAX", 1)
    near(store, *(note(number) for number in range(40)))
    alone = without_progress(read_all(begun(store)))
    asked = {"distance_below": 0.11}
    products.clear()
    one, other = begun(store, "anna", **asked), begun(store, "bert", **asked)
    begin = [list(run.read().result(wait_s())) for run in (one, other)]
    one.leave()
    other.leave()
    assert ended(lambda: not consolidate_threads())
    assert 0 < sum(products) < all_pairs(40)
    token = begin[1][-1].token
    rest = read_all(begun(store, "bert", **asked, resume_token=token))
    assert without_progress(begin[1] + rest) == alone
    assert sum(products) == all_pairs(40)


def test_consolidate_while_others_remember_loses_no_update(store: Store) -> None:
    near(store, *(note(number) for number in range(10)))

    def writes(agent: int) -> list[str]:
        return [
            store.save(f"agent {agent} says {number}", agent=f"agent {agent}", force=True)
            for number in range(10)
        ]

    def consolidates(agent: int) -> int:
        query = ConsolidateQuery(f"agent {agent}", window_hours=0.0)
        for _ in range(100):
            try:
                run = store.engine.consolidate(store.collection, "", query).result(wait_s())
                break
            except Quota:
                continue
        else:
            return 0
        done = read_all(run)[-1].told
        run.leave()
        return len(done.candidates)

    with ThreadPoolExecutor(20) as pool:
        written = [pool.submit(writes, agent) for agent in range(10)]
        looked = [pool.submit(consolidates, agent) for agent in range(10)]
        ids = [memory_id for future in written for memory_id in future.result(wait_s())]
        assert all(future.result(wait_s()) in (0, 5) for future in looked)
    assert len(set(ids)) == 100
    found = {memory.id for memory in store.list()}
    assert found >= set(ids)
    assert store.revision == 110


# -- the end, and bad requests


def test_consolidate_of_a_closed_engine_ends_with_unavailable(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        near(store, note(0), note(1))
        run = begun(store)
        store.close()
        with pytest.raises(Unavailable):
            while run.read().result(wait_s()):
                pass
        assert ended(lambda: not consolidate_threads())


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"window_hours": -1.0}, "window_hours"),
        ({"window_hours": float("nan")}, "window_hours"),
        ({"distance_below": 0.6}, "distance_below"),
        ({"jaccard_above": 0.1}, "jaccard_above"),
        ({"max_merge_candidates": 1001}, "max_merge_candidates"),
        ({"max_merge_candidates": -1}, "max_merge_candidates"),
        ({"max_replay_events": 1001}, "max_replay_events"),
        ({"since_revision": -1}, "since_revision"),
    ],
)
def test_consolidate_out_of_range_names_the_field(
    store: Store, asked: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidArgument, match=field):
        begun(store, **asked)


def test_consolidate_since_a_revision_to_come_is_out_of_range(store: Store) -> None:
    with pytest.raises(OutOfRange):
        begun(store, since_revision=1)


def test_run_that_fails_tells_its_reader(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> Iterator[Any]:
        raise RuntimeError("broken join")
        yield

    near(store, note(0), note(1))
    monkeypatch.setattr("totonoe_core.engine.jobs.join.cosine_steps", broken)
    run = begun(store)
    with pytest.raises(RuntimeError, match="broken join"):
        while run.read().result(wait_s()):
            pass
