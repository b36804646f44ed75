"""A lost catalogue is made anew from the files of the collections: nothing is lost with it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from support.cataloging import create
from support.engines import Store, opened
from support.waits import wait_s
from totonoe_core.base.errors import Corruption
from totonoe_core.engine.factory import DataDir
from totonoe_server.tools import catalogue

NAMES = ["attic", "barn", "default"]


def texts(store: Store) -> dict[str, set[str]]:
    found = {}
    for info in store.engine.list_collections(100, "").result(wait_s()).collections:
        assert not info.fault
        store.collection = info.name
        found[info.name] = {memory.content for memory in store.list()}
    return found


def snapshot(store: Store) -> str:
    made = store.engine.create_snapshot("attic", "", agent_id="anna", name="", comment="")
    return made.result(wait_s()).snapshot.id


@pytest.fixture
def made(tmp_path: Path) -> tuple[Path, dict[str, set[str]]]:
    """A directory with three collections, a deleted one, and one replaced by a snapshot."""
    path = tmp_path / "data"
    with opened(path) as store:
        for name in ("attic", "barn", "cellar"):
            create(store, name)
        for name in (*NAMES, "cellar"):
            store.collection = name
            store.save(f"a box in the {name}")
        store.engine.delete_collection("cellar", "", agent_id="anna").result(wait_s())
        return path, texts(store)


def rebuilt(path: Path) -> Any:
    place = DataDir(path)
    place.lock("test")
    try:
        return place.rebuild_catalogue()
    finally:
        place.release()


def lose(path: Path, how: str) -> None:
    catalog = path / "catalog.db"
    if how == "gone":
        for file in path.glob("catalog.*"):
            file.unlink()
    elif how == "empty":
        catalog.write_bytes(b"")
    elif how == "cut":
        catalog.write_bytes(catalog.read_bytes()[:-4096])
    else:
        catalog.write_bytes(catalog.read_bytes().replace(b"barn", b"bbrn"))


@pytest.mark.parametrize("how", ["gone", "empty", "cut", "flipped"])
def test_lost_catalogue_is_made_anew_from_the_files(
    made: tuple[Path, dict[str, set[str]]], how: str
) -> None:
    path, before = made
    lose(path, how)
    if how != "flipped":
        with pytest.raises(Corruption, match="totonoe catalogue rebuild"):
            Store(path)
    answer = rebuilt(path)
    assert answer.begun_from == "nothing"
    assert sorted(name for name, _ in answer.listed) == [*NAMES[:2], "cellar", "default"]
    assert answer.unread == ()
    with opened(path) as store:
        # Nobody knows that it was deleted.
        assert texts(store) == before | {"cellar": {"a box in the cellar"}}
        store.collection = "attic"
        assert store.save("and it is written again")
    assert (path / "catalog.db.bad").exists()
    assert rebuilt(path).listed == (), "a second time there is nothing to do"


def test_copy_beside_the_snapshots_knows_what_was_deleted(
    made: tuple[Path, dict[str, set[str]]],
) -> None:
    path, before = made
    with opened(path) as store:
        snapshot(store)
        create(store, "dairy")
    lose(path, "gone")
    answer = rebuilt(path)
    assert (answer.begun_from, [name for name, _ in answer.listed]) == ("copy", ["dairy"])
    with opened(path) as store:
        assert texts(store) == before | {"dairy": set()}


def test_files_of_one_name_are_all_listed_and_the_newest_has_it(
    made: tuple[Path, dict[str, set[str]]],
) -> None:
    path, _ = made
    with opened(path) as store:
        kept = snapshot(store)
        store.collection = "attic"
        store.clock.advance(1_000_000)
        store.save("written after the snapshot")
        first = store.engine.restore_snapshot(
            kept, "attic", "", agent_id="anna", confirmation_token=""
        ).result(wait_s())
        store.engine.restore_snapshot(
            kept, "attic", "", agent_id="anna", confirmation_token=first.confirmation_token
        ).result(wait_s())
        uid = store.engine._collections.names.uid("attic")
    shutil.rmtree(path / "snapshots")
    lose(path, "gone")
    names = dict(rebuilt(path).listed)
    assert names[f"attic-{uid}"] == uid
    with opened(path) as store:
        found = texts(store)
    assert found["attic"] == {"a box in the attic", "written after the snapshot"}
    assert found[f"attic-{uid}"] == {"a box in the attic"}


def test_command_names_what_it_listed_and_what_it_left(
    made: tuple[Path, dict[str, set[str]]],
) -> None:
    import typer

    path, _ = made
    lose(path, "gone")
    bad = next(path.glob("collections/*/memory.db"))
    bad.write_bytes(b"x" * 5000)
    app = typer.Typer()
    catalogue.register(app)
    app.command("other")(lambda: None)
    result = CliRunner().invoke(app, ["catalogue", "rebuild", "--data-dir", str(path)])
    assert result.exit_code == 1, result.output
    assert result.stdout.count("listed: ") == 3
    assert f"left alone: collections/{bad.parent.name}: " in result.stderr
    with opened(path) as store:
        assert len(texts(store)) >= 3
    empty = CliRunner().invoke(
        app, ["catalogue", "rebuild", "--data-dir", str(path.parent / "none")]
    )
    assert empty.exit_code == 2
