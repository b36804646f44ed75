"""Records that a reader of another program's store yields, and how its fields become a draft.

A reader is an iterator of items, so that memory is bounded by the largest record, whatever the size
of the store. Whatever a memory has no room for is left out by name, never cut silently.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeAlias

from totonoe.enums import LinkType
from totonoe.memories.drafts import Draft

TEXT_BYTES_MAX = 32 * 1024
LABEL_BYTES_MAX = 256
ATTRIBUTES_BYTES_MAX = 16 * 1024
ATTRIBUTES_DEPTH_MAX = 6
"""Levels of a value among the attributes; the object of attributes is one more."""
TAGS_MAX = 64
ENTITIES_MAX = 128
RECORD_BYTES_MAX = 4 * 1024 * 1024
"""Bytes of one record in its file: a line, an element of a JSON list, a Markdown file, a column."""
_EXACT_INTEGER_MAX = 2**53


class Reason(StrEnum):
    """Reasons why a record is not saved. The first group is the source's own decision."""

    DELETED = "deleted in the source"
    SUPERSEDED = "superseded in the source"
    EXPIRED = "expired in the source"
    INDEX = "an index of other files"
    NO_FRONT_MATTER = "no front matter (--bullets imports the list items)"
    LINK = "a symbolic link, which is not followed"
    NO_AGENT = "outside of an agent's folder"
    DERIVED = "made from other files of the store"

    DAMAGED = "damaged"
    NO_TEXT = "no text"
    TOO_LONG = "text over 32,768 bytes"
    TOO_LARGE = "record over 4,194,304 bytes"
    PRIVATE = "private, and --agent names nobody"
    NO_MEMORIES = "an episode without memories"
    OTHER_TEXT = "its external id holds another text here"
    REFUSED = "the daemon refused it"

    @property
    def is_fault(self) -> bool:
        """True if the memory should have been saved and was not."""
        return self not in _DELIBERATE


_DELIBERATE = frozenset(
    {Reason.DELETED, Reason.SUPERSEDED, Reason.EXPIRED, Reason.INDEX, Reason.NO_FRONT_MATTER}
    | {Reason.LINK, Reason.DERIVED, Reason.NO_AGENT}
)


@dataclass(frozen=True, slots=True)
class Span:
    """The lines of a Markdown file that hold a memory, and nothing else.

    Attributes
    ----------
    file : str
        Its path below the folder that is read, with `/`.
    first, last : int
        Lines from 1, both included; 0: the whole file.
    """

    file: str
    first: int = 0
    last: int = 0


@dataclass(frozen=True, slots=True)
class Record:
    """A memory of the source.

    Attributes
    ----------
    id : str
        Its id in the source; together with the source's name its external id.
    where : str
        Its place in the source, for people: "line 3".
    aliases : tuple of str
        Other ids by which links name it.
    left_out : tuple of str
        Fields that a memory has no room for.
    replaces : str
        Id of the record whose place it took in the source; empty: none. That one is kept as
        superseded.
    span : Span or None
        The lines that hold it, `None` if the store is no Markdown.
    """

    id: str
    where: str
    draft: Draft
    aliases: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    replaces: str = ""
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Skipped:
    """A record that cannot be saved, or should not. `detail` holds nothing of its text."""

    where: str
    reason: Reason
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Edge:
    """A link between two records, by their ids or aliases. Undirected if `type` is its inverse."""

    source: str
    target: str
    type: LinkType = LinkType.RELATED
    confidence: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Episode:
    """An episode of the source, with the ids of its records in their order."""

    where: str
    summary: str
    memory_ids: tuple[str, ...]
    start_time: datetime | None = None
    end_time: datetime | None = None
    importance: int | None = None


Item: TypeAlias = Record | Skipped | Edge | Episode


@dataclass(frozen=True, slots=True)
class Source:
    """A program whose store can be imported.

    Attributes
    ----------
    name : str
        The word after `--from`, and the first part of external ids.
    looks_for : str
        The files by which `auto` knows it.
    fits : callable
        Return true if a path is a store of it. Raises nothing for files of other programs.
    read : callable
        Yield the items of a store. Raises `ValueError` if the store cannot be read at all.
    home : callable or None
        Return where its program keeps the store of this user; `None`: it has no such place.
    """

    name: str
    looks_for: str
    fits: Callable[[Path], bool]
    read: Callable[[Path, ReadOptions], Iterator[Item]]
    home: Callable[[], Path] | None = None


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Settings of a reader. `bullets`: also read list items of Markdown without front matter."""

    bullets: bool = False


@dataclass(slots=True)
class Fields:
    """Turns fields of a source into those of a draft, and notes what it leaves out."""

    left_out: list[str] = field(default_factory=list)

    def label(self, name: str, value: Any) -> str | None:
        """Return a label of at most 256 bytes, `None` for an empty one or one without room."""
        if value is None or value == "":
            return None
        text = value if isinstance(value, str) else str(value)
        if len(text.encode("utf-8", "surrogatepass")) <= LABEL_BYTES_MAX:
            return text
        self.left_out.append(name)
        return None

    def labels(self, name: str, values: Any, count_max: int) -> list[str]:
        """Return the labels that have room, each once."""
        if not isinstance(values, list | tuple):
            if values:
                self.left_out.append(name)
            return []
        found = dict.fromkeys(self.label(name, value) for value in values)
        kept = [label for label in found if label is not None]
        if len(kept) > count_max:
            self.left_out.append(name)
        return kept[:count_max]

    def number(self, name: str, value: Any, least: float, most: float) -> Any:
        """Return a number within its range, `None` for anything else."""
        if isinstance(value, int | float) and not isinstance(value, bool):
            if least <= value <= most:
                return value
            self.left_out.append(name)
        return None

    def moment(self, name: str, value: Any) -> datetime | None:
        """Return a time that is not in the future: ISO 8601, or seconds since 1970."""
        found = moment_of(value)
        if found is not None and found <= datetime.now(UTC):
            return found
        if value not in (None, ""):
            self.left_out.append(name)
        return None

    def attributes(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return what has a value and room among the attributes, in order."""
        kept: dict[str, Any] = {}
        used_bytes = 2
        for name, value in values.items():
            if value is None or value in ("", [], {}):
                continue
            fitting = _json_value(value, ATTRIBUTES_DEPTH_MAX)
            size_bytes = len(_json([name, fitting]).encode("utf-8", "surrogatepass")) + 4
            if used_bytes + size_bytes > ATTRIBUTES_BYTES_MAX:
                self.left_out.append(name)
            else:
                used_bytes += size_bytes
                kept[name] = fitting
        return kept

    def object(self, name: str, text: Any) -> dict[str, Any]:
        """Return a JSON object that the source keeps as text; other JSON stands under `name`."""
        if text is None or text == "":
            return {}
        try:
            value = json.loads(text) if isinstance(text, str) else text
        except (ValueError, RecursionError):
            return {name: text}
        return value if isinstance(value, dict) else {name: value}


def moment_of(value: Any) -> datetime | None:
    """Return a time in UTC; without a zone it is UTC. `None` if it is no time."""
    try:
        if isinstance(value, bool):
            return None
        if isinstance(value, int | float):
            return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=value)
        if isinstance(value, str) and value:
            found = datetime.fromisoformat(value)
            return found.replace(tzinfo=UTC) if found.utcoffset() is None else found.astimezone(UTC)
        if isinstance(value, date) and not isinstance(value, datetime):
            return datetime(value.year, value.month, value.day, tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
    return None


def record(
    record_id: str,
    where: str,
    text: Any,
    fields: Fields,
    aliases: Iterable[str] = (),
    replaces: str = "",
    span: Span | None = None,
    **values: Any,
) -> Record | Skipped:
    """Make a record of a text and fields of a draft, or say why it cannot be one."""
    if not isinstance(text, str) or not text.strip():
        return Skipped(where, Reason.NO_TEXT)
    if len(text.encode("utf-8", "surrogatepass")) > TEXT_BYTES_MAX:
        return Skipped(where, Reason.TOO_LONG)
    given = {name: value for name, value in values.items() if value not in (None, [], {}, "")}
    draft = Draft(text, **given)
    left_out = tuple(dict.fromkeys(fields.left_out))
    return Record(record_id, where, draft, tuple(aliases), left_out, replaces, span)


def numbered(items: Iterable[Item]) -> Iterator[Item]:
    """Yield the items; of records that share an id, the later ones get a number behind it.

    A page that says one thing twice holds two records, and the guard reports the second.
    """
    counts: Counter[str] = Counter()
    for item in items:
        if isinstance(item, Record):
            counts[item.id] += 1
            if counts[item.id] > 1:
                item = replace(item, id=f"{item.id}.{counts[item.id]}")
        yield item


def digest_of(text: str) -> str:
    """Return 16 hexadecimal digits that stand for a text in an id."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _json_value(value: Any, depth: int) -> Any:
    """Return the value with what a Struct cannot hold as text: long integers, NaN, deep levels."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        return value if abs(value) <= _EXACT_INTEGER_MAX else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if depth == 0 or not isinstance(value, dict | list):
        return _json(value) if isinstance(value, dict | list) else str(value)
    if isinstance(value, dict):
        return {str(name): _json_value(item, depth - 1) for name, item in value.items()}
    return [_json_value(item, depth - 1) for item in value]
