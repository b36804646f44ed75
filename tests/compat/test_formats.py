"""Directories of earlier formats open as what they were, and go on."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from compat.make_data import KEPT, PURGED, vector
from support.engines import FakeClock, forget, opened, remember, undo, update
from support.telling import told
from support.waits import wait_s
from totonoe_core.base import errors
from totonoe_core.domain.memories import Purge
from totonoe_core.domain.queries import AsOf, GetQuery
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.store import directories, rows
from totonoe_core.store.records import Place
from totonoe_core.store.sqlite import migrate
from totonoe_core.store.sqlite.schema import COLLECTION, COLLECTION_STEPS, FORMAT, open_writer
from totonoe_core.store.sqlite.store import SqliteStore

DATA = Path(__file__).parent / "data"
FORMATS = sorted(int(path.name.split("-")[1]) for path in DATA.glob("format-*"))
DISMISSALS_TOLD_SINCE = 7
RECALLERS_TOLD_SINCE = 9
SINCE_4 = [number for number in FORMATS if number >= 4]
"""Those whose directories hold a private memory with an external id."""


class Old:
    """A copy of a directory of an earlier format."""

    def __init__(self, format_: int, path: Path) -> None:
        self.format = format_
        said = json.loads((DATA / f"format-{format_}" / "told.json").read_text())
        self.told, self.ids, self.now_us = said["told"], said["ids"], said["now_us"]
        self.path = path
        shutil.copytree(DATA / f"format-{format_}" / "data", path)

    def opened(self) -> Any:
        return opened(self.path, clock=FakeClock(self.now_us), client_vector_dimension=4)

    def file(self) -> Path:
        """The file of the default collection: the larger one."""
        files = self.path.glob("collections/*/memory.db")
        return max(files, key=lambda path: path.stat().st_size)

    def copies(self) -> list[Path]:
        # Without what looking into one leaves behind.
        found = self.path.rglob("*.format*")
        return [path for path in found if not path.name.endswith(("-wal", "-shm"))]


@pytest.fixture(params=FORMATS)
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Old:
    return Old(request.param, tmp_path / "data")


def content_of(path: Path) -> dict[str, list[Any]]:
    """Every row of every table, and the tables themselves."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        tables = list(connection.execute("SELECT name, sql FROM sqlite_schema ORDER BY name"))
        found = {"": [*tables, connection.pragma("user_version")]}
        for name, sql in tables:
            if sql and sql.startswith("CREATE TABLE"):
                found[name] = list(connection.execute(f"SELECT * FROM {name}"))
    finally:
        connection.close()
    return found


def told_now(old: Old) -> dict[str, Any]:
    """What is told now, without what was not told when the data was made."""
    with old.opened() as store:
        now = told(store)
    if old.format < RECALLERS_TOLD_SINCE:
        for agent in ("anna", "ben"):
            histories = now[agent]["histories"].values()
            own = [history.pop("recallers", ()) for history in histories]
            others = [history.pop("other_recall_count", 0) for history in histories]
            assert (any(own), any(others)) == (agent == "anna", agent == "ben")
    if old.format >= DISMISSALS_TOLD_SINCE:
        return now
    for agent in ("anna", "ben"):
        changes = now[agent]["changes"]
        named = [change["operation"]["kind"] for change in changes["changes"]]
        assert {"Dismiss", "Undismiss"} <= set(named)
        changes["changes"] = [
            item
            for item, kind in zip(changes["changes"], named, strict=True)
            if kind not in ("Dismiss", "Undismiss")
        ]
    return now


def test_every_format_but_todays_has_a_directory_and_a_step() -> None:
    assert list(range(3, FORMAT)) == FORMATS
    assert sorted(COLLECTION_STEPS) == FORMATS


def test_directory_of_an_earlier_format_tells_what_it_told(old: Old) -> None:
    assert told_now(old) == old.told
    assert told_now(old) == old.told, "and once more, when it is of today's format"


def test_collections_are_listed_before_any_is_brought_forward(old: Old) -> None:
    with old.opened() as store:
        page = store.engine.list_collections(10, "").result(wait_s())
        assert [collection.name for collection in page.collections] == ["default"]
        assert page.collections[0].description == "a flat"
        assert not old.copies()
        place = Place(old.file(), old.file().parent.name, "default")
        assert CollectionState.read_info(SqliteStore(old.path), place) == page.collections[0]


def test_copy_is_the_file_as_it_was(old: Old) -> None:
    before = content_of(old.file())
    assert told_now(old)
    copy = migrate.copy_path(old.file(), old.format)
    assert old.copies() == [copy], "the deleted collection's file is not opened, so not changed"
    assert content_of(copy) == before
    # Whoever goes back deletes what was written since, and renames it (docs/operations.md).
    for beside in ("-wal", "-shm"):
        old.file().with_name(old.file().name + beside).unlink(missing_ok=True)
    old.file().with_suffix(".acknowledged").unlink()
    copy.replace(old.file())
    assert told_now(old) == old.told


def test_file_that_was_brought_forward_has_todays_tables(old: Old, tmp_path: Path) -> None:
    open_writer(tmp_path / "new.db", COLLECTION, create=True).close()
    open_writer(old.file(), COLLECTION).close()

    def tables(path: Path) -> list[tuple[str, str]]:
        # SQLite's own table for AUTOINCREMENT cannot be dropped.
        found = content_of(path)[""][:-1]
        return [item for item in found if item[0] != "sqlite_sequence"]

    assert tables(old.file()) == tables(tmp_path / "new.db")
    for table, found in content_of(old.file()).items():
        if table not in ("", "sqlite_sequence"):
            assert all(rows.check(row, table) for row in found), "each row is sealed"


def test_directory_of_an_earlier_format_goes_on(old: Old) -> None:
    ids = old.ids
    with old.opened() as store:
        for (name, command), answer in zip(KEPT.items(), ("stairs", "lamp"), strict=True):
            again = store.apply(command, operation_id=name)
            assert again.replayed
            assert again.results[0].memory_id == ids[answer]
        assert store.do(remember("The lamp is new", vector=vector(-1, 2, -3, 4), force=True)).saved
        assert store.do(update(ids["cup"], importance=1)).updated
        # What was done before it was brought forward can be taken back.
        gone = next(
            operation["revision"]
            for operation in old.told["anna"]["operations"]["operations"]
            if operation["kind"] == "Forget" and operation["reason"] == "sold"
        )
        assert store.do(undo(gone)).undone
        assert store.one(ids["gone"]).content == "The old bicycle is in the cellar"
        with pytest.raises(errors.NotFound):
            store.get(ids["purged"])
        store.do(forget(ids["lamp"]))
        before = told(store)
        store.reopen()
        assert told(store) == before


@pytest.mark.parametrize("old", SINCE_4, indirect=True)
def test_external_id_of_a_private_memory_is_free_for_others(old: Old) -> None:
    with old.opened() as store:

        def named(agent: str, as_of: AsOf | None = None) -> str:
            asked = store.engine.read("default", GetQuery(agent, ("ext:note-1",), as_of=as_of))
            return asked.result(wait_s()).memories[0].id

        secret, was = old.ids["secret"], AsOf(store.revision)
        versions = old.told["ben"]["histories"][secret]["versions"]
        first = AsOf(min(version["memory"]["revision"] for version in versions))
        assert [named("ben"), named("ben", was), named("ben", first)] == [secret] * 3
        with pytest.raises(errors.NotFound):
            named("anna")
        with pytest.raises(errors.AlreadyExists):
            store.do(
                remember("A note", agent="ben", vector=vector(1, 0, 0, 0), external_id="note-1")
            )
        public = store.save("A note", external_id="note-1", vector=vector(-4, -4, 1, 1))
        assert (named("anna"), named("ben"), named("dora")) == (public, secret, public)
        # Of what it was, the images of both formats say the id alike.
        store.do(update(secret, agent="ben", external_id=""))
        assert (named("ben", was), named("ben", first), named("ben")) == (secret, secret, public)


@pytest.mark.parametrize("old", SINCE_4, indirect=True)
def test_bad_row_stays_bad_when_it_is_brought_forward(old: Old) -> None:
    connection = apsw.Connection(str(old.file()))
    connection.execute("UPDATE memory SET content = 'x' WHERE external_id GLOB 'note-1*'")
    connection.close()
    open_writer(old.file(), COLLECTION).close()
    # Since format 5 the agent of a private memory stands behind the external id.
    found = content_of(old.file())["memory"]
    (row,) = [item for item in found if (item[2] or "").partition("\0")[0] == "note-1"]
    assert not rows.is_sound(row, "memory")


def test_restored_collection_of_an_earlier_format_opens(old: Old) -> None:
    with old.opened() as store:
        store.restore_collection("attic", "delete-attic")
        found = store.engine.read("attic", GetQuery("anna", (old.ids["box"],))).result(wait_s())
        assert found.memories[0].content == "A box of old letters"


def test_purge_takes_the_copies_of_earlier_formats(old: Old) -> None:
    content = "The door code is 4711"
    with old.opened() as store:
        assert store.one(old.ids["door"]).content == content
        assert len(old.copies()) == 1
        migrate.copy_path(old.file(), old.format).with_suffix(".tmp").write_bytes(b"begun")
        assert store.do(Purge("anna", (old.ids["door"],))).purged_ids == (old.ids["door"],)
        assert not old.copies()
    for path in old.path.rglob("*"):
        if path.is_file():
            assert content.encode() not in path.read_bytes(), path
            assert PURGED.encode() not in path.read_bytes(), path


# -- What goes wrong on the way


class StoppedError(Exception):
    """Stands for a process that ends."""


class Cut:
    """A connection that fails at its nth statement."""

    def __init__(self, connection: apsw.Connection, left: int, error: BaseException) -> None:
        self._connection, self.left, self._error = connection, left, error

    def _count(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise self._error

    def execute(self, *given: Any) -> Any:
        # The way back is SQLite's own in a crash.
        if given[0] != "ROLLBACK":
            self._count()
        return self._connection.execute(*given)

    def pragma(self, *given: Any) -> Any:
        self._count()
        return self._connection.pragma(*given)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


@pytest.fixture
def each_statement(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], Iterator[int]]:
    """Lets the migration fail at each of its statements, until it does not fail any more."""

    def cut(error: BaseException) -> Iterator[int]:
        real, copied = migrate.migrate, migrate.keep_copy
        monkeypatch.setattr(
            migrate, "keep_copy", lambda one, *given: copied(one._connection, *given)
        )
        for number in range(100):
            made: list[Cut] = []

            def failing(
                connection: Any, *given: Any, at: int = number, made: list[Cut] = made
            ) -> None:
                made.append(Cut(connection, at, error))
                real(made[0], *given)

            monkeypatch.setattr("totonoe_core.store.sqlite.schema.migrate", failing)
            yield number
            if made[0].left >= 0:
                return
        raise AssertionError("a migration of more than 100 statements")

    return cut


@pytest.mark.parametrize(
    ("error", "raised"),
    [(apsw.FullError("full"), errors.ReadOnly), (StoppedError(), StoppedError)],
    ids=["disk full", "process ends"],
)
def test_migration_cut_at_any_statement_leaves_the_file_as_it_was(
    old: Old, each_statement: Any, error: BaseException, raised: type[BaseException]
) -> None:
    before = content_of(old.file())
    failed_count = 0
    for _ in each_statement(error):
        try:
            open_writer(old.file(), COLLECTION).close()
        except raised:
            failed_count += 1
            assert content_of(old.file()) == before
    assert failed_count > 3, "a step that changes no row has few statements"
    assert content_of(old.file())[""][-1] == FORMAT
    assert told_now(old) == old.told


def test_disk_that_refuses_the_copy_leaves_the_file_as_it_was(
    old: Old, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = content_of(old.file())

    def full(path: Path) -> None:
        raise OSError(28, "No space left on device", str(path))

    with monkeypatch.context() as patched:
        patched.setattr(directories, "sync", full)
        with pytest.raises(errors.ReadOnly):
            open_writer(old.file(), COLLECTION)
    assert content_of(old.file()) == before
    assert not old.copies(), "nor is a part of the copy left"
    assert told_now(old) == old.told


def test_copy_that_was_begun_or_is_older_is_made_again(old: Old) -> None:
    copy = migrate.copy_path(old.file(), old.format)
    copy.write_bytes(b"of another time")
    copy.with_name(copy.name + ".tmp").write_bytes(b"begun")
    before = content_of(old.file())
    open_writer(old.file(), COLLECTION).close()
    assert content_of(copy) == before
    assert old.copies() == [copy]


@pytest.mark.parametrize("format_", [2, FORMAT + 1])
def test_file_of_an_unknown_format_is_refused_and_not_touched(old: Old, format_: int) -> None:
    connection = apsw.Connection(str(old.file()))
    connection.pragma("user_version", format_)
    connection.close()
    before = old.file().read_bytes()
    with old.opened() as store:
        with pytest.raises(errors.UnsupportedFormat) as caught:
            store.list()
        page = store.engine.list_collections(10, "").result(wait_s())
        (fault,) = (collection.fault for collection in page.collections if collection.fault)
        for said in (caught.value.message, fault):
            assert f"format {format_} " in said
            assert f"formats 3 to {FORMAT}" in said
    assert old.file().read_bytes() == before
    assert not old.copies()


def test_tables_that_are_not_those_of_the_format_are_corruption(old: Old) -> None:
    connection = apsw.Connection(str(old.file()))
    connection.execute("DROP TABLE access")
    connection.close()
    with old.opened() as store, pytest.raises(errors.Corruption):
        store.list()


def test_rows_of_an_earlier_format_wait_to_be_scored(old: Old) -> None:
    with old.opened() as store:
        stats = store.stats()
        assert 0 < stats.unscored_count <= stats.active_count
