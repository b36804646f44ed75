"""Bytes of long messages, made a row at a time.

Protobuf holds the GIL from the first to the last byte of a message, so that a long one, encoded on
any thread, would hold the event loop up. Of a message in pieces other threads get their turn
between two of them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import Any

from google.protobuf.message import Message

_LENGTH_DELIMITED = 2


def message_bytes(message: Message) -> bytes:
    """Return the bytes of a message: those of its rows one by one, then those of the rest."""
    return b"".join(_parts(message))


def _parts(message: Message) -> Iterator[bytes]:
    """Yield parts whose concatenation decodes to the message, as the order of fields is free."""
    rest: Any = type(message)()
    for field, value in message.ListFields():
        kind = field.message_type
        if kind is None or kind.GetOptions().map_entry or _is_small(kind):
            _copied(rest, field.name, value)
            continue
        tag = varint(field.number << 3 | _LENGTH_DELIMITED)
        # The one message may hold rows itself.
        rows = ((row,) for row in map(_encoded, value)) if field.is_repeated else (_parts(value),)
        for row in rows:
            data = b"".join(row)
            yield b"%b%b%b" % (tag, varint(len(data)), data)
    yield _encoded(rest)


def _encoded(message: Message) -> bytes:
    return message.SerializeToString()


def _is_small(kind: Any) -> bool:
    """Whether messages of a type have no rows: times and the like."""
    return bool(kind.file.package == "google.protobuf")


def _copied(rest: Any, name: str, value: Any) -> None:
    if isinstance(value, Message):
        getattr(rest, name).CopyFrom(value)
    elif hasattr(value, "MergeFrom"):
        getattr(rest, name).MergeFrom(value)
    else:
        setattr(rest, name, value)


def length_of(message: Message) -> int:
    """Return how long the bytes of a message are; a row at a time, as `message_bytes`."""
    return sum(map(len, _parts(message)))


def struct_bytes(value: Mapping[str, Any]) -> bytes:
    """Return the bytes of a Struct of a plain JSON object.

    By hand, because a message for each value takes four times as long, and objects have up to a
    thousand. A test compares them with those of protobuf.
    """
    out: list[bytes] = []
    for key, item in value.items():
        name, data = key.encode(), _value_bytes(item)
        entry = b"\x0a%b%b\x12%b%b" % (varint(len(name)), name, varint(len(data)), data)
        out += (b"\x0a", varint(len(entry)), entry)
    return b"".join(out)


def _value_bytes(value: Any) -> bytes:
    """The bytes of a google.protobuf.Value: a tag and what it holds."""
    match value:
        case str():
            text = value.encode()
            return b"\x1a%b%b" % (varint(len(text)), text)
        case bool():
            return b"\x20\x01" if value else b"\x20\x00"
        case int() | float():
            return b"\x11" + _DOUBLE(value)
        case None:
            return b"\x08\x00"
        case dict():
            data = struct_bytes(value)
            return b"\x2a%b%b" % (varint(len(data)), data)
        case list():
            out: list[bytes] = []
            for item in value:
                encoded = _value_bytes(item)
                out += (b"\x0a", varint(len(encoded)), encoded)
            data = b"".join(out)
            return b"\x32%b%b" % (varint(len(data)), data)
        case _:
            raise TypeError(f"no JSON: {type(value).__name__}")


def varint(number: int) -> bytes:
    """Return a number as protobuf writes tags and lengths."""
    if number < len(_VARINTS):
        return _VARINTS[number]
    return _varint(number)


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


_DOUBLE = struct.Struct("<d").pack
_VARINTS = tuple(_varint(number) for number in range(256))
