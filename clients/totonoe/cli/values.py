"""Plain values of options and arguments, without Typer's adapters.

Typer checks every parameter with pydantic, also one that nobody typed. To load it and to build the
adapters costs more than the rest of a call. Here a default stays as it is, a text is a text, a word
of an enum its member, and digits are a number. Anything else goes Typer's own way. If that refuses
it, the error names what the option got and what is allowed.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Any, get_args, get_origin

import typer
from typer.core import TyperCommand, TyperGroup

_INTEGER = re.compile(r"-?[0-9]{1,18}")
_NUMBER = re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,18})?")


class PlainCommand(TyperCommand):
    """A command whose plain values need no adapter."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return its parameters, and the option for help."""
        return _shortened(super().get_params(ctx))


class PlainGroup(TyperGroup):
    """A group of commands whose plain values need no adapter."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return its parameters, and the option for help."""
        return _shortened(super().get_params(ctx))


def _shortened(parameters: list[Any]) -> list[Any]:
    """Give parameters the short way, where this Typer has the long one."""
    for parameter in parameters:
        if getattr(parameter, "_runtime_param", ...) is None:
            parameter._runtime_param = _Short()
    return parameters


class _Short:
    """Stands in for what Typer makes for a parameter, until it is needed."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the value that the command gets."""
        several = param.multiple or param.nargs == -1
        if value is None:
            return () if several else None
        source = ctx.get_parameter_source(param.name)
        if source is not None and source.name == "DEFAULT":
            return value
        annotation, information = param.type_descriptor.annotation, param.type_descriptor
        bounds = information.parameter_info
        if bounds.min is None and bounds.max is None and bounds.parser is None:
            if several and get_origin(annotation) is list and get_args(annotation) == (str,):
                return list(value)
            if not several and (plain := _plain(value, annotation)) is not None:
                return plain
        param._runtime_param = None
        try:
            return param.get_runtime_param().coerce(value, param=param, ctx=ctx)
        except typer.BadParameter as error:
            # One of this type is out of bounds, for which Typer has the words.
            if (allowed := _allowed(annotation)) and _plain(value, annotation) is None:
                error.message = f"got {value!r}, allowed: {allowed}"
            raise


def _allowed(annotation: Any) -> str:
    """Return the values of a type in words; empty: only Typer knows them."""
    if isinstance(annotation, type) and issubclass(annotation, StrEnum):
        return ", ".join(annotation)
    return {int: "a whole number", float: "a number"}.get(annotation, "")


def _plain(value: Any, annotation: Any) -> Any:
    """Return a value of a plain type; `None`: it is none, or is not of this type."""
    if isinstance(value, bool) or not isinstance(value, str):
        return value if type(value) is annotation else None
    if annotation is str:
        return value
    if annotation is int and _INTEGER.fullmatch(value):
        return int(value)
    if isinstance(annotation, type) and issubclass(annotation, StrEnum):
        return next((member for member in annotation if member.value == value), None)
    if annotation is float and _NUMBER.fullmatch(value):
        return float(value)
    return None
