"""The base of the groups of calls that make up a client."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

from google.protobuf.message import Message

from totonoe.call.arguments import check_calls
from totonoe.call.channel import Connection
from totonoe.call.prepared import Caller
from totonoe.call.retry import Attempts, RetryPolicy, checked_timeout_s

P = TypeVar("P", bound=Message)
R = TypeVar("R")


class Group(ABC):
    """Calls of one topic. Their arguments are checked against their annotations."""

    address: str
    _caller: Caller
    _retry: RetryPolicy
    _timeout_s: float

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        check_calls(cls)

    @property
    @abstractmethod
    def _channel(self) -> Connection:
        """The connection."""

    def _request(self, kind: type[P], **values: Any) -> P:
        """A request of the values, which have the names of its fields; `None`: not said."""
        return self._caller.request(kind, values)

    def _limit_s(self, timeout_s: float | None) -> float:
        """The time limit of a call in seconds; `None`: the client's."""
        return self._timeout_s if timeout_s is None else checked_timeout_s(timeout_s)

    def _attempts(self, timeout_s: float | None) -> Attempts:
        """The tries of one call."""
        return Attempts(self._retry, self._limit_s(timeout_s))


class Calls(Group):
    """A group of calls; `Client` adds it to its own."""

    @abstractmethod
    def _run(self, request: Message, result: Callable[..., R], timeout_s: float | None) -> R:
        """Makes a call and waits for its result: a dataclass, or what a function makes."""


class AsyncCalls(Group):
    """A group of calls; `AsyncClient` adds it to its own."""

    @abstractmethod
    async def _run(self, request: Message, result: Callable[..., R], timeout_s: float | None) -> R:
        """Makes a call and waits for its result: a dataclass, or what a function makes."""
