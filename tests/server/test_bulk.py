"""RememberMany: order, errors in place, streams that end in the middle."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future

import grpc
import pytest
from google.rpc import code_pb2

from support.waits import wait_s, wait_until
from totonoe.v1 import memory_service_pb2 as pb
from totonoe_core.base import errors, limits
from totonoe_core.domain import records
from totonoe_core.domain.commands import Applied
from totonoe_core.domain.memories import Remembered

GUARD = records.GuardReport(None, records.Method.NONE, 0.0, (), ())


def saved(name: str) -> Applied:
    """The answer to one Remember."""
    return Applied("op_1", 1, (Remembered(True, name, GUARD),))


def message(*contents: str, **rest: object) -> pb.RememberManyRequest:
    return pb.RememberManyRequest(items=[{"memory": {"content": c}, **rest} for c in contents])


def echo(_name, _collection, _operation_id, commands):
    """An engine that saves everything under its own text."""
    return saved(commands[0].content)


def test_answers_come_in_the_order_of_the_items_whatever_finishes_first(fake):
    futures: dict[str, Future[Applied]] = {name: Future() for name in "abcd"}
    fake.engine.behave = lambda _n, _c, _o, commands: futures[commands[0].content]
    call = fake.memory.RememberMany(iter([message("a", "b"), message("c", "d")]), timeout=20)
    wait_until(lambda: len(fake.engine.calls) == 1)
    for name in "ba":
        futures[name].set_result(saved(name))
    assert [result.answer.memory_id for result in next(call).results] == ["a", "b"]
    for name in "dc":
        futures[name].set_result(saved(name))
    assert [result.answer.memory_id for result in next(call).results] == ["c", "d"]
    assert list(call) == []


def test_next_message_is_decided_after_the_one_before(fake):
    first: Future[Applied] = Future()
    fake.engine.behave = lambda *_: first
    call = fake.memory.RememberMany(iter([message("a"), message("b")]), timeout=20)
    wait_until(lambda: fake.engine.calls)
    time.sleep(0.05)
    assert len(fake.engine.calls) == 1
    fake.engine.behave = echo
    first.set_result(saved("a"))
    assert [r.results[0].answer.memory_id for r in call] == ["a", "b"]


def test_items_of_one_collection_are_handed_over_together_and_in_order(fake):
    fake.engine.behave = echo
    items = [
        {"collection": name, "operation_id": text, "memory": {"content": text}}
        for name, text in (("x", "1"), ("", "2"), ("x", "3"), ("default", "4"))
    ]
    (answer,) = fake.memory.RememberMany(iter([pb.RememberManyRequest(items=items)]), timeout=20)
    assert [result.answer.memory_id for result in answer.results] == ["1", "2", "3", "4"]
    handed_over = [
        (collection, [operation_id for operation_id, _ in requests])
        for _, collection, requests in fake.engine.calls
    ]
    assert handed_over == [("x", ["1", "3"]), ("default", ["2", "4"])]


def test_item_that_fails_has_its_error_in_its_place_and_the_stream_goes_on(fake):
    def behave(_name, _collection, _operation_id, commands):
        if commands[0].content == "bad":
            return errors.InvalidArgument("EMPTY_TEXT", field="content", got="no", allowed="text")
        if commands[0].content == "bug":
            return KeyError("secret")
        return saved(commands[0].content)

    fake.engine.behave = behave
    wrong_enum = pb.RememberManyRequest(items=[{"memory": {"content": "x", "kind": 77}}, {}])
    call = fake.memory.RememberMany(
        iter([message("good", "bad", "bug", "good"), wrong_enum, message("last")]), timeout=20
    )
    first, second, third = call
    outcomes = [result.WhichOneof("outcome") for result in first.results]
    assert outcomes == ["answer", "error", "error", "answer"]
    assert first.results[1].error.code == code_pb2.INVALID_ARGUMENT
    assert first.results[1].error.reason == "EMPTY_TEXT"
    assert first.results[1].error.details["field"] == "content"
    assert first.results[2].error.reason == "INTERNAL"
    assert "secret" not in str(first.results[2])
    assert [r.error.reason for r in second.results] == ["UNKNOWN_ENUM", "MISSING_FIELD"]
    assert third.results[0].answer.saved


def test_engine_that_refuses_a_whole_message_fails_its_items_only(fake):
    def behave(*_):
        raise errors.NotFound("COLLECTION_NOT_FOUND", kind="collection", name="x")

    fake.engine.behave = behave
    (answer,) = fake.memory.RememberMany(iter([message("a", "b", collection="x")]), timeout=20)
    assert [r.error.reason for r in answer.results] == ["COLLECTION_NOT_FOUND"] * 2


def test_message_over_its_limit_ends_the_stream_after_the_answers_before(fake, read_failure):
    fake.engine.behave = echo
    too_many = message(*["x"] * (limits.ITEMS_PER_MESSAGE_MAX + 1))
    call = fake.memory.RememberMany(iter([message("a"), too_many, message("b")]), timeout=20)
    assert next(call).results[0].answer.memory_id == "a"
    with pytest.raises(grpc.RpcError) as caught:
        next(call)
    failure = read_failure(caught.value)
    assert (failure.code, failure.reason) == (
        grpc.StatusCode.INVALID_ARGUMENT,
        "LIMIT_EXCEEDED",
    )
    assert failure.details["field"] == "items"


def test_empty_stream_and_empty_message_are_answered(fake):
    assert list(fake.memory.RememberMany(iter([]), timeout=20)) == []
    (answer,) = fake.memory.RememberMany(iter([pb.RememberManyRequest()]), timeout=20)
    assert len(answer.results) == 0


def test_stream_broken_off_takes_waiting_items_back_and_leaves_nothing(fake):
    futures: list[Future[Applied]] = []

    def behave(*_):
        futures.append(Future())
        return futures[-1]

    fake.engine.behave = behave
    hold = threading.Event()

    def requests():
        yield message("a", "b")
        hold.wait(wait_s())

    call = fake.memory.RememberMany(requests(), timeout=20)
    wait_until(lambda: len(futures) == 2)
    futures[0].set_running_or_notify_cancel()
    call.cancel()
    wait_until(lambda: futures[1].cancelled())
    hold.set()
    assert not futures[0].cancelled()
    futures[0].set_result(saved("a"))
    fake.engine.behave = echo
    (answer,) = fake.memory.RememberMany(iter([message("after")]), timeout=20)
    assert answer.results[0].answer.memory_id == "after"


def test_client_process_that_vanishes_leaves_nothing(fake):
    channel = grpc.insecure_channel(fake.server.address)
    stub = type(fake.memory)(channel)
    waiting: Future[Applied] = Future()
    fake.engine.behave = lambda *_: waiting
    call = stub.RememberMany(iter([message("a")]), timeout=20)
    wait_until(lambda: fake.engine.calls)
    channel.close()
    wait_until(waiting.cancelled)
    with pytest.raises(grpc.RpcError):
        next(call)
