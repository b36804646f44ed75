"""Small forms that every message is made of: names, enumerations, times, structs, ranges.

The server checks only what the wire can get wrong: unknown enum numbers, impossible times, masks.
The engine checks whether a value makes sense.

Numbers of a Struct are doubles on the wire. Whole numbers up to 2^53 come out as `int`, so that
JSON made from them reads as it was written. On the way back they are doubles again, and nothing is
lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Generic, TypeVar

from google.protobuf.descriptor import EnumDescriptor
from google.protobuf.message import Message
from google.protobuf.struct_pb2 import Struct, Value
from google.protobuf.timestamp_pb2 import Timestamp

from totonoe.v1 import memory_service_pb2, types_pb2
from totonoe_core.base import limits
from totonoe_core.base.errors import InvalidArgument, over_limit
from totonoe_core.domain import filter, policy, queries, records
from totonoe_server.wire.encoding import struct_bytes

COLLECTION_DEFAULT = "default"
SECONDS_MIN, SECONDS_MAX = -62_135_596_800, 253_402_300_799
"""Years 1 to 9999, the range of google.protobuf.Timestamp."""
_WHOLE_MAX = 2.0**53
_STRUCT_GROWTH = 8
"""A Struct is at most 5.5 times as long on the wire as in JSON (a list of small numbers)."""

_E = TypeVar("_E", bound=StrEnum)


TABLES: dict[str, EnumTable[Any]] = {}
"""Each table that was made, by the full name of the enumeration."""


class EnumTable(Generic[_E]):
    """One enumeration, both ways; made once from the names of both sides.

    A name of the contract is a prefix and the member's name. Number 0 is `PREFIX_UNSPECIFIED`: it
    stands for `unset` where a request may leave the value out, and is refused where it may not.

    Parameters
    ----------
    zero : member, optional
        Has number 0 in messages, and is not read from them.
    """

    def __init__(self, wire: EnumDescriptor, kind: type[_E], zero: _E | None = None):
        names = {name: value.number for name, value in wire.values_by_name.items()}
        prefix = wire.values_by_number[0].name.removesuffix("UNSPECIFIED")
        self.numbers: dict[_E | None, Any] = {
            member: names[prefix + member.name] for member in kind if member is not zero
        }
        """Number of each member. `Any`, because the stubs give each enum a type of its own."""
        self._members = {number: member for member, number in self.numbers.items()}
        if len(names) != len(self.numbers) + 1:
            raise AssertionError(f"{wire.name} and {kind.__name__} differ")
        if zero is not None:
            self.numbers[zero] = 0
        self.kind = kind
        self.allowed = ", ".join(sorted(name for name, number in names.items() if number))
        TABLES[wire.full_name] = self

    def to_wire(self, member: _E) -> Any:
        """Return the number of a member."""
        return self.numbers[member]

    def from_wire(self, number: int, field: str, unset: _E | None = None) -> _E:
        """Member of a number.

        Raises
        ------
        InvalidArgument
            UNKNOWN_ENUM: no such number, or 0 where a value must be said.
        """
        member = self._members.get(number)
        if member is not None:
            return member
        if number == 0 and unset is not None:
            return unset
        raise InvalidArgument("UNKNOWN_ENUM", field=field, got=number, allowed=self.allowed)

    def list_from_wire(
        self, numbers: Sequence[Any], field: str, unset: _E | None = None
    ) -> tuple[_E, ...]:
        """Members of a repeated field, checked for length before any is looked at.

        Raises
        ------
        InvalidArgument
            LIMIT_EXCEEDED, UNKNOWN_ENUM.
        """
        if len(numbers) > limits.FILTER_VALUES_MAX:
            raise over_limit(field, len(numbers), limits.FILTER_VALUES_MAX)
        return tuple(self.from_wire(number, field, unset) for number in numbers)


def table_of(wire: EnumDescriptor, kind: type[StrEnum]) -> EnumTable[Any]:
    """Return the table of an enumeration, made when it is first asked for.

    `kind` may be `str`, where the core keeps members as plain text, if the table exists.
    """
    table = TABLES.get(wire.full_name) or EnumTable(wire, kind)
    if not issubclass(table.kind, kind):
        raise TypeError(f"{wire.name} is {table.kind.__name__}, not {kind.__name__}")
    return table


KINDS = EnumTable(types_pb2.Kind.DESCRIPTOR, records.Kind)
STATE_KINDS = EnumTable(types_pb2.StateKind.DESCRIPTOR, records.StateKind, records.StateKind.NONE)
SOURCES = EnumTable(types_pb2.Source.DESCRIPTOR, records.Source)
# A purged memory is not there for callers: its status has no number.
STATUSES = EnumTable(types_pb2.Status.DESCRIPTOR, records.Status, records.Status.PURGED)
OPERATORS = EnumTable(types_pb2.Operator.DESCRIPTOR, filter.Operator)
LINK_TYPES = EnumTable(types_pb2.LinkType.DESCRIPTOR, records.LinkType)
METHODS = EnumTable(types_pb2.Method.DESCRIPTOR, records.Method)
PRESETS = EnumTable(types_pb2.Preset.DESCRIPTOR, policy.Preset)
ACTIONS = EnumTable(types_pb2.Action.DESCRIPTOR, policy.Action)
VERDICTS = EnumTable(types_pb2.Verdict.DESCRIPTOR, records.Verdict)
TOKENIZERS = EnumTable(types_pb2.Tokenizer.DESCRIPTOR, policy.Tokenizer)
RECALL_MODES = EnumTable(memory_service_pb2.RecallMode.DESCRIPTOR, queries.RecallMode)
DIVERSITY_EFFECTS = EnumTable(
    memory_service_pb2.DiversityEffect.DESCRIPTOR, queries.DiversityEffect
)


def collection_name(name: str) -> str:
    """The collection a request means."""
    return name or COLLECTION_DEFAULT


def required(present: bool, field: str) -> None:
    """A field that must be set.

    Raises
    ------
    InvalidArgument
        MISSING_FIELD.
    """
    if not present:
        raise InvalidArgument("MISSING_FIELD", field=field, got="nothing", allowed="a value")


def time_from_wire(holder: Message, name: str, field: str) -> int | None:
    """UTC microseconds of a Timestamp field, or `None` if it is absent.

    Nanoseconds below a microsecond are cut off.

    Raises
    ------
    InvalidArgument
        BAD_TIME: nanos outside a second, or a year outside 1 to 9999.
    """
    if not holder.HasField(name):
        return None
    value: Timestamp = getattr(holder, name)
    if not (0 <= value.nanos < 1_000_000_000 and SECONDS_MIN <= value.seconds <= SECONDS_MAX):
        raise InvalidArgument(
            "BAD_TIME",
            field=field,
            got=f"{value.seconds} s and {value.nanos} ns",
            allowed="years 1 to 9999, and nanos of 0 to 999,999,999",
        )
    return value.seconds * 1_000_000 + value.nanos // 1000


def time_to_wire(time_us: int | None) -> Timestamp | None:
    """Timestamp of UTC microseconds; `None` stays absent."""
    if time_us is None:
        return None
    seconds, micros = divmod(time_us, 1_000_000)
    return Timestamp(seconds=seconds, nanos=micros * 1000)


def time_into_wire(message: Timestamp, time_us: int) -> None:
    """Set a Timestamp to UTC microseconds."""
    message.seconds, micros = divmod(time_us, 1_000_000)
    message.nanos = micros * 1000


def range_from_wire(holder: Message, name: str, field: str) -> records.TimeRange:
    """Time range of a field; an absent one is open on both sides."""
    if not holder.HasField(name):
        return _OPEN
    value = getattr(holder, name)
    return records.TimeRange(
        time_from_wire(value, "from_time", f"{field}.from_time"),
        time_from_wire(value, "to_time", f"{field}.to_time"),
    )


def range_to_wire(value: records.TimeRange) -> types_pb2.TimeRange | None:
    """Time range of a record; one open on both sides stays absent."""
    if value == _OPEN:
        return None
    return types_pb2.TimeRange(
        from_time=time_to_wire(value.from_us), to_time=time_to_wire(value.to_us)
    )


_OPEN = records.TimeRange()


def as_of_from_wire(holder: Message) -> queries.AsOf | None:
    """The moment of the past that `as_of` of a request names; absent: now.

    Raises
    ------
    InvalidArgument
        MISSING_FIELD: it names none. BAD_TIME.
    """
    if not holder.HasField("as_of"):
        return None
    value: types_pb2.AsOf = holder.as_of  # type: ignore[attr-defined]
    if value.WhichOneof("moment") == "revision":
        return queries.AsOf(value.revision)
    time_us = time_from_wire(value, "time", "as_of.time")
    if time_us is None:
        raise InvalidArgument(
            "MISSING_FIELD", field="as_of", got="nothing", allowed="a revision or a time"
        )
    return queries.AsOf(time_us=time_us)


def struct_from_wire(
    holder: Message, name: str, field: str, limit_bytes: int = limits.ATTRIBUTES_BYTES_MAX
) -> dict[str, Any]:
    """Plain JSON object of a Struct field; an absent one is empty.

    Raises
    ------
    InvalidArgument
        LIMIT_EXCEEDED: so long that its JSON cannot be within `limit_bytes` (found out
        before any of it is converted). MISSING_FIELD: a Value that holds nothing.
    """
    if not holder.HasField(name):
        return {}
    value: Struct = getattr(holder, name)
    size = value.ByteSize()
    if size > limit_bytes * _STRUCT_GROWTH:
        raise over_limit(field, f"{size} bytes", f"{limit_bytes} bytes of JSON")
    return {key: _plain(item, field) for key, item in value.fields.items()}


def value_from_wire(
    holder: Message, name: str, field: str, limit_bytes: int = limits.ATTRIBUTES_BYTES_MAX
) -> Any:
    """JSON value of a Value field, which must be set. Raises as `struct_from_wire`."""
    required(holder.HasField(name), field)
    value: Value = getattr(holder, name)
    size = value.ByteSize()
    if size > limit_bytes * _STRUCT_GROWTH:
        raise over_limit(field, f"{size} bytes", f"{limit_bytes} bytes of JSON")
    return _plain(value, field)


def _plain(value: Value, field: str) -> Any:
    # The protobuf parser refuses more than 100 levels, so this recursion ends.
    match value.WhichOneof("kind"):
        case "string_value":
            return value.string_value
        case "number_value":
            number = value.number_value
            if number.is_integer() and abs(number) <= _WHOLE_MAX:
                return int(number)
            return number
        case "bool_value":
            return value.bool_value
        case "null_value":
            return None
        case "struct_value":
            return {key: _plain(item, field) for key, item in value.struct_value.fields.items()}
        case "list_value":
            return [_plain(item, field) for item in value.list_value.values]
        case _:
            raise InvalidArgument(
                "MISSING_FIELD", field=field, got="a Value without a kind", allowed="a JSON value"
            )


def struct_to_wire(value: Mapping[str, Any]) -> Struct | None:
    """Struct of a plain JSON object; an empty one stays absent."""
    return Struct.FromString(struct_bytes(value)) if value else None
