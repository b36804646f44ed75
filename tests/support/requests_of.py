"""Strategies of Hypothesis for requests of any method, made of the descriptors, and their bytes."""

from __future__ import annotations

from functools import cache
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from hypothesis import strategies as st

from support.mutating import methods

Field = FieldDescriptor
DEPTH_MAX = 3
KNOWN: dict[str, list[Any]] = {
    "collection": ["", "default", "known", "no-such"],
    "name": ["known", "another", "A b", ""],
    "agent_id": ["", "ann"],
    "operation_id": ["", "o1"],
    "text": ["port", "", "x" * 40_000],
    "content": ["The port is 8080.", "", "a\0b"],
}
_NUMBERS = {
    Field.CPPTYPE_INT32: (-(2**31), 2**31 - 1),
    Field.CPPTYPE_INT64: (-(2**63), 2**63 - 1),
    Field.CPPTYPE_UINT32: (0, 2**32 - 1),
    Field.CPPTYPE_UINT64: (0, 2**64 - 1),
    Field.CPPTYPE_ENUM: (-5, 40),
}


def value_of(field: FieldDescriptor, depth: int) -> st.SearchStrategy[Any]:
    """Any value of one element of a field; known ones come half of the time."""
    if field.message_type is not None:
        return message_of(field.message_type, depth + 1)
    if field.type == Field.TYPE_BYTES:
        return st.binary(max_size=64)
    if field.cpp_type == Field.CPPTYPE_STRING:
        any_text = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
        return st.one_of(any_text, st.sampled_from(KNOWN.get(field.name, [""])))
    if field.cpp_type == Field.CPPTYPE_BOOL:
        return st.booleans()
    if field.cpp_type in _NUMBERS:
        return st.one_of(st.integers(*_NUMBERS[field.cpp_type]), st.sampled_from([0, 1, 2]))
    return st.floats(width=64 if field.cpp_type == Field.CPPTYPE_DOUBLE else 32)


@cache
def message_of(descriptor: Descriptor, depth: int = 0) -> st.SearchStrategy[Message]:
    """Any message of a type, deep as DEPTH_MAX."""
    kind = GetMessageClass(descriptor)
    fields = [field for field in descriptor.fields if not _is_map(field)]
    if depth >= DEPTH_MAX or not fields:
        return st.builds(kind)

    @st.composite
    def made(draw: st.DrawFn) -> Message:
        message: Any = kind()
        chosen = draw(st.lists(st.sampled_from(fields), max_size=5, unique_by=lambda f: f.number))
        for field in chosen:
            held, value = getattr(message, field.name), value_of(field, depth)
            if field.is_repeated:
                held.extend(draw(st.lists(value, max_size=3)))
            elif field.message_type is not None:
                held.CopyFrom(draw(value))
            else:
                setattr(message, field.name, draw(value))
        return message  # type: ignore[no-any-return]

    return made()


def _is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry


@st.composite
def calls(draw: st.DrawFn) -> tuple[Any, bytes]:
    """A method, and bytes that are, or nearly are, a request of it."""
    method = draw(st.sampled_from(methods()))
    data = draw(message_of(method.input_type)).SerializeToString()
    match draw(st.sampled_from(["whole", "whole", "cut", "put in", "any"])):
        case "cut":
            data = data[: draw(st.integers(0, len(data)))]
        case "put in":
            at = draw(st.integers(0, len(data)))
            data = data[:at] + draw(st.binary(min_size=1, max_size=8)) + data[at:]
        case "any":
            data = draw(st.binary(max_size=200))
    return method, data
