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

from support.engines import WAIT_S, Store, episode, forget, link, opened
from totonoe_core.guard.policy import PRESETS, DecayPolicy, DiversityPolicy, Preset
from totonoe_core.store.lockfile import DataDirLock
from totonoe_server import commands

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
        store.engine.delete_collection("shop", "", agent_id="anna").result(WAIT_S)
    return path


def shop(store: Store) -> None:
    store.engine.create_collection(
        "shop",
        "",
        agent_id="anna",
        description="",
        guard=PRESETS[Preset.STANDARD],
        diversity=DiversityPolicy(),
        decay=DecayPolicy(),
        client_vector_dimension=4,
    ).result(WAIT_S)


def verify(directory: Path, *more: str) -> tuple[int, str]:
    done = CliRunner().invoke(APP, ["verify", str(directory), *more])
    return done.exit_code, done.output


def found(directory: Path) -> tuple[int, list[str]]:
    """Exit code, and every finding."""
    code, said = verify(directory, "--json")
    answer: dict[str, Any] = json.loads(said)
    assert answer["sound"] is (code == 0)
    return code, [f"{one['name']} {line}" for one in answer["files"] for line in one["findings"]]


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
    assert any("(default): format 4" in line for line in lines)
    assert any("(shop, deleted): format 4" in line for line in lines)
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
    assert any("memory.db is gone" in line for line in found(directory)[1])
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
