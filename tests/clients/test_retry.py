"""Which calls are tried again, how long after, and with what."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Any

import grpc
import pytest

from support.scripted import fail, scripted
from support.waits import wait_s
from totonoe import RetryPolicy, errors
from totonoe.call.retry import Attempts, Patience
from totonoe.v1 import memory_service_pb2 as pb

BUSY = errors.Unavailable("busy", code="UNAVAILABLE", reason="OVERLOADED")


class Clock:
    """Seconds that a test moves."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def attempts(policy: RetryPolicy, timeout_s: float, draw: float = 0.0) -> Attempts:
    return Attempts(policy, timeout_s, clock=Clock(), draw=lambda: draw)


def test_wait_each_failure_doubles_up_to_maximum_then_gives_up() -> None:
    tries = attempts(RetryPolicy(5, 0.1, 0.3), 60.0)
    assert [tries.wait_s(BUSY) for _ in range(5)] == [0.1, 0.2, 0.3, 0.3, None]


def test_wait_with_the_default_policy_lasts_until_the_deadline() -> None:
    clock, waits = Clock(), []
    tries = Attempts(RetryPolicy(), 30.0, clock=clock, draw=lambda: 0.5)
    failure = errors.Unavailable("busy", code="UNAVAILABLE", reason="OVERLOADED")
    while (wait_s := tries.wait_s(failure)) is not None:
        waits.append(wait_s)
        clock.now_s += wait_s
    assert min(waits) >= 0.025
    assert max(waits) <= 1.0
    assert 29.0 < clock.now_s - 100.0 <= 30.0
    assert failure.tried_count == len(waits) + 1
    assert failure.tried_s == clock.now_s - 100.0
    assert str(failure) == (
        f"busy (OVERLOADED, tried {len(waits) + 1} times in {failure.tried_s:.1f} s)"
    )


def test_failure_that_was_not_tried_again_says_nothing_of_tries() -> None:
    failure = errors.Unavailable("busy", code="UNAVAILABLE")
    assert attempts(RetryPolicy(attempts_max=1), 30.0).wait_s(failure) is None
    assert str(failure) == "busy (UNAVAILABLE)"


def test_patience_counts_time_from_the_first_failure_in_a_row() -> None:
    patience = Patience(RetryPolicy(attempts_max=3), math.inf)
    given = [patience.wait_s(BUSY) is not None for _ in range(3)]
    assert given == [True, True, False]
    patience.answered()
    assert patience.wait_s(BUSY) is not None
    assert Patience(RetryPolicy(), 1e-9).wait_s(BUSY) is None


def test_wait_with_jitter_lies_between_half_and_whole() -> None:
    policy = RetryPolicy(backoff_initial_s=0.1, jitter=0.5)
    assert attempts(policy, 60.0, draw=0.999).wait_s(BUSY) == pytest.approx(0.05, abs=1e-3)


@pytest.mark.parametrize("draw", [0.0, 0.999])
def test_wait_with_retry_delay_is_never_earlier(draw: float) -> None:
    asked = errors.Unavailable("busy", code="UNAVAILABLE", retry_delay_s=1.5)
    wait_s = attempts(RetryPolicy(), 60.0, draw).wait_s(asked)
    assert wait_s is not None
    assert 1.5 <= wait_s <= 1.65


def test_wait_beyond_deadline_gives_up() -> None:
    asked = errors.Unavailable("busy", code="UNAVAILABLE", retry_delay_s=1.5)
    assert attempts(RetryPolicy(), 1.4).wait_s(asked) is None
    assert attempts(RetryPolicy(), math.inf).wait_s(asked) is not None


@pytest.mark.parametrize("kind", [errors.DeadlineExceeded, errors.Internal, errors.StaleRevision])
def test_wait_after_other_failure_gives_up(kind: type[errors.TotonoeError]) -> None:
    assert attempts(RetryPolicy(), 60.0).wait_s(kind("no")) is None


def test_remaining_counts_down_to_zero() -> None:
    clock = Clock()
    tries = Attempts(RetryPolicy(), 2.0, clock=clock)
    clock.now_s += 1.5
    assert tries.remaining_s() == 0.5
    clock.now_s += 1.5
    assert tries.remaining_s() == 0.0
    assert Attempts(RetryPolicy(), math.inf).remaining_s() is None


@pytest.mark.parametrize(
    "bad",
    [
        {"attempts_max": 0},
        {"backoff_initial_s": -1.0},
        {"backoff_initial_s": 3.0},
        {"jitter": 1.5},
    ],
)
def test_policy_out_of_range_raises_value_error(bad: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(bad))):
        RetryPolicy(**bad)


def test_unavailable_then_served_retries_with_same_operation_id(
    call: Callable[..., Any],
) -> None:
    seen: list[pb.RememberRequest] = []

    def remember(request: pb.RememberRequest, context: grpc.ServicerContext) -> Any:
        seen.append(request)
        if len(seen) < 3:
            fail(context, "UNAVAILABLE", "OVERLOADED", retry_delay_s=0.02)
        return pb.RememberResponse(saved=True, memory_id="mem_000000000001")

    with scripted(Remember=remember) as address:
        answer = call(address, "remember", "a")
    assert answer.saved
    assert len(seen) == 3
    assert seen[0] == seen[1] == seen[2]
    assert seen[0].operation_id.startswith("op_")
    assert len(seen[0].operation_id) == 27


def test_unavailable_for_good_raises_after_bounded_tries(call: Callable[..., Any]) -> None:
    seen = []

    def recall(request: Any, context: grpc.ServicerContext) -> None:
        seen.append(request)
        fail(context, "UNAVAILABLE", "SHUTTING_DOWN")

    with scripted(Recall=recall) as address, pytest.raises(errors.Unavailable) as caught:
        call(address, "recall", "a")
    assert caught.value.reason == "SHUTTING_DOWN"
    assert not isinstance(caught.value, errors.Unreachable)
    assert len(seen) == 4


def test_other_failure_is_not_tried_again(call: Callable[..., Any]) -> None:
    seen = []

    def forget(request: Any, context: grpc.ServicerContext) -> None:
        seen.append(request)
        fail(context, "INTERNAL", "INTERNAL")

    with scripted(Forget=forget) as address, pytest.raises(errors.Internal):
        call(address, "forget", "mem_000000000001")
    assert len(seen) == 1


def test_retry_delay_beyond_deadline_raises_at_once(
    call: Callable[..., Any], slept_s: list[float]
) -> None:
    def recall(_request: Any, context: grpc.ServicerContext) -> None:
        fail(context, "UNAVAILABLE", "EMBEDDER_UNAVAILABLE", retry_delay_s=30.0)

    with scripted(Recall=recall) as address, pytest.raises(errors.Unavailable) as caught:
        call(address, "recall", "a", timeout_s=5.0)
    assert caught.value.retry_delay_s == 30.0
    assert sum(slept_s) == 0.0


def test_deadline_passed_raises_deadline_exceeded(call: Callable[..., Any]) -> None:
    def recall(_request: Any, context: grpc.ServicerContext) -> Any:
        while context.is_active():
            time.sleep(0.01)
        return pb.RecallResponse()

    with scripted(Recall=recall) as address, pytest.raises(errors.DeadlineExceeded) as caught:
        call(address, "recall", "a", timeout_s=0.1)
    assert caught.value.reason == "DEADLINE_PASSED"


@pytest.mark.parametrize("timeout_s", [0.0, -1.0, math.nan])
def test_timeout_not_above_zero_raises_value_error(
    call: Callable[..., Any], timeout_s: float
) -> None:
    with pytest.raises(ValueError, match="timeout_s"):
        call("127.0.0.1:1", "stats", timeout_s=timeout_s)


def test_daemon_that_comes_back_is_found_by_a_waiting_call(call: Callable[..., Any]) -> None:
    with scripted() as address:
        pass

    up = threading.Event()

    def serve_later() -> None:
        time.sleep(0.2)
        with scripted(address, Recall=lambda *_: pb.RecallResponse(revision=7)):
            up.wait(wait_s())

    thread = threading.Thread(target=serve_later)
    thread.start()
    try:
        assert call(address, "recall", "a", options={"retry": None}).revision == 7
    finally:
        up.set()
        thread.join()
