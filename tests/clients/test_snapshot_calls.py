"""Snapshots in both clients and on the command line, against a scripted daemon and as files."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from typer.testing import CliRunner, Result

from support.engines import opened
from support.scripted import answering, failing, scripted
from support.waits import wait_s
from totonoe.cli.main import make_app
from totonoe.enums import SnapshotUse
from totonoe.v1 import admin_service_pb2 as admin_pb
from totonoe.v1 import snapshot_pb2 as pb
from totonoe.v1 import types_pb2

Call = Callable[..., Any]
Run = Callable[..., Result]
SNAPSHOT = pb.Snapshot(
    id="snap_0123456789abcdef",
    collection="notes",
    collection_uid="00112233aabbccdd",
    current_collection="notes",
    name="first",
    comment="before",
    created_time=Timestamp(seconds=1_767_225_600),
    revision=7,
    active_count=5,
    total_count=6,
    file_bytes=1_500_000,
    sha256="ab" * 32,
    model=types_pb2.EmbeddingModel(name="use", dimension=512),
    scheduled=True,
    rewrite_count=1,
    purged_count=2,
)


def test_create_sends_name_and_comment_and_reads_the_snapshot(call: Call) -> None:
    requests: list[Any] = []
    answer = pb.CreateSnapshotResponse(snapshot=SNAPSHOT, operation_id="op_1", replayed=True)
    with scripted(CreateSnapshot=answering(answer, requests)) as address:
        told = call(
            address, "create_snapshot", name="first", comment="before", operation_id="op_1",
            collection="notes", options={"agent_id": "anna"},
        )  # fmt: skip
        call(address, "create_snapshot")
    assert requests[0] == pb.CreateSnapshotRequest(
        operation_id="op_1", agent_id="anna", collection="notes", name="first", comment="before"
    )
    assert requests[1].operation_id.startswith("op_")
    one = told.snapshot
    assert (told.replayed, told.operation_id, one.id) == (True, "op_1", SNAPSHOT.id)
    assert one.created_time == datetime(2026, 1, 1, tzinfo=UTC)
    for field in SNAPSHOT.DESCRIPTOR.fields:
        if field.name not in ("created_time", "model"):
            assert getattr(one, field.name) == getattr(SNAPSHOT, field.name)
    assert one.model.dimension == 512


def test_list_and_delete(call: Call) -> None:
    requests: list[Any] = []
    listed = pb.ListSnapshotsResponse(snapshots=[SNAPSHOT], next_page_token="t")
    deleted = pb.DeleteSnapshotResponse(snapshot=SNAPSHOT, operation_id="op_2")
    with scripted(
        ListSnapshots=answering(listed, requests), DeleteSnapshot=answering(deleted, requests)
    ) as address:
        page = call(address, "list_snapshots", "notes", page_size=1, page_token="s")
        call(address, "list_snapshots")
        gone = call(address, "delete_snapshot", SNAPSHOT.id, operation_id="op_2")
    assert requests[0] == pb.ListSnapshotsRequest(collection="notes", page_size=1, page_token="s")
    assert requests[1].collection == "", "of all, whatever the client's collection"
    assert (len(page.snapshots), page.next_page_token) == (1, "t")
    assert requests[2].snapshot_id == SNAPSHOT.id
    assert (gone.snapshot.id, gone.operation_id) == (SNAPSHOT.id, "op_2")


def test_restore_reads_what_is_at_stake_and_what_it_became(call: Call) -> None:
    requests: list[Any] = []
    asked = pb.RestoreSnapshotResponse(
        snapshot=SNAPSHOT,
        replaced=pb.ReplacedCollection(revision=9, active_count=8),
        confirmation_token="token",
    )
    done = pb.RestoreSnapshotResponse(
        snapshot=SNAPSHOT,
        restored=True,
        collection=types_pb2.Collection(name="notes", revision=8),
        purged_again_count=3,
        revision=8,
        operation_id="op_3",
    )
    with scripted(RestoreSnapshot=answering(asked, requests)) as address:
        told = call(address, "restore_snapshot", SNAPSHOT.id, "notes")
    assert (told.restored, told.collection, told.confirmation_token) == (False, None, "token")
    assert (told.replaced.revision, told.replaced.active_count) == (9, 8)
    with scripted(RestoreSnapshot=answering(done, requests)) as address:
        told = call(address, "restore_snapshot", SNAPSHOT.id, "notes", confirmation_token="token")
    assert requests[1].confirmation_token == "token"
    assert (told.restored, told.replaced, told.revision) == (True, None, 8)
    assert (told.purged_again_count, told.collection.name) == (3, "notes")


@pytest.mark.parametrize("use", [SnapshotUse.REWRITE, "rewrite"])
def test_purge_says_what_to_do_about_snapshots(call: Call, use: Any) -> None:
    requests: list[Any] = []
    held = pb.HoldingSnapshot(snapshot=SNAPSHOT, memory_count=2, rewritten=True)
    answer = admin_pb.PurgeResponse(purged_ids=["mem_1"], snapshots=[held])
    with scripted(Purge=answering(answer, requests)) as address:
        told = call(address, "purge", "mem_1", snapshots=use)
        call(address, "purge", "mem_1")
    assert [request.snapshots for request in requests] == [
        pb.SNAPSHOT_USE_REWRITE,
        pb.SNAPSHOT_USE_LIST,
    ]
    (one,) = told.snapshots
    assert (one.snapshot.id, one.memory_count, one.rewritten, one.deleted) == (
        SNAPSHOT.id, 2, True, False,
    )  # fmt: skip


# -- The command line


def test_commands_show_a_snapshot(run: Run) -> None:
    answer = pb.CreateSnapshotResponse(snapshot=SNAPSHOT)
    result = run("snapshot", "create", "--name", "first", CreateSnapshot=answering(answer))
    assert result.exit_code == 0
    assert result.stdout.startswith("snap_0123456789abcdef first: notes at revision 7, ")
    assert "5 live memories, 1.5 MB" in result.stdout
    assert "before; by the schedule; 2 memories purged since; sha256 abab" in result.stdout
    requests: list[Any] = []
    page = pb.ListSnapshotsResponse(snapshots=[SNAPSHOT], next_page_token="t")
    result = run(
        "snapshot", "list", "--collection", "notes", ListSnapshots=answering(page, requests)
    )
    assert requests[0].collection == "notes"
    assert (
        result.stdout.splitlines()[-1]
        == "More with: totonoe snapshot list --page-token t --collection notes"
    )
    listed = answering(pb.ListSnapshotsResponse(snapshots=[SNAPSHOT]))
    told = json.loads(run("snapshot", "list", "--json", ListSnapshots=listed).stdout)
    assert told["snapshots"][0]["sha256"] == "ab" * 32


def test_restore_asks_before_it_replaces(run: Run) -> None:
    requests: list[Any] = []

    def restore(request: Any, _: Any) -> Any:
        requests.append(request)
        if request.confirmation_token != "token":
            return pb.RestoreSnapshotResponse(
                snapshot=SNAPSHOT,
                replaced=pb.ReplacedCollection(revision=9, active_count=8),
                confirmation_token="token",
            )
        return pb.RestoreSnapshotResponse(
            snapshot=SNAPSHOT, restored=True, revision=8, operation_id="op_3", purged_again_count=1
        )

    asked = run("snapshot", "restore", SNAPSHOT.id, "notes", RestoreSnapshot=restore)
    assert asked.exit_code != 0, "nobody is there to be asked"
    done = run("snapshot", "restore", SNAPSHOT.id, "notes", "--yes", RestoreSnapshot=restore)
    assert done.exit_code == 0
    assert [item.confirmation_token for item in requests] == ["", "", "token"]
    assert requests[1].operation_id.startswith("op_")
    assert done.stdout.splitlines() == [
        "Restored snap_0123456789abcdef as notes, at revision 8.",
        "Purged since it was taken, so purged again: 1",
        "Take it back with: totonoe undo op_3 --collection notes",
    ]


def test_delete_and_purge_say_what_became_of_snapshots(run: Run) -> None:
    deleted = answering(pb.DeleteSnapshotResponse(snapshot=SNAPSHOT))
    result = run("snapshot", "delete", SNAPSHOT.id, "--yes", DeleteSnapshot=deleted)
    assert result.stdout == f"Deleted {SNAPSHOT.id}\n"
    held = pb.HoldingSnapshot(snapshot=SNAPSHOT, memory_count=2)
    answer = admin_pb.PurgeResponse(purged_ids=["mem_1"], snapshots=[held])
    result = run("purge", "mem_1", "--yes", Purge=answering(answer))
    assert f"Snapshot {SNAPSHOT.id}, 2 of these: still holds them" in result.stdout
    assert "--snapshots rewrite" in result.stdout


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A snapshot's file, with its manifest."""
    directory = tmp_path_factory.mktemp("data")
    with opened(directory) as store:
        store.save("The pump is hot.")
        made = store.create_snapshot()
        return store.engine.snapshots.kept.files.path(made.snapshot)


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(make_app(), ["snapshot", *arguments])


def test_verify_needs_nothing_but_the_file(file: Path, tmp_path: Path) -> None:
    alone = tmp_path / "carried away.snapshot"
    alone.write_bytes(file.read_bytes())
    result = invoke("verify", str(alone))
    assert result.exit_code == 0, result.output
    assert f"{alone}: sound" in result.stdout
    assert "memory 1" in result.stdout
    told = json.loads(invoke("--json", "verify", str(alone)).stdout)
    assert (told["sound"], told["tables"]["memory"]) == (True, 1)
    assert told["snapshot"]["revision"] == 1
    wrong = invoke("verify", str(alone), "--sha256", "0" * 64)
    assert wrong.exit_code == 1
    assert "its sha256 is" in wrong.stdout


def test_verify_tells_what_is_wrong_by_its_exit_code(file: Path, tmp_path: Path) -> None:
    data = file.read_bytes()
    at = data.index(b"The pump is hot.")
    cases = {
        "flipped": (data[:at] + b"X" + data[at + 1 :], 1),
        "cut": (data[: len(data) // 2], 1),
        "empty": (b"", 1),
        "text": (b"no database at all " * 100, 1),
    }
    for name, (content, code) in cases.items():
        path = tmp_path / name
        path.write_bytes(content)
        result = invoke("verify", str(path))
        assert result.exit_code == code, name
        assert "NOT SOUND" in result.stdout
    assert invoke("verify", str(tmp_path / "nowhere")).exit_code == 2


def test_verify_reads_the_manifest_beside_the_file(file: Path, tmp_path: Path) -> None:
    for path in (file, file.with_name(file.name.partition(".")[0] + ".json")):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    beside = tmp_path / file.name
    assert invoke("verify", str(beside)).exit_code == 0
    data = bytearray(file.read_bytes())
    data[96] ^= 1  # a number that SQLite keeps for itself
    beside.write_bytes(data)
    assert invoke("verify", str(beside)).exit_code == 1


def test_import_lists_a_file_in_another_directory(file: Path, tmp_path: Path) -> None:
    nowhere = invoke("import", str(file), "--data-dir", str(tmp_path / "none"))
    assert nowhere.exit_code == 2
    with opened(tmp_path / "data") as store:
        result = invoke("import", str(file), "--data-dir", str(tmp_path / "data"))
        assert result.exit_code == 0, result.output
        page = store.engine.list_snapshots("", 100, "").result(wait_s())
        assert [snapshot.snapshot.id for snapshot in page.snapshots] == [
            file.name.partition(".")[0]
        ]
    again = invoke("import", str(file), "--data-dir", str(tmp_path / "data"), "--json")
    assert json.loads(again.stdout)["sound"], "once more is the same"


def test_without_the_server_the_commands_say_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "totonoe_server.tools.commands", None)
    result = invoke("verify", "file")
    assert result.exit_code == 2
    assert "totonoe[server]" in result.output
    assert {"create", "verify"} <= set(invoke("--help").output.split())


def test_restore_whose_deadline_passes_says_that_it_goes_on_and_how_to_look(run: Run) -> None:
    job = pb.SnapshotJob(
        kind="restore", snapshot_id=SNAPSHOT.id, step="checking", step_share=0.25,
        begun_time=Timestamp(seconds=1_767_225_600),
    )  # fmt: skip
    stats = admin_pb.StatsResponse(snapshots=pb.SnapshotStats(running=job))
    late = failing("DEADLINE_EXCEEDED", "DEADLINE_PASSED")
    result = run(
        "snapshot", "restore", SNAPSHOT.id, "again", "--operation-id", "op_again",
        RestoreSnapshot=late, Stats=answering(stats),
    )  # fmt: skip
    shown = run("stats", Stats=answering(stats))
    assert result.exit_code == 5
    assert (
        f"the daemon goes on (Snapshot {SNAPSHOT.id} is being restored: checking, 25%). "
        "It shows how far it is with: totonoe stats; and gives the answer with: "
        f"totonoe snapshot restore {SNAPSHOT.id} again --operation-id op_again"
    ) in result.stderr
    assert f"Snapshot {SNAPSHOT.id} is being restored: checking, 25%" in shown.stdout


def test_restore_names_collections_whose_purges_are_not_known(run: Run) -> None:
    answer = pb.RestoreSnapshotResponse(
        snapshot=SNAPSHOT, restored=True, revision=7, operation_id="op_2",
        unread_uids=["00112233aabbccdd"],
    )  # fmt: skip
    result = run("snapshot", "restore", SNAPSHOT.id, "again", RestoreSnapshot=answering(answer))
    assert "what was purged in them since may be back: 00112233aabbccdd" in result.stdout
