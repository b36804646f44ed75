"""Remember and Update: a text that wants in, and what it grows or takes the place of."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from totonoe_core import limits
from totonoe_core.commands import Remember, Remembered, Update, Updated
from totonoe_core.engine import growing, tombstones
from totonoe_core.engine.guarding import GuardedText, Guarding, Neighbours
from totonoe_core.engine.ledger import Ledger, Operation, check_state
from totonoe_core.engine.linking import put_links
from totonoe_core.errors import InvalidArgument, NotOwner, Quota
from totonoe_core.guard.policy import Action
from totonoe_core.index.collection_index import Features, payload_hash, vector_of
from totonoe_core.records import Fields, GuardReport, Kind, Memory, StateKind, Status, Verdict
from totonoe_core.text.normalize import refusing_hash

Vector = NDArray[np.float32]


def superseded(ledger: Ledger, command: Remember) -> tuple[int, ...]:
    """Slots of the memories whose place a Remember takes by name, each once.

    Raises `NotFound`, `Precondition` (NOT_ACTIVE, APPEND_ONLY), `InvalidArgument` (BAD_MERGE) for
    a public one whose place a private text would take: all others would lose it.
    """
    slots: dict[int, None] = {}
    for memory_id in command.supersede_ids:
        found = ledger.live(memory_id, command.agent_id)
        check_state(found)
        if command.fields.private and not found.fields.private:
            raise InvalidArgument(
                "BAD_MERGE",
                field="supersede_ids",
                got=f"{found.id}, which is public, for a private text",
                allowed="private memories: nobody else would see what takes its place",
            )
        slots[ledger.slot_of(found)] = None
    return tuple(slots)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The text of a Remember as the guard is asked, and the memory that it would grow."""

    text: GuardedText
    grown: Memory | None


def wanted(ledger: Ledger, command: Remember, now_us: int) -> Wanted:
    """What a Remember wants in, and in whose place. Raises what `superseded` does."""
    policy = ledger.state.info.guard.with_actions(command.actions)
    text = GuardedText.of(command, policy, superseded(ledger, command))
    grown = growing.grown_by(ledger, command, now_us)
    if grown is not None:
        fields = growing.fields_after(grown.fields, command.fields)
        text = replace(text, fields=fields)
        same_text = text.content_hash == grown.content_hash
        if not same_text or payload_hash(fields) != payload_hash(grown.fields):
            # What says the same already may refuse it, as ever.
            text = replace(text, replaced=(ledger.slot_of(grown),))
    return Wanted(text, grown)


class Remembering:
    """Carries out Remember and Update on one collection."""

    def __init__(self, ledger: Ledger, guarding: Guarding) -> None:
        self._ledger = ledger
        self._state = ledger.state
        self._guarding = guarding

    def remember(
        self, operation: Operation, command: Remember, vector: Vector | None
    ) -> Remembered:
        fields = command.fields
        if vector is not None:
            self._state.check_dimension(len(vector))
        found = wanted(self._ledger, command, operation.now_us)
        text = replace(found.text, ahead=operation.ahead.get(command.content))
        named = text.replaced
        if found.grown is None:
            self._check_room()
        report = self._guarding.by_text(text, operation.now_us)
        if report is None:
            report = tombstones.refusal(self._state, text, operation.now_us)
            if report is not None and report.forgotten is not None:
                return Remembered(saved=False, memory_id=report.forgotten.memory_id, guard=report)
            vector = operation.vector_for(command.content, vector, self._state.info.model.dimension)
            features = Features.of(command.content, vector, self._ledger.index.tokenizer)
            report, neighbours = self._guarding.by_all(
                text, features, operation.now_us, operation.may_ask
            )
        if report.duplicate is not None:
            return Remembered(saved=False, memory_id=report.duplicate.memory_id, guard=report)
        forgotten = tombstones.match(self._state, text, features.canonical, operation.now_us)
        report = replace(report, forgotten=forgotten)
        if found.grown is not None:
            return self._grow(operation, found.grown, text, features, report)
        holders = self._guarding.holders(text)
        if holders:
            report = replace(report, verdict=Verdict.UPDATE)
        self._ledger.check_external_id(fields.external_id, row=0)
        self._state.fix_dimension(len(features.vector))
        created_us = operation.now_us if fields.created_us is None else fields.created_us
        memory = Memory(
            row=self._state.take_row(),
            id=self._ledger.new_id(),
            content=command.content,
            content_hash=text.content_hash,
            vector=features.stored,
            agent_id=command.agent_id,
            fields=fields if fields.created_us is None else replace(fields, created_us=None),
            created_us=created_us,
            updated_us=operation.now_us,
            status=Status.ACTIVE,
            superseded_by="",
            revision=operation.revision,
        )
        self._ledger.add(operation, memory, features)
        slots = (*named, *(holders or self._superseded_slot(neighbours, text)))
        links = put_links(self._state, memory, neighbours, slots, operation.touched)
        before = [
            self._ledger.by_slot(slot) for slot in slots if self._guarding.gives_way(text, slot)
        ]
        for one in before:
            self._ledger.supersede(operation, one, memory.id)
        return Remembered(
            saved=True,
            memory_id=memory.id,
            guard=report,
            links=links,
            superseded_ids=tuple(one.id for one in before),
        )

    def _check_room(self) -> None:
        if len(self._ledger.index.slot_by_row) >= limits.MEMORIES_PER_COLLECTION_MAX:
            raise Quota(
                "QUOTA_EXCEEDED",
                f"the collection holds {limits.MEMORIES_PER_COLLECTION_MAX} memories, the most",
            )

    def _grow(
        self,
        operation: Operation,
        before: Memory,
        text: GuardedText,
        features: Features,
        report: GuardReport,
    ) -> Remembered:
        """The next version of a memory; its links stay, as with an Update."""
        memory = replace(
            before,
            content=text.content,
            content_hash=text.content_hash,
            vector=features.stored,
            fields=text.fields,
        )
        memory = self._ledger.replace(operation, before, memory, features)
        report = replace(report, verdict=Verdict.UPDATE)
        return Remembered(saved=True, memory_id=memory.id, guard=report, grown_id=memory.id)

    def _superseded_slot(self, neighbours: Neighbours, text: GuardedText) -> tuple[int, ...]:
        """The nearest memory whose verdict says that its place is taken.

        One at most: whoever holds several values of one kind wants to choose.
        """
        for one in neighbours.judged:
            wanted = text.policy.action(one.judgement.verdict) is Action.SUPERSEDE
            if wanted and self._guarding.gives_way(text, one.slot):
                return (one.slot,)
        return ()

    def update(self, operation: Operation, command: Update, vector: Vector | None) -> Updated:
        before = self._ledger.live(command.memory_id, command.agent_id)
        self._ledger.check_expected(before, command.expected_revision)
        named = {name: getattr(command.fields, name) for name in command.mask if name in _FIELDS}
        fields = replace(before.fields, **named)
        if fields.private is not before.fields.private and before.agent_id != command.agent_id:
            raise NotOwner(memory_id=before.id, field="private")
        self._check_merged(fields)
        if fields.external_id != before.fields.external_id:
            self._ledger.check_external_id(fields.external_id, row=before.row)
        content = command.content if "content" in command.mask else before.content
        if content == before.content and "vector" not in command.mask:
            vector = vector_of(before, self._state.info.model.dimension)
        text = GuardedText(
            policy=self._state.info.guard,
            # The caller's: what only the owner may read is not quoted to whoever updates.
            agent_id=command.agent_id,
            content=content,
            content_hash=refusing_hash(content),
            fields=fields,
            force=command.force,
            replaced=(self._ledger.slot_of(before),),
            ahead=operation.ahead.get(content),
        )
        report = None
        new_text = {"content", "vector", "payload", "state_kind", "private"} & set(command.mask)
        if new_text:
            report = self._guarding.by_text(text, operation.now_us)
        if report is None:
            vector = operation.vector_for(content, vector, self._state.info.model.dimension)
        if vector is not None:
            features = Features.of(content, vector, self._ledger.index.tokenizer)
        if new_text and report is None:
            report, _ = self._guarding.by_all(text, features, operation.now_us, operation.may_ask)
        if report is not None and report.duplicate is not None:
            return Updated(
                updated=False, memory=self._ledger.shown(before, command.agent_id), guard=report
            )
        memory = replace(
            before,
            content=content,
            content_hash=text.content_hash,
            vector=features.stored,
            fields=fields,
        )
        # Made public or private it may meet others with its key.
        turned = fields.private is not before.fields.private
        holders = self._guarding.holders(text) if turned else ()
        gone = [
            self._ledger.by_slot(slot) for slot in holders if self._guarding.gives_way(text, slot)
        ]
        memory = self._ledger.replace(operation, before, memory, features)
        for one in gone:
            self._ledger.supersede(operation, one, memory.id)
        return Updated(
            updated=True, memory=self._ledger.shown(memory, command.agent_id), guard=report
        )

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


_FIELDS = frozenset(Fields.__dataclass_fields__)
