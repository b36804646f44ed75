"""Stages of calls: which are marked, in which order, and for whom."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from itertools import pairwise
from typing import Any

import pytest

from support.engines import Store, remember
from support.waits import wait_s
from totonoe_core.base import limits
from totonoe_core.base.errors import NotFound
from totonoe_core.base.stages import STAGES, Stage, Stages, marking
from totonoe_core.domain.memories import Forget
from totonoe_core.domain.queries import GetQuery
from totonoe_core.engine.writer.batch_time import BatchTime


def named(stages: Stages) -> list[str]:
    return [stage.name for stage in stages.close()]


def begun(store: Store, *texts: str) -> list[tuple[Stages, Future[Any]]]:
    """Remembers that are under way, each with its own stages."""
    calls = []
    for text in texts:
        stages = Stages()
        with marking(stages):
            calls.append((stages, store.engine.apply("default", "", [remember(text)])))
    return calls


def test_next_stage_ends_the_one_before_at_the_same_moment() -> None:
    stages = Stages()
    waiting = stages.begin("queue")
    stages.begin("decide", waiting)
    queue, decide = stages.close()
    assert queue.begun_s <= queue.ended_s == decide.begun_s <= decide.ended_s


def test_stages_that_last_end_with_the_call_and_later_ones_are_not_kept() -> None:
    stages = Stages()
    stages.begin("embed")
    (embed,) = stages.close()
    assert embed.ended_s >= embed.begun_s
    assert stages.begin("decide") is None
    assert len(stages.close()) == 1


def test_stages_over_the_limit_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "STAGES_PER_CALL_MAX", 2)
    stages = Stages()
    first, second, third = (stages.begin("read") for _ in range(3))
    assert (first is None, second is None, third is None) == (False, False, True)
    assert (len(stages.close()), stages.left_out_count) == (2, 1)


def test_timed_work_that_fails_ends_its_stage_and_raises() -> None:
    stages = Stages()

    def work() -> None:
        raise KeyError

    with pytest.raises(KeyError):
        stages.timed(work)()
    kept = stages._stages
    assert [stage.name for stage in kept] == ["queue", "read"]
    assert all(stage.ended_s for stage in kept)


def test_write_with_a_vector_waits_is_decided_and_committed(store: Store) -> None:
    ((stages, future),) = begun(store, "tea")
    future.result(wait_s())
    found = stages.close()
    assert [stage.name for stage in found] == ["queue", "decide", "commit"]
    assert [stage.operations_count for stage in found] == [0, 0, 1]
    for before, after in pairwise(found):
        assert before.begun_s <= before.ended_s <= after.begun_s <= after.ended_s


def test_failed_write_has_its_stages(store: Store) -> None:
    stages = Stages()
    with marking(stages):
        future = store.engine.apply("default", "", [Forget("anna", ("mem_0123456789abcdef",))])
    assert isinstance(future.exception(wait_s()), NotFound)
    assert named(stages) == ["queue", "decide", "commit"]


def test_read_waits_for_a_thread_and_reads(store: Store) -> None:
    memory_id = store.save("tea")
    stages = Stages()
    with marking(stages):
        future = store.engine.read("default", GetQuery("anna", (memory_id,)))
    future.result(wait_s())
    assert named(stages) == ["queue", "read"]


def test_calls_of_one_commit_have_stages_of_their_own(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    # However slow the machine is, all fit into one batch.
    monkeypatch.setattr(BatchTime, "suffices", lambda *_: True)
    store.save("first")
    (collection,) = [opening.ready() for opening in store.engine._collections._openings.use_open()]
    standing, go_on = threading.Event(), threading.Event()

    def stand() -> None:
        standing.set()
        go_on.wait(wait_s())

    collection._writer.call(stand)
    standing.wait(wait_s())
    calls = begun(store, "one", "two", "three")
    go_on.set()
    found = []
    for stages, future in calls:
        future.result(wait_s())
        found.append(stages.close())
    assert [[stage.name for stage in item] for item in found] == [["queue", "decide", "commit"]] * 3
    commits = [stages[-1] for stages in found]
    assert [commit.operations_count for commit in commits] == [3, 3, 3]
    assert len({(commit.begun_s, commit.ended_s) for commit in commits}) == 1
    decided = [stages[1] for stages in found]
    assert decided[0].ended_s <= decided[1].begun_s
    assert decided[1].ended_s <= decided[2].begun_s


def test_nothing_is_marked_unless_it_is_asked_for(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Stage] = []
    monkeypatch.setattr(Stages, "add", lambda _, stage: made.append(stage))
    store.save("tea")
    assert STAGES.get() is None
    assert made == []
