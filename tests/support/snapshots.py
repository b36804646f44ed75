"""Calls about snapshots, to their answers."""

from __future__ import annotations

from support.engines import Store
from support.waits import wait_s
from totonoe_core.domain.snapshots import Restored, Snapshot


def restore(
    store: Store, snapshot: Snapshot, into: str, token: str = "", operation_id: str = ""
) -> Restored:
    return store.engine.restore_snapshot(
        snapshot.id, into, operation_id, agent_id="anna", confirmation_token=token
    ).result(wait_s())


def listed(store: Store, collection: str = "") -> list[Snapshot]:
    page = store.engine.list_snapshots(collection, 100, "").result(wait_s())
    return [snapshot.snapshot for snapshot in page.snapshots]
