"""Snapshots: creating, listing, deleting, restoring, and their part in a purge.

    create    taken beside the work of the writer, sealed, examined and listed
    restore   copied and examined, purged again of memories that were purged since, and only then
              named in the catalogue, in one commit
    purge     looks into every snapshot of the family: of the collection, of those it was restored
              from, and of those restored from its own

How a snapshot is kept is up to the store (`KeptSnapshots`): as a file (`file_snapshots.py`), or as
rows of the database. All changes run one after the other on one thread, and the store lets no two
daemons make them at once: a purge that arrives while a snapshot is taken finds it when it is
complete.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence, Set
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from hashlib import blake2b
from typing import TypeVar

from totonoe_core.base import limits, plain
from totonoe_core.base.clock import Clock
from totonoe_core.base.errors import AlreadyExists, NotFound, TotonoeError, Unavailable
from totonoe_core.base.ids import new_operation_id, new_snapshot_id
from totonoe_core.domain.collections import Sees
from totonoe_core.domain.records import ModelIdentity
from totonoe_core.domain.snapshots import (
    ListedSnapshot,
    Restored,
    Snapshot,
    SnapshotCreated,
    SnapshotDeleted,
    SnapshotHolding,
    SnapshotJob,
    SnapshotSchedule,
    SnapshotStats,
    SnapshotUse,
)
from totonoe_core.engine.catalog.collections import Collections
from totonoe_core.engine.catalog.file_purging import purge_rows
from totonoe_core.engine.catalog.file_snapshots import FileSnapshots
from totonoe_core.engine.catalog.restoring import Restoring, Tell
from totonoe_core.engine.state.futures import ready, shutting_down, submit
from totonoe_core.rules.snapshots import check_room
from totonoe_core.store.seam import KeptSnapshots, needed

T = TypeVar("T")
_log = logging.getLogger(__name__)
_HOUR_US = 3_600_000_000
_LOOK_S = 30.0
_NO_MODEL = ModelIdentity("", "", "", 0)


class Snapshots:
    """Snapshots of the collections of one store. Safe from any thread.

    With a schedule, a thread checks every half minute what is due (`run_due`). On a store that has
    none calls raise `NotOnThisStore`, and a purge finds none.
    """

    def __init__(self, collections: Collections, clock: Clock, schedule: SnapshotSchedule) -> None:
        self._store = collections.store
        self._collections = collections
        self._clock = clock
        self._schedule = schedule
        self._worker = ThreadPoolExecutor(1, "snapshots")
        self._stop = threading.Event()
        self._room = threading.BoundedSemaphore(limits.SNAPSHOT_JOBS_MAX)
        self._looked_us: dict[str, int] = {}
        self._scheduled_count = self._failed_count = 0
        self._job: SnapshotJob | None = None
        self._job_collection = ""
        self._timer: threading.Thread | None = None
        copies = self._store.copies
        self._found: KeptSnapshots | None = (
            self._store.snapshots
            if copies is None
            else FileSnapshots(collections, copies, self._stop)
        )
        if self._found is not None:
            submit(self._worker, self._found.sweep)
        if schedule.every_h:
            self._timer = threading.Thread(target=self._watch, name="schedule", daemon=True)
            self._timer.start()

    @property
    def kept(self) -> KeptSnapshots:
        """The snapshots. Raises `NotOnThisStore`."""
        return needed(self._found, "snapshots", self._store.name)

    @property
    def _restoring(self) -> Restoring:
        return Restoring(self._collections, self.kept, self._clock)

    def stop(self) -> None:
        """Refuse further calls; a running copy is given up. Idempotent."""
        self._stop.set()
        self._worker.shutdown(wait=False, cancel_futures=True)

    def close(self) -> None:
        """Wait for the running call. After `stop`."""
        self._worker.shutdown(wait=True, cancel_futures=True)
        if self._timer is not None:
            self._timer.join()
        if self._found is not None:
            self._found.close()

    def _submit(self, work: Callable[[], T]) -> Future[T]:
        """Queue a call. Raises `Unavailable` if SNAPSHOT_JOBS_MAX wait."""
        if not self._room.acquire(blocking=False):
            raise Unavailable(
                "OVERLOADED",
                f"{limits.SNAPSHOT_JOBS_MAX} calls about snapshots wait, the most",
                retry_delay_ms=limits.RETRY_DELAY_MS,
            )
        try:
            future = submit(self._worker, work)
        except BaseException:
            self._room.release()
            raise
        future.add_done_callback(lambda _: self._room.release())
        return future

    # -- Create

    def create(
        self, collection: str, operation_id: str, *, agent_id: str, name: str, comment: str
    ) -> Future[SnapshotCreated]:
        """See `Engine.create_snapshot`."""
        digest = _digest("create snapshot", (collection, name, comment))

        def work() -> SnapshotCreated:
            kept = self._collections.names.replayed(agent_id, operation_id, digest)
            if kept is not None:
                snapshot = plain.loads(Snapshot, kept)
                return SnapshotCreated(snapshot, operation_id, replayed=True)
            # Before the look-up: the default collection is made when it is first used.
            self._collections.figures(collection, agent_id)
            uid = self._collections.names.uid(collection)
            # By the operation id: a retry finds what was listed before its answer was kept.
            snapshot_id = new_snapshot_id()
            if operation_id:
                asked = (uid, agent_id, operation_id)
                snapshot_id = "snap_" + _digest("id", asked)[:8].hex()
            known = self.kept.find(snapshot_id)
            if known is not None and known.asked != digest.hex():
                raise AlreadyExists(
                    "OPERATION_ID_REUSED",
                    kind="operation id",
                    name=operation_id,
                    hint="it was used with another payload",
                )
            if known is None:
                draft = self._draft(snapshot_id, uid, collection, name, comment)
                known = self._take(collection, replace(draft, asked=digest.hex()))
            chosen = operation_id or new_operation_id()
            try:
                self._collections.names.keep(
                    chosen, agent_id, "CreateSnapshot", uid, digest, plain.dumps(known)
                )
            except AlreadyExists:
                # Another daemon got the same call, and has kept its answer just now.
                if self._collections.names.replayed(agent_id, operation_id, digest) is None:
                    raise
            return SnapshotCreated(known, chosen)

        return self._submit(work)

    def _draft(
        self, snapshot_id: str, uid: str, collection: str, name: str, comment: str
    ) -> Snapshot:
        """Describe a new snapshot."""
        return Snapshot(
            snapshot_id, uid, collection, name, comment, self._clock(), 0, 0, 0, _NO_MODEL, 0
        )

    def _take(
        self,
        name: str,
        draft: Snapshot,
        check: Callable[[Sequence[Snapshot]], None] = lambda _: None,
    ) -> Snapshot:
        """Take and list a snapshot; `check` sees those that other daemons have taken meanwhile.

        Raises `Quota` without room, `AlreadyExists` for a name that is taken.
        """
        told = self._begin("create", draft.id, name)

        def tell(step: str, share: float) -> None:
            if self._stop.is_set():
                raise shutting_down()
            told(step, share)

        def check_all(beside: Sequence[Snapshot]) -> None:
            check_room(draft.name, beside)
            check(beside)

        try:
            return self.kept.take(name, draft, tell, check_all)
        finally:
            self._job = None

    def _begin(self, kind: str, snapshot_id: str, collection: str) -> Tell:
        """Note the work that begins, for Stats; return the call that notes its progress."""
        self._job_collection = collection
        job = self._job = SnapshotJob(kind, snapshot_id, "copying", 0.0, self._clock())

        def tell(step: str, share: float) -> None:
            self._job = replace(job, step=step, step_share=share)

        return tell

    # -- List and delete

    def list(self, collection: str) -> list[ListedSnapshot]:
        """Return snapshots of the collection of a name, or (empty) all, newest first."""
        self._collections.refresh_names()
        names = {uid: name for name, uid in self._collections.names.uids().items()}
        if collection:
            uid = self._collections.names.uid(collection)
            chosen = list(self.kept.of(uid))
        else:
            chosen = list(self.kept.all())
        chosen.sort(key=lambda snapshot: (-snapshot.created_us, snapshot.id))
        return [
            ListedSnapshot(snapshot, names.get(snapshot.collection_uid, "")) for snapshot in chosen
        ]

    def delete(
        self, snapshot_id: str, operation_id: str, *, agent_id: str
    ) -> Future[SnapshotDeleted]:
        """See `Engine.delete_snapshot`."""
        digest = _digest("delete snapshot", (snapshot_id,))

        def work() -> SnapshotDeleted:
            kept = self._collections.names.replayed(agent_id, operation_id, digest)
            if kept is not None:
                snapshot = plain.loads(Snapshot, kept)
                return SnapshotDeleted(snapshot, operation_id, replayed=True)
            snapshot = self.found(snapshot_id)
            chosen = operation_id or new_operation_id()
            self.kept.delete(snapshot)
            self._collections.names.keep(
                chosen,
                agent_id,
                "DeleteSnapshot",
                snapshot.collection_uid,
                digest,
                plain.dumps(snapshot),
            )
            return SnapshotDeleted(snapshot, chosen)

        return self._submit(work)

    def found(self, snapshot_id: str) -> Snapshot:
        """Return the snapshot of an id. Raises `NotFound` (SNAPSHOT_NOT_FOUND)."""
        snapshot = self.kept.find(snapshot_id)
        if snapshot is None:
            raise NotFound("SNAPSHOT_NOT_FOUND", kind="snapshot", name=snapshot_id)
        return snapshot

    # -- Restore

    def restore(
        self,
        snapshot_id: str,
        collection: str,
        operation_id: str,
        *,
        agent_id: str,
        confirmation_token: str,
    ) -> Future[Restored]:
        """See `Engine.restore_snapshot`."""
        # Without the token: a repeated call with a token is the same request.
        digest = _digest("restore snapshot", (snapshot_id, collection))

        def work() -> Restored:
            kept = self._collections.names.replayed(agent_id, operation_id, digest)
            if kept is not None:
                return replace(plain.loads(Restored, kept), replayed=True)
            snapshot = self.found(snapshot_id)
            try:
                return self._restoring.restore(
                    snapshot,
                    collection,
                    operation_id,
                    agent_id=agent_id,
                    confirmation_token=confirmation_token,
                    digest=digest,
                    tell=self._begin("restore", snapshot.id, snapshot.collection),
                )
            finally:
                self._job = None

        return self._submit(work)

    # -- Purge

    def about_purge(
        self,
        collection: str,
        agent_id: str,
        ids: Sequence[str],
        use: SnapshotUse,
        *,
        dry_run: bool,
        sees: Sees,
    ) -> Future[tuple[SnapshotHolding, ...]]:
        """See `Engine.purge_snapshots`."""

        if self._found is None:
            return ready(())

        def work() -> tuple[SnapshotHolding, ...]:
            out: list[SnapshotHolding] = []
            with self._collections.using(collection) as found:
                chosen = found.reads.seen_by(agent_id, ids, purged=not dry_run)
            if not chosen:
                return ()
            uid = self._collections.names.uid(collection)
            if not dry_run:
                self.kept.settle()
                self._purge_replaced(uid, chosen)
            for snapshot in self._of_family(uid):
                held = self.kept.holds(snapshot, chosen)
                if not held:
                    continue
                seen, wanted = sees(snapshot.collection), SnapshotUse.LIST if dry_run else use
                if wanted is SnapshotUse.DELETE and not seen:
                    wanted = SnapshotUse.REWRITE
                with suppress(NotFound):  # another daemon has deleted it meanwhile
                    done = self._purged(snapshot, held, wanted)
                    if seen:
                        out.append(done)
            return tuple(out)

        return self._submit(work)

    def _purge_replaced(self, uid: str, ids: Sequence[str]) -> None:
        """Purge collections that are kept aside: an Undo of a restore must not bring it back."""
        why = "purged in what took its place"
        for member in sorted(self._restoring.family(uid)):
            with self._collections.kept_aside(member) as place:
                if place is not None:
                    self.kept.purge_aside(
                        place, lambda file: purge_rows(file, ids, why, self._clock())
                    )

    def _of_family(self, uid: str) -> Iterable[Snapshot]:
        for member in sorted(self._restoring.family(uid)):
            yield from sorted(self.kept.of(member), key=lambda found: (found.created_us, found.id))

    def _purged(self, snapshot: Snapshot, held: Sequence[str], use: SnapshotUse) -> SnapshotHolding:
        if use is SnapshotUse.DELETE:
            self.kept.delete(snapshot)
            return SnapshotHolding(snapshot, len(held), deleted=True)
        if use is SnapshotUse.LIST:
            return SnapshotHolding(snapshot, len(held))
        after, count = self.kept.rewrite(
            snapshot, lambda file: purge_rows(file, held, "snapshot rewritten", self._clock())
        )
        return SnapshotHolding(after, count, rewritten=True)

    # -- By the schedule

    def _watch(self) -> None:
        while not self._stop.wait(_LOOK_S):
            try:
                self._submit(self.run_due).result()
            except Exception as error:
                if not self._stop.is_set():
                    _log.warning("snapshots were not looked after: %s", type(error).__name__)

    def run_due(self) -> int:
        """Take due snapshots and delete those no longer kept; return how many were taken.

        A collection is due if its newest snapshot, also one by hand, is `every_h` old and of an
        earlier revision. A failure is logged, counted, and tried again after `every_h`.
        """
        every_us, now_us, taken = int(self._schedule.every_h * _HOUR_US), self._clock(), 0
        if not every_us:
            return 0
        there = self._collections.names.uids()
        self._looked_us = {
            uid: time for uid, time in self._looked_us.items() if uid in there.values()
        }
        kept: dict[str, list[Snapshot]] = {}
        for snapshot in sorted(self.kept.all(), key=lambda found: found.created_us):
            kept.setdefault(snapshot.collection_uid, []).append(snapshot)
        for name, uid in sorted(there.items()):
            if self._stop.is_set():
                break
            beside = kept.get(uid, [])
            newest = beside[-1] if beside else None
            times = [snapshot.created_us for snapshot in beside[-1:]]
            if uid in self._looked_us:
                times.append(self._looked_us[uid])
            # A clock that was set back also makes it due.
            if any(abs(now_us - instant) < every_us for instant in times):
                continue
            self._looked_us[uid] = now_us
            try:
                if self._take_due(name, uid, newest, {snapshot.id for snapshot in beside}):
                    taken += 1
            except TotonoeError as error:
                self._failed_count += 1
                _log.warning("no snapshot of collection %s was taken: %s", name, error.reason)
        self._scheduled_count += taken
        return taken

    def _take_due(self, name: str, uid: str, newest: Snapshot | None, known: Set[str]) -> bool:
        revision = self._collections.info(name).revision
        # A purge that was written into the snapshot too accounts for one revision since.
        if newest is not None and newest.revision == revision:
            return False
        if newest is None and revision == 0:
            return False
        draft = self._draft(new_snapshot_id(), uid, name, "", "")

        def check(beside: Sequence[Snapshot]) -> None:
            if not {other.id for other in beside} <= known:
                raise _Taken

        try:
            snapshot = self._take(name, replace(draft, scheduled=True), check)
        except _Taken:
            return False
        _log.info("snapshot %s of collection %s at %s", snapshot.id, name, snapshot.revision)
        mine = sorted(
            (other for other in self.kept.of(uid) if other.scheduled),
            key=lambda found: found.created_us,
        )
        for old in mine[: -self._schedule.keep]:
            self.kept.delete(old)
        return True

    def stats(self, sees: Sees | None) -> SnapshotStats:
        """Return figures of all snapshots; with `sees`, of those of collections that are seen.

        Then the figures of the schedule, which is one for all, are 0.
        """
        if self._found is None:
            return SnapshotStats(0, 0, 0, 0, 0, None)
        running = self._job if sees is None or sees(self._job_collection) else None
        if sees is not None:
            every = [snapshot for snapshot in self.kept.all() if sees(snapshot.collection)]
            newest_us = max((snapshot.created_us for snapshot in every), default=0)
            size = sum(snapshot.file_bytes for snapshot in every)
            return SnapshotStats(len(every), size, newest_us, 0, 0, running)
        every = list(self.kept.all())
        return SnapshotStats(
            len(every),
            sum(snapshot.file_bytes for snapshot in every),
            max((snapshot.created_us for snapshot in every), default=0),
            self._scheduled_count,
            self._failed_count,
            running,
        )


class _Taken(Exception):  # noqa: N818 - it is no error
    """Another daemon took a snapshot just now, so that none is due."""


def _digest(kind: str, asked: tuple[object, ...]) -> bytes:
    return blake2b((kind + plain.dumps(asked)).encode(), digest_size=16).digest()
