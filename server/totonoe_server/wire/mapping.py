"""Translate between dataclasses of the core and messages of the contract, field by field.

Fields are matched by name. The descriptor and the type hints say how a value is translated:

    contract                     core
    scalar                       the same scalar; `None` is absent
    enum                         `StrEnum`, by the name of the member
    google.protobuf.Timestamp    UTC microseconds: `x_time` is `x_us`, `time` is `time_us`
    google.protobuf.Struct       plain JSON object
    message                      dataclass, by the mapping of that pair
    repeated                     tuple
    map                          dict, or tuple of pairs

`encoder` and `decoder` write a function for a pair of types and compile it. Both check that each
field of the contract has a source, so that a forgotten field fails when the server is imported.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any, Protocol, TypeVar

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from totonoe.v1 import types_pb2
from totonoe_core.domain.commands import Applied
from totonoe_core.domain.records import Evidence, TimeRange
from totonoe_server.wire import scalars

S_contra = TypeVar("S_contra", contravariant=True)
M_contra = TypeVar("M_contra", bound=Message, contravariant=True)
T_co = TypeVar("T_co", covariant=True)
S = TypeVar("S")
M = TypeVar("M", bound=Message)

Field = Any  # a FieldDescriptor, of which the stubs know two classes
F = TypeVar("F", bound=Callable[..., Any])

NO_NAMES: Mapping[str, str] = {}
HEADER = ("revision", "replayed", "operation_id")
"""Fields of the answer of a write that come from the operation, not from its result."""
ENVELOPE = frozenset({"collection", "operation_id", "min_revision"})
"""Fields of a request that say where and when it goes, and belong to no command or query."""
_SCALARS: dict[int, type] = {
    FieldDescriptor.TYPE_STRING: str,
    FieldDescriptor.TYPE_BYTES: bytes,
    FieldDescriptor.TYPE_BOOL: bool,
    FieldDescriptor.TYPE_DOUBLE: float,
    FieldDescriptor.TYPE_INT32: int,
    FieldDescriptor.TYPE_INT64: int,
    FieldDescriptor.TYPE_UINT32: int,
}
_TIME, _STRUCT = "google.protobuf.Timestamp", "google.protobuf.Struct"


class MappingError(TypeError):
    """A dataclass and a message do not fit: a bug, raised when the mapping is built."""


class Encoder(Protocol[S_contra, T_co]):
    """Make a message of a dataclass, and of the fields that the caller gives."""

    def __call__(self, value: S_contra, /, **given: Any) -> T_co:
        """Return a new message."""
        ...


class Decoder(Protocol[M_contra, T_co]):
    """Make a dataclass of a message."""

    def __call__(self, message: M_contra, at: str = "", /) -> T_co:
        """Return a new dataclass. Errors name a field with `at` before it."""
        ...


ENCODERS: dict[tuple[type, type[Message]], Callable[..., Any]] = {}
"""Each pair of types that has an encoder. A nested message uses that of its pair."""
_NEEDY: set[tuple[type, type[Message]]] = set()
"""Pairs whose encoder takes fields from its caller."""
DECODERS: dict[tuple[type[Message], type], Callable[..., Any]] = {}
"""Each pair of types that has a decoder."""


def encoder(
    source: type[S],
    target: type[M],
    *,
    names: Mapping[str, str] = NO_NAMES,
    given: Collection[str] = (),
    without: Collection[str] = (),
    computed: Mapping[str | tuple[str, ...], Callable[[S], Any]] | None = None,
) -> Encoder[S, M]:
    """Build the function that makes a message of a dataclass.

    Parameters
    ----------
    names : mapping
        Field of the contract -> attribute, where the names differ. A dotted path leads through
        attributes; an attribute on the way that is `None` leaves the field empty.
    given : collection of str
        Fields that the caller of the function passes by name.
    without : collection of str
        Fields that stay empty.
    computed : mapping
        Field of the contract -> function of the dataclass that returns its value. Several fields
        in a tuple -> one that returns their values in that order.

    Raises
    ------
    MappingError
        A field of the contract has no source, or one that does not fit its type.
    """
    functions = {
        (fields,) if isinstance(fields, str) else fields: function
        for fields, function in (computed or {}).items()
    }
    made = {name for fields in functions for name in fields}
    if (source, target) in ENCODERS and not (names or given or without or computed):
        # A mapping that holds the pair was built first.
        return ENCODERS[source, target]
    scope: dict[str, Any] = {"Target": target, "time_to_wire": scalars.time_to_wire}
    scope["struct_to_wire"] = scalars.struct_to_wire
    known = target.DESCRIPTOR.fields_by_name
    _check_known({*names, *given, *without, *made} - {*known}, source, target)
    lines = [f"{name}={name}" for name in given]
    for name, field in known.items():
        if name not in made and name not in given and name not in without:
            lines.append(f"{name}={_encoded(source, field, names.get(name, ''), scope)}")
    for fields, function in functions.items():
        call = f"computed_{fields[0]}"
        scope[call] = function
        together = f"**dict(zip({fields!r}, {call}(value)))"
        lines.append(together if len(fields) > 1 else f"{fields[0]}={call}(value)")
    keywords = "".join(f", {name}" for name in given)
    text = f"def encode(value, /{', *' if given else ''}{keywords}):\n"
    text += f"    return Target({', '.join(lines)})\n"
    if given:
        _NEEDY.add((source, target))
    encode: Encoder[S, M] = _compiled(text, "encode", scope)
    _register(ENCODERS, (source, target), encode)
    return encode


def answer(result: type[Any], target: type[M], **options: Any) -> Callable[[Applied], M]:
    """Build the function that makes the answer of a write with one command.

    `options` are those of `encoder`. The fields in `HEADER` come from the operation.
    """
    encode = encoder(result, target, **options | {"given": HEADER})

    def encode_applied(applied: Applied) -> M:
        (found,) = applied.results
        assert isinstance(found, result)
        return encode(
            found,
            revision=applied.revision,
            replayed=applied.replayed,
            operation_id=applied.operation_id,
        )

    return encode_applied


def outcome(applied: Applied | None) -> dict[str, Any]:
    """Return the fields that say how a write ended; without `applied` it was a dry run."""
    return {
        "dry_run": applied is None,
        "replayed": applied is not None and applied.replayed,
        "operation_id": "" if applied is None else applied.operation_id,
    }


def answer_or_preview(
    result: type[Any], target: type[M], **options: Any
) -> Callable[[Any, int, Applied | None], M]:
    """Build the function that makes the answer of a write, or of its dry run.

    That function takes the result, the revision and the operation; `None` for a dry run.
    """
    encode = encoder(result, target, **options | {"given": (*HEADER, "dry_run")})

    def encode_either(value: Any, revision: int, applied: Applied | None) -> M:
        return encode(value, revision=revision, **outcome(applied))

    return encode_either


def encodes(source: type, target: type[Message]) -> Callable[[F], F]:
    """Decorate a function that is written by hand, so that mappings use it for nested messages."""

    def register(function: F) -> F:
        _register(ENCODERS, (source, target), function)
        return function

    return register


def decoder(
    source: type[M],
    target: type[S],
    *,
    names: Mapping[str, str] = NO_NAMES,
    without: Collection[str] = (),
    defaults: Mapping[str, Any] | None = None,
    computed: Mapping[str, Callable[[M, str], Any]] | None = None,
) -> Decoder[M, S]:
    """Build the function that makes a dataclass of a message.

    A field that is absent, or that is zero and cannot be absent, has the default of the dataclass.

    Parameters
    ----------
    names : mapping
        Field of the dataclass -> field of the contract, where the names differ.
    without : collection of str
        Fields of the contract that the dataclass does not hold; `ENVELOPE` need not be named.
    defaults : mapping
        Field of the dataclass -> default in place of its own.
    computed : mapping
        Field of the dataclass -> function that returns its value, of the message and of the text
        that stands before the names of fields in errors.

    Raises
    ------
    MappingError
        A field of the contract goes nowhere, or does not fit its type; or a field of the dataclass
        has neither a source nor a default.
    """
    computed, defaults = computed or {}, defaults or {}
    scope: dict[str, Any] = {"Target": target, "scalars": scalars}
    known, hints = source.DESCRIPTOR.fields_by_name, typing.get_type_hints(target)
    _check_known({*names.values(), *without} - {*known}, source, target)
    _check_known({*names, *defaults, *computed} - {*hints}, source, target)
    used, lines = {*without}, []
    for item in dataclasses.fields(typing.cast(Any, target)):
        name = names.get(item.name) or _contract_name(item.name, known)
        used.add(name)
        if item.name in computed:
            scope[f"computed_{item.name}"] = computed[item.name]
            lines.append(f"{item.name}=computed_{item.name}(message, at)")
        elif name in known:
            default = defaults.get(item.name, _default(item))
            lines.append(f"{item.name}={_decoded(known[name], hints[item.name], default, scope)}")
        elif _default(item) is dataclasses.MISSING:
            raise MappingError(f"{target.__name__}.{item.name}: no source in {source.__name__}")
    if lost := {*known} - used - ENVELOPE:
        raise MappingError(f"{source.__name__}: {sorted(lost)} go nowhere in {target.__name__}")
    text = "def decode(message, at='', /):\n"
    text += f"    return Target({', '.join(lines)})\n"
    decode: Decoder[M, S] = _compiled(text, "decode", scope)
    _register(DECODERS, (source, target), decode)
    return decode


# -- What both directions share


def _check_known(unknown: set[str], one: type, other: type) -> None:
    if unknown:
        raise MappingError(f"{one.__name__} and {other.__name__}: no field {sorted(unknown)}")


def _register(table: dict[Any, Callable[..., Any]], key: Any, function: Any) -> None:
    if key in table:
        raise MappingError(f"{key[0].__name__} -> {key[1].__name__}: built already")
    table[key] = function


def _compiled(text: str, name: str, scope: dict[str, Any]) -> Any:
    exec(compile(text, f"<{name} {scope['Target'].__name__}>", "exec"), scope)
    return scope[name]


@lru_cache(maxsize=256)
def _hints(kind: type) -> dict[str, Any]:
    """Types of the fields and properties of a dataclass."""
    hints = typing.get_type_hints(kind)
    for name, item in vars(kind).items():
        if isinstance(item, property):
            hints[name] = typing.get_type_hints(item.fget)["return"]
    return hints


def _without_none(hint: Any) -> tuple[Any, bool]:
    """A type without `None`, and whether it allowed `None`."""
    if typing.get_origin(hint) not in (types.UnionType, typing.Union):
        return hint, False
    rest = [item for item in typing.get_args(hint) if item is not types.NoneType]
    return (rest[0] if len(rest) == 1 else hint), len(rest) < len(typing.get_args(hint))


def _items(hint: Any, field: Field) -> Any:
    """Type of the items of a tuple, a list or a set, all of one type."""
    origin, items = typing.get_origin(hint), set(typing.get_args(hint)) - {...}
    if origin not in (tuple, list, frozenset, Sequence) or len(items) != 1:
        raise _unfit(field, hint)
    return items.pop()


def _unfit(field: Field, hint: Any) -> MappingError:
    return MappingError(f"{field.full_name}: does not fit {hint}")


def _is_map(field: Field) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def _check_scalar(field: Field, hint: Any) -> None:
    wanted = _SCALARS.get(field.type)
    fits = hint is wanted or (wanted is str and isinstance(hint, type) and issubclass(hint, str))
    if wanted is None or not fits:
        raise _unfit(field, hint)


def _table(field: Field, hint: Any) -> scalars.EnumTable[Any]:
    try:
        return scalars.table_of(field.enum_type, hint)
    except (AssertionError, TypeError) as error:
        raise _unfit(field, hint) from error


# -- Dataclass to message


def _core_name(field: Field) -> str:
    """Return the name that the core gives a field of the contract."""
    name: str = field.name
    if field.message_type is None or field.message_type.full_name != _TIME:
        return name
    return "time_us" if name == "time" else f"{name.removesuffix('time')}us"


def _encoded(source: type, field: Field, path: str, scope: dict[str, Any]) -> str:
    """Expression of one field."""
    place, hint, missing = "value", source, ""
    for name in (path or _core_name(field)).split("."):
        kind, optional = _without_none(hint)
        if optional:
            missing = place
        hints = _hints(kind) if isinstance(kind, type) and dataclasses.is_dataclass(kind) else {}
        if name not in hints:
            raise MappingError(f"{field.full_name}: no source in {source.__name__}")
        place, hint = f"{place}.{name}", hints[name]
    kind, optional = _without_none(hint)
    if field.is_repeated:
        text = _encoded_many(kind, field, place, scope)
        empty = "()" if not _is_map(field) else "{}"
    else:
        text = _encoded_one(kind, field, place, scope, optional)
        empty = "0" if field.enum_type else "None"
        optional = optional and field.message_type is not None and kind is not int
    if optional:
        text = f"{empty} if {place} is None else {text}"
    return f"{empty} if {missing} is None else ({text})" if missing else text


def _encoded_many(kind: Any, field: Field, place: str, scope: dict[str, Any]) -> str:
    if _is_map(field):
        if typing.get_origin(kind) in (dict, Mapping):
            return place
        pair = _items(kind, field)
        if typing.get_origin(pair) is not tuple or len(typing.get_args(pair)) != 2:
            raise _unfit(field, kind)
        return f"dict({place})"
    item = _items(kind, field)
    text = _encoded_one(item, field, "item", scope, False)
    return place if text == "item" else f"[{text} for item in {place}]"


def _encoded_one(kind: Any, field: Field, place: str, scope: dict[str, Any], optional: bool) -> str:
    """Expression of a value that is not repeated, or of an item of one that is."""
    if field.enum_type is not None:
        numbers = _table(field, kind).numbers
        scope[f"numbers_{field.name}"] = numbers | {None: 0} if optional else numbers
        return f"numbers_{field.name}[{place}]"
    if field.message_type is None:
        _check_scalar(field, kind)
        return place
    if field.message_type.full_name == _TIME and kind is int:
        return f"time_to_wire({place})"
    if field.message_type.full_name == _STRUCT and typing.get_origin(kind) is dict:
        return f"struct_to_wire({place})"
    if not dataclasses.is_dataclass(kind):
        raise _unfit(field, kind)
    target = GetMessageClass(field.message_type)
    pair = typing.cast(type, kind), target
    if pair in _NEEDY:
        raise MappingError(f"{field.full_name}: its mapping needs fields that the caller gives")
    scope[f"encode_{field.name}"] = ENCODERS.get(pair) or encoder(*pair)
    return f"encode_{field.name}({place})"


# -- Message to dataclass


def _contract_name(name: str, known: Collection[str]) -> str:
    timed = name.removesuffix("us") + "time" if name.endswith("_us") else name
    return timed if timed in known else name


def _default(item: dataclasses.Field[Any]) -> Any:
    if item.default_factory is not dataclasses.MISSING:
        return item.default_factory()
    return item.default


def _decoded(field: Field, hint: Any, default: Any, scope: dict[str, Any]) -> str:
    """Expression of one field."""
    kind, optional = _without_none(hint)
    name, place = field.name, f"message.{field.name}"
    scope[f"default_{name}"] = default
    if field.is_repeated:
        return _decoded_many(kind, field, place, scope)
    if field.enum_type is not None:
        scope[f"table_{name}"] = _table(field, kind)
        text = f"table_{name}.from_wire({place}, at + {name!r}"
        if default is None and optional:
            return f"{text}) if {place} else None"
        return f"{text})" if default is dataclasses.MISSING else f"{text}, default_{name})"
    if field.message_type is not None:
        return _decoded_message(field, kind)
    _check_scalar(field, kind)
    if field.has_presence:
        if default is dataclasses.MISSING:
            raise MappingError(f"{field.full_name}: may be absent, and there is no default")
        return f"{place} if message.HasField({name!r}) else default_{name}"
    if default is dataclasses.MISSING or not default:
        return place
    return f"{place} or default_{name}"


def _decoded_many(kind: Any, field: Field, place: str, scope: dict[str, Any]) -> str:
    if _is_map(field):
        # In one order, so that equal maps are equal commands.
        _items(kind, field)
        return f"tuple(sorted({place}.items()))"
    item = _items(kind, field)
    if field.enum_type is not None:
        scope[f"table_{field.name}"] = _table(field, item)
        return f"table_{field.name}.list_from_wire({place}, at + {field.name!r})"
    _check_scalar(field, item)
    return f"tuple({place})"


def _decoded_message(field: Field, kind: Any) -> str:
    rest = f"(message, {field.name!r}, at + {field.name!r})"
    if field.message_type.full_name == _TIME and kind is int:
        return f"scalars.time_from_wire{rest}"
    if field.message_type.full_name == _STRUCT and typing.get_origin(kind) is dict:
        return f"scalars.struct_from_wire{rest}"
    if kind is TimeRange:
        return f"scalars.range_from_wire{rest}"
    raise _unfit(field, kind)


# -- Pairs that messages of many topics hold


@encodes(TimeRange, types_pb2.TimeRange)
def _range_to_wire(value: TimeRange) -> types_pb2.TimeRange | None:
    return scalars.range_to_wire(value)


def _span_to_wire(value: tuple[int, int]) -> types_pb2.Span | None:
    start, end = value
    return types_pb2.Span(start=start, end=end) if end else None


encoder(
    Evidence,
    types_pb2.Evidence,
    computed={
        "own": lambda value: _span_to_wire(value.own),
        "other": lambda value: _span_to_wire(value.other),
    },
)
