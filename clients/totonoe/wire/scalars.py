"""Vectors, times, structures and enums of the wire, both ways side by side."""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from functools import cache
from typing import Any

from google.protobuf import struct_pb2, timestamp_pb2
from google.protobuf.descriptor import EnumDescriptor

from totonoe import enums

_EXACT_INTEGER_MAX = 2**53


# -- vectors


def encode_vector(value: Any) -> bytes:
    """Little-endian float32 of a vector.

    Parameters
    ----------
    value : bytes-like, sequence of float, or buffer of float32 or float64
        Raw `bytes` are taken as they are. Values beyond float32 become infinite, which
        the daemon refuses.

    Raises
    ------
    ValueError
        If it is empty, not one-dimensional, or raw bytes of a length that is not a multiple of 4.
    TypeError
        If it holds something else than numbers.
    """
    raw = isinstance(value, bytes | bytearray)
    data = bytes(value) if raw else _float32(value).tobytes()
    if not data or len(data) % 4:
        raise ValueError(f"vector: got {len(data)} bytes, allowed: float32 values, at least one")
    return data


def _float32(value: Any) -> array[float]:
    try:
        view = memoryview(value)
    except TypeError:
        return _little_endian(array("f", value))
    if view.ndim != 1:
        raise ValueError(f"vector: got {view.ndim} dimensions, allowed: 1")
    if view.format not in ("f", "d"):
        raise TypeError(f"vector: got a buffer of {view.format!r}, allowed: float32 or float64")
    return _little_endian(array("f", view.tolist() if view.format == "d" else view.tobytes()))


def decode_vector(data: bytes) -> array[float] | None:
    """float32 array of little-endian bytes; `None` if there are none."""
    return _little_endian(array("f", data)) if data else None


def _little_endian(values: array[float]) -> array[float]:
    """The array with its bytes in (or from) little-endian order."""
    if sys.byteorder == "big":
        values.byteswap()
    return values


# -- times


def encode_time(value: datetime, field: str) -> timestamp_pb2.Timestamp:
    """Timestamp of an aware datetime. Raises `ValueError` if it has no time zone."""
    if value.utcoffset() is None:
        raise ValueError(f"{field}: got a time without zone, allowed: an aware datetime")
    stamp = timestamp_pb2.Timestamp()
    stamp.FromDatetime(value)
    return stamp


def decode_time(stamp: timestamp_pb2.Timestamp) -> datetime:
    """Aware datetime in UTC, to the microsecond."""
    return stamp.ToDatetime(tzinfo=UTC)


# -- structures


def encode_struct(value: Mapping[str, Any], field: str) -> struct_pb2.Struct:
    """Struct of a JSON object.

    Raises
    ------
    ValueError
        If a number is not finite, or an integer that a double cannot hold exactly.
    TypeError
        If a key is no string or a value no JSON value.
    """
    struct = struct_pb2.Struct()
    for key, item in value.items():
        if not isinstance(key, str):
            raise TypeError(f"{field}: got the key {key!r}, allowed: strings")
        struct.fields[key].CopyFrom(encode_value(item, f"{field}.{key}"))
    return struct


def encode_value(value: Any, field: str) -> struct_pb2.Value:
    """Value of a JSON value. Raises as `encode_struct`."""
    if value is None:
        return struct_pb2.Value(null_value=struct_pb2.NULL_VALUE)
    if isinstance(value, bool):
        return struct_pb2.Value(bool_value=value)
    if isinstance(value, str):
        return struct_pb2.Value(string_value=value)
    if isinstance(value, int | float):
        if isinstance(value, int) and abs(value) > _EXACT_INTEGER_MAX:
            raise ValueError(f"{field}: got {value}, allowed: integers up to 2**53; use a string")
        if not math.isfinite(value):
            raise ValueError(f"{field}: got {value}, allowed: finite numbers")
        return struct_pb2.Value(number_value=value)
    if isinstance(value, Mapping):
        return struct_pb2.Value(struct_value=encode_struct(value, field))
    if isinstance(value, list | tuple):
        items = [encode_value(item, field) for item in value]
        return struct_pb2.Value(list_value=struct_pb2.ListValue(values=items))
    raise TypeError(f"{field}: got a {type(value).__name__}, allowed: JSON values")


def decode_struct(struct: struct_pb2.Struct) -> dict[str, Any]:
    """JSON object of a Struct. The wire has doubles only: whole ones come back as `int`."""
    return {key: _decode_value(value) for key, value in struct.fields.items()}


def _decode_value(value: struct_pb2.Value) -> Any:
    match value.WhichOneof("kind"):
        case "bool_value":
            return value.bool_value
        case "string_value":
            return value.string_value
        case "number_value":
            number = value.number_value
            whole = number.is_integer() and abs(number) <= _EXACT_INTEGER_MAX
            return int(number) if whole else number
        case "struct_value":
            return decode_struct(value.struct_value)
        case "list_value":
            return [_decode_value(item) for item in value.list_value.values]
        case _:
            return None


# -- enums and lists


class EnumCodec:
    """Lower-case words of a `StrEnum` and the numbers of the enum of that name in the contract.

    Parameters
    ----------
    wire : EnumDescriptor
        The contract's enum. The names of its values begin with the prefix of the one for 0.

    Attributes
    ----------
    words : type of StrEnum
        Its members are the names of the contract's values, lower case and without the prefix, and
        `UNKNOWN`.
    """

    def __init__(self, wire: EnumDescriptor) -> None:
        self.words: type[StrEnum] = getattr(enums, wire.name)
        self._unknown = self.words("unknown")
        prefix = wire.values_by_number[0].name.removesuffix("UNSPECIFIED")
        known = {member.value: member for member in self.words}
        self._numbers: dict[StrEnum, int] = {}
        self._members: dict[int, StrEnum] = {}
        for name, value in wire.values_by_name.items():
            member = known.get(name.removeprefix(prefix).lower())
            if member is not None:
                self._numbers[member] = value.number
                self._members[value.number] = member

    def encode(self, value: str, field: str) -> int:
        """Number on the wire. Raises `ValueError` if there is no such word."""
        try:
            return self._numbers[self.words(value)]
        except (KeyError, ValueError):
            allowed = ", ".join(str(member) for member in self._numbers)
            raise ValueError(f"{field}: got {str(value)!r}, allowed: {allowed}") from None

    def decode(self, number: int) -> Any:
        """The word; `UNKNOWN` for a number that this client does not know, or 0."""
        return self._members.get(number, self._unknown)

    def decode_optional(self, number: int) -> Any:
        """The word; `None` for 0."""
        return self.decode(number) if number else None


@cache
def codec(wire: EnumDescriptor) -> EnumCodec:
    """The codec of an enum of the contract, made once."""
    return EnumCodec(wire)


def encode_ids(values: str | Iterable[str], field: str) -> list[str]:
    """Ids of one string or several."""
    return [values] if isinstance(values, str) else encode_texts(values, field)


def encode_texts(values: Iterable[str], field: str) -> list[str]:
    """A list of labels. Raises `TypeError` for a bare string, which would fall into letters."""
    if isinstance(values, str | bytes):
        raise TypeError(f"{field}: got one string, allowed: a list of strings")
    return list(values)
