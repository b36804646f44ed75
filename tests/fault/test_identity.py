"""Files of collections that are missing, or another collection's: named, and nothing is written."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from support.cataloging import create
from support.engines import Store, change, opened
from support.waits import wait_s
from totonoe_core.base import errors
from totonoe_core.store.sqlite import identity
from totonoe_core.store.sqlite.inspection import inspect

COMPAT = Path(__file__).parents[1] / "compat" / "data"


class Two:
    """A data directory with collections `default` and `shop`, each with a memory of its own."""

    def __init__(self, path: Path, unclean: bool) -> None:
        self.path = path
        made = path.with_name("made")
        store = Store(made)
        store.save("mine")
        create(store, "shop")
        store.collection = "shop"
        store.save("theirs")
        # So that the settings lie in the log.
        store.apply(change(("description", "a shop")))
        self.uids = store.engine._collections.names.uids()
        if unclean:
            shutil.copytree(made, path)
        store.close()
        if not unclean:
            shutil.copytree(made, path)

    def file(self, name: str) -> Path:
        return self.path / "collections" / self.uids[name] / "memory.db"

    def tree(self) -> dict[str, bytes]:
        """Every file below `collections`, with its bytes."""
        root = self.path / "collections"
        return {
            str(path.relative_to(root)): path.read_bytes()
            for path in root.rglob("*")
            if path.is_file()
        }

    def findings(self) -> dict[str, tuple[str, ...]]:
        return {table.name: table.findings for table in inspect(self.path) if table.name}


@pytest.fixture(params=[False, True], ids=["closed", "killed"])
def two(request: pytest.FixtureRequest, tmp_path: Path) -> Two:
    return Two(tmp_path / "data", request.param)


def replace_file(two: Two) -> None:
    shutil.copy(two.file("shop"), two.file("default"))


def swap_directories(two: Two) -> None:
    one, other = two.file("default").parent, two.file("shop").parent
    one.rename(one.with_name("between"))
    other.rename(one)
    one.with_name("between").rename(other)


def remove_file(two: Two) -> None:
    two.file("default").unlink()


def remove_directory(two: Two) -> None:
    shutil.rmtree(two.file("default").parent)


DAMAGES: dict[Callable[[Two], None], str] = {
    replace_file: "WRONG_FILE",
    swap_directories: "WRONG_FILE",
    remove_file: "MISSING_FILE",
    remove_directory: "MISSING_FILE",
}


def ways(store: Store) -> list[Callable[[], Any]]:
    """Every way of opening the collection `default`, but for bringing a deleted one back."""
    engine = store.engine
    return [
        lambda: engine.get_collection("default").result(wait_s()),
        lambda: store.list(),
        lambda: store.save("new"),
        lambda: engine.create_snapshot("default", "", agent_id="anna", name="", comment="").result(
            wait_s()
        ),
        lambda: store.list(),
    ]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_file_that_is_not_the_collections_is_refused_and_nothing_is_written(
    two: Two, damage: Callable[[Two], None]
) -> None:
    damage(two)
    before = two.tree()
    place = f"collections/{two.uids['default']}/memory.db"
    with opened(two.path) as store:
        for way in ways(store):
            with pytest.raises(errors.Corruption) as caught:
                way()
            assert caught.value.reason == DAMAGES[damage]
            assert caught.value.details["file"] == place
            assert place in caught.value.message
            assert two.tree() == before
        store.collection = "shop"
        if damage is not swap_directories:
            assert [memory.content for memory in store.list()] == ["theirs"]
    (finding,) = two.findings()["default"]
    assert place in finding
    assert ("missing" if DAMAGES[damage] == "MISSING_FILE" else two.uids["shop"]) in finding


def test_right_file_that_is_brought_back_is_served(two: Two) -> None:
    swap_directories(two)
    with opened(two.path) as store, pytest.raises(errors.Corruption):
        store.list()
    swap_directories(two)
    with opened(two.path) as store:
        assert [memory.content for memory in store.list()] == ["mine"]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_deleted_collection_with_another_file_is_not_brought_back(
    tmp_path: Path, damage: Callable[[Two], None]
) -> None:
    two = Two(tmp_path / "data", unclean=False)
    with opened(two.path) as store:
        store.engine.delete_collection("shop", "gone", agent_id="anna").result(wait_s())
    two.uids = {"default": two.uids["shop"], "shop": two.uids["default"]}
    damage(two)
    before = two.tree()
    with opened(two.path) as store:
        with pytest.raises(errors.Corruption) as caught:
            store.restore_collection("shop", "gone")
        assert caught.value.reason == DAMAGES[damage]
    assert two.tree() == before


def test_log_of_another_collection_is_not_written_back(tmp_path: Path) -> None:
    two = Two(tmp_path / "data", unclean=True)
    log = two.file("default").with_name("memory.db-wal")
    shutil.copy(two.file("shop").with_name("memory.db-wal"), log)
    log.with_name("memory.db-shm").unlink()
    kept = two.file("default").read_bytes(), log.read_bytes()
    with opened(two.path) as store, pytest.raises(errors.Corruption):
        store.list()
    assert (two.file("default").read_bytes(), log.read_bytes()) == kept


def forget_uid(path: Path, sql: str = "DELETE FROM setting WHERE key = 'uid'") -> None:
    """Makes a file as an earlier daemon made it."""
    connection = apsw.Connection(str(path))
    connection.execute(sql)
    assert connection.changes() == 1
    connection.close()


def uid_in(path: Path) -> str | None:
    connection = identity.open_untouched(path)
    try:
        return identity.kept_uid(connection)
    finally:
        connection.close()


@pytest.mark.parametrize(
    "sql", ["DELETE FROM setting WHERE key = 'uid'", "UPDATE setting SET crc = 0 WHERE key = 'uid'"]
)
def test_file_without_a_uid_gets_that_of_its_collection_when_it_is_opened(
    tmp_path: Path, sql: str
) -> None:
    two = Two(tmp_path / "data", unclean=False)
    for name in two.uids:
        forget_uid(two.file(name), sql)
    with opened(two.path) as store:
        store.engine.list_collections(10, "").result(wait_s())
        assert uid_in(two.file("default")) is None, "it was only looked at"
        assert [memory.content for memory in store.list()] == ["mine"]
        assert uid_in(two.file("default")) == two.uids["default"], "in the file, not in the log"
    assert not two.findings()["default"]
    assert uid_in(two.file("shop")) is None


@pytest.mark.parametrize("damage", [replace_file, swap_directories])
def test_file_without_a_uid_needs_the_name_of_its_collection(
    tmp_path: Path, damage: Callable[[Two], None]
) -> None:
    two = Two(tmp_path / "data", unclean=False)
    for name in two.uids:
        forget_uid(two.file(name))
    damage(two)
    assert "'shop'" in two.findings()["default"][0]
    with opened(two.path) as store:
        for way in ways(store):
            with pytest.raises(errors.Corruption) as caught:
                way()
            assert caught.value.reason == "WRONG_FILE"
    assert uid_in(two.file("default")) is None


def test_file_of_an_earlier_format_that_is_anothers_is_not_brought_forward(tmp_path: Path) -> None:
    two = Two(tmp_path / "data", unclean=False)
    shutil.copytree(COMPAT / "format-3" / "data", tmp_path / "old")
    old = max(tmp_path.glob("old/collections/*/memory.db"), key=lambda path: path.stat().st_size)
    forget_uid(two.file("shop"))
    shutil.copy(old, two.file("shop"))
    with opened(two.path, collection="shop") as store, pytest.raises(errors.Corruption) as caught:
        store.list()
    assert caught.value.reason == "WRONG_FILE"
    assert not list(two.path.rglob("*.format*"))
    assert two.file("shop").read_bytes() == old.read_bytes()


def test_file_that_is_replaced_while_it_is_open_is_not_read(tmp_path: Path) -> None:
    two = Two(tmp_path / "data", unclean=False)
    with opened(two.path) as store:
        collection = store.engine._collections.opened("default").result(wait_s())
        two.file("default").unlink()
        shutil.copy(two.file("shop"), two.file("default"))
        pool = collection._readers
        # The first reader was opened before; the second one is opened now.
        with pool.rows(), pytest.raises(errors.Corruption) as caught, pool.rows():
            pass
        assert caught.value.reason == "WRONG_FILE"


def test_restored_copy_is_the_file_of_its_own_collection(tmp_path: Path) -> None:
    two = Two(tmp_path / "data", unclean=False)
    with opened(two.path) as store:
        made = store.create_snapshot()
        store.engine.restore_snapshot(
            made.snapshot.id, "again", "", agent_id="anna", confirmation_token=""
        ).result(wait_s())
        two.uids = store.engine._collections.names.uids()
        for name, uid in two.uids.items():
            assert uid_in(two.file(name)) == uid
        store.collection = "again"
        assert [memory.content for memory in store.list()] == ["mine"]
    assert set(two.findings().values()) == {()}


# -- What a crash leaves


def test_what_a_crash_left_is_named_so_and_goes_at_the_next_start(tmp_path: Path) -> None:
    two = Two(tmp_path / "data", unclean=False)
    root = two.path / "collections"
    half = two.file("shop").read_bytes()[:10_000]
    for name in ("0123456789abcdef.tmp", "fedcba9876543210"):
        (root / name).mkdir()
        (root / name / "memory.db").write_bytes(half)
    (root / "fedcba9876543210.new").touch()
    left = [path for path in root.rglob("*.db") if path.stat().st_size == len(half)]
    assert len(left) == 2
    before = {path: path.read_bytes() for path in left}
    found = inspect(two.path)
    assert {table.path for table in found if table.left_by_crash} == {
        "collections/0123456789abcdef.tmp",
        "collections/fedcba9876543210",
    }
    assert not any(table.findings for table in found)
    assert {path: path.read_bytes() for path in left} == before
    with opened(two.path) as store:
        assert [memory.content for memory in store.list()] == ["mine"]
    assert not any(table.left_by_crash for table in inspect(two.path))
    assert {path.name for path in root.iterdir()} == set(two.uids.values())


def test_restored_directory_that_has_no_name_yet_is_looked_at_as_its_collection(
    tmp_path: Path,
) -> None:
    two = Two(tmp_path / "data", unclean=False)
    directory = two.file("shop").parent
    directory.rename(directory.with_name(directory.name + ".tmp"))
    (found,) = (table for table in inspect(two.path) if table.name == "shop")
    assert (found.findings, found.left_by_crash) == ((), False)
    assert found.path == f"collections/{directory.name}.tmp/memory.db"
    with opened(two.path, collection="shop") as store:
        assert [memory.content for memory in store.list()] == ["theirs"]
