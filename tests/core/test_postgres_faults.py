"""What goes wrong between a daemon and its database has a type, and leaves nothing half done."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from support.cataloging import create
from support.engines import Store, forget, remember
from support.postgres import engines, migrated, psycopg, through
from support.waits import wait_s, wait_until
from totonoe_core.base.errors import NotFound, ReadOnly, TotonoeError, Unanswered, Unavailable
from totonoe_core.domain.queries import RecallQuery
from totonoe_core.domain.records import Status
from totonoe_core.engine.writer import writer
from totonoe_core.engine.writer.writer import Writer
from totonoe_core.store.postgres import collection_file

IMPATIENT = (
    "SET LOCAL lock_timeout = '300ms'",
    "SET LOCAL statement_timeout = '60s'",
    "SET LOCAL idle_in_transaction_session_timeout = '300ms'",
)
IN_A_BATCH = (
    "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() "
    "AND pid <> pg_backend_pid() AND state LIKE 'idle in transaction%'"
)
TEXT = "the heating is set to 21 degrees"


@pytest.fixture
def url() -> str:
    return migrated()


@pytest.fixture
def daemon(tmp_path: Path, url: str) -> Iterator[Store]:
    """An engine on a database, with no wire in between."""
    with engines(tmp_path, url) as (store,):
        store.save("so that the collection is open")
        yield store


@pytest.fixture
def wired(tmp_path: Path, url: str) -> Iterator[Any]:
    """An engine on the same database by a wire that can be cut, and the wire."""
    # No statement is prepared, so that each is on the wire as text.
    with (
        through(url) as (between, address),
        engines(tmp_path / "wired", address, pooled=True) as (store,),
    ):
        store.save("so that the collection is open here, too")
        store.save("and the chores behind the first batch are done")
        yield store, between


def session(url: str) -> Any:
    return psycopg.connect(url, autocommit=True)


def test_lost_answer_to_a_commit_is_looked_up_and_given(wired: Any) -> None:
    store, between = wired
    between.cut_at = b"COMMIT"
    answer = store.apply(remember(TEXT), operation_id="op-1")
    assert between.cut_count == 1, "the wire was cut"
    (said,) = answer.results
    assert said.saved and store.one(said.memory_id).content == TEXT
    again = store.apply(remember(TEXT), operation_id="op-1")
    assert again.replayed and again.results == answer.results


def test_where_nobody_can_look_the_same_operation_id_tells(
    wired: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, between = wired
    monkeypatch.setattr(writer, "_LOOKED_AGAIN_S", (0.0,))
    between.connections_left, between.cut_at = 0, b"COMMIT"
    with pytest.raises(Unanswered) as lost:
        store.apply(remember(TEXT), operation_id="op-1")
    assert (lost.value.reason, lost.value.retry_delay_ms > 0) == ("STORE_UNAVAILABLE", True)
    with pytest.raises(Unavailable):
        store.apply(remember(TEXT), operation_id="op-1")
    between.connections_left = 1 << 30
    again = store.apply(remember(TEXT), operation_id="op-1")
    assert again.replayed and again.results[0].saved
    assert [memory.content for memory in store.list()].count(TEXT) == 1


def test_connection_that_ends_before_anything_is_decided_is_opened_again(wired: Any) -> None:
    store, between = wired
    revision = store.revision
    between.cut_at = b"FOR UPDATE"
    assert store.save(TEXT)
    assert (between.cut_count, store.revision) == (1, revision + 1)


@pytest.mark.parametrize(
    "read", [b"FROM operation", b"FROM memory", b"FROM setting", b"reembedding"]
)
def test_connection_that_ends_while_a_daemon_takes_in_others_leaves_it_as_it_was(
    daemon: Store, wired: Any, read: bytes
) -> None:
    store, between = wired
    between.cut_at = read
    for number in range(20):
        daemon.save(f"note {number} of the daemon without a wire")
        with suppress(Unavailable):
            store.save(f"note {number} of the one with a wire")
    assert between.cut_count == 1
    store.save(TEXT)
    wait_until(lambda: contents(daemon) == contents(store))


def contents(store: Store) -> list[str]:
    return [memory.content for memory in store.list()]


def test_connection_that_ends_before_the_commit_leaves_nothing(wired: Any) -> None:
    store, between = wired
    saved = store.save(TEXT)
    revision = store.revision
    between.cut_at = b"FROM memory WHERE"
    with pytest.raises(Unavailable) as lost:
        store.do(forget(saved))
    assert (lost.value.reason, between.cut_count) == ("STORE_UNAVAILABLE", 1)
    assert store.one(saved).status is Status.ACTIVE
    store.do(forget(saved))
    assert store.revision == revision + 1, "and the next one is decided anew"


def test_server_that_ends_the_session_is_unavailable_and_the_next_call_goes_on(
    daemon: Store, url: str
) -> None:
    with session(url) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    # Idle connections are opened again: no call need fail.
    assert daemon.save(TEXT)
    assert daemon.list()


def test_lock_that_another_holds_is_not_waited_for_without_end(
    daemon: Store, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collection_file, "_PATIENCE", IMPATIENT)
    with session(url) as connection, connection.transaction():
        connection.execute("SELECT 1 FROM collection FOR UPDATE")
        with pytest.raises(Unavailable, match="55P03") as busy:
            daemon.save(TEXT)
        assert busy.value.reason == "STORE_UNAVAILABLE"
    assert daemon.save(TEXT)


def test_daemon_that_stands_still_in_a_batch_holds_nobody_up(
    daemon: Store, wired: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, _ = wired
    monkeypatch.setattr(collection_file, "_PATIENCE", IMPATIENT)
    inside, go_on, decide = threading.Event(), threading.Event(), Writer._decide

    def stand_still(self: Writer, job: Any) -> Any:
        answer = decide(self, job)
        if job.operation_id == "op-still":
            inside.set()
            go_on.wait(wait_s())
        return answer

    monkeypatch.setattr(Writer, "_decide", stand_still)
    with ThreadPoolExecutor(1) as pool:
        still = pool.submit(daemon.apply, remember(TEXT), operation_id="op-still")
        assert inside.wait(wait_s())

        def other_saves() -> bool:
            try:
                return bool(other.save("the door is blue"))
            except Unavailable:
                return False

        wait_until(other_saves)
        go_on.set()
        with pytest.raises(Unavailable):
            still.result(wait_s())
    again = daemon.apply(remember(TEXT), operation_id="op-still")
    assert again.results[0].saved and not again.replayed, "nothing of it had been stored"


def test_batch_that_the_server_finds_too_long_is_unavailable_and_leaves_nothing(
    daemon: Store, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = ("SET LOCAL transaction_timeout = '300ms'",)
    monkeypatch.setattr(collection_file, "_PATIENCE", settings)
    decide = Writer._decide

    def stand_still(self: Writer, job: Any) -> Any:
        monkeypatch.undo()
        answer = decide(self, job)
        with session(url) as connection:
            wait_until(lambda: not connection.execute(IN_A_BATCH).fetchall())
        return answer

    monkeypatch.setattr(Writer, "_decide", stand_still)
    with pytest.raises(Unavailable) as ended:
        daemon.apply(remember(TEXT), operation_id="op-still")
    assert ended.value.reason == "STORE_UNAVAILABLE"
    again = daemon.apply(remember(TEXT), operation_id="op-still")
    assert again.results[0].saved and not again.replayed, "nothing of it had been stored"


def test_daemon_that_stands_still_right_behind_the_lock_holds_nobody_up(
    daemon: Store, wired: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it had not sent yet may be what the server waits for before it looks at the time."""
    still, between = wired
    monkeypatch.setattr(collection_file, "_PATIENCE", IMPATIENT)
    between.go_on.clear()
    between.wanted = b"FOR UPDATE"
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(still.apply, remember(TEXT), operation_id="op-still")
        wait_until(lambda: not between.wanted)

        def other_saves() -> bool:
            try:
                return bool(daemon.save("the door is blue"))
            except Unavailable:
                return False

        try:
            wait_until(other_saves)
        finally:
            between.go_on.set()
        with pytest.raises(Unavailable):
            future.result(wait_s())


@contextmanager
def refusing(url: str, code: str, what: str = "true") -> Iterator[None]:
    """Let the server refuse new memories with an error code, where a condition holds."""
    with session(url) as connection:
        connection.execute(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '{code}'; END $$"
        )
        connection.execute(
            f"CREATE TRIGGER refuse BEFORE INSERT ON memory FOR EACH ROW WHEN ({what}) "
            "EXECUTE FUNCTION refuse()"
        )
    try:
        yield
    finally:
        with session(url) as connection:
            connection.execute("DROP FUNCTION refuse CASCADE")


CANCELLED, DISK_FULL = "57014", "53100"
REFUSALS: dict[str, type[ReadOnly | Unavailable]] = {
    "40001": Unavailable,  # serialization failure
    "40P01": Unavailable,  # deadlock
    "57P01": Unavailable,  # an administrator ends the server
    "25P04": Unavailable,  # the transaction took too long
    "25006": ReadOnly,  # a transaction that may only read
    "42501": ReadOnly,  # a missing right
}
REASONS = {Unavailable: "STORE_UNAVAILABLE", ReadOnly: "READ_ONLY"}


def test_write_that_the_server_cancels_is_acknowledged_to_nobody(daemon: Store, url: str) -> None:
    """Its error comes with the next statement, which may be of another operation."""
    texts = {f"op-{number}": f"note {number} of one batch" for number in range(3)}
    with refusing(url, CANCELLED, f"NEW.content = '{texts['op-0']}'"):
        requests = [(operation_id, (remember(text),)) for operation_id, text in texts.items()]
        futures = daemon.engine.apply_all("default", requests)
        errors = [future.exception(wait_s()) for future in futures]
    stored = {memory.content for memory in daemon.list()}
    for text, error in zip(texts.values(), errors, strict=True):
        assert isinstance(error, Unavailable if text not in stored else type(None))
    for operation_id, text in texts.items():
        assert daemon.apply(remember(text), operation_id=operation_id).results[0].saved


@pytest.mark.parametrize(("code", "error"), [(CANCELLED, Unavailable), (DISK_FULL, ReadOnly)])
def test_daemon_goes_on_after_the_server_refused_a_write_however_often_it_wrote_before(
    daemon: Store, url: str, code: str, error: type[TotonoeError]
) -> None:
    """Statements become prepared ones meanwhile, also those that the server passed over."""
    for number in range(6):
        daemon.save(f"note {number} before")
        with refusing(url, code):
            for turn in range(3):
                with pytest.raises(error):
                    daemon.save(f"note {number} that is refused, turn {turn}")
        daemon.save(f"note {number} after")


def test_each_refusal_of_the_server_has_its_type(daemon: Store, url: str) -> None:
    for number, (code, error) in enumerate(REFUSALS.items()):
        with refusing(url, code), pytest.raises(error) as refused:
            daemon.save(f"note {number} is refused")
        assert refused.value.reason == REASONS[error]
        assert isinstance(refused.value, ReadOnly) or refused.value.retry_delay_ms > 0
        daemon.save(f"note {number} is saved")


def test_server_that_takes_no_writes_is_read_only_and_reads_go_on(daemon: Store, url: str) -> None:
    kept = daemon.save(TEXT)
    name = psycopg.conninfo.conninfo_to_dict(url)["dbname"]
    with session(url) as connection:
        connection.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    with pytest.raises(ReadOnly):
        daemon.save("the door is blue")
    with psycopg.connect(f"{url}&options=-cdefault_transaction_read_only%3Doff") as connection:
        connection.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")
    assert daemon.save("the door is blue")
    assert daemon.one(kept).content == TEXT


@pytest.mark.parametrize("writes", [True, False], ids=["", "by a look alone"])
def test_commits_that_a_promotion_lost_are_seen_also_behind_as_many_new_ones(
    wired: Any, daemon: Store, url: str, writes: bool
) -> None:
    store, between = wired
    kept = store.save(TEXT)
    gone = store.save("this commit will be lost")
    revision = store.revision
    daemon.save("so that it has taken both in")
    between.cut()
    with session(url) as connection, connection.transaction():
        # What a promotion does that had not got the last two commits, and a daemon that went on.
        for table in ("operation", "memory"):
            connection.execute(f"DELETE FROM {table} WHERE revision >= {revision}")
        connection.execute(f"UPDATE collection SET revision = {revision - 1}")
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    new = [daemon.save("the door is blue"), daemon.save("the roof is red")]
    if writes:
        assert store.save("the cellar is dry")
    wait_until(lambda: {memory.id for memory in store.list()} > {kept, *new})
    for item in (daemon, store):
        texts = {memory.id: memory.content for memory in item.list()}
        assert set(texts) > {kept, *new} and gone not in texts
        found = item.recall(RecallQuery("anna", "this commit will be lost")).hits
        assert gone not in [hit.memory.id for hit in found], "its index was made anew"


def test_collection_that_another_daemon_deletes_ends_here_and_a_new_one_is_another(
    daemon: Store, wired: Any
) -> None:
    other, _ = wired
    daemon.collection = other.collection = "shop"
    create(daemon, "shop")
    daemon.save("the shop opens at nine")
    other.save("the shop closes at six")
    other.engine.delete_collection("shop", "", agent_id="anna").result(wait_s())
    # A write sees it at once, by the catalogue; a read within a second.
    with pytest.raises(NotFound) as gone:
        daemon.save("the shop is closed on Sunday")
    assert gone.value.reason == "COLLECTION_NOT_FOUND"

    def is_gone() -> bool:
        try:
            daemon.list()
        except NotFound:
            return True
        return False

    wait_until(is_gone)
    create(other, "shop")
    other.save("another shop opens at ten")
    wait_until(lambda: contents_of(daemon) == ["another shop opens at ten"])
    daemon.save("another shop closes at eight")
    assert len(other.list()) in (1, 2)


def test_deletion_that_is_taken_back_elsewhere_is_taken_back_here(
    daemon: Store, wired: Any
) -> None:
    other, _ = wired
    daemon.collection = other.collection = "shop"
    create(daemon, "shop")
    daemon.save("the shop opens at nine")
    _, _, operation_id, _ = daemon.engine.delete_collection(
        "shop", "op-delete", agent_id="anna"
    ).result(wait_s())
    other.restore_collection("shop", operation_id)
    wait_until(lambda: contents_of(daemon) == ["the shop opens at nine"])
    assert daemon.save("the shop closes at six")


def contents_of(store: Store) -> list[str]:
    try:
        return [memory.content for memory in store.list()]
    except TotonoeError as error:
        return [error.reason]
