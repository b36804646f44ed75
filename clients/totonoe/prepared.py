"""What both clients send and read, and who is calling: the ground of their requests."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from google.protobuf.message import Message

R = TypeVar("R")

MEMORY_SERVICE = "/totonoe.v1.MemoryService/"
ADMIN_SERVICE = "/totonoe.v1.AdminService/"


@dataclass(frozen=True, slots=True)
class Prepared(Generic[R]):
    """One unary call: its path, its request, and how its answer becomes a result."""

    path: str
    request: Message
    answer_type: type[Message]
    decode: Callable[[Any], R]


def new_operation_id() -> str:
    """`op_` and 24 random hex digits: the same on each attempt of a call."""
    return "op_" + secrets.token_hex(12)


class Caller:
    """A client's agent, and its collection for calls that do not say."""

    def __init__(self, agent_id: str, collection: str) -> None:
        self._agent_id = agent_id
        self._collection = collection

    def _where(self, collection: str | None) -> str:
        return self._collection if collection is None else collection
