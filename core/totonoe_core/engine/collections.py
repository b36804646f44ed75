"""The collections of one data directory: which exist, made and deleted.

Which are open is `openings`'s to know.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from totonoe_core import limits, plain, validate
from totonoe_core.clock import Clock
from totonoe_core.commands import CollectionInfo
from totonoe_core.embedding import EmbeddingService, client_vectors
from totonoe_core.engine import settings
from totonoe_core.engine.collection import Collection
from totonoe_core.engine.futures import ready, settled, submit, then
from totonoe_core.engine.openings import Monotonic, Opening, Openings
from totonoe_core.engine.state import CollectionState
from totonoe_core.engine.swapping import Swapping
from totonoe_core.engine.sweeping import Sweeper
from totonoe_core.engine.verifying import Verifier
from totonoe_core.errors import (
    AlreadyExists,
    Corruption,
    InvalidArgument,
    NotFound,
    Precondition,
    Quota,
    ReadOnly,
)
from totonoe_core.guard.policy import (
    NO_RETENTION,
    PRESETS,
    STANDARD_BLAST,
    STANDARD_TIDY,
    BlastPolicy,
    DecayPolicy,
    DiversityPolicy,
    GuardPolicy,
    Preset,
    RetentionPolicy,
    TidyPolicy,
)
from totonoe_core.ids import new_operation_id
from totonoe_core.judging import JudgingService
from totonoe_core.queries import CollectionStats, OpenFigures
from totonoe_core.snapshots import Restored
from totonoe_core.store.catalog import Catalog

DEFAULT = "default"
EMBEDDER_WAIT_S = 120.0
OPEN_THREADS = 2
_DEFAULT_OPERATION = "default-collection"
_HOUR_US = 3600 * 1_000_000
_DAY_US = 24 * _HOUR_US

T = TypeVar("T")
_ANSWERS: Any = CollectionInfo | Restored
_log = logging.getLogger(__name__)


Deleted = tuple[int, int, str, bool]
"""Live memories that went, revision of the catalogue, operation id, whether it is a replay."""


class Collections(Swapping):
    """Names to collections. All methods are safe from any thread; see `EmbeddedEngine`."""

    def __init__(
        self,
        data_dir: Path,
        *,
        embedding: EmbeddingService | None,
        judging: JudgingService | None,
        client_vector_dimension: int,
        clock: Clock,
        searchers: ThreadPoolExecutor,
        idle_s: float = 0.0,
        memory_budget_bytes: int = 0,
        purge_deleted_days: float = 0.0,
        monotonic: Monotonic = time.monotonic,
    ) -> None:
        self._embedding = embedding
        self._judging = judging
        self._client_vector_dimension = client_vector_dimension
        self._clock = clock
        self._searchers = searchers
        self._openers = ThreadPoolExecutor(OPEN_THREADS, "open")
        self._indexer = ThreadPoolExecutor(1, "index")
        self._catalog = Catalog(data_dir)
        self._catalog_lock = threading.Lock()
        self._names = self._catalog.names()
        self._openings = Openings(
            self._open_collection,
            self._openers,
            idle_s=idle_s,
            budget_bytes=memory_budget_bytes,
            monotonic=monotonic,
        )
        self._purge_deleted_days = purge_deleted_days
        self._next_purge_us = self._next_retain_us = 0
        for unknown in self._catalog.recover():
            _log.warning("collections/%s is not in the catalogue; it is left alone", unknown)
        self._sweeper = Sweeper((self._openings.sweep, self.purge_deleted, self.retain))

    def opened(self, name: str) -> Future[Collection]:
        """The collection of a name, opened on first use, for a look: it may be closed at once."""
        one = self.use(name)
        one.future.add_done_callback(lambda _: self.give_back(one))
        return one.future

    def use(self, name: str, count: int = 1) -> Opening:
        """The collection of a name for so many calls, each of which is to be given back."""
        validate.collection_name(name)
        return self._openings.use(name, self._check_there, count)

    def give_back(self, one: Opening, used: bool = True) -> None:
        """A call on a collection is over; what was not `used` was only looked at."""
        self._openings.give_back(one, used)

    def call(self, name: str, step: Callable[[Collection], Future[T]]) -> Future[T]:
        """The future of a step on a collection, which stays open until it is over."""
        validate.collection_name(name)
        return self._openings.call(name, self._check_there, step)

    def _check_there(self, name: str) -> None:
        if name not in self._names and name != DEFAULT:
            raise _not_found(name)

    def _open_collection(self, name: str) -> Collection:
        if name == DEFAULT:
            self.make_default()
        with self._catalog_lock:
            uid = self._names.get(name)
        if uid is None:
            raise _not_found(name)
        return Collection(
            self._catalog.path(uid),
            embedding=self._embedding,
            judging=self._judging,
            clock=self._clock,
            searchers=self._searchers,
            indexer=self._indexer,
        )

    def use_open(self) -> list[Opening]:
        """Every collection that is open, each to be given back."""
        return self._openings.use_open()

    def open_figures(self) -> OpenFigures:
        """How many are open, and what they hold."""
        return self._openings.figures()

    def verifiers(self) -> list[Verifier]:
        """Those of the collections that are open; opens none."""
        return [one.verifier for one in self._openings.ready_ones()]

    def count(self) -> tuple[int, int]:
        """How many collections there are, and the catalogue's newest revision."""
        with self._catalog_lock:
            return len(self._names), self._catalog.revision()

    def page(self, after: str, size: int) -> tuple[int, list[CollectionInfo], bool]:
        """Revision, the settings of up to `size` collections after a name, and if more follow."""
        self.make_default()
        with self._catalog_lock:
            names = sorted(name for name in self._names if name > after)
            revision = self._catalog.revision()
        return revision, [self.info(name) for name in names[:size]], len(names) > size

    def info(self, name: str) -> CollectionInfo:
        """Settings of a collection, read from its file if it is not open."""

        def read() -> CollectionInfo:
            with self._catalog_lock:
                uid = self._names.get(name)
            if uid is None:
                raise _not_found(name)
            return CollectionState.read_info(self._catalog.path(uid))

        return self._openings.info(name, read)

    def make_default(self) -> None:
        """The default collection exists from the start: it is made when first looked at."""
        with self._catalog_lock:
            missing = DEFAULT not in self._names
        if missing:
            info = self._new_info(
                DEFAULT,
                "",
                PRESETS[Preset.STANDARD],
                DiversityPolicy(),
                DecayPolicy(),
                self._client_vector_dimension if self._embedding is None else 0,
                NO_RETENTION,
                STANDARD_BLAST,
                STANDARD_TIDY,
            )
            self._create(info, _DEFAULT_OPERATION, "", b"")

    def create(
        self,
        name: str,
        operation_id: str,
        *,
        agent_id: str,
        description: str,
        guard: GuardPolicy,
        diversity: DiversityPolicy,
        decay: DecayPolicy,
        client_vector_dimension: int,
        retention: RetentionPolicy,
        blast: BlastPolicy,
        tidy: TidyPolicy,
        digest: bytes,
    ) -> Future[tuple[CollectionInfo, str, bool]]:
        """Makes a collection, on an opener's thread: it may wait for the embedder."""

        def work() -> tuple[CollectionInfo, str, bool]:
            with self._catalog_lock:
                kept = self._replayed(agent_id, operation_id, digest)
            if kept is not None:
                return plain.loads(CollectionInfo, kept), operation_id, True
            info = self._new_info(
                name,
                description,
                guard,
                diversity,
                decay,
                client_vector_dimension,
                retention,
                blast,
                tidy,
            )
            settings.check(info)
            return self._create(info, operation_id, agent_id, digest)

        return submit(self._openers, work)

    def _new_info(
        self,
        name: str,
        description: str,
        guard: GuardPolicy,
        diversity: DiversityPolicy,
        decay: DecayPolicy,
        client_vector_dimension: int,
        retention: RetentionPolicy,
        blast: BlastPolicy,
        tidy: TidyPolicy,
    ) -> CollectionInfo:
        model = client_vectors(client_vector_dimension)
        if self._embedding is not None and client_vector_dimension == 0:
            # A collection is stamped with the model when it is made, so it must be known.
            model = self._embedding.wait_ready(EMBEDDER_WAIT_S)
        return CollectionInfo(
            name=name,
            description=description,
            guard=guard,
            diversity=diversity,
            decay=decay,
            model=model,
            created_us=self._clock(),
            revision=0,
            settings_revision=0,
            retention=retention,
            blast=blast,
            tidy=tidy,
        )

    def _create(
        self, info: CollectionInfo, operation_id: str, agent_id: str, digest: bytes
    ) -> tuple[CollectionInfo, str, bool]:
        with self._catalog_lock:
            kept = self._replayed(agent_id, operation_id, digest)
            if kept is not None:
                return plain.loads(CollectionInfo, kept), operation_id, True
            if (
                operation_id == _DEFAULT_OPERATION
                and info.name == DEFAULT
                and DEFAULT in self._names
            ):
                return info, operation_id, True
            self._check_new(info.name)
            uid = self._catalog.new_uid()
            operation_id = operation_id or new_operation_id()
            try:
                # The file first: a name without its file must never be listed.
                CollectionState.create(self._catalog.path(uid), info)
                self._catalog.put(
                    uid=uid,
                    name=info.name,
                    deleted_us=None,
                    operation_id=operation_id,
                    agent_id=agent_id,
                    kind="CreateCollection",
                    digest=digest,
                    answer=plain.dumps(info),
                    time_us=self._clock(),
                )
            except ReadOnly:
                self._catalog.drop_new(uid)
                raise
            self._names[info.name] = uid
        return info, operation_id, False

    def _replayed(self, agent_id: str, operation_id: str, digest: bytes) -> str | None:
        kept = self._catalog.reply(agent_id, operation_id) if operation_id else None
        if kept is None:
            return None
        if kept.digest != digest:
            raise AlreadyExists(
                "OPERATION_ID_REUSED",
                kind="operation id",
                name=operation_id,
                hint="it was used with another payload",
            )
        return kept.answer

    def delete(self, name: str, operation_id: str, agent_id: str, digest: bytes) -> Future[Deleted]:
        """Takes a collection away; see `Engine.delete_collection`."""

        def replayed() -> Deleted | None:
            with self._catalog_lock:
                kept = self._replayed(agent_id, operation_id, digest)
                revision = self._catalog.revision()
            return None if kept is None else (int(kept), revision, operation_id, True)

        def counted(stats: Future[CollectionStats]) -> Future[Deleted]:
            # What cannot be read may be deleted all the same.
            unread = isinstance(stats.exception(), Corruption)
            live_count = 0 if unread else stats.result().active_count
            return then(submit(self._searchers, lambda: commit(live_count)), over)

        def commit(live_count: int) -> tuple[Deleted, Future[None]]:
            if (kept := replayed()) is not None:
                return kept, ready(None)
            with self._catalog_lock:
                uid = self._names.get(name)
                if uid is None:
                    raise _not_found(name)
                chosen = operation_id or new_operation_id()
                now_us = self._clock()
                revision = self._catalog.put(
                    uid=uid,
                    name=name,
                    deleted_us=now_us,
                    operation_id=chosen,
                    agent_id=agent_id,
                    kind="DeleteCollection",
                    digest=digest,
                    answer=str(live_count),
                    time_us=now_us,
                )
                del self._names[name]
                # Before anybody can bring the name back: one writer for each file, always.
                closed = self._openings.retire(name, lambda: _not_found(name))
            return (live_count, revision, chosen, False), closed

        def over(done: tuple[Deleted, Future[None]]) -> Future[Deleted]:
            answer, closed = done
            # It is deleted, whatever becomes of the calls that still run.
            return then(settled(closed), lambda _: ready(answer))

        def go_on(kept: Deleted | None) -> Future[Deleted]:
            if kept is not None:
                return ready(kept)
            stats = self.call(name, lambda found: found.stats())
            return then(settled(stats), counted)

        return then(submit(self._searchers, replayed), go_on)

    def restore(
        self, name: str, operation_id: str, target_operation_id: str, agent_id: str, digest: bytes
    ) -> tuple[CollectionInfo, str, bool]:
        """Brings a deleted collection back; see `Engine.restore_collection`."""
        with self._catalog_lock:
            kept = self._replayed(agent_id, operation_id, digest)
            if kept is not None:
                return _told(kept), operation_id, True
        asked = (name, operation_id, target_operation_id, agent_id, digest)
        undone = self.undo_restored(*asked)
        if undone is not None:
            return *undone, False
        with self._catalog_lock:
            uid = self._deleted(name, target_operation_id, agent_id)
            self._check_new(name)
            info = CollectionState.read_info(self._catalog.path(uid))
            operation_id = operation_id or new_operation_id()
            self._catalog.put(
                uid=uid,
                name=name,
                deleted_us=None,
                operation_id=operation_id,
                agent_id=agent_id,
                kind="Undo",
                digest=digest,
                answer=plain.dumps(info),
                time_us=self._clock(),
            )
            self._names[name] = uid
        return info, operation_id, False

    def _deleted(self, name: str, operation_id: str, agent_id: str) -> str:
        """The uid of the collection that an operation deleted."""
        found = self._catalog.deletions(name, operation_id)
        if agent_id in found:
            return found[agent_id]
        if not found:
            if self._catalog.purged(operation_id):
                raise Precondition(
                    "NOT_UNDOABLE", "the collection was deleted longer ago than is kept; it is gone"
                )
            raise NotFound("OPERATION_NOT_FOUND", kind="operation", name=operation_id)
        if len(found) > 1:
            raise InvalidArgument(
                "BAD_NAME",
                field="target_operation_id",
                got=f"an id under which {len(found)} agents deleted a collection {name!r}",
                allowed="the id of one deletion",
            )
        return next(iter(found.values()))

    def _check_new(self, name: str) -> None:
        """Raises `AlreadyExists` for a name that is taken, `Quota` if there are too many."""
        if name in self._names:
            raise AlreadyExists("COLLECTION_EXISTS", kind="collection", name=name)
        if len(self._names) >= limits.COLLECTIONS_MAX:
            raise Quota(
                "QUOTA_EXCEEDED", f"there are {limits.COLLECTIONS_MAX} collections, the most"
            )

    # -- Upkeep, on the sweeper's thread

    def purge_deleted(self) -> None:
        """Purges collections that were deleted longer ago than they are kept, some at once."""
        now_us = self._clock()
        if not self._purge_deleted_days or now_us < self._next_purge_us:
            return
        before_us = now_us - int(self._purge_deleted_days * _DAY_US)
        with self._catalog_lock:
            due = self._catalog.deleted_before(before_us, limits.COLLECTIONS_PURGED_AT_ONCE_MAX)
        for uid, name in due:
            if self._openings.leaving(name):
                continue  # the next time
            with self._catalog_lock:
                self._catalog.purge(uid, now_us)
            _log.info("collection %r, deleted for %g days, purged", name, self._purge_deleted_days)
        if len(due) < limits.COLLECTIONS_PURGED_AT_ONCE_MAX:
            self._next_purge_us = now_us + _HOUR_US

    def retain(self) -> None:
        """Opens those closed ones, now and then, whose settings have forgotten memories purged.

        Of those that were not opened or listed since the engine was opened nothing is known.
        """
        now_us = self._clock()
        if now_us < self._next_retain_us:
            return
        self._next_retain_us = now_us + _HOUR_US
        for name, info in self._openings.closed_infos():
            # As text, since there may be thousands: what is at its default is left out of it.
            if "purge_forgotten_days" in info:
                self.call(name, lambda found: found.stats())

    # -- The end

    def stop(self) -> bool:
        """Refuses new calls; False if it did so before."""
        self._sweeper.stop()
        return self._openings.stop()

    def close(self, deadline_s: float) -> None:
        """Lets queued writes finish until then (monotonic clock), and closes the files."""
        self._sweeper.join()
        self._openings.close(deadline_s)
        self._indexer.shutdown(wait=True, cancel_futures=True)
        with self._catalog_lock:
            self._catalog.close()


def _not_found(name: str) -> NotFound:
    return NotFound("COLLECTION_NOT_FOUND", kind="collection", name=name)


def _told(answer: str) -> CollectionInfo:
    """The settings that an Undo answered with."""
    found: CollectionInfo | Restored = plain.loads(_ANSWERS, answer)
    if isinstance(found, Restored):
        assert found.collection is not None
        return found.collection
    return found
