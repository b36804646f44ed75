"""Frozen dataclasses to JSON and back, for rows, before images and replay answers.

Fields at their default are left out, so that rows stay small and a later version may
add fields. A union of dataclasses carries its class name under `$`.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import types
import typing
from enum import StrEnum
from functools import lru_cache
from typing import Any, TypeVar

T = TypeVar("T")


def dumps(value: Any) -> str:
    """Canonical JSON (sorted keys, no spaces) of a dataclass or a tuple of them."""
    return json.dumps(_encode(value), ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def loads(kind: type[T], data: str) -> T:
    """The dataclass back from `dumps`. Raises `ValueError` or `KeyError` on other input."""
    return typing.cast(T, _decode(kind, json.loads(data)))


@lru_cache(maxsize=256)
def _fields(kind: type) -> tuple[tuple[str, Any], ...]:
    return tuple(
        (
            item.name,
            item.default_factory()
            if item.default_factory is not dataclasses.MISSING
            else item.default,
        )
        for item in dataclasses.fields(kind)
    )


@lru_cache(maxsize=256)
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _encode(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        out: dict[str, Any] = {"$": type(value).__name__}
        for name, default in _fields(type(value)):
            item = getattr(value, name)
            if item != default or type(item) is not type(default):
                out[name] = _encode(item)
        return out
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, tuple | list):
        return [_encode(item) for item in value]
    if isinstance(value, dict):
        return {key: _encode(item) for key, item in value.items()}
    return value


def _decode(kind: Any, data: Any) -> Any:
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        return _decode_union(typing.get_args(kind), data)
    if origin is tuple:
        arguments = typing.get_args(kind)
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return tuple(_decode(arguments[0], item) for item in data)
        return tuple(
            _decode(item_kind, item) for item_kind, item in zip(arguments, data, strict=True)
        )
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        hints = _hints(kind)
        return kind(
            **{name: _decode(hints[name], item) for name, item in data.items() if name != "$"}
        )
    if kind is bytes:
        return base64.b64decode(data)
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return kind(data)
    if kind is float and isinstance(data, int):
        return float(data)
    return data


def _decode_union(kinds: tuple[Any, ...], data: Any) -> Any:
    if data is None:
        return None
    kinds = tuple(kind for kind in kinds if kind is not type(None))
    if isinstance(data, dict) and "$" in data:
        by_name = {kind.__name__: kind for kind in kinds}
        return _decode(by_name[data["$"]], data)
    return _decode(kinds[0], data) if len(kinds) == 1 else data
