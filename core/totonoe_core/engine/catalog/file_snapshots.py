"""Snapshots of a data directory: one file each, made and changed by the engine over `FileCopies`.

create    copied on the writer's thread, a step of some milliseconds between two batches; sealed,
          examined and listed by the snapshots' own thread, with a checkpoint
prepare   collections/<new uid>.tmp/memory.db: a copy whose sha256, pages, rows, counts and
          revision are those of the snapshot; of an earlier format it is brought forward. The
          checkpoint that came with the snapshot is placed beside it, so that opening need not
          read every row
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from totonoe_core.base.errors import AlreadyExists, Corruption, TotonoeError
from totonoe_core.domain.collections import CollectionInfo
from totonoe_core.domain.snapshots import Snapshot
from totonoe_core.engine.catalog.collections import Collections
from totonoe_core.engine.state.futures import shutting_down
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.rules.snapshots import check_room
from totonoe_core.store.records import ExaminedSnapshot, Place
from totonoe_core.store.seam import CollectionFile, FileCopies

_log = logging.getLogger(__name__)
Tell = Callable[[str, float], None]
Purge = Callable[[CollectionFile], int]


class FileSnapshots:
    """`KeptSnapshots` of a data directory, which no other daemon has open.

    Methods without a text of their own: see `seam.KeptSnapshots`.
    """

    def __init__(self, collections: Collections, copies: FileCopies, stop: threading.Event) -> None:
        self._collections = collections
        self._copies = copies
        self._stop = stop
        self.files = copies.snapshots

    def all(self) -> Iterator[Snapshot]:
        return self.files.all()

    def of(self, uid: str) -> Iterator[Snapshot]:
        return self.files.of(uid)

    def find(self, snapshot_id: str) -> Snapshot | None:
        return self.files.find(snapshot_id)

    def close(self) -> None:
        """Do nothing: nothing is open."""

    def settle(self) -> None:
        """Do nothing: there are no other daemons."""

    def sweep(self) -> None:
        """Remove what an earlier process left unfinished, and restore lost manifests."""
        for path in self.files.sweep():
            try:
                adopt(self._copies, path)
            except (TotonoeError, OSError) as error:
                reason = error.reason if isinstance(error, TotonoeError) else "OSError"
                _log.warning("%s has no manifest and is not listed: %s", path.name, reason)

    def take(
        self, name: str, draft: Snapshot, tell: Tell, check: Callable[[Sequence[Snapshot]], None]
    ) -> Snapshot:
        check(list(self.of(draft.collection_uid)))
        temporary = self.files.temporary(draft.collection_uid, draft.id)
        checkpoint = self.files.unlisted_checkpoint(temporary)
        try:
            with self._collections.using(name) as collection:
                collection.catch_up()
                collection.copying.copy_to(
                    temporary, checkpoint, self._stop, lambda share: tell("copying", share)
                )
            tell("sealing", 0.0)
            snapshot = self._copies.seal(temporary, draft)
            tell("checking", 0.0)
            faults = self._copies.examine(temporary, lambda share: tell("checking", share)).faults
            if faults:
                raise unsound(name, faults)
            tell("naming", 0.0)
            self.files.commit(temporary, snapshot)
        except BaseException:
            self.files.discard(temporary)
            raise
        try:
            self._collections.names.copy_beside_snapshots()
        except TotonoeError as error:
            _log.warning("the catalogue was not copied to the snapshots: %s", error.message)
        return snapshot

    def delete(self, snapshot: Snapshot) -> None:
        self.files.delete(snapshot)

    def holds(self, snapshot: Snapshot, memory_ids: Sequence[str]) -> list[str]:
        return self._copies.holds(self.files.path(snapshot), memory_ids)

    def rewrite(self, snapshot: Snapshot, purge: Purge) -> tuple[Snapshot, int]:
        temporary = self.files.temporary(snapshot.collection_uid, snapshot.id)
        try:
            verified_copy(self._copies, snapshot, temporary)
            count = self._purged(temporary, None, purge)
            after = replace(
                snapshot,
                rewrite_count=snapshot.rewrite_count + 1,
                purged_count=snapshot.purged_count + count,
            )
            after = self._copies.seal(temporary, after)
            self.files.commit(temporary, after)
        except BaseException:
            self.files.discard(temporary)
            raise
        self.files.discard(temporary)
        return after, count

    def _purged(self, path: Path, place: Place | None, purge: Purge) -> int:
        file = self._copies.open(path, place)
        try:
            return purge(file)
        finally:
            file.close()

    def purged_ids(self, place: Place) -> list[str] | None:
        return self._copies.purged_ids(place) if place.path.exists() else None

    def purge_aside(self, place: Place, purge: Purge) -> None:
        if place.path.exists():
            self._purged(place.path, place, purge)

    @contextmanager
    def prepare(self, snapshot: Snapshot, name: str, tell: Tell) -> Iterator[_Prepared]:
        uid, path = self._copies.catalogue.prepare()
        try:
            verified_copy(self._copies, snapshot, path, tell)
            tell("naming", 0.0)
            self._copies.rename(Place(path, uid, name))
            if snapshot.format == self._copies.format:
                # Rows of an earlier format were changed just now, and a purge drops it.
                self._copies.place_checkpoint(snapshot, path, uid)
            yield _Prepared(self._collections, self._copies, Place(path, uid, name))
        except BaseException:
            self._collections.names.abandon(uid)
            raise


class _Prepared:
    """`Prepared` of a data directory.

    Methods without a text of their own: see `seam.Prepared`.
    """

    def __init__(self, collections: Collections, copies: FileCopies, place: Place) -> None:
        self._store = collections.store
        self._copies = copies
        self._place = place
        self.uid = place.uid

    def open(self) -> CollectionFile:
        return self._copies.open(self._place.path)

    def info(self) -> CollectionInfo:
        return CollectionState.read_info(self._store, self._place)

    def hold(self, _: Iterable[str]) -> None:
        """Do nothing: there are no other daemons."""

    def put(self, **listed: Any) -> int:
        revision = self._copies.catalogue.put(**listed)
        self._copies.catalogue.settle(self.uid)
        return revision


def adopt(copies: FileCopies, path: Path) -> Snapshot:
    """List a snapshot's file that has no manifest, if it matches its seal.

    Raises `Corruption` if it does not, `UnsupportedFormat`, `OSError`, `AlreadyExists` if the id is
    listed already with other bytes.
    """
    files = copies.snapshots
    snapshot = sound(copies.examine(path), path)
    if not copies.is_sound(snapshot):
        raise Corruption("CORRUPT_ROW", f"{path.name} has no ids of ours", file=path.name)
    sha256 = copies.sha256_of(path)
    listed = files.find(snapshot.id)
    if listed is not None:
        if listed.sha256 == sha256:
            return listed
        raise AlreadyExists("SNAPSHOT_EXISTS", kind="snapshot", name=snapshot.id)
    check_room("", list(files.of(snapshot.collection_uid)))
    snapshot = replace(snapshot, file_bytes=path.stat().st_size, sha256=sha256)
    temporary = files.temporary(snapshot.collection_uid, snapshot.id)
    try:
        if copies.copy_file(path, temporary) != sha256:
            raise shutting_down()
        # It came along with the file, or stayed when the manifest was lost.
        copies.carry(path, temporary)
        files.commit(temporary, snapshot)
    except BaseException:
        files.discard(temporary)
        raise
    return snapshot


def unsound(name: str, faults: Sequence[str]) -> Corruption:
    """Return the error for a collection of which no snapshot can be taken."""
    return Corruption(
        "CORRUPT_ROW",
        f"no snapshot of collection {name!r} was taken, since it is damaged: "
        f"{'; '.join(faults[:3])}; purge its bad memories (`totonoe stats` names them), or restore "
        "an earlier snapshot under another name",
        collection=name,
    )


def verified_copy(
    copies: FileCopies, snapshot: Snapshot, target: Path, tell: Tell = lambda *_: None
) -> None:
    """Copy a snapshot's file and examine the copy. Raises `Corruption`."""
    path = copies.snapshots.path(snapshot)
    if copies.copy_file(path, target, lambda share: tell("copying", share)) != snapshot.sha256:
        raise Corruption(
            "CORRUPT_ROW",
            f"snapshot {snapshot.id} is not the file that was listed: its sha256 differs",
            file=path.name,
        )
    sealed = sound(copies.examine(target, lambda share: tell("checking", share)), path)
    if replace(sealed, file_bytes=snapshot.file_bytes, sha256=snapshot.sha256) != snapshot:
        raise Corruption(
            "CORRUPT_ROW",
            f"snapshot {snapshot.id} and its manifest do not say the same",
            file=path.name,
        )


def sound(examined: ExaminedSnapshot, path: Path) -> Snapshot:
    """Return the snapshot of an examined file. Raises `Corruption` if it has faults."""
    if examined.faults or examined.snapshot is None:
        shown = "; ".join(examined.faults[:3])
        raise Corruption("CORRUPT_ROW", f"{path.name} is damaged: {shown}", file=path.name)
    return examined.snapshot
