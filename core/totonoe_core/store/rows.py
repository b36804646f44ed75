"""Conversion of records to rows and back, each row with a crc32 that every read checks.

SQLite does not notice flipped bits in a page; the crc does. It covers every column, and
a mismatch raises `Corruption`: the row is never served.
"""

from __future__ import annotations

import itertools
import json
import re
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from totonoe_core.base import plain
from totonoe_core.base.errors import Corruption
from totonoe_core.domain.records import Dismissal, Episode, Fields, Link, LinkType, Memory, Status
from totonoe_core.store.aside import BadRow

Row = tuple[Any, ...]
_NUMBER = struct.Struct("<H")
_FLOAT_BYTES = 4
_FIELDS_KEPT, _FIELDS_KEPT_CHARS = 2048, 512

_ALLOWED: dict[str, tuple[type, ...]] = {
    "i": (int,),
    "I": (int, type(None)),
    "s": (str,),
    "S": (str, type(None)),
    "b": (bytes,),
    "f": (float,),
}
_REVISION_PLACE = {"memory": 12, "link": 2}  # places in the images that are lists
_MADE_ID = re.compile("mem_[0-9a-f]{12,32}")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The part of a memory that the guard quotes and compares, without its fields and vector."""

    row: int
    id: str
    content: str
    content_hash: bytes
    created_us: int
    revision: int


MEMORY_COLUMNS = (
    "row, id, external_id, content, content_hash, vector, agent_id, fields, "
    "created_us, updated_us, status, superseded_by, revision, crc"
)


def encoded(values: Row) -> bytes:
    """Return the bytes of a row's columns, each with its length so that neighbours cannot mix."""
    parts = []
    for value in values:
        kind = type(value)
        if kind is bytes:
            data = value
        elif kind is str:
            data = value.encode()
        else:
            # SQLite stores -0.0 as 0.0.
            data = repr(value + 0.0 if kind is float else value).encode()
        parts.append(len(data).to_bytes(4, "little"))
        parts.append(data)
    return b"".join(parts)


def crc(values: Row) -> int:
    """Return the crc32 of a row's columns."""
    return zlib.crc32(encoded(values))


def seal(values: Row) -> Row:
    """Return the row with its crc as the last column."""
    return (*values, crc(values))


_TYPES: dict[str, frozenset[tuple[type, ...]]] = {
    table: frozenset(
        types
        for columns in each.split()
        for types in itertools.product(*(_ALLOWED[column] for column in columns))
    )
    for table, each in {
        "memory": "isSsbbssiissi",
        "link": "iisfsi",
        "access": "iii",
        "recall_event": "isis",
        "coactivation": "iii",
        "operation": "isssssiI issssbsi",  # of a collection, then of the catalogue
        "episode": "sssiiisiii",
        "dismissal": "iibbssi",
        "image": "isssb",
        "reply": "ssbsi",
        "access_row": "isb",
        "embedding": "iib",
        "setting": "ss",
        "collection": "ssI",
        "snapshot": "sss",
    }.items()
}
"""Column types of each table's sealed rows."""


def is_sound(row: Row, table: str = "") -> bool:
    """Return whether a sealed row matches its crc and, with `table`, its column types.

    A flipped bit can turn a value into another type with the same bytes and the same crc.
    """
    allowed = _TYPES.get(table)
    if allowed is not None and tuple(map(type, row[:-1])) not in allowed:
        return False
    return bool(crc(row[:-1]) == row[-1])


def check(row: Row, table: str) -> Row:
    """Return the row without its crc. Raises `Corruption` if it does not match."""
    if not is_sound(row, table):
        raise Corruption(
            "CORRUPT_ROW",
            f"row {row[0]!r} of table {table} does not match its checksum",
            table=table,
            row=row[0],
        )
    return row[:-1]


def as_text(row: Row, places: Sequence[int]) -> Row:
    """Decode the text columns of a row that was read as bytes; invalid text fails the crc."""
    values = list(row)
    for place in places:
        if isinstance(values[place], bytes):  # else it is NULL, where it must not be
            values[place] = values[place].decode(errors="replace")
    return tuple(values)


def bad_key(key: Sequence[object]) -> str:
    """Return the key of a bad row, for counting it once."""
    return json.dumps([str(part) for part in key])


def bad_row(
    row: int, memory_id: bytes | None, agent_id: bytes | None, fields: bytes | None
) -> BadRow:
    """Return the readable rest of a bad row of `memory`."""
    try:
        private = json.loads(fields or b"").get("private") is True
    except (ValueError, AttributeError, RecursionError):
        private = False
    said = (memory_id or b"").decode(errors="replace")
    # Shown and logged, so it must not be any other text.
    known = said if _MADE_ID.fullmatch(said) else ""
    return BadRow(row, known, (agent_id or b"").decode(errors="replace"), private)


def pack_vector(vector: bytes, model_number: int) -> bytes:
    """Return a vector as stored: two more bytes number its model, unless that is the first.

    So each stored vector names its model: two models may have vectors of one length.
    """
    return vector + _NUMBER.pack(model_number) if vector and model_number else vector


def unpack_vector(stored: bytes) -> tuple[bytes, int]:
    """Return the vector of a column, and the number of its model."""
    if len(stored) % _FLOAT_BYTES != _NUMBER.size:
        return stored, 0
    return stored[: -_NUMBER.size], int(_NUMBER.unpack(stored[-_NUMBER.size :])[0])


def external_keys(external_id: str, agent_id: str) -> tuple[str, str]:
    """Return the keys of an external id that an agent can see: own private, then public.

    The column `external_id` holds the key, which is unique among memories that are not forgotten.
    A public memory's key is the external id. A private one's also has the agent, behind a NUL,
    which no external id and no name of an agent has: so no two different ones are equal.
    """
    return f"{external_id}\0{agent_id}", external_id


def external_key(fields: Fields, agent_id: str) -> str:
    """Return the key of a memory's external id; empty if it has none. `agent_id` is its own."""
    if not fields.external_id:
        return ""
    private, public = external_keys(fields.external_id, agent_id)
    return private if fields.private else public


def memory_row(memory: Memory) -> Row:
    """Return the sealed row of a memory."""
    return seal(
        (
            memory.row,
            memory.id,
            external_key(memory.fields, memory.agent_id) or None,
            memory.content,
            memory.content_hash,
            pack_vector(memory.vector, memory.model_number),
            memory.agent_id,
            plain.dumps(memory.fields),
            memory.created_us,
            memory.updated_us,
            memory.status.value,
            memory.superseded_by,
            memory.revision,
        )
    )


def memory(row: Row) -> Memory:
    """Return the memory of a sealed row, without access figures and links."""
    return sound_memory(check(row, "memory"))


@lru_cache(maxsize=_FIELDS_KEPT)
def _fields_kept(text: str) -> Fields:
    return plain.loads(Fields, text)


def _fields(text: str) -> Fields:
    """Return the fields of a row. Many memories have the same, so short ones are kept."""
    return (_fields_kept if len(text) <= _FIELDS_KEPT_CHARS else _fields_kept.__wrapped__)(text)


def forget_cached() -> None:
    """Empty the cache of fields, which may hold words of purged memories."""
    _fields_kept.cache_clear()


def sound_memory(row: Sequence[Any]) -> Memory:
    """Return the memory of a row whose crc was checked."""
    vector, model_number = unpack_vector(row[5])
    return Memory(
        row=row[0],
        id=row[1],
        content=row[3],
        content_hash=row[4],
        vector=vector,
        agent_id=row[6],
        fields=_fields(row[7]),
        created_us=row[8],
        updated_us=row[9],
        status=Status(row[10]),
        superseded_by=row[11],
        revision=row[12],
        model_number=model_number,
    )


def excerpt(row: Row) -> Excerpt:
    """Return the excerpt of a sealed row."""
    row = check(row, "memory")
    return Excerpt(row[0], row[1], row[3], row[4], row[8], row[12])


def memory_image(memory: Memory) -> tuple[str, bytes]:
    """Return a memory as a before image: its columns as JSON, and its vector.

    The external id stands there without an agent, and the past is searched by it alone.
    """
    columns = list(memory_row(memory)[:-1])
    columns[2] = memory.fields.external_id or None
    columns[4] = memory.content_hash.hex()
    columns[5], vector = None, columns[5]
    return json.dumps(columns, ensure_ascii=False, separators=(",", ":")), vector


def memory_of_image(before: str, vector: bytes) -> Memory:
    """Return the memory of a before image whose crc was checked."""
    columns = json.loads(before)
    columns[4] = bytes.fromhex(columns[4])
    columns[5] = vector
    return sound_memory(columns)


def since_of_image(entity: str, before: str) -> int:
    """Return the revision that wrote the state in a before image."""
    columns = json.loads(before)
    if entity in _REVISION_PLACE:
        return int(columns[_REVISION_PLACE[entity]])
    return int(columns.get("settings_revision" if entity == "setting" else "revision", 0))


@dataclass(frozen=True, slots=True)
class Embedding:
    """A vector beside a memory's own, of another model; `revision` is its row's at that time."""

    row: int
    revision: int
    vector: bytes
    model_number: int


EMBEDDING_COLUMNS = "row, revision, vector, crc"


def embedding_row(embedding: Embedding) -> Row:
    """The sealed row of a vector of another model."""
    return seal(
        (embedding.row, embedding.revision, pack_vector(embedding.vector, embedding.model_number))
    )


def embedding(row: Row) -> Embedding:
    """The vector of a sealed row."""
    number, revision, stored = check(row, "embedding")
    return Embedding(number, revision, *unpack_vector(stored))


def link_row(source: int, target: int, link: Link, revision: int) -> Row:
    """The sealed row of one direction of a link."""
    return seal((source, target, link.type.value, link.confidence, link.note, revision))


def link(row: Row, target_id: str) -> Link:
    """The link of a sealed row."""
    row = check(row, "link")
    return Link(target_id=target_id, type=LinkType(row[2]), confidence=row[3], note=row[4])


def link_key(source: int, target: int, type_: LinkType) -> str:
    """Key of a link in `image`."""
    return f"{source}>{target}:{type_.value}"


def link_of_key(key: str) -> tuple[int, int, LinkType]:
    """(source, target, type) of a link's key in `image`."""
    source, _, rest = key.partition(">")
    target, _, type_ = rest.partition(":")
    return int(source), int(target), LinkType(type_)


def link_of_image(before: str) -> tuple[float, str]:
    """Confidence and note of a link's before image."""
    confidence, note, _ = json.loads(before)
    return confidence, note


DISMISSAL_COLUMNS = "a, b, hash_a, hash_b, agent_id, note, revision, crc"


def dismissal_row(dismissal: Dismissal) -> Row:
    """The sealed row of a dismissal."""
    return seal(
        (
            dismissal.a,
            dismissal.b,
            dismissal.hash_a,
            dismissal.hash_b,
            dismissal.agent_id,
            dismissal.note,
            dismissal.revision,
        )
    )


def dismissal(row: Row) -> Dismissal:
    """The dismissal of a sealed row."""
    return Dismissal(*check(row, "dismissal"))


def dismissal_key(a: int, b: int) -> str:
    """Key of a dismissal in `image`."""
    return f"{a}~{b}"


EPISODE_COLUMNS = (
    "id, summary, memory_ids, start_us, end_us, importance, agent_id, private, created_us, "
    "revision, crc"
)


def episode_as_text(row: Row) -> Row:
    """The sealed row of an episode that was read as `EPISODE_READABLE`."""
    return as_text(row, (0, 1, 2, 6))


def episode_row(episode: Episode) -> Row:
    """The sealed row of an episode."""
    return seal(
        (
            episode.id,
            episode.summary,
            json.dumps(episode.memory_ids),
            episode.start_us,
            episode.end_us,
            episode.importance,
            episode.agent_id,
            int(episode.private),
            episode.created_us,
            episode.revision,
        )
    )


def episode(row: Row) -> Episode:
    """Return the episode of a sealed row, with the ids at its creation."""
    row = check(row, "episode")
    return Episode(
        id=row[0],
        summary=row[1],
        memory_ids=tuple(json.loads(row[2])),
        start_us=row[3],
        end_us=row[4],
        importance=row[5],
        agent_id=row[6],
        private=bool(row[7]),
        created_us=row[8],
        revision=row[9],
    )
