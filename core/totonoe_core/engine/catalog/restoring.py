"""Restoring of a snapshot as a collection: examined, copied, purged again, named in one commit.

    prepare   collections/<new uid>.tmp/memory.db: a copy whose sha256, pages, rows, counts and
              revision are those of the snapshot; of an earlier format it is brought forward
    place     the checkpoint that came with the snapshot, so that opening need not read every row
    purge     purges from the copy what any collection of the family has purged since
    commit    the catalogue gets its row, the directory its name. A collection that had the name is
              kept like a deleted one, and an Undo brings it back

A family is the set of collections that a memory's id may be in: those restored from one another's
snapshots. No purge of theirs can fall between the last check and the commit: those that are open
wait for it, some milliseconds, and those that are closed stay so.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import TypeVar

from totonoe_core.base import limits, plain
from totonoe_core.base.clock import Clock
from totonoe_core.base.errors import Corruption, NotConfirmed, NotFound, Unavailable
from totonoe_core.base.ids import new_operation_id
from totonoe_core.domain.snapshots import Restored, Snapshot
from totonoe_core.engine.catalog.collections import DEFAULT, Collections
from totonoe_core.engine.catalog.file_purging import purge_file
from totonoe_core.engine.collection.collection import Collection
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.store.records import Examined, Place
from totonoe_core.store.seam import FileCopies

T = TypeVar("T")
_log = logging.getLogger(__name__)

Tell = Callable[[str, float], None]
"""Is called with the step of a `SnapshotJob`, and the share of it that is done."""
_LOOKS_MAX = 8


class Restoring:
    """Restores snapshots. On the snapshots' thread."""

    def __init__(self, collections: Collections, copies: FileCopies, clock: Clock) -> None:
        self._collections = collections
        self._copies = copies
        self._clock = clock

    def restore(
        self,
        snapshot: Snapshot,
        name: str,
        operation_id: str,
        *,
        agent_id: str,
        confirmation_token: str,
        digest: bytes,
        tell: Tell,
    ) -> Restored:
        """Restore into a name; see `Engine.restore_snapshot`."""
        if name == DEFAULT:
            self._collections.make_default()
        before = Restored(snapshot, restored=False)
        if not self._collections.names.free(name):
            revision, active_count = self._replaced(name, agent_id)
            before = replace(
                before,
                replaced_uid=self._collections.names.uid(name),
                replaced_revision=revision,
                replaced_active_count=active_count,
            )
            token = _token(before)
            if not confirmation_token:
                return replace(before, confirmation_token=token, replaced_uid="")
            if token != confirmation_token:
                raise NotConfirmed(name=name)
        elif confirmation_token:
            # The state that the token was given for is gone.
            raise NotConfirmed(name=name)
        uid, path = self._copies.catalogue.prepare()
        try:
            verified_copy(self._copies, snapshot, path, tell)
            tell("naming", 0.0)
            self._copies.rename(Place(path, uid, name))
            if snapshot.format == self._copies.format:
                # Rows of an earlier format were changed just now, and a purge drops it.
                self._copies.place_checkpoint(snapshot, path, uid)
            asked = replace(
                before, restored=True, uid=uid, operation_id=operation_id or new_operation_id()
            )
            with self._collections.closed(name if before.replaced_uid else "") as info_now:
                if info_now is not None and info_now.revision != before.replaced_revision:
                    raise NotConfirmed(name=name)
                return self._named(asked, path, name, agent_id, digest)
        except BaseException:
            self._collections.names.abandon(uid)
            raise

    def _replaced(self, name: str, agent_id: str) -> tuple[int, int]:
        """Return revision and live count of a collection; zeros if it cannot be read.

        Such a collection may be replaced all the same.
        """
        try:
            info, active_count = self._collections.figures(name, agent_id)
            return info.revision, active_count
        except Corruption:
            with contextlib.suppress(Corruption):
                return self._collections.info(name).revision, 0
        return 0, 0

    def _named(
        self, asked: Restored, path: Path, name: str, agent_id: str, digest: bytes
    ) -> Restored:
        """Purge again what was purged since, and give the collection its name."""
        gone: set[str] = set()
        again_count = 0
        for _ in range(_LOOKS_MAX):
            found_ids, unread_uids = self._gone(asked.snapshot)
            gone |= found_ids
            again_count += purge_file(
                self._copies, path, sorted(gone), "purged before it was restored", self._clock()
            )
            answer = replace(
                asked,
                collection=CollectionState.read_info(
                    self._collections.store, Place(path, asked.uid, name)
                ),
                purged_again_count=again_count,
                unread_uids=unread_uids,
            )

            def commit(answer: Restored = answer, gone: set[str] = gone) -> bool:
                """While every writer of the family waits."""
                if not self._gone(asked.snapshot)[0] <= gone:
                    return False
                self._collections.names.take_name(answer, name, agent_id=agent_id, digest=digest)
                return True

            with contextlib.ExitStack() as used:
                others = [
                    used.enter_context(self._collections.still(other))
                    for other in self._others(asked.snapshot, name)
                ]
                if _waiting([one for one in others if one is not None], commit):
                    return answer
        raise Unavailable(
            "OVERLOADED",
            "the collections of this snapshot are being purged all the time",
            retry_delay_ms=limits.RETRY_DELAY_MS,
        )

    def _others(self, snapshot: Snapshot, name: str) -> list[str]:
        """Return the existing collections of the family, without the one that is replaced."""
        family = self.family(snapshot.collection_uid)
        uids = sorted(self._collections.names.uids().items())
        return [other for other, uid in uids if uid in family and other != name]

    def _gone(self, snapshot: Snapshot) -> tuple[set[str], tuple[str, ...]]:
        """Return the ids purged in any collection of the family, deleted ones too.

        Also returns the uids of those whose file cannot be read: their purges are not known.
        """
        listed = set(self._collections.names.uids().values())
        gone: set[str] = set()
        unread = []
        for uid in sorted(self.family(snapshot.collection_uid)):
            place = self._collections.names.catalog.place(uid, "")
            if not place.path.exists():
                # Only a collection that was purged as a whole may be without its file.
                unread += [uid] * (uid in listed)
                continue
            try:
                gone.update(self._copies.purged_ids(place))
            except Corruption as error:
                _log.warning("purges of collection %s are not known: %s", uid, error.message)
                unread.append(uid)
        return gone, tuple(unread)

    def family(self, uid: str) -> set[str]:
        """Return the uids of the collections that were restored from one another's snapshots."""
        family, found = {uid}, True
        pairs = self._collections.names.restorations()
        while found:
            more = {one for pair in pairs if not family.isdisjoint(pair) for one in pair}
            found = not more <= family
            family |= more
        return family


def _waiting(collections: Sequence[Collection], work: Callable[[], T]) -> T:
    """Run work while the writers of some collections wait for it."""
    if not collections:
        return work()
    first, rest = collections[0], collections[1:]
    return first.copying.pause(lambda: _waiting(rest, work)).result()


def _token(asked: Restored) -> str:
    """Return the token that confirms replacing this state of a collection by this snapshot."""
    snapshot = asked.snapshot
    bound = (asked.replaced_uid, asked.replaced_revision, snapshot.id, snapshot.sha256)
    return blake2b(plain.dumps(bound).encode(), digest_size=16).hexdigest()


def found(copies: FileCopies, snapshot_id: str) -> Snapshot:
    """Return the snapshot of an id. Raises `NotFound` (SNAPSHOT_NOT_FOUND)."""
    snapshot = copies.snapshots.find(snapshot_id)
    if snapshot is None:
        raise NotFound("SNAPSHOT_NOT_FOUND", kind="snapshot", name=snapshot_id)
    return snapshot


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


def sound(examined: Examined, path: Path) -> Snapshot:
    """Return the snapshot of an examined file. Raises `Corruption` if it has faults."""
    if examined.faults or examined.snapshot is None:
        shown = "; ".join(examined.faults[:3])
        raise Corruption("CORRUPT_ROW", f"{path.name} is damaged: {shown}", file=path.name)
    return examined.snapshot
