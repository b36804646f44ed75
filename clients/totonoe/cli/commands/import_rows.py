"""Lines of an import file as drafts.

Three forms are known by their fields, line by line:

    memories  {"id", "conv", "level", "speaker", "time", "text", ...}
    streams   {"id", "t", "agent", "lang", "text", "dup_of", ...}
    plain     {"text" or "content", any field of a draft ...}

The file is read as a stream: memory is bounded by the longest line, and that by a limit.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import IO, Any

from totonoe.cli.options import moment
from totonoe.enums import SourceWord
from totonoe.memories.drafts import Draft
from totonoe.memories.encoding import encode_draft
from totonoe.memories.models import TimeRange
from totonoe.words.plain import plain

LINE_BYTES_MAX = 1024 * 1024
_GZIP_MAGIC = b"\x1f\x8b"

_OWN = frozenset({"operation_id", "collection", "force", "agent_id", "content"}) | {
    "supersede_ids",
    "distinct_from",
}
_DRAFT_FIELDS = frozenset(field.name for field in fields(Draft)) - _OWN
_TIME_FIELDS = frozenset(name for name in _DRAFT_FIELDS if name.endswith("_time")) - {"about_time"}
# What a stream file says for judging a guard; no part of the memory.
_JUDGING = ("dup_of", "kind", "differs_from", "near")


@dataclass(frozen=True, slots=True)
class Row:
    """A line that can be sent."""

    line: int
    draft: Draft


@dataclass(frozen=True, slots=True)
class BadRow:
    """A line, or the rest of a file, that cannot be sent."""

    line: int
    message: str


@dataclass(frozen=True, slots=True)
class Options:
    """Settings for reading lines.

    Attributes
    ----------
    level : str
        Of lines in the memories form only those of this level; empty: all.
    agent_id : str
        Whose memories they are where a line does not say.
    collection : str
        Where they go.
    force : bool
        Save even what the guard would refuse.
    source : str
        Where texts come from of which the line does not say it.
    """

    level: str
    agent_id: str
    collection: str
    force: bool
    source: SourceWord = "agent"


def read_rows(raw: IO[bytes], options: Options) -> Iterator[Row | BadRow | None]:
    """Read the lines of a file: rows, bad rows, and `None` for a line that is left out.

    Parameters
    ----------
    raw : binary file with `peek`
        Its own position tells how much was read, of a gzip file too.
    """
    source = unpacked(raw)
    number = 0
    try:
        while line := source.readline(LINE_BYTES_MAX + 1):
            number += 1
            if len(line) > LINE_BYTES_MAX and not line.endswith(b"\n"):
                _skip_rest(source)
                yield BadRow(number, f"line is longer than {LINE_BYTES_MAX} bytes")
            elif line.strip():
                yield _read(number, line, options)
    except (EOFError, OSError, zlib.error) as error:
        yield BadRow(number + 1, f"the file cannot be read from here on: {error}")


def unpacked(raw: IO[bytes]) -> IO[bytes]:
    """Return the unpacked file; it has `peek` too."""
    packed = getattr(raw, "peek")(2)[:2] == _GZIP_MAGIC  # noqa: B009 - IO does not declare it
    # `GzipFile` is an `IO[bytes]` in all but its declaration.
    return gzip.GzipFile(fileobj=raw) if packed else raw  # type: ignore[return-value]


def _skip_rest(source: IO[bytes]) -> None:
    while (more := source.readline(LINE_BYTES_MAX)) and not more.endswith(b"\n"):
        pass


def _read(number: int, line: bytes, options: Options) -> Row | BadRow | None:
    try:
        record = json.loads(line.decode("utf-8-sig"))
        if not isinstance(record, dict):
            raise TypeError(f"got a {type(record).__name__}, allowed: a JSON object")
        if options.level and "level" in record and record["level"] != options.level:
            return None
        draft = _draft(record)
        draft = replace(draft, source=draft.source or _speaker(record) or options.source)
        draft = replace(
            draft,
            force=options.force,
            agent_id=options.agent_id if draft.agent_id is None else draft.agent_id,
            operation_id=_operation_id(number, draft, options),
        )
        # The daemon judges the values; here only what could not be sent at all.
        encode_draft(draft)
    except (TypeError, ValueError, RecursionError) as error:
        return BadRow(number, str(error) or type(error).__name__)
    return Row(number, draft)


def _operation_id(number: int, draft: Draft, options: Options) -> str:
    """Derive an id from the line and its place, so that a second run replays the first.

    Made of everything that goes into the request, because an operation id may not come
    back with another payload; with the number of the line, because two equal lines are
    two operations.
    """
    agent_id = options.agent_id if draft.agent_id is None else draft.agent_id
    key = [number, plain(draft), agent_id, options.collection, options.force]
    text = json.dumps(key, ensure_ascii=False, sort_keys=True)
    return "op_" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]


_ROLES: Mapping[Any, SourceWord] = {
    **dict.fromkeys(("user", "human"), "user"),
    **dict.fromkeys(("assistant", "model", "ai", "agent"), "agent"),
    **dict.fromkeys(("tool", "function"), "tool"),
}
"""Sources of the lines of a chat, by the words for who speaks that programs use."""


def _speaker(record: Mapping[str, Any]) -> SourceWord | None:
    """Return where a line of a chat comes from, by its `role` or `speaker`."""
    words = (record.get(name) for name in ("role", "speaker"))
    return next((_ROLES[word] for word in words if isinstance(word, str) and word in _ROLES), None)


# -- forms


def _draft(record: dict[str, Any]) -> Draft:
    if not any(isinstance(record.get(name), str) for name in ("text", "content")):
        hint = ", this looks like a file of pairs" if {"a", "b"} <= record.keys() else ""
        hint = ", this looks like a file of questions" if "question" in record else hint
        raise ValueError(f"no text: a line needs `text` or `content`{hint}")
    if {"conv", "level"} <= record.keys():
        return _memories_form(record)
    if {"t", "dup_of"} <= record.keys():
        return _streams_form(record)
    return _plain_form(record)


def _memories_form(record: Mapping[str, Any]) -> Draft:
    return Draft(
        record["text"],
        external_id=_text(record, "id"),
        session_id=_text(record, "conv"),
        agent_id=_text(record, "agent"),
        created_time=moment(_text(record, "time"), "time"),
        attributes=_rest(record, "text", "id", "conv", "agent", "time"),
    )


def _streams_form(record: Mapping[str, Any]) -> Draft:
    return Draft(
        record["text"],
        external_id=_text(record, "id"),
        agent_id=_text(record, "agent"),
        created_time=moment(_text(record, "t"), "t"),
        attributes=_rest(record, "text", "id", "t", "agent", *_JUDGING),
    )


def _plain_form(record: Mapping[str, Any]) -> Draft:
    named = {"text", "content", "id", "time", "agent", "agent_id", *_DRAFT_FIELDS}
    attributes = record.get("attributes") or {}
    if not isinstance(attributes, dict):
        raise TypeError("attributes: allowed: a JSON object")
    values = {name: record[name] for name in _DRAFT_FIELDS & record.keys()}
    values.setdefault("external_id", _text(record, "id"))
    values.setdefault("created_time", _text(record, "time"))
    for name in _TIME_FIELDS & values.keys():
        values[name] = moment(_text(values, name), name)
    values["about_time"] = _range(record.get("about_time"))
    values["attributes"] = _rest(record, *named) | attributes
    agent_id = _text(record, "agent_id" if "agent_id" in record else "agent")
    content = record["text"] if isinstance(record.get("text"), str) else record["content"]
    return Draft(content, agent_id=agent_id, **values)


def _rest(record: Mapping[str, Any], *taken: str) -> dict[str, Any]:
    """Return the fields without a place of their own, so that no field is lost."""
    return {name: record[name] for name in record if name not in taken and record[name] is not None}


def _text(record: Mapping[str, Any], name: str) -> str | None:
    value = record.get(name)
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{name}: got a {type(value).__name__}, allowed: a string")
    return value


def _range(value: Any) -> TimeRange | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise TypeError('about_time: allowed: {"from_time": ..., "to_time": ...}')
    ends = {name: moment(_text(value, name), name) for name in ("from_time", "to_time")}
    return TimeRange(**ends)
