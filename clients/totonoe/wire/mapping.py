"""Messages and dataclasses, matched by the names of their fields.

`decoder` makes a function that turns messages of one type into one dataclass, and `encode` makes a
message of named values. The dataclass's annotations and the message's descriptor say how each field
is converted, so that a new field needs no code here:

| on the wire | in a dataclass |
|---|---|
| number, bool, string | the same |
| enum | the `StrEnum` of that name in `totonoe.enums` |
| Timestamp | `datetime` |
| Struct | mapping |
| bytes | hex digits where the annotation is `str`, an array of float32 where it is an array |
| message | dataclass, or a fixed tuple of its fields in their order |
| repeated, map | tuple, mapping |
| absent, or an enum's 0 | `None`, where the annotation allows it |

A decoder is made once for each pair, when it is first needed: importing the client costs nothing.
A field that only one side has is a `TypeError` then, and a test makes all decoders.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from functools import cache, partial, reduce
from operator import or_
from types import NoneType, UnionType
from typing import Any, Generic, TypeVar, Union, get_args, get_origin, get_type_hints

from google.protobuf import message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from totonoe.wire import scalars
from totonoe.wire.exceptions import DECODERS, LEFT_OUT

M = TypeVar("M")
P = TypeVar("P", bound=Message)
_SCALARS: dict[int, type] = {
    FieldDescriptor.CPPTYPE_INT32: int,
    FieldDescriptor.CPPTYPE_INT64: int,
    FieldDescriptor.CPPTYPE_UINT32: int,
    FieldDescriptor.CPPTYPE_UINT64: int,
    FieldDescriptor.CPPTYPE_DOUBLE: float,
    FieldDescriptor.CPPTYPE_FLOAT: float,
    FieldDescriptor.CPPTYPE_BOOL: bool,
    FieldDescriptor.CPPTYPE_STRING: str,
}
_Convert = Callable[[Any], Any]


class _Array(Generic[M]):
    """Stands for `array` in annotations: Python 3.11 cannot subscript it."""


def decoder(model: type[M], message: type[Message]) -> Callable[[Any], M]:
    """The function that makes `model` of a message of this type.

    Raises
    ------
    TypeError
        If a field is only on one side, or its types on both sides do not belong together.
    """
    kind: Any = model
    made: Callable[[Any], M] = _decoder(kind, message.DESCRIPTOR)
    return made


@cache
def _decoder(model: Any, descriptor: Any) -> Callable[[Any], Any]:
    hints = get_type_hints(model, localns={"array": _Array})
    names = [field.name for field in fields(model)]
    wanted = set(descriptor.fields_by_name) - LEFT_OUT.get(descriptor.full_name, set())
    unmatched = set(names) ^ wanted
    if unmatched:
        only = ", ".join(sorted(unmatched))
        raise TypeError(f"{model.__name__} and {descriptor.full_name}: only one has {only}")
    scope: dict[str, Any] = {"model": model}
    parts = []
    for name in names:
        try:
            expression, convert = _reading(hints[name], descriptor.fields_by_name[name])
        except TypeError as error:
            raise TypeError(f"{model.__name__}.{name}: {error}") from None
        scope[f"c_{name}"] = convert
        parts.append(f"{name}={expression}")
    # One expression costs a third less than a function for each field.
    made: Callable[[Any], Any] = eval(f"lambda m: model({', '.join(parts)})", scope)
    return made


def _reading(hint: Any, field: FieldDescriptor) -> tuple[str, _Convert | None]:
    """The expression that reads a field of the message `m`, and its converter `c_NAME`, if any."""
    name = field.name
    if field.is_repeated:
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            if get_origin(hint) is not Mapping:
                raise TypeError(f"got {hint}, allowed: a mapping")
            return f"dict(m.{name})", None
        item = get_args(hint)
        if get_origin(hint) is not tuple or item[-1] is not Ellipsis:
            raise TypeError(f"got {hint}, allowed: a tuple of any length")
        convert = _converter(item[0], field)
        return (f"tuple(map(c_{name}, m.{name}))" if convert else f"tuple(m.{name})"), convert
    inner, optional = _without_none(hint)
    if field.enum_type is not None:
        codec = scalars.codec(field.enum_type)
        _converter(inner, field)
        return f"c_{name}(m.{name})", codec.decode_optional if optional else codec.decode
    convert = _converter(inner, field)
    value = f"c_{name}(m.{name})" if convert else f"m.{name}"
    if not optional or convert is scalars.decode_vector:
        return value, convert
    if not field.has_presence:
        raise TypeError("may be None, and is never absent on the wire")
    return f'{value} if m.HasField("{name}") else None', convert


def _converter(hint: Any, field: FieldDescriptor) -> _Convert | None:
    """The converter from one value of a field to the annotation's type; `None`: none is needed."""
    if field.message_type is not None:
        return _message_converter(hint, field.message_type)
    if field.enum_type is not None:
        codec = scalars.codec(field.enum_type)
        if codec.words in (hint, *get_args(hint)):
            return codec.decode
    elif field.type == FieldDescriptor.TYPE_BYTES:
        if hint is str:
            return bytes.hex
        if get_origin(hint) is _Array:
            return scalars.decode_vector
    elif hint is _SCALARS[field.cpp_type]:
        return None
    raise TypeError(f"got {hint}, which a field of this type cannot become")


def _message_converter(hint: Any, descriptor: Descriptor) -> _Convert:
    special = DECODERS.get(descriptor.full_name)
    if special is not None:
        return partial(special, hint)
    if descriptor.full_name == "google.protobuf.Timestamp" and hint is datetime:
        return scalars.decode_time
    if descriptor.full_name == "google.protobuf.Struct" and get_origin(hint) is Mapping:
        return scalars.decode_struct
    if get_origin(hint) is tuple:
        return _tuple_converter(get_args(hint), descriptor)
    if is_dataclass(hint) and isinstance(hint, type):
        return _decoder(hint, descriptor)
    raise TypeError(f"got {hint}, which a {descriptor.name} cannot become")


def _tuple_converter(hints: tuple[Any, ...], descriptor: Descriptor) -> _Convert:
    wire = descriptor.fields
    if [_SCALARS.get(field.cpp_type) for field in wire] != list(hints):
        raise TypeError(f"got a tuple of {hints}, which a {descriptor.name} cannot become")
    names = [field.name for field in wire]
    return lambda message: tuple(getattr(message, name) for name in names)


def _without_none(hint: Any) -> tuple[Any, bool]:
    """The annotation without `None`, and whether it was there."""
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else ()
    if NoneType not in parts:
        return hint, False
    rest = [part for part in parts if part is not NoneType]
    return reduce(or_, rest), True


# -- messages of arguments


def encode(message: type[P], values: Any, field: str = "") -> P:
    """The message of named values, or of a dataclass; a value that is `None` is not said.

    Parameters
    ----------
    message : type
        Its descriptor says how each value is converted.
    values : mapping of str to object, or dataclass
        By the names of the message's fields.
    field : str
        Where the values are from, for errors.

    Raises
    ------
    TypeError, ValueError
        If a value has no place in its field, which the error names; `TypeError` also for a name
        that the message lacks.
    """
    if is_dataclass(values):
        values = {item.name: getattr(values, item.name) for item in fields(values)}
    kind: Any = message
    encoders = _encoders(kind)
    encoded = {}
    for name, value in values.items():
        if name not in encoders:
            raise TypeError(f"unexpected keyword argument {name!r}")
        if value is not None:
            convert = encoders[name]
            place = f"{field}.{name}" if field else name
            encoded[name] = convert(value, place) if convert else value
    try:
        return message(**encoded)
    except (TypeError, ValueError):
        for name, value in encoded.items():
            _check_alone(message, name, value, field)
        raise


def _check_alone(message: type[Message], name: str, value: Any, field: str) -> None:
    """Raises the error of a value that its field refuses, with the name of the field."""
    place = f"{field}.{name}" if field else name
    try:
        message(**{name: value})
    except TypeError as error:
        raise TypeError(f"{place}: {error}") from None
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None


_Encode = Callable[[Any, str], Any]


@cache
def _encoders(message: Any) -> Mapping[str, _Encode | None]:
    """The encoder of each field, by name; `None`: a value goes as it is."""
    return {field.name: _encoder(field) for field in message.DESCRIPTOR.fields}


def _encoder(field: FieldDescriptor) -> _Encode | None:
    if field.message_type is not None:
        if field.message_type.GetOptions().map_entry:
            return None
        convert = _message_encoder(field.message_type)
        if field.is_repeated:
            return lambda values, name: [convert(value, name) for value in values]
        return convert
    if field.enum_type is not None:
        codec = scalars.codec(field.enum_type)
        if not field.is_repeated:
            # A number was encoded by the caller, under another name than the field's.
            return lambda value, name: value if type(value) is int else codec.encode(value, name)
        return lambda values, name: [
            codec.encode(value, name) for value in scalars.encode_texts(values, name)
        ]
    if field.is_repeated and field.type == FieldDescriptor.TYPE_STRING:
        return scalars.encode_texts
    if field.type == FieldDescriptor.TYPE_BYTES:
        return lambda value, _name: scalars.encode_vector(value)
    return None


def _message_encoder(descriptor: Descriptor) -> _Encode:
    if descriptor.full_name == "google.protobuf.Timestamp":
        return scalars.encode_time
    if descriptor.full_name == "google.protobuf.Struct":
        return scalars.encode_struct
    message = message_factory.GetMessageClass(descriptor)
    names = [field.name for field in descriptor.fields]

    def convert(value: Any, name: str) -> Any:
        if isinstance(value, Message):
            return value
        if isinstance(value, tuple):
            value = dict(zip(names, value, strict=True))
        return encode(message, value, name)

    return convert
