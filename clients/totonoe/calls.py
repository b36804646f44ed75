"""What the groups of calls of a client stand on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, TypeVar

from totonoe.prepared import Prepared
from totonoe.requests import Requests
from totonoe.retry import Attempts, RetryPolicy

R = TypeVar("R")


class Calls(ABC):
    """A group of calls; `Client` adds it to its own."""

    address: str
    _requests: Requests
    _retry: RetryPolicy
    _channel: Any

    @abstractmethod
    def _attempts(self, timeout_s: float | None) -> Attempts:
        """The tries of one call."""

    @abstractmethod
    def _run(self, prepared: Prepared[R], timeout_s: float | None) -> R:
        """Makes a call and waits for its result."""


class AsyncCalls(ABC):
    """A group of calls; `AsyncClient` adds it to its own."""

    address: str
    _requests: Requests
    _retry: RetryPolicy

    @property
    @abstractmethod
    def _channel(self) -> Any:
        """The connection."""

    @abstractmethod
    def _attempts(self, timeout_s: float | None) -> Attempts:
        """The tries of one call."""

    @abstractmethod
    async def _run(self, prepared: Prepared[R], timeout_s: float | None) -> R:
        """Makes a call and waits for its result."""
