"""Where answers are built: by the thread that read them, or by the thread for long ones."""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from support.waits import wait_s
from totonoe.v1 import memory_service_pb2 as pb
from totonoe_core.domain.commands import Applied
from totonoe_core.domain.queries import NamespacePage
from totonoe_server.services import building
from totonoe_server.services.building import ROWS_BUILT_THERE, built, many_built, ready, rows_of


@dataclass(frozen=True)
class Rows:
    rows: tuple[int, ...]
    inner: Rows | None = None


def where(_: object) -> pb.GetResponse:
    """An answer that names the thread that built it."""
    return pb.GetResponse(missing_ids=[threading.current_thread().name])


def thread_of(count: int, *, read: bool) -> str:
    """The thread that builds an answer of so many rows that another thread read."""
    first: Future[Rows] = Future()
    future = built(first, where, read=read)
    with ThreadPoolExecutor(1, "reading") as pool:
        pool.submit(first.set_result, Rows(tuple(range(count))))
        answer = future.result(wait_s())
    assert pb.GetResponse.FromString(answer.data) == answer.message
    return str(answer.message.missing_ids[0])


def test_short_answer_is_built_by_the_thread_that_read_it() -> None:
    assert thread_of(ROWS_BUILT_THERE, read=True) == "reading_0"


def test_long_answer_and_that_of_a_writer_are_built_on_a_thread_of_their_own() -> None:
    assert thread_of(ROWS_BUILT_THERE + 1, read=True) == "answers_0"
    assert thread_of(1, read=False) == "answers_0"


def test_answer_that_is_there_at_once_is_not_built_on_the_loop() -> None:
    answer = built(ready(Rows(())), where, read=True).result(wait_s())
    assert answer.message.missing_ids == ["answers_0"]
    several = many_built(ready((Rows(()), Rows(()))), where).result(wait_s())
    assert [encoded.message.missing_ids[0] for encoded in several] == ["answers_0"] * 2


def test_failures_and_cancellation_go_both_ways() -> None:
    failed: Future[Rows] = Future()
    failed.set_exception(KeyError("x"))
    with pytest.raises(KeyError):
        built(failed, where).result(wait_s())

    def broken(_: object) -> pb.GetResponse:
        raise ValueError("no message")

    with pytest.raises(ValueError, match="no message"):
        built(ready(Rows(())), broken).result(wait_s())
    waiting: Future[Rows] = Future()
    future = built(waiting, where)
    assert future.cancel()
    assert waiting.cancelled()
    dropped: Future[Rows] = Future()
    future = built(dropped, where)
    dropped.cancel()
    with pytest.raises(CancelledError):
        future.result(wait_s())


def test_rows_are_those_of_the_longest_list() -> None:
    assert rows_of(Rows((1, 2), Rows((1, 2, 3)))) == 3
    assert rows_of((Rows((1, 2)), Rows((1, 2)))) == 4
    assert rows_of(NamespacePage(1, (), 0)) == 0
    assert rows_of(Applied("", 1, (Rows((1, 2, 3)),))) == 3
    assert rows_of("text") == 0


def test_work_runs_in_the_context_of_its_caller() -> None:
    with building.taking(("peer", "flow")):
        future = building.run(building.TURN.get)
    assert future.result(wait_s()) == ("peer", "flow")
