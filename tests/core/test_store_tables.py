"""SQL that is written once: what a file of one collection makes of it."""

from __future__ import annotations

import re

import apsw
import pytest

from totonoe_core.domain.records import LinkType
from totonoe_core.store import rows as sealed
from totonoe_core.store.aside import Aside
from totonoe_core.store.sqlite.reader import Rows
from totonoe_core.store.sqlite.schema import COLLECTION_TABLES
from totonoe_core.store.sqlite.session import Session, of_file
from totonoe_core.store.tables import sql


@pytest.fixture
def connection() -> apsw.Connection:
    """An empty collection in memory."""
    made = apsw.Connection(":memory:")
    made.execute(COLLECTION_TABLES).fetchall()
    return made


def plan(connection: apsw.Connection, text: str) -> list[str]:
    """The steps by which SQLite would run a statement."""
    count = len(set(re.findall(r"\?\d+", text))) or text.count("?")
    return [step for *_, step in connection.execute(f"EXPLAIN QUERY PLAN {text}", [None] * count)]


@pytest.mark.parametrize(
    ("query", "of_one"),
    [
        ("SELECT 1 FROM memory WHERE uid = $1", "SELECT 1 FROM memory"),
        (
            "SELECT row FROM memory WHERE uid = $1 AND row > ? LIMIT ?",
            "SELECT row FROM memory WHERE row > ? LIMIT ?",
        ),
        (
            "SELECT 1 FROM memory m JOIN memory b ON b.uid = $1 AND b.id = m.superseded_by "
            "WHERE m.status = 'superseded' AND m.uid = $1 LIMIT ?",
            "SELECT 1 FROM memory m JOIN memory b ON b.id = m.superseded_by "
            "WHERE m.status = 'superseded' LIMIT ?",
        ),
        ("DELETE FROM dismissal WHERE uid = $1 AND (a = $2 OR b = $2)", None),
        (
            sql.upsert("setting", "key, value, crc", "key"),
            "INSERT INTO setting (key, value, crc) VALUES (?, ?, ?) ON CONFLICT (key) "
            "DO UPDATE SET value = excluded.value, crc = excluded.crc",
        ),
        (
            "SELECT a FROM dismissal WHERE uid = $1 AND a = ANY(?) AND b <> ALL(?)",
            "SELECT a FROM dismissal WHERE a IN (SELECT value FROM json_each(?)) "
            "AND b NOT IN (SELECT value FROM json_each(?))",
        ),
        (
            "SELECT (before::json->>8)::bigint FROM image i /*! CROSS*/ JOIN memory m ON true",
            "SELECT (before->>8) FROM image i  CROSS JOIN memory m ON true",
        ),
        (
            "SELECT least(a, b), greatest(a, b), strpos(note, ?) FROM dismissal",
            "SELECT min(a, b), max(a, b), instr(note, ?) FROM dismissal",
        ),
    ],
)
def test_statement_for_many_collections_is_said_for_a_file(
    connection: apsw.Connection, query: str, of_one: str | None
) -> None:
    found, _ = of_file(query)
    assert found == (of_one or "DELETE FROM dismissal WHERE (a = ?1 OR b = ?1)")
    plan(connection, found)


def test_column_of_the_catalogue_that_is_called_uid_stays() -> None:
    assert of_file("SELECT name FROM collection WHERE uid = ?")[0].endswith("WHERE uid = ?")


def test_list_among_the_values_is_one_value(connection: apsw.Connection) -> None:
    session = Session(connection)
    session.write_all(sql.PUT_SETTING, [(key, key * 2, 0) for key in ("a", "b", 'c"')])
    query = "SELECT value FROM setting WHERE uid = $1 AND key = ANY(?) AND value <> ? ORDER BY key"
    assert session.execute(query, (["a", 'c"', "d"], "aa")).fetchall() == [('c"c"',)]
    assert session.execute(query, ([], "aa")).fetchall() == []
    assert session.changed("DELETE FROM setting WHERE uid = $1 AND key <> ?", ("a",)) == 2


def test_rows_that_are_found_by_number_or_key_need_no_scan(connection: apsw.Connection) -> None:
    """SQLite chooses its index by the form of a statement; a scan costs minutes in a large file."""
    asked: list[str] = []
    connection.exec_trace = lambda _, text, __: asked.append(text) or True
    rows = Rows(connection, Aside())
    rows.memories([1, 2])
    rows.links([1, 2])
    rows.dismissed([(1, 2)])
    rows.ids([1])
    rows.superseded_by_any(["a"], 10)
    rows.rows_by_time((0, ""), 10)
    rows.questions.among([1, 2])
    rows.questions.of_row(1, (1.0, 1, 1))
    rows.beside.embeddings([1])
    rows.history.undone_by([1])
    rows.history.link_after(1, 1, 2, LinkType.LIKELY_SAME)
    rows.history.memory_versions(1)
    connection.exec_trace = None
    assert len(asked) >= 12
    for text in asked:
        steps = plan(connection, text)
        scans = [step for step in steps if step.startswith("SCAN") and "json_each" not in step]
        assert not scans, (text, steps)


def test_recall_is_found_by_whole_row_numbers(connection: apsw.Connection) -> None:
    event = sealed.seal((1, "ann", 5, "[10, 2]"))
    Session(connection).write(
        sql.insert("recall_event", "number, agent_id, time_us, hits, crc"), event
    )
    figures = Rows(connection).figures
    assert figures.recalled_by(10) == figures.recalled_by(2) == [("ann", 5)]
    assert figures.recalled_by(1) == figures.recalled_by(0) == []
