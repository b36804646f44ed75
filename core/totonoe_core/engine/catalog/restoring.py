"""Restoring of a snapshot as a collection: examined, copied, purged again, named in one commit.

    prepare   a copy that is what was sealed, in the place of a new collection, with its name
    purge     purges from the copy what any collection of the family has purged since
    commit    the catalogue gets its row, the directory its name. A collection that had the name is
              kept like a deleted one, and an Undo brings it back

A family is the set of collections that a memory's id may be in: those restored from one another's
snapshots. No purge of theirs can fall between the last check and the commit: those that are open
wait for it, some milliseconds, and those that are closed stay so; of several daemons over one
database all wait, at the locks of these collections.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import TypeVar

from totonoe_core.base import limits, plain
from totonoe_core.base.clock import Clock
from totonoe_core.base.errors import Corruption, NotConfirmed, Unavailable
from totonoe_core.base.ids import new_operation_id
from totonoe_core.domain.snapshots import Restored, Snapshot
from totonoe_core.engine.catalog.collections import DEFAULT, Collections
from totonoe_core.engine.catalog.file_purging import purge_rows
from totonoe_core.engine.collection.collection import Collection
from totonoe_core.store.seam import KeptSnapshots, Prepared

T = TypeVar("T")
_log = logging.getLogger(__name__)

Tell = Callable[[str, float], None]
"""Is called with the step of a `SnapshotJob`, and the share of it that is done."""
_LOOKS_MAX = 8


class Restoring:
    """Restores snapshots. On the snapshots' thread."""

    def __init__(self, collections: Collections, kept: KeptSnapshots, clock: Clock) -> None:
        self._collections = collections
        self._kept = kept
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
        self._collections.refresh_names()
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
        with self._kept.prepare(snapshot, name, tell) as made:
            tell("naming", 0.0)
            asked = replace(
                before,
                restored=True,
                uid=made.uid,
                operation_id=operation_id or new_operation_id(),
            )
            with self._collections.closed(name if before.replaced_uid else "") as info_now:
                if info_now is not None and info_now.revision != before.replaced_revision:
                    raise NotConfirmed(name=name)
                return self._named(asked, made, name, agent_id, digest)

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
        self, asked: Restored, made: Prepared, name: str, agent_id: str, digest: bytes
    ) -> Restored:
        """Purge again what was purged since, and give the collection its name."""
        gone: set[str] = set()
        again_count = 0
        for _ in range(_LOOKS_MAX):
            found_ids, unread_uids = self._gone(asked.snapshot)
            gone |= found_ids
            again_count += self._purged(made, sorted(gone))
            answer = replace(
                asked,
                collection=made.info(),
                purged_again_count=again_count,
                unread_uids=unread_uids,
            )

            def commit(answer: Restored = answer, gone: set[str] = gone) -> bool:
                """While every writer of the family waits."""
                family = self.family(asked.snapshot.collection_uid)
                held = made.hold({*family, asked.replaced_uid} - {""})
                if held and held.get(asked.replaced_uid, 0) != asked.replaced_revision:
                    raise NotConfirmed(name=name)
                if not self._gone(asked.snapshot)[0] <= gone:
                    return False
                self._collections.names.take_name(
                    answer, name, agent_id=agent_id, digest=digest, put=made.put
                )
                return True

            with contextlib.ExitStack() as used:
                others = [
                    used.enter_context(self._collections.still(other))
                    for other in self._others(asked.snapshot, name)
                ]
                if _waiting(
                    [collection for collection in others if collection is not None], commit
                ):
                    return answer
        raise Unavailable(
            "OVERLOADED",
            "the collections of this snapshot are being purged all the time",
            retry_delay_ms=limits.RETRY_DELAY_MS,
        )

    def _purged(self, made: Prepared, ids: Sequence[str]) -> int:
        file = made.open()
        try:
            return purge_rows(file, ids, "purged before it was restored", self._clock())
        finally:
            file.close()

    def _others(self, snapshot: Snapshot, name: str) -> list[str]:
        """Return the existing collections of the family, without the one that is replaced.

        None of a shared store: its locks hold the writers of all daemons (`Prepared.hold`).
        """
        if self._collections.store.shared:
            return []
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
            try:
                found = self._kept.purged_ids(place)
            except Corruption as error:
                _log.warning("purges of collection %s are not known: %s", uid, error.message)
                unread.append(uid)
                continue
            if found is None:
                # Only a collection that was purged as a whole may be without its rows.
                unread += [uid] * (uid in listed)
            else:
                gone.update(found)
        return gone, tuple(unread)

    def family(self, uid: str) -> set[str]:
        """Return the uids of the collections that were restored from one another's snapshots."""
        family, found = {uid}, True
        pairs = self._collections.names.restorations()
        while found:
            more = {member for pair in pairs if not family.isdisjoint(pair) for member in pair}
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
