"""The slow look at everything: rows, index and file; what differs is mended or told."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

from support.engines import (
    DAY_US,
    HOUR_US,
    Store,
    dismiss,
    episode,
    forget,
    link,
    opened,
    remember,
    update,
    vector_of,
)
from support.waits import wait_s
from totonoe_core.domain.memories import Purge
from totonoe_core.domain.queries import RecallQuery
from totonoe_core.engine.jobs import verify as verifying
from totonoe_core.engine.jobs.verify import Pace, Verifier
from totonoe_core.store.sqlite import checks
from totonoe_core.store.sqlite.schema import CATALOG, COLLECTION, open_reader, open_writer

FAST = Pace(share=1.0)
STEPS_MAX = 1000


@pytest.fixture
def store(store: Store) -> Store:
    one, two, gone, purged = (store.save(f"text {number}") for number in range(4))
    store.apply(link(one, two), operation_id="kept")
    store.do(update(one, content="text changed"))
    store.do(dismiss(one, two))
    store.do(episode("both", one, two))
    store.recall(RecallQuery("anna", vector=vector_of("text 1").tobytes()))
    store.do(forget(gone))
    store.do(Purge("anna", (purged,)))
    return store


def verifier_of(store: Store) -> Verifier:
    return store.engine._collections.opened(store.collection).result(wait_s()).verifier


def verified(store: Store) -> Any:
    """Figures after one whole pass."""
    verifier = verifier_of(store)
    for _ in range(STEPS_MAX):
        if not verifier.step(FAST):
            return store.stats().verified
    raise AssertionError("a pass that does not end")


def compared(store: Store) -> None:
    """Lets the look at indexes end that comes at each opening."""
    verifier = verifier_of(store)
    assert not verifier._comparison.ended
    assert verifier.due(Pace(interval_h=24.0))
    for _ in range(STEPS_MAX):
        if verifier._comparison.ended:
            return
        assert verifier.step(FAST)
    raise AssertionError("a look that does not end")


def change(store: Store, *statements: str) -> None:
    for sql in statements:
        store.alter(sql)


def test_pass_over_a_sound_collection_finds_nothing(store: Store) -> None:
    before = store.list(), store.revision
    store.clock.advance(HOUR_US)
    found = verified(store)
    tables = open_reader(store.file())
    counts = [tables.execute(f"SELECT count(*) FROM {name}").get for name in checks.COLLECTION_KEYS]
    tables.close()
    # The note of the pass itself is a row that came later.
    assert found.row_count == sum(counts) - 1
    assert found.begun_us == found.ended_us == store.clock.now_us
    assert (found.bad_row_counts, found.damage_count) == ({}, 0)
    assert (found.index_mismatch_count, found.reindexed_count) == (0, 0)
    assert (store.list(), store.revision) == before


def test_every_table_of_each_kind_of_file_is_looked_at(tmp_path: Path) -> None:
    for kind, keys in ((COLLECTION, checks.COLLECTION_KEYS), (CATALOG, checks.CATALOG_KEYS)):
        connection = open_writer(tmp_path / f"{len(keys)}.db", kind, create=True)
        tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
        assert {name for (name,) in tables} == set(keys)
        connection.close()


@pytest.mark.parametrize("limit", [1, 2, 256])
def test_steps_of_any_size_look_at_each_row_once(store: Store, limit: int) -> None:
    connection = open_reader(store.file())
    for name, key in checks.COLLECTION_KEYS.items():
        table, after, seen = checks.Table(connection, name, key), None, []
        for _ in range(STEPS_MAX):
            looked = table.step(after, limit)
            assert len(looked.keys) <= limit
            assert not looked.bad
            seen += looked.keys
            after = looked.last
            if after is None:
                break
        assert len(seen) == len(set(seen)) == connection.execute(f"SELECT count(*) FROM {name}").get
    connection.close()


@pytest.mark.parametrize(
    ("table", "sql"),
    [
        ("memory", "UPDATE memory SET content = 'other' WHERE row = 2"),
        ("link", "UPDATE link SET confidence = 0.25 WHERE source = 1"),
        ("access", "UPDATE access SET count = 9 WHERE row = 2"),
        ("operation", "UPDATE operation SET reason = 'other' WHERE revision = 1"),
        ("episode", "UPDATE episode SET summary = 'other'"),
        ("dismissal", "UPDATE dismissal SET note = 'other'"),
        ("image", "UPDATE image SET key = 'other' WHERE key = '1'"),
        ("reply", "UPDATE reply SET answer = 'other' WHERE rowid = 1"),
        ("recall_event", "UPDATE recall_event SET agent_id = CAST(x'ff' AS TEXT)"),
        ("setting", "INSERT INTO setting VALUES ('other', '', 0)"),
        ("embedding", "INSERT INTO embedding VALUES (1, 1, x'00', 0)"),
        ("coactivation", "INSERT INTO coactivation VALUES (1, 2, 3, 0)"),
    ],
)
def test_bad_row_of_any_table_is_counted_until_it_is_gone(
    store: Store, table: str, sql: str
) -> None:
    store.reopen()  # figures of access are on disk
    good = store.file().read_bytes()
    change(store, sql)
    found = verified(store)
    assert found.bad_row_counts == {table: 1}
    assert len(found.bad_memory_ids) == (table == "memory")
    assert len(store.list()) == (2 if table == "memory" else 3)
    store.close()
    store.file().write_bytes(good)
    store.engine = store._opened()
    assert verified(store).bad_row_counts == {}


def test_slot_that_is_not_as_its_row_is_made_anew(store: Store) -> None:
    collection = store.engine._collections.opened("default").result(wait_s())
    index = collection._state.index
    query = RecallQuery("anna", vector=vector_of("text 1").tobytes(), k=3, touch=False)
    before = store.list(), store.recall(query).hits

    def spoil(name: str, value: Any) -> None:
        chunk, at = index.view().chunk_of(index.slot_by_row[2])
        chunk.put(name, at, value)

    def turn() -> None:
        chunk, at = index.view().chunk_of(index.slot_by_row[2])
        chunk.vectors[at] = -chunk.vectors[at]

    wrongs: list[Callable[[], None]] = [
        lambda: spoil("status", 3),
        lambda: spoil("text_hash", 1),
        lambda: spoil("private", True),
        turn,
    ]
    for number, wrong in enumerate(wrongs, 1):
        wrong()
        assert verified(store).index_mismatch_count == number
        assert (store.list(), store.recall(query).hits) == before
    del index.slot_by_row[2]
    assert verified(store).index_mismatch_count == 5
    assert (store.list(), store.recall(query).hits) == before


def test_index_of_sqlite_that_misses_a_row_is_made_anew(store: Store) -> None:
    before = store.list()
    store.close()
    connection = apsw.Connection(str(store.file()))
    connection.execute("PRAGMA writable_schema = ON")
    sql = connection.execute("SELECT sql FROM sqlite_schema WHERE name = 'memory_by_time'").get
    hide = "UPDATE sqlite_schema SET sql = sql || ? WHERE name = 'memory_by_time'"
    connection.execute(hide, (" WHERE row <> 2",))
    connection.close()
    connection = apsw.Connection(str(store.file()))
    connection.execute("REINDEX memory_by_time")
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute("UPDATE sqlite_schema SET sql = ? WHERE name = 'memory_by_time'", (sql,))
    connection.close()
    store.engine = store._opened()
    assert len(store.list()) < len(before), "a List goes by that index"
    found = verified(store)
    assert (found.reindexed_count, found.damage_count) == (1, 0)
    assert store.list() == before
    assert verified(store).reindexed_count == 1


def test_writes_beside_a_pass_do_not_confuse_it(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("totonoe_core.base.limits.VERIFY_STEP_ROWS", 16)
    verifier, number = verifier_of(store), 0
    draw = random.Random(6)

    def text() -> str:
        """Like no other: this is not about what the guard reads."""
        return f"{draw.getrandbits(128):x}"

    saved = [store.save(text()) for _ in range(4)]
    for number in range(STEPS_MAX):
        store.save(text())
        store.do(update(saved[number % 4], content=text()))
        if not verifier.step(FAST):
            break
    found = store.stats().verified
    assert number > 20
    assert (found.bad_row_counts, found.index_mismatch_count, found.damage_count) == ({}, 0, 0)


def test_reader_that_saw_less_than_the_index_is_looked_at_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if a row were written between reading it and looking at its slot."""
    real, memory_id = verifying._fits, store.list()[0].id
    calls = 0

    def fits(*given: Any) -> bool:
        nonlocal calls
        calls += 1
        if calls == 1:
            store.do(update(memory_id, importance=5))
            return False
        return real(*given)

    monkeypatch.setattr(verifying, "_fits", fits)
    assert verified(store).index_mismatch_count == 0


def test_pass_is_due_once_an_interval_over_restarts_too(store: Store) -> None:
    pace = Pace(interval_h=24.0)
    assert not verifier_of(store).due(Pace(interval_h=0.0))
    assert verifier_of(store).due(pace)
    assert verifier_of(store).step(FAST)
    assert verifier_of(store).due(pace), "it is under way"
    ended_us = verified(store).ended_us
    assert ended_us is not None
    assert not verifier_of(store).due(pace)
    store.reopen()
    compared(store)
    assert not verifier_of(store).due(pace)
    assert store.stats().verified.ended_us == ended_us
    store.clock.advance(DAY_US)
    assert verifier_of(store).due(pace)


def test_purge_comes_before_the_check_of_the_file(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = verifier_of(store)._state.file
    file.to_clean = True
    looked, real = 0, checks.damage

    def counted(connection: Any, go_on: Any) -> list[str]:
        nonlocal looked
        looked += 1
        assert not go_on()
        return real(connection, go_on)

    monkeypatch.setattr(checks, "damage", counted)
    monkeypatch.setattr(checks, "_PROGRESS_STEPS", 1)
    found = verified(store)
    file.to_clean = False
    assert looked == 3, "then it is left to the next pass"
    assert found.ended_us is not None


def test_share_says_how_long_it_rests() -> None:
    assert Pace(share=0.05).rest(1.0) == pytest.approx(19.0)
    assert Pace(share=1.0).rest(1.0) == 0.0


def test_thread_verifies_what_is_open_and_ends_with_the_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verifying, "IDLE_S", 0.001)
    ended = threading.Event()
    real = Verifier._end

    def told(self: Verifier) -> None:
        real(self)
        ended.set()

    monkeypatch.setattr(Verifier, "_end", told)
    with opened(tmp_path, verify=FAST) as store:
        store.do(remember("text"))
        assert ended.wait(wait_s())
        assert store.stats().verified.row_count
        thread = store.engine._verifying._thread
    assert not thread.is_alive()


def test_closing_ends_a_check_that_rests(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    verifier = verifier_of(store)
    while verifier._tables or not verifier._under_way:
        verifier.step(FAST)
    monkeypatch.setattr(checks, "_PROGRESS_STEPS", 1)
    resting = threading.Event()
    slow = Pace(share=1e-9)
    real = Pace.rest

    def rest(self: Pace, used_s: float) -> float:
        resting.set()
        return real(self, used_s)

    monkeypatch.setattr(Pace, "rest", rest)
    thread = threading.Thread(target=verifier.step, args=(slow,))
    thread.start()
    assert resting.wait(wait_s())
    store.close()
    thread.join(wait_s())
    assert not thread.is_alive()


def test_what_a_pass_compares_is_all_that_the_guard_goes_by(store: Store) -> None:
    memory = store.list()[0]
    index = verifier_of(store)._state.index
    assert verifying._fits(index, memory)
    turned = np.frombuffer(memory.vector, np.float32)[::-1].tobytes()
    for wrong in (
        replace(memory, content="other words"),
        replace(memory, vector=turned),
        replace(memory, updated_us=1),
        replace(memory, agent_id="nobody"),
    ):
        assert not verifying._fits(index, wrong)
