"""Commands to changes: what each one does to rows and slots, on the writer thread.

Nothing here commits or publishes. A command that raises, or that lacks a vector, leaves
its operation to be rolled back whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from totonoe_core import ids, limits
from totonoe_core.commands import (
    Calibrate,
    Calibrated,
    ChangeSettings,
    CollectionInfo,
    Command,
    Forget,
    Forgotten,
    Linked,
    LinkMemories,
    Remember,
    Remembered,
    Result,
    SettingsChanged,
    Unlinked,
    UnlinkMemories,
    Update,
    Updated,
)
from totonoe_core.engine.guarding import GuardedText, Guarding, Neighbours
from totonoe_core.engine.linking import put_links
from totonoe_core.engine.settings import changed
from totonoe_core.engine.state import CollectionState
from totonoe_core.errors import (
    AlreadyExists,
    InvalidArgument,
    NotFound,
    Precondition,
    Quota,
    StaleRevision,
)
from totonoe_core.guard.policy import Action, GuardPolicy
from totonoe_core.index.collection_index import CollectionIndex, Features
from totonoe_core.judging import JudgingService
from totonoe_core.records import (
    Fields,
    Kind,
    Link,
    Memory,
    StateKind,
    Status,
    Verdict,
)
from totonoe_core.store.collection_file import Touched
from totonoe_core.text.normalize import refusing_hash


class NeedsVector(Exception):  # noqa: N818 - not an error: the job comes back with vectors
    """A command can only be decided with the vector of its text, or of the probe set."""


@dataclass(slots=True)
class Operation:
    """One operation while it is decided."""

    revision: int
    now_us: int
    touched: Touched
    may_ask: bool = False
    """Whether a judge may be asked; not a second time."""


class Decider:
    """Carries out commands on one collection."""

    def __init__(self, state: CollectionState, judging: JudgingService | None = None) -> None:
        self._state = state
        self._file = state.file
        self.guarding = Guarding(state, judging)

    @property
    def _index(self) -> CollectionIndex:
        # Not kept: a change of tokenizer replaces it.
        return self._state.index

    def apply(
        self,
        operation: Operation,
        commands: Sequence[Command],
        vectors: Sequence[NDArray[np.float32] | None],
    ) -> tuple[Result, ...]:
        """Carries out the commands in order; each sees what the ones before it did.

        Raises `NeedsVector` where a text must be embedded first, `NeedsOpinion` where a judge
        should be asked, and every error that the commands name; the caller rolls the operation
        back.
        """
        return tuple(
            self._one(operation, command, vector)
            for command, vector in zip(commands, vectors, strict=True)
        )

    def _one(
        self, operation: Operation, command: Command, vector: NDArray[np.float32] | None
    ) -> Result:
        match command:
            case Remember():
                return self._remember(operation, command, vector)
            case Update():
                return self._update(operation, command, vector)
            case Forget():
                return self._forget(operation, command)
            case LinkMemories():
                return self._link(operation, command)
            case UnlinkMemories():
                return self._unlink(operation, command)
            case ChangeSettings():
                return self._change_settings(operation, command)
            case Calibrate():
                return self._calibrate(operation, command)

    # -- Remember and Update

    def _remember(
        self, operation: Operation, command: Remember, vector: NDArray[np.float32] | None
    ) -> Remembered:
        fields = command.fields
        if vector is not None:
            self._state.check_dimension(len(vector))
        if len(self._index.slot_by_row) >= limits.MEMORIES_PER_COLLECTION_MAX:
            raise Quota(
                "QUOTA_EXCEEDED",
                f"the collection holds {limits.MEMORIES_PER_COLLECTION_MAX} memories, the most",
            )
        text = GuardedText(
            policy=self._state.info.guard.with_actions(command.actions),
            agent_id=command.agent_id,
            content=command.content,
            content_hash=refusing_hash(command.content),
            fields=fields,
            force=command.force,
        )
        report = self.guarding.by_text(text, operation.now_us)
        if report is None:
            if vector is None:
                raise NeedsVector
            features = Features.of(command.content, vector, self._index.tokenizer)
            report, neighbours = self.guarding.by_all(
                text, features, operation.now_us, operation.may_ask
            )
        if report.duplicate is not None:
            return Remembered(saved=False, memory_id=report.duplicate.memory_id, guard=report)
        holder = self.guarding.holder(text)
        if holder >= 0:
            report = replace(report, verdict=Verdict.UPDATE)
        self._check_external_id(fields.external_id, row=0)
        self._state.fix_dimension(len(features.vector))
        created_us = operation.now_us if fields.created_us is None else fields.created_us
        memory = Memory(
            row=self._state.take_row(),
            id=self._new_id(),
            content=command.content,
            content_hash=text.content_hash,
            vector=features.vector.tobytes(),
            agent_id=command.agent_id,
            fields=fields if fields.created_us is None else replace(fields, created_us=None),
            created_us=created_us,
            updated_us=operation.now_us,
            status=Status.ACTIVE,
            superseded_by="",
            revision=operation.revision,
        )
        self._file.put_memory(memory, before=None)
        self._index.add(memory, features)
        operation.touched.memories.append(memory.row)
        if holder < 0:
            holder = self._superseded_slot(neighbours, text.policy)
        links = put_links(self._state, memory, neighbours, holder, operation.touched)
        superseded = self._supersede(operation, holder, memory) if holder >= 0 else ()
        return Remembered(
            saved=True,
            memory_id=memory.id,
            guard=report,
            links=links,
            superseded_ids=superseded,
        )

    @staticmethod
    def _superseded_slot(neighbours: Neighbours, policy: GuardPolicy) -> int:
        """The nearest memory whose verdict says that its place is taken, or -1.

        One at most: whoever holds several values of one kind wants to choose.
        """
        for one in neighbours.judged:
            if policy.action(one.judgement.verdict) is Action.SUPERSEDE:
                return one.slot
        return -1

    def _supersede(self, operation: Operation, slot: int, by: Memory) -> tuple[str, ...]:
        row = int(self._index.arrays.writer_view().value("row", slot))
        before = self._file.rows.memories([row])[row]
        after = replace(
            before,
            status=Status.SUPERSEDED,
            superseded_by=by.id,
            updated_us=operation.now_us,
            revision=operation.revision,
        )
        self._file.put_memory(after, before)
        self._index.set_status(slot, Status.SUPERSEDED)
        operation.touched.memories.append(row)
        return (before.id,)

    def _update(
        self, operation: Operation, command: Update, vector: NDArray[np.float32] | None
    ) -> Updated:
        before = self._visible(command.memory_id, command.agent_id)
        self._check_live(before)
        if command.expected_revision and before.revision != command.expected_revision:
            raise StaleRevision(
                name=before.id, expected=command.expected_revision, actual=before.revision
            )
        named = {name: getattr(command.fields, name) for name in command.mask if name in _FIELDS}
        fields = replace(before.fields, **named)
        self._check_merged(fields)
        if fields.external_id != before.fields.external_id:
            self._check_external_id(fields.external_id, row=before.row)
        content = command.content if "content" in command.mask else before.content
        if content == before.content and "vector" not in command.mask:
            vector = np.frombuffer(before.vector, np.float32)
        text = GuardedText(
            policy=self._state.info.guard,
            # The caller's: what only the owner may read is not quoted to whoever updates.
            agent_id=command.agent_id,
            content=content,
            content_hash=refusing_hash(content),
            fields=fields,
            force=command.force,
            own_slot=self._index.slot_by_row[before.row],
        )
        report = None
        new_text = {"content", "vector", "payload", "state_kind", "private"} & set(command.mask)
        if new_text:
            report = self.guarding.by_text(text, operation.now_us)
        if vector is None and report is None:
            raise NeedsVector
        if vector is not None:
            features = Features.of(content, vector, self._index.tokenizer)
        if new_text and report is None:
            report, _ = self.guarding.by_all(text, features, operation.now_us, operation.may_ask)
        if report is not None and report.duplicate is not None:
            return Updated(
                updated=False, memory=self._shown(before, command.agent_id), guard=report
            )
        memory = replace(
            before,
            content=content,
            content_hash=text.content_hash,
            vector=features.vector.tobytes(),
            fields=fields,
            updated_us=operation.now_us,
            revision=operation.revision,
        )
        self._file.put_memory(memory, before)
        self._index.add(memory, features, replaces=text.own_slot)
        operation.touched.memories.append(memory.row)
        return Updated(updated=True, memory=self._shown(memory, command.agent_id), guard=report)

    def _check_merged(self, fields: Fields) -> None:
        """What `validate.fields` could not see: old and new values together."""
        if (fields.kind is Kind.STATE) is (fields.state_kind is StateKind.NONE):
            raise InvalidArgument(
                "UNKNOWN_ENUM",
                field="memory.state_kind",
                got=fields.state_kind.value or "none",
                allowed="a state kind" if fields.kind is Kind.STATE else "none, for a log",
            )
        if (
            fields.valid_from_us is not None
            and fields.valid_to_us is not None
            and fields.valid_to_us <= fields.valid_from_us
        ):
            raise InvalidArgument(
                "BAD_TIME",
                field="memory.valid_to_time",
                got="an end not after its beginning",
                allowed="from < to",
            )

    # -- Forget

    def _forget(self, operation: Operation, command: Forget) -> Forgotten:
        forgotten = self.preview_forget(command)
        unlinked = 0
        for shown in forgotten.memories:
            before = self._file.rows.memories([shown.row])[shown.row]
            # Read again: an earlier one of the list may have taken a link away.
            for target_row, link in self._file.rows.links([shown.row])[shown.row]:
                self._delete_link_pair(operation, before, target_row, link)
                unlinked += 1
            memory = replace(
                before,
                status=Status.FORGOTTEN,
                updated_us=operation.now_us,
                revision=operation.revision,
            )
            self._file.put_memory(memory, before)
            slot = self._index.slot_by_row[memory.row]
            self._index.set_status(slot, Status.FORGOTTEN)
            operation.touched.memories.append(memory.row)
        return replace(forgotten, unlinked_count=unlinked)

    def preview_forget(self, command: Forget) -> Forgotten:
        """What a Forget would hide. One id alone that is unknown is `NotFound`."""
        memories, missing = [], []
        seen: set[int] = set()
        for memory_id in command.ids:
            found = self._find(memory_id, command.agent_id)
            if found is None or found.status is Status.FORGOTTEN:
                missing.append(memory_id)
            elif found.row not in seen:
                seen.add(found.row)
                memories.append(self._shown(found, command.agent_id))
        if missing and len(command.ids) == 1:
            raise NotFound("MEMORY_NOT_FOUND", kind="memory", name=missing[0])
        pairs = {
            min((row, target, link.type), (target, row, link.type.inverse))
            for row, links in self._file.rows.links(seen).items()
            for target, link in links
        }
        return Forgotten(tuple(memories), tuple(missing), len(pairs))

    # -- Links

    def _link(self, operation: Operation, command: LinkMemories) -> Linked:
        source = self._visible(command.source_id, command.agent_id)
        target = self._visible(command.target_id, command.agent_id)
        self._check_live(source)
        self._check_live(target)
        if source.row == target.row:
            raise InvalidArgument(
                "SELF_LINK", field="target_id", got=target.id, allowed="another memory"
            )
        type_ = command.type
        link = Link(target.id, type_, command.confidence, command.note)
        inverse = Link(source.id, type_.inverse, command.confidence, command.note)
        before = self._file.link_between(source.row, target.row, type_)
        before_inverse = self._file.link_between(target.row, source.row, type_.inverse)
        if before is None:
            for field, memory in (("source_id", source), ("target_id", target)):
                count = self._file.rows.link_count(memory.row)
                if count >= limits.LINKS_PER_MEMORY_MAX:
                    raise InvalidArgument(
                        "LIMIT_EXCEEDED",
                        field=field,
                        got=f"{count} links on {memory.id}",
                        allowed=f"at most {limits.LINKS_PER_MEMORY_MAX}",
                    )
        self._put_link_pair(operation, source, target, link, before=(before, before_inverse))
        return Linked(link, inverse, created=before is None)

    def _unlink(self, operation: Operation, command: UnlinkMemories) -> Unlinked:
        source = self._visible(command.source_id, command.agent_id)
        target = self._visible(command.target_id, command.agent_id)
        removed = []
        for target_row, link in self._file.rows.links([source.row])[source.row]:
            if target_row == target.row and command.type in (None, link.type):
                self._delete_link_pair(operation, source, target_row, link)
                removed.append(link)
        if not removed:
            raise NotFound(
                "LINK_NOT_FOUND", kind="link", name=f"{command.source_id} - {command.target_id}"
            )
        return Unlinked(tuple(removed))

    def _put_link_pair(
        self,
        operation: Operation,
        source: Memory,
        target: Memory,
        link: Link,
        before: tuple[Link | None, Link | None],
    ) -> None:
        inverse = replace(link, target_id=source.id, type=link.type.inverse)
        revision = operation.revision
        self._file.put_link(source.row, target.row, link, revision, before[0])
        self._file.put_link(target.row, source.row, inverse, revision, before[1])
        operation.touched.links.append((source.row, target.row, link.type.value))

    def _delete_link_pair(
        self, operation: Operation, source: Memory, target_row: int, link: Link
    ) -> None:
        inverse = replace(link, target_id=source.id, type=link.type.inverse)
        self._file.delete_link(source.row, target_row, link, operation.revision)
        self._file.delete_link(target_row, source.row, inverse, operation.revision)
        operation.touched.links.append((source.row, target_row, link.type.value))

    # -- Settings

    def _change_settings(self, operation: Operation, command: ChangeSettings) -> SettingsChanged:
        before = self._state.info
        if command.expected_revision and before.settings_revision != command.expected_revision:
            raise StaleRevision(
                name=f"settings of {before.name}",
                expected=command.expected_revision,
                actual=before.settings_revision,
            )
        info = self._put_settings(operation, changed(before, command.changes))
        return SettingsChanged(replace(info, revision=operation.revision))

    def _calibrate(self, operation: Operation, command: Calibrate) -> Calibrated:
        if command.fitted is None:
            raise NeedsVector
        calibration = command.fitted.calibration
        self._put_settings(operation, replace(self._state.info, calibration=calibration))
        return Calibrated(command.fitted)

    def _put_settings(self, operation: Operation, info: CollectionInfo) -> CollectionInfo:
        info = replace(info, settings_revision=operation.revision)
        self._state.put_info(info, operation.revision)
        operation.touched.settings = True
        return info

    # -- Looking up

    def _find(self, memory_id: str, agent_id: str) -> Memory | None:
        return self._state.find(self._file.rows, memory_id, agent_id)

    def _visible(self, memory_id: str, agent_id: str) -> Memory:
        found = self._find(memory_id, agent_id)
        if found is None:
            raise NotFound("MEMORY_NOT_FOUND", kind="memory", name=memory_id)
        return found

    def _check_live(self, memory: Memory) -> None:
        if memory.status is not Status.ACTIVE:
            raise Precondition(
                "NOT_ACTIVE",
                f"memory {memory.id} is {memory.status.value}, not active",
                memory_id=memory.id,
                status=memory.status.value,
            )

    def _shown(self, memory: Memory, agent_id: str) -> Memory:
        """The memory as an answer shows it: links and access figures, no vector."""
        return replace(self._state.shown(self._file.rows, [memory], agent_id)[0], vector=b"")

    def _check_external_id(self, external_id: str, row: int) -> None:
        if not external_id:
            return
        taken = self._file.rows.row_of_external_id(external_id)
        if taken is None or taken == row:
            return
        if self._file.rows.memories([taken])[taken].status is not Status.FORGOTTEN:
            raise AlreadyExists("EXTERNAL_ID_EXISTS", kind="external id", name=external_id)

    def _new_id(self) -> str:
        for _ in range(16):
            memory_id = ids.new_memory_id()
            if memory_id not in self._index.slot_by_id:
                return memory_id
        raise RuntimeError("16 random ids in a row were taken")


_FIELDS = frozenset(Fields.__dataclass_fields__)
