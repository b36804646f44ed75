"""Wire <-> records: what is absent, what is wrong, and that nothing is lost on the way."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import Any

import pytest
from google.protobuf import json_format
from google.protobuf.struct_pb2 import Struct, Value
from google.protobuf.timestamp_pb2 import Timestamp
from google.protobuf.wrappers_pb2 import UInt64Value
from hypothesis import given
from hypothesis import strategies as st

from support.messages import filled
from totonoe.v1 import admin_service_pb2 as admin_pb
from totonoe.v1 import checkpoint_pb2, operations_pb2, tidy_pb2, types_pb2, verify_pb2
from totonoe.v1 import memory_service_pb2 as pb
from totonoe_core.base.errors import InvalidArgument
from totonoe_core.domain import policy, records
from totonoe_core.domain.filter import Filter
from totonoe_core.domain.queries import CheckpointFigures, CollectionStats
from totonoe_core.domain.records import (
    Fields,
    Kind,
    Link,
    LinkType,
    Memory,
    Source,
    StateKind,
    Status,
    TimeRange,
)
from totonoe_core.domain.tidy import TidyState
from totonoe_core.domain.verified import Verified
from totonoe_server.wire import admin, answers, encoding, memories, scalars
from totonoe_server.wire import policy as wire_policy

# -- Round trips

times_us = st.integers(-62_135_596_800_000_000, 253_402_300_799_999_999)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
labels = st.lists(texts, max_size=4, unique=True).map(tuple)
numbers = st.one_of(
    st.integers(-(2**53), 2**53),
    st.floats(allow_nan=False, allow_infinity=False).filter(
        lambda x: not (x.is_integer() and abs(x) <= 2**53)
    ),
)
json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, texts),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
json_objects = st.dictionaries(texts, json_values, max_size=3)
shares = st.floats(0, 1)
optional_times = st.none() | times_us
ranges = st.builds(TimeRange, optional_times, optional_times)


def fields_strategy() -> st.SearchStrategy[Fields]:
    """Fields as a request can say them: what is state has a state kind, logs have none."""
    made = st.builds(
        Fields,
        external_id=texts, kind=st.sampled_from(Kind),
        state_kind=st.sampled_from([kind for kind in StateKind if kind is not StateKind.NONE]),
        category=texts, tags=labels, attributes=json_objects, payload=json_objects,
        importance=st.integers(-(2**31), 2**31 - 1), confidence=shares, salience=shares,
        emotion=texts, perception_type=texts, life_stage=texts, session_id=texts,
        thread_id=texts, entities=labels, evidence_ids=labels, about_time=ranges,
        created_us=optional_times, last_confirmed_us=optional_times, done_us=optional_times,
        valid_from_us=optional_times, valid_to_us=optional_times, private=st.booleans(),
        source=st.sampled_from(Source),
    )  # fmt: skip
    return made.map(lambda f: f if f.kind is Kind.STATE else replace(f, state_kind=StateKind.NONE))


def timestamp(time_us: int | None) -> Timestamp | None:
    """Made by the library's own arithmetic, not by the server's."""
    if time_us is None:
        return None
    stamp = Timestamp()
    stamp.FromMicroseconds(time_us)
    return stamp


def struct(value: dict[str, Any]) -> Struct | None:
    """Made by the library's own conversion, not by the server's."""
    if not value:
        return None
    out = Struct()
    out.update(value)
    return out


def draft_of(content: str, fields: Fields) -> types_pb2.MemoryDraft:
    """The draft a client would send."""
    about = fields.about_time
    return types_pb2.MemoryDraft(
        content=content, external_id=fields.external_id,
        kind=types_pb2.Kind.Value(f"KIND_{fields.kind.name}"),
        state_kind=0 if fields.state_kind is StateKind.NONE
        else types_pb2.StateKind.Value(f"STATE_KIND_{fields.state_kind.name}"),
        category=fields.category, tags=fields.tags, attributes=struct(fields.attributes),
        payload=struct(fields.payload), importance=fields.importance,
        confidence=fields.confidence, salience=fields.salience, emotion=fields.emotion,
        perception_type=fields.perception_type, life_stage=fields.life_stage,
        session_id=fields.session_id, thread_id=fields.thread_id, entities=fields.entities,
        evidence_ids=fields.evidence_ids,
        about_time={"from_time": timestamp(about.from_us), "to_time": timestamp(about.to_us)},
        created_time=timestamp(fields.created_us),
        last_confirmed_time=timestamp(fields.last_confirmed_us),
        done_time=timestamp(fields.done_us), valid_from_time=timestamp(fields.valid_from_us),
        valid_to_time=timestamp(fields.valid_to_us), private=fields.private,
        source=types_pb2.Source.Value(f"SOURCE_{fields.source.name}"),
    )  # fmt: skip


def sent(message: Any) -> Any:
    """What arrives of a message."""
    return type(message).FromString(message.SerializeToString())


@given(texts, fields_strategy())
def test_draft_of_any_fields_decodes_to_the_same_fields(content, fields):
    draft = sent(draft_of(content, fields))
    assert memories.fields_from_wire(draft) == fields


@given(fields_strategy(), optional_times, st.booleans())
def test_memory_of_any_fields_is_shown_whole(fields, last_access_us, include_vector):
    links = (Link("mem_b", LinkType.UPDATES, 0.25, "why"),)
    memory = Memory(
        7, "mem_a", "text", b"hash", b"\0\0\x80\x3f", "agent", fields, 1_000_001, 2_000_000,
        Status.SUPERSEDED, "mem_c", 9, last_access_us, 3, links,
    )  # fmt: skip
    shown = sent(memories.memory_to_wire(memory, include_vector))
    draft = types_pb2.MemoryDraft()
    # Same names, same types: what a memory shows can be read as a draft would be.
    for descriptor, value in shown.ListFields():
        if descriptor.name in types_pb2.MemoryDraft.DESCRIPTOR.fields_by_name:
            if descriptor.is_repeated:
                getattr(draft, descriptor.name).extend(value)
            elif descriptor.message_type:
                getattr(draft, descriptor.name).CopyFrom(value)
            else:
                setattr(draft, descriptor.name, value)
    for name in ("importance", "confidence", "salience"):
        setattr(draft, name, getattr(shown, name))
    assert memories.fields_from_wire(draft) == replace(fields, created_us=1_000_001)
    assert shown.vector == (memory.vector if include_vector else b"")
    assert (shown.id, shown.revision, shown.access_count) == ("mem_a", 9, 3)
    assert shown.status == types_pb2.STATUS_SUPERSEDED
    assert shown.superseded_by == "mem_c"
    assert shown.updated_time.ToMicroseconds() == 2_000_000
    assert shown.HasField("last_access_time") == (last_access_us is not None)
    assert shown.links[0] == types_pb2.Link(
        target_id="mem_b", type=types_pb2.LINK_TYPE_UPDATES, confidence=0.25, note="why"
    )


@given(times_us)
def test_time_of_any_microsecond_comes_back(time_us):
    holder = types_pb2.TimeRange(from_time=scalars.time_to_wire(time_us))
    assert holder.from_time.ToMicroseconds() == time_us
    assert scalars.time_from_wire(sent(holder), "from_time", "t") == time_us


@given(json_objects)
def test_struct_of_any_json_comes_back_with_whole_numbers_as_int(value):
    holder = types_pb2.MemoryDraft(attributes=scalars.struct_to_wire(value))
    back = scalars.struct_from_wire(sent(holder), "attributes", "attributes")
    assert back == value
    assert repr(back) == repr(value) or _types(back) == _types(value)


@given(json_objects)
def test_struct_by_hand_is_that_of_protobuf(value):
    expected = Struct()
    json_format.ParseDict(value, expected)
    assert Struct.FromString(encoding.struct_bytes(value)) == expected


@pytest.mark.parametrize("number", [0, 1, 127, 128, 255, 256, 16_383, 16_384, 2**31])
def test_length_is_written_as_protobuf_writes_it(number):
    assert b"\x08" + encoding.varint(number) in (
        UInt64Value(value=number).SerializeToString(),
        b"\x08\x00",  # a zero is left out
    )


@given(st.integers(0, 2**32 - 1))
def test_message_in_parts_decodes_to_the_message(seed):
    draw = random.Random(seed)
    for kind in (
        pb.GetResponse,
        pb.RecallResponse,
        operations_pb2.WatchResponse,
        admin_pb.StatsResponse,
    ):
        message = filled(kind(), draw)
        data = encoding.message_bytes(message)
        assert kind.FromString(data) == message
        assert encoding.length_of(message) == len(data)


def _types(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _types(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_types(item) for item in value]
    return type(value)


# -- Enumerations

TABLES = {
    "kind": (scalars.KINDS, records.Kind),
    "state kind": (scalars.STATE_KINDS, records.StateKind),
    "status": (scalars.STATUSES, records.Status),
    "link type": (scalars.LINK_TYPES, records.LinkType),
    "method": (scalars.METHODS, records.Method),
    "preset": (scalars.PRESETS, policy.Preset),
    "tokenizer": (scalars.TOKENIZERS, policy.Tokenizer),
}


@pytest.mark.parametrize("name", TABLES)
def test_enum_every_member_comes_back_and_unknown_numbers_name_what_is_allowed(name):
    table, members = TABLES[name]
    for member in members:
        if number := table.to_wire(member):
            assert table.from_wire(number, "f") is member
    for number in (0, 99, -1):
        with pytest.raises(InvalidArgument) as caught:
            table.from_wire(number, "memory.f")
        assert caught.value.reason == "UNKNOWN_ENUM"
        assert caught.value.details["field"] == "memory.f"
        assert caught.value.details["got"] == str(number)
        assert "_" in caught.value.details["allowed"]


def test_enum_tables_that_differ_are_refused_at_import():
    with pytest.raises((AssertionError, KeyError)):
        scalars.EnumTable(types_pb2.Kind.DESCRIPTOR, records.Status)


# -- What is absent


def test_empty_draft_has_the_defaults():
    assert memories.fields_from_wire(types_pb2.MemoryDraft()) == Fields()


def test_zero_that_is_said_is_not_a_default():
    draft = types_pb2.MemoryDraft(importance=0, confidence=0.0, salience=0.0)
    fields = memories.fields_from_wire(sent(draft))
    assert (fields.importance, fields.confidence, fields.salience) == (0, 0.0, 0.0)


@pytest.mark.parametrize("kind", ["KIND_EVENT", "KIND_AFFECT"])
def test_log_without_state_kind_has_none(kind):
    fields = memories.fields_from_wire(types_pb2.MemoryDraft(kind=kind))
    assert fields.state_kind is StateKind.NONE


def test_repeated_labels_are_folded_in_order():
    draft = types_pb2.MemoryDraft(tags=["b", "a", "b"], entities=["x", "x"])
    fields = memories.fields_from_wire(draft)
    assert (fields.tags, fields.entities) == (("b", "a"), ("x",))


def test_empty_filter_is_the_default_filter():
    assert memories.filter_from_wire(types_pb2.Filter()) == Filter()


def test_recall_defaults():
    query = answers.recall_from_wire(pb.RecallRequest(text="x"), policy.DiversityPolicy())
    assert (query.k, query.mode.value, query.diversity, query.touch) == (10, "hybrid", None, True)


def test_recall_diversity_replaces_the_collections_field_by_field():
    base = policy.DiversityPolicy(mmr_lambda=0.5, thread_share_max=0.1)
    request = pb.RecallRequest(text="x", diversity={"enabled": False, "kind_share_max": 0.0})
    query = answers.recall_from_wire(sent(request), base)
    assert query.diversity == replace(base, enabled=False, kind_share_max=0.0)


# -- What is wrong


@pytest.mark.parametrize(
    "stamp",
    [
        Timestamp(nanos=-1),
        Timestamp(nanos=1_000_000_000),
        Timestamp(seconds=253_402_300_800),
        Timestamp(seconds=-62_135_596_801),
        Timestamp(seconds=2**63 - 1),
    ],
    ids=["nanos below 0", "nanos a second", "year 10000", "year 0", "largest"],
)
@pytest.mark.parametrize("name", ["created_time", "valid_to_time"])
def test_impossible_time_is_bad_time(name, stamp):
    with pytest.raises(InvalidArgument) as caught:
        memories.fields_from_wire(types_pb2.MemoryDraft(**{name: stamp}))
    assert caught.value.reason == "BAD_TIME"
    assert caught.value.details["field"] == f"memory.{name}"


def test_impossible_time_in_a_range_names_its_end():
    wrong = types_pb2.Filter(about={"to_time": Timestamp(nanos=-5)})
    with pytest.raises(InvalidArgument) as caught:
        memories.filter_from_wire(wrong)
    assert caught.value.details["field"] == "filter.about.to_time"


def test_struct_value_without_a_kind_is_a_missing_field():
    draft = types_pb2.MemoryDraft(attributes=Struct(fields={"a": Value()}))
    with pytest.raises(InvalidArgument) as caught:
        memories.fields_from_wire(sent(draft))
    assert caught.value.reason == "MISSING_FIELD"


def test_struct_far_over_the_limit_is_refused_before_it_is_read():
    draft = types_pb2.MemoryDraft(payload=struct({"a": "x" * 200_000}))
    with pytest.raises(InvalidArgument) as caught:
        memories.fields_from_wire(draft)
    assert (caught.value.reason, caught.value.details["field"]) == (
        "LIMIT_EXCEEDED",
        "memory.payload",
    )


def test_struct_of_the_worst_growth_still_reaches_the_engines_own_check():
    # 16 KiB of JSON as single-digit numbers: what grows most on the wire.
    value = {"a": [1] * 8180}
    draft = sent(types_pb2.MemoryDraft(payload=struct(value)))
    assert memories.fields_from_wire(draft).payload == value


def test_filter_with_endless_enums_is_refused_before_they_are_read():
    with pytest.raises(InvalidArgument) as caught:
        memories.filter_from_wire(types_pb2.Filter(kinds=[1] * 101))
    assert caught.value.reason == "LIMIT_EXCEEDED"


def test_struct_keeps_infinity_for_the_engine_to_refuse():
    draft = sent(types_pb2.MemoryDraft(payload=struct({"a": math.inf})))
    assert memories.fields_from_wire(draft).payload == {"a": math.inf}


# -- Masks


def test_mask_names_every_changeable_field_as_the_command_does():
    paths = [
        name
        for name in types_pb2.MemoryDraft.DESCRIPTOR.fields_by_name
        if name not in ("kind", "created_time", "key")
    ]
    names = memories.mask_from_wire(paths)
    expected = set(Fields.__dataclass_fields__) - {"kind", "created_us", "key"}
    expected |= {"content", "vector"}
    assert set(names) == expected
    assert memories.mask_from_wire(paths[::-1]) == names
    assert memories.mask_from_wire(["valid_from_time"]) == ("valid_from_us",)


@pytest.mark.parametrize(
    "paths",
    [[], ["kind"], ["created_time"], ["nothing"], ["attributes.a"], ["Content"], ["content"] * 99],
    ids=lambda paths: ",".join(paths[:2]) or "empty",
)
def test_mask_of_other_fields_is_bad_update_mask(paths):
    with pytest.raises(InvalidArgument) as caught:
        memories.mask_from_wire(paths)
    assert caught.value.reason == "BAD_UPDATE_MASK"


# -- Policies


def test_guard_without_fields_is_the_standard_preset():
    assert (
        wire_policy.guard_from_wire(admin_pb.CreateCollectionRequest())
        == (policy.PRESETS[policy.Preset.STANDARD])
    )


@pytest.mark.parametrize("preset", policy.Preset)
def test_guard_with_a_preset_alone_takes_all_its_values(preset):
    request = admin_pb.CreateCollectionRequest(guard={"preset": f"PRESET_{preset.name}"})
    assert wire_policy.guard_from_wire(sent(request)) == policy.PRESETS[preset]


def test_guard_fields_lie_over_the_preset():
    request = admin_pb.CreateCollectionRequest(
        guard={"preset": "PRESET_ROBOTMEM", "exact": False, "jaccard_above": 0.0}
    )
    expected = replace(policy.PRESETS[policy.Preset.ROBOTMEM], exact=False, jaccard_above=0.0)
    assert wire_policy.guard_from_wire(sent(request)) == expected


@pytest.mark.parametrize("preset", policy.Preset)
def test_guard_is_shown_so_that_it_can_be_sent_back(preset):
    value = policy.PRESETS[preset]
    shown = sent(wire_policy.guard_to_wire(value))
    assert shown.HasField("jaccard_above") == (value.jaccard_above is not None)
    whole = admin_pb.UpdateCollectionRequest(
        collection={"guard": shown}, update_mask={"paths": ["guard"]}
    )
    changes = dict(wire_policy.changes_from_wire(sent(whole)).changes)
    assert changes["guard.preset"] == preset.value
    for name in ("exact", "similar_above", "tokenizer"):
        assert changes[f"guard.{name}"] == getattr(value, name)


def changes(paths: list[str], **collection: Any) -> list[tuple[str, Any]]:
    """Changes of an UpdateCollection."""
    request = admin_pb.UpdateCollectionRequest(
        collection=types_pb2.Collection(**collection), update_mask={"paths": paths}
    )
    return list(wire_policy.changes_from_wire(sent(request)).changes)


def test_changes_of_a_threshold_that_is_absent_switch_it_off():
    assert changes(["guard.cosine_at_least"]) == [("guard.cosine_at_least", None)]


def test_changes_of_the_whole_guard_are_its_preset_and_what_is_set():
    got = changes(["guard"], guard={"preset": "PRESET_EGO", "link_distance_below": 0.0})
    assert got == [("guard.preset", "ego"), ("guard.link_distance_below", 0.0)]


KINDS_WITH_RATES = ("fact", "relation", "task", "summary", "long_mood", "event", "affect")


def test_changes_of_the_whole_of_another_part_reset_what_is_absent():
    got = changes(["decay"], decay={"floor": 0.5})
    assert got == [
        ("decay.rate_per_day", None),
        ("decay.min_interval_days", None),
        ("decay.floor", 0.5),
        *((f"decay.{name}_rate_per_day", None) for name in KINDS_WITH_RATES),
    ]


def test_changes_stand_in_one_order_whatever_the_mask_says():
    paths = ["guard.exact", "description", "guard.preset", "diversity.enabled"]
    values: dict[str, Any] = {"description": "d", "guard": {"preset": "PRESET_EGO", "exact": True}}
    expected = [
        ("description", "d"),
        ("guard.preset", "ego"),
        ("guard.exact", True),
        ("diversity.enabled", None),
    ]
    assert changes(paths, **values) == expected
    assert changes(paths[::-1], **values) == expected


@pytest.mark.parametrize("paths", [[], ["name"], ["guard.nothing"], ["model"], ["guard"] * 99])
def test_changes_of_other_fields_are_bad_update_mask(paths):
    with pytest.raises(InvalidArgument) as caught:
        changes(paths)
    assert caught.value.reason == "BAD_UPDATE_MASK"


def test_unknown_enum_in_a_policy_names_its_field():
    for field, guard in (
        ("guard.preset", {"preset": 9}),
        ("guard.tokenizer", {"tokenizer": 9}),
    ):
        with pytest.raises(InvalidArgument) as caught:
            wire_policy.guard_from_wire(sent(admin_pb.CreateCollectionRequest(guard=guard)))
        assert (caught.value.reason, caught.value.details["field"]) == ("UNKNOWN_ENUM", field)


def test_collection_stats_keep_every_figure_apart() -> None:
    named = {"name": "notes", "state": "serving", "recall_at_k": 0.75, "recall_low": True}
    counted = {"refused_counts": {"exact": 1}, "kind_counts": {"state/fact": 2}}
    apart = {*named, *counted, "tidy", "verified", "checkpoint", "reembed", "counted_from_us"}
    others = [name for name in CollectionStats.__slots__ if name not in apart]
    figures = {name: number for number, name in enumerate(others, 100)}
    tidied = TidyState(turns=7, due=6, cursor=5, runs=4, closed=3, last_us=2_000_000, over=True)
    sound = {"row_count": 3, "damage_count": 4, "index_mismatch_count": 5, "reindexed_count": 6}
    bad = {"bad_row_counts": {"link": 2}, "bad_memory_ids": ("mem_1",)}
    seen = Verified(begun_us=1_000_000, ended_us=3_000_000, **bad, **sound)
    saved = CheckpointFigures(
        revision=9,
        saved_us=3_000_000,
        bytes=8,
        opened_from_revision=7,
        replayed_count=6,
        opening_s=0.5,
        bad_count=4,
        bad="9-1: arrays is too short",
    )
    stats = CollectionStats(
        **named,
        **counted,
        **figures,
        counted_from_us=4_000_000,
        tidy=tidied,
        verified=seen,
        checkpoint=saved,
    )
    message = admin.collection_stats_to_wire(stats)
    fields = {field.name for field in message.DESCRIPTOR.fields}
    own = {"tidy", "verify", "checkpoint", "reembed", "counted_from_time"}
    assert fields == {*named, *counted, *figures, *own}
    assert message.counted_from_time == Timestamp(seconds=4)
    assert message.verify == verify_pb2.VerifyStats(
        begun_time=Timestamp(seconds=1), ended_time=Timestamp(seconds=3), **bad, **sound
    )
    assert message.checkpoint == checkpoint_pb2.CheckpointStats(
        revision=9,
        time=Timestamp(seconds=3),
        bytes=8,
        opened_from_revision=7,
        replayed_count=6,
        opening_s=0.5,
        bad_count=4,
        bad="9-1: arrays is too short",
    )
    assert message.tidy == tidy_pb2.TidyStats(
        turn_count=7,
        run_count=4,
        closed_count=3,
        last_time=Timestamp(seconds=2),
        last_over_blast_radius=True,
    )
    for name, value in {**named, **counted, **figures}.items():
        got = getattr(message, name)
        assert (dict(got) if name in counted else got) == value
