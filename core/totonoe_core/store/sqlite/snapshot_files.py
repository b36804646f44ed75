"""Places of snapshots' files, and removal of unfinished ones.

    <data dir>/snapshots/<uid of the collection>/<id>.snapshot     the file; <id>.N.snapshot once a
                                                                   purge was written into it
                                                <id>.json          its manifest
                                                <id>.checkpoint/   its checkpoint (see `carried.py`)
                                                *.tmp*             what is being made

A snapshot exists when its manifest and the file that this names exist. It is written under a
temporary name, synced and renamed, the file first; a rewritten file lies beside the old one until
the manifest names it; a deletion removes the file first. So a crash leaves the old one, the new
one, or nothing, and `sweep` removes files that no manifest names. The checkpoint is listed before
its snapshot and removed before it, so that none is left over.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from totonoe_core.base import ids, plain
from totonoe_core.domain.snapshots import Snapshot
from totonoe_core.store import directories
from totonoe_core.store.sqlite import carried
from totonoe_core.store.sqlite.snapshot import disk

_MANIFEST = 1
_FILE = ".snapshot"
_TEMPORARY = ".tmp"


class SnapshotFiles:
    """Snapshots of one data directory. Reads on any thread; changes on one at a time.

    Methods without a text of their own: see `seam.SnapshotFiles`.
    """

    def __init__(self, data_dir: Path) -> None:
        self._root = data_dir / "snapshots"
        self._read: dict[Path, tuple[tuple[int, int], Snapshot | None]] = {}

    def all(self) -> Iterator[Snapshot]:
        for uid in _names(self._root):
            yield from self.of(uid)

    def of(self, uid: str) -> Iterator[Snapshot]:
        for name in _names(self._root / uid):
            if name.endswith(".json"):
                snapshot = self._manifest(self._root / uid / name)
                if snapshot is not None and self.path(snapshot).exists():
                    yield snapshot

    def find(self, snapshot_id: str) -> Snapshot | None:
        for uid in _names(self._root):
            snapshot = self._manifest(self._root / uid / f"{snapshot_id}.json")
            if snapshot is not None and self.path(snapshot).exists():
                return snapshot
        return None

    def path(self, snapshot: Snapshot) -> Path:
        return self._root / snapshot.collection_uid / _file_name(snapshot)

    def checkpoint(self, snapshot: Snapshot) -> Path:
        return carried.beside(self.path(snapshot))

    def temporary(self, uid: str, snapshot_id: str) -> Path:
        with disk("the snapshots' directory"):
            directory = self._root / uid
            directories.make(directory)
            path = directory / f"{snapshot_id}{_TEMPORARY}"
        self.discard(path)
        return path

    def discard(self, temporary: Path) -> None:
        for path in temporary.parent.glob(temporary.name + "*"):
            _remove(path)

    def commit(self, temporary: Path, snapshot: Snapshot) -> None:
        target = self.path(snapshot)
        manifest = target.with_name(snapshot.id + ".json")
        beside = temporary.with_name(temporary.name + ".json")
        data = {
            "manifest": _MANIFEST,
            "file": target.name,
            "snapshot": json.loads(plain.dumps(snapshot)),
        }
        with disk("the snapshot"):
            with beside.open("w", encoding="utf-8") as file:
                json.dump(data, file, ensure_ascii=False, indent=1, sort_keys=True)
                file.flush()
                os.fsync(file.fileno())
            shutil.rmtree(self.checkpoint(snapshot), ignore_errors=True)
            made = self.unlisted_checkpoint(temporary)
            if made.is_dir():
                made.rename(self.checkpoint(snapshot))
            temporary.replace(target)
            # The directory too, so that no manifest exists without its file.
            directories.sync(target.parent)
            beside.replace(manifest)
            directories.sync(target.parent)
            for other in target.parent.glob(f"{snapshot.id}.*{_FILE}"):
                if other != target:
                    other.unlink()
            if snapshot.rewrite_count:
                target.with_name(snapshot.id + _FILE).unlink(missing_ok=True)
            directories.sync(target.parent)

    @staticmethod
    def unlisted_checkpoint(temporary: Path) -> Path:
        return temporary.with_name(temporary.name + carried.SUFFIX)

    def delete(self, snapshot: Snapshot) -> None:
        path = self.path(snapshot)
        with disk("the snapshot"):
            if self.checkpoint(snapshot).exists():
                shutil.rmtree(self.checkpoint(snapshot))
            path.unlink(missing_ok=True)
            directories.sync(path.parent)
            path.with_name(snapshot.id + ".json").unlink(missing_ok=True)
            self._read.pop(path.with_name(snapshot.id + ".json"), None)
            directories.sync(path.parent)
            # Removed once empty, so that old collections' directories are not scanned for ever.
            with contextlib.suppress(OSError):
                path.parent.rmdir()

    def sweep(self) -> list[Path]:
        lost = []
        for uid in _names(self._root):
            directory = self._root / uid
            if _TEMPORARY in uid:
                _remove(directory)  # a copy of the catalogue that was not finished
            for name in _names(directory):
                path = directory / name
                if _TEMPORARY in name:
                    _remove(path)
                elif name.endswith(carried.SUFFIX):
                    if not any(directory.glob(f"{path.stem}*{_FILE}")):
                        _remove(path)
                elif name.endswith(_FILE):
                    snapshot = self._manifest(directory / (name.partition(".")[0] + ".json"))
                    if snapshot is None:
                        lost.append(path)
                    elif _file_name(snapshot) != name:
                        with contextlib.suppress(OSError):
                            path.unlink()
                elif name.endswith(".json"):
                    snapshot = self._manifest(path)
                    if snapshot is not None and not self.path(snapshot).exists():
                        with contextlib.suppress(OSError):
                            path.unlink()
        return lost

    def _manifest(self, path: Path) -> Snapshot | None:
        """Return the snapshot of a manifest; `None` if it is missing or unreadable."""
        try:
            about = path.stat()
            stamp = (about.st_mtime_ns, about.st_size)
            known = self._read.get(path)
            if known is not None and known[0] == stamp:
                return known[1]
            snapshot = parsed(path)
        except OSError:
            self._read.pop(path, None)
            return None
        self._read[path] = (stamp, snapshot)
        return snapshot


def parsed(path: Path) -> Snapshot | None:
    """Return the snapshot of a manifest; `None` if it is damaged or foreign. Raises `OSError`."""
    try:
        data = json.loads(path.read_bytes())
        if data["manifest"] != _MANIFEST:
            return None
        snapshot = plain.loads(Snapshot, json.dumps(data["snapshot"]))
        placed = snapshot.collection_uid == path.parent.name and snapshot.id == path.stem
        return snapshot if placed and is_sound(snapshot) else None
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def is_sound(snapshot: Snapshot) -> bool:
    """Return whether ids read from a file are valid as file names."""
    return bool(
        ids.SNAPSHOT_ID.match(snapshot.id) and ids.COLLECTION_UID.match(snapshot.collection_uid)
    )


def _file_name(snapshot: Snapshot) -> str:
    generation = f".{snapshot.rewrite_count}" if snapshot.rewrite_count else ""
    return f"{snapshot.id}{generation}{_FILE}"


def _remove(path: Path) -> None:
    """Remove a file or a directory as far as possible; the next start removes the rest."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink()


def _names(directory: Path) -> list[str]:
    try:
        return sorted(path.name for path in directory.iterdir())
    except OSError:
        return []
