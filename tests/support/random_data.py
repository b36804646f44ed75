"""Random dataclasses of the core and random messages of the contract, made from their types."""

from __future__ import annotations

import dataclasses
import enum
import random
import types
import typing
from collections.abc import Mapping
from typing import Any

from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from totonoe_core.base.errors import NotFound, TotonoeError
from totonoe_core.domain.policy import Preset
from totonoe_core.domain.records import Method, ModelIdentity

DEPTH_MAX = 3
"""Of messages within messages."""


class Dice:
    """Values of every type, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._scalars = {str: self.text, bytes: self._bytes, bool: self._bool, float: self._float}

    def text(self) -> str:
        """A short text, often empty."""
        letters = self._random.choices("abcxyzäß ", k=self._random.choice((0, 1, 5)))
        return "".join(letters).strip()

    def _bytes(self) -> bytes:
        return self._random.randbytes(self._random.choice((0, 4)))

    def _bool(self) -> bool:
        return self._random.random() < 0.5

    def _float(self) -> float:
        return self._random.choice((0.0, 1.0, self._random.random()))

    def _number(self, name: str) -> int:
        if name.endswith("_us"):
            return self._random.randrange(1, 253_402_300_799) * 1000
        return self._random.choice((0, 1, self._random.randrange(2**31)))

    def value(self, hint: Any, name: str = "") -> Any:
        """A value of a type; `name` is that of the field that holds it."""
        origin, inner = typing.get_origin(hint), typing.get_args(hint)
        if TotonoeError in inner:
            return self._random.choice((None, NotFound("MEMORY_NOT_FOUND", kind="m", name="a")))
        if origin in (types.UnionType, typing.Union):
            return self.value(self._random.choice(inner), name)
        if origin is tuple and inner[-1] is not ...:
            return tuple(self.value(item, name) for item in inner)
        if origin in (tuple, frozenset):
            return origin(self.value(inner[0], name) for _ in range(self._random.randrange(4)))
        if origin in (dict, Mapping):
            return {self.value(inner[0]): self.value(inner[1]) for _ in range(3)}
        return self._plain(hint, name)

    def _plain(self, hint: Any, name: str) -> Any:
        if hint is types.NoneType:
            return None
        if hint is typing.Any:
            return self._random.choice((None, True, 7, 0.5, "text", [1, "a"], {"key": "value"}))
        if hint is int:
            return self._number(name)
        if hint is str and name in ("preset", "method"):
            return self.value({"preset": Preset, "method": Method}[name]).value
        if hint in self._scalars:
            return self._scalars[hint]()
        if issubclass(hint, enum.Enum):
            return self._random.choice(list(hint))
        if hint is ModelIdentity:
            return ModelIdentity("use", "v1", self.text(), self._random.choice((0, 512)))
        hints = typing.get_type_hints(hint)
        fields = dataclasses.fields(hint)
        return hint(**{field.name: self.value(hints[field.name], field.name) for field in fields})

    def message(self, kind: type[Message], depth: int = 0) -> Any:
        """A message in which about a third of the fields are absent."""
        made = kind()
        for field in kind.DESCRIPTOR.fields:
            if self._random.random() > 0.35:
                self._fill(made, field, depth)
        return made

    def _fill(self, message: Any, field: Any, depth: int) -> None:
        inner, held = field.message_type, getattr(message, field.name)
        count = self._random.randrange(4)
        if inner is None:
            if field.is_repeated:
                held.extend(self._scalar(field) for _ in range(count))
            else:
                setattr(message, field.name, self._scalar(field))
        elif inner.GetOptions().map_entry:
            for _ in range(count):
                held[self.text()] = self._scalar(inner.fields_by_name["value"])
        elif inner.name == "Timestamp":
            held.FromMicroseconds(self._number("_us"))
        elif inner.name == "FieldMask":
            held.paths.append(self._random.choice(("content", "tags", "private")))
        elif inner.name == "Struct":
            held.update({self.text(): self.text() for _ in range(count)})
        elif field.is_repeated:
            held.extend(self.message(GetMessageClass(inner), depth + 1) for _ in range(count))
        elif depth < DEPTH_MAX:
            held.CopyFrom(self.message(GetMessageClass(inner), depth + 1))

    def _scalar(self, field: Any) -> Any:
        if field.enum_type is not None:
            return self._random.choice([value.number for value in field.enum_type.values])
        kinds = {field.TYPE_STRING: str, field.TYPE_BYTES: bytes, field.TYPE_BOOL: bool}
        kind = kinds.get(field.type, float if field.type == field.TYPE_DOUBLE else int)
        return self._number("") if kind is int else self._scalars[kind]()
