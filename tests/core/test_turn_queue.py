"""Turns in the writer's queue: fair to peers and their flows, and each flow in its order."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.engines import (
    InProcessEmbedding,
    Store,
    opened,
    remember,
)
from support.waits import wait_s
from totonoe_core.base import limits
from totonoe_core.base.turn import Turn, taking
from totonoe_core.engine.writer.turn_queue import TurnQueue
from totonoe_core.engine.writer.writer import Job, Writer


@dataclass(frozen=True)
class Entry:
    turn: Turn
    number: int


def entries(*turns: Turn) -> list[Entry]:
    return [Entry(turn, number) for number, turn in enumerate(turns)]


def test_peers_take_turns_and_so_do_the_flows_of_one() -> None:
    waiting: TurnQueue[Entry] = TurnQueue(100)
    for entry in entries(*[("a", "1")] * 3, *[("a", "2")] * 3, ("b", "0"), ("c", "0"), ("b", "0")):
        waiting.put([entry])
    taken = waiting.take(100, 0.0)
    assert [entry.turn for entry in taken] == [
        ("a", "1"), ("b", "0"), ("c", "0"), ("a", "2"), ("b", "0"), ("a", "1"), ("a", "2"),
        ("a", "1"), ("a", "2"),
    ]  # fmt: skip


def test_full_queue_takes_none_of_a_group() -> None:
    waiting: TurnQueue[Entry] = TurnQueue(3)
    waiting.put(entries(("a", "0"), ("a", "0")))
    with pytest.raises(queue.Full):
        waiting.put(entries(("b", "0"), ("b", "0")))
    assert len(waiting) == 2
    assert waiting.take(9, 0.0) == entries(("a", "0"), ("a", "0"))


def test_wake_ends_a_take_that_waits() -> None:
    waiting: TurnQueue[Entry] = TurnQueue(3)
    done: list[Any] = []
    thread = threading.Thread(target=lambda: done.append(waiting.take(1, wait_s())))
    thread.start()
    waiting.wake()
    thread.join(wait_s())
    assert done == [[]]


TURNS = st.tuples(st.sampled_from("abc"), st.sampled_from("012"))


@given(
    st.lists(
        st.one_of(
            st.lists(TURNS, min_size=1, max_size=5).map(lambda turns: ("put", turns)),
            st.tuples(st.just("take"), st.integers(1, 6)),
            st.tuples(st.just("back"), st.integers(1, 6)),
            st.tuples(st.just("drop"), TURNS),
        ),
        max_size=40,
    )
)
def test_each_flow_keeps_its_order_and_nothing_is_lost(steps: list[tuple[str, Any]]) -> None:
    waiting: TurnQueue[Entry] = TurnQueue(10_000)
    flows: dict[Turn, list[Entry]] = {}
    count = 0
    for name, value in steps:
        if name == "put":
            made = [Entry(turn, count + at) for at, turn in enumerate(value)]
            count += len(made)
            waiting.put(made)
            for entry in made:
                flows.setdefault(entry.turn, []).append(entry)
        elif name == "drop":
            gone = flows.get(value, [])[:2]
            waiting.drop(gone)
            flows[value] = flows.get(value, [])[2:]
        else:
            taken = waiting.take(value, 0.0)
            if name == "back":
                waiting.put_back(taken)
                continue
            for entry in taken:
                assert flows[entry.turn].pop(0) == entry
    assert len(waiting) == sum(map(len, flows.values()))
    for entry in waiting.drained():
        assert flows[entry.turn].pop(0) == entry
    assert not any(flows.values())


@given(st.integers(1, 30), st.integers(0, 30), st.integers(1, 5))
def test_peer_waits_for_no_more_than_one_entry_of_each_other(
    bulk: int, taken: int, others: int
) -> None:
    waiting: TurnQueue[Entry] = TurnQueue(10_000)
    waiting.put([Entry(("bulk", str(number % 3)), number) for number in range(bulk)])
    waiting.put([Entry((f"peer{number}", ""), 0) for number in range(others)])
    waiting.put_back(waiting.take(taken, 0.0))
    first = waiting.take(1 + others, 0.0)
    assert {entry.turn[0] for entry in first} >= {f"peer{number}" for number in range(others)}


# -- In the writer


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every job lasts as long as a batch may, by the clock of the writer."""
    now = [0.0]

    def later() -> float:
        now[0] += 1.0
        return now[0]

    monkeypatch.setattr("totonoe_core.engine.writer.batch_time.time.monotonic", later)


def as_caller(turn: Turn, work: Callable[[], Any]) -> Any:
    """What work gives that is done in a turn."""
    with taking(turn):
        return work()


class Stopped:
    """The writer stands still in a call, so that what comes meanwhile waits."""

    def __init__(self, store: Store) -> None:
        self._go_on = threading.Event()
        begun = threading.Event()
        (collection,) = [
            opening.ready() for opening in store.engine._collections._openings.use_open()
        ]

        def stand() -> None:
            begun.set()
            self._go_on.wait(wait_s())

        self.writer = collection._writer
        self.writer.call(stand)
        begun.wait(wait_s())

    def __enter__(self) -> Stopped:
        return self

    def __exit__(self, *_: object) -> None:
        self._go_on.set()


def in_order(futures: dict[str, Future[Any]]) -> list[str]:
    """Names by the revision of their answers."""
    revisions = {name: future.result(wait_s()).revision for name, future in futures.items()}
    return sorted(revisions, key=lambda name: revisions[name])


@pytest.mark.usefixtures("slow")
def test_one_remember_does_not_wait_for_the_items_of_another_callers_message(
    store: Store,
) -> None:
    store.save("first")
    bulk = [("", (remember(f"bulk {number}"),)) for number in range(8)]
    with Stopped(store):
        items = as_caller(("a", "1"), lambda: store.engine.apply_all("default", bulk))
        one = as_caller(("b", "0"), lambda: store.engine.apply("default", "", [remember("one")]))
    futures = {f"item {number}": future for number, future in enumerate(items)} | {"one": one}
    assert in_order(futures) == ["item 0", "one", *(f"item {number}" for number in range(1, 8))]


@pytest.mark.usefixtures("slow")
def test_check_takes_turns_too(store: Store) -> None:
    store.save("first")
    order: list[str] = []

    def noted(name: str, future: Future[Any]) -> Future[Any]:
        future.add_done_callback(lambda _: order.append(name))
        return future

    def check(name: str) -> Future[Any]:
        return noted(name, store.engine.preview("default", remember(name)))

    with Stopped(store):
        futures = as_caller(("a", "0"), lambda: [check(f"a{number}") for number in range(4)])
        futures += as_caller(("b", "0"), lambda: [check("b0")])
    for future in futures:
        future.result(wait_s())
    assert order.index("b0") <= 1
    assert [name for name in order if name != "b0"] == ["a0", "a1", "a2", "a3"]


def test_items_behind_one_that_waits_for_its_vector_keep_their_order(tmp_path: Path) -> None:
    with opened(tmp_path, embedding=InProcessEmbedding()) as store:
        items = [("", (remember(f"text {number}", text_only=True),)) for number in range(300)]
        futures = as_caller(("a", "1"), lambda: store.engine.apply_all("default", items))
        revisions = [future.result(wait_s()).revision for future in futures]
    assert revisions == sorted(revisions)
    assert len(set(revisions)) == len(items)


def test_full_queue_refuses_a_whole_message(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.save("first")
    with Stopped(store) as stopped:
        monkeypatch.setattr(stopped.writer._queue, "_entries_max", 4)
        items = [("", (remember(f"text {number}"),)) for number in range(5)]
        futures = store.engine.apply_all("default", items)
        errors = {future.exception(wait_s()).reason for future in futures}  # type: ignore[union-attr]
    assert errors == {"OVERLOADED"}
    assert limits.WRITER_QUEUE_MAX >= 2 * limits.ITEMS_PER_MESSAGE_MAX


def test_dear_job_does_not_hold_up_an_answer_of_its_batch(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.save("first")
    now, states = [0.0], []
    decide = Writer._decide

    def dear(writer: Writer, job: Job) -> Any:
        now[0] += 1.0 if job.turn[0] == "a" else 0.001
        return decide(writer, job)

    monkeypatch.setattr("totonoe_core.engine.writer.batch_time.time.monotonic", lambda: now[0])
    monkeypatch.setattr(Writer, "_decide", dear)
    as_caller(("a", "1"), lambda: store.save("dear"))
    with Stopped(store):
        bulk = [("", (remember(f"bulk {number}"),)) for number in range(3)]
        one = as_caller(("b", ""), lambda: store.engine.apply("default", "", [remember("one")]))
        items = as_caller(("a", "1"), lambda: store.engine.apply_all("default", bulk))
        one.add_done_callback(lambda _: states.extend(item.running() for item in items))
    for item in items:
        item.result(wait_s())
    assert states == [False, False, False]
