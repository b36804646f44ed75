"""Tidy on an engine: exact doubles, turns, what stays, what Undo brings back."""

from __future__ import annotations

import random
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.engines import DAY_US, HOUR_US, Store, change, forget, opened, remember, undo
from support.waits import wait_s
from totonoe_core.base import errors, limits, plain
from totonoe_core.domain import tidy
from totonoe_core.domain.cleanup import CleanUpDuplicates, Decay
from totonoe_core.domain.commands import Applied
from totonoe_core.domain.filter import Filter
from totonoe_core.domain.policy import TidyPolicy
from totonoe_core.domain.queries import OperationFilter, OperationsQuery, TurnRecorded
from totonoe_core.domain.records import TIDY_KEY, Kind, Memory, StateKind, Status
from totonoe_core.domain.tidy import Tidied, Tidy, TurnCounted
from totonoe_core.domain.undo import Undo
from totonoe_core.engine.commands.tidy import keep_state, state_of
from totonoe_core.store.sqlite.reader import Rows
from totonoe_core.store.sqlite.schema import open_reader

LIVE = Filter()


@pytest.fixture
def store(store: Store) -> Store:
    store.set(("guard.link_distance_below", 0.0), ("blast.rows_min", 1000))
    return store


def twice(store: Store, content: str, count: int = 2, **fields: Any) -> list[str]:
    """Ids of memories that say the same, each a second older than the next."""
    found = []
    for _ in range(count):
        store.clock.advance(1_000_000)
        found.append(store.save(content, force=True, **fields))
    return found


def tidied(store: Store, agent: str = "anna", **more: Any) -> Tidied:
    return store.do(Tidy(agent, **more))


def preview(store: Store, agent: str = "anna") -> Tidied:
    return store.preview(Tidy(agent))[1]


def turn(store: Store, agent: str = "anna", operation_id: str = "") -> TurnRecorded:
    return store.engine.record_turn(store.collection, operation_id, agent).result(wait_s())


def live(store: Store, agent: str = "anna") -> list[str]:
    return [memory.id for memory in store.list(agent, LIVE)]


def kept_state(store: Store) -> tidy.TidyState:
    connection = open_reader(store.file())
    try:
        return state_of(Rows(connection))
    finally:
        connection.close()


# -- Which goes


def test_of_exact_doubles_the_surest_then_the_newest_stays(store: Store) -> None:
    old, new = twice(store, "The heater is off.")
    sure, last = (
        twice(store, "The door is shut.", confidence=0.9),
        store.save("The door is shut.", force=True, confidence=0.5),
    )
    answer = tidied(store)
    assert [(doubles.kept_id, doubles.closed_ids) for doubles in answer.clusters] == [
        (sure[1], (sure[0], last)),
        (new, (old,)),
    ]
    assert answer.closed_counts == ((StateKind.FACT, 3),)
    assert answer.read_counts == ((StateKind.FACT, 5),)
    assert answer.complete
    assert not answer.more
    closed = store.one(old)
    assert closed.status is Status.CLOSED
    assert closed.fields.valid_to_us == closed.updated_us
    cluster = answer.clusters[1].cluster_id
    assert cluster
    for memory_id in (old, new):
        assert store.one(memory_id).fields.payload == {TIDY_KEY: {"cluster": cluster}}
    (operation,) = operations(store)[:1]
    assert (operation.kind, operation.reason) == ("Tidy", "tidy")
    assert set(operation.memory_ids) == {old, new, *sure, last}


def operations(store: Store) -> list[Any]:
    page = store.engine.read(store.collection, OperationsQuery("anna", OperationFilter(), 100, ""))
    return list(page.result(wait_s()).operations)


@pytest.mark.parametrize(
    "fields",
    [
        {"state_kind": StateKind.LONG_MOOD},
        {"kind": Kind.EVENT, "state_kind": StateKind.NONE},
        {"kind": Kind.AFFECT, "state_kind": StateKind.NONE},
        {"category": "constraint"},
        {"category": "postmortem"},
        {"category": "gotcha"},
        {"confidence": 0.95},
        {"perception_type": "visual"},
    ],
    ids=lambda fields: "-".join(map(str, fields.values())),
)
def test_what_is_protected_stays(store: Store, fields: dict[str, Any]) -> None:
    ids = twice(store, "It rains.", 3, **fields)
    assert tidied(store).clusters == ()
    assert live(store) == ids


def test_a_protected_double_stays_beside_the_one_that_stays(store: Store) -> None:
    (guarded,) = twice(store, "Never push.", 1, category="constraint", confidence=0.5)
    low, high = twice(store, "Never push.", 2)
    (cluster,) = tidied(store).clusters
    assert (cluster.kept_id, cluster.closed_ids) == (high, (low,))
    assert cluster.protected_ids == (guarded,)
    assert set(live(store)) == {guarded, high}


def test_what_differs_in_one_part_is_no_double(store: Store) -> None:
    ids = [
        *twice(store, "One text.", 1),
        *twice(store, "One  text.", 1),
        *twice(store, "One text.", 1, state_kind=StateKind.TASK),
        *twice(store, "One text.", 1, payload={"a": 1}),
        *twice(store, "One text.", 1, payload={"a": 2}),
        *twice(store, "One text.", 1, private=True),
        *twice(store, "One text.", 1, valid_to_us=store.clock() + 5_000_000),
        *twice(store, "One text.", 1, valid_from_us=store.clock() + DAY_US),
    ]
    store.clock.advance(HOUR_US)
    assert tidied(store).clusters == ()
    assert live(store) == ids


def test_payloads_are_equal_without_what_tidying_noted(store: Store) -> None:
    first = twice(store, "Said again.", 2, payload={"a": 1})
    tidied(store)
    assert store.one(first[1]).fields.payload["a"] == 1
    again = store.do(remember("Said again.", payload={"a": 1}))
    assert not again.saved, "the guard looks past the note too"
    (third,) = twice(store, "Said again.", 1, payload={"a": 1})
    (cluster,) = tidied(store).clusters
    assert (cluster.kept_id, cluster.closed_ids) == (third, (first[1],))
    # An index that is made again from the rows says the same.
    store.reopen()
    assert not store.do(remember("Said again.", payload={"a": 1})).saved


def test_private_memories_are_only_their_agents(store: Store) -> None:
    own = twice(store, "A secret.", 2, private=True)
    theirs = [store.save("A secret.", agent="bert", private=True, force=True) for _ in range(2)]
    public = twice(store, "A secret.", 2)
    assert {doubles.closed_ids for doubles in tidied(store).clusters} == {(own[0],), (public[0],)}
    assert live(store, "bert") == [*sorted(theirs, key=live(store, "bert").index), public[1]]
    assert [doubles.kept_id in theirs for doubles in tidied(store, "bert").clusters] == [True]


def test_a_run_of_the_daemon_itself_looks_at_public_memories_only(store: Store) -> None:
    store.set(("tidy.enabled", True), ("tidy.first_turn", 1))
    nobodys = [store.save("Whose?", agent="", private=True, force=True) for _ in range(2)]
    public = twice(store, "Whose?", 2)
    run = turn(store).run
    assert run is not None
    (result,) = run.result(wait_s()).results
    assert [cluster.closed_ids for cluster in result.clusters] == [(public[0],)]
    assert set(live(store, "")) == {*nobodys, public[1]}
    assert operations(store)[0].reason == "tidy after turn 1"
    assert operations(store)[0].agent_id == ""


def test_a_dry_run_changes_nothing_and_tells_the_same(store: Store) -> None:
    twice(store, "Twice.", 3)
    before, revision = store.list(), store.revision
    told = preview(store)
    assert (store.list(), store.revision, kept_state(store).runs) == (before, revision, 0)
    done = tidied(store)
    assert [(a.kept_id, a.closed_ids) for a in told.clusters] == [
        (b.kept_id, b.closed_ids) for b in done.clusters
    ]
    assert all(not doubles.cluster_id for doubles in told.clusters)


def test_twice_is_once(store: Store) -> None:
    for text in ("a", "b", "c"):
        twice(store, text, 3)
    tidied(store)
    before, revision = store.list(), store.revision
    assert tidied(store).clusters == ()
    assert (store.list(), store.revision) == (before, revision)


def test_a_retry_gives_the_first_answer(store: Store) -> None:
    twice(store, "Twice.", 2)
    first = store.apply(Tidy("anna"), operation_id="op_1")
    again = store.apply(Tidy("anna"), operation_id="op_1")
    assert again.replayed
    assert (again.results, again.revision) == (first.results, first.revision)


@pytest.mark.parametrize("seed", range(8))
def test_the_order_of_writing_does_not_count(tmp_path: Path, seed: int) -> None:
    said = [
        (f"text {number % 7}", 0.5 + 0.1 * (number % 3), number % 2 == 0) for number in range(30)
    ]
    random.Random(seed).shuffle(said)
    with opened(tmp_path) as store:
        store.set(("blast.rows_min", 1000))
        # One moment for all: then ids decide, and what is said of the one that stays is the same.
        for text, confidence, private in said:
            store.save(text, force=True, confidence=confidence, private=private)
        tidied(store)
        left = {
            (memory.content, memory.fields.private, memory.fields.confidence)
            for memory in store.list(where=LIVE)
        }
    best: dict[tuple[str, bool], float] = {}
    for text, confidence, private in said:
        best[text, private] = max(best.get((text, private), 0.0), confidence)
    assert left == {(*key, confidence) for key, confidence in best.items()}


# -- How much


def test_a_run_closes_and_reads_no_more_than_it_may_and_the_next_goes_on(store: Store) -> None:
    store.set(("tidy.closes_max", 3), ("tidy.read_max", 4))
    texts = [f"text {number}" for number in range(5)]
    for text in texts:
        twice(store, text, 3)
    closed = []
    for _ in range(12):
        answer = tidied(store)
        count = sum(len(doubles.closed_ids) for doubles in answer.clusters)
        assert count <= 3
        assert sum(number for _, number in answer.read_counts) <= 4
        closed.append(count)
    assert sum(closed) == 10
    assert sorted(memory.content for memory in store.list(where=LIVE)) == texts


def test_the_place_where_a_run_ended_outlives_the_daemon(store: Store) -> None:
    store.set(("tidy.read_max", 2))
    for number in range(5):
        store.save(f"text {number}")
    assert not tidied(store).complete
    store.reopen()
    assert not tidied(store).complete
    answer = tidied(store)
    assert answer.read_counts == ((StateKind.FACT, 1),)
    assert answer.complete
    assert tidied(store).read_counts == ((StateKind.FACT, 2),), "from the beginning again"


def test_protected_doubles_do_not_keep_a_run_from_going_on(store: Store) -> None:
    store.set(("tidy.read_max", 2))
    twice(store, "Guarded.", 5, category="constraint")
    old, _ = twice(store, "Open.", 2)
    closed = [doubles.closed_ids for _ in range(5) for doubles in tidied(store).clusters]
    assert closed == [(old,)]


def test_a_run_closes_the_oldest_up_to_the_blast_radius_and_the_next_goes_on(
    store: Store,
) -> None:
    store.set(("blast.rows_min", 3))
    sure = twice(store, "Sure.", 3, confidence=0.9)
    first = twice(store, "First.", 3)
    told = preview(store)
    assert (told.over, told.more, told.allowed, told.today) == (False, True, 3, 0)
    # Both of the surer group are older than any of the other.
    assert [doubles.closed_ids for doubles in told.clusters] == [(sure[1], sure[0]), (first[0],)]
    done = tidied(store)
    assert [doubles.closed_ids for doubles in done.clusters] == [
        doubles.closed_ids for doubles in told.clusters
    ]
    assert (done.over, done.more, done.closed_counts) == (False, True, ((StateKind.FACT, 3),))
    # Of one day no more may go: what there is is told, and nothing is changed.
    told = preview(store)
    assert (told.over, told.today) == (True, 3)
    assert [doubles.closed_ids for doubles in told.clusters] == [(first[1],)]
    before, revision = store.list(), store.revision
    with pytest.raises(errors.Quota) as caught:
        tidied(store)
    assert caught.value.reason == "BLAST_RADIUS"
    assert "blast.rows_min of collection 'default' is 4" in str(caught.value)
    assert caught.value.details["collection"] == "default"
    assert (store.list(), store.revision, kept_state(store).runs) == (before, revision, 1)
    store.clock.advance(DAY_US + HOUR_US)
    done = tidied(store)
    assert [doubles.closed_ids for doubles in done.clusters] == [(first[1],)]
    assert not done.more
    assert live(store) == [sure[2], first[2]]


@pytest.mark.parametrize("by", ["limit", "policy"])
def test_a_smaller_limit_takes_the_oldest(store: Store, by: str) -> None:
    young = twice(store, "Young.", 3, confidence=0.9)
    before_us = store.clock() - HOUR_US
    old = [store.save("Old.", force=True, created_us=before_us + at) for at in range(3)]
    if by == "policy":
        store.set(("tidy.closes_max", 3))
    command = Tidy("anna", limit=3 if by == "limit" else 0)
    done = store.do(command)
    assert {memory_id for each in done.clusters for memory_id in each.closed_ids} == {
        *old[:2],
        young[0],
    }
    assert done.more
    assert store.do(replace(command, limit=0)).clusters[0].closed_ids == (young[1],)


def test_a_limit_out_of_range_is_refused(store: Store) -> None:
    for limit in (-1, limits.TIDY_CLOSES_MAX + 1):
        for call in (store.do, lambda one: store.engine.preview("default", one).result()):
            with pytest.raises(errors.InvalidArgument) as caught:
                call(Tidy("anna", limit=limit))
            assert caught.value.details["field"] == "limit"


def test_of_more_than_one_run_reads_the_oldest_are_read(store: Store) -> None:
    store.set(("tidy.read_max", 4))
    groups = [twice(store, f"Group {number}.", 2) for number in range(6)]
    closed = [
        memory_id
        for _ in range(3)
        for each in tidied(store).clusters
        for memory_id in each.closed_ids
    ]
    assert set(closed) == {old for old, _ in groups}
    assert closed.index(groups[0][0]) < 2


def test_what_went_today_counts_until_it_is_taken_back_or_a_day_old(store: Store) -> None:
    store.set(("blast.rows_min", 2))
    twice(store, "First.", 3)
    done = store.apply(Tidy("anna"))
    twice(store, "Second.", 2)
    assert preview(store).today == 2
    assert preview(store).over, "none may go"
    store.do(undo(done.revision))
    assert preview(store).today == 0
    store.set(("blast.rows_min", 20))
    tidied(store)
    assert preview(store).today == 3
    store.clock.advance(DAY_US + HOUR_US)
    assert preview(store).today == 0


def test_a_day_counts_what_rules_took_and_left_taken_whichever_rule(store: Store) -> None:
    kept = twice(store, "Said twice.")[1]
    for number in range(3):
        store.save(f"Faded {number}.", confidence=0.1)
    tidied(store)
    # The one that stayed was changed by the run, but is not taken; nor by what anna does herself.
    assert preview(store).today == 1
    store.do(forget(kept))
    assert preview(store).today == 1
    faded = store.apply(Decay("anna", close_below=0.3))
    assert preview(store).today == 4
    for asked in (
        store.engine.preview(store.collection, Decay("anna", close_below=0.3)),
        store.engine.preview(store.collection, CleanUpDuplicates("anna")),
    ):
        blast = asked.result(wait_s())[1].blast
        assert (blast.today, blast.allowed) == (4, preview(store).allowed)
    undone = store.apply(undo(faded.revision))
    assert preview(store).today == 1
    # Taken again, by an Undo of the Undo: once.
    store.do(undo(undone.revision))
    assert preview(store).today == 4
    store.do(Undo("anna", revision=store.revision))
    store.do(Decay("anna", close_below=0.3))
    assert preview(store).today == 4


# -- Undo


def test_an_undo_brings_all_of_it_back(store: Store) -> None:
    ids = [*twice(store, "One.", 3), *twice(store, "Two.", 2, payload={"a": 1})]
    before = {memory.id: memory for memory in store.list()}
    done = store.apply(Tidy("anna"))
    answer = store.do(undo(done.revision))
    assert answer.undone
    assert answer.conflicts == ()
    assert live(store) == ids
    for memory in store.list():
        assert memory.fields == before[memory.id].fields


# -- Turns


def test_turns_begin_runs_at_10_210_410_and_at_no_other(store: Store) -> None:
    store.set(("tidy.enabled", True))
    collection = store.engine._collections.opened("default").result(wait_s())
    began = []
    for number in (*range(1, 12), 209, 210, 211, 409, 410, 411):
        skipped = replace(kept_state(store), turns=number - 1)

        def skip(state: tidy.TidyState = skipped) -> None:
            with collection._state.file.transaction():
                keep_state(collection._state.file, state)

        collection._writer.call(skip).result(wait_s())
        answer = turn(store)
        assert answer.counted == TurnCounted(number, answer.run is not None)
        if answer.run is not None:
            began.append(number)
            answer.run.result(wait_s())
    assert began == [10, 210, 410]
    assert kept_state(store).runs == 0, "there was nothing to close"
    assert store.revision == 2, "turns, and runs that change nothing, are no operations"


def test_of_the_first_thousand_turns_five_begin_a_run() -> None:
    policy = TidyPolicy(enabled=True)
    began = [number for number in range(1, 1001) if tidy.begins(number, policy)]
    assert began == [10, 210, 410, 610, 810]


@pytest.mark.parametrize("number", [1, 9, 10, 11, 209, 210, 211, 410])
def test_begins_by_the_policy_alone(number: int) -> None:
    policy = TidyPolicy(enabled=True)
    assert tidy.begins(number, policy) is (number in (10, 210, 410))
    assert not tidy.begins(number, TidyPolicy())
    every = TidyPolicy(enabled=True, first_turn=1, every_turns=1)
    assert tidy.begins(number, every)


def test_switched_off_it_counts_and_never_runs(store: Store) -> None:
    assert all(turn(store).run is None for _ in range(12))
    assert kept_state(store).turns == 12


def test_turns_outlive_the_daemon(store: Store) -> None:
    for _ in range(3):
        turn(store)
    store.reopen()
    assert turn(store).counted.turn == 4


def test_a_turn_counts_once_for_an_operation_id(store: Store) -> None:
    store.set(("tidy.enabled", True), ("tidy.first_turn", 2), ("tidy.every_turns", 1))
    twice(store, "Twice.", 2)
    first = turn(store, operation_id="one")
    second = turn(store, operation_id="two")
    assert first.counted == TurnCounted(1, False)
    assert (second.counted, second.applied.operation_id) == (TurnCounted(2, True), "two")
    assert second.run is not None
    second.run.result(wait_s())
    for _ in range(2):
        again = turn(store, operation_id="two")
        assert again.applied == replace(second.applied, replayed=True)
        assert again.run is None, "nothing begins now"
        store.reopen()
    assert (kept_state(store).turns, kept_state(store).runs) == (2, 1)
    # Ids are each agent's own, and belong to one payload.
    assert turn(store, "ben", operation_id="two").counted.turn == 3
    assert turn(store).applied.operation_id.startswith("op_")
    store.apply(remember("other"), operation_id="three")
    for call in (
        lambda: store.apply(remember("text"), operation_id="two"),
        lambda: turn(store, operation_id="three"),
    ):
        with pytest.raises(errors.AlreadyExists) as caught:
            call()
        assert caught.value.reason == "OPERATION_ID_REUSED"
    assert kept_state(store).turns == 4


def test_two_agents_at_once_begin_one_run(store: Store) -> None:
    store.set(("tidy.enabled", True))
    twice(store, "Twice.", 2)
    asked: list[Future[TurnRecorded]] = [
        store.engine.record_turn(store.collection, "", agent) for _ in range(10) for agent in "ab"
    ]
    answers = [future.result(wait_s()) for future in asked]
    assert sorted(answer.counted.turn for answer in answers) == list(range(1, 21))
    assert sum(answer.counted.began for answer in answers) == 1
    runs = [answer.run for answer in answers if answer.run is not None]
    assert len(runs) == 1
    runs[0].result(wait_s())
    assert kept_state(store).runs == 1


def test_none_begins_while_one_is_under_way(store: Store) -> None:
    store.set(("tidy.enabled", True), ("tidy.first_turn", 1), ("tidy.every_turns", 1))
    collection = store.engine._collections.opened("default").result(wait_s())
    collection.turns.running = True
    assert turn(store).run is None
    collection.turns.running = False
    run = turn(store).run
    assert run is not None
    run.result(wait_s())


def test_a_run_that_a_crash_took_begins_at_the_next_turn(store: Store) -> None:
    store.set(("tidy.enabled", True))
    collection = store.engine._collections.opened("default").result(wait_s())
    collection.turns.running = True  # as if the run of turn 10 were never carried out
    for _ in range(10):
        turn(store)
    assert kept_state(store).due == 10
    store.reopen()
    run = turn(store).run
    assert run is not None
    run.result(wait_s())
    assert kept_state(store).due == 0
    assert turn(store).run is None


def test_turns_close_as_many_as_may_go_until_none_is_left(store: Store) -> None:
    every = ("tidy.every_turns", 10)
    store.set(("tidy.enabled", True), ("blast.rows_min", 20), ("blast.percent", 0.0), every)
    ids = twice(store, "Far too often.", 50)
    taken = []
    for number in range(1, 51):
        run = turn(store).run
        if run is None:
            continue
        result = run.result(wait_s()).results[0]
        taken.append((number, sum(len(cluster.closed_ids) for cluster in result.clusters)))
        assert result.over is (number == 30)
        if number != 20:
            store.clock.advance(DAY_US + HOUR_US)
    # Turn 30 is of the day of turn 20.
    assert taken == [(10, 20), (20, 20), (30, 0), (40, 9), (50, 0)]
    assert live(store) == ids[-1:]
    assert (kept_state(store).runs, kept_state(store).closed) == (3, 49)
    store.do(undo(operations(store)[0].revision))
    assert live(store) == [*ids[40:]]


def test_a_run_that_may_close_nothing_changes_nothing_and_says_so(store: Store) -> None:
    blast = (("blast.rows_min", 0), ("blast.percent", 0.0))
    store.set(("tidy.enabled", True), ("tidy.first_turn", 1), *blast)
    twice(store, "Too many.", 4)
    revision = store.revision
    run = turn(store).run
    assert run is not None
    result = run.result(wait_s()).results[0]
    assert result.over
    assert result.clusters == ()
    assert store.revision == revision
    assert store.stats().tidy == kept_state(store)
    assert store.stats().tidy.over
    assert (store.stats().tidy.runs, store.stats().tidy.last_us is None) == (0, False)
    assert turn(store).run is None, "it waits for its next turn"


def test_figures_add_up(store: Store) -> None:
    twice(store, "One.", 3)
    tidied(store)
    twice(store, "Two.", 2)
    tidied(store)
    # One that finds nothing is no run that counts.
    tidied(store)
    state = kept_state(store)
    assert (state.runs, state.closed, state.turns) == (2, 3, 0)
    assert state.last_us is not None
    assert plain.loads(tidy.TidyState, plain.dumps(state)) == state


# -- For good


def test_730_cycles_keep_what_is_protected_and_what_is_unique(tmp_path: Path) -> None:
    draw = random.Random(7)
    with opened(tmp_path) as store:
        store.set(("guard.link_distance_below", 0.0))
        said: set[tuple[str, StateKind, str]] = set()
        guarded: list[str] = []
        runs = 0
        for _ in range(73):
            store.clock.advance(DAY_US)
            saves = []
            for _ in range(10):
                kind = draw.choice((StateKind.FACT, StateKind.TASK, StateKind.LONG_MOOD))
                fields = {
                    "state_kind": kind,
                    "category": "constraint" if draw.random() < 0.1 else "",
                    "payload": {"n": draw.randrange(2)},
                }
                saves.append(remember(f"text {draw.randrange(60)}", force=True, **fields))
            # A cycle after each, all in one commit.
            answer = store.apply(*[each for command in saves for each in (command, Tidy("anna"))])
            for command, result in zip(saves, answer.results[::2], strict=True):
                kind, payload = command.fields.state_kind, str(command.fields.payload)
                said.add((command.content, kind, payload))
                if command.fields.category or kind is StateKind.LONG_MOOD:
                    guarded.append(result.memory_id)
            runs += sum(bool(result.clusters) for result in answer.results[1::2])
        _unique_and_guarded_are_there(store, said, guarded)
        assert len(store.list()) == 730, "none is deleted"
        assert kept_state(store).runs == runs
        assert kept_state(store).closed > 200


def _unique_and_guarded_are_there(
    store: Store, said: set[tuple[str, StateKind, str]], guarded: list[str]
) -> None:
    found: list[Memory] = store.list(where=LIVE)
    assert set(guarded) <= {memory.id for memory in found}
    assert said == {
        (memory.content, memory.fields.state_kind, str({"n": memory.fields.payload["n"]}))
        for memory in found
    }


def test_what_is_forgotten_is_no_double(store: Store) -> None:
    old, new = twice(store, "Gone.", 2)
    store.do(forget(new))
    assert tidied(store).clusters == ()
    assert live(store) == [old]


def test_settings_are_changed_and_checked(store: Store) -> None:
    store.set(("tidy.enabled", True), ("tidy.closes_max", 5))
    info = store.info()
    assert info.tidy == TidyPolicy(enabled=True, closes_max=5)
    store.set(("tidy.closes_max", None))
    assert store.info().tidy == TidyPolicy(enabled=True)
    for name, value in (("first_turn", 0), ("every_turns", 0), ("read_max", 10**9), ("no", 1)):
        with pytest.raises(errors.InvalidArgument):
            store.apply(change((f"tidy.{name}", value)))


def test_doubles_of_one_batch_are_seen(store: Store) -> None:
    answer: Applied = store.apply(
        remember("Batch.", force=True), remember("Batch.", force=True), Tidy("anna")
    )
    (cluster,) = answer.results[2].clusters
    assert {cluster.kept_id, *cluster.closed_ids} == {
        result.memory_id for result in answer.results[:2]
    }
