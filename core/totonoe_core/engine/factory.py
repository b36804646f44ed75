"""Everything that a server needs of core beside the seam: a store, and an engine on it.

Nothing here imports numba before it is asked to: `prepare_kernels` has to be called first.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from totonoe_core.base import heap, limits
from totonoe_core.base.clock import system_clock
from totonoe_core.domain.snapshots import NO_SCHEDULE, SnapshotSchedule
from totonoe_core.kernels import cache
from totonoe_core.store import directories
from totonoe_core.store.copying import CopiedCollection, Copying
from totonoe_core.store.postgres import address
from totonoe_core.store.records import ExaminedSnapshot
from totonoe_core.store.sqlite.accepting import accept_catalogue_loss, accept_loss
from totonoe_core.store.sqlite.copies_inspection import inspect_copies
from totonoe_core.store.sqlite.copying import SqliteSide
from totonoe_core.store.sqlite.inspection import InspectedFile, inspect
from totonoe_core.store.sqlite.lockfile import DataDirBusy, DataDirLock
from totonoe_core.store.sqlite.snapshot import examine, sha256_of
from totonoe_core.store.sqlite.store import SqliteStore

__all__ = [
    "CopiedCollection",
    "Copying",
    "DataDir",
    "Database",
    "EngineSettings",
    "InspectedFile",
    "compile_kernels",
    "copying",
    "database_name",
    "examine_snapshot",
    "prepare_kernels",
    "private_files",
]

if TYPE_CHECKING:
    from totonoe_core.domain.snapshots import Snapshot
    from totonoe_core.embedding import EmbeddingService
    from totonoe_core.engine.catalog.rebuilding import Rebuilt
    from totonoe_core.engine.embedded import EmbeddedEngine
    from totonoe_core.judging import JudgingService
    from totonoe_core.store.copying import Side
    from totonoe_core.store.postgres.access import AccessRow
    from totonoe_core.store.seam import Store


def prepare_kernels() -> None:
    """Settle where compiled kernels are kept. Call it before the first import of numba."""
    cache.prepare_cache(None)


def compile_kernels() -> float:
    """Load the kernels, compile those that are not in the cache; return the seconds it took."""
    begin_s = time.perf_counter()
    _compile_beside()
    from totonoe_core.kernels.warmup import warm_up

    warm_up()
    cache.mark_complete()
    # Nothing is compiled from now on: 60 MB of the compiler were read.
    heap.unmap(".so")
    heap.trim()
    return time.perf_counter() - begin_s


def prepare_words() -> float:
    """Unpack the word lists that are not in the cache; return the seconds it took."""
    begin_s = time.perf_counter()
    from totonoe_core.text.reading.loading import prepare_all

    prepare_all()
    return time.perf_counter() - begin_s


def _compile_beside() -> None:
    """Compile what is not in the cache in another process: a compiler leaves 200 MB behind.

    Where that fails, or there is no cache, this process compiles as it imports the kernels.
    """
    if not cache.lacks_kernels():
        return
    from totonoe_core.helper.child import child_environment

    cache.log_compiling()
    with suppress(OSError):
        subprocess.run(
            [sys.executable, "-P", "-m", "totonoe_core.kernels.warmup"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=child_environment(),
            check=False,
        )


private_files = directories.private
database_name = address.shown


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """How an engine keeps its collections; see `EmbeddedEngine`.

    Attributes
    ----------
    verify_interval_h, verify_share : float
        Hours between two verifications (0: never), and the share of a core that one takes.
    """

    collection_idle_s: float = 0.0
    collections_open_max: int = limits.COLLECTIONS_OPEN_MAX
    memory_budget_bytes: int = 0
    purge_deleted_days: float = 0.0
    verify_interval_h: float = 0.0
    verify_share: float = 0.05
    snapshot_schedule: SnapshotSchedule = NO_SCHEDULE


class DataDir:
    """A data directory. Everything but `exists` and `adopt` needs the lock, which `lock` takes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = DataDirLock(path)

    def exists(self) -> bool:
        """Return whether a daemon has made it."""
        return (self.path / "catalog.db").exists()

    def tighten(self) -> int:
        """Close files to other users; returns how many were open. Raises `PermissionError`."""
        return directories.tighten(self.path)

    def lock(self, holder: str) -> None:
        """Take the lock, made with the directory if it is missing.

        Raises `DataDirBusy`, a `Quota` error, naming the process that has it; `OSError`.
        """
        self._lock.acquire(holder)

    def release(self) -> None:
        """Give the lock back. Idempotent."""
        self._lock.release()

    def inspect(self) -> list[InspectedFile]:
        """Look at every file: databases, logs, checkpoints and snapshots. Changes nothing."""
        return [*inspect(self.path), *inspect_copies(self.path)]

    def accept_loss(self, collection: str, revisions: str) -> int:
        """Give up what a collection, or (empty) the catalogue, lacks; returns the next revision.

        Raises `NotFound` for an unknown collection, `InvalidArgument` if other revisions are lost.
        """
        if collection:
            return accept_loss(self.path, collection, revisions, system_clock)
        return accept_catalogue_loss(self.path, revisions, system_clock)

    def rebuild_catalogue(self) -> Rebuilt:
        """Make the catalogue anew from the files of the collections; see `rebuilding`.

        Raises `ReadOnly`, `CommitsLost`, `OSError`.
        """
        from totonoe_core.engine.catalog.rebuilding import rebuild_catalogue

        with directories.private():
            return rebuild_catalogue(SqliteStore(self.path), system_clock)

    def adopt(self, file: Path) -> Snapshot:
        """List a snapshot's file among the snapshots here; the daemon may run.

        Raises `OSError`, `UnsupportedFormat`, `Corruption`, `AlreadyExists`.
        """
        from totonoe_core.engine.catalog.file_snapshots import adopt

        with directories.private():
            return adopt(SqliteStore(self.path).copies, file)

    def side(self) -> Side:
        """Open it as one side of a copy. Raises `CommitsLost`, `Corruption`, `ReadOnly`."""
        return SqliteSide(self.path)

    def open(
        self,
        embedding: EmbeddingService | None,
        judging: JudgingService | None = None,
        settings: EngineSettings = EngineSettings(),
    ) -> EmbeddedEngine:
        """Open an engine on it. `close` of the engine ends both services."""
        return _opened(lambda: SqliteStore(self.path), embedding, judging, settings)


class Database:
    """A database that daemons share, and a directory of this one for files made from its rows.

    Parameters
    ----------
    url : str
        Address as libpq takes it. It is in no error and no log.
    pooled : bool
        True if a transaction pooler lies in between.

    Raises
    ------
    ImportError
        The extra `postgres` is not installed.
    """

    def __init__(self, url: str, *, pooled: bool = False) -> None:
        from totonoe_core.store.postgres import connecting, session, store
        from totonoe_core.store.postgres.access import AccessRow
        from totonoe_core.store.postgres.copying import PostgresSide

        self._url, self._pooled = url, pooled
        self._connecting, self._store = connecting, store.PostgresStore
        self._session, self._access = session.Session, AccessRow
        self._side = PostgresSide
        self._lock: DataDirLock | None = None

    def look(self) -> None:
        """Raise one clear line if a daemon cannot use it.

        Raises `Unavailable`, `ReadOnly`, `UnsupportedFormat`.
        """
        self._connecting.look(self._url)

    def migrate(self) -> tuple[int, int]:
        """Bring its tables to this program's version; return the version before, and that now.

        Raises as `look`.
        """
        return self._connecting.migrated(self._url)

    def access(self) -> AccessRow:
        """Open what it says about who may call. Raises as `look`."""
        self.look()
        connect = self._connecting.connector(self._url, self._pooled)
        return self._access(self._session(connect, ""))

    def side(self) -> Side:
        """Open it as one side of a copy. Raises as `look`."""
        return self._side(self._url)

    def lock(self, parent: Path, holder: str) -> Path:
        """Take a directory below `parent` that no other daemon of this machine has; return it.

        What earlier daemons left there is of use to this one: a collection's files carry its uid
        and revision. Raises `DataDirBusy` if all are taken, `OSError`.
        """
        parent = parent / hashlib.sha256(self._url.encode()).hexdigest()[:16]
        for number in range(1, limits.DAEMONS_PER_MACHINE_MAX):
            with suppress(DataDirBusy):
                return self._locked(parent / str(number), holder)
        return self._locked(parent / str(limits.DAEMONS_PER_MACHINE_MAX), holder)

    def _locked(self, path: Path, holder: str) -> Path:
        lock = DataDirLock(path)
        lock.acquire(holder)
        self._lock = lock
        directories.tighten(path)
        return path

    def release(self) -> None:
        """Give the directory back. Idempotent."""
        if self._lock is not None:
            self._lock.release()

    def open(
        self,
        derived: Path,
        embedding: EmbeddingService | None,
        judging: JudgingService | None = None,
        settings: EngineSettings = EngineSettings(),
    ) -> EmbeddedEngine:
        """Open an engine on it. `close` of the engine ends both services."""
        return _opened(
            lambda: self._store(self._url, derived, pooled=self._pooled),
            embedding,
            judging,
            settings,
        )


def _opened(
    store: Callable[[], Store],
    embedding: EmbeddingService | None,
    judging: JudgingService | None,
    settings: EngineSettings,
) -> EmbeddedEngine:
    _compile_beside()  # before the engine imports them
    from totonoe_core.engine.embedded import EmbeddedEngine
    from totonoe_core.engine.jobs.verify import Pace

    return EmbeddedEngine(
        store(),
        embedding=embedding,
        judging=judging,
        collection_idle_s=settings.collection_idle_s,
        collections_open_max=settings.collections_open_max,
        memory_budget_bytes=settings.memory_budget_bytes,
        purge_deleted_days=settings.purge_deleted_days,
        verify=Pace(settings.verify_interval_h, settings.verify_share),
        snapshot_schedule=settings.snapshot_schedule,
    )


@contextmanager
def copying(source: DataDir | Database, target: DataDir | Database) -> Iterator[Copying]:
    """Open both sides of a copy, and close them at the end. A data directory must be locked.

    Raises as `DataDir.side` and `Database.side`.
    """
    with (
        directories.private(),
        closing(source.side()) as one,
        closing(target.side()) as other,
    ):
        yield Copying(one, other)


def examine_snapshot(file: Path) -> tuple[ExaminedSnapshot, str]:
    """Look through a snapshot's file; returns what was found and the file's sha256.

    Raises `OSError`, `UnsupportedFormat`.
    """
    return examine(file), sha256_of(file)
