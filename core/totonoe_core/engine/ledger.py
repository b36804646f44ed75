"""Changes to rows and slots of one collection, in pairs, for whatever decides on them.

Every change of an operation goes through here: the row, its before image, the slot and the
operation's list of what it touched belong together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from totonoe_core import ids, limits
from totonoe_core.commands import CollectionInfo
from totonoe_core.engine.state import CollectionState
from totonoe_core.errors import (
    AlreadyExists,
    Corruption,
    InvalidArgument,
    NotFound,
    Precondition,
    StaleRevision,
)
from totonoe_core.index.collection_index import CollectionIndex, Features, vector_of
from totonoe_core.records import Dismissal, Fields, Kind, Link, LinkType, Memory, Status
from totonoe_core.store.aside import corrupt_memory
from totonoe_core.store.collection_file import CollectionFile, Touched
from totonoe_core.store.reader import Rows
from totonoe_core.store.rows import Embedding

Vector = NDArray[np.float32]


class NeedsVector(Exception):  # noqa: N818 - not an error: the job comes back with vectors
    """A command can only be decided with the vector of its text, or of the probe set, or with a
    plan: with what is worked out away from the writer's thread. `texts` are asked for beside those
    that its commands bring."""

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
    """Whether a judge may be asked; not a second time."""
    undoes: int | None = None
    """The revision that it takes back."""
    embedded: Mapping[str, Vector] = field(default_factory=dict)
    """Vectors of texts by the collection's model, beside those of its commands."""
    ahead: Mapping[str, Vector] = field(default_factory=dict)
    """Vectors of texts by the model that the collection is being re-embedded with."""

    def vector_for(self, text: str, given: Vector | None, dimension: int) -> Vector:
        """The vector of a text; zero while a model that makes none for it is prepared.

        Raises `NeedsVector`.
        """
        if given is not None:
            return given
        if (found := self.embedded.get(text)) is not None:
            return found
        if text in self.ahead:
            return np.zeros(dimension, np.float32)
        raise NeedsVector


class Ledger:
    """Reads and changes of one collection on its writer thread."""

    def __init__(self, state: CollectionState) -> None:
        self.state = state

    @property
    def file(self) -> CollectionFile:
        """The collection's file."""
        return self.state.file

    @property
    def rows(self) -> Rows:
        """Rows as they are decided so far."""
        return self.state.file.rows

    @property
    def index(self) -> CollectionIndex:
        """The index, which a change of tokenizer replaces."""
        return self.state.index

    # -- Memories

    def add(self, operation: Operation, memory: Memory, features: Features) -> None:
        """A new memory."""
        memory = self._stamped(memory)
        self.file.put_memory(memory, before=None)
        self.index.add(memory, features)
        self._put_ahead(operation, memory)
        operation.touched.memories.append(memory.row)

    def replace(
        self, operation: Operation, before: Memory, after: Memory, features: Features | None = None
    ) -> Memory:
        """Another version of a memory, stamped with the operation; returns it so.

        With `features` it takes a new slot; without, only status and what no column holds may
        differ.
        """
        after = replace(after, revision=operation.revision, updated_us=operation.now_us)
        if after.vector == before.vector and before.model_number != self.state.info.model_number:
            before = self.state.current(before)
            after = replace(after, vector=before.vector)
        after = self._stamped(after)
        self.file.put_memory(after, before)
        if after.content != before.content:
            self._put_ahead(operation, after)
        slot = self.index.slot_by_row[after.row]
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

    def _put_ahead(self, operation: Operation, memory: Memory) -> None:
        """Lays the vector of the model that is being prepared beside a row, if there is one."""
        pending, vector = self.state.pending, operation.ahead.get(memory.content)
        if pending is not None and vector is not None:
            number = pending.model_number
            beside = Embedding(memory.row, memory.revision, vector.tobytes(), number)
            self.file.beside.put([beside])

    def purge(self, operation: Operation, before: Memory) -> int:
        """Leaves an empty tombstone in the place of a memory; says how many before images went.

        Its links go too, and are no part of what the operation touched: nothing can bring them
        back.
        """
        tombstone = Memory(
            row=before.row,
            id=before.id,
            content="",
            content_hash=b"",
            vector=b"",
            agent_id=before.agent_id,
            # Who may know that it was there.
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
        """Whether a version of a memory was public; also where that cannot be read any more."""
        try:
            versions = self.rows.history.memory_versions(row)
        except Corruption:
            return True
        return not all(one.fields.private for one in versions)

    def features_of(self, memory: Memory) -> Features:
        """Features of a memory with the collection's vector of it."""
        vector = vector_of(self.state.current(memory), self.state.info.model.dimension)
        return Features.of(memory.content, vector, self.index.tokenizer)

    def slot_of(self, memory: Memory) -> int:
        """The slot of a memory's newest version."""
        return self.index.slot_by_row[memory.row]

    def supersede(self, operation: Operation, before: Memory, by: str) -> Memory:
        """Puts another one, by its id, in the place of a memory."""
        after = replace(before, status=Status.SUPERSEDED, superseded_by=by)
        return self.replace(operation, before, after)

    def close(self, operation: Operation, before: Memory, fields: Fields) -> Memory:
        """Closes a memory, with the fields that say until when it was valid."""
        after = replace(before, status=Status.CLOSED, fields=fields)
        # A column holds that time: it takes a new slot.
        return self.replace(operation, before, after, self.features_of(after))

    def join_access(self, memory: Memory, others: Sequence[Memory]) -> None:
        """Gives a memory's new version the accesses of others as well.

        Accesses are no operation and not undone; but on disk with it, not seconds later.
        """
        slots = np.array([self.slot_of(one) for one in (memory, *others)], np.int64)
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
        """Writes a link and its inverse; says whether they are new.

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
        """The same where the link is known that the source holds before."""
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
        """Takes a link and its inverse away; `link` is as the source holds it."""
        inverse = replace(link, target_id=source.id, type=link.type.inverse)
        self.file.delete_link(source.row, target_row, link, operation.revision)
        self.file.delete_link(target_row, source.row, inverse, operation.revision)
        self._touch_link(operation, source.row, target_row, link.type)

    def _touch_link(
        self, operation: Operation, source_row: int, target_row: int, type_: LinkType
    ) -> None:
        operation.touched.links.append((source_row, target_row, type_.value))

    def delete_links(self, operation: Operation, memory: Memory) -> None:
        """Takes every link of a memory away, on both sides."""
        # Read now: an earlier step of the operation may have taken one away.
        links = self.rows.links([memory.row])[memory.row]
        for target_row, link in links:
            self.delete_link_pair(operation, memory, target_row, link)

    def check_link_room(self, field: str, memory: Memory) -> None:
        """Raises `InvalidArgument` if a memory holds all the links that one may."""
        count = self.rows.link_count(memory.row)
        if count >= limits.LINKS_PER_MEMORY_MAX:
            raise InvalidArgument(
                "LIMIT_EXCEEDED",
                field=field,
                got=f"{count} links on {memory.id}",
                allowed=f"at most {limits.LINKS_PER_MEMORY_MAX}",
            )

    # -- Dismissals

    def put_dismissal(self, operation: Operation, dismissal: Dismissal) -> None:
        """Writes what was said of a pair, stamped with the operation."""
        before = self.rows.dismissal(dismissal.a, dismissal.b)
        self.file.put_dismissal(replace(dismissal, revision=operation.revision), before)
        operation.touched.dismissals.append((dismissal.a, dismissal.b))

    def delete_dismissal(self, operation: Operation, before: Dismissal) -> None:
        """Takes away what was said of a pair."""
        self.file.delete_dismissal(before, operation.revision)
        operation.touched.dismissals.append((before.a, before.b))

    # -- Settings

    def put_settings(self, operation: Operation, info: CollectionInfo) -> CollectionInfo:
        """Writes new settings, stamped with the operation; returns them so."""
        info = replace(info, settings_revision=operation.revision)
        self.state.put_info(info, operation.revision)
        operation.touched.settings = True
        return info

    # -- Looking up

    def find(self, memory_id: str, agent_id: str) -> Memory | None:
        """The memory of an id or `ext:` external id, if the agent may see it."""
        found = self.state.find(self.rows, memory_id, agent_id)
        return None if found is None else self.state.current(found)

    def visible(self, memory_id: str, agent_id: str) -> Memory:
        """The same; `NotFound` where there is none."""
        found = self.find(memory_id, agent_id)
        if found is None:
            raise NotFound("MEMORY_NOT_FOUND", kind="memory", name=memory_id)
        return found

    def live(self, memory_id: str, agent_id: str) -> Memory:
        """A memory that is ACTIVE. Raises `NotFound`, `Precondition` (NOT_ACTIVE)."""
        found = self.visible(memory_id, agent_id)
        check_live(found)
        return found

    def by_row(self, row: int) -> Memory:
        """The memory of a row that is there. Raises `Corruption` if it is set aside."""
        if row in self.state.aside:
            raise corrupt_memory(row)
        return self.state.current(self.rows.memories([row])[row])

    def by_slot(self, slot: int) -> Memory:
        """The memory of a slot."""
        return self.by_row(int(self.index.arrays.writer_view().value("row", slot)))

    def shown(self, memory: Memory, agent_id: str) -> Memory:
        """The memory as an answer shows it: links and access figures, no vector."""
        return replace(self.state.shown(self.rows, [memory], agent_id)[0], vector=b"")

    def check_expected(self, memory: Memory, expected: int) -> None:
        """Raises `StaleRevision` unless the row is at the revision; 0 accepts any."""
        if expected and memory.revision != expected:
            raise StaleRevision(name=memory.id, expected=expected, actual=memory.revision)

    def external_id_holder(self, external_id: str, row: int) -> Memory | None:
        """Another memory, not forgotten, that has the external id."""
        taken = self.rows.row_of_external_id(external_id) if external_id else None
        if taken is None or taken == row:
            return None
        holder = self.by_row(taken)
        return None if holder.status in DEAD else holder

    def check_external_id(self, external_id: str, row: int) -> None:
        """Raises `AlreadyExists` if another memory, not forgotten, has the external id."""
        if self.external_id_holder(external_id, row) is not None:
            raise AlreadyExists("EXTERNAL_ID_EXISTS", kind="external id", name=external_id)

    def new_id(self) -> str:
        """A memory id that was never used."""
        for _ in range(16):
            memory_id = ids.new_memory_id()
            # Not in the index: it does not know those that were purged before it was loaded.
            taken = self.rows.row_of_id(memory_id) or self.state.aside.row_of_id(memory_id)
            if taken is None:
                return memory_id
        raise RuntimeError("16 random ids in a row were taken")


DEAD = frozenset({Status.FORGOTTEN, Status.PURGED})
"""Statuses that no link leads to."""


def check_live(memory: Memory) -> None:
    """Raises `Precondition` (NOT_ACTIVE) unless a memory is ACTIVE."""
    if memory.status is not Status.ACTIVE:
        raise Precondition(
            "NOT_ACTIVE",
            f"memory {memory.id} is {memory.status.value}, not active",
            memory_id=memory.id,
            status=memory.status.value,
        )


def check_state(memory: Memory) -> None:
    """Raises `Precondition` (APPEND_ONLY) for a log, whose place nothing takes."""
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
    """The revision that a caller expects of a memory, by the id it used or its own; 0: any."""
    named = dict(expected_revisions)
    return named.get(memory_id, named.get(memory.id, 0))
