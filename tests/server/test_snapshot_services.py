"""Snapshots over the wire: made, listed, restored, taken back, and what a Purge finds in them."""

from __future__ import annotations

from typing import Any

import grpc
import pytest

from totonoe.v1 import admin_service_pb2 as admin_pb
from totonoe.v1 import memory_service_pb2 as pb
from totonoe.v1 import operations_pb2, snapshot_pb2


def create(wire: Any, collection: str, *, timeout: float = 30, **more: Any) -> Any:
    request = snapshot_pb2.CreateSnapshotRequest(collection=collection, **more)
    return wire.admin.CreateSnapshot(request, timeout=timeout)


def restore(
    wire: Any,
    snapshot_id: str,
    into: str,
    token: str = "",
    operation_id: str = "",
    timeout: float = 30,
) -> Any:
    request = snapshot_pb2.RestoreSnapshotRequest(
        snapshot_id=snapshot_id,
        collection=into,
        confirmation_token=token,
        operation_id=operation_id,
    )
    return wire.admin.RestoreSnapshot(request, timeout=timeout)


def texts(wire: Any, collection: str) -> set[str]:
    page = wire.memory.List(pb.ListRequest(collection=collection), timeout=30)
    return {memory.content for memory in page.memories}


@pytest.mark.both_stores
def test_create_list_restore_delete(wire: Any, fails: Any) -> None:
    name = wire.collection()
    wire.remember("The pump is hot.", name)
    made = create(wire, name, name="first", comment="before the change", operation_id="snap-1")
    again = create(wire, name, name="first", comment="before the change", operation_id="snap-1")
    assert again.replayed
    assert again.snapshot == made.snapshot
    assert fails(create, wire, name, name="first").reason == "SNAPSHOT_EXISTS"
    assert (
        fails(create, wire, name, name="x", operation_id="snap-1").reason == "OPERATION_ID_REUSED"
    )
    assert (made.snapshot.revision, made.snapshot.active_count) == (1, 1)
    request = snapshot_pb2.ListSnapshotsRequest(collection=name)
    (listed,) = wire.admin.ListSnapshots(request, timeout=30).snapshots
    assert listed == made.snapshot
    assert listed.current_collection == name
    wire.remember("The valve is cold.", name)
    other = name + "-copy"
    restored = restore(wire, listed.id, other)
    assert restored.restored
    assert restored.collection.name == other
    assert texts(wire, other) == {"The pump is hot."}
    delete = snapshot_pb2.DeleteSnapshotRequest(snapshot_id=listed.id, operation_id="delete-1")
    assert wire.admin.DeleteSnapshot(delete, timeout=30).snapshot.id == listed.id
    assert wire.admin.DeleteSnapshot(delete, timeout=30).replayed
    assert fails(restore, wire, listed.id, "nowhere").reason == "SNAPSHOT_NOT_FOUND"


@pytest.mark.both_stores
def test_restore_over_asks_first_and_is_undone(wire: Any, fails: Any) -> None:
    name = wire.collection()
    wire.remember("The pump is hot.", name)
    snapshot = create(wire, name).snapshot
    wire.remember("The valve is cold.", name)
    asked = restore(wire, snapshot.id, name)
    assert not asked.restored
    assert (asked.replaced.revision, asked.replaced.active_count) == (2, 2)
    wire.remember("The hose is long.", name)
    failure = fails(restore, wire, snapshot.id, name, asked.confirmation_token)
    assert (failure.code, failure.reason) == (grpc.StatusCode.ABORTED, "NOT_CONFIRMED")
    token = restore(wire, snapshot.id, name).confirmation_token
    done = restore(wire, snapshot.id, name, token, operation_id="restore-1")
    assert done.restored
    assert restore(wire, snapshot.id, name, token, operation_id="restore-1").replayed
    assert texts(wire, name) == {"The pump is hot."}
    undo = operations_pb2.UndoRequest(collection=name, target_operation_id="restore-1")
    undone = wire.memory.Undo(undo, timeout=30)
    assert undone.collection.revision == 3
    assert texts(wire, name) == {"The pump is hot.", "The valve is cold.", "The hose is long."}


@pytest.mark.both_stores
def test_purge_lists_rewrites_and_deletes(wire: Any, fails: Any) -> None:
    name = wire.collection()
    secret = wire.remember("The code is 4711.", name).memory_id
    wire.remember("The pump is hot.", name)
    first, second = create(wire, name).snapshot, create(wire, name).snapshot

    def purge(timeout: float = 30, **more: Any) -> Any:
        request = admin_pb.PurgeRequest(collection=name, ids=[secret], **more)
        return wire.admin.Purge(request, timeout=timeout)

    would = purge(dry_run=True, snapshots=snapshot_pb2.SNAPSHOT_USE_DELETE)
    assert {snapshot.snapshot.id for snapshot in would.snapshots} == {first.id, second.id}
    assert not any(snapshot.deleted or snapshot.rewritten for snapshot in would.snapshots)
    found = purge()
    assert {(snapshot.snapshot.id, snapshot.memory_count) for snapshot in found.snapshots} == {
        (first.id, 1),
        (second.id, 1),
    }
    rewritten = purge(snapshots=snapshot_pb2.SNAPSHOT_USE_REWRITE)
    assert rewritten.missing_ids == [secret]
    assert all(snapshot.rewritten for snapshot in rewritten.snapshots)
    after = {snapshot.snapshot.id: snapshot.snapshot for snapshot in rewritten.snapshots}
    assert after[first.id].purged_count == 1
    assert after[first.id].sha256 != first.sha256
    assert restore(wire, first.id, name + "-back").purged_again_count == 0
    assert texts(wire, name + "-back") == {"The pump is hot."}
    assert fails(purge).reason == "MEMORY_NOT_FOUND"
