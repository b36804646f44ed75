"""A store without files: what it has not is refused by name, and everything else goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.engines import FakeClock, Store, opened
from support.waits import wait_s
from totonoe_core.base.errors import NotOnThisStore
from totonoe_core.domain.snapshots import SnapshotSchedule, SnapshotUse
from totonoe_core.engine.embedded import EmbeddedEngine
from totonoe_core.engine.jobs.verify import Pace
from totonoe_core.store.sqlite.store import SqliteStore

SNAPSHOT = "snap_" + "1" * 16
CALLS: dict[str, Callable[[Any], Any]] = {
    "CreateSnapshot": lambda engine: engine.create_snapshot(
        "default", "", agent_id="", name="", comment=""
    ),
    "ListSnapshots": lambda engine: engine.list_snapshots("", 10, ""),
    "DeleteSnapshot": lambda engine: engine.delete_snapshot(SNAPSHOT, "", agent_id=""),
    "RestoreSnapshot": lambda engine: engine.restore_snapshot(
        SNAPSHOT, "default", "", agent_id="", confirmation_token=""
    ),
}


class WithoutFiles(SqliteStore):
    """A store of the same rows that gives no capability of files away."""

    name = "plain"
    copies = None  # type: ignore[assignment]
    checks = None  # type: ignore[assignment]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setattr("support.engines.SqliteStore", WithoutFiles)
    with opened(tmp_path / "data") as found:
        yield found


@pytest.mark.parametrize("call", CALLS)
def test_call_that_needs_files_is_refused_by_name(store: Store, call: str) -> None:
    with pytest.raises(NotOnThisStore) as refused:
        CALLS[call](store.engine).result(wait_s())
    assert refused.value.reason == "NOT_ON_THIS_STORE"
    assert refused.value.details == {"capability": "snapshots", "store": "plain"}
    assert (
        refused.value.message
        == "this daemon keeps its collections in plain, which has no snapshots"
    )


def test_everything_else_goes_on(store: Store) -> None:
    kept, gone = store.save("the heating is set to 21 degrees"), store.save("a password")
    purged = store.engine.purge_snapshots(
        "default", "", [gone], SnapshotUse.REWRITE, dry_run=True
    ).result(wait_s())
    assert purged == ()
    stats = store.engine.stats("default", "").result(wait_s())
    assert stats.snapshots.count == 0
    (verifier,) = store.engine._collections.verifiers()
    assert not verifier.due(Pace(1e-9)), "nothing that only files have is checked"
    store.reopen()
    assert store.one(kept).content == "the heating is set to 21 degrees"


def test_snapshots_by_a_schedule_are_refused_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(NotOnThisStore):
        EmbeddedEngine(
            WithoutFiles(tmp_path),
            embedding=None,
            clock=FakeClock(),
            snapshot_schedule=SnapshotSchedule(every_h=1.0),
        )
    assert not list(tmp_path.iterdir()), "before it opened anything"
