"""Records to rows and back, each row under a crc32 that is checked when it is read.

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
from typing import Any

import apsw

from totonoe_core import plain
from totonoe_core.errors import Corruption
from totonoe_core.records import Dismissal, Episode, Fields, Link, LinkType, Memory, Status
from totonoe_core.store.aside import BadRow

Row = tuple[Any, ...]
_NUMBER = struct.Struct("<H")
_FLOAT_BYTES = 4

_SAID_OF_DAMAGE = (
    "malformed JSON",
    "no such column",
    "no such table",
    "has no column named",
    "ON CONFLICT clause does not match",
)
_ALLOWED: dict[str, tuple[type, ...]] = {
    "i": (int,),
    "I": (int, type(None)),
    "s": (str,),
    "S": (str, type(None)),
    "b": (bytes,),
    "f": (float,),
}
_MADE_ID = re.compile("mem_[0-9a-f]{12,32}")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """What the guard quotes of a memory and compares with, without its fields and vector."""

    row: int
    id: str
    content: str
    content_hash: bytes
    created_us: int


MEMORY_COLUMNS = (
    "row, id, external_id, content, content_hash, vector, agent_id, fields, "
    "created_us, updated_us, status, superseded_by, revision, crc"
)
# Not OR REPLACE: that would take away whatever row holds the same unique external id.
INSERT_MEMORY = (
    f"INSERT INTO memory ({MEMORY_COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?) "
    "ON CONFLICT (row) DO UPDATE SET "
    + ", ".join(
        f"{name} = excluded.{name}"
        for name in MEMORY_COLUMNS.split(", ")
        if name not in ("row", "id")
    )
)
INSERT_LINK = (
    "INSERT OR REPLACE INTO link (source, target, type, confidence, note, revision, crc) "
    "VALUES (?,?,?,?,?,?,?)"
)


def crc(values: Row) -> int:
    """crc32 of a row's columns; lengths keep neighbours from flowing together."""
    total = 0
    for value in values:
        if isinstance(value, bytes):
            data = value
        else:
            data = (value if isinstance(value, str) else repr(value)).encode()
        total = zlib.crc32(data, zlib.crc32(len(data).to_bytes(4, "little"), total))
    return total


def seal(values: Row) -> Row:
    """The row with its crc as the last column."""
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
        "operation": "isssssiI issssbsi",  # of a collection, and of the catalogue
        "episode": "sssiiisiii",
        "dismissal": "iibbssi",
        "image": "isssb",
        "reply": "ssbsi",
        "embedding": "iib",
        "setting": "ss",
        "collection": "ssI",
    }.items()
}
"""Types of the columns of each table's sealed rows, as they were written."""


def is_sound(row: Row, table: str = "") -> bool:
    """Whether a sealed row matches its crc; with its table named also its columns' types.

    A flipped bit can make another type of the same bytes, whose crc is the same.
    """
    allowed = _TYPES.get(table)
    if allowed is not None and tuple(map(type, row[:-1])) not in allowed:
        return False
    return bool(crc(row[:-1]) == row[-1])


def check(row: Row, table: str) -> Row:
    """The row without its crc. Raises `Corruption` if it does not match."""
    if not is_sound(row, table):
        raise Corruption(
            "CORRUPT_ROW",
            f"row {row[0]!r} of table {table} does not match its checksum",
            table=table,
            row=row[0],
        )
    return row[:-1]


def as_text(row: Row, places: Sequence[int]) -> Row:
    """A row whose columns of text were read as bytes; what is no text does not match the crc."""
    values = list(row)
    for place in places:
        if isinstance(values[place], bytes):  # else it is absent, where it must not be
            values[place] = values[place].decode(errors="replace")
    return tuple(values)


def is_damage(error: BaseException) -> bool:
    """Whether an error of SQLite says that what is on disk is damaged."""
    if isinstance(error, apsw.SQLError):
        # In a row whose crc was not looked at yet, or in the text of the tables themselves.
        return any(part in str(error) for part in _SAID_OF_DAMAGE)
    return isinstance(error, apsw.CorruptError | apsw.NotADBError | UnicodeDecodeError)


def damaged(name: str) -> Corruption:
    """The error for a file in which SQLite itself finds damage."""
    return Corruption(
        "CORRUPT_ROW", f"{name} has a damaged page; `totonoe verify` says where", file=name
    )


def bad_key(key: Sequence[object]) -> str:
    """The key of a bad row, for counting it once."""
    return json.dumps([str(part) for part in key])


def bad_row(row: int, memory_id: bytes, agent_id: bytes, fields: bytes) -> BadRow:
    """What some columns of a bad row of `memory` still say."""
    try:
        private = json.loads(fields).get("private") is True
    except (ValueError, AttributeError):
        private = False
    said = memory_id.decode(errors="replace")
    # It is told and logged: nothing else may stand there.
    known = said if _MADE_ID.fullmatch(said) else ""
    return BadRow(row, known, agent_id.decode(errors="replace"), private)


def pack_vector(vector: bytes, model_number: int) -> bytes:
    """A vector as a column holds it: two more bytes name its model, unless that is the first.

    So a vector says itself whose it is, wherever it lies: two models may have one length.
    """
    return vector + _NUMBER.pack(model_number) if vector and model_number else vector


def unpack_vector(stored: bytes) -> tuple[bytes, int]:
    """The vector of a column, and the number of its model."""
    if len(stored) % _FLOAT_BYTES != _NUMBER.size:
        return stored, 0
    return stored[: -_NUMBER.size], int(_NUMBER.unpack(stored[-_NUMBER.size :])[0])


def memory_row(memory: Memory) -> Row:
    """The sealed row of a memory."""
    return seal(
        (
            memory.row,
            memory.id,
            memory.fields.external_id or None,
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
    """The memory of a sealed row, without access figures and links."""
    return sound_memory(check(row, "memory"))


def sound_memory(row: Sequence[Any]) -> Memory:
    """The memory of a row whose crc was looked at."""
    vector, model_number = unpack_vector(row[5])
    return Memory(
        row=row[0],
        id=row[1],
        content=row[3],
        content_hash=row[4],
        vector=vector,
        agent_id=row[6],
        fields=plain.loads(Fields, row[7]),
        created_us=row[8],
        updated_us=row[9],
        status=Status(row[10]),
        superseded_by=row[11],
        revision=row[12],
        model_number=model_number,
    )


def excerpt(row: Row) -> Excerpt:
    """The excerpt of a sealed row."""
    row = check(row, "memory")
    return Excerpt(row[0], row[1], row[3], row[4], row[8])


def memory_image(memory: Memory) -> tuple[str, bytes]:
    """A memory as a before image: its columns as JSON, and its vector."""
    columns = list(memory_row(memory)[:-1])
    columns[4] = memory.content_hash.hex()
    columns[5], vector = None, columns[5]
    return json.dumps(columns, ensure_ascii=False, separators=(",", ":")), vector


def memory_of_image(before: str, vector: bytes) -> Memory:
    """The memory of a before image, whose own crc was checked."""
    columns = json.loads(before)
    columns[4] = bytes.fromhex(columns[4])
    columns[5] = vector
    return sound_memory(columns)


@dataclass(frozen=True, slots=True)
class Embedding:
    """A vector that a memory has beside its own, of another model; `revision` is its row's then."""

    row: int
    revision: int
    vector: bytes
    model_number: int


EMBEDDING_COLUMNS = "row, revision, vector, crc"


def embedding_row(one: Embedding) -> Row:
    """The sealed row of a vector of another model."""
    return seal((one.row, one.revision, pack_vector(one.vector, one.model_number)))


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


DISMISSAL_COLUMNS = "a, b, hash_a, hash_b, agent_id, note, revision, crc"


def dismissal_row(one: Dismissal) -> Row:
    """The sealed row of a dismissal."""
    return seal((one.a, one.b, one.hash_a, one.hash_b, one.agent_id, one.note, one.revision))


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


EPISODE_AS_BYTES = (
    "CAST(id AS BLOB), CAST(summary AS BLOB), CAST(memory_ids AS BLOB), start_us, end_us, "
    "importance, CAST(agent_id AS BLOB), private, created_us, revision, crc"
)
"""For `episode_as_text`: where one that is no text must not stop the others."""


def episode_as_text(row: Row) -> Row:
    """The sealed row of an episode that was read as `EPISODE_AS_BYTES`."""
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
    """The episode of a sealed row, with the ids it was made with."""
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
