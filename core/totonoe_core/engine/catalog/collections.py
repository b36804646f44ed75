"""The collections of one store: names, creation, deletion, restoration.

`openings` knows which of them are open.
"""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Callable, Iterator, Set
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, TypeVar

from totonoe_core.base import limits, plain
from totonoe_core.base.clock import Clock
from totonoe_core.base.errors import (
    AlreadyExists,
    Corruption,
    InvalidArgument,
    NotFound,
    Precondition,
    ReadOnly,
    TotonoeError,
    Unavailable,
    UndoRefused,
    UnsupportedFormat,
)
from totonoe_core.base.fair_pool import ReadPool
from totonoe_core.base.ids import new_operation_id
from totonoe_core.domain.collections import CollectionInfo, NewCollection, Sees
from totonoe_core.domain.figures import CollectionFigures
from totonoe_core.domain.policy import (
    PRESETS,
    DecayPolicy,
    DiversityPolicy,
    Preset,
)
from totonoe_core.domain.queries import CollectionStats, OpenFigures
from totonoe_core.domain.snapshots import Restored
from totonoe_core.embedding import EmbeddingService, client_vectors
from totonoe_core.engine.catalog.names import RESTORED, UNDONE, Names
from totonoe_core.engine.catalog.openings import Monotonic, Opening, Openings
from totonoe_core.engine.catalog.sweeping import Sweeper
from totonoe_core.engine.collection.collection import Collection
from totonoe_core.engine.commands import settings
from totonoe_core.engine.jobs.verify import Verifier
from totonoe_core.engine.state.futures import ready, settled, submit, then
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.engine.writer.written import WriteCounters
from totonoe_core.judging import JudgingService
from totonoe_core.rules import validate
from totonoe_core.store.records import Place
from totonoe_core.store.seam import Store

DEFAULT = "default"
EMBEDDER_WAIT_S = 120.0
OPEN_THREADS = 2
NAMES_READ_S = 1.0
"""How often the names that other daemons give and take are read."""
_DEFAULT_OPERATION = "default-collection"
_HOUR_US = 3600 * 1_000_000
_DAY_US = 24 * _HOUR_US

T = TypeVar("T")
_ANSWERS: Any = CollectionInfo | Restored
_log = logging.getLogger(__name__)


Deleted = tuple[int, int, str, bool]
"""Live memories deleted, revision of the catalogue, operation id, whether it is a replay."""


class Collections:
    """Map from names to collections. All methods are safe from any thread; see `EmbeddedEngine`."""

    def __init__(
        self,
        store: Store,
        *,
        embedding: EmbeddingService | None,
        judging: JudgingService | None,
        client_vector_dimension: int,
        clock: Clock,
        searchers: ReadPool,
        idle_s: float = 0.0,
        open_max: int = limits.COLLECTIONS_OPEN_MAX,
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
        self.written = WriteCounters()
        self.store = store
        self._catalog = store.catalogue()
        self.names = Names(store, self._catalog, clock)
        self._openings = Openings(
            self._open_collection,
            self._openers,
            idle_s=idle_s,
            open_max=open_max,
            budget_bytes=memory_budget_bytes,
            monotonic=monotonic,
        )
        self._purge_deleted_days = purge_deleted_days
        self._next_purge_us = self._next_retain_us = 0
        for unknown in self._catalog.recover():
            _log.warning("collections/%s is not in the catalogue; it is left alone", unknown)
        if store.notices is not None:
            store.notices.hear(self._look_after_others)
        self._sweepers = [
            Sweeper((self._openings.sweep, self.purge_deleted, self.retain)),
            *([Sweeper((self.refresh_names,), NAMES_READ_S)] if store.shared else []),
        ]

    def opened(self, name: str) -> Future[Collection]:
        """Return the collection of a name, opened on first use, which may be closed at any time."""
        opening = self.use(name)
        opening.future.add_done_callback(lambda _: self.give_back(opening))
        return opening.future

    def use(self, name: str, count: int = 1) -> Opening:
        """Count calls into a collection by name; each must be given back."""
        validate.collection_name(name)
        return self._openings.use(name, self._check_there, count)

    def give_back(self, opening: Opening, used: bool = True) -> None:
        """End a call on a collection; without `used` it only looked, and does not count as use."""
        self._openings.give_back(opening, used)

    def call(self, name: str, step: Callable[[Collection], Future[T]]) -> Future[T]:
        """Run a step on a collection, which stays open until the step's future is done."""
        validate.collection_name(name)
        return self._openings.call(name, self._check_there, step)

    def _check_there(self, name: str) -> None:
        # Another daemon may have made it: whoever opens it looks.
        if not (name in self.names.by_name or name == DEFAULT or self.store.shared):
            raise _not_found(name)

    def _open_collection(self, name: str) -> Collection:
        if name == DEFAULT:
            self.make_default()
        if name not in self.names.by_name:
            self.refresh_names()
        with self.names.lock:
            uid = self.names.by_name.get(name)
        if uid is None:
            raise _not_found(name)
        return Collection(
            self.store,
            self._catalog.place(uid, name),
            embedding=self._embedding,
            judging=self._judging,
            clock=self._clock,
            searchers=self._searchers,
            indexer=self._indexer,
            written=self.written,
        )

    def refresh_names(self) -> None:
        """Take over names that other daemons gave or took; let go of what they deleted.

        Not under the lock of the openings.
        """
        if not self.store.shared:
            return
        with self.names.lock:
            before = self.names.by_name
            self.names.refresh()
            for name, uid in before.items():
                if self.names.by_name.get(name) != uid:
                    self._openings.retire(name, functools.partial(_not_found, name))

    def _look_after_others(self, uids: Set[str]) -> None:
        """Let open collections take in what other daemons committed; none waits."""
        for collection in self._openings.ready_ones():
            if collection.uid in uids:
                # One that has no room looks soon without this.
                with suppress(TotonoeError):
                    collection.look_after_others()

    def use_open(self) -> list[Opening]:
        """Count a call into every open collection; each must be given back."""
        return self._openings.use_open()

    def open_figures(self) -> OpenFigures:
        """Return the number and size of open collections."""
        return self._openings.figures()

    def verifiers(self) -> list[Verifier]:
        """Return the verifiers of the open collections; opens none."""
        return [collection.verifier for collection in self._openings.ready_ones()]

    def open_ones(self) -> tuple[CollectionFigures, ...]:
        """Return figures of the open collections, by name; waits for none, and opens none."""
        found = []
        for collection in self._openings.ready_ones():
            # One that is being deleted has no file any more.
            with suppress(OSError):
                found.append(collection.figures())
        return tuple(sorted(found, key=lambda figures: figures.name))

    def count(self, sees: Sees) -> tuple[int, int]:
        """Return the number of collections seen, and the catalogue's newest revision."""
        with self.names.lock:
            return sum(map(sees, self.names.by_name)), self._catalog.revision()

    def page(self, after: str, size: int, sees: Sees) -> tuple[int, list[CollectionInfo], bool]:
        """Return the revision, settings of `size` collections after a name, and if more follow.

        What is not seen is left out before the page is cut: neither its size nor its end says
        anything about it.
        """
        self.make_default()
        self.refresh_names()
        with self.names.lock:
            names = sorted(name for name in self.names.by_name if name > after and sees(name))
            revision = self._catalog.revision()
        return revision, [self._listed(name) for name in names[:size]], len(names) > size

    def _listed(self, name: str) -> CollectionInfo:
        """Return the settings of a collection; if it cannot be read, its name and its fault.

        One that is damaged, missing, foreign or of a later format does not hide the others.
        """
        try:
            return self.info(name)
        except (Corruption, ReadOnly, UnsupportedFormat) as error:
            return CollectionInfo(
                name=name,
                description="",
                guard=PRESETS[Preset.STANDARD],
                diversity=DiversityPolicy(),
                decay=DecayPolicy(),
                model=client_vectors(0),
                created_us=0,
                revision=0,
                settings_revision=0,
                fault=f"{error.reason}: {error.message}",
            )

    def info(self, name: str) -> CollectionInfo:
        """Return the settings of a collection, read from its file if it is not open."""

        def read() -> CollectionInfo:
            with self.names.lock:
                uid = self.names.by_name.get(name)
            if uid is None:
                raise _not_found(name)
            return CollectionState.read_info(self.store, self._catalog.place(uid, name))

        return self._openings.info(name, read)

    def make_default(self) -> None:
        """Make the default collection if it is missing; it always appears to exist."""
        if DEFAULT not in self.names.by_name:
            self.refresh_names()
        with self.names.lock:
            missing = DEFAULT not in self.names.by_name
        if missing:
            dimension = self._client_vector_dimension if self._embedding is None else 0
            info = self._new_info(NewCollection(DEFAULT, client_vector_dimension=dimension))
            try:
                self._create(info, _DEFAULT_OPERATION, "", b"")
            except AlreadyExists:
                # Another daemon made it in between.
                self.refresh_names()
                if DEFAULT not in self.names.by_name:
                    raise

    def create(
        self, new: NewCollection, operation_id: str, agent_id: str, digest: bytes
    ) -> Future[tuple[CollectionInfo, str, bool]]:
        """Make a collection, on an opener's thread, since it may wait for the embedder."""

        def work() -> tuple[CollectionInfo, str, bool]:
            with self.names.lock:
                kept = self.names.reply(agent_id, operation_id, digest)
            if kept is not None:
                return plain.loads(CollectionInfo, kept), operation_id, True
            info = self._new_info(new)
            settings.check(info)
            return self._create(info, operation_id, agent_id, digest)

        return submit(self._openers, work)

    def _new_info(self, new: NewCollection) -> CollectionInfo:
        model = client_vectors(new.client_vector_dimension)
        if self._embedding is not None and new.client_vector_dimension == 0:
            # A new collection is stamped with the model, so the model must be known.
            model = self._embedding.wait_ready(EMBEDDER_WAIT_S)
        return CollectionInfo(
            name=new.name,
            description=new.description,
            guard=new.guard,
            diversity=new.diversity,
            decay=new.decay,
            model=model,
            created_us=self._clock(),
            revision=0,
            settings_revision=0,
            retention=new.retention,
            blast=new.blast,
            tidy=new.tidy,
        )

    def _create(
        self, info: CollectionInfo, operation_id: str, agent_id: str, digest: bytes
    ) -> tuple[CollectionInfo, str, bool]:
        with self.names.lock:
            kept = self.names.reply(agent_id, operation_id, digest)
            if kept is not None:
                return plain.loads(CollectionInfo, kept), operation_id, True
            if (
                operation_id == _DEFAULT_OPERATION
                and info.name == DEFAULT
                and DEFAULT in self.names.by_name
            ):
                return info, operation_id, True
            self.names.check_new(info.name)
            uid = self._catalog.new_uid()
            operation_id = operation_id or new_operation_id()
            try:
                # The file first: a name without its file must never be listed.
                CollectionState.create(self.store, self._catalog.place(uid, info.name), info)
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
            except (ReadOnly, AlreadyExists):
                self._catalog.drop_new(uid)
                raise
            self.names.by_name[info.name] = uid
        return info, operation_id, False

    def delete(self, name: str, operation_id: str, agent_id: str, digest: bytes) -> Future[Deleted]:
        """Delete a collection; see `Engine.delete_collection`."""

        def replayed() -> Deleted | None:
            with self.names.lock:
                kept = self.names.reply(agent_id, operation_id, digest)
                revision = self._catalog.revision()
            return None if kept is None else (int(kept), revision, operation_id, True)

        def counted(stats: Future[CollectionStats]) -> Future[Deleted]:
            # An unreadable collection may be deleted all the same.
            unread = isinstance(stats.exception(), Corruption)
            live_count = 0 if unread else stats.result().active_count
            return then(submit(self._searchers, lambda: commit(live_count)), over)

        def commit(live_count: int) -> tuple[Deleted, Future[None]]:
            if (kept := replayed()) is not None:
                return kept, ready(None)
            with self.names.lock:
                uid = self.names.by_name.get(name)
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
                del self.names.by_name[name]
                # Before anybody can bring the name back: one writer for each file, always.
                closed = self._openings.retire(name, lambda: _not_found(name))
            return (live_count, revision, chosen, False), closed

        def over(done: tuple[Deleted, Future[None]]) -> Future[Deleted]:
            answer, closed = done
            # It is deleted, whatever the calls that still run return.
            return then(settled(closed), lambda _: ready(answer))

        def go_on(kept: Deleted | None) -> Future[Deleted]:
            if kept is not None:
                return ready(kept)
            stats = self.call(name, lambda collection: collection.stats(agent_id))
            return then(settled(stats), counted)

        return then(submit(self._searchers, replayed), go_on)

    def restore(
        self, name: str, operation_id: str, target_operation_id: str, agent_id: str, digest: bytes
    ) -> tuple[CollectionInfo, str, bool]:
        """Restore a deleted collection; see `Engine.restore_collection`."""
        with self.names.lock:
            kept = self.names.reply(agent_id, operation_id, digest)
            if kept is not None:
                return _told(kept), operation_id, True
        asked = (name, operation_id, target_operation_id, agent_id, digest)
        undone = self.undo_restored(*asked)
        if undone is not None:
            return *undone, False
        with self.names.lock:
            uid = self._deleted(name, target_operation_id, agent_id)
            self.names.check_new(name)
            info = CollectionState.read_info(self.store, self._catalog.place(uid, name))
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
            self.names.by_name[name] = uid
        return info, operation_id, False

    def _deleted(self, name: str, operation_id: str, agent_id: str) -> str:
        """Return the uid of the collection that an operation deleted."""
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

    # -- For snapshots

    @contextmanager
    def using(self, name: str) -> Iterator[Collection]:
        """The collection of a name, which stays open within. Not on a writer's thread."""
        opening = self.use(name)
        try:
            yield opening.future.result()
        finally:
            self.give_back(opening)

    def figures(self, name: str, agent_id: str) -> tuple[CollectionInfo, int]:
        """Settings of a collection with its newest revision, and its live count for an agent."""
        with self.using(name) as collection:
            return collection.info, collection.stats(agent_id).result().active_count

    @contextmanager
    def closed(self, name: str) -> Iterator[CollectionInfo | None]:
        """A collection while nobody writes it; whoever opens its name waits. Empty: none.

        Gives its settings, or `None` if there is none or it cannot be read.
        """
        if not name:
            yield None
            return
        closed, held = self._openings.hold(name, lambda: _replaced(name))
        try:
            closed.result()
            info = None
            with suppress(Corruption):
                info = CollectionState.read_info(
                    self.store, self._catalog.place(self.names.uid(name), name)
                )
            yield info
        finally:
            self._openings.release(name, held)

    @contextmanager
    def still(self, name: str) -> Iterator[Collection | None]:
        """A collection that stays closed within; one that is open is given, for a pause."""
        held = self._openings.keep_shut(name)
        if held is None:
            with self.using(name) as collection:
                yield collection
            return
        try:
            yield None
        finally:
            self._openings.release(name, held)

    @contextmanager
    def kept_aside(self, uid: str) -> Iterator[Place | None]:
        """A collection that has no name, and gets none here within; `None`: it has one."""
        with self.names.lock:
            yield None if uid in self.names.by_name.values() else self._catalog.place(uid, "")

    def undo_restored(
        self, name: str, operation_id: str, target_operation_id: str, agent_id: str, digest: bytes
    ) -> tuple[CollectionInfo, str] | None:
        """Takes a RestoreSnapshot, or the Undo of one, back; `None`: there was none of this id.

        Raises `UndoRefused` if the name has changed hands since.
        """
        with self.names.lock:
            kept = self._catalog.answers([RESTORED, UNDONE], target_operation_id)
            named = [(agent, plain.loads(Restored, answer)) for agent, answer in kept]
        named = [pair for pair in named if pair[1].collection and pair[1].collection.name == name]
        chosen = [restored for agent, restored in named if agent == agent_id] or [
            restored for _, restored in named
        ]
        if not chosen:
            return None
        if len(chosen) > 1:
            raise InvalidArgument(
                "BAD_NAME",
                field="target_operation_id",
                got=f"an id under which {len(chosen)} agents restored a collection {name!r}",
                allowed="the id of one of them",
            )
        (done,) = chosen
        if self.names.uids().get(name, "") != done.uid:
            raise UndoRefused(0, [f"another collection has the name {name!r} now"])
        with self.closed(name if done.uid else "") as info:
            back = done.replaced_uid
            if back:
                info = CollectionState.read_info(self.store, self._catalog.place(back, name))
            assert info is not None
            answer = replace(
                done,
                collection=info,
                operation_id=operation_id or new_operation_id(),
                uid=back,
                replaced_uid=done.uid,
            )
            self.names.take_name(answer, name, agent_id=agent_id, digest=digest, kind=UNDONE)
        return info, answer.operation_id

    # -- Upkeep, on the sweeper's thread

    def purge_deleted(self) -> None:
        """Purge collections that were deleted longer ago than they are kept, some at a time."""
        now_us = self._clock()
        if (
            not self._purge_deleted_days
            or self.names.lost_revisions
            or now_us < self._next_purge_us
        ):
            return
        before_us = now_us - int(self._purge_deleted_days * _DAY_US)
        with self.names.lock:
            due = self._catalog.deleted_before(before_us, limits.COLLECTIONS_PURGED_AT_ONCE_MAX)
        for uid, name in due:
            if self._openings.leaving(name):
                continue  # the next time
            with self.names.lock:
                self._catalog.purge(uid, now_us)
            _log.info("collection %r, deleted for %g days, purged", name, self._purge_deleted_days)
        if len(due) < limits.COLLECTIONS_PURGED_AT_ONCE_MAX:
            self._next_purge_us = now_us + _HOUR_US

    def retain(self) -> None:
        """Open closed collections from time to time if their settings purge forgotten memories.

        Skips collections that were neither opened nor listed since the engine was opened.
        """
        now_us = self._clock()
        if now_us < self._next_retain_us:
            return
        self._next_retain_us = now_us + _HOUR_US
        for name, info in self._openings.closed_infos():
            # Searched as text, since there may be thousands: it leaves out fields at their default.
            if "purge_forgotten_days" in info:
                self.call(name, lambda collection: collection.stats(None))

    # -- The end

    def stop(self) -> bool:
        """Refuse new calls; return false if that was done before."""
        for sweeper in self._sweepers:
            sweeper.stop()
        return self._openings.stop()

    def close(self, deadline_s: float) -> None:
        """Let queued writes finish until a deadline (monotonic clock), and close the files."""
        for sweeper in self._sweepers:
            sweeper.join()
        if self.store.notices is not None:
            self.store.notices.close()
        self._openings.close(deadline_s)
        self._indexer.shutdown(wait=True, cancel_futures=True)
        with self.names.lock:
            self._catalog.close()


def _not_found(name: str) -> NotFound:
    return NotFound("COLLECTION_NOT_FOUND", kind="collection", name=name)


def _told(answer: str) -> CollectionInfo:
    """Return the settings in the answer of an Undo."""
    found: CollectionInfo | Restored = plain.loads(_ANSWERS, answer)
    if isinstance(found, Restored):
        assert found.collection is not None
        return found.collection
    return found


def _replaced(name: str) -> Unavailable:
    """Error of a call whose collection is being replaced, or may be."""
    return Unavailable(
        "SHUTTING_DOWN",
        f"collection {name!r} is being replaced by a snapshot",
        retry_delay_ms=limits.RETRY_DELAY_MS,
    )
