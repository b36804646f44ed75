"""The contract's modules, and random messages of any of its types."""

from __future__ import annotations

import pkgutil
import random
import struct
from importlib import import_module
from types import ModuleType
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from totonoe import v1

_TEXTS = ["", "a", "Äöü 猫", "x" * 40, "mem_000000000001"]
_VALUES: list[Any] = [None, True, 0.5, 7, "s", [1, {"a": None}], {"b": {}}]


def contract() -> list[ModuleType]:
    """The stubs of each file of the contract."""
    names = [name for _, name, _ in pkgutil.iter_modules(v1.__path__) if name.endswith("_pb2")]
    return [import_module(f"totonoe.v1.{name}") for name in names]


def filled(message: Message, draw: random.Random) -> Message:
    """The message with two thirds of its fields at random, deep; enums have unknown numbers too."""
    name = message.DESCRIPTOR.full_name
    target: Any = message
    if name == "google.protobuf.Timestamp":
        target.seconds, target.nanos = draw.randrange(2**31), draw.randrange(10**6) * 1000
        return message
    if name == "google.protobuf.Struct":
        target.update({key: draw.choice(_VALUES) for key in draw.sample("abcd", draw.randrange(4))})
        return message
    for field in message.DESCRIPTOR.fields:
        if draw.random() > 1 / 3:
            _fill(target, field, draw)
    return message


def _fill(message: Any, field: FieldDescriptor, draw: random.Random) -> None:
    held = getattr(message, field.name)
    kind = field.message_type
    if kind is not None and kind.GetOptions().map_entry:
        for _ in range(draw.randrange(3)):
            key = _scalar(kind.fields_by_name["key"], draw)
            held[key] = _scalar(kind.fields_by_name["value"], draw)
    elif field.is_repeated:
        for _ in range(draw.randrange(3)):
            if kind is not None:
                filled(held.add(), draw)
            else:
                held.append(_scalar(field, draw))
    elif kind is not None:
        held.SetInParent()
        filled(held, draw)
    else:
        setattr(message, field.name, _scalar(field, draw))


def _scalar(field: FieldDescriptor, draw: random.Random) -> Any:
    if field.type == FieldDescriptor.TYPE_BYTES:
        count = draw.choice([0, 1, 3])
        return struct.pack(f"<{count}f", *(draw.uniform(-1, 1) for _ in range(count)))
    if field.enum_type is not None:
        return draw.choice([0, 99, *(value.number for value in field.enum_type.values)])
    match field.cpp_type:
        case FieldDescriptor.CPPTYPE_STRING:
            return draw.choice(_TEXTS)
        case FieldDescriptor.CPPTYPE_BOOL:
            return draw.random() < 0.5
        case FieldDescriptor.CPPTYPE_DOUBLE | FieldDescriptor.CPPTYPE_FLOAT:
            return draw.choice([0.0, 1.0, draw.uniform(-2, 2)])
    return draw.choice([0, 1, draw.randrange(2**31)])
