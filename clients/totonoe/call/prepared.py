"""Prepares calls: the request, the method that takes it, and the reader of its answer."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, TypeVar

from google.protobuf import message_factory
from google.protobuf.message import Message

from totonoe.v1 import admin_service_pb2, memory_service_pb2
from totonoe.wire.mapping import decoder, encode

P = TypeVar("P", bound=Message)
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Method:
    """A method of the contract: its path, and the type of its answers."""

    path: str
    answer: Any


@cache
def _methods() -> Mapping[str, Method]:
    """By the full name of its request: no two methods of the contract take the same message."""
    return {
        method.input_type.full_name: Method(
            f"/{service.full_name}/{method.name}",
            message_factory.GetMessageClass(method.output_type),
        )
        for file in (memory_service_pb2.DESCRIPTOR, admin_service_pb2.DESCRIPTOR)
        for service in file.services_by_name.values()
        for method in service.methods
    }


def method_of(request: Message | type[Message]) -> Method:
    """The method that takes a request."""
    return _methods()[request.DESCRIPTOR.full_name]


def serialize(message: Message) -> bytes:
    """Bytes of a request."""
    return message.SerializeToString()


@dataclass(frozen=True, slots=True)
class Prepared(Generic[R]):
    """One unary call: its request, its method, and how its answer becomes a result."""

    request: Message
    method: Method
    decode: Callable[[Any], R]


def prepared(request: Message, result: Callable[..., R]) -> Prepared[R]:
    """The call of a request.

    Parameters
    ----------
    request : Message
        It says which method is called.
    result : type or callable
        Dataclass of the answer, or a function that makes the result of the answer.
    """
    method = method_of(request)
    decode: Callable[[Any], R] = result
    if isinstance(result, type):
        decode = decoder(result, method.answer)
    return Prepared(request, method, decode)


def new_operation_id() -> str:
    """`op_` and 24 random hex digits: the same on each attempt of a call."""
    return "op_" + secrets.token_hex(12)


class Caller:
    """Makes requests with a client's agent, and its collection for calls that name none."""

    def __init__(self, agent_id: str, collection: str) -> None:
        self._agent_id = agent_id
        self._collection = collection

    def where(self, collection: str | None) -> str:
        """The collection of a call; `None`: the client's."""
        return self._collection if collection is None else collection

    def of(self, collection: str) -> Caller:
        """A caller with the same agent in another collection."""
        return Caller(self._agent_id, collection)

    def request(self, kind: type[P], values: dict[str, Any]) -> P:
        """A request of named values, completed by agent, collection and operation id.

        Raises `TypeError` or `ValueError` that name the field.
        """
        if values.get("agent_id") is None and "agent_id" in kind.DESCRIPTOR.fields_by_name:
            values["agent_id"] = self._agent_id
        if "collection" in values and values["collection"] is None:
            values["collection"] = self._collection
        if "operation_id" in values and not values["operation_id"]:
            values["operation_id"] = new_operation_id()
        return encode(kind, values)
