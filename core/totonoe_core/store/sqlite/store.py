"""The store of one data directory: a SQLite file for each collection, and one for the catalogue."""

from __future__ import annotations

import contextlib
import logging
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from totonoe_core.base import plain
from totonoe_core.base.errors import ReadOnly
from totonoe_core.domain.collections import CollectionInfo
from totonoe_core.domain.snapshots import Snapshot
from totonoe_core.store import directories, seam
from totonoe_core.store.aside import Aside
from totonoe_core.store.records import SETTINGS_KEY, ExaminedSnapshot, Place
from totonoe_core.store.settings import read_settings
from totonoe_core.store.sqlite import carried, checks, identity, index_checks, length, snapshot
from totonoe_core.store.sqlite.catalog import COPY, Catalog, is_sound
from totonoe_core.store.sqlite.collection_file import CollectionFile
from totonoe_core.store.sqlite.migrate import forget_copies
from totonoe_core.store.sqlite.reader import ReaderPool, Rows
from totonoe_core.store.sqlite.schema import FORMAT
from totonoe_core.store.sqlite.snapshot_files import SnapshotFiles
from totonoe_core.store.sqlite.snapshot_files import is_sound as is_sound_snapshot

_log = logging.getLogger(__name__)
_BAD = ".bad"


class SqliteStore:
    """`Store` on one data directory, which the caller has locked. It has every capability."""

    name = "sqlite"
    shared = False
    notices: seam.Notices | None = None
    snapshots: seam.KeptSnapshots | None = None

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._copies = SqliteCopies(data_dir)

    @property
    def copies(self) -> seam.FileCopies:
        """See `Store.copies`."""
        return self._copies

    @property
    def checks(self) -> seam.FileChecks:
        """See `Store.checks`."""
        return SqliteChecks()

    def catalogue(self) -> seam.Catalog:
        """See `Store.catalogue`."""
        catalog = self._copies.opened = Catalog(self._data_dir)
        return catalog

    def make(self, place: Place, settings: Mapping[str, str]) -> None:
        """See `Store.make`."""
        CollectionFile.make(place.path, place.uid, settings)

    def open(self, place: Place) -> seam.CollectionFile:
        """See `Store.open`."""
        return CollectionFile(place.path, place, noted=True)

    def adopt(self, file: seam.CollectionFile, place: Place) -> None:
        """See `Store.adopt`. The name was compared when the file was opened."""
        own = _own(file)
        if own.uid is not None:
            return
        try:
            with own.transaction():
                own.take_uid(place.uid)
            own.write_back()
        except ReadOnly:
            _log.warning("%s keeps no uid yet: the disk refuses", identity.shown(place.path))

    def check(self, place: Place) -> None:
        """See `Store.check`."""
        identity.check(place)
        length.check(place.path)

    def readers(self, place: Place, size: int, aside: Aside | None = None) -> seam.ReaderPool:
        """See `Store.readers`."""
        return ReaderPool(place.path, size, aside, place=place)

    def size_bytes(self, place: Place) -> int:
        """See `Store.size_bytes`."""
        files = (place.path, place.path.with_name(place.path.name + "-wal"))
        return sum(file.stat().st_size for file in files if file.exists())


class SqliteCopies:
    """`FileCopies` of one data directory. `opened` is its catalogue, once that is open."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._snapshots = SnapshotFiles(data_dir)
        self.opened: Catalog | None = None

    @property
    def catalogue(self) -> seam.FileCatalog:
        """See `FileCopies.catalogue`."""
        assert self.opened is not None
        return self.opened

    @property
    def snapshots(self) -> seam.SnapshotFiles:
        """See `FileCopies.snapshots`."""
        return self._snapshots

    @property
    def format(self) -> int:
        """See `FileCopies.format`."""
        return FORMAT

    def begin(self, file: seam.CollectionFile, target: Path) -> seam.FileCopy:
        """See `FileCopies.begin`."""
        return _own(file).begin_copy(target)

    def end(self, file: seam.CollectionFile) -> None:
        """See `FileCopies.end`."""
        _own(file).copies.end()

    def open(self, path: Path, place: Place | None = None) -> seam.CollectionFile:
        """See `FileCopies.open`."""
        return CollectionFile(path, place)

    def rename(self, place: Place) -> None:
        """See `FileCopies.rename`."""
        file = CollectionFile(place.path)
        try:
            with file.transaction():
                info: CollectionInfo = read_settings(file.rows, place.path.name)
                settings = plain.dumps(replace(info, name=place.name))
                file.put_setting(SETTINGS_KEY, settings, revision=0, before=None)
                file.take_uid(place.uid)
                file.delete_setting(snapshot.SEAL)
            file.write_back()
        finally:
            file.close()
        forget_copies(place.path)

    def seal(self, path: Path, draft: Snapshot) -> Snapshot:
        """See `FileCopies.seal`."""
        return snapshot.seal(path, draft)

    def examine(
        self, path: Path, examined: Callable[[float], None] = lambda _: None
    ) -> ExaminedSnapshot:
        """See `FileCopies.examine`."""
        return snapshot.examine(path, examined)

    def copy_file(
        self, source: Path, target: Path, copied: Callable[[float], None] = lambda _: None
    ) -> str:
        """See `FileCopies.copy_file`."""
        return snapshot.copy_file(source, target, copied)

    def sha256_of(self, path: Path) -> str:
        """See `FileCopies.sha256_of`."""
        return snapshot.sha256_of(path)

    def holds(self, path: Path, memory_ids: Sequence[str]) -> list[str]:
        """See `FileCopies.holds`."""
        return snapshot.holds(path, memory_ids)

    def purged_ids(self, place: Place) -> list[str]:
        """See `FileCopies.purged_ids`."""
        return snapshot.purged_ids(place)

    def is_sound(self, snapshot: Snapshot) -> bool:
        """See `FileCopies.is_sound`."""
        return is_sound_snapshot(snapshot)

    def disk(self, what: str) -> AbstractContextManager[None]:
        """See `FileCopies.disk`."""
        return snapshot.disk(what)

    def carry(self, source: Path, temporary: Path) -> None:
        """See `FileCopies.carry`."""
        with snapshot.disk("the checkpoint"):
            carried.copy(carried.beside(source), SnapshotFiles.unlisted_checkpoint(temporary))

    def place_checkpoint(self, snapshot: Snapshot, path: Path, uid: str) -> None:
        """See `FileCopies.place_checkpoint`."""
        carried.place(self._snapshots.checkpoint(snapshot), path, uid)

    def begin_catalogue(self) -> str:
        """See `FileCopies.begin_catalogue`."""
        path = self._data_dir / "catalog.db"
        if is_sound(path):
            return "catalogue"
        for name in (path.name, path.name + "-wal", path.name + "-shm", "catalog.acknowledged"):
            with contextlib.suppress(FileNotFoundError):
                (self._data_dir / name).replace(self._data_dir / (name + _BAD))
        copy = self._data_dir / COPY
        if not is_sound(copy):
            directories.sync(self._data_dir)
            return "nothing"
        temporary = self._data_dir / (path.name + ".tmp")
        shutil.copyfile(copy, temporary)
        temporary.chmod(0o600)
        directories.sync(temporary)
        temporary.replace(path)
        directories.sync(self._data_dir)
        return "copy"


class SqliteChecks:
    """`FileChecks` of SQLite files."""

    @property
    def tables(self) -> Mapping[str, tuple[str, ...]]:
        """See `FileChecks.tables`."""
        return checks.COLLECTION_KEYS

    def look(
        self,
        rows: seam.Rows,
        table: str,
        key: Sequence[str],
        after: seam.Key | None,
        limit: int,
    ) -> seam.TableStep:
        """See `FileChecks.look`."""
        return _own_rows(rows).look(table, key, after, limit)

    def bad_name(self, key: seam.Key) -> str:
        """See `FileChecks.bad_name`."""
        return checks.bad_name(key)

    def comparison(self) -> seam.Comparison:
        """See `FileChecks.comparison`."""
        return index_checks.Comparison()

    def compare(self, rows: seam.Rows, comparison: seam.Comparison, limit: int) -> str:
        """See `FileChecks.compare`."""
        assert isinstance(comparison, index_checks.Comparison)
        return _own_rows(rows).compare_indexes(comparison, limit)

    def damage_of(self, path: Path, go_on: Callable[[], bool]) -> list[str] | None:
        """See `FileChecks.damage_of`."""
        return checks.damage_of(path, go_on)

    def of_indexes_alone(self, lines: Sequence[str]) -> bool:
        """See `FileChecks.of_indexes_alone`."""
        return checks.of_indexes_alone(lines)

    def reindex(self, file: seam.CollectionFile, table: str = "") -> None:
        """See `FileChecks.reindex`."""
        _own(file).reindex(table)


def _own(file: seam.CollectionFile) -> CollectionFile:
    assert isinstance(file, CollectionFile)
    return file


def _own_rows(rows: seam.Rows) -> Rows:
    assert isinstance(rows, Rows)
    return rows
