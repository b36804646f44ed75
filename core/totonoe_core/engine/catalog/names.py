"""Which collection has which name: the catalogue and the names in it, under one lock."""

from __future__ import annotations

import threading
from collections.abc import Callable

from totonoe_core.base import limits, plain
from totonoe_core.base.clock import Clock
from totonoe_core.base.errors import AlreadyExists, NotConfirmed, NotFound, Quota
from totonoe_core.domain.snapshots import Restored
from totonoe_core.store.seam import Catalog, FileCatalog, Store, needed

RESTORED, UNDONE = "RestoreSnapshot", "Undo of RestoreSnapshot"
"""Kinds of the operations that give a name to another file."""


class Names:
    """Names to uids. All methods are safe from any thread, but for those that say otherwise.

    A name that changes hands leaves its former collection in its directory, as a deletion does; an
    Undo gives the name back, and an Undo of that takes it again.

    Attributes
    ----------
    lock : threading.Lock
        To be held around any use of `by_name` and `catalog`, directories of collections excepted.
    by_name : dict
        uid by name of every collection.
    """

    def __init__(self, store: Store, catalog: Catalog, clock: Clock) -> None:
        self._store = store
        self.catalog = catalog
        self.lock = threading.Lock()
        self.by_name = catalog.names()
        self._clock = clock

    @property
    def lost_revisions(self) -> str:
        """Revisions of the catalogue that are gone from the disk; empty: none."""
        lost = self.catalog.loss
        return "" if lost is None else lost.revisions

    def refresh(self) -> None:
        """Read the names again: another daemon may have changed them. For those with the lock."""
        if self._store.shared:
            self.by_name = self.catalog.names()

    def uids(self) -> dict[str, str]:
        """uid by name of every collection."""
        with self.lock:
            return dict(self.by_name)

    def uid(self, name: str) -> str:
        """The uid of a collection. Raises `NotFound`."""
        with self.lock:
            found = self.by_name.get(name)
        if found is None:
            raise NotFound("COLLECTION_NOT_FOUND", kind="collection", name=name)
        return found

    def free(self, name: str) -> bool:
        """Whether a name can be given; raises `Quota` if there are too many collections."""
        with self.lock:
            if name in self.by_name:
                return False
            self.check_new(name)
            return True

    def replayed(self, agent_id: str, operation_id: str, digest: bytes) -> str | None:
        """The kept answer of an operation id. Raises `AlreadyExists` (OPERATION_ID_REUSED)."""
        with self.lock:
            return self.reply(agent_id, operation_id, digest)

    def keep(
        self, operation_id: str, agent_id: str, kind: str, uid: str, digest: bytes, answer: str
    ) -> None:
        """Keeps an answer for replay. Raises `ReadOnly`."""
        with self.lock:
            self.catalog.keep(
                uid=uid,
                operation_id=operation_id,
                agent_id=agent_id,
                kind=kind,
                digest=digest,
                answer=answer,
                time_us=self._clock(),
            )

    def copy_beside_snapshots(self) -> None:
        """Copies the catalogue to the snapshots. Raises `ReadOnly`, `Corruption`."""
        with self.lock:
            self._files().copy_beside_snapshots()

    def take_name(
        self,
        answer: Restored,
        name: str,
        *,
        agent_id: str,
        digest: bytes,
        kind: str = RESTORED,
        put: Callable[..., int] | None = None,
    ) -> None:
        """Gives a name to `answer.uid` (none: to nothing) in the place of `answer.replaced_uid`.

        `put` lists a collection that was made for this; `None`: there are both already.

        Raises `NotConfirmed` if the name has changed hands since, `Quota`, `ReadOnly`.
        """
        with self.lock:
            # Not taken over here: who does that also lets go of what other daemons deleted.
            now = self.catalog.names() if self._store.shared else self.by_name
            if now.get(name, "") != answer.replaced_uid:
                raise NotConfirmed(name=name)
            if not answer.replaced_uid:
                self.check_new(name)
            (put or self.catalog.put)(
                uid=answer.uid or answer.replaced_uid,
                name=name,
                deleted_us=None if answer.uid else self._clock(),
                operation_id=answer.operation_id,
                agent_id=agent_id,
                kind=kind,
                digest=digest,
                answer=plain.dumps(answer),
                time_us=self._clock(),
                replaced_uid=answer.replaced_uid if answer.uid else "",
            )
            if answer.uid:
                self.by_name[name] = answer.uid
            else:
                del self.by_name[name]

    def abandon(self, uid: str) -> None:
        """Takes away what was prepared for a collection that is not to be."""
        with self.lock:
            self._files().abandon(uid)

    def _files(self) -> FileCatalog:
        return needed(self._store.copies, "snapshots", self._store.name).catalogue

    def restorations(self) -> list[tuple[str, str]]:
        """(uid that a snapshot was of, uid of what was restored of it) of all there were."""
        with self.lock:
            kept = self.catalog.answers([RESTORED])
        answers = (plain.loads(Restored, answer) for _, answer in kept)
        return [(restored.snapshot.collection_uid, restored.uid) for restored in answers]

    def reply(self, agent_id: str, operation_id: str, digest: bytes) -> str | None:
        """`replayed` for those who hold the lock."""
        kept = self.catalog.reply(agent_id, operation_id) if operation_id else None
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

    def check_new(self, name: str) -> None:
        """Raises `AlreadyExists` for a name that is taken, `Quota` if there are too many.

        For those who hold the lock.
        """
        if name in self.by_name:
            raise AlreadyExists("COLLECTION_EXISTS", kind="collection", name=name)
        if len(self.by_name) >= limits.COLLECTIONS_MAX:
            raise Quota(
                "QUOTA_EXCEEDED", f"there are {limits.COLLECTIONS_MAX} collections, the most"
            )
