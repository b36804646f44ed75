"""Dataclass <-> message by name: each pair that the server has, and mappings that do not fit."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

import totonoe_server.wire
from support.random_data import Dice
from totonoe.v1 import graph_pb2, types_pb2
from totonoe.v1 import memory_service_pb2 as pb
from totonoe_core.base.errors import InvalidArgument
from totonoe_core.domain import cleanup, graph, memories, queries
from totonoe_core.domain.commands import Applied
from totonoe_core.domain.records import Link, LinkType, Memory
from totonoe_server.services import admin, memory  # noqa: F401  They build every mapping.
from totonoe_server.wire import mapping, scalars
from totonoe_server.wire.answers import updated_to_wire
from totonoe_server.wire.mapping import DECODERS, ENCODERS, MappingError, decoder, encoder
from totonoe_server.wire.memories import link_from_wire, unlink_from_wire

MODULES = sorted(path.stem for path in Path(totonoe_server.wire.__path__[0]).glob("[a-z]*.py"))
ROUNDS = 20
# These need values that fit each other, or fields from the caller.
BUILT = [
    pair
    for pair in ENCODERS
    if pair not in mapping._NEEDY and pair[0] not in (cleanup.SessionEnded, queries.TurnRecorded)
]
COMPUTED = {
    ("Collection", "calibration"),
    ("Memory", "vector"),
    ("Evidence", "own"),
    ("Evidence", "other"),
    ("LostDetail", "place"),
    ("Version", "changed"),
    ("DecayReport", "survival"),
    ("AuditResponse", "contradictions"),
    ("TidyCluster", "members"),
    ("CollectionStats", "reembed"),
    ("ReembedStats", "model"),
    ("ImportItem", "error"),
    ("CreateSnapshotResponse", "snapshot"),
}
"""Fields of a contract whose value is not that of the attribute of the same name."""
RENAMED = {("Undo", "operation_id")}
"""Fields of a command whose source is not the field of the same name."""


def name(pair: tuple[type, type]) -> str:
    return f"{pair[0].__name__}-{pair[1].__name__}"


def test_each_module_builds_its_mappings_by_itself() -> None:
    code = f"""
import importlib, sys
for name in {MODULES!r}:
    for loaded in [name for name in sys.modules if name.startswith("totonoe_server.wire")]:
        del sys.modules[loaded]
    importlib.import_module(f"totonoe_server.wire.{{name}}")
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_server_has_mappings_for_requests_and_answers() -> None:
    assert len(BUILT) > 60
    assert len(DECODERS) > 20


# -- Round trips


def shown(value: Any) -> Any:
    """Return a value of the core as a message shows it, in plain data; `None` cannot be seen."""
    if isinstance(value, StrEnum):
        return value.name
    if is_dataclass(value):
        return "message"
    if isinstance(value, dict):
        return {key: shown(item) for key, item in value.items()}
    if isinstance(value, tuple | frozenset):
        return [shown(item) for item in value]
    return value


def same(wanted: Any, held: Any) -> bool:
    """Compare a value of the core with a field; members without a number are unspecified."""
    if held == "UNSPECIFIED":
        return wanted in ("NONE", "PURGED")
    if isinstance(wanted, list) and isinstance(held, list):
        return len(wanted) == len(held) and all(map(same, wanted, held))
    if isinstance(wanted, list) and isinstance(held, dict):
        return dict(wanted) == held
    return bool(wanted == held)


def read(message: Any, field: Any) -> Any:
    """Return the value of a field in the form of `shown`, read by the library's own means."""
    held = getattr(message, field.name)
    if field.enum_type is not None:
        values, prefix = field.enum_type.values_by_number, field.enum_type.values[0].name
        names = [
            values[number].name.removeprefix(prefix.removesuffix("UNSPECIFIED"))
            for number in (held if field.is_repeated else [held])
        ]
        return names if field.is_repeated else names[0]
    if field.message_type is None:
        return list(held) if field.is_repeated else held
    if field.message_type.GetOptions().map_entry:
        return dict(held)
    if field.is_repeated:
        return ["message"] * len(held)
    return "message" if message.HasField(field.name) else None


def compared(value: Any, message: Any) -> int:
    """Compare each field with the attribute of its name; return how many were compared."""
    count = 0
    for field in message.DESCRIPTOR.fields:
        if (message.DESCRIPTOR.name, field.name) in COMPUTED:
            continue
        kind = field.message_type.name if field.message_type else ""
        if kind == "Timestamp":
            attribute = "time_us" if field.name == "time" else field.name.replace("_time", "_us")
            if not hasattr(value, attribute):
                continue
            wanted = getattr(value, attribute)
            assert message.HasField(field.name) == (wanted is not None)
            held: Timestamp = getattr(message, field.name)
            assert held.ToMicroseconds() == (wanted or 0), (field.full_name, wanted)
        elif not hasattr(value, field.name) or kind in ("Struct", "TimeRange"):
            continue
        else:
            wanted, held = shown(getattr(value, field.name)), read(message, field)
            if wanted is None:
                assert held == "UNSPECIFIED" or not message.HasField(field.name), field.full_name
            else:
                # The core keeps some members as plain text.
                member = field.enum_type and isinstance(wanted, str)
                assert same(wanted.upper() if member else wanted, held), field.full_name
        count += 1
    return count


@pytest.mark.parametrize("pair", BUILT, ids=name)
def test_message_of_any_dataclass_has_its_values(pair: tuple[type, type]) -> None:
    dice = Dice(7)
    for _ in range(ROUNDS):
        value = dice.value(pair[0])
        message = ENCODERS[pair](value)
        if message is not None:
            compared(value, pair[1].FromString(message.SerializeToString()))


def test_values_of_most_fields_are_compared() -> None:
    dice, counts = Dice(8), 0
    for source, target in BUILT:
        counts += compared(value := dice.value(source), ENCODERS[source, target](value) or target())
    assert counts > 300


@pytest.mark.parametrize("pair", DECODERS, ids=name)
def test_dataclass_of_any_message_has_its_values_or_the_defaults(pair: tuple[Any, Any]) -> None:
    dice, read_count = Dice(9), 0
    for _ in range(ROUNDS):
        message = dice.message(pair[0])
        try:
            value = DECODERS[pair](message)
        except InvalidArgument as error:
            # Zero of an enumeration, or no value, where a request must say which.
            assert error.reason in ("UNKNOWN_ENUM", "BAD_UPDATE_MASK", "MISSING_FIELD"), error
            continue
        for item in fields(pair[1]):
            known = message.DESCRIPTOR.fields_by_name.get(item.name)
            renamed = (pair[1].__name__, item.name) in RENAMED
            if renamed or known is None or known.message_type or known.enum_type:
                continue
            held, got = getattr(message, item.name), getattr(value, item.name)
            said = message.HasField(item.name) if known.has_presence else bool(held)
            if known.is_repeated:
                assert list(dict.fromkeys(got)) == list(dict.fromkeys(held))
            elif said or item.default is dataclasses.MISSING:
                assert got == held or not said
            else:
                assert got == item.default
            read_count += 1
    assert read_count > ROUNDS // 2 or len(fields(pair[1])) < 3


# -- What is said of missing values


def test_attribute_on_the_way_that_is_none_leaves_the_field_empty() -> None:
    updated = memories.Updated(True, Dice(1).value(Memory))
    message = updated_to_wire(Applied("op_1", 4, (updated,)))
    assert (message.revision, message.operation_id, message.replayed) == (4, "op_1", False)
    assert not message.HasField("duplicate")
    assert not message.layers


def test_request_without_a_value_has_the_default_of_its_command() -> None:
    request = graph_pb2.NeighborsRequest()
    made = DECODERS[graph_pb2.NeighborsRequest, queries.NeighborsQuery](request)
    assert made == queries.NeighborsQuery("", ())
    request.hop_decay = 0.0
    request.depth = 3
    made = DECODERS[graph_pb2.NeighborsRequest, queries.NeighborsQuery](request)
    assert (made.hop_decay, made.depth) == (0.0, 3)
    assert link_from_wire(pb.LinkRequest()).type is LinkType.RELATED
    assert link_from_wire(pb.LinkRequest()).confidence == 0.5
    assert unlink_from_wire(pb.UnlinkRequest()) == graph.UnlinkMemories("", "", "")


# -- What does not fit


@dataclass(frozen=True, slots=True)
class Key:
    subject: str
    attribute: str


@dataclass(frozen=True, slots=True)
class Half:
    subject: str


@dataclass(frozen=True, slots=True)
class Wrong:
    subject: str
    attribute: int


class Color(StrEnum):
    RED = "red"


def test_mapping_takes_names_given_and_computed_fields() -> None:
    named = encoder(Half, types_pb2.TypedKey, names={"attribute": "subject"})
    assert named(Half("a")) == types_pb2.TypedKey(subject="a", attribute="a")
    given = encoder(Key, types_pb2.TypedKey, given=("attribute",))
    assert given(Key("a", "b"), attribute="c") == types_pb2.TypedKey(subject="a", attribute="c")
    with pytest.raises(TypeError):
        given(Key("a", "b"))
    computed = encoder(
        Wrong, types_pb2.TypedKey, computed={"attribute": lambda key: str(key.attribute)}
    )
    assert computed(Wrong("a", 3)) == types_pb2.TypedKey(subject="a", attribute="3")


def test_fields_computed_together_take_one_call() -> None:
    @dataclass(frozen=True, slots=True)
    class Word:
        text: str

    asked: list[Word] = []

    def halves(word: Word) -> tuple[str, str]:
        asked.append(word)
        return word.text[:1], word.text[1:]

    encode = encoder(Word, types_pb2.TypedKey, computed={("attribute", "subject"): halves})
    assert encode(Word("abc")) == types_pb2.TypedKey(attribute="a", subject="bc")
    assert asked == [Word("abc")]


def test_field_of_the_contract_without_a_source_is_refused_when_built() -> None:
    @dataclass(frozen=True, slots=True)
    class Lone:
        subject: str

    with pytest.raises(MappingError, match=r"TypedKey\.attribute: no source in Lone"):
        encoder(Lone, types_pb2.TypedKey)
    assert encoder(Lone, types_pb2.TypedKey, without=("attribute",))(Lone("a")).subject == "a"
    with pytest.raises(MappingError, match="built already"):
        encoder(Lone, types_pb2.TypedKey, without=("attribute",))


@pytest.mark.parametrize("option", ["names", "given", "without", "computed"])
def test_option_for_a_field_that_is_not_in_the_contract_is_refused(option: str) -> None:
    value: Any = {"other": "subject"} if option in ("names", "computed") else ("other",)
    with pytest.raises(MappingError, match="no field"):
        encoder(Key, types_pb2.TypedKey, **{option: value})


def test_value_of_another_type_is_refused_when_built() -> None:
    @dataclass(frozen=True, slots=True)
    class Number:
        subject: int
        attribute: str

    @dataclass(frozen=True, slots=True)
    class Colored:
        target_id: str
        type: Color
        confidence: float
        note: str

    for source, target in ((Number, types_pb2.TypedKey), (Colored, types_pb2.Link)):
        with pytest.raises(MappingError, match="does not fit"):
            encoder(source, target)


def test_nested_message_that_needs_fields_from_the_caller_is_refused() -> None:
    @dataclass(frozen=True, slots=True)
    class Holder:
        revision: int
        neighbors: tuple[queries.Neighbor, ...]
        truncated: bool

    with pytest.raises(MappingError, match="needs fields that the caller gives"):
        encoder(Holder, graph_pb2.NeighborsResponse)


def test_request_whose_field_goes_nowhere_is_refused_when_built() -> None:
    with pytest.raises(MappingError, match=r"\['attribute'\] go nowhere in Half"):
        decoder(types_pb2.TypedKey, Half)
    with pytest.raises(MappingError, match="does not fit"):
        decoder(types_pb2.TypedKey, Wrong)

    @dataclass(frozen=True, slots=True)
    class More:
        subject: str
        attribute: str
        third: str

    with pytest.raises(MappingError, match=r"More\.third: no source in TypedKey"):
        decoder(types_pb2.TypedKey, More)


def test_enumeration_of_another_kind_than_the_known_one_is_refused() -> None:
    with pytest.raises(TypeError, match="LinkType is LinkType, not Color"):
        scalars.table_of(types_pb2.LinkType.DESCRIPTOR, Color)
    assert scalars.table_of(types_pb2.LinkType.DESCRIPTOR, LinkType) is scalars.LINK_TYPES
    link = encoder(Link, types_pb2.Link)(Link("mem_a", LinkType.UPDATES, 0.5))
    assert link.type == types_pb2.LINK_TYPE_UPDATES
