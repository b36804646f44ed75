"""Bad input: each has its reason, names its field, and quotes no memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from support.engines import NOON, change, forget, link, remember, unlink, update
from totonoe_core.base import limits
from totonoe_core.base.errors import InvalidArgument
from totonoe_core.domain.filter import Filter
from totonoe_core.domain.records import Kind, StateKind, TimeRange
from totonoe_core.rules import validate

ID, OTHER = "mem_0123456789ab", "mem_0123456789abcdef"
deep: Any = {}
for _ in range(limits.STRUCT_DEPTH_MAX - 1):
    deep = {"a": deep}

BAD = {
    "no text": (remember(""), "EMPTY_TEXT", "memory.content"),
    "blank text": (remember(" \t\n　"), "EMPTY_TEXT", "memory.content"),
    "NUL": (remember("a\0b"), "NUL_IN_TEXT", "memory.content"),
    "surrogate": (
        remember("a\ud800b", vector=np.ones(8)),
        "MALFORMED_MESSAGE",
        "memory.content",
    ),
    "long text": (
        remember("x" * (limits.CONTENT_BYTES_MAX + 1)),
        "LIMIT_EXCEEDED",
        "memory.content",
    ),
    "long text in bytes": (
        remember("é" * (limits.CONTENT_BYTES_MAX // 2 + 1)),
        "LIMIT_EXCEEDED",
        "memory.content",
    ),
    "agent": (remember("text", agent="a" * 257), "LIMIT_EXCEEDED", "agent_id"),
    "importance 0": (remember("text", importance=0), "OUT_OF_RANGE", "memory.importance"),
    "importance 6": (remember("text", importance=6), "OUT_OF_RANGE", "memory.importance"),
    "confidence": (remember("text", confidence=1.01), "OUT_OF_RANGE", "memory.confidence"),
    "confidence NaN": (
        remember("text", confidence=float("nan")),
        "OUT_OF_RANGE",
        "memory.confidence",
    ),
    "salience": (remember("text", salience=-0.1), "OUT_OF_RANGE", "memory.salience"),
    "tags": (remember("text", tags=("t",) * 65), "LIMIT_EXCEEDED", "memory.tags"),
    "blank tag": (remember("text", tags=("a", "")), "EMPTY_TEXT", "memory.tags"),
    "entities": (remember("text", entities=("e",) * 129), "LIMIT_EXCEEDED", "memory.entities"),
    "evidence": (
        remember("text", evidence_ids=(ID,) * 257),
        "LIMIT_EXCEEDED",
        "memory.evidence_ids",
    ),
    "evidence id": (remember("text", evidence_ids=("x",)), "BAD_NAME", "memory.evidence_ids"),
    "attributes": (
        remember("text", attributes={"a": "x" * limits.ATTRIBUTES_BYTES_MAX}),
        "LIMIT_EXCEEDED",
        "memory.attributes",
    ),
    "attributes too deep": (
        remember("text", attributes={"a": deep}),
        "LIMIT_EXCEEDED",
        "memory.attributes",
    ),
    "payload": (
        remember("text", payload={"a": "x" * limits.PAYLOAD_BYTES_MAX}),
        "LIMIT_EXCEEDED",
        "memory.payload",
    ),
    "payload infinite": (
        remember("text", payload={"a": [float("inf")]}),
        "OUT_OF_RANGE",
        "memory.payload",
    ),
    "state without kind": (
        remember("text", state_kind=StateKind.NONE),
        "UNKNOWN_ENUM",
        "memory.state_kind",
    ),
    "log with state kind": (
        remember("text", kind=Kind.EVENT),
        "UNKNOWN_ENUM",
        "memory.state_kind",
    ),
    "about time": (remember("text", about_time=TimeRange(5, 5)), "BAD_TIME", "memory.about_time"),
    "validity": (
        remember("text", valid_from_us=5, valid_to_us=4),
        "BAD_TIME",
        "memory.valid_to_time",
    ),
    "future": (
        remember("text", created_us=NOON + 6_000_000),
        "BAD_TIME",
        "memory.created_time",
    ),
    "no mask": (update(ID), "BAD_UPDATE_MASK", "update_mask"),
    "mask of kind": (update(ID, kind=Kind.EVENT), "BAD_UPDATE_MASK", "update_mask"),
    "mask of created": (update(ID, created_us=1), "BAD_UPDATE_MASK", "update_mask"),
    "update to blank": (update(ID, content=" "), "EMPTY_TEXT", "memory.content"),
    "zero width": (remember("\u200b\u200d\ufeff"), "EMPTY_TEXT", "memory.content"),
    "tags alone": (remember("\U000e0041\U000e007f"), "EMPTY_TEXT", "memory.content"),
    "update to fillers": (update(ID, content="\u3164 \u115f"), "EMPTY_TEXT", "memory.content"),
    "update of no id": (update("", importance=1), "BAD_NAME", "memory_id"),
    "expected revision": (
        update(ID, importance=1, expected_revision=-1),
        "OUT_OF_RANGE",
        "expected_revision",
    ),
    "reason": (update(ID, importance=1, reason="x" * 1025), "LIMIT_EXCEEDED", "reason"),
    "no ids": (forget(), "MISSING_FIELD", "ids"),
    "many ids": (forget(*[ID] * 1001), "LIMIT_EXCEEDED", "ids"),
    "bad id": (forget(ID, "mem\tXYZ"), "BAD_NAME", "ids"),
    "id with a line behind": (forget(ID + "\n"), "BAD_NAME", "ids"),
    "blank external id": (forget("ext: "), "EMPTY_TEXT", "ids"),
    "link confidence": (link(ID, OTHER, confidence=2.0), "OUT_OF_RANGE", "confidence"),
    "link note": (link(ID, OTHER, note="x" * 1025), "LIMIT_EXCEEDED", "note"),
    "link source": (link("", OTHER), "BAD_NAME", "source_id"),
    "unlink target": (unlink(ID, "x" * 1025), "LIMIT_EXCEEDED", "target_id"),
    "no change": (change(), "MISSING_FIELD", "update_mask"),
    "many changes": (change(*[("description", "x")] * 65), "LIMIT_EXCEEDED", "update_mask"),
}


@pytest.mark.parametrize("name", BAD)
def test_command_that_makes_no_sense_names_reason_and_field(name: str) -> None:
    command, reason, field = BAD[name]
    with pytest.raises(InvalidArgument) as caught:
        validate.command(command, NOON)
    assert (caught.value.reason, caught.value.details["field"]) == (reason, field)
    assert set(caught.value.details) == {"field", "got", "allowed"}
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    "command",
    [
        remember("x" * limits.CONTENT_BYTES_MAX),
        remember("text", importance=1, confidence=0.0, salience=1.0),
        remember("text", importance=5, confidence=1.0, salience=0.0),
        remember("text", tags=("t",) * 64, entities=("e",) * 128, evidence_ids=(ID,) * 256),
        remember("text", created_us=NOON + 5_000_000),
        remember("text", kind=Kind.AFFECT, state_kind=StateKind.NONE),
        remember("text", attributes=deep),
        forget(*[ID] * 1000),
        forget("ext:anything at all"),
        update(ID, content="x", tags=()),
        link(ID, OTHER, confidence=1.0),
    ],
)
def test_command_on_its_limits_passes(command: Any) -> None:
    validate.command(command, NOON)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"", "DIMENSION_MISMATCH"),
        (np.ones(3, "<f4").tobytes(), "DIMENSION_MISMATCH"),
        (np.ones(5, "<f4").tobytes(), "DIMENSION_MISMATCH"),
        (np.ones(4, "<f4").tobytes() + b"\0", "DIMENSION_MISMATCH"),
        (np.zeros(4, "<f4").tobytes(), "ZERO_VECTOR"),
        (np.array([1, np.nan, 0, 0], "<f4").tobytes(), "NON_FINITE_VECTOR"),
        (np.array([1, -np.inf, 0, 0], "<f4").tobytes(), "NON_FINITE_VECTOR"),
    ],
)
def test_vector_that_is_none_names_its_reason(value: bytes, reason: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        validate.vector(value, "memory.vector", 4)
    assert caught.value.reason == reason


@pytest.mark.parametrize("scale", [1e-44, 1e-30, 1.0, 1e30, 3e38])
def test_vector_of_any_length_comes_out_as_a_unit(scale: float) -> None:
    given = (np.array([0.5, -0.5, 0.5, 0.5]) * scale).astype("<f4")
    found = validate.vector(given.tobytes(), "v", 4)
    assert found.dtype == np.float32
    assert abs(float(np.linalg.norm(found.astype(np.float64))) - 1.0) < 1e-6
    assert found[1] < 0


def test_filter_that_makes_no_sense_is_refused() -> None:
    for where, reason in (
        (Filter(tags=("x" * 300,)), "LIMIT_EXCEEDED"),
        (Filter(agent_ids=("a",) * 101), "LIMIT_EXCEEDED"),
        (Filter(valid=TimeRange(2, 1)), "BAD_TIME"),
        (Filter(min_importance=6), "OUT_OF_RANGE"),
        (Filter(min_confidence=-0.1), "OUT_OF_RANGE"),
        (Filter(attributes={str(n): 1 for n in range(101)}), "LIMIT_EXCEEDED"),
    ):
        with pytest.raises(InvalidArgument) as caught:
            validate.where(where)
        assert caught.value.reason == reason


def test_operation_id_beyond_its_limit_is_refused() -> None:
    validate.operation_id("")
    validate.operation_id("x" * limits.OPERATION_ID_BYTES_MAX)
    for value in ("x" * (limits.OPERATION_ID_BYTES_MAX + 1), "a\0"):
        with pytest.raises(InvalidArgument):
            validate.operation_id(value)
