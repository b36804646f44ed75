"""Adds a member to a JSON text with comments, and leaves the rest as it is, byte for byte."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_SKIPPED = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.S)
_ATOM = re.compile(r"[^\s,:\[\]{}\"/]+")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_DEPTH_MAX = 200
_INDENT = re.compile(r"\n([ \t]+)\S")


@dataclass(frozen=True, slots=True)
class _Object:
    """Where an object stands.

    Attributes
    ----------
    members : mapping
        Of each name the start and the end of its value.
    last_end : int
        Where the last member ends; without members, behind the opening brace.
    comma : bool
        A comma follows the last member.
    close : int
        Place of the closing brace.
    """

    members: dict[str, tuple[int, int]]
    last_end: int
    comma: bool
    close: int


def with_entry(text: str, key: str, name: str, fields: Any) -> tuple[Any | None, str]:
    """Return the entry that is there, and the text with the entry as last member of `key`.

    Raises
    ------
    ValueError
        It is no JSON, or `key` is no object; the message says where.
    """
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    body = text[len(mark) :]
    if not body.strip():
        return None, mark + json.dumps({key: {name: fields}}, indent=2) + "\n"
    start = _skip(body, 0)
    root = _object(body, start)
    if body[_skip(body, root.close + 1) :]:
        raise ValueError(f"got more behind the object, {_where(body, root.close + 1)}")
    newline = "\r\n" if "\r\n" in body else "\n"
    indent = match[1] if (match := _INDENT.search(body)) else "  "
    if key not in root.members:
        added = _added(body, root, key, {name: fields}, indent, newline, depth=1)
        return None, mark + added
    begin, end = root.members[key]
    if body[begin] != "{":
        raise ValueError(f"{key}: got something else, allowed: an object, {_where(body, begin)}")
    servers = _object(body, begin)
    if name in servers.members:
        begin, end = servers.members[name]
        return parsed(body[begin:end]), text
    return None, mark + _added(body, servers, name, fields, indent, newline, depth=2)


def items_of(text: str, key: str, name: str) -> list[Any]:
    """Return the items of the list `name` in the object `key`, none if there is no list.

    Raises
    ------
    ValueError
        It is no JSON, or something else stands there; the message says where.
    """
    found = _list_of(text, key, name)
    return [parsed(text[begin:end]) for begin, end in found.items] if found else []


def with_item(text: str, key: str, name: str, item: Any) -> str:
    """Return the text with one item more at the end of the list `name` in the object `key`.

    Raises
    ------
    ValueError
        As of `items_of`.
    """
    found = _list_of(text, key, name)
    if found is None:
        return with_entry(text, key, name, [item])[1]
    newline = "\r\n" if "\r\n" in text else "\n"
    indent = match[1] if (match := _INDENT.search(text)) else "  "
    lead = newline + indent * 3
    value = json.dumps(item, indent=indent).replace("\n", lead)
    if not found.items:
        end = newline + indent * 2
        return text[: found.begin + 1] + lead + value + end + text[found.close :]
    last = found.items[-1][1]
    return text[:last] + "," + lead + value + text[found.behind :]


def without_items(text: str, key: str, name: str, is_gone: Callable[[Any], bool]) -> str:
    """Return the text without some items of a list; an empty list stays.

    Raises
    ------
    ValueError
        As of `items_of`.
    """
    while found := _list_of(text, key, name):
        places = found.items
        values = (parsed(text[begin:end]) for begin, end in places)
        at = next((at for at, value in enumerate(values) if is_gone(value)), None)
        if at is None:
            break
        if len(places) == 1:
            begin, end = found.begin + 1, found.close
        elif at + 1 < len(places):
            begin, end = places[at][0], places[at + 1][0]
        else:
            begin, end = places[at - 1][1], found.behind
        text = text[:begin] + text[end:]
    return text


@dataclass(frozen=True, slots=True)
class _List:
    """Where a list stands.

    Attributes
    ----------
    begin, close : int
        Places of its brackets.
    items : list of tuple of int
        Start and end of each item.
    behind : int
        Behind the last item and the comma that may follow it.
    """

    begin: int
    close: int
    items: list[tuple[int, int]]
    behind: int


def _list_of(text: str, key: str, name: str) -> _List | None:
    mark = 1 if text.startswith("\ufeff") else 0
    start = _skip(text, mark)
    if start == len(text):
        return None
    root = _object(text, start)
    if key not in root.members:
        return None
    begin = root.members[key][0]
    if text[begin] != "{":
        raise ValueError(f"{key}: got something else, allowed: an object, {_where(text, begin)}")
    inner = _object(text, begin).members
    if name not in inner:
        return None
    begin = inner[name][0]
    if text[begin] != "[":
        got = f"got something else, allowed: a list, {_where(text, begin)}"
        raise ValueError(f"{key}.{name}: {got}")
    items: list[tuple[int, int]] = []
    behind = begin + 1
    at = _skip(text, begin + 1)
    while text[at : at + 1] != "]":
        end = behind = _value(text, at, 3)
        items.append((at, end))
        at = _skip(text, end)
        _expect(text, at, ",]")
        if text[at] == ",":
            behind = at + 1
            at = _skip(text, at + 1)
    return _List(begin, at, items, behind)


def parsed(text: str) -> Any:
    """Return the value of a JSON text with comments and with commas behind the last members."""
    pieces, at = [], 0
    while at < len(text):
        end = _skip(text, at)
        if end > at:
            pieces.append(" ")
        elif text[at] == '"':
            end = _string(text, at)
            pieces.append(text[at:end])
        elif text[at] == "," and text[_skip(text, at + 1) :][:1] in ("}", "]"):
            end = at + 1
        else:
            end = at + 1
            pieces.append(text[at])
        at = end
    return json.loads("".join(pieces))


def _added(
    text: str,
    place: _Object,
    name: str,
    value: Any,
    indent: str,
    newline: str,
    depth: int,
) -> str:
    """Return the text with one member more behind the last member of an object."""
    lead = newline + indent * depth
    member = f"{json.dumps(name)}: {json.dumps(value, indent=indent)}".replace("\n", lead)
    if place.members and not place.comma:
        # The comma comes right behind the value, before a comment on the same line.
        head, tail = text[: place.last_end] + ",", text[place.last_end : place.close]
    else:
        head, tail = text[: place.last_end], text[place.last_end : place.close]
    closing = newline + indent * (depth - 1)
    # White space before the brace is made anew only if the brace stood on the line of the member.
    kept = tail.rstrip(" \t\r\n")
    if "\n" in tail[len(kept) :]:
        closing = tail[len(kept) :]
    return head + kept + lead + member + closing + text[place.close :]


def _where(text: str, at: int) -> str:
    line = text.count("\n", 0, at) + 1
    return f"line {line}, column {at - text.rfind(chr(10), 0, at)}"


def _skip(text: str, at: int) -> int:
    """Return the place behind white space and comments."""
    match = _SKIPPED.match(text, at)
    return match.end() if match else at


def _string(text: str, at: int) -> int:
    match = _STRING.match(text, at)
    if match is None:
        raise ValueError(f"got no JSON string, {_where(text, at)}")
    return match.end()


def _expect(text: str, at: int, allowed: str) -> None:
    if text[at : at + 1] == "" or text[at] not in allowed:
        raise ValueError(f"got {text[at : at + 1]!r}, allowed: {allowed!r}, {_where(text, at)}")


def _object(text: str, at: int, depth: int = 0) -> _Object:
    """Return where the object that begins at `at` and its members stand."""
    _expect(text, at, "{")
    members: dict[str, tuple[int, int]] = {}
    last_end, comma = at + 1, False
    at = _skip(text, at + 1)
    while text[at : at + 1] != "}":
        begin, at = at, _string(text, at)
        name = str(json.loads(text[begin:at]))
        at = _skip(text, at)
        _expect(text, at, ":")
        begin = _skip(text, at + 1)
        last_end = at = _value(text, begin, depth + 1)
        members[name] = (begin, at)
        at = _skip(text, at)
        _expect(text, at, ",}")
        if comma := text[at] == ",":
            last_end = at + 1
            at = _skip(text, at + 1)
    return _Object(members, last_end, comma, at)


def _value(text: str, at: int, depth: int) -> int:
    """Return the end of the value that begins at `at`."""
    if depth > _DEPTH_MAX:
        raise ValueError(f"got more than {_DEPTH_MAX} levels, {_where(text, at)}")
    first = text[at : at + 1]
    if first == "{":
        return _object(text, at, depth).close + 1
    if first == "[":
        at = _skip(text, at + 1)
        while text[at : at + 1] != "]":
            at = _skip(text, _value(text, at, depth + 1))
            _expect(text, at, ",]")
            if text[at] == ",":
                at = _skip(text, at + 1)
        return at + 1
    if first == '"':
        return _string(text, at)
    match = _ATOM.match(text, at)
    if match is None:
        raise ValueError(f"got {first!r}, allowed: a value, {_where(text, at)}")
    try:
        json.loads(match[0])
    except ValueError:
        raise ValueError(f"got {match[0][:20]!r}, allowed: a value, {_where(text, at)}") from None
    return match.end()
