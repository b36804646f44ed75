"""The health check speaks the standard protocol without its package."""

from __future__ import annotations

from collections.abc import Callable
from concurrent import futures
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from totonoe import errors


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
