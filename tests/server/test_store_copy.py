"""`totonoe store copy`: everything of a data directory in a database, and back, or a clear no."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest
import typer
from typer.testing import CliRunner

from support.cataloging import create
from support.engines import FakeClock, Store, opened, remember, vector_of
from support.postgres import engines, migrated, psycopg
from support.telling import told
from support.transfers import exported
from support.waits import wait_s
from totonoe_core.base.errors import Unavailable
from totonoe_core.engine.factory import DataDir
from totonoe_core.store import copying, rows
from totonoe_core.store.postgres.session import Session
from totonoe_core.store.sqlite import copying as of_files
from totonoe_core.store.sqlite.catalog import Catalog
from totonoe_server.life import config
from totonoe_server.tools import store as commands
from totonoe_server.tools import store_copy, tokens

MADE = Path(__file__).parents[1] / "compat" / "data" / "format-8"
NOW_US = int(json.loads((MADE / "told.json").read_text())["now_us"])
WITH_SOMETHING = frozenset(copying.TABLES) - {"embedding"}
"""Tables that the data of format 8 has rows in."""
Run = Callable[..., Any]


@pytest.fixture(autouse=True)
def _settings_of_the_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "user_cache_path", lambda _: tmp_path / "cache")
    # Directories are directories here, whatever the run is about.
    for name in ("TEST_STORE", "STORE", "DATA_DIR"):
        monkeypatch.delenv(f"TOTONOE_{name}", raising=False)
    for name in ("PGPASSWORD", "PGPASSFILE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def run() -> Run:
    """Runs a command and returns what it printed."""
    app = typer.Typer()
    tokens.register(app)
    commands.register(app)

    def call(*arguments: str | Path, code: int = 0) -> Any:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert result.exit_code == code, (arguments, result.output, result.exception)
        return result

    return call


@pytest.fixture
def url() -> str:
    return migrated()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A directory with something of everything, a deleted collection, and two small ones."""
    path = tmp_path / "data"
    shutil.copytree(MADE / "data", path)
    with engine_at(path) as store:
        for name in ("plans", "work"):
            create(store, name)
            said = remember(f"Something of {name}", external_id="one", private=True)
            store.engine.apply(name, "", [said]).result(wait_s())
    connection = apsw.Connection(str(file_of(path, "plans")))
    connection.execute(
        "INSERT INTO embedding (row, revision, vector, crc) VALUES (?,?,?,?)",
        rows.seal((1, 1, bytes(16))),
    )
    connection.close()
    return path


@contextmanager
def engine_at(path: Path, url: str = "") -> Iterator[Store]:
    clock = FakeClock(NOW_US)
    if url:
        with engines(path, url, clock=clock, client_vector_dimension=4) as (store,):
            yield store
    else:
        with opened(path, clock=clock, client_vector_dimension=4) as store:
            yield store


def told_of(path: Path, url: str = "") -> tuple[dict[str, Any], list[bytes]]:
    """What every call tells of a store, and an export with all vectors, but for its head."""
    with engine_at(path, url) as store:
        return told(store), exported(store, include_vectors=True).split(b"\n")[1:]


def file_of(data: Path, name: str) -> Path:
    catalog = Catalog(data)
    try:
        return catalog.path(catalog.names()[name])
    finally:
        catalog.close()


def names_in(url: str) -> list[str]:
    with psycopg.connect(url) as connection:
        found = connection.execute("SELECT name FROM catalogue_collection ORDER BY name")
        return [name for (name,) in found]


def test_all_arrives_in_the_database_and_comes_back(
    data: Path, url: str, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    # So that every table takes several steps, each behind the key of the one before.
    monkeypatch.setattr(copying, "_STEP_ROWS", 2)
    before = told_of(data)
    said = run("store", "copy", data, url).output
    assert "Identities: none to copy." in said
    assert "attic (deleted): copied: 1 memories" in said
    assert "4 of 4 collections" in said
    with psycopg.connect(url) as connection:
        for table in WITH_SOMETHING:
            (count,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone() or (0,)
            assert count, table
    assert told_of(tmp_path / "derived", url) == before
    back = tmp_path / "back"
    again = run("store", "copy", url, back).output
    digests = [line.split("SHA-256")[1] for line in said.splitlines() if "SHA-256" in line]
    assert [line.split("SHA-256")[1] for line in again.splitlines() if "SHA-256" in line] == digests
    assert len(set(digests)) == 4
    assert told_of(back) == before
    assert not [table for table in DataDir(back).inspect() if table.findings]


def test_deletion_can_be_undone_after_the_copy_and_writes_go_on(
    data: Path, url: str, tmp_path: Path, run: Run
) -> None:
    run("store", "copy", data, url)
    with engine_at(tmp_path / "derived", url) as store:
        store.restore_collection("attic", "delete-attic")
        kept = store.apply(
            remember("The stairs sing", vector=vector_of("sing", 4)), operation_id="after"
        )
        assert kept.results
    back = tmp_path / "back"
    run("store", "copy", url, back)
    with engine_at(back) as store:
        assert "attic" in store.engine._collections.names.by_name
        assert store.apply(
            remember("The stairs sing", vector=vector_of("sing", 4)), operation_id="after"
        ).replayed


def test_copy_that_differs_from_its_source_is_not_kept(
    data: Path, url: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Session.copy_in

    def losing(self: Session, table: str, columns: str, found: Any) -> None:
        write(self, table, columns, list(found)[1:])

    monkeypatch.setattr(Session, "copy_in", losing)
    found = run("store", "copy", data, url, code=1)
    assert "work: not copied: the copy of work has" in found.stderr
    assert "0 of 4 collections" in found.output
    assert names_in(url) == []


def test_large_collection_says_how_far_it_is(
    data: Path, url: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copying, "_STEP_ROWS", 10)
    monkeypatch.setattr(store_copy, "_TOLD_ROWS", 50)
    told_lines = run("store", "copy", data, url).stderr.splitlines()
    (total,) = {line.split()[3] for line in told_lines if line.startswith("default: ")}
    assert len(told_lines) == int(total) // 50 > 1
    assert not [line for line in told_lines if line.startswith("work")], "it is small"


def test_tables_of_a_copy_are_those_of_both_stores(data: Path, url: str) -> None:
    """Else a copy would leave out what a later version keeps."""
    connection = apsw.Connection(str(file_of(data, "work")), flags=apsw.SQLITE_OPEN_READONLY)
    named = "SELECT name FROM sqlite_schema WHERE type = 'table'"
    of_file = {
        table: {
            name for (name,) in connection.execute(f"SELECT name FROM pragma_table_info('{table}')")
        }
        for (table,) in connection.execute(named).fetchall()
    }
    connection.close()
    columns = {table: set(named.split(", ")) for table, (named, _) in copying.TABLES.items()}
    assert of_file == columns
    with psycopg.connect(url) as database:
        of_database: dict[str, set[str]] = {}
        for table, name in database.execute(
            "SELECT table_name, column_name FROM information_schema.columns "
            "WHERE table_schema = current_schema()"
        ):
            of_database.setdefault(table, set()).add(name)
    for table in (
        *("catalogue", "catalogue_collection", "catalogue_operation", "access_row"),
        "snapshot",  # snapshots stay behind
    ):
        of_database.pop(table)
    assert of_database.pop("collection") == {"uid", "revision"}
    assert of_database.pop("totonoe_version") == {"version"}
    of_database["memory"].remove("reading")  # made anew of the text
    assert {table: names - {"uid"} for table, names in of_database.items()} == columns


def test_copy_that_broke_off_goes_on_behind_what_is_done(
    data: Path, url: str, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write, written = Session.copy_in, []

    def breaking(self: Session, table: str, *rest: Any) -> None:
        written.append(table)
        if written.count("memory") == 3 and table == "setting":
            raise Unavailable("STORE_UNAVAILABLE", "the database is gone", retry_delay_ms=1)
        write(self, table, *rest)

    monkeypatch.setattr(Session, "copy_in", breaking)
    assert "the database is gone" in run("store", "copy", data, url, code=2).stderr
    assert names_in(url) == ["attic", "default"], "the third is not there in part"
    monkeypatch.setattr(Session, "copy_in", write)
    said = run("store", "copy", data, url).output
    assert "default: was there already" in said
    assert "plans: copied" in said
    assert told_of(tmp_path / "derived", url) == told_of(data)


def test_way_back_that_ended_without_a_word_goes_on_too(
    data: Path, url: str, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run("store", "copy", data, url)
    back, put, begun = tmp_path / "back", of_files._put, []

    def breaking(connection: Any, table: str, found: Any) -> None:
        begun.append(table)
        if begun.count("memory") == 2 and table == "setting":
            raise Unavailable("STORE_UNAVAILABLE", "the database is gone", retry_delay_ms=1)
        put(connection, table, found)

    monkeypatch.setattr(of_files, "_put", breaking)
    # As if the process had ended there: nobody tidies up.
    monkeypatch.setattr(Catalog, "drop_new", lambda *_: None)
    run("store", "copy", url, back, code=2)
    assert len(list((back / "collections").glob("*.new"))) == 1
    monkeypatch.undo()
    said = run("store", "copy", url, back).output
    assert "attic (deleted): was there already" in said
    assert "default: copied" in said
    assert not list((back / "collections").glob("*.new"))
    assert told_of(back) == told_of(data)


def test_target_that_has_a_collection_of_that_name_is_refused_by_name(
    data: Path, url: str, run: Run, tmp_path: Path
) -> None:
    with engine_at(tmp_path / "derived", url) as store:
        for name in ("work", "plans", "other"):
            create(store, name)
    there = names_in(url)
    said = run("store", "copy", data, url, code=2).stderr
    assert "collection 'plans, work' already exists" in said
    assert names_in(url) == there, "nothing was copied"


def test_name_that_a_daemon_gives_away_meanwhile_ends_the_copy(
    data: Path, url: str, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write = Session.copy_in

    def meanwhile(self: Session, table: str, *rest: Any) -> None:
        if table == "embedding":  # of plans alone
            with engine_at(tmp_path / "derived", url) as store:
                create(store, "plans")
        write(self, table, *rest)

    monkeypatch.setattr(Session, "copy_in", meanwhile)
    assert "collection 'plans' already exists" in run("store", "copy", data, url, code=2).stderr
    with engine_at(tmp_path / "derived", url) as store:
        found = store.engine.apply("plans", "", [remember("Mine", vector=vector_of("mine", 8))])
        assert found.result(wait_s()).revision == 1, "theirs is as it was"


def test_target_that_went_on_since_is_refused_and_left_as_it_is(
    data: Path, url: str, run: Run, tmp_path: Path
) -> None:
    run("store", "copy", data, url)
    with engine_at(tmp_path / "derived", url) as store:
        store.do(remember("Something said later", vector=vector_of("later", 4)))
    before = told_of(tmp_path / "derived", url)
    assert "collection 'default' already exists" in run("store", "copy", data, url, code=2).stderr
    assert told_of(tmp_path / "derived", url) == before


def test_data_directory_that_a_daemon_has_open_is_refused(
    data: Path, url: str, run: Run, tmp_path: Path
) -> None:
    for path, arguments in ((data, (data, url)), (tmp_path / "back", (url, tmp_path / "back"))):
        held = DataDir(path)
        held.lock("127.0.0.1:7766")
        try:
            said = run("store", "copy", *arguments, code=2).stderr
        finally:
            held.release()
        assert "is in use by another daemon" in said
        assert "127.0.0.1:7766" in said
    assert names_in(url) == []


def test_damaged_rows_are_named_and_stop_their_collection_only(
    data: Path, url: str, run: Run, tmp_path: Path
) -> None:
    connection = apsw.Connection(str(file_of(data, "plans")))
    connection.execute("UPDATE memory SET content = 'Something of plums'")
    connection.execute("UPDATE operation SET time_us = time_us + 1")
    connection.close()
    found = run("store", "copy", data, url, code=1)
    assert 'plans: not copied: rows do not match their checksums: memory ["1"]' in found.stderr
    assert 'operation ["1"]' in found.stderr
    assert "plums" not in found.output
    assert "3 of 4 collections" in found.output
    assert names_in(url) == ["attic", "default", "work"]
    with psycopg.connect(url, autocommit=True) as database:
        database.execute("UPDATE reply SET time_us = 1")
    back = run("store", "copy", url, tmp_path / "back", code=1)
    assert "default: not copied: rows do not match their checksums: reply" in back.stderr


def test_identities_and_tokens_come_along(data: Path, url: str, run: Run, tmp_path: Path) -> None:
    run("tokens", "create", "coder", "--grant", "*:read", "--data-dir", data)
    assert "Identities: 1 copied" in run("store", "copy", data, url).output
    assert "Identities: 1 are there already" in run("store", "copy", data, url).output
    listed = run("tokens", "list", "--json", "--data-dir", data).stdout
    assert run("tokens", "list", "--json", "--store", url).stdout == listed
    run("store", "copy", url, tmp_path / "back")
    assert run("tokens", "list", "--json", "--data-dir", tmp_path / "back").stdout == listed
    run("tokens", "create", "reader", "--grant", "*:read", "--store", url)
    said = run("store", "copy", data, url).output
    assert "Identities: the target has its own, which stay" in said


def test_wrong_places_are_refused_in_one_line(data: Path, url: str, run: Run) -> None:
    for arguments, said in (
        ((data, data), "name one data directory and one postgresql:// address"),
        ((url, url), "name one data directory and one postgresql:// address"),
        ((data / "nowhere", url), "is no data directory"),
        ((data, "postgresql://u:hush@host/name"), "no password belongs here"),
        ((data, "postgresql://postgres@127.0.0.1:1/name"), "Connection refused"),
    ):
        found = run("store", "copy", *arguments, code=2)
        assert said in found.stderr
        assert len(found.stderr.splitlines()) == 1
        assert "hush" not in found.output
    assert not (data / "nowhere").exists()
