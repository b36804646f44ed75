"""Frozen data to JSON and back."""

from __future__ import annotations

import json
from dataclasses import fields

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.engines import NOON, update
from totonoe_core.base import plain
from totonoe_core.domain.collections import CollectionInfo, SettingsChanged
from totonoe_core.domain.commands import Applied
from totonoe_core.domain.graph import Linked, Unlinked
from totonoe_core.domain.memories import Forgotten, Remembered, Updated
from totonoe_core.domain.policy import PRESETS, DecayPolicy, DiversityPolicy, Preset
from totonoe_core.domain.records import (
    Duplicate,
    Fields,
    GuardReport,
    Kind,
    LayerReport,
    Link,
    LinkType,
    Memory,
    Method,
    ModelIdentity,
    SimilarMemory,
    StateKind,
    Status,
    TimeRange,
)

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
json_objects = st.dictionaries(st.text(max_size=5) | st.just("$"), json_values, max_size=3)
names = st.text(max_size=6)
times = st.none() | st.integers(-(2**62), 2**62)
some_fields = st.builds(
    Fields,
    external_id=names,
    kind=st.sampled_from(Kind),
    state_kind=st.sampled_from(StateKind),
    tags=st.lists(names, max_size=3).map(tuple),
    attributes=json_objects,
    payload=json_objects,
    importance=st.integers(1, 5),
    confidence=st.floats(0, 1),
    about_time=st.builds(TimeRange, times, times),
    created_us=times,
    private=st.booleans(),
)


@settings(max_examples=50, deadline=None, derandomize=True, database=None)
@given(some_fields)
def test_fields_come_back_as_they_were(value: Fields) -> None:
    data = plain.dumps(value)
    assert plain.loads(Fields, data) == value
    assert plain.dumps(plain.loads(Fields, data)) == data


def test_defaults_take_no_room_and_are_back() -> None:
    assert plain.dumps(Fields()) == '{"$":"Fields"}'
    assert plain.loads(Fields, "{}") == Fields()
    assert plain.loads(Fields, '{"importance":5}') == Fields(importance=5)


def test_dumps_of_equal_data_are_equal() -> None:
    one = Fields(attributes={"b": 1, "a": [1, {"d": 1, "c": 2}]})
    other = Fields(attributes={"a": [1, {"c": 2, "d": 1}], "b": 1})
    assert plain.dumps(one) == plain.dumps(other)
    assert plain.dumps(Fields(payload={"a": 1})) != plain.dumps(Fields(payload={"a": True}))
    assert plain.dumps(Fields(payload={"a": "1"})) != plain.dumps(Fields(payload={"a": 1}))
    assert plain.dumps((update("mem_0123456789ab", tags=("a",)),)) != plain.dumps(
        (update("mem_0123456789ab", tags=("a", "b")),)
    )


MEMORY = Memory(
    row=3,
    id="mem_0123456789ab",
    content="text “of” any kind\n",
    content_hash=bytes(range(16)),
    vector=b"\x00\xff",
    agent_id="anna",
    fields=Fields(attributes={"$": {"$": "Fields"}}),
    created_us=NOON,
    updated_us=NOON + 1,
    status=Status.CLOSED,
    superseded_by="",
    revision=9,
    last_access_us=None,
    access_count=2,
    links=(Link("mem_0123456789ac", LinkType.CAUSED_BY, 0.25, "note"),),
)
REPORT = GuardReport(
    Duplicate("mem_0123456789ab", "3d ago", "text", 1.0, Method.EXACT),
    Method.EXACT,
    1.0,
    (SimilarMemory("mem_0123456789ab", 0.5, 1.0, "text", "just now", True),),
    (LayerReport(Method.JACCARD, False, "off in policy"), LayerReport(Method.COSINE, True)),
)
INFO = CollectionInfo(
    "shop",
    "",
    PRESETS[Preset.ROBOTMEM],
    DiversityPolicy(enabled=False),
    DecayPolicy(),
    ModelIdentity("none", "", "", 8),
    NOON,
    7,
    3,
)


@pytest.mark.parametrize(
    "result",
    [
        Remembered(False, "mem_0123456789ab", REPORT, MEMORY.links),
        Updated(True, MEMORY, None),
        Updated(False, MEMORY, REPORT),
        Forgotten((MEMORY,), ("mem_0123456789ac",), 4),
        Linked(MEMORY.links[0], MEMORY.links[0], True),
        Unlinked(MEMORY.links),
        SettingsChanged(INFO),
    ],
    ids=lambda result: type(result).__name__,
)
def test_answers_of_every_command_come_back(result: object) -> None:
    answer = Applied("op-1", 5, (result, result))
    assert plain.loads(Applied, plain.dumps(answer)) == answer


def test_no_field_of_a_memory_is_forgotten_here() -> None:
    names = {field.name for field in fields(Memory)}
    data = json.loads(plain.dumps(MEMORY))
    assert set(data) - {"$"} | {"superseded_by", "last_access_us", "model_number"} >= names - {
        "superseded_by"
    }


def test_loads_of_what_is_not_ours_raises() -> None:
    for data in ("", "{", '{"$":"Fields","kind":"nothing"}'):
        with pytest.raises((ValueError, KeyError)):
            plain.loads(Fields, data)
