"""Typed access to the values of one JSON object, each taken once."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, TypeVar

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)

TIME_MIN_US, TIME_MAX_US = -62_135_596_800_000_000, 253_402_300_799_999_999
"""Years 1 to 9999, the range of the contract's timestamps."""
_SHOWN_CHARS = 64


class Wrong(Exception):  # noqa: N818 - becomes a BadImport where the line is known
    """A value is not allowed. `got` never quotes the text of a memory."""

    def __init__(self, field: str, got: object, allowed: str) -> None:
        super().__init__(field)
        self.field = field
        self.got = got
        self.allowed = allowed


class Values:
    """Values of an object; each must be taken once."""

    def __init__(self, data: dict[str, Any], prefix: str = "") -> None:
        self._data = data
        self._prefix = prefix

    def of(self, name: str) -> Any:
        """Return a value of any type, without taking it."""
        return self._data.get(name)

    def has(self, name: str) -> bool:
        """Return whether there is a value of this name."""
        return name in self._data

    def take(self, name: str, kind: type[T], default: T | None = None) -> T:
        """Take a value of a type; without a default it must exist."""
        if name not in self._data:
            if default is None:
                raise Wrong(self._prefix + name, "nothing", f"a {_NAMES.get(kind, kind.__name__)}")
            return default
        value = self._data.pop(name)
        if type(value) is kind:
            return value
        if kind is float and type(value) is int:
            try:
                return float(value)  # type: ignore[return-value]
            except OverflowError:
                raise Wrong(self._prefix + name, "a number too large", "a number") from None
        raise Wrong(
            self._prefix + name,
            f"a {_NAMES.get(type(value), type(value).__name__)}",
            f"a {_NAMES.get(kind, kind.__name__)}",
        )

    def time(self, name: str) -> int:
        """Take a time (us) that must exist."""
        found = self.optional_time(name)
        if found is None:
            raise Wrong(self._prefix + name, "nothing", "microseconds")
        return found

    def optional_time(self, name: str) -> int | None:
        """Take a time (us), or `None` if there is none."""
        if name not in self._data:
            return None
        found = self.take(name, int)
        if not TIME_MIN_US <= found <= TIME_MAX_US:
            raise Wrong(self._prefix + name, "a time outside years 1 to 9999", "microseconds")
        return found

    def member(self, name: str, kind: type[E], default: E | None = None) -> E:
        """Take a member of an enumeration, by its value."""
        value = self.take(name, str, None if default is None else default.value)
        try:
            return kind(value)
        except ValueError:
            allowed = ", ".join(repr(member.value) for member in kind)
            raise Wrong(self._prefix + name, repr(value[:_SHOWN_CHARS]), allowed) from None

    def strings(self, name: str) -> tuple[str, ...]:
        """Take a list of strings; none is empty."""
        found = self.take(name, list, [])
        if not all(type(item) is str for item in found):
            raise Wrong(self._prefix + name, "other things", "strings")
        return tuple(found)

    def all_taken(self) -> None:
        """Raise `Wrong` if a value is left over: an unknown field."""
        if self._data:
            name = min(self._data)
            shown = (self._prefix + name)[:_SHOWN_CHARS]
            raise Wrong(shown, "a field that is not known", "those of the format")


_NAMES: dict[type, str] = {
    str: "string", int: "whole number", float: "number", bool: "boolean", dict: "object",
    list: "list", type(None): "null",
}  # fmt: skip
