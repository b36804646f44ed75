"""Rows and their checksums: every column counts."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from support.engines import NOON
from totonoe_core.base import errors
from totonoe_core.domain.records import Fields, Link, LinkType, Memory, Status
from totonoe_core.store import rows
from totonoe_core.store.records import Touched
from totonoe_core.store.sqlite.collection_file import CollectionFile

MEMORY = Memory(
    row=5,
    id="mem_0123456789ab",
    content="text",
    content_hash=bytes(range(16)),
    vector=b"\x01\x02\x03\x04",
    agent_id="anna",
    fields=Fields(external_id="x", tags=("a",), created_us=None),
    created_us=NOON,
    updated_us=NOON + 1,
    status=Status.ACTIVE,
    superseded_by="",
    revision=7,
)


def test_memory_comes_back_from_its_row() -> None:
    assert rows.memory(rows.memory_row(MEMORY)) == MEMORY


@pytest.mark.parametrize("column", range(14))
def test_row_with_any_column_changed_is_corrupt(column: int) -> None:
    row = list(rows.memory_row(MEMORY))
    value = row[column]
    if isinstance(value, bytes):
        row[column] = bytes([value[0] ^ 1]) + value[1:]
    else:
        row[column] = value + 1 if isinstance(value, int) else value + "x"
    with pytest.raises(errors.Corruption) as caught:
        rows.memory(tuple(row))
    assert caught.value.reason == "CORRUPT_ROW"
    assert "text" not in caught.value.message


@pytest.mark.parametrize("column", ["agent_id", "content", "created_us", "external_id"])
def test_row_whose_column_has_another_type_of_the_same_bytes_is_corrupt(column: str) -> None:
    values = list(rows.memory_row(MEMORY))
    place = rows.MEMORY_COLUMNS.split(", ").index(column)
    value = values[place]
    values[place] = value.encode() if isinstance(value, str) else str(value)
    assert rows.crc(tuple(values[:-1])) == values[-1], "the checksum alone does not see it"
    with pytest.raises(errors.Corruption):
        rows.memory(tuple(values))


def test_checksum_sees_a_byte_that_moves_to_its_neighbour() -> None:
    assert rows.crc(("ab", "c")) != rows.crc(("a", "bc"))
    assert rows.crc(("a", "")) != rows.crc(("", "a"))
    assert rows.crc((None,)) != rows.crc(("",))
    assert rows.crc((1, 23)) != rows.crc((12, 3))


def test_link_comes_back_from_its_row() -> None:
    link = Link("mem_0123456789ab", LinkType.CAUSES, 0.1, "why")
    row = rows.link_row(1, 2, link, 3)
    assert rows.link(row, link.target_id) == link
    with pytest.raises(errors.Corruption):
        rows.link((*row[:3], 0.2, *row[4:]), link.target_id)


@pytest.fixture
def file(tmp_path: Path):
    path = tmp_path / "memory.db"
    CollectionFile.make(path, "0123456789abcdef", {})
    file = CollectionFile(path)
    yield file
    file.close()


def test_transaction_that_raises_leaves_nothing(file: CollectionFile) -> None:
    with pytest.raises(KeyError) as caught, file.transaction():
        file.put_memory(MEMORY, before=None)
        raise KeyError("a")
    assert caught.value.__cause__ is None
    assert file.rows.memories([5]) == {}


def test_savepoint_that_raises_takes_back_its_own_part(file: CollectionFile) -> None:
    with file.transaction():
        file.put_memory(MEMORY, before=None)
        with pytest.raises(KeyError), file.savepoint():
            file.put_memory(replace(MEMORY, content="changed", revision=8), before=MEMORY)
            raise KeyError("a")
    assert file.rows.memories([5]) == {5: MEMORY}


def test_before_image_is_what_was_there_at_first(file: CollectionFile) -> None:
    changed = replace(MEMORY, content="changed", revision=8)
    with file.transaction():
        file.put_memory(MEMORY, before=None)
        file.put_memory(changed, before=MEMORY)
        file.put_memory(replace(changed, content="again"), before=changed)
    connection = apsw.Connection(str(file.path), flags=apsw.SQLITE_OPEN_READONLY)
    images = list(connection.execute("SELECT revision, entity, key, vector FROM image"))
    connection.close()
    assert images == [(8, "memory", "5", MEMORY.vector)]


def test_memory_row_never_takes_the_place_of_another(file: CollectionFile) -> None:
    other = replace(MEMORY, row=6, id="mem_0123456789ac")
    with file.transaction():
        file.put_memory(MEMORY, before=None)
    with pytest.raises(errors.Corruption) as caught, file.transaction():
        file.put_memory(other, before=None)  # its external id is taken
    assert isinstance(caught.value.__cause__, apsw.ConstraintError)
    assert list(file.rows.memories([5, 6])) == [5]


def test_replies_older_than_asked_are_dropped_a_few_at_a_time(file: CollectionFile) -> None:
    with file.transaction():
        for number in range(10):
            file.put_reply("anna", f"op-{number}", b"d", "{}", NOON + number)
        assert file.drop_replies(NOON + 5, 3) == 3
        assert file.drop_replies(NOON + 5, 100) == 2
        assert file.drop_replies(NOON + 5, 100) == 0
    assert file.reply("anna", "op-5") is not None
    assert file.reply("anna", "op-4") is None
    assert file.reply("ben", "op-5") is None


def test_touched_is_true_if_anything_was() -> None:
    assert not Touched()
    assert Touched(memories=[1])
    assert Touched(links=[(1, 2, "related")])
    assert Touched(settings=True)


def test_negative_zero_has_the_checksum_of_what_sqlite_stores() -> None:
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE TABLE one (value REAL)")
    connection.execute("INSERT INTO one VALUES (?)", (-0.0,))
    (read,) = connection.execute("SELECT value FROM one").fetchone()
    assert math.copysign(1.0, read) == 1.0
    assert rows.crc((-0.0,)) == rows.crc((read,)) != rows.crc((0,))
