"""Convert frozen dataclasses to JSON and back, for rows, before images and replay answers.

Fields at their default are left out, so that rows stay small and a later version may
add fields. A union of dataclasses carries its class name under `$`.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import types
import typing
from collections.abc import Callable
from enum import StrEnum
from functools import lru_cache
from typing import Any, TypeVar

T = TypeVar("T")

# Made once, since `json.dumps` with options makes an encoder for each call. No check for circles:
# frozen data and checked JSON cannot contain themselves.
_TO_JSON = json.JSONEncoder(
    ensure_ascii=False, sort_keys=True, separators=(",", ":"), check_circular=False
).encode
_AS_THEY_ARE = frozenset({str, int, float, bool, types.NoneType})
_NOT_FIELDS = frozenset({"$"})
_GONE = {"Judgement": _NOT_FIELDS | {"confidence"}}
"""Fields that earlier versions stored, by class; they are not read any more."""


def dumps(value: Any) -> str:
    """Return canonical JSON (sorted keys, no spaces) of a dataclass or a tuple of them."""
    return _TO_JSON(_encode(value))


def loads(kind: type[T], data: str) -> T:
    """Read a dataclass from the output of `dumps`.

    Raises `ValueError` or `KeyError` on other input.
    """
    wanted: Any = kind
    return typing.cast(T, _decoder(wanted)(json.loads(data)))


@lru_cache(maxsize=256)
def _fields(kind: Any) -> tuple[tuple[str, Any, type], ...] | None:
    """Return (name, default, type of the default) of each field, or `None` for a type without
    fields.
    """
    if not dataclasses.is_dataclass(kind):
        return None
    found = []
    for item in dataclasses.fields(kind):
        default = item.default
        if item.default_factory is not dataclasses.MISSING:
            default = item.default_factory()
        found.append((item.name, default, type(default)))
    return tuple(found)


def _encode(value: Any) -> Any:
    # Exact types first, the most frequent ones in front: a Remember encodes a hundred values.
    kind: Any = type(value)
    if kind in _AS_THEY_ARE:
        return value
    fields = _fields(kind)
    if fields is not None:
        out: dict[str, Any] = {"$": kind.__name__}
        for name, default, default_kind in fields:
            item = getattr(value, name)
            if item is default or (type(item) is default_kind and item == default):
                continue
            out[name] = item if type(item) in _AS_THEY_ARE else _encode(item)
        return out
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, tuple | list):
        return [_encode(item) for item in value]
    if isinstance(value, dict):
        return {key: _encode(item) for key, item in value.items()}
    return value


@lru_cache(maxsize=256)
def _decoder(kind: Any) -> Callable[[Any], Any]:
    """Return the function that makes a value of a type from JSON. Built once for each type."""
    origin = typing.get_origin(kind)
    arguments = typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return _union_decoder(arguments)
    if origin is tuple and arguments[1:] == (Ellipsis,):
        decoder = _decoder(arguments[0])
        return lambda data: tuple(map(decoder, data))
    if origin is tuple:
        each = [_decoder(argument) for argument in arguments]
        return lambda data: tuple(decode(item) for decode, item in zip(each, data, strict=True))
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return _dataclass_decoder(kind)
    if kind is bytes:
        return base64.b64decode
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return kind
    if kind is float:
        return lambda data: float(data) if isinstance(data, int) else data
    return lambda data: data


def _dataclass_decoder(kind: type) -> Callable[[Any], Any]:
    by_name: dict[str, Callable[[Any], Any]] = {}

    def decode(data: Any) -> Any:
        if not by_name:
            # Made at the first value only, since a type may refer to itself.
            hints = typing.get_type_hints(kind)
            by_name.update((name, _decoder(hint)) for name, hint in hints.items())
        gone = _GONE.get(kind.__name__, _NOT_FIELDS)
        return kind(
            **{name: by_name[name](item) for name, item in data.items() if name not in gone}
        )

    return decode


def _union_decoder(kinds: tuple[Any, ...]) -> Callable[[Any], Any]:
    kinds = tuple(kind for kind in kinds if kind is not types.NoneType)
    by_name: dict[str, Callable[[Any], Any]] = {
        kind.__name__: _decoder(kind) for kind in kinds if isinstance(kind, type)
    }
    only = _decoder(kinds[0]) if len(kinds) == 1 else None

    def decode(data: Any) -> Any:
        if data is None:
            return None
        if isinstance(data, dict) and "$" in data:
            return by_name[data["$"]](data)
        return data if only is None else only(data)

    return decode
