"""The side file: two slots, of which a torn one is never believed, and a sync now and then."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from totonoe_core.store.sqlite import acknowledged
from totonoe_core.store.sqlite.acknowledged import Acknowledged, Note

UID = "0123456789abcdef"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


def noted(database: Path, *pairs: tuple[int, int], uid: str = UID) -> None:
    note = Note(database, uid)
    for revision, batch in pairs:
        note.put(revision, batch)
    note.close()


def test_newest_commit_is_read_back(database: Path) -> None:
    assert acknowledged.read(database, UID) is None
    noted(database, (1, 1))
    assert acknowledged.read(database, UID) == Acknowledged(UID, 1, 1)
    noted(database, (1, 2), (7, 3), (9, 4))
    assert acknowledged.read(database, UID) == Acknowledged(UID, 9, 4)
    assert acknowledged.path_of(database).stat().st_mode & 0o777 == 0o600


def test_name_sorts_before_the_database(database: Path) -> None:
    assert acknowledged.path_of(database).name == "memory.acknowledged" < database.name


@pytest.mark.parametrize("batch", [4, 5])
def test_slot_that_is_torn_at_any_byte_leaves_the_one_before(database: Path, batch: int) -> None:
    noted(database, (8, batch - 1), (9, batch))
    path = acknowledged.path_of(database)
    data = bytearray(path.read_bytes())
    place = batch % 2 * 4096
    for at in range(place, min(place + 60, len(data))):
        torn = bytearray(data)
        torn[at] ^= 1
        path.write_bytes(torn)
        assert acknowledged.read(database, UID) == Acknowledged(UID, 8, batch - 1)
    path.write_bytes(bytes(len(data)))
    assert acknowledged.read(database, UID) is None
    path.write_bytes(b"short")
    assert acknowledged.read(database, UID) is None


def test_side_file_of_another_collection_is_told_and_written_over(database: Path) -> None:
    noted(database, (90, 70), (91, 71), uid="fedcba9876543210")
    found = acknowledged.read(database, UID)
    assert found is not None
    assert found.uid == "fedcba9876543210"
    noted(database, (5, 4))
    assert acknowledged.read(database, UID) == Acknowledged(UID, 5, 4)


def test_it_is_synced_once_a_second_at_most_and_at_the_end(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = 100.0
    synced: list[float] = []
    monkeypatch.setattr(acknowledged, "SYNC_S", 1.0)
    monkeypatch.setattr(os, "fdatasync", lambda _: synced.append(now_s))
    note = Note(database, UID, lambda: now_s)
    for number in range(1, 36):
        now_s = 100 + number / 10
        note.put(number, number)
    assert synced == [101.0, 102.0, 103.0]
    note.close()
    assert len(synced) == 4
    note.close()
    assert len(synced) == 4


def test_disk_that_refuses_it_is_logged_once_and_harms_no_commit(
    database: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    note = Note(database, UID)
    note.put(1, 1)

    def full(*_: object) -> int:
        raise OSError(28, "no space left")

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        note.put(2, 2)
        note.put(3, 3)
    assert len(caplog.records) == 1
    assert acknowledged.read(database, UID) == Acknowledged(UID, 1, 1)
    note.put(4, 4)
    note.close()
    assert acknowledged.read(database, UID) == Acknowledged(UID, 4, 4)


def test_file_that_cannot_be_made_lags(tmp_path: Path) -> None:
    note = Note(tmp_path / "gone" / "memory.db", UID)
    note.put(1, 1)
    note.close()
    assert acknowledged.read(tmp_path / "gone" / "memory.db", UID) is None
