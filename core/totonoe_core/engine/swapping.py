"""Which file has a name, changed in one commit of the catalogue: for snapshots that are restored.

What had the name before stays in its directory, as a deleted collection does; an Undo of the
operation gives it the name back, and an Undo of that one takes it again.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from totonoe_core import limits, plain
from totonoe_core.clock import Clock
from totonoe_core.commands import CollectionInfo
from totonoe_core.engine.collection import Collection
from totonoe_core.engine.openings import Opening, Openings
from totonoe_core.engine.state import CollectionState
from totonoe_core.errors import InvalidArgument, NotConfirmed, NotFound, Unavailable, UndoRefused
from totonoe_core.ids import new_operation_id
from totonoe_core.snapshots import Restored
from totonoe_core.store.catalog import Catalog

_RESTORED, _UNDONE = "RestoreSnapshot", "Undo of RestoreSnapshot"


class Swapping:
    """What `Collections` has for snapshots. All methods are safe from any thread."""

    _catalog: Catalog
    _catalog_lock: threading.Lock
    _clock: Clock
    _names: dict[str, str]
    _openings: Openings

    if TYPE_CHECKING:  # `Collections` has them

        def use(self, name: str, count: int = 1) -> Opening:
            """The collection of a name for so many calls, each of which is to be given back."""

        def give_back(self, one: Opening, used: bool = True) -> None:
            """A call on a collection is over."""

        def _replayed(self, agent_id: str, operation_id: str, digest: bytes) -> str | None: ...

        def _check_new(self, name: str) -> None: ...

    @property
    def store(self) -> Catalog:
        """Directories of collections; of the rest of it only with the lock."""
        return self._catalog

    def uids(self) -> dict[str, str]:
        """uid by name of every collection."""
        with self._catalog_lock:
            return dict(self._names)

    def uid(self, name: str) -> str:
        """The uid of a collection. Raises `NotFound`."""
        found = self.uids().get(name)
        if found is None:
            raise NotFound("COLLECTION_NOT_FOUND", kind="collection", name=name)
        return found

    def free(self, name: str) -> bool:
        """Whether a name can be given; raises `Quota` if there are too many collections."""
        with self._catalog_lock:
            if name in self._names:
                return False
            self._check_new(name)
            return True

    @contextmanager
    def using(self, name: str) -> Iterator[Collection]:
        """The collection of a name, which stays open within. Not on a writer's thread."""
        one = self.use(name)
        try:
            yield one.future.result()
        finally:
            self.give_back(one)

    def figures(self, name: str) -> tuple[CollectionInfo, int]:
        """Settings of a collection with its newest revision, and its live count."""
        with self.using(name) as found:
            return found.info, found.stats().result().active_count

    def replayed(self, agent_id: str, operation_id: str, digest: bytes) -> str | None:
        """The kept answer of an operation id. Raises `AlreadyExists` (OPERATION_ID_REUSED)."""
        with self._catalog_lock:
            return self._replayed(agent_id, operation_id, digest)

    def keep(
        self, operation_id: str, agent_id: str, kind: str, uid: str, digest: bytes, answer: str
    ) -> None:
        """Keeps an answer for replay. Raises `ReadOnly`."""
        with self._catalog_lock:
            self._catalog.keep(
                uid=uid,
                operation_id=operation_id,
                agent_id=agent_id,
                kind=kind,
                digest=digest,
                answer=answer,
                time_us=self._clock(),
            )

    @contextmanager
    def closed(self, name: str) -> Iterator[CollectionInfo | None]:
        """A collection while nobody writes it; whoever opens its name waits. Empty: none."""
        if not name:
            yield None
            return
        closed, held = self._openings.hold(name, lambda: _replaced(name))
        try:
            closed.result()
            yield CollectionState.read_info(self._catalog.path(self.uid(name)))
        finally:
            self._openings.release(name, held)

    @contextmanager
    def kept_aside(self, uid: str) -> Iterator[Path | None]:
        """The file of a collection that has no name, and gets none within; `None`: it has one."""
        with self._catalog_lock:
            yield None if uid in self._names.values() else self._catalog.path(uid)

    def take_name(
        self, answer: Restored, name: str, *, agent_id: str, digest: bytes, kind: str = _RESTORED
    ) -> None:
        """Gives a name to `answer.uid` (none: to nothing) in the place of `answer.replaced_uid`.

        Raises `NotConfirmed` if the name has changed hands since, `Quota`, `ReadOnly`.
        """
        with self._catalog_lock:
            if self._names.get(name, "") != answer.replaced_uid:
                raise NotConfirmed(name=name)
            if not answer.replaced_uid:
                self._check_new(name)
            self._catalog.put(
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
                self._catalog.settle(answer.uid)
                self._names[name] = answer.uid
            else:
                del self._names[name]

    def abandon(self, uid: str) -> None:
        """Takes away what was prepared for a collection that is not to be."""
        with self._catalog_lock:
            self._catalog.abandon(uid)

    def restorations(self) -> list[tuple[str, str]]:
        """(uid that a snapshot was of, uid of what was restored of it) of all there were."""
        with self._catalog_lock:
            kept = self._catalog.answers([_RESTORED])
        answers = (plain.loads(Restored, answer) for _, answer in kept)
        return [(one.snapshot.collection_uid, one.uid) for one in answers]

    def undo_restored(
        self, name: str, operation_id: str, target_operation_id: str, agent_id: str, digest: bytes
    ) -> tuple[CollectionInfo, str] | None:
        """Takes a RestoreSnapshot, or the Undo of one, back; `None`: there was none of this id.

        Raises `UndoRefused` if the name has changed hands since.
        """
        with self._catalog_lock:
            kept = self._catalog.answers([_RESTORED, _UNDONE], target_operation_id)
            named = [(agent, plain.loads(Restored, answer)) for agent, answer in kept]
        named = [one for one in named if one[1].collection and one[1].collection.name == name]
        chosen = [one for agent, one in named if agent == agent_id] or [one for _, one in named]
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
        if self.uids().get(name, "") != done.uid:
            raise UndoRefused(0, [f"another collection has the name {name!r} now"])
        with self.closed(name if done.uid else "") as info:
            back = done.replaced_uid
            if back:
                info = CollectionState.read_info(self._catalog.path(back))
            assert info is not None
            answer = replace(
                done,
                collection=info,
                operation_id=operation_id or new_operation_id(),
                uid=back,
                replaced_uid=done.uid,
            )
            self.take_name(answer, name, agent_id=agent_id, digest=digest, kind=_UNDONE)
        return info, answer.operation_id


def _replaced(name: str) -> Unavailable:
    """What a call hears whose collection is replaced, or may be."""
    return Unavailable(
        "SHUTTING_DOWN",
        f"collection {name!r} is being replaced by a snapshot",
        retry_delay_ms=limits.RETRY_DELAY_MS,
    )
