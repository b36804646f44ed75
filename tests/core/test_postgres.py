"""Daemons over one database: one truth, whoever is asked."""

from __future__ import annotations

import itertools
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from support.cataloging import create
from support.engines import (
    Store,
    contents,
    dismiss,
    episode,
    forget,
    link,
    merge,
    remember,
    undo,
    update,
    vector_at,
    vector_of,
)
from support.postgres import database, dumped, engines, migrated, psycopg
from support.waits import wait_s, wait_until
from totonoe_core.base.errors import Corruption, NotFound, TotonoeError, UnsupportedFormat
from totonoe_core.domain.memories import Purge
from totonoe_core.domain.policy import Tokenizer
from totonoe_core.domain.queries import HistoryQuery
from totonoe_core.domain.records import Status
from totonoe_core.engine.state import state as state_module
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.index.collection_index import Features, guard_tokens
from totonoe_core.store.postgres import migrate, notices
from totonoe_core.store.postgres.reader import Rows
from totonoe_core.store.postgres.session import Session
from totonoe_core.store.postgres.store import PostgresStore

DAEMONS = 2
Open = Callable[..., Any]


@pytest.fixture
def url() -> str:
    return migrated()


@pytest.fixture
def daemons(tmp_path: Path, url: str) -> Iterator[list[Store]]:
    with engines(tmp_path, url, DAEMONS) as found:
        yield found


def state_of(store: Store) -> CollectionState:
    (one,) = store.engine._collections.use_open()
    try:
        state: CollectionState = one.future.result()._state
        return state
    finally:
        store.engine._collections.give_back(one)


def test_what_one_daemon_does_another_shows_and_takes_back(daemons: list[Store]) -> None:
    one, other = daemons
    kept = one.save("the heating is set to 21 degrees")
    gone = one.save("the cat sleeps on the sofa")
    other.do(update(kept, content="the heating is set to 23 degrees", force=True))
    other.do(forget(gone))
    assert other.one(kept).content == "the heating is set to 23 degrees"
    # Each batch catches up first, so a write sees all that was answered before it.
    one.save("the door is blue")
    assert one.one(kept).content == "the heating is set to 23 degrees"
    assert one.one(gone).status is Status.FORGOTTEN
    revision = one.revision
    other.do(undo(revision - 1))
    assert other.one(gone).status is Status.ACTIVE
    shown = other.engine.read("default", HistoryQuery("anna", gone, 10, "")).result(wait_s())
    assert len(shown.versions) == 3, "saved, forgotten, back"


def test_reads_show_what_another_daemon_committed_within_seconds(daemons: list[Store]) -> None:
    one, other = daemons
    other.save("so that the collection is open")
    kept = one.save("the heating is set to 21 degrees")
    wait_until(lambda: shows(other, kept))
    assert other.one(kept).content == "the heating is set to 21 degrees"


def shows(store: Store, memory_id: str) -> bool:
    try:
        return bool(store.one(memory_id))
    except NotFound:
        return False


@pytest.mark.parametrize("lost", [False, True], ids=["", "its connection was lost"])
def test_daemon_hears_of_a_commit_without_looking(
    daemons: list[Store], url: str, monkeypatch: pytest.MonkeyPatch, lost: bool
) -> None:
    one, other = daemons
    monkeypatch.setattr("totonoe_core.engine.writer.writer.TOUCH_FLUSH_S", 3600.0)
    other.save("so that the collection is open, and its writer looks at nothing by itself")
    if lost:
        before = listeners(url)
        end(url, before)
        wait_until(lambda: len(listeners(url) - before) == DAEMONS)
    kept = one.save("the heating is set to 21 degrees")
    wait_until(lambda: shows(other, kept))


def test_commits_of_a_burst_are_told_in_one_notice_behind_the_last(
    daemons: list[Store], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _ = daemons
    standing, go_on, pauses = threading.Event(), threading.Event(), []

    def stand_still(seconds: float) -> None:
        pauses.append(seconds)
        standing.set()
        go_on.wait(wait_s())

    def stands() -> bool:
        one.save(f"note {next(numbers)} of before")
        return standing.is_set()

    monkeypatch.setattr(notices, "time", SimpleNamespace(sleep=stand_still))
    numbers = itertools.count()
    wait_until(stands)
    with psycopg.connect(url, autocommit=True) as listener:
        listener.execute("LISTEN totonoe")
        for number in range(20):
            one.save(f"note {number} of a burst")
        go_on.set()
        (heard,) = listener.notifies(timeout=wait_s(), stop_after=1)
        (count,) = listener.execute("SELECT count(*) FROM memory").fetchone()
        assert count == next(numbers) + 20, "all is there by then"
        listener.execute("SELECT pg_notify('totonoe', 'the end')")
        (behind,) = listener.notifies(timeout=wait_s(), stop_after=1)
    assert heard.payload == state_of(one).file._session.uid
    assert heard.pid != state_of(one).file._session._connection.info.backend_pid
    assert behind.payload == "the end", "one notice of all"
    assert all(0.010 <= pause <= 0.020 for pause in pauses)


def test_commit_between_two_statements_of_a_look_is_not_overwritten(daemons: list[Store]) -> None:
    one, other = daemons
    other.save("so that the collection is open")
    session = state_of(other).file._session  # type: ignore[attr-defined]
    execute = session.execute

    def and_a_commit(query: str, *values: Any) -> Any:
        found = execute(query, *values)
        if "max(row)" in query:
            session.execute = execute
            one.save("committed while the other one looks")
        return found

    session.execute = and_a_commit
    one.save("what the other one looks for")
    wait_until(lambda: session.execute is execute)
    other.save("written by the one that looked")
    texts = {memory.content for memory in contents(one)["memories"].values()}
    assert len(texts) == 4, "none is in the place of another one"
    wait_until(lambda: held_by(state_of(one)) == held_by(state_of(other)))


def test_commit_while_another_daemon_opens_a_collection_is_taken_in_whole(
    daemons: list[Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = daemons
    kept = one.save("there before")
    read = state_module.read_settings

    def and_a_commit(rows: Any, *name: str) -> Any:
        found = read(rows, *name)
        monkeypatch.setattr(state_module, "read_settings", read)
        one.set(("guard.preset", "ego"))
        return found

    monkeypatch.setattr(state_module, "read_settings", and_a_commit)
    other.one(kept)
    assert state_module.read_settings is read
    wait_until(lambda: state_of(other).published == state_of(one).published)


def test_new_memory_never_takes_the_row_of_another_daemons(daemons: list[Store]) -> None:
    one, other = daemons
    other.save("so that the collection is open")
    kept = one.save("the heating is set to 21 degrees")
    wait_until(lambda: shows(other, kept))
    # As if it had not heard of the newest memory, which no lock and no look allows.
    state_of(other)._last_row -= 1
    with pytest.raises(Corruption, match="memory_pkey") as refused:
        other.save("the door is blue")
    assert "door" not in refused.value.message
    assert one.one(kept).content == "the heating is set to 21 degrees"
    other.reopen()
    assert other.save("the door is blue")


def listeners(url: str) -> set[int]:
    """Return the server's processes of the connections that hear of commits."""
    with psycopg.connect(url, autocommit=True) as connection:
        found = connection.execute(
            "SELECT pid FROM pg_stat_activity "
            "WHERE query ~ '^(LISTEN|SELECT pg_notify)' AND datname = current_database()"
        )
        return {pid for (pid,) in found}


def end(url: str, processes: set[int]) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(pid) FROM unnest(%s) pid", [[*processes]])


def test_operation_id_is_answered_again_by_any_daemon(daemons: list[Store]) -> None:
    one, other = daemons
    command = remember("the heating is set to 21 degrees")
    first = one.apply(command, operation_id="op-1")
    again = other.apply(command, operation_id="op-1")
    assert again.replayed
    assert again.results == first.results


def test_check_knows_what_another_daemon_saved_and_leaves_nothing(daemons: list[Store]) -> None:
    one, other = daemons
    other.save("so that the collection is open")
    kept = one.save("the heating is set to 21 degrees")
    before = contents(one)
    revision = one.revision
    checked = other.check(remember("the heating is set to 21 degrees"))
    assert not checked.would_save
    assert checked.guard.duplicate is not None
    assert checked.guard.duplicate.memory_id == kept
    for number in range(5):
        assert other.check(remember(f"check {number}: the door is blue")).would_save
    assert one.save("the door is blue") and one.revision == revision + 1
    assert before["memories"].keys() < contents(one)["memories"].keys()
    assert len(contents(one)["memories"]) == len(before["memories"]) + 1


def test_collections_of_one_daemon_are_there_for_all(daemons: list[Store]) -> None:
    one, other = daemons
    one.collection = other.collection = "shop"
    create(one, "shop")
    kept = one.save("the shop opens at nine")
    assert other.one(kept).content == "the shop opens at nine"
    with pytest.raises(TotonoeError) as refused:
        create(other, "shop")
    assert refused.value.reason == "COLLECTION_EXISTS"


def test_save_takes_two_round_trips_and_what_it_reads(
    daemons: list[Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = daemons[0]
    near = vector_of("the heating")
    for number in range(8):
        one.save(f"note {number}", vector=vector_at(near, 0.9, number), force=True)
    trips: list[list[str]] = []
    run = Session._run

    def counted(self: Session, written: Any, statements: Any, one_message: bool) -> Any:
        if self is state_of(one).file._session:
            trips.append([query for query, _ in (*written, *statements)])
        return run(self, written, statements, one_message)

    monkeypatch.setattr(Session, "_run", counted)
    command = remember("the heating is set to 21 degrees", vector=near, force=True)
    answer = one.apply(command, operation_id="op-1")
    monkeypatch.undo()
    assert len(answer.results[0].links) > 1
    first, *read, last = trips
    assert first[0].startswith("BEGIN") and any("FOR UPDATE" in query for query in first)
    assert last[-1] == "COMMIT" and sum("INTO link" in query for query in last) == 1
    # Texts of the near memories, and how many links they have.
    assert all(len(queries) == 1 and queries[0].startswith("SELECT") for queries in read)
    assert len(read) <= 3
    assert not any("SAVEPOINT" in query for queries in trips for query in queries)


@pytest.mark.parametrize("sent", [False, True], ids=["waiting", "sent"])
def test_savepoint_that_raises_takes_back_its_own_part(daemons: list[Store], sent: bool) -> None:
    one = daemons[0]
    kept = one.save("the heating is set to 21 degrees")

    def work() -> list[str | None]:
        file = state_of(one).file
        with file.transaction():
            file.put_setting("before", "1", 0, None)
            with pytest.raises(KeyError), file.savepoint():
                file.put_setting("within", "1", 0, None)
                file.put_reply("anna", "op-1", b"", "", 1)
                if sent:
                    assert file.rows.setting("within") == "1"
                raise KeyError("op-1")
            with file.savepoint():
                file.put_setting("behind", "1", 0, None)
                if sent:
                    assert file.rows.setting("behind") == "1"
            assert file.reply("anna", "op-1") is None
        return [file.rows.setting(key) for key in ("before", "within", "behind")]

    (collection,) = one.engine._collections.use_open()
    try:
        assert collection.future.result()._writer.call(work).result(wait_s()) == ["1", None, "1"]
    finally:
        one.engine._collections.give_back(collection)
    assert one.one(kept)


def test_answer_that_was_asked_for_ahead_is_found_once_it_is_kept(daemons: list[Store]) -> None:
    one = daemons[0]
    one.save("so that the collection is open")
    command = remember("the heating is set to 21 degrees")
    # Both are in one batch, or in two; the second is told what the first was.
    calls = [one.engine.apply("default", "op-1", (command,)) for _ in range(2)]
    first, again = (call.result(wait_s()) for call in calls)
    assert (first.replayed, again.replayed) == (False, True)
    assert first.results == again.results


def test_first_memory_that_another_daemon_replaced_is_known(daemons: list[Store]) -> None:
    one, other = daemons
    kept = one.save("the heating is set to 21 degrees")

    def known() -> bool:
        def look() -> bool:
            with (file := state_of(one).file).transaction():
                return file.has_superseded

        (collection,) = one.engine._collections.use_open()
        try:
            return bool(collection.future.result()._writer.call(look).result(wait_s()))
        finally:
            one.engine._collections.give_back(collection)

    assert not known()
    other.do(replace(remember("the heating is set to 23 degrees"), supersede_ids=(kept,)))
    assert known()


@pytest.mark.parametrize("seed", range(3))
def test_index_caught_up_in_random_steps_equals_one_rebuilt(
    daemons: list[Store], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = random.Random(seed)
    ids: list[str] = []
    for number in range(40):
        store = generator.choice(daemons)
        change(store, generator, ids, number)
    for store in daemons:
        # A last write of each, so that both are at the newest revision.
        store.save(f"the end of {store.path.name}")
    daemons[0].save("the very end")
    states = [state_of(store) for store in daemons]
    wait_until(lambda: states[0].published.revision == states[1].published.revision)
    held = [held_by(state) for state in states]
    assert held[0] == held[1]
    # What is rebuilt reads all texts, and what caught up read none.
    monkeypatch.setattr(Rows, "readings", lambda *_: {})
    for store, before in zip(daemons, held, strict=True):
        store.reopen()
        store.save(f"opened again: {store.path.name}")
        after = held_by(state_of(store))
        assert {row: after[row] for row in before} == before


def test_daemon_that_catches_up_reads_no_text_that_another_one_read(
    daemons: list[Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = daemons
    other.save("so that the collection is open")
    read = Counter[str]()
    of = Features.of

    def counted(content: str, *told: Any) -> Features:
        read[content] += 1
        return of(content, *told)

    monkeypatch.setattr(Features, "of", counted)
    kept = one.save("the heating is set to 21 degrees")
    other.save("the door is blue")
    one.do(forget(kept))
    forgotten = one.revision
    other.save("the door of the cellar is red")
    assert other.one(kept).status is Status.FORGOTTEN
    assert read["the heating is set to 21 degrees"] == 1
    one.do(undo(forgotten))
    before = read.copy()
    other.save("the lamp of the hall is broken")
    assert other.one(kept).status is Status.ACTIVE
    assert read["the heating is set to 21 degrees"] == before["the heating is set to 21 degrees"]
    one.do(update(kept, content="the heating is set to 23 degrees", force=True))
    other.save("the roof leaks above the kitchen")
    assert read["the heating is set to 23 degrees"] == 1
    wait_until(lambda: state_of(one).published.revision == other.revision)
    assert held_by(state_of(one)) == held_by(state_of(other))


def test_database_of_the_first_version_is_migrated_with_its_rows(tmp_path: Path) -> None:
    made = database()
    with psycopg.connect(made) as connection:
        for word in ("CREATE TABLE totonoe_version (version integer NOT NULL)",
                     "INSERT INTO totonoe_version VALUES (1)"):  # fmt: skip
            connection.execute(word)
        connection.execute((migrate._VERSIONS / "1.sql").read_bytes())
    assert PostgresStore(made, tmp_path / "migrating").migrate() == 1
    with engines(tmp_path, made, 2) as (one, other):
        kept = one.save("the heating is set to 21 degrees")
        with psycopg.connect(made) as connection:
            connection.execute("UPDATE memory SET reading = ''")  # as of a row of version 1
        other.save("the door is blue")
        one.save("the roof leaks above the kitchen")
        other.save("the cat sleeps on the sofa")
        assert other.one(kept).content == "the heating is set to 21 degrees"
        wait_until(lambda: state_of(one).published.revision == other.revision)
        assert held_by(state_of(one)) == held_by(state_of(other))


def change(store: Store, generator: random.Random, ids: list[str], number: int) -> None:
    """Make one change of any kind; refusals are answers too."""
    some = generator.sample(ids, min(len(ids), 2))
    kinds = ["save", *(["update", "forget", "link", "merge", "episode"] * (len(some) == 2))]
    kinds += ["dismiss", "undo"] * (len(some) == 2) + ["purge"] * (len(ids) > 8)
    try:
        match generator.choice(kinds):
            case "save":
                ids.append(store.save(f"note {number} about {vector_of(str(number))[0]:.6f}"))
            case "update":
                store.do(update(some[0], content=f"another text {number}"))
            case "forget":
                store.do(forget(some[0]))
            case "link":
                store.do(link(*some))
            case "merge":
                store.do(merge(*some))
            case "episode":
                store.do(episode(f"episode {number}", *some))
            case "dismiss":
                store.do(dismiss(*some))
            case "undo":
                store.do(undo(generator.randint(1, store.revision)))
            case "purge":
                store.do(Purge("anna", (some[0],), "must go"))
    except TotonoeError:
        pass


def held_by(state: CollectionState) -> dict[int, tuple[object, ...]]:
    """What an index holds of each row that it shows."""
    index = state.index
    view = index.view()
    return {
        int(row): (
            *(int(view.value(name, slot)) for name in ("status", "created", "updated", "private")),
            *(int(view.value(name, slot)) for name in ("text_hash", "canonical_hash", "id_bits")),
            np.asarray(index.vector(int(row))).tobytes(),
            np.asarray(view.tokens(slot)).tobytes(),
        )
        for row in range(1, state.last_row + 1)
        if (slot := index.slot_by_row.get(row)) is not None
    }


def test_purge_leaves_nothing_of_the_text_in_a_dump(daemons: list[Store], url: str) -> None:
    one, other = daemons
    secret, vector = "the code of the safe is 4711", vector_of("the code of the safe is 4711")
    memory_id = one.save(secret)
    other.do(update(memory_id, content="the code of the safe is 4712", force=True))
    other.apply(remember("the code of the safe is 4712"), operation_id="op-refused")
    read = guard_tokens("the code of the safe is 4712", Tokenizer.SCRIPT_AWARE)
    traces = ("safe", vector.tobytes().hex(), read.tobytes().hex(), b"safe".hex())
    before = dumped(url)
    assert all(trace in before for trace in traces[:3]), "the test would find them"
    one.do(Purge("anna", (memory_id,), "must go"))
    after = dumped(url)
    assert not [trace for trace in traces if trace in after]
    assert memory_id in after, "its id is never used again"
    other.save("so that it catches up")
    with pytest.raises(NotFound):
        other.one(memory_id)


OF_NO_COLLECTION = {
    "totonoe_version", "access_row", "catalogue", "catalogue_collection", "catalogue_operation",
    "snapshot",
}  # fmt: skip


def test_every_key_begins_with_the_collection_so_that_tables_can_be_spread(url: str) -> None:
    with psycopg.connect(url) as connection:
        first = connection.execute(
            "SELECT indrelid::regclass::text, attname FROM pg_index JOIN pg_attribute "
            "ON attrelid = indrelid AND attnum = indkey[0] "
            "JOIN pg_class c ON c.oid = indrelid AND relnamespace = 'public'::regnamespace"
        ).fetchall()
        foreign = connection.execute("SELECT conname FROM pg_constraint WHERE contype = 'f'")
        extensions = connection.execute("SELECT extname FROM pg_extension").fetchall()
        assert not foreign.fetchall()
    tables = {table for table, _ in first}
    assert {"memory", "operation", "link", "reply"} <= tables - OF_NO_COLLECTION
    assert {column for table, column in first if table not in OF_NO_COLLECTION} == {"uid"}
    assert extensions == [("plpgsql",)], "none but that of every database"


def test_database_of_another_application_is_left_alone(tmp_path: Path) -> None:
    made = database()
    with psycopg.connect(made, autocommit=True) as connection:
        connection.execute("CREATE TABLE customer (id integer)")
    with pytest.raises(UnsupportedFormat, match="1 tables of another application"):
        PostgresStore(made, tmp_path).migrate()
    with psycopg.connect(made) as connection:
        count = connection.execute(
            "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
        ).fetchone()
    assert count == (1,)


def test_database_without_tables_or_of_a_later_version_is_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(UnsupportedFormat, match="migrate it first"):
        PostgresStore(database(), tmp_path).catalogue()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("UPDATE totonoe_version SET version = 99")
    with pytest.raises(UnsupportedFormat, match="version 99"):
        PostgresStore(url, tmp_path).catalogue()
    with pytest.raises(UnsupportedFormat, match="version 99"):
        PostgresStore(url, tmp_path).migrate()


def test_tables_of_version_1_get_snapshots(tmp_path: Path) -> None:
    made = database()
    with psycopg.connect(made, autocommit=True) as connection:
        connection.execute((migrate._VERSIONS / "1.sql").read_bytes())
        connection.execute("CREATE TABLE totonoe_version (version integer NOT NULL)")
        connection.execute("INSERT INTO totonoe_version VALUES (1)")
    store = PostgresStore(made, tmp_path)
    with pytest.raises(UnsupportedFormat, match="of version 1, this program of 2: migrate it"):
        store.catalogue()
    assert store.migrate() == 1
    assert list(store.snapshots.all()) == []
    store.snapshots.close()


def test_behind_a_transaction_pooler_nothing_is_prepared(tmp_path: Path, url: str) -> None:
    for pooled in (True, False):
        store = PostgresStore(url, tmp_path, pooled=pooled)
        catalogue = store.catalogue()
        for _ in range(5):
            catalogue.names()
        kept = catalogue._session.execute("SELECT count(*) FROM pg_prepared_statements").get
        assert (kept == 0) is pooled
        assert (store.notices is None) is pooled
        catalogue.close()


def test_migration_of_two_at_once_is_done_once(tmp_path: Path) -> None:
    made = database()
    stores = [PostgresStore(made, tmp_path / str(number)) for number in range(4)]
    with ThreadPoolExecutor(4) as pool:
        before = list(pool.map(lambda store: store.migrate(), stores))
    assert sorted(before) == [0, *[migrate.newest()] * 3]
