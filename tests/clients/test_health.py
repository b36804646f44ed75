"""The health check speaks the standard protocol without its package."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import contextmanager
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from totonoe import errors
from totonoe.call.readiness import SERVING, Readiness

Check = health_pb2.HealthCheckResponse


@contextmanager
def answering_health(*states: int) -> Iterator[tuple[str, list[int]]]:
    """A server that answers these states in turn, the last one for good, and what it answered."""
    given: list[int] = []

    class Servicer(health_pb2_grpc.HealthServicer):  # type: ignore[misc]
        def Check(self, _request: Any, _context: Any) -> Any:
            given.append(states[min(len(given), len(states) - 1)])
            return Check(status=given[-1])

    server = grpc.server(futures.ThreadPoolExecutor(2))
    health_pb2_grpc.add_HealthServicer_to_server(Servicer(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"127.0.0.1:{port}", given
    finally:
        server.stop(None).wait()


def test_wait_ready_returns_when_the_daemon_serves(call: Callable[..., Any]) -> None:
    with answering_health(Check.NOT_SERVING, Check.NOT_SERVING, Check.SERVING) as (address, given):
        assert call(address, "wait_ready", timeout_s=30.0) is None
    assert given == [Check.NOT_SERVING, Check.NOT_SERVING, Check.SERVING]


def test_wait_ready_daemon_that_never_serves_raises_with_the_time(
    call: Callable[..., Any],
) -> None:
    with (
        answering_health(Check.NOT_SERVING) as (address, given),
        pytest.raises(errors.Unavailable, match=r"starts or stops .*tried \d+ times in") as caught,
    ):
        call(address, "wait_ready", timeout_s=0.3)
    assert not isinstance(caught.value, errors.Unreachable)
    assert caught.value.tried_count == len(given) > 1


def test_wait_ready_without_a_daemon_raises_unreachable(call: Callable[..., Any]) -> None:
    with answering_health(Check.SERVING) as (address, _):
        pass
    with pytest.raises(errors.Unreachable, match="no daemon answers"):
        call(address, "wait_ready", timeout_s=0.2)
    with pytest.raises(ValueError, match="timeout_s"):
        call(address, "wait_ready", timeout_s=0.0)


def test_readiness_of_a_health_check_that_is_not_known_raises_at_once(
    call: Callable[..., Any],
) -> None:
    server = grpc.server(futures.ThreadPoolExecutor(2))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        with pytest.raises(errors.Unimplemented):
            call(f"127.0.0.1:{port}", "wait_ready", timeout_s=30.0)
    finally:
        server.stop(None).wait()
    assert Readiness("127.0.0.1:1", 1.0).wait_s(SERVING) == 0.0


@pytest.mark.parametrize(
    ("state", "serves"),
    [
        (health_pb2.HealthCheckResponse.SERVING, True),
        (health_pb2.HealthCheckResponse.NOT_SERVING, False),
        (health_pb2.HealthCheckResponse.UNKNOWN, False),
    ],
)
def test_health_of_each_state_is_told(call: Callable[..., Any], state: Any, serves: bool) -> None:
    server = grpc.server(futures.ThreadPoolExecutor(2))
    servicer = health.HealthServicer()
    servicer.set("", state)
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        assert call(f"127.0.0.1:{port}", "health") is serves
    finally:
        server.stop(None).wait()
    with pytest.raises(errors.Unreachable):
        call(f"127.0.0.1:{port}", "health")
