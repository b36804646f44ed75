"""Random requests for any method, from its descriptor: mostly sensible, some of it not."""

from __future__ import annotations

import math
import random
import struct
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from totonoe.v1 import admin_service_pb2, memory_service_pb2

Field = FieldDescriptor
DEPTH_MAX = 4
DIMENSION = 384
_TEXTS = (
    "", " ", "x", "The port is 8080.", "The port is 8081.", "ミカは会議を午前中に入れたくない。",
    "部署之前必须先运行迁移脚本。", "a\0b", "\u202e\u2066\u200b\ufeff", "e\u0301" * 40, "💥" * 30,
    "A b. " * 300, "x" * 33_000, "../../etc/passwd", "'; DROP TABLE memory; --", "%s%n{0}", "\r\n",
    "mem_0123456789abcdef", "ext:one", "ep_0123456789abcdef", "-1", "1e999", "null",
)  # fmt: skip
_INTEGERS = (0, 1, 2, 5, 16, 100, 1000, -1, 2**31 - 1, -(2**31), 2**31, 2**63 - 1, -(2**63))
_FLOATS = (0.0, 0.5, 1.0, -1.0, 0.95, 1e-300, 1e308, -0.0, math.nan, math.inf, -math.inf)


def methods() -> list[MethodDescriptor]:
    """Every method of the contract."""
    services = (
        memory_service_pb2.DESCRIPTOR.services_by_name["MemoryService"],
        admin_service_pb2.DESCRIPTOR.services_by_name["AdminService"],
    )
    return [method for service in services for method in service.methods]


class Requests:
    """Requests drawn from a seed.

    `known` holds sensible values by the name of the field: ids that exist, collections.
    """

    def __init__(self, seed: int, known: dict[str, list[Any]]) -> None:
        self.draw = random.Random(seed)
        self.known = known
        # Share of values that make no sense; one for each request, so that many get far.
        self.wild = 0.0

    def request(self, method: MethodDescriptor) -> Message:
        """A request of a method."""
        self.wild = self.draw.choice((0.0, 0.05, 0.5))
        return self._message(method.input_type, 0)

    def damaged(self, request: Message) -> bytes:
        """The bytes of a request with some changed, cut off or put in."""
        data = bytearray(request.SerializeToString())
        for _ in range(self.draw.randint(1, 4)):
            at = self.draw.randint(0, len(data))
            match self.draw.randrange(3):
                case 0:
                    del data[at:]
                case 1:
                    data[at:at] = self.draw.randbytes(self.draw.randint(1, 8))
                case _ if data:
                    data[at % len(data)] ^= 1 << self.draw.randrange(8)
        return bytes(data)

    def _message(self, descriptor: Descriptor, depth: int) -> Message:
        message = GetMessageClass(descriptor)()
        oneofs = {item.name: self.draw.choice(item.fields) for item in descriptor.oneofs}
        for field in descriptor.fields:
            oneof = field.containing_oneof
            if oneof is not None and oneofs[oneof.name] is not field:
                continue
            if depth < DEPTH_MAX and self.draw.random() < self._likelihood(field):
                self._fill(message, field, depth)
        return message

    def _likelihood(self, field: FieldDescriptor) -> float:
        if field.name in self.known:
            return 0.9
        return 0.3 if field.message_type is not None else max(self.wild, 0.05)

    def _fill(self, message: Message, field: FieldDescriptor, depth: int) -> None:
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            self._fill_map(getattr(message, field.name), field, depth)
        elif field.is_repeated:
            values = [self._value(field, depth) for _ in range(self.draw.choice((1, 1, 2, 3, 40)))]
            getattr(message, field.name).extend(values)
        elif field.message_type is not None:
            getattr(message, field.name).CopyFrom(self._value(field, depth))
        else:
            setattr(message, field.name, self._value(field, depth))

    def _fill_map(self, container: Any, field: FieldDescriptor, depth: int) -> None:
        key, value = (field.message_type.fields_by_name[name] for name in ("key", "value"))
        for _ in range(self.draw.randint(1, 3)):
            made = self._value(value, depth + 1)
            if value.message_type is not None:
                container[self._value(key, depth)].CopyFrom(made)
            else:
                container[self._value(key, depth)] = made

    def _value(self, field: FieldDescriptor, depth: int) -> Any:
        known = self.known.get(field.name, [])
        fits = isinstance(next(iter(known), None), str) == (field.type == Field.TYPE_STRING)
        if known and fits and field.message_type is None and self.draw.random() >= self.wild:
            return self.draw.choice(known)
        match field.cpp_type:
            case Field.CPPTYPE_MESSAGE:
                return self._message(field.message_type, depth + 1)
            case Field.CPPTYPE_STRING:
                return (
                    self.draw.choice(_TEXTS) if field.type == Field.TYPE_STRING else self._bytes()
                )
            case Field.CPPTYPE_ENUM:
                return self.draw.choice(
                    [*(value.number for value in field.enum_type.values), 99, -1]
                )
            case Field.CPPTYPE_BOOL:
                return self.draw.random() < 0.3
            case Field.CPPTYPE_DOUBLE | Field.CPPTYPE_FLOAT:
                return self.draw.choice(_FLOATS)
        bits = 31 if field.cpp_type in (Field.CPPTYPE_INT32, Field.CPPTYPE_UINT32) else 63
        least = 0 if field.cpp_type in (Field.CPPTYPE_UINT32, Field.CPPTYPE_UINT64) else -(2**bits)
        return min(2**bits - 1, max(least, self.draw.choice(_INTEGERS)))

    def _bytes(self) -> bytes:
        values = [self.draw.gauss(0.0, 1.0) for _ in range(DIMENSION)]
        if self.draw.random() < 0.3:
            values[self.draw.randrange(DIMENSION)] = self.draw.choice(_FLOATS)
        vector = b"".join(struct.pack("<f", max(-1e30, min(1e30, value))) for value in values)
        return vector if self.draw.random() < 0.6 else self.draw.randbytes(self.draw.randint(0, 99))
