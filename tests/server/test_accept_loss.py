"""`totonoe accept-loss` and what `verify` says before and after it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from support.engines import Store, opened
from totonoe.v1 import admin_service_pb2 as admin_pb
from totonoe.v1 import memory_service_pb2 as pb
from totonoe_core.store.sqlite.lockfile import DataDirLock
from totonoe_server.tools import commands

APP = typer.Typer()
commands.register(APP)


@pytest.fixture
def lossy(tmp_path: Path) -> Path:
    """A directory whose revisions 2 and 3 were acknowledged, and whose log is gone."""
    path = tmp_path / "data"
    with opened(path) as store:
        store.save("kept")
    store = Store(path)
    store.save("lost")
    store.save("lost too")
    shutil.copytree(path, tmp_path / "killed")
    store.close()
    next(tmp_path.glob("killed/collections/*/memory.db-wal")).unlink()
    return tmp_path / "killed"


def run(*arguments: str | Path) -> tuple[int, str]:
    done = CliRunner().invoke(APP, list(map(str, arguments)))
    return done.exit_code, done.output


def test_verify_names_what_is_lost_and_the_way_on(lossy: Path) -> None:
    code, said = run("verify", lossy, "--json")
    assert code == 1
    (finding,) = [line for file in json.loads(said)["files"] for line in file["findings"]]
    assert "(2, revisions 2-3)" in finding
    assert "totonoe accept-loss default --revisions 2-3" in finding
    # As it says it.
    code, said = run("accept-loss", "default", "--revisions", "2-3", "--data-dir", lossy)
    assert (code, said) == (
        0,
        "revisions 2-3 of collection 'default' are given up; it goes on at revision 10004\n",
    )
    assert run("verify", lossy)[0] == 0
    with opened(lossy) as store:
        assert [memory.content for memory in store.list()] == ["kept"]
        store.save("more")
        assert store.revision == 10_005


def test_what_is_not_lost_is_not_given_up(lossy: Path) -> None:
    code, said = run("accept-loss", "default", "--revisions", "2-4", "--data-dir", lossy)
    assert (code, said) == (1, "totonoe: revisions: got '2-4', allowed: 2-3\n")
    code, said = run("accept-loss", "shop", "--revisions", "2-3", "--data-dir", lossy)
    assert (code, said) == (1, "totonoe: collection 'shop' not found\n")
    code, said = run("accept-loss", "--catalogue", "--revisions", "1-1", "--data-dir", lossy)
    assert code == 1
    assert "no acknowledged commit is lost" in said
    assert run("verify", lossy)[0] == 1


def test_it_needs_one_target_a_data_directory_and_no_daemon(lossy: Path, tmp_path: Path) -> None:
    asked = ("accept-loss", "--revisions", "2-3", "--data-dir")
    for more in ((), ("default", "--catalogue")):
        code, said = run(*asked, lossy, *more)
        assert (code, said) == (2, "totonoe: name a collection, or give --catalogue\n")
    code, said = run(*asked, tmp_path / "nothing", "default")
    assert code == 2
    assert "is no data directory" in said
    assert not (tmp_path / "nothing").exists()
    lock = DataDirLock(lossy)
    lock.acquire("127.0.0.1:7766")
    try:
        code, said = run(*asked, lossy, "default")
    finally:
        lock.release()
    assert code == 2
    assert "127.0.0.1:7766" in said
    assert run("verify", lossy)[0] == 1


def test_daemon_reads_what_is_left_and_says_what_is_lost(open_wire, fails, tmp_path: Path) -> None:
    with open_wire(data_dir=tmp_path / "data") as wire:
        kept = wire.remember("the pump stands in hall one")
        log = next(tmp_path.glob("data/collections/*/memory.db-wal"))
        before = log.read_bytes()
        wire.remember("the boiler is new")
        shutil.copytree(tmp_path / "data", tmp_path / "killed")
    next(tmp_path.glob("killed/collections/*/memory.db-wal")).write_bytes(before)
    (tmp_path / "killed" / "LOCK").unlink()
    with open_wire(data_dir=tmp_path / "killed") as wire:
        (found,) = wire.memory.List(pb.ListRequest()).memories
        assert found.id == kept.memory_id
        failure = fails(wire.memory.Forget, pb.ForgetRequest(ids=[found.id]))
        assert (failure.code.name, failure.reason) == ("FAILED_PRECONDITION", "COMMITS_LOST")
        assert failure.details["revisions"] == "2-2"
        (stats,) = wire.admin.Stats(admin_pb.StatsRequest()).collections
        assert stats.state == "read-only"
        assert stats.verify.lost_commit_count >= 1
        assert stats.verify.lost_revisions == "2-2"
        assert not wire.admin.Stats(admin_pb.StatsRequest()).lost_catalogue_revisions
