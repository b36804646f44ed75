"""Ledger: changes to rows and slots of one collection, always in pairs.

Every change of an operation goes through here: the row, its before image, the slot and the
operation's list of touched rows belong together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from totonoe_core.base import ids, limits
from totonoe_core.base.errors import (
    AlreadyExists,
    Corruption,
    NotFound,
    Precondition,
    StaleRevision,
    over_limit,
)
from totonoe_core.domain.collections import CollectionInfo
from totonoe_core.domain.records import Dismissal, Fields, Kind, Link, LinkType, Memory, Status
from totonoe_core.engine.state import unscored
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.index import stored_reading
from totonoe_core.index.collection_index import CollectionIndex, Features, vector_of
from totonoe_core.store.aside import corrupt_memory
from totonoe_core.store.records import Touched
from totonoe_core.store.rows import Embedding, external_key, external_keys
from totonoe_core.store.seam import CollectionFile, Rows
from totonoe_core.text.reading.budget import ReadingBudget

Vector = NDArray[np.float32]


class NeedsVector(Exception):  # noqa: N818 - not an error: the job comes back with vectors
    """A command needs a vector or a plan that is computed away from the writer's thread.

    That is the vector of its text or of the probe set. `texts` need vectors beside the texts of the
    operation's commands.
    """

    def __init__(self, texts: Sequence[str] = ()) -> None:
        super().__init__()
        self.texts = tuple(texts)


@dataclass(slots=True)
class Operation:
    """One operation while it is decided."""

    revision: int
    now_us: int
    touched: Touched
    may_ask: bool = False
    """True if a judge may be asked; false the second time."""
    undoes: int | None = None
    """The revision that it undoes."""
    embedded: Mapping[str, Vector] = field(default_factory=dict)
    """Vectors of texts by the collection's model, beside those of its commands."""
    next_vectors: Mapping[str, Vector] = field(default_factory=dict)
    """Vectors of texts by the next model, during a re-embedding."""
    reading: ReadingBudget = field(
        default_factory=lambda: ReadingBudget(limits.READ_PIECES_PER_OPERATION_MAX)
    )
    """Pieces that the guard may read for all its commands together."""
    words_only: bool = False
    """True if a text may have no vector (`CollectionState.words_only`)."""
    on_trial: bool = False
    """True if it is taken back: then it counts as no read of what it finds."""

    def vector_for(self, text: str, given: Vector | None, dimension: int) -> Vector:
        """Return the vector of a text; zero if no model makes one, or only one in preparation.

        Raises `NeedsVector`.
        """
        if given is not None:
            return given
        if (found := self.embedded.get(text)) is not None:
            return found
        if text in self.next_vectors or self.words_only:
            return np.zeros(dimension, np.float32)
        raise NeedsVector


_IDS_AT_ONCE = 64


class Ledger:
    """Reads and changes of one collection on its writer thread."""

    def __init__(self, state: CollectionState) -> None:
        self.state = state
        self._new_ids: list[str] = []
        """Ids that no memory ever had."""

    @property
    def file(self) -> CollectionFile:
        """The collection's file."""
        return self.state.file

    @property
    def rows(self) -> Rows:
        """Rows with all changes decided so far."""
        return self.state.file.rows

    @property
    def index(self) -> CollectionIndex:
        """The index, which a change of tokenizer replaces."""
        return self.state.index

    # -- Memories

    def add(self, operation: Operation, memory: Memory, features: Features) -> None:
        """Add a new memory. Raises `InvalidArgument` (DIMENSION_MISMATCH)."""
        self.state.fix_dimension(len(features.vector))
        memory = self._stamped(memory)
        self.file.put_memory(memory, None, self._reading(memory, features))
        self.index.add(memory, features)
        self._put_next_vector(operation, memory)
        operation.touched.memories.append(memory.row)

    def replace(
        self, operation: Operation, before: Memory, after: Memory, features: Features | None = None
    ) -> Memory:
        """Write another version of a memory, stamped with the operation, and return it.

        With `features` it gets a new slot; without, only the status and values in no column may
        differ. Raises `InvalidArgument` (DIMENSION_MISMATCH).
        """
        if features is not None:
            self.state.fix_dimension(len(features.vector))
        after = replace(after, revision=operation.revision, updated_us=operation.now_us)
        if after.vector == before.vector and before.model_number != self.state.info.model_number:
            before = self.state.current(before)
            after = replace(after, vector=before.vector)
        after = self._stamped(after)
        self.file.put_memory(after, before, self._reading(after, features))
        if after.content != before.content:
            self._put_next_vector(operation, after)
        slot = self.slot_of(after)
        if features is not None:
            self.index.add(after, features, replaces=slot)
        else:
            self.index.set_status(slot, after.status, after.updated_us)
        if after.row not in operation.touched.memories:
            operation.touched.memories.append(after.row)
        return after

    def _stamped(self, memory: Memory) -> Memory:
        number = self.state.info.model_number
        return memory if memory.model_number == number else replace(memory, model_number=number)

    def _reading(self, memory: Memory, features: Features | None) -> bytes:
        """Return what other daemons need not read from a text again; empty if there are none."""
        if features is None or not self.state.shared:
            return b""
        return stored_reading.packed(memory.content, features, self.index.tokenizer)

    def _put_next_vector(self, operation: Operation, memory: Memory) -> None:
        """Store the next model's vector beside a row, if there is one."""
        pending, vector = self.state.pending, operation.next_vectors.get(memory.content)
        if pending is not None and vector is not None:
            number = pending.model_number
            beside = Embedding(memory.row, memory.revision, vector.tobytes(), number)
            self.file.beside.put([beside])

    def purge(self, operation: Operation, before: Memory) -> int:
        """Leave an empty tombstone in the place of a memory; return how many images were deleted.

        Its links go too, and do not count as touched by the operation: nothing can restore them.
        """
        tombstone = Memory(
            row=before.row,
            id=before.id,
            content="",
            content_hash=b"",
            vector=b"",
            agent_id=before.agent_id,
            # Agents that may know of its existence.
            fields=Fields(private=before.fields.private),
            created_us=0,
            updated_us=operation.now_us,
            status=Status.PURGED,
            superseded_by="",
            revision=operation.revision,
        )
        if before.fields.private and self._was_public(before.row):
            operation.touched.known.append(before.row)
        if before.row in self.state.aside:
            self.file.purge.delete_bad(before.row)
        version_count = self.file.purge.empty(tombstone)
        slot = self.index.slot_by_row.get(before.row)
        if slot is not None:
            self.index.set_status(slot, Status.PURGED, operation.now_us)
        if before.row not in operation.touched.memories:
            operation.touched.memories.append(before.row)
        return version_count

    def _was_public(self, row: int) -> bool:
        """Return whether a version of a memory was public; true if that is unreadable."""
        try:
            versions = self.rows.history.memory_versions(row)
        except Corruption:
            return True
        return not all(memory.fields.private for memory in versions)

    def features_of(self, memory: Memory) -> Features:
        """Return features of a memory with its vector of the collection's model, or none."""
        vector = vector_of(memory, self.state.info.model.dimension)
        return Features.of(memory.content, vector, self.index.tokenizer)

    def slot_of(self, memory: Memory) -> int:
        """Return the slot of a memory's newest version.

        Raises `Corruption` for a row that was not found when the file was opened.
        """
        slot = self.index.slot_by_row.get(memory.row)
        if slot is None:
            self.state.aside.suspect(memory.row)
            raise corrupt_memory(memory.row)
        return slot

    def supersede(self, operation: Operation, before: Memory, by: str) -> Memory:
        """Supersede a memory by another one, given its id."""
        after = replace(before, status=Status.SUPERSEDED, superseded_by=by)
        return self.replace(operation, before, after)

    def close(self, operation: Operation, before: Memory, fields: Fields) -> Memory:
        """Close a memory, with fields that state the end of its validity."""
        before = self.state.current(before)
        after = replace(before, status=Status.CLOSED, fields=fields)
        # A column holds that time, so it needs a new slot.
        return self.replace(operation, before, after, self.features_of(after))

    def join_access(self, memory: Memory, others: Sequence[Memory]) -> None:
        """Add the accesses of others to a memory's new version.

        Accesses are no operation and not undone; but they are on disk with it, not seconds later.
        """
        slots = np.array([self.slot_of(version) for version in (memory, *others)], np.int64)
        view = self.index.arrays.writer_view()
        count = int(view.take("access_count", slots).sum())
        if count:
            last_us = int(view.take("last_access", slots).max())
            self.index.set_access(int(slots[0]), last_us, count)
            self.file.recalls.put_access([(memory.row, last_us, count)])

    # -- Links

    def put_link_pair(
        self, operation: Operation, source: Memory, target: Memory, link: Link
    ) -> bool:
        """Write a link and its inverse; return whether they are new.

        `link` is as the source holds it.
        """
        before = self.file.link_between(source.row, target.row, link.type)
        return self.change_link_pair(operation, source, target, link, before)

    def change_link_pair(
        self,
        operation: Operation,
        source: Memory,
        target: Memory,
        link: Link,
        before: Link | None,
    ) -> bool:
        """Do the same, given the link that the source held before."""
        inverse = replace(link, target_id=source.id, type=link.type.inverse)
        before_inverse = before and replace(before, target_id=source.id, type=inverse.type)
        revision = operation.revision
        self.file.put_link(source.row, target.row, link, revision, before)
        self.file.put_link(target.row, source.row, inverse, revision, before_inverse)
        self._touch_link(operation, source.row, target.row, link.type)
        return before is None

    def delete_link_pair(
        self, operation: Operation, source: Memory, target_row: int, link: Link
    ) -> None:
        """Delete a link and its inverse; `link` is as the source holds it."""
        inverse = replace(link, target_id=source.id, type=link.type.inverse)
        self.file.delete_link(source.row, target_row, link, operation.revision)
        self.file.delete_link(target_row, source.row, inverse, operation.revision)
        self._touch_link(operation, source.row, target_row, link.type)

    def _touch_link(
        self, operation: Operation, source_row: int, target_row: int, type_: LinkType
    ) -> None:
        operation.touched.links.append((source_row, target_row, type_.value))

    def delete_links(self, operation: Operation, memory: Memory) -> None:
        """Delete every link of a memory, on both sides."""
        # Read now: an earlier step of the operation may have deleted one.
        links = self.rows.links([memory.row])[memory.row]
        for target_row, link in links:
            self.delete_link_pair(operation, memory, target_row, link)

    def check_link_room(self, field: str, memory: Memory) -> None:
        """Raise `InvalidArgument` if a memory has no room for a link."""
        count = self.rows.link_counts((memory.row,))[memory.row]
        if count >= limits.LINKS_PER_MEMORY_MAX:
            raise over_limit(field, f"{count} links on {memory.id}", limits.LINKS_PER_MEMORY_MAX)

    # -- Dismissals

    def put_dismissal(self, operation: Operation, dismissal: Dismissal) -> None:
        """Write a dismissal, stamped with the operation."""
        before = self.rows.dismissal(dismissal.a, dismissal.b)
        self.file.put_dismissal(replace(dismissal, revision=operation.revision), before)
        operation.touched.dismissals.append((dismissal.a, dismissal.b))

    def delete_dismissal(self, operation: Operation, before: Dismissal) -> None:
        """Delete a dismissal."""
        self.file.delete_dismissal(before, operation.revision)
        operation.touched.dismissals.append((before.a, before.b))

    # -- Settings

    def put_settings(self, operation: Operation, info: CollectionInfo) -> CollectionInfo:
        """Write new settings, stamped with the operation, and return them."""
        if info.guard.asks and not self.state.info.guard.asks and self.state.last_row:
            unscored.add(self.file, 1, self.state.last_row)
        info = replace(info, settings_revision=operation.revision)
        self.state.put_info(info, operation.revision)
        operation.touched.settings = True
        return info

    # -- Looking up

    def find(self, memory_id: str, agent_id: str) -> Memory | None:
        """Return the memory of an id or `ext:` external id, if the agent may see it."""
        memory = self.state.find(self.rows, memory_id, agent_id)
        return None if memory is None else self.state.current(memory)

    def visible(self, memory_id: str, agent_id: str) -> Memory:
        """Return the memory as `find` does; raise `NotFound` if there is none."""
        memory = self.find(memory_id, agent_id)
        if memory is None:
            raise NotFound("MEMORY_NOT_FOUND", kind="memory", name=memory_id)
        return memory

    def live(self, memory_id: str, agent_id: str) -> Memory:
        """Return a memory that is ACTIVE. Raises `NotFound`, `Precondition` (NOT_ACTIVE)."""
        memory = self.visible(memory_id, agent_id)
        self.check_live(memory, agent_id)
        return memory

    def check_live(self, memory: Memory, agent_id: str) -> None:
        """Raise `Precondition` (NOT_ACTIVE) unless a memory is ACTIVE.

        The error names the memory that took its place, if the agent may see one.
        """
        if memory.status is Status.ACTIVE:
            return
        head = self.state.head(self.rows, memory, agent_id)
        by = {} if head.id == memory.id else {"superseded_by": head.id}
        status = memory.status.value + (f" by {head.id}" if by else "")
        raise Precondition(
            "NOT_ACTIVE",
            f"memory {memory.id} is {status}, not active",
            memory_id=memory.id,
            status=memory.status.value,
            **by,
        )

    def by_row(self, row: int) -> Memory:
        """Return the memory of an existing row. Raises `Corruption` if it is set aside."""
        if row in self.state.aside:
            raise corrupt_memory(row)
        return self.state.current(self.rows.memories([row])[row])

    def by_slot(self, slot: int) -> Memory:
        """Return the memory of a slot."""
        return self.by_row(int(self.index.arrays.writer_view().value("row", slot)))

    def shown(self, memory: Memory, agent_id: str) -> Memory:
        """Return the memory as an answer shows it: links and access figures, no vector."""
        return replace(self.state.shown(self.rows, [memory], agent_id)[0], vector=b"")

    def check_expected(self, memory: Memory, expected: int) -> None:
        """Raise `StaleRevision` unless the row is at the revision; 0 accepts any."""
        if expected and memory.revision != expected:
            raise StaleRevision(name=memory.id, expected=expected, actual=memory.revision)

    def external_id_holder(self, fields: Fields, agent_id: str) -> Memory | None:
        """Return the memory, not forgotten, with an external id's key (`rows.external_key`).

        Raises `Corruption` if it is set aside.
        """
        key = external_key(fields, agent_id)
        taken = self.rows.row_of_external_key(key) if key else None
        return None if taken is None else self.by_row(taken)

    def check_external_id(self, external_id: str, agent_id: str, row: int) -> None:
        """Raise `AlreadyExists` if an agent sees another memory, not forgotten, that has the id.

        Another agent's private memory does not count: the error would reveal it.
        """
        keys = external_keys(external_id, agent_id) if external_id else ()
        for taken in map(self.rows.row_of_external_key, keys):
            if taken is not None and taken != row:
                self.by_row(taken)  # the answer for a memory that is set aside
                raise AlreadyExists("EXTERNAL_ID_EXISTS", kind="external id", name=external_id)

    def new_id(self) -> str:
        """Return a memory id that was never used."""
        for _ in range(16):
            while self._new_ids:
                memory_id = self._new_ids.pop()
                if self.state.aside.row_of_id(memory_id) is None:
                    return memory_id
            drawn = {ids.new_memory_id() for _ in range(_IDS_AT_ONCE)}
            # Checked in the file, since the index lacks memories purged before it was loaded.
            self._new_ids = list(drawn - self.rows.taken_ids(list(drawn)))
        raise RuntimeError("16 times in a row all random ids were taken")


DEAD = frozenset({Status.FORGOTTEN, Status.PURGED})
"""Statuses of memories that may have no links."""


def check_state(memory: Memory) -> None:
    """Raise `Precondition` (APPEND_ONLY) for a log, which cannot be superseded."""
    if memory.fields.kind is not Kind.STATE:
        raise Precondition(
            "APPEND_ONLY",
            f"memory {memory.id} is of kind {memory.fields.kind.value}, an append-only log",
            memory_id=memory.id,
            kind=memory.fields.kind.value,
        )


def expected_of(
    expected_revisions: Iterable[tuple[str, int]], memory_id: str, memory: Memory
) -> int:
    """Return the revision that a caller expects of a memory, by either id; 0 means any."""
    named = dict(expected_revisions)
    return named.get(memory_id, named.get(memory.id, 0))
