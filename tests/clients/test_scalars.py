"""Vectors, times, structures and enums, both ways."""

from __future__ import annotations

import re
import struct
from array import array
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest
from google.protobuf import struct_pb2
from google.protobuf.descriptor import EnumDescriptor

from support.messages import contract
from totonoe.enums import Kind
from totonoe.memories.drafts import Draft
from totonoe.memories.encoding import encode_draft
from totonoe.memories.models import Memory, TimeRange
from totonoe.v1 import types_pb2
from totonoe.wire import scalars
from totonoe.wire.mapping import decoder

VALUES = [1.0, -0.5, 2.0**-20]
WIRE = struct.pack("<3f", *VALUES)


@pytest.mark.parametrize(
    "vector",
    [
        WIRE,
        bytearray(WIRE),
        VALUES,
        tuple(VALUES),
        array("f", VALUES),
        array("d", VALUES),
        np.array(VALUES, dtype=np.float32),
        np.array(VALUES, dtype=np.float64),
        np.repeat(np.array(VALUES, dtype=np.float32), 2)[::2],
        memoryview(array("f", VALUES)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_vector_any_form_becomes_little_endian_float32(vector: Any) -> None:
    assert scalars.encode_vector(vector) == WIRE


def test_vector_of_wire_reads_as_floats() -> None:
    decoded = scalars.decode_vector(WIRE)
    assert decoded is not None
    assert decoded.tolist() == VALUES
    assert np.frombuffer(decoded, dtype="f4").tolist() == VALUES
    assert scalars.decode_vector(b"") is None


@pytest.mark.parametrize(
    ("vector", "error"),
    [
        (b"", ValueError),
        (b"abc", ValueError),
        ([], ValueError),
        (np.zeros((2, 2), dtype=np.float32), ValueError),
        (np.zeros(3, dtype=np.int64), TypeError),
        (["a"], TypeError),
        (7, TypeError),
    ],
)
def test_vector_wrong_form_raises(vector: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        scalars.encode_vector(vector)


def test_time_round_trip_keeps_moment_in_utc() -> None:
    tokyo = datetime(2026, 3, 1, 8, 30, 0, 123456, tzinfo=timezone(timedelta(hours=9)))
    decoded = scalars.decode_time(scalars.encode_time(tokyo, "t"))
    assert decoded == tokyo
    assert decoded.tzinfo is UTC


def test_time_without_zone_raises_value_error() -> None:
    with pytest.raises(ValueError, match="created_time"):
        scalars.encode_time(datetime(2026, 3, 1), "created_time")


def test_struct_round_trip_keeps_json() -> None:
    value = {"a": None, "b": True, "c": 3, "d": 0.5, "e": "é", "f": [1, {"g": []}], "h": {}}
    decoded = scalars.decode_struct(scalars.encode_struct(value, "attributes"))
    assert decoded == value
    assert type(decoded["c"]) is int
    assert type(decoded["b"]) is bool


def test_struct_value_not_said_reads_as_none() -> None:
    message = struct_pb2.Struct(fields={"a": struct_pb2.Value()})
    assert scalars.decode_struct(message) == {"a": None}


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ({"a": float("nan")}, ValueError),
        ({"a": float("inf")}, ValueError),
        ({"a": 2**53 + 1}, ValueError),
        ({"a": object()}, TypeError),
        ({1: "a"}, TypeError),
    ],
)
def test_struct_not_exact_on_wire_raises(value: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="attributes"):
        scalars.encode_struct(value, "attributes")


WIRE_ENUMS = [
    wire
    for module in contract()
    for wire in module.DESCRIPTOR.enum_types_by_name.values()
    # The reasons of errors stay as they are; who may call what is in no message.
    if wire.name not in ("ErrorReason", "Verb", "Scope")
]


@pytest.mark.parametrize("wire", WIRE_ENUMS, ids=lambda wire: wire.name)
def test_enum_every_wire_name_has_a_word_both_ways(wire: EnumDescriptor) -> None:
    codec = scalars.codec(wire)
    prefix = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", wire.name).upper() + "_"
    for wire_name, value in wire.values_by_name.items():
        number = value.number
        word = wire_name.removeprefix(prefix).lower()
        if number == 0:
            assert codec.decode(number) == "unknown"
        else:
            assert codec.decode(number) == word
            assert codec.encode(word, "x") == number
    assert codec.decode(9999) == "unknown"
    assert codec.decode_optional(0) is None


@pytest.mark.parametrize("word", ["unknown", Kind.UNKNOWN, "STATE", ""])
def test_enum_wrong_word_raises_and_lists_allowed(word: str) -> None:
    with pytest.raises(ValueError, match=r"kind: got .* allowed: state, event, affect"):
        scalars.codec(types_pb2.Kind.DESCRIPTOR).encode(word, "kind")


def test_draft_every_field_of_contract_reaches_the_wire() -> None:
    moment = datetime(2026, 1, 2, tzinfo=UTC)
    draft = Draft(
        "text",
        external_id="x",
        vector=VALUES,
        kind="state",
        state_kind="task",
        category="c",
        tags=["t"],
        attributes={"a": 1},
        payload={"p": 1},
        importance=5,
        confidence=0.0,
        salience=1.0,
        emotion="calm",
        perception_type="sight",
        life_stage="now",
        session_id="s",
        thread_id="th",
        entities=["e"],
        evidence_ids=["mem_000000000001"],
        about_time=TimeRange(moment, None),
        created_time=moment,
        last_confirmed_time=moment,
        done_time=moment,
        valid_from_time=moment,
        valid_to_time=moment,
        private=True,
        key=("user", "drink"),
        namespace=["users", "ada"],
        expires_time=moment,
        expires_after_s=60,
        source="external",
    )
    message = encode_draft(draft)
    set_fields = {field.name for field, _ in message.ListFields()}
    assert set_fields == {field.name for field in message.DESCRIPTOR.fields}
    assert message.HasField("confidence")


def test_draft_of_text_alone_sets_nothing_else() -> None:
    message = encode_draft(Draft("text"))
    assert [field.name for field, _ in message.ListFields()] == ["content"]


@pytest.mark.parametrize("name", ["tags", "entities", "evidence_ids"])
def test_draft_list_field_given_one_string_raises_type_error(name: str) -> None:
    fields: Any = {name: "abc"}
    with pytest.raises(TypeError, match=name):
        encode_draft(Draft("text", **fields))


def test_memory_every_field_of_contract_is_in_the_model() -> None:
    model = decoder(Memory, types_pb2.Memory)(types_pb2.Memory())
    assert {item.name for item in types_pb2.Memory.DESCRIPTOR.fields} == set(model.__slots__)
