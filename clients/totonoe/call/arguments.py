"""Checks arguments against the annotations of the calls, before anything is sent.

`checked` wraps a public method once, and `fits` compares one value with one annotation. The
annotations are the only list of what is allowed, so that a new call needs nothing here. A value
of the right type that is out of range, or a word that an enum lacks, is not found here: whoever
encodes it knows more (`ValueError`), and the daemon knows most (`InvalidArgument`).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterable, Callable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from types import NoneType, UnionType
from typing import IO, Any, Literal, TypeVar, Union, Unpack, get_args, get_origin, get_type_hints

ITEMS_CHECKED_MAX = 1_000
"""Items of a longer list are checked when they are encoded: a list may be of any length."""
_SHOWN_CHARS = 40
_FITS_NOTHING = object()
"""Fits only an annotation that allows everything."""

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class _Misfit:
    """A value that an annotation does not allow: where it is, and what is allowed there."""

    path: str
    got: Any
    allowed: str


_Check = Callable[[Any], _Misfit | None]


def check_calls(group: type) -> None:
    """Makes every public method that a class itself defines check its arguments."""
    for name, member in list(vars(group).items()):
        if inspect.isfunction(member) and (name == "__init__" or not name.startswith("_")):
            setattr(group, name, checked(member))


def checked(method: F) -> F:
    """The method, with its arguments checked first. Raises `TypeError` that names the argument.

    A coroutine stays one, and raises when it is awaited.
    """

    @functools.cache
    def plan() -> tuple[tuple[str, ...], Mapping[str, _Check], bool]:
        return _plan(method)

    def check(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        names, checks, open_ended = plan()
        for name, value in zip(names, args, strict=False):
            _raise(name, checks[name](value))
        for name, value in kwargs.items():
            if name in checks:
                _raise(name, checks[name](value))
            elif open_ended:
                raise TypeError(f"{method.__name__}() has no argument {name!r}")

    if inspect.iscoroutinefunction(method):

        @functools.wraps(method)
        async def run(self: Any, *args: Any, **kwargs: Any) -> Any:
            check(args, kwargs)
            return await method(self, *args, **kwargs)
    else:

        @functools.wraps(method)
        def run(self: Any, *args: Any, **kwargs: Any) -> Any:
            check(args, kwargs)
            return method(self, *args, **kwargs)

    return run  # type: ignore[return-value]  # `run` has the signature of `method`


def fits(value: Any, annotation: Any, name: str = "") -> None:
    """Raises `TypeError` that names the value, or its part, unless the annotation allows it."""
    _raise(name, _check_of(annotation)(value))


def _raise(name: str, misfit: _Misfit | None) -> None:
    if misfit is not None:
        where = (name + misfit.path).removeprefix(".")
        raise TypeError(f"{where}: got {_shown(misfit.got)}, allowed: {misfit.allowed}")


def _shown(value: Any) -> str:
    """A value in an error. Of what may hold a text only its type is said."""
    kind = type(value).__name__
    if value is None:
        return kind.removesuffix("Type")
    if isinstance(value, str | int | float) and len(repr(value)) <= _SHOWN_CHARS:
        return f"{value!r} ({kind})"
    return f"a value of the type {kind}"


def _plan(method: Callable[..., Any]) -> tuple[tuple[str, ...], Mapping[str, _Check], bool]:
    """Names of the positional parameters, a check for each name, and whether `**` takes more."""
    hints = get_type_hints(method, include_extras=True)
    names: list[str] = []
    checks: dict[str, _Check] = {}
    open_ended = False
    for parameter in list(inspect.signature(method).parameters.values())[1:]:
        hint = hints[parameter.name]
        if parameter.kind is parameter.VAR_KEYWORD and get_origin(hint) is Unpack:
            open_ended = True
            given = get_type_hints(get_args(hint)[0])
            checks |= {name: _check_of(part) for name, part in given.items()}
            continue
        if parameter.kind is not parameter.KEYWORD_ONLY:
            names.append(parameter.name)
        checks[parameter.name] = _check_of(hint)
    return tuple(names), checks, open_ended


@functools.cache
def _check_of(hint: Any) -> _Check:
    """The check of an annotation. One that is not known here allows everything."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        check = _any_of([_check_of(part) for part in parts])
        # Most values that may be absent are.
        return (
            (lambda value: None if value is None else check(value)) if NoneType in parts else check
        )
    if origin is Literal:
        return _of_type(str, ", ".join(parts))
    if hint in _LEAVES:
        return _LEAVES[hint]
    if origin is tuple and Ellipsis not in parts:
        return _tuple(tuple(map(_check_of, parts)))
    if origin is not None and issubclass(origin, Mapping):
        return _mapping(_check_of(parts[0]), _check_of(parts[1]))
    if origin is not None and issubclass(origin, AsyncIterable):
        return _of_type(AsyncIterable, "an asynchronous iterable")
    if origin is Callable:
        return _leaf(callable, "a function")
    if origin is IO:
        return _leaf(lambda value: hasattr(value, "read"), "a binary file")
    if origin is not None and issubclass(origin, Iterable):
        return _iterable(_check_of(parts[0]))
    if isinstance(hint, type) and is_dataclass(hint):
        return _dataclass(hint)
    if isinstance(hint, type):
        return _of_type(hint, hint.__name__)
    return lambda _value: None


def _leaf(allows: Callable[[Any], bool], words: str) -> _Check:
    return lambda value: None if allows(value) else _Misfit("", value, words)


def _of_type(kind: type, words: str) -> _Check:
    return _leaf(lambda value: isinstance(value, kind), words)


def _number(method: str) -> Callable[[Any], bool]:
    """A number, one of numpy's too, and no truth value."""
    return lambda value: hasattr(value, method) and not isinstance(value, bool)


_LEAVES: dict[Any, _Check] = {
    Any: lambda _value: None,
    object: lambda _value: None,
    NoneType: _of_type(NoneType, "None"),
    int: _leaf(_number("__index__"), "int"),
    float: _leaf(_number("__float__"), "float"),
}


def _any_of(checks: list[_Check]) -> _Check:
    def check(value: Any) -> _Misfit | None:
        misfits = []
        for check_part in checks:
            misfit = check_part(value)
            if misfit is None:
                return None
            misfits.append(misfit)
        # What is of the right type, and wrong inside, is the better message.
        inside = [misfit for misfit in misfits if misfit.path]
        return inside[0] if inside else _Misfit("", value, " or ".join(m.allowed for m in misfits))

    return check


def _iterable(item: _Check) -> _Check:
    misfit = item(_FITS_NOTHING)
    words = f"a list of {misfit.allowed}" if misfit else "a list"

    def check(value: Any) -> _Misfit | None:
        if isinstance(value, str | bytes) or not isinstance(value, Iterable):
            return _Misfit("", value, words)
        # An iterator would be used up by looking at it.
        if isinstance(value, list | tuple | set | frozenset) and len(value) <= ITEMS_CHECKED_MAX:
            return _first(item, enumerate(value))
        return None

    return check


def _mapping(key: _Check, value_of: _Check) -> _Check:
    def check(value: Any) -> _Misfit | None:
        if not isinstance(value, Mapping):
            return _Misfit("", value, "a mapping")
        keys = _first(key, ((f"key {at}", name) for at, name in enumerate(value)))
        return keys or _first(value_of, ((repr(name), part) for name, part in value.items()))

    return check


def _tuple(items: tuple[_Check, ...]) -> _Check:
    def check(value: Any) -> _Misfit | None:
        if not isinstance(value, tuple | list) or len(value) != len(items):
            return _Misfit("", value, f"a tuple of {len(items)}")
        for at, (item, part) in enumerate(zip(items, value, strict=True)):
            if misfit := _first(item, [(at, part)]):
                return misfit
        return None

    return check


def _dataclass(kind: type[Any]) -> _Check:
    @functools.cache
    def parts() -> tuple[tuple[str, _Check], ...]:
        hints = get_type_hints(kind)
        return tuple((field.name, _check_of(hints[field.name])) for field in fields(kind))

    def check(value: Any) -> _Misfit | None:
        if not isinstance(value, kind):
            return _Misfit("", value, kind.__name__)
        for name, part in parts():
            misfit = part(getattr(value, name))
            if misfit is not None:
                return _Misfit(f".{name}{misfit.path}", misfit.got, misfit.allowed)
        return None

    return check


def _first(check: _Check, parts: Iterable[tuple[Any, Any]]) -> _Misfit | None:
    """The first part, with its place, that does not fit."""
    for place, part in parts:
        misfit = check(part)
        if misfit is not None:
            return _Misfit(f"[{place}]{misfit.path}", misfit.got, misfit.allowed)
    return None
