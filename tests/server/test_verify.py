"""`totonoe verify`: what it finds in a data directory, and that it changes nothing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import apsw
import pytest
import typer
from typer.testing import CliRunner

from support.engines import Store, episode, forget, link, opened
from support.waits import wait_s
from totonoe_core.domain.collections import NewCollection
from totonoe_core.engine.state import checkpointing
from totonoe_core.store.checkpoint import MANIFEST
from totonoe_core.store.sqlite.lockfile import DataDirLock
from totonoe_server.tools import commands

APP = typer.Typer()
commands.register(APP)
COMPAT = Path(__file__).parents[1] / "compat" / "data"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    path = tmp_path / "data"
    with opened(path) as store:
        one, two, gone = store.save("one"), store.save("two"), store.save("gone")
        store.do(link(one, two))
        store.do(episode("both", one, two))
        store.do(forget(gone))
        shop(store)
        store.engine.delete_collection("shop", "", agent_id="anna").result(wait_s())
    return path


def shop(store: Store) -> None:
    store.engine.create_collection(
        NewCollection("shop", client_vector_dimension=4), "", agent_id="anna"
    ).result(wait_s())


def verify(directory: Path, *more: str) -> tuple[int, str]:
    done = CliRunner().invoke(APP, ["verify", str(directory), *more])
    return done.exit_code, done.output


def found(directory: Path) -> tuple[int, list[str]]:
    """Exit code, and every finding."""
    code, said = verify(directory, "--json")
    answer: dict[str, Any] = json.loads(said)
    assert answer["sound"] is (code == 0)
    return code, [f"{file['name']} {line}" for file in answer["files"] for line in file["findings"]]


def default_of(directory: Path) -> Path:
    connection = apsw.Connection(str(directory / "catalog.db"), flags=apsw.SQLITE_OPEN_READONLY)
    uid = connection.execute("SELECT uid FROM collection WHERE name = 'default'").get
    connection.close()
    return directory / "collections" / str(uid) / "memory.db"


def change(directory: Path, sql: str) -> None:
    connection = apsw.Connection(str(default_of(directory)))
    connection.execute(sql)
    connection.close()


def files_of(directory: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in directory.rglob("*.db")}


def test_sound_directory_ends_with_0_and_is_not_changed(directory: Path) -> None:
    before = files_of(directory)
    code, said = verify(directory)
    assert code == 0
    lines = said.splitlines()
    assert len(lines) == 3
    assert all(line.endswith("sound") for line in lines)
    assert lines[0].startswith("catalog.db: format 3, 5 rows")
    assert any("(default): format 9" in line for line in lines)
    assert any("(shop, deleted): format 9" in line for line in lines)
    assert files_of(directory) == before
    assert found(directory) == (0, [])


@pytest.mark.parametrize(
    ("sql", "finding"),
    [
        ("UPDATE memory SET content = 'x' WHERE row = 1", 'memory: row ["1"] does not match'),
        ("DELETE FROM operation WHERE revision = 2", "revisions have gaps: 5 operations"),
        ("DELETE FROM link WHERE source = 1", "a link without its inverse: 2 -> 1"),
        ("UPDATE link SET target = 9 WHERE source = 1", "a link to what is not there: 1 -> 9"),
        ("DELETE FROM memory WHERE row = 2", "a link to what is not there: 1 -> 2"),
        ("UPDATE image SET revision = 99", "a before image of a revision to come: revision 99"),
        (
            "UPDATE memory SET superseded_by = 'mem_0123456789ab' WHERE row = 1",
            "superseded by what is not there: row 1",
        ),
    ],
)
def test_what_does_not_fit_is_named(directory: Path, sql: str, finding: str) -> None:
    change(directory, sql)
    code, findings = found(directory)
    assert code == 1
    assert any(finding in line for line in findings), findings
    assert all(line.startswith("default ") for line in findings)


def test_damaged_and_missing_files_are_named(directory: Path) -> None:
    path = default_of(directory)
    data = bytearray(path.read_bytes())
    data[4096 * 2 : 4096 * 3] = bytes(4096)
    path.write_bytes(data)
    assert found(directory)[0] == 1
    path.write_bytes(b"no database")
    assert any("damaged" in line for line in found(directory)[1])
    path.unlink()
    assert any("memory.db is missing" in line for line in found(directory)[1])
    (directory / "catalog.db").write_bytes(b"no database")
    assert found(directory)[0] == 1


def test_later_format_is_named_and_an_earlier_one_looked_at(
    directory: Path, tmp_path: Path
) -> None:
    change(directory, "PRAGMA user_version = 99")
    assert any("format 99" in line for line in found(directory)[1])
    for number, old in enumerate(sorted(COMPAT.glob("format-*"))):
        copy = tmp_path / str(number)
        shutil.copytree(old / "data", copy)
        before = files_of(copy)
        assert found(copy) == (0, [])
        assert files_of(copy) == before


def test_directory_that_a_daemon_has_is_left_alone(directory: Path) -> None:
    lock = DataDirLock(directory)
    lock.acquire("127.0.0.1:1")
    try:
        code, said = verify(directory)
    finally:
        lock.release()
    assert code == 2
    assert "in use by another daemon" in said
    assert verify(directory)[0] == 0


def test_what_is_no_data_directory_ends_with_2(tmp_path: Path) -> None:
    code, said = verify(tmp_path / "nothing")
    assert code == 2
    assert "no data directory" in said
    assert not (tmp_path / "nothing").exists()


@pytest.fixture
def copies(directory: Path) -> tuple[Path, Path]:
    """A checkpoint of the default collection, and a snapshot's file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpointing, "FROM_COUNT", 1)
        patch.setattr(checkpointing, "CHANGED_AT_CLOSE", 1)
        with opened(directory) as store:
            store.save("another")
            snapshots = store.engine.snapshots
            snapshots.create("default", "", agent_id="anna", name="one", comment="").result(
                wait_s()
            )
    (checkpoint,) = directory.glob("collections/*/checkpoint/*")
    (snapshot,) = directory.glob("snapshots/*/*.snapshot")
    return checkpoint, snapshot


def copied_bytes(copies: tuple[Path, Path]) -> dict[Path, bytes]:
    places = (copies[0].parent, copies[1].parent)
    return {
        path: path.read_bytes() for file in places for path in file.rglob("*") if path.is_file()
    }


def test_checkpoints_and_snapshots_are_looked_at(
    directory: Path, copies: tuple[Path, Path]
) -> None:
    before = copied_bytes(copies)
    assert found(directory) == (0, [])
    lines = verify(directory)[1].splitlines()
    for path, rows in zip(copies, (3, 14), strict=True):
        (line,) = [line for line in lines if line.startswith(str(path.relative_to(directory)))]
        assert "(default)" in line
        assert line.endswith("sound")
        assert int(line.split(" rows")[0].split()[-1]) >= rows
    assert copied_bytes(copies) == before


@pytest.mark.parametrize("name", [MANIFEST, "arrays", "vectors"])
def test_damaged_checkpoint_is_named(directory: Path, copies: tuple[Path, Path], name: str) -> None:
    path = copies[0] / name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)
    # The checkpoint that travels with the snapshot has the same files.
    code, findings = found(directory)
    assert (code, len(findings)) == (1, 2)
    assert all(name in finding for finding in findings)
    assert str(copies[0].relative_to(directory)) in verify(directory)[1]
    path.write_bytes(data[:-1])
    assert found(directory)[0] == 1
    path.unlink()
    assert name in found(directory)[1][0]


def test_checkpoint_that_was_set_aside_or_is_another_collections_is_named(
    directory: Path, copies: tuple[Path, Path]
) -> None:
    checkpoint, _ = copies
    other = next(path for path in directory.glob("collections/*") if path != checkpoint.parents[1])
    shutil.copytree(checkpoint, other / "checkpoint" / checkpoint.name)
    assert found(directory) == (1, ["shop is of another collection"])
    shutil.rmtree(other / "checkpoint")
    checkpoint.rename(checkpoint.with_name(checkpoint.name + ".bad"))
    code, (finding,) = found(directory)
    assert (code, finding) == (1, "default was set aside; it is not used, and may be deleted")
    (checkpoint.parent / "9-9.tmp").mkdir()
    assert len(found(directory)[1]) == 1


def test_damaged_snapshot_is_named(directory: Path, copies: tuple[Path, Path]) -> None:
    _, path = copies
    manifest, sound = path.with_suffix(".json"), path.read_bytes()
    path.write_bytes(sound[:5000] + b"!" + sound[5001:])
    code, findings = found(directory)
    assert code == 1
    assert "default it does not match the sha256 of its manifest" in findings
    path.write_bytes(sound[:5000])
    assert found(directory)[0] == 1
    path.unlink()
    assert any("cannot be read" in wording for wording in found(directory)[1])
    path.write_bytes(sound)
    text = manifest.read_bytes()
    manifest.write_bytes(text[:50])
    assert found(directory) == (1, [" its manifest cannot be read"])
    manifest.unlink()
    code, (finding,) = found(directory)
    assert (code, finding.startswith(" its manifest is gone")) == (1, True)
    manifest.write_bytes(text)
    assert found(directory) == (0, [])


def test_damaged_or_open_file_of_identities_is_found(directory: Path) -> None:
    path = directory / "access.json"
    assert found(directory) == (0, [])
    added = CliRunner().invoke(
        APP, ["tokens", "create", "anna", "--grant", "*:read", "--data-dir", str(directory)]
    )
    assert added.exit_code == 0, added.output
    assert verify(directory)[1].splitlines()[-1] == "access.json: format 1, 1 rows, sound"
    whole = path.read_bytes()
    path.write_bytes(whole[:-9])
    code, said = found(directory)
    assert (code, len(said)) == (1, 1)
    assert "access.json" in said[0]
    path.write_bytes(whole)
    path.chmod(0o644)
    code, said = found(directory)
    assert code == 1
    assert "is open to other users" in said[0]
