"""Checks of `totonoe verify` beside the collections' files: checkpoints and snapshots.

Nothing is changed. A checkpoint that was set aside is named too: it shows that something damaged
it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from totonoe_core.base.errors import TotonoeError
from totonoe_core.store.checkpoint import BAD, FORMAT, Checkpoints, Damaged, Outdated, Saved
from totonoe_core.store.sqlite import carried
from totonoe_core.store.sqlite.inspection import InspectedFile, listed_names
from totonoe_core.store.sqlite.snapshot import examine
from totonoe_core.store.sqlite.snapshot_files import SnapshotFiles, parsed


def inspect_copies(data_dir: Path) -> list[InspectedFile]:
    """Inspect the checkpoints of all collections, and all snapshots."""
    names = listed_names(data_dir / "catalog.db")
    found = []
    for directory in sorted((data_dir / "collections").glob("*/checkpoint")):
        name, deleted = names.get(directory.parent.name, ("", False))
        for path in (*Checkpoints(directory).newest_first(), *directory.glob("*" + BAD)):
            rows, findings = _checkpoint(path, directory.parent.name)
            where = str(path.relative_to(data_dir))
            found.append(InspectedFile(where, name, deleted, FORMAT, rows, tuple(findings)))
    for directory in sorted((data_dir / "snapshots").glob("*")):
        found += _snapshots(data_dir, directory)
        for path in sorted(directory.glob("*" + carried.SUFFIX)):
            if ".tmp" not in path.name:
                rows, findings = _checkpoint(path, directory.name)
                where = str(path.relative_to(data_dir))
                found.append(InspectedFile(where, "", False, FORMAT, rows, tuple(findings)))
    return found


def _checkpoint(path: Path, uid: str) -> tuple[int, list[str]]:
    """Return the number of slots in a checkpoint, and its faults."""
    aside = ["was set aside; it is not used, and may be deleted"] * path.name.endswith(BAD)
    try:
        saved = Saved(path)
    except Outdated:
        return 0, aside
    except (Damaged, OSError) as error:
        return 0, [*aside, str(error)]
    try:
        saved.verify()
        rows = saved.shape("status")[0]
        other = saved.header.get("collection") != uid
        return rows, [*aside, *["is of another collection"] * other]
    except (Damaged, OSError, IndexError) as error:
        return 0, [*aside, str(error)]
    finally:
        saved.close()


def _snapshots(data_dir: Path, directory: Path) -> Iterator[InspectedFile]:
    """Inspect the snapshots of one collection: by manifests, then files without a manifest."""
    files, ids = SnapshotFiles(data_dir), set()
    for manifest in sorted(directory.glob("*.json")):
        if ".tmp" in manifest.name:
            continue  # left by a crash: it was never listed
        ids.add(manifest.stem)
        try:
            snapshot = parsed(manifest)
        except OSError:
            snapshot = None
        if snapshot is None:
            where, said = str(manifest.relative_to(data_dir)), ("its manifest cannot be read",)
            yield InspectedFile(where, "", False, 0, 0, said)
            continue
        path = files.path(snapshot)
        yield _snapshot(data_dir, path, snapshot.collection, snapshot.sha256)
    for path in sorted(directory.glob("*.snapshot")):
        if path.name.partition(".")[0] not in ids:
            yield _snapshot(data_dir, path, "", "")


def _snapshot(data_dir: Path, path: Path, name: str, sha256: str) -> InspectedFile:
    """Inspect one file; `sha256` is that of its manifest, empty if there is none."""
    findings, rows, format_ = [], 0, 0
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if not sha256:
            findings.append("its manifest is gone; the next start makes it anew if it is sound")
        elif digest != sha256:
            findings.append("it does not match the sha256 of its manifest")
        examined = examine(path)
        findings += examined.faults
        rows = sum(table.row_count for table in examined.tables)
        format_ = examined.snapshot.format if examined.snapshot else 0
    except TotonoeError as error:
        findings.append(error.message)
    except OSError as error:
        findings.append(f"it cannot be read: {error.strerror}")
    return InspectedFile(
        str(path.relative_to(data_dir)), name, False, format_, rows, tuple(findings)
    )
