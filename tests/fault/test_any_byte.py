"""Any value in any column of any table: the collection opens, and every error has a type."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from compat.make_data import fill, vector
from support.engines import (
    DAY_US,
    FakeClock,
    Store,
    opened,
)
from support.every_call import ways
from support.misfits import put, tables_of
from support.waits import wait_s
from totonoe_core.base import errors
from totonoe_core.domain.collections import NewCollection
from totonoe_core.domain.queries import (
    RecallQuery,
)
from totonoe_core.engine.jobs.verify import Pace
from totonoe_core.store import rows
from totonoe_core.store.sqlite import checks
from totonoe_core.store.sqlite.inspection import inspect
from totonoe_core.store.sqlite.schema import CATALOG, COLLECTION

VALUES: dict[str, Any] = {
    "NULL": None,
    "integer": 7,
    "huge integer": 2**62,
    "float": 0.5,
    "text": "text",
    "text that is no UTF-8": b"\xff\xfe",
    "blob": b"\x00\x01\xff",
    "huge text": "[" * 100_000,
    "huge blob": bytes(100_000),
    "truncated JSON": '{"$":"Fields","tags":["a',
}
STEPS_MAX = 200
EACH = 3
"""Values that a column gets outside the soak, in turn: all of them in four columns."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int, dict[str, str]]:
    """A directory with rows in every table, the time of its clock, and ids."""
    path = tmp_path_factory.mktemp("made") / "data"
    with opened(path, client_vector_dimension=4) as store:
        ids = fill(store)
        store.recall(RecallQuery("anna", vector=vector(1, 2, 3, 4).tobytes(), k=2))
        now_us = store.clock.now_us
    connection = apsw.Connection(str(file_of(path)))
    connection.execute(
        f"INSERT INTO embedding ({rows.EMBEDDING_COLUMNS}) VALUES (?,?,?,?)",
        rows.embedding_row(rows.Embedding(1, 1, vector(4, 3, 2, 1).tobytes(), 1)),
    )
    for table in tables_of(file_of(path)):
        assert connection.execute(f"SELECT count(*) FROM {table}").get, table
    connection.close()
    return path, now_us, ids


def file_of(path: Path) -> Path:
    return next(path.glob("collections/*/memory.db"))


def columns_of(sql: str) -> list[tuple[str, str]]:
    """(table, column) of all tables."""
    connection = apsw.Connection(":memory:")
    connection.execute(sql)
    return list(
        connection.execute(
            "SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c "
            "WHERE t.type = 'table'"
        )
    )


def tried(directory: Path, now_us: int, ids: dict[str, str], opens: bool) -> list[str]:
    """What is wrong with how a damaged directory is served."""
    wrong = []
    store = Store(directory, clock=FakeClock(now_us), client_vector_dimension=4)
    try:
        try:
            store.list()
        except errors.TotonoeError as error:
            return [f"does not open: {error.message}"] if opens else []
        for name, call in ways(store, ids).items():
            try:
                call()
            except errors.TotonoeError:
                continue
            except Exception as error:
                wrong.append(f"{name}: {type(error).__name__}: {error}")
        verifier = store.engine._collections.opened("default").result(wait_s()).verifier
        for _ in range(STEPS_MAX):
            if not verifier.step(Pace(share=1.0)):
                break
        state = store.stats().state
        if state != "serving":
            wrong.append(f"the writer is {state}")
        store.list()
    except Exception as error:
        wrong.append(f"{type(error).__name__}: {error}")
    finally:
        store.close()
    inspect(directory)
    return wrong


def places(path: Path, table: str) -> list[int]:
    """Ordinal numbers of the rows of a table that are damaged: some of each kind."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    count = connection.execute(f"SELECT count(*) FROM {table}").get
    connection.close()
    return list(range(count)) if table == "setting" else sorted({0, count // 2, count - 1})


def some_for(columns: list[tuple[str, str]]) -> list[tuple[str, str, list[int]]]:
    """(table, column, ordinal numbers of its values)."""
    turns = [
        [(EACH * at + number) % len(VALUES) for number in range(EACH)] for at in range(len(columns))
    ]
    return [(table, column, turn) for (table, column), turn in zip(columns, turns, strict=True)]


def value_of(number: int) -> tuple[str, Any]:
    return list(VALUES.items())[number]


@pytest.mark.parametrize(
    ("table", "column", "numbers"), some_for(columns_of(COLLECTION.tables)), ids=str
)
def test_value_in_a_column_is_set_aside_or_has_a_typed_error(
    made: tuple[Path, int, dict[str, str]],
    tmp_path: Path,
    table: str,
    column: str,
    numbers: list[int],
) -> None:
    check_column(made, tmp_path, table, column, numbers)


@pytest.mark.soak
@pytest.mark.parametrize(("table", "column"), columns_of(COLLECTION.tables))
def test_any_value_in_a_column_is_set_aside_or_has_a_typed_error(
    made: tuple[Path, int, dict[str, str]], tmp_path: Path, table: str, column: str
) -> None:
    check_column(made, tmp_path, table, column, list(range(len(VALUES))))


def check_column(
    made: tuple[Path, int, dict[str, str]],
    tmp_path: Path,
    table: str,
    column: str,
    numbers: list[int],
) -> None:
    path, now_us, ids = made
    wrong = {}
    for number in numbers:
        kind, value = value_of(number)
        among = places(file_of(path), table)
        at = among[number % len(among)]
        directory = tmp_path / str(number)
        shutil.copytree(path, directory)
        if put(file_of(directory), table, at, column, value):
            # Without settings, and where the newest revision is lost, nothing is sure.
            lost = table == "setting" or (table, column, at) == ("operation", "revision", among[-1])
            found = tried(directory, now_us, ids, opens=not lost)
            if found:
                wrong[kind, at] = found
        shutil.rmtree(directory)
    assert not wrong


@pytest.fixture(scope="module")
def cataloged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a deleted, a purged, a restored and a replaced collection."""
    path = tmp_path_factory.mktemp("cataloged") / "data"
    with opened(path, purge_deleted_days=1.0) as store:
        for name in ("attic", "shop"):
            create(store, name, f"make-{name}")
        store.save("A box of old letters")
        snapshot = taken(store)
        restored(store, snapshot, "again", "")
        confirmed = restored(store, snapshot, "shop", "")
        restored(store, snapshot, "shop", confirmed.confirmation_token)
        store.engine.delete_collection("attic", "delete-attic", agent_id="anna").result(wait_s())
        store.clock.advance(2 * DAY_US)
        store.engine._collections.purge_deleted()
        create(store, "cellar", "make-cellar")
        store.engine.delete_collection("cellar", "delete-cellar", agent_id="anna").result(wait_s())
    return path


def create(store: Store, name: str, operation_id: str) -> Any:
    return store.engine.create_collection(
        NewCollection(name, client_vector_dimension=8), operation_id, agent_id="anna"
    ).result(wait_s())


def taken(store: Store) -> str:
    return store.create_snapshot("take").snapshot.id


def restored(store: Store, snapshot_id: str, name: str, token: str) -> Any:
    return store.engine.restore_snapshot(
        snapshot_id, name, f"restore-{name}{token}", agent_id="anna", confirmation_token=token
    ).result(wait_s())


def catalogue_ways(store: Store) -> dict[str, Callable[[], Any]]:
    """Calls that read and change the catalogue, by name."""
    engine = store.engine
    (snapshot,) = (entry.snapshot.id for entry in engine.snapshots.list(""))
    return {
        "collections": lambda: engine.list_collections(10, "").result(wait_s()),
        "stats": lambda: store.stats(),
        "kept answer": lambda: create(store, "shop", "make-shop"),
        "create": lambda: create(store, "barn", "make-barn"),
        "snapshot": lambda: taken(store),
        "restore": lambda: restored(store, snapshot, "fourth", ""),
        "undo of a restoration": lambda: engine.restore_collection(
            "again", "", target_operation_id="restore-again", agent_id="anna"
        ).result(wait_s()),
        "delete": lambda: engine.delete_collection("shop", "", agent_id="anna").result(wait_s()),
        "undo of a deletion": lambda: engine.restore_collection(
            "cellar", "", target_operation_id="delete-cellar", agent_id="anna"
        ).result(wait_s()),
        "of what is purged": lambda: engine.restore_collection(
            "attic", "", target_operation_id="delete-attic", agent_id="anna"
        ).result(wait_s()),
        "purge": lambda: engine._collections.purge_deleted(),
    }


@pytest.mark.parametrize(
    ("table", "column", "numbers"), some_for(columns_of(CATALOG.tables)), ids=str
)
def test_value_in_the_catalogue_has_a_typed_error(
    cataloged: Path, tmp_path: Path, table: str, column: str, numbers: list[int]
) -> None:
    check_catalogue(cataloged, tmp_path, table, column, numbers)


@pytest.mark.soak
@pytest.mark.parametrize(("table", "column"), columns_of(CATALOG.tables))
def test_any_value_in_the_catalogue_has_a_typed_error(
    cataloged: Path, tmp_path: Path, table: str, column: str
) -> None:
    check_catalogue(cataloged, tmp_path, table, column, list(range(len(VALUES))))


def check_catalogue(
    cataloged: Path, tmp_path: Path, table: str, column: str, numbers: list[int]
) -> None:
    wrong = {}
    for number in numbers:
        kind, value = value_of(number)
        directory = tmp_path / str(number)
        shutil.copytree(cataloged, directory)
        at = places(directory / "catalog.db", table)
        at = at[number % len(at)]
        if put(directory / "catalog.db", table, at, column, value):
            found = tried_catalogue(directory)
            if found:
                wrong[kind, at] = found
        inspect(directory)
        shutil.rmtree(directory)
    assert not wrong


def tried_catalogue(directory: Path) -> list[str]:
    """Untyped errors with a damaged catalogue, which may keep the engine from starting."""
    wrong = []
    try:
        store = Store(directory, purge_deleted_days=1.0)
    except errors.TotonoeError:
        return []
    except Exception as error:
        return [f"start: {type(error).__name__}: {error}"]
    try:
        for name, call in catalogue_ways(store).items():
            try:
                call()
            except errors.TotonoeError:
                continue
            except Exception as error:
                wrong.append(f"{name}: {type(error).__name__}: {error}")
    finally:
        store.close()
    return wrong


def test_table_whose_keys_do_not_ascend_ends_a_pass() -> None:
    """As a damaged page may have it: what comes after the last key is the first one again."""

    class Page:
        def execute(self, sql: str, given: Any = ()) -> Any:
            if "table_info" in sql:
                return [("row",), ("crc",)]
            return Found([(0, 3, 3, 0), (0, 1, 1, 0)][: given[-1]])

    class Found(list[Any]):
        def fetchall(self) -> list[Any]:
            return list(self)

    table = checks.Table(Page(), "memory", ("row",))  # type: ignore[arg-type]
    looked = table.step(None, 2)
    assert looked.damaged
    assert looked.last is None
    assert checks.ascends(None, [(1,), (2.5,), (checks.Text(b"a"),), (b"",)])
    assert not checks.ascends((2,), [(2,)])
    assert not checks.ascends(None, [(b"",), (checks.Text(b"a"),)])
    assert not checks.ascends(None, [(1,), (None,)])
