"""Rows that do not match their checksum: set aside, told to who asks for them, and nobody else."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from support.engines import (
    HOUR_US,
    Store,
    episode,
    forget,
    link,
    merge,
    opened,
    remember,
    undo,
    unlink,
    update,
    vector_of,
)
from support.waits import wait_s
from totonoe_core.base import errors
from totonoe_core.domain.consolidate import ConsolidateQuery, ReplayEvents
from totonoe_core.domain.dismissals import Undismiss
from totonoe_core.domain.filter import Filter
from totonoe_core.domain.memories import Purge
from totonoe_core.domain.queries import (
    AsOf,
    ChangesQuery,
    EpisodeQuery,
    EpisodesQuery,
    GetQuery,
    HistoryQuery,
    ListQuery,
    NeighborsQuery,
    OperationFilter,
    OperationsQuery,
    RecallQuery,
)
from totonoe_core.domain.records import ANY_TIME
from totonoe_core.store import rows
from totonoe_core.store.sqlite.collection_file import CollectionFile

IDS = dict[str, str]


def change_row(store_or_path: Any, sql: str, *values: Any) -> None:
    """Changes a row behind the engine's back, as flipped bits do: its checksum stays."""
    path = store_or_path.file() if isinstance(store_or_path, Store) else store_or_path
    other = apsw.Connection(str(path))
    try:
        # The engine may be writing figures of what was read.
        other.set_busy_timeout(int(wait_s() * 1e3))
        other.execute(sql, values)
        assert other.changes() == 1
    finally:
        other.close()


def fill(store: Store) -> IDS:
    good, bad, near = (
        store.save("good row", external_id="x-good"),
        store.save("bad row", external_id="x-bad", session_id="s"),
        store.save("near row"),
    )
    store.do(link(good, bad))
    store.do(link(good, near))
    made = store.do(episode("all of it", good, bad, near))
    store.apply(update(bad, importance=1), operation_id="on-bad")
    return {"good": good, "bad": bad, "near": near, "episode": made.episode.id}


@pytest.fixture(params=["before it is opened", "while it is open"])
def damaged(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Store, IDS]]:
    """A store with one bad row, which the engine has noticed."""
    with opened(tmp_path) as store:
        ids = fill(store)
        if request.param == "while it is open":
            change_row(store, "UPDATE memory SET content = 'Bad row' WHERE id = ?", ids["bad"])
            with pytest.raises(errors.Corruption):
                store.get(ids["bad"])
            notice(store)
        else:
            store.close()
            path = store.file()
            change_row(path, "UPDATE memory SET content = 'Bad row' WHERE id = ?", ids["bad"])
            store.engine = store._opened()
        yield store, ids


def notice(store: Store) -> None:
    """Lets the writer look at what readers met: it does so after each batch."""
    for _ in range(2):
        store.stats()


def corrupt(call: Callable[[], Any]) -> errors.Corruption:
    with pytest.raises(errors.Corruption) as caught:
        call()
    assert caught.value.reason == "CORRUPT_ROW"
    assert "ad row" not in str(caught.value), "an error quotes no memory"
    return caught.value


class TestMemory:
    def test_others_are_served_and_it_is_told_to_who_asks_for_it(
        self, damaged: tuple[Store, IDS]
    ) -> None:
        store, ids = damaged
        others = {ids["good"], ids["near"]}
        assert {memory.id for memory in store.list()} == others
        found = store.recall(RecallQuery("anna", "bad row", vector_of("bad row").tobytes()))
        assert {hit.memory.id for hit in found.hits} == others
        engine, name = store.engine, store.collection
        query = RecallQuery("anna", "row", vector_of("row").tobytes(), as_of=AsOf(store.revision))
        assert {hit.memory.id for hit in store.recall(query).hits} == others
        page = engine.read(name, ListQuery("anna", Filter(), 10, "", as_of=AsOf(store.revision)))
        assert {memory.id for memory in page.result(wait_s()).memories} == others
        assert [other.target_id for other in store.one(ids["good"]).links] == [ids["near"]]
        near = engine.read(name, NeighborsQuery("anna", (ids["good"],))).result(wait_s())
        assert [neighbor.memory.id for neighbor in near.neighbors] == [ids["near"]]
        read = engine.read(name, EpisodeQuery("anna", ids["episode"], True)).result(wait_s())
        assert {memory.id for memory in read.memories} == others
        told = engine.read(name, ChangesQuery("anna", 0, None)).result(wait_s())
        assert {memory.memory.id for change in told.changes for memory in change.memories} == others
        assert engine.read(name, OperationsQuery("anna", OperationFilter(), 50, "")).result(
            wait_s()
        )
        assert (
            engine.read(name, EpisodesQuery("anna", ANY_TIME, "", 10, "")).result(wait_s()).episodes
        )
        assert engine.preview(name, fading()).result(wait_s())
        assert engine.read(name, audit()).result(wait_s())
        assert store.do(ReplayEvents("anna", 100)) is not None
        assert list(consolidated(store)), "a run over all that is there"
        stats = store.stats()
        assert (stats.active_count, stats.total_count) == (2, 2)

        def then(wanted: str) -> Any:
            return engine.read(name, GetQuery("anna", (wanted,), as_of=AsOf(2))).result(wait_s())

        for wanted in (ids["bad"], "ext:x-bad"):
            calls: list[Callable[[], Any]] = [
                lambda: store.get(wanted),  # noqa: B023 - called at once
                lambda: store.get(ids["good"], wanted),  # noqa: B023
                lambda: store.do(update(wanted, importance=2)),  # noqa: B023
                lambda: store.do(forget(wanted)),  # noqa: B023
                lambda: store.do(link(ids["near"], wanted)),  # noqa: B023
                lambda: store.do(unlink(ids["good"], wanted)),  # noqa: B023
                lambda: store.do(merge(ids["good"], wanted)),  # noqa: B023
                lambda: store.do(Undismiss("anna", ids["good"], wanted)),  # noqa: B023
                lambda: engine.read(name, HistoryQuery("anna", wanted, 10, "")).result(wait_s()),  # noqa: B023
                lambda: then(wanted),  # noqa: B023
            ]
            before = store.revision
            for call in calls:
                corrupt(call)
            assert store.revision == before
        corrupt(lambda: store.do(undo("on-bad")))
        with pytest.raises(errors.NotFound):
            store.get("mem_0123456789abcdef")

    def test_writes_go_on_without_it(self, damaged: tuple[Store, IDS]) -> None:
        store, ids = damaged
        # The guard does not see it, so what it said can be saved again.
        again = store.save("bad row", vector=vector_of("bad row"))
        assert store.one(again).row > max(
            memory.row for memory in store.list() if memory.id != again
        )
        corrupt(lambda: store.do(remember("another", external_id="x-bad")))
        store.do(update(ids["good"], content="good row, changed"))
        store.do(forget(ids["near"]))
        store.reopen()
        assert {memory.id for memory in store.list(where=Filter())} == {ids["good"], again}
        corrupt(lambda: store.get(ids["bad"]))

    def test_purge_is_how_to_get_rid_of_it(self, damaged: tuple[Store, IDS]) -> None:
        store, ids = damaged
        asked = Purge("anna", (ids["bad"],))
        assert store.preview(asked)[1].purged_ids
        assert store.do(asked).purged_ids == (ids["bad"],)
        for _ in range(2):
            with pytest.raises(errors.NotFound):
                store.get(ids["bad"])
            assert {memory.id for memory in store.list()} == {ids["good"], ids["near"]}
            store.reopen()
        connection = apsw.Connection(str(store.file()), flags=apsw.SQLITE_OPEN_READONLY)
        assert connection.pragma("integrity_check") == "ok"
        connection.close()
        assert store.save("free again", external_id="x-bad")

    def test_another_agents_private_one_is_not_found(self, tmp_path: Path) -> None:
        with opened(tmp_path) as store:
            hidden = store.save("bad row", agent="ben", private=True)
            store.close()
            change_row(store.file(), "UPDATE memory SET content = 'Bad row'")
            store.engine = store._opened()
            corrupt(lambda: store.get(hidden, agent="ben"))
            with pytest.raises(errors.NotFound):
                store.get(hidden)
            with pytest.raises(errors.NotFound):
                store.do(Purge("anna", (hidden,)))


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("id", "mem_0123456789abcdef"),
        ("id", "no id at all"),
        ("content", b"\xff\xfe"),
        ("fields", "{"),
        ("vector", b""),
        ("status", "unheard of"),
        ("external_id", "x-other"),
        ("created_us", 1),
        ("crc", 1),
        ("crc", "text"),
    ],
)
def test_bad_row_of_any_column_is_set_aside_and_can_be_purged(
    tmp_path: Path, column: str, value: Any
) -> None:
    with opened(tmp_path) as store:
        ids = fill(store)
        store.close()
        # Without SQLite's indexes following, as on a disk that forgets.
        raw(store.file(), ids["bad"], column, value)
        store.engine = store._opened()
        assert {memory.id for memory in store.list()} == {ids["good"], ids["near"]}
        corrupt(lambda: store.get(ids["bad"]))
        assert store.do(Purge("anna", (ids["bad"],))).purged_ids == (ids["bad"],)
        store.reopen()
        with pytest.raises(errors.NotFound):
            store.get(ids["bad"])
        assert {memory.id for memory in store.list()} == {ids["good"], ids["near"]}
        assert not store.stats().verified.bad_row_counts


def raw(path: Path, memory_id: str, column: str, value: Any) -> None:
    """Changes a column in the table alone: its indexes are away while it is written."""
    connection = sqlite3.connect(path)
    try:
        connection.execute("PRAGMA writable_schema = ON")
        hidden = connection.execute(
            "SELECT rowid, * FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'memory' "
            "AND sql IS NOT NULL"
        ).fetchall()
        connection.execute(
            "DELETE FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'memory' "
            "AND sql IS NOT NULL"
        )
        # Neither strict nor unique: what is written is not looked at.
        (table,) = connection.execute(
            "SELECT sql FROM sqlite_schema WHERE name = 'memory'"
        ).fetchone()
        loose = table.replace(") STRICT", ")").replace("TEXT NOT NULL UNIQUE", "TEXT NOT NULL")
        autoindex = connection.execute(
            "SELECT rowid, * FROM sqlite_schema WHERE name = 'sqlite_autoindex_memory_1'"
        ).fetchall()
        connection.execute("DELETE FROM sqlite_schema WHERE name = 'sqlite_autoindex_memory_1'")
        connection.execute("UPDATE sqlite_schema SET sql = ? WHERE name = 'memory'", (loose,))
        connection.commit()
        connection.close()
        connection = sqlite3.connect(path)
        given = "CAST(? AS TEXT)" if isinstance(value, bytes) and column == "content" else "?"
        row = connection.execute("SELECT row FROM memory WHERE id = ?", (memory_id,)).fetchone()
        connection.execute(f"UPDATE memory SET {column} = {given} WHERE row = ?", (value, *row))
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_schema SET sql = ? WHERE name = 'memory'", (table,))
        connection.executemany(
            "INSERT INTO sqlite_schema (rowid, type, name, tbl_name, rootpage, sql) "
            "VALUES (?,?,?,?,?,?)",
            [*hidden, *autoindex],
        )
        connection.commit()
    finally:
        connection.close()


class TestOtherTables:
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        with opened(tmp_path) as store:
            yield store

    @pytest.mark.parametrize("note", ["'x'", "CAST(x'ff' AS TEXT)"])
    def test_bad_link_is_left_out_of_answers_and_stops_changes_of_its_ends(
        self, store: Store, note: str
    ) -> None:
        ids = fill(store)
        row = store.one(ids["good"]).row
        change_row(
            store,
            f"UPDATE link SET note = {note} WHERE source = ? AND target = ?",
            row,
            store.one(ids["near"]).row,
        )
        assert [link.target_id for link in store.one(ids["good"]).links] == [ids["bad"]]
        assert len(store.list()) == 3
        assert store.stats().verified.bad_row_counts == {"link": 1}
        before = store.revision
        corrupt(lambda: store.do(forget(ids["good"])))
        assert store.revision == before
        assert store.do(update(ids["bad"], importance=4)).updated
        assert store.do(Purge("anna", (ids["near"],))).purged_ids
        store.do(forget(ids["good"]))

    @pytest.mark.parametrize("change", ["memory_ids = '['", "summary = CAST(x'ff' AS TEXT)"])
    def test_bad_episode_is_left_out_of_pages(self, store: Store, change: str) -> None:
        ids = fill(store)
        other = store.do(episode("another", ids["good"])).episode.id
        change_row(store, f"UPDATE episode SET {change} WHERE id = ?", ids["episode"])
        page = store.read(EpisodesQuery("anna", ANY_TIME, "", 10, ""))
        assert [item.id for item in page.episodes] == [other]
        corrupt(
            lambda: store.engine.read(
                "default", EpisodeQuery("anna", ids["episode"], False)
            ).result()
        )
        assert store.stats().verified.bad_row_counts == {"episode": 1}
        assert store.do(Purge("anna", (ids["good"],))).episode_count == 1

    def test_bad_before_image_stops_undo_and_history_of_its_memory(self, store: Store) -> None:
        ids = fill(store)
        change_row(store, "UPDATE image SET before = '[' WHERE entity = 'memory'")
        corrupt(lambda: store.do(undo("on-bad")))
        history = store.engine.read("default", HistoryQuery("anna", ids["bad"], 10, ""))
        corrupt(lambda: history.result(wait_s()))
        assert store.one(ids["bad"]).fields.importance == 1
        assert store.do(update(ids["bad"], importance=2)).updated
        assert store.do(Purge("anna", (ids["bad"],))).version_count == 2

    def test_bad_kept_answer_stops_its_replay_and_no_purge(self, store: Store) -> None:
        store.apply(remember("text of it"), operation_id="asked")
        memory_id = store.list()[0].id
        change_row(store, "UPDATE reply SET answer = answer || ' '")
        corrupt(lambda: store.apply(remember("text of it"), operation_id="asked"))
        assert store.do(Purge("anna", (memory_id,))).reply_count == 1
        assert store.save("text of it")

    def test_bad_figures_are_left_out(self, store: Store) -> None:
        ids = fill(store)
        for _ in range(2):
            store.recall(RecallQuery("anna", vector=vector_of("good row").tobytes(), k=2))
        store.close()
        path = store.file()
        row = rows_of(path, ids["good"])
        change_row(path, "UPDATE access SET count = 7 WHERE row = ?", row)
        change_row(path, "UPDATE recall_event SET hits = '[' WHERE number = 1")
        store.engine = store._opened()
        assert store.one(ids["good"]).access_count == 0
        assert store.stats().verified.bad_row_counts == {"access": 1}
        page = store.read(HistoryQuery("anna", ids["good"]))
        assert [recaller.count for recaller in page.recallers] == [1]
        assert store.do(ReplayEvents("anna", 100)).replay_events == 1
        change_row(store, "UPDATE coactivation SET count = 7")
        store.recall(RecallQuery("anna", vector=vector_of("good row").tobytes(), k=2))
        assert store.do(ReplayEvents("anna", 100)).coactivation_updates == 1
        counts = store.stats().verified.bad_row_counts
        assert counts == {"access": 1, "recall_event": 1, "coactivation": 1}

    def test_bad_newest_operations_are_passed_over_when_it_is_opened(self, store: Store) -> None:
        fill(store)
        store.close()
        for revision in (6, 7):
            change_row(
                store.file(), "UPDATE operation SET time_us = 1 WHERE revision = ?", revision
            )
        store.engine = store._opened()
        assert (len(store.list()), store.revision) == (3, 7)
        assert store.stats().verified.bad_row_counts == {"operation": 2}
        store.save("after it")
        assert store.revision == 8

    def test_lost_revisions_or_settings_refuse_the_collection(self, store: Store) -> None:
        fill(store)
        store.close()
        path = store.file()
        good = path.read_bytes()
        for sql in (
            "UPDATE operation SET revision = 1 << 40 WHERE revision = 7",
            "UPDATE setting SET value = '{}' WHERE key = 'collection'",
            "UPDATE memory SET row = 1 << 40 WHERE row = 3",
        ):
            change_row(path, sql)
            store.engine = store._opened()
            corrupt(lambda: store.list())
            store.close()
            path.write_bytes(good)
        store.engine = store._opened()
        assert len(store.list()) == 3


def test_damaged_page_that_upkeep_meets_does_not_end_the_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path) as store:
        store.save("one")
        met = 0

        def bad(*_: Any) -> int:
            nonlocal met
            met += 1
            raise apsw.CorruptError("a damaged page")

        monkeypatch.setattr(CollectionFile, "drop_replies", bad)
        for number in range(3):
            store.clock.advance(HOUR_US)
            store.save(f"more {number}")
        assert met
        assert store.stats().state == "serving"


def test_error_that_is_kept_keeps_no_reader_in_the_past(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        ids = fill(store)

        def history() -> Any:
            asked = store.engine.read("default", HistoryQuery("anna", ids["near"], 10, ""))
            return asked.result(wait_s()).versions[0].memory

        store.do(update(ids["near"], importance=5))
        change_row(store, "UPDATE image SET before = ' ' || before WHERE key = '3'")
        kept = [corrupt(history) for _ in range(8)]
        change_row(store, "UPDATE image SET before = substr(before, 2) WHERE key = '3'")
        assert [history().fields.importance for _ in range(8)] == [5] * 8
        assert len(kept) == 8


@pytest.mark.parametrize("column", ["touched TEXT", "superseded_by TEXT", "confidence REAL"])
def test_flipped_bit_in_the_text_of_the_tables_is_corruption(tmp_path: Path, column: str) -> None:
    with opened(tmp_path) as store:
        ids = fill(store)
        store.close()
        data = store.file().read_bytes()
        # Every copy: SQLite leaves some where it moved them from.
        turned = column.replace("e", "d", 1)
        store.file().write_bytes(data.replace(column.encode(), turned.encode()))
        store.engine = store._opened()
        corrupt(lambda: store.do(link(ids["bad"], ids["near"])))
        corrupt(lambda: store.list())


def rows_of(path: Path, memory_id: str) -> int:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return int(connection.execute("SELECT row FROM memory WHERE id = ?", (memory_id,)).get)
    finally:
        connection.close()


def fading() -> Any:
    from totonoe_core.domain.cleanup import Decay

    return Decay("anna", close_below=0.01)


def audit() -> Any:
    from totonoe_core.rules.audit import AuditQuery

    return AuditQuery("anna")


def consolidated(store: Store) -> Iterator[Any]:
    run = store.engine.consolidate("default", "", ConsolidateQuery("anna")).result(wait_s())
    while messages := run.read().result(wait_s()):
        yield from messages


def test_sealed_rows_of_other_kinds_do_not_pass() -> None:
    sealed = rows.seal((1, "text", b"bytes", None, 0.5))
    assert rows.is_sound(sealed)
    for place, value in ((0, 2), (1, "Text"), (2, b"Bytes"), (3, 0), (4, 0.25), (5, 0)):
        assert not rows.is_sound((*sealed[:place], value, *sealed[place + 1 :]))
