"""Snapshots in a database: what several daemons see of them, and what damage and breaks leave."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from support.engines import HOUR_US, Store
from support.postgres import engines, migrated, psycopg
from support.snapshots import listed, restore
from support.waits import wait_s, wait_until
from totonoe_core.base import limits
from totonoe_core.base.errors import AlreadyExists, Corruption, NotConfirmed, NotFound, Unavailable
from totonoe_core.domain.memories import Purge
from totonoe_core.domain.snapshots import Snapshot, SnapshotSchedule, SnapshotUse
from totonoe_core.engine.catalog import restoring
from totonoe_core.store.copying import TABLES
from totonoe_core.store.postgres import snapshots


class Database:
    """A database as its administrator sees it."""

    def __init__(self) -> None:
        self.url = migrated()

    def run(self, statement: str, *values: object) -> list[Any]:
        """The rows of a statement, which is committed."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            done = connection.execute(statement, values or None)
            return done.fetchall() if done.description else []

    def unlisted_count(self) -> int:
        """Rows of uids that neither the catalogue nor the list of snapshots knows."""
        known = "SELECT uid FROM catalogue_collection UNION SELECT id FROM snapshot"
        return sum(
            self.run(f"SELECT count(*) FROM {table} WHERE uid NOT IN ({known})")[0][0]
            for table in (*TABLES, "collection")
        )

    def is_waited_for(self) -> bool:
        """Whether a daemon waits for the snapshots of another one."""
        asked = "SELECT 1 FROM pg_locks WHERE relation = 'snapshot'::regclass AND NOT granted"
        return bool(self.run(asked))

    def break_the_work(self) -> None:
        """End the connection that has the lock on snapshots."""
        self.run(
            "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE relation = 'snapshot'::regclass "
            "AND mode = 'ShareRowExclusiveLock' AND granted"
        )


class Held:
    """A copy of rows that stands still until the test lets it go on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._copy, self._patch = snapshots._copy, monkeypatch
        self.there, self.go_on = threading.Event(), threading.Event()
        monkeypatch.setattr(snapshots, "_copy", self._held)

    def _held(self, *given: Any) -> None:
        self._copy(*given)
        self.there.set()
        assert self.go_on.wait(wait_s())

    def wait(self) -> None:
        """Wait until the rows are copied; the next copy is not held."""
        assert self.there.wait(wait_s())
        self._patch.setattr(snapshots, "_copy", self._copy)


@pytest.fixture
def database() -> Database:
    return Database()


@pytest.fixture
def pair(tmp_path: Path, database: Database) -> Iterator[list[Store]]:
    """Two engines over the database."""
    with engines(tmp_path, database.url, 2) as found:
        yield found


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    made = Held(monkeypatch)
    yield made
    made.go_on.set()


def taking(store: Store, operation_id: str = "", name: str = "") -> Future[Any]:
    return store.engine.create_snapshot(
        store.collection, operation_id, agent_id="anna", name=name, comment=""
    )


def take(store: Store, operation_id: str = "", name: str = "") -> Snapshot:
    return taking(store, operation_id, name).result(wait_s()).snapshot


def texts(store: Store, name: str = "default") -> list[str]:
    store.collection = name
    try:
        return sorted(memory.content for memory in store.list() if memory.content)
    except NotFound:
        return []
    finally:
        store.collection = "default"


def test_snapshot_of_one_daemon_is_listed_restored_and_deleted_by_any(
    pair: list[Store], database: Database
) -> None:
    one, other = pair
    one.save("the pump is hot")
    made = take(one, name="first")
    assert listed(other) == [made]
    one.save("the valve is cold")
    assert restore(other, made, "copy").restored
    wait_until(lambda: texts(one, "copy") == ["the pump is hot"])
    other.engine.delete_snapshot(made.id, "", agent_id="anna").result(wait_s())
    assert listed(one) == []
    assert database.unlisted_count() == 0
    with pytest.raises(NotFound):
        restore(one, made, "third")


def test_replaced_collection_is_the_restored_one_at_all_daemons_and_undone_at_any(
    pair: list[Store],
) -> None:
    one, other = pair
    one.save("the pump is hot")
    made = take(one)
    one.save("the valve is cold")
    wait_until(lambda: len(texts(other)) == 2)
    token = restore(one, made, "default").confirmation_token
    assert restore(one, made, "default", token, "op-restore").restored
    wait_until(lambda: texts(other) == ["the pump is hot"])
    other.save("the hose is long")
    other.restore_collection("default", "op-restore")
    wait_until(lambda: texts(one) == ["the pump is hot", "the valve is cold"])


def test_write_of_another_daemon_to_what_is_replaced_needs_another_token(
    pair: list[Store], monkeypatch: pytest.MonkeyPatch, database: Database
) -> None:
    one, other = pair
    one.save("the pump is hot")
    made = take(one)
    token = restore(one, made, "default").confirmation_token
    original = restoring.purge_rows

    def after_it(*given: Any) -> int:
        other.save("in between")
        return original(*given)

    monkeypatch.setattr(restoring, "purge_rows", after_it)
    with pytest.raises(NotConfirmed):
        restore(one, made, "default", token)
    assert texts(one) == ["in between", "the pump is hot"]
    assert database.unlisted_count() == 0


def test_purge_at_another_daemon_while_it_is_restored_counts(
    pair: list[Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = pair
    secret = one.save("the code is 4711")
    one.save("the pump is hot")
    made = take(one)
    original, purged = restoring.purge_rows, []

    def after_it(*given: Any) -> int:
        count = original(*given)
        if not purged:
            purged.append(other.do(Purge("anna", (secret,))))
        return count

    monkeypatch.setattr(restoring, "purge_rows", after_it)
    assert restore(one, made, "copy").purged_again_count == 1
    assert texts(one, "copy") == ["the pump is hot"]


@pytest.mark.parametrize("use", [SnapshotUse.REWRITE, SnapshotUse.DELETE])
def test_purge_waits_for_the_snapshot_that_another_daemon_takes(
    pair: list[Store], held: Held, database: Database, use: SnapshotUse
) -> None:
    one, other = pair
    secret = one.save("the code is 4711")
    one.save("the pump is hot")
    made = taking(one)
    held.wait()
    other.do(Purge("anna", (secret,)))
    done = other.engine.purge_snapshots("default", "anna", [secret], use, dry_run=False)
    wait_until(database.is_waited_for)
    assert not done.done()
    held.go_on.set()
    snapshot = made.result(wait_s()).snapshot
    assert snapshot.total_count == 2, "its moment was before the purge"
    (about,) = done.result(wait_s())
    assert (about.snapshot.id, about.memory_count) == (snapshot.id, 1)
    left = listed(one)
    if use is SnapshotUse.DELETE:
        assert about.deleted and not left
        return
    assert (left[0].total_count, left[0].rewrite_count) == (1, 1)
    assert restore(other, left[0], "copy").purged_again_count == 0
    assert texts(other, "copy") == ["the pump is hot"]
    assert database.run("SELECT 1 FROM memory WHERE content LIKE '%4711%'") == []


def test_writers_do_not_wait_for_a_snapshot(pair: list[Store], held: Held) -> None:
    one, other = pair
    one.save("the pump is hot")
    made = taking(one)
    held.wait()
    one.save("the valve is cold")
    other.save("the hose is long")
    held.go_on.set()
    assert made.result(wait_s()).snapshot.revision == 1


@pytest.mark.parametrize(("operation_ids", "refused"), [(("op", "op"), False), (("", ""), True)])
def test_two_of_one_operation_id_or_name_at_once_are_one(
    pair: list[Store],
    held: Held,
    database: Database,
    operation_ids: tuple[str, str],
    refused: bool,
) -> None:
    one, other = pair
    one.save("the pump is hot")
    first = taking(one, operation_ids[0], "first")
    held.wait()
    second = taking(other, operation_ids[1], "first")
    wait_until(database.is_waited_for)
    held.go_on.set()
    made = first.result(wait_s()).snapshot
    if refused:
        with pytest.raises(AlreadyExists) as found:
            second.result(wait_s())
        assert found.value.reason == "SNAPSHOT_EXISTS"
    else:
        assert second.result(wait_s()).snapshot == made
    assert listed(other) == [made]


def test_schedules_of_two_daemons_take_one(tmp_path: Path, database: Database, held: Held) -> None:
    schedule = SnapshotSchedule(2.0, 2)
    with engines(tmp_path, database.url, 2, snapshot_schedule=schedule) as (one, other):
        one.save("the pump is hot")
        one.clock.advance(2 * HOUR_US)

        def due(store: Store) -> Future[int]:
            kept = store.engine.snapshots
            return kept._submit(kept.run_due)

        wait_until(lambda: texts(other))
        first = due(one)
        held.wait()
        second = due(other)
        wait_until(database.is_waited_for)
        held.go_on.set()
        assert first.result(wait_s()) + second.result(wait_s()) == 1
        assert len(listed(other)) == 1


def test_wait_for_another_daemon_has_an_end(
    pair: list[Store], database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _ = pair
    one.save("the pump is hot")
    monkeypatch.setattr(limits, "SNAPSHOT_LOCK_WAIT_S", 1)
    with psycopg.connect(database.url) as connection:
        connection.execute("LOCK TABLE snapshot IN SHARE ROW EXCLUSIVE MODE")
        with pytest.raises(Unavailable) as refused:
            take(one)
        assert refused.value.reason == "OVERLOADED"
        assert listed(one) == [], "reads do not wait"
    assert take(one).total_count == 1


def test_stop_ends_the_wait_for_another_daemon(pair: list[Store], database: Database) -> None:
    one, _ = pair
    one.save("the pump is hot")
    with psycopg.connect(database.url) as connection:
        connection.execute("LOCK TABLE snapshot IN SHARE ROW EXCLUSIVE MODE")
        made = taking(one)
        wait_until(database.is_waited_for)
        one.close()
        with pytest.raises(Unavailable) as refused:
            made.result(0)
        assert refused.value.reason == "SHUTTING_DOWN"


def test_connection_that_ends_meanwhile_leaves_nothing(
    pair: list[Store], held: Held, database: Database
) -> None:
    one, other = pair
    one.save("the pump is hot")
    made = taking(one)
    held.wait()
    database.break_the_work()
    held.go_on.set()
    with pytest.raises(Unavailable) as refused:
        made.result(wait_s())
    assert refused.value.reason == "STORE_UNAVAILABLE"
    assert listed(one) == []
    assert database.unlisted_count() == 0
    snapshot = take(other)
    broken = Held(held._patch)
    restored = one.engine.restore_snapshot(
        snapshot.id, "copy", "", agent_id="anna", confirmation_token=""
    )
    broken.wait()
    database.break_the_work()
    broken.go_on.set()
    with pytest.raises(Unavailable):
        restored.result(wait_s())
    assert database.unlisted_count() == 0
    assert texts(one, "copy") == []
    assert restore(one, snapshot, "copy").restored


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE memory SET content = content || '!' WHERE uid = %s AND row = 1",
        "DELETE FROM memory WHERE uid = %s AND row = 1",
        "DELETE FROM operation WHERE uid = %s AND revision = 1",
        "UPDATE snapshot SET about = replace(about, ':2', ':1') WHERE id = %s",
    ],
)
def test_damage_of_a_snapshot_is_found_before_it_is_restored(
    pair: list[Store], database: Database, damage: str
) -> None:
    one, _ = pair
    one.save("the pump is hot")
    one.save("the valve is cold")
    made = take(one)
    database.run(damage, made.id)
    with pytest.raises(Corruption):
        restore(one, made, "copy")
    assert texts(one, "copy") == []
    assert database.unlisted_count() == 0
    assert one.stats().active_count == 2, "Stats goes on, whatever is damaged"


def test_of_a_damaged_collection_no_snapshot_is_taken(
    pair: list[Store], database: Database
) -> None:
    one, _ = pair
    one.save("the pump is hot")
    database.run("UPDATE memory SET content = content || '!'")
    with pytest.raises(Corruption, match="no snapshot of collection 'default' was taken"):
        take(one)
    assert database.unlisted_count() == 0
