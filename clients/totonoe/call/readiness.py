"""The calls that ask whether the daemon serves, by the standard health check of gRPC."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import grpc

from totonoe.call import status
from totonoe.call.base import AsyncCalls, Calls
from totonoe.call.retry import Attempts, RetryPolicy
from totonoe.errors import DeadlineExceeded, TotonoeError, Unavailable, Unreachable

HEALTH_PATH = "/grpc.health.v1.Health/Check"
# A HealthCheckResponse with status SERVING: its one field, 1, holds the number 1.
SERVING = b"\x08\x01"


def health_call(channel: Any) -> Any:
    """The standard health check on a channel, with bytes in and out: its messages would
    need a package more. An empty request asks for the daemon as a whole."""
    return channel.unary_unary(HEALTH_PATH, request_serializer=None, response_deserializer=None)


class Readiness:
    """Decides from an answer if the daemon serves, and when to ask again. It has no connection.

    Parameters
    ----------
    address : str
        For error messages.
    timeout_s : float
        Seconds for all tries together; infinity for no deadline.
    """

    def __init__(self, address: str, timeout_s: float) -> None:
        self._address = address
        # A policy of a single try is about calls; whoever waits wants more than one.
        self._attempts = Attempts(RetryPolicy(), timeout_s)

    def remaining_s(self) -> float | None:
        """Seconds until the deadline, at least 0; `None` if there is no deadline."""
        return self._attempts.remaining_s()

    def wait_s(self, answer: bytes | grpc.RpcError) -> float:
        """Seconds until the next try; 0: the daemon serves.

        Raises
        ------
        Unavailable
            If the time is over.
        TotonoeError
            If the check failed for another reason.
        """
        if answer == SERVING:
            return 0.0
        failure: TotonoeError
        if isinstance(answer, grpc.RpcError):
            failure = status.from_call(answer, self._address)
            if isinstance(failure, DeadlineExceeded):
                message = f"the daemon at {self._address} accepts connections and does not answer"
                failure = Unreachable(message, code="UNAVAILABLE")
        else:
            message = f"the daemon at {self._address} starts or stops"
            failure = Unavailable(message, code="UNAVAILABLE")
        wait_s = self._attempts.wait_s(failure)
        if wait_s is None:
            raise failure from (answer if isinstance(answer, grpc.RpcError) else None)
        return wait_s


class HealthCalls(Calls):
    """Calls that ask whether the daemon serves."""

    def health(self, *, timeout_s: float | None = None) -> bool:
        """Returns true if the daemon serves, false while it starts or stops. Not tried again.

        Raises
        ------
        Unreachable
            If no daemon answers.
        """
        remaining_s = self._attempts(timeout_s).remaining_s()
        try:
            return bool(health_call(self._channel)(b"", timeout=remaining_s) == SERVING)
        except grpc.RpcError as error:
            raise status.from_call(error, self.address) from error

    def wait_ready(self, *, timeout_s: float | None = None) -> None:
        """Waits until the daemon serves, for instance after it was started.

        Parameters
        ----------
        timeout_s : float or None
            Seconds to wait at most; `None`: the client's.

        Raises
        ------
        Unavailable
            If it does not serve in time; `Unreachable` if no daemon answers.
        """
        readiness = Readiness(self.address, self._limit_s(timeout_s))
        check = health_call(self._channel)
        answer: bytes | grpc.RpcError
        while True:
            try:
                answer = check(b"", timeout=readiness.remaining_s())
            except grpc.RpcError as error:
                answer = error
            wait_s = readiness.wait_s(answer)
            if not wait_s:
                return
            time.sleep(wait_s)


class AsyncHealthCalls(AsyncCalls):
    """Calls that ask whether the daemon serves."""

    async def health(self, *, timeout_s: float | None = None) -> bool:
        """Returns true if the daemon serves; as `Client.health`."""
        remaining_s = self._attempts(timeout_s).remaining_s()
        call = health_call(self._channel)(b"", timeout=remaining_s)
        try:
            return bool(await call == SERVING)
        except grpc.RpcError as error:
            raise status.from_call(error, self.address) from error
        finally:
            call.cancel()

    async def wait_ready(self, *, timeout_s: float | None = None) -> None:
        """Waits until the daemon serves; as `Client.wait_ready`."""
        readiness = Readiness(self.address, self._limit_s(timeout_s))
        answer: bytes | grpc.RpcError
        while True:
            call = health_call(self._channel)(b"", timeout=readiness.remaining_s())
            try:
                answer = await call
            except grpc.RpcError as error:
                answer = error
            finally:
                call.cancel()
            wait_s = readiness.wait_s(answer)
            if not wait_s:
                return
            await asyncio.sleep(wait_s)
