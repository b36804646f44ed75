"""Adds a table to a TOML text, and leaves the rest as it is."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from typing import Any


def table(key: str, name: str, fields: Mapping[str, Any]) -> str:
    """Return the table `[key.name]`; a mapping among its fields becomes an inline table."""
    lines = [f"[{key}.{name}]", *(f"{field} = {_value(value)}" for field, value in fields.items())]
    return "\n".join(lines) + "\n"


def with_entry(text: str, key: str, name: str, fields: Mapping[str, Any]) -> tuple[Any | None, str]:
    """Return the entry that is there, and the text with the entry.

    Raises
    ------
    ValueError
        It is no TOML, or holds the servers in a form that nothing can be added to.
    """
    before = tomllib.loads(text)
    servers = before.get(key, {})
    if not isinstance(servers, dict):
        raise ValueError(f"{key}: got something else, allowed: a table")  # noqa: TRY004 - of a file
    if name in servers:
        return servers[name], text
    newline = "\r\n" if "\r\n" in text else "\n"
    gap = "" if not text else newline if text.endswith("\n") else newline * 2
    after = text + gap + table(key, name, fields).replace("\n", newline)
    wanted = before | {key: servers | {name: dict(fields)}}
    try:
        made = tomllib.loads(after)
    except tomllib.TOMLDecodeError:
        made = {}
    if made != wanted:
        raise ValueError(f"{key}: got an inline table, allowed: a table of its own, [{key}.NAME]")
    return None, after


def _value(value: Any) -> str:
    """Return a string, a list or a mapping in TOML. Strings of JSON are strings of TOML too."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{name} = {_value(part)}" for name, part in value.items()) + " }"
    return json.dumps(value, ensure_ascii=True)
