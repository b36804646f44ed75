"""What stands around every call: bytes that do not decode, bounds, cancellation, deadlines."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from support.waits import wait_s, wait_until
from totonoe.v1 import admin_service_pb2 as admin_pb
from totonoe.v1 import memory_service_pb2 as pb
from totonoe_core.base import errors, limits
from totonoe_core.domain import records
from totonoe_core.domain.asking import Previewed
from totonoe_core.domain.commands import Applied
from totonoe_core.domain.memories import Forgotten, Remembered
from totonoe_core.domain.queries import Gotten
from totonoe_server.life import daemon, interceptors
from totonoe_server.life.figures import CallFigures

NOT_A_MESSAGE = b"\xff\xff\xff"
INVALID_UTF8 = b"\x0a\x02\xff\xfe"  # field 1, a string of two bytes that are no UTF-8
METHODS = [
    f"/totonoe.v1.{service.name}/{method.name}"
    for module, name in ((pb, "MemoryService"), (admin_pb, "AdminService"))
    for service in [module.DESCRIPTOR.services_by_name[name]]
    for method in service.methods
]
GUARD = records.GuardReport(None, records.Method.NONE, 0.0, (), ())


def saved(name: str) -> Applied:
    """The answer to one Remember."""
    return Applied("op_1", 1, (Remembered(True, name, GUARD),))


def memory_of(size_bytes: int) -> records.Memory:
    """A stored memory of some length."""
    return records.Memory(
        1, "mem_0123456789ab", "x" * size_bytes, b"h" * 16, b"", "", records.Fields(), 0, 0,
        records.Status.ACTIVE, "", 1,
    )  # fmt: skip


# -- Bytes that do not decode


@pytest.mark.parametrize("data", [NOT_A_MESSAGE, INVALID_UTF8], ids=["garbage", "invalid UTF-8"])
@pytest.mark.parametrize("method", METHODS)
def test_bytes_that_do_not_decode_are_malformed_message(fake, fails, method, data):
    if method.endswith("RememberMany"):
        if data is INVALID_UTF8:
            data = b"\x0a\x04" + INVALID_UTF8
        call = fake.channel.stream_stream(method)
        failure = fails(call, iter([data]))
    elif method.endswith("Multiplex"):
        if data is INVALID_UTF8:
            data = b"\x4a\x04" + INVALID_UTF8
        failure = fails(fake.channel.stream_stream(method), iter([data]))
    elif method.endswith("Watch"):
        failure = fails(fake.channel.unary_stream(method), data)
    else:
        if method.endswith(("ListCollections", "UpdateCollection", "Stats")):
            data = NOT_A_MESSAGE
        failure = fails(fake.channel.unary_unary(method), data)
    assert failure.code is grpc.StatusCode.INVALID_ARGUMENT
    assert failure.reason == "MALFORMED_MESSAGE"


def test_malformed_message_in_a_stream_follows_the_answers_before_it(fake, read_failure):
    fake.engine.behave = lambda *_, **__: saved("mem_0123456789ab")
    good = pb.RememberManyRequest(items=[{"memory": {"content": "one"}}]).SerializeToString()
    call = fake.channel.stream_stream(
        "/totonoe.v1.MemoryService/RememberMany",
        response_deserializer=pb.RememberManyResponse.FromString,
    )(iter([good, NOT_A_MESSAGE]), timeout=10)
    assert next(call).results[0].answer.saved
    with pytest.raises(grpc.RpcError) as caught:
        next(call)
    assert read_failure(caught.value).reason == "MALFORMED_MESSAGE"


def test_malformed_bytes_to_the_health_service_are_refused_too(fake, fails):
    failure = fails(fake.channel.unary_unary("/grpc.health.v1.Health/Check"), NOT_A_MESSAGE)
    assert failure.reason == "MALFORMED_MESSAGE"


def test_unknown_method_is_unimplemented(fake, fails):
    failure = fails(fake.channel.unary_unary("/totonoe.v1.MemoryService/Nothing"), b"")
    assert failure.code is grpc.StatusCode.UNIMPLEMENTED


# -- Bounds


def test_request_over_16_mib_is_resource_exhausted(fake, fails):
    request = pb.RememberRequest(memory={"content": "x" * limits.MESSAGE_BYTES_MAX})
    failure = fails(fake.memory.Remember, request)
    assert failure.code is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert fake.engine.calls == []


def test_answer_over_16_mib_says_to_ask_for_fewer(fake, fails):
    many = tuple(memory_of(limits.CONTENT_BYTES_MAX) for _ in range(600))
    fake.engine.behave = lambda *_, **__: Gotten(1, many, ())
    failure = fails(fake.memory.Get, pb.GetRequest(ids=["mem_0123456789ab"]))
    assert (failure.code, failure.reason) == (
        grpc.StatusCode.INVALID_ARGUMENT,
        "LIMIT_EXCEEDED",
    )
    assert failure.details["field"] == "answer"


def test_forget_whose_answer_would_be_too_long_changes_nothing(fake, fails):
    many = tuple(memory_of(limits.CONTENT_BYTES_MAX) for _ in range(600))
    fake.engine.behave = lambda *_, **__: Previewed(7, Forgotten(many, (), 0))
    failure = fails(fake.memory.Forget, pb.ForgetRequest(ids=["mem_0123456789ab"] * 600))
    assert (failure.reason, failure.details["field"]) == ("LIMIT_EXCEEDED", "ids")
    assert {call[0] for call in fake.engine.calls} == {"preview"}


@pytest.fixture
def narrow(monkeypatch, open_fake) -> Iterator[Any]:
    """A server that takes two calls and one stream at once."""
    monkeypatch.setattr(
        daemon,
        "Interceptor",
        functools.partial(interceptors.Interceptor, calls_max=2, streams_max=1),
    )
    with open_fake() as wire:
        yield wire


def test_calls_over_the_bound_are_told_to_come_back(narrow, fails):
    blocked: Future[Gotten] = Future()
    narrow.engine.behave = lambda *_, **__: blocked
    request = pb.GetRequest(ids=["mem_0123456789ab"])
    running = [narrow.memory.Get.future(request, timeout=20) for _ in range(2)]
    wait_until(lambda: len(narrow.engine.calls) == 2)
    failure = fails(narrow.memory.Get, request)
    assert (failure.code, failure.reason) == (grpc.StatusCode.UNAVAILABLE, "OVERLOADED")
    assert failure.retry_delay_ms == limits.RETRY_DELAY_MS
    # Health is not what loads it.
    health_pb2_grpc.HealthStub(narrow.channel).Check(health_pb2.HealthCheckRequest(), timeout=5)
    blocked.set_result(Gotten(1, (), ()))
    assert [call.result().revision for call in running] == [1, 1]
    wait_until(lambda: narrow.memory.Get(request, timeout=5).revision == 1)


def test_streams_over_the_bound_are_told_to_come_back(narrow, fails):
    go_on = threading.Event()

    def slowly():
        yield pb.RememberManyRequest()
        go_on.wait(wait_s())

    first = narrow.memory.RememberMany(slowly(), timeout=20)
    assert len(next(first).results) == 0
    failure = fails(narrow.memory.RememberMany, iter([pb.RememberManyRequest()]))
    assert failure.reason == "OVERLOADED"
    go_on.set()
    assert list(first) == []


# -- Cancellation, deadlines


def test_cancelled_call_takes_a_waiting_request_back(fake):
    waiting: Future[Applied] = Future()
    fake.engine.behave = lambda *_, **__: waiting
    call = fake.memory.Remember.future(pb.RememberRequest(memory={"content": "one"}), timeout=20)
    wait_until(lambda: fake.engine.calls)
    call.cancel()
    wait_until(waiting.cancelled)


def test_cancelled_call_leaves_a_started_request_alone(fake):
    started: Future[Applied] = Future()
    started.set_running_or_notify_cancel()
    fake.engine.behave = lambda *_, **__: started
    call = fake.memory.Remember.future(pb.RememberRequest(memory={"content": "one"}), timeout=20)
    wait_until(lambda: fake.engine.calls)
    call.cancel()
    # The next answer shows that the server is well, and that the cancellation has arrived.
    fake.engine.behave = lambda *_, **__: Gotten(1, (), ())
    fake.memory.Get(pb.GetRequest(ids=["mem_0123456789ab"]), timeout=10)
    assert not started.cancelled()
    started.set_result(saved("mem_0123456789ab"))
    assert fake.memory.Get(pb.GetRequest(ids=["mem_0123456789ab"]), timeout=10).revision == 1


def test_passed_deadline_is_deadline_exceeded_and_takes_the_request_back(fake, fails):
    waiting: Future[Applied] = Future()
    fake.engine.behave = lambda *_, **__: waiting
    request = pb.RememberRequest(memory={"content": "one"})
    failure = fails(fake.memory.Remember, request, timeout=0.2)
    assert failure.code is grpc.StatusCode.DEADLINE_EXCEEDED
    wait_until(waiting.cancelled)


def test_request_that_the_engine_dropped_is_shutting_down(fake, fails):
    dropped: Future[Gotten] = Future()
    dropped.cancel()
    dropped.set_running_or_notify_cancel()
    fake.engine.behave = lambda *_, **__: dropped
    failure = fails(fake.memory.Get, pb.GetRequest(ids=["mem_0123456789ab"]))
    assert (failure.code, failure.reason) == (grpc.StatusCode.UNAVAILABLE, "SHUTTING_DOWN")
    assert failure.retry_delay_ms == limits.RETRY_DELAY_MS


def test_error_raised_by_the_call_itself_is_typed_like_one_of_its_future(fake, fails):
    def behave(*_, **__):
        raise errors.Unavailable("OVERLOADED", "full", retry_delay_ms=10)

    fake.engine.behave = behave
    assert fails(fake.memory.Get, pb.GetRequest(ids=["m"])).reason == "OVERLOADED"


def test_figures_count_own_calls_by_code_and_leave_out_health():
    async def run() -> CallFigures:
        figures = CallFigures()
        figures.begin("Get")
        assert not figures.idle.is_set()
        figures.end("Get", "OK", 0.5)
        return figures

    figures = asyncio.run(run())
    assert figures.idle.is_set()
    assert (figures.now, figures.ended["OK"], figures.seconds) == (0, 1, 0.5)


def test_health_answers_while_calls_wait(fake):
    blocked: Future[Gotten] = Future()
    fake.engine.behave = lambda *_, **__: blocked
    calls = [fake.memory.Get.future(pb.GetRequest(ids=["m"]), timeout=20) for _ in range(20)]
    wait_until(lambda: len(fake.engine.calls) == 20)
    health = health_pb2_grpc.HealthStub(fake.channel)
    answer = health.Check(health_pb2.HealthCheckRequest(), timeout=5)
    assert answer.status == health_pb2.HealthCheckResponse.SERVING
    blocked.set_result(Gotten(1, (), ()))
    for call in calls:
        call.result()


def test_concurrent_calls_from_many_threads_all_answer(fake):
    fake.engine.behave = lambda *_, **__: Gotten(1, (), ())
    revisions: list[int] = []

    def ask() -> None:
        for _ in range(20):
            answer = fake.memory.Get(pb.GetRequest(ids=["m"]), timeout=20)
            revisions.append(answer.revision)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert revisions == [1] * 160


def test_error_whose_end_is_sent_late_is_no_error_of_ours(
    wire: Any, fails: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interceptors, "ABORT_S_MAX", 0.0)
    for _ in range(5):
        failure = fails(wire.memory.Get, pb.GetRequest(ids=["mem_0000000000000000"]))
        assert failure.reason == "MEMORY_NOT_FOUND"
    assert wire.memory.List(pb.ListRequest(), timeout=30).revision >= 0
    assert not [record for record in caplog.records if record.levelname == "ERROR"]
