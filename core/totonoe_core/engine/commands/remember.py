"""Remember and Update: new texts, and the memories that they grow or supersede."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from totonoe_core.base import limits
from totonoe_core.base.errors import InvalidArgument, NotOwner, Quota
from totonoe_core.domain import expiry
from totonoe_core.domain.memories import Remember, Remembered, Update, Updated
from totonoe_core.domain.records import (
    Fields,
    GuardReport,
    Kind,
    Link,
    LinkType,
    Memory,
    StateKind,
    Status,
    Verdict,
)
from totonoe_core.engine.commands import superseding
from totonoe_core.engine.commands.dismiss import put_dismissal
from totonoe_core.engine.guarding import growing, likely, replaceable, tombstones, waiting
from totonoe_core.engine.guarding.answering import Neighbours, with_linked
from totonoe_core.engine.guarding.guarding import Guarding
from totonoe_core.engine.guarding.linking import choose, link_updated, put_links
from totonoe_core.engine.guarding.texts import GuardedText
from totonoe_core.engine.state import unscored
from totonoe_core.engine.state.ledger import Ledger, NeedsVector, Operation
from totonoe_core.index.collection_index import Features, payload_hash, vector_of
from totonoe_core.text.normalize import refusing_hash

Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class PreparedDraft:
    """The text of a Remember for the guard, and the memory that it would grow.

    `waits`: it is saved pending, and grows and replaces nothing.
    """

    text: GuardedText
    grown: Memory | None
    waits: bool


def wanted(ledger: Ledger, command: Remember, now_us: int) -> PreparedDraft:
    """Prepare the text of a Remember, with its replaced memories.

    Raises as `superseding.named`, and `InvalidArgument` (REVIEW_FIRST) for a text that waits for a
    review and names memories to replace.
    """
    policy = command.policy(ledger.state.info.guard)
    waits = command.pending or policy.reviews(command.fields.source)
    if waits and command.supersede_ids:
        raise InvalidArgument(
            "REVIEW_FIRST",
            field="supersede_ids",
            got=f"{len(command.supersede_ids)} ids",
            allowed=f"none for a text of source {command.fields.source}, which waits for a review",
        )
    command = replace(command, fields=expiry.begun(command.fields, now_us))
    replaced = superseding.named(ledger, command)
    distinct = frozenset(ledger.slot_of(memory) for memory in _distinct(ledger, command))
    text = GuardedText.of(command, policy, replaced, distinct)
    grown = None if waits else growing.grown_by(ledger, command, now_us)
    if grown is not None:
        fields = growing.fields_after(grown.fields, command.fields)
        text = replace(text, fields=fields)
        same_text = text.content_hash == grown.content_hash
        if not same_text or payload_hash(fields) != payload_hash(grown.fields):
            # Memories that already say the same may still refuse it.
            text = replace(text, replaced=(ledger.slot_of(grown),))
    return PreparedDraft(text, grown, waits)


def _distinct(ledger: Ledger, command: Remember) -> list[Memory]:
    """Return the live memories that a Remember declares to say something else."""
    named = dict.fromkeys(command.distinct_from)
    return [ledger.live(memory_id, command.agent_id) for memory_id in named]


class Remembering:
    """Carries out Remember and Update on one collection."""

    def __init__(self, ledger: Ledger, guarding: Guarding) -> None:
        self._ledger = ledger
        self._state = ledger.state
        self._guarding = guarding

    def check_vector(self, command: Remember) -> None:
        """Raise `NeedsVector` if a text without a vector surely needs one.

        No memory has the hash of the text, and the command names no other memory: then nothing can
        be said of it without its vector, and no savepoint has to be taken back.
        """
        if self._state.words_only or self._state.info.guard.refuse_forgotten:
            return
        if command.supersede_ids or command.distinct_from:
            return
        if not self._state.index.slots_with_text(refusing_hash(command.content)):
            raise NeedsVector

    def remember(
        self, operation: Operation, command: Remember, vector: Vector | None
    ) -> Remembered:
        """Save a text as a new memory, or grow one; or answer which memory refuses it.

        Parameters
        ----------
        vector : float32[dim] or None
            Unit vector of the text; `None` if none is known.

        Raises
        ------
        NeedsVector
            Equal text alone does not decide, and the text has no vector yet.
        NeedsOpinion
            A judge should read it first.
        NotFound, Precondition, InvalidArgument
            As `superseding.named`; InvalidArgument also for a vector of another dimension.
        Quota
            QUOTA_EXCEEDED: the collection is full.
        AlreadyExists
            EXTERNAL_ID_EXISTS: another memory has the external id.
        """
        fields = expiry.begun(command.fields, operation.now_us)
        if vector is not None:
            self._state.check_dimension(len(vector))
        found = wanted(self._ledger, command, operation.now_us)
        text = replace(found.text, next_vector=operation.next_vectors.get(command.content))
        if found.grown is None:
            self._check_room()
        features: Features | None = None
        neighbours: Neighbours | None = None
        report = self._guarding.by_text(text, operation.now_us)
        if report is None and found.waits:
            report = waiting.refusal(self._state, text, operation.now_us)
        if report is None:
            report = tombstones.refusal(self._state, text, operation.now_us)
            if report is not None and report.forgotten is not None:
                return Remembered(saved=False, memory_id=report.forgotten.memory_id, guard=report)
            vector = operation.vector_for(command.content, vector, self._state.info.model.dimension)
            features = Features.of(command.content, vector, self._ledger.index.tokenizer)
            report, neighbours = self._guarding.by_all(
                text, features, operation.now_us, operation.may_ask, reading=operation.reading
            )
        if found.grown is None:
            decided = report, features, neighbours
            report, neighbours = superseding.looked_back(
                self._ledger, self._guarding, text, decided, operation.now_us, operation.reading
            )
        if features is None or neighbours is None or report.duplicate is not None:
            return self._refused(operation, found, text, report, neighbours)
        forgotten = tombstones.match(self._state, text, features.canonical, operation.now_us)
        report = replace(report, forgotten=forgotten)
        if found.waits:
            self._ledger.check_external_id(fields.external_id, command.agent_id, row=0)
            memory = self._added(
                operation, command, fields, text.content_hash, features, Status.PENDING
            )
            report = replace(report, question=None, nearest=None)
            return Remembered(saved=True, memory_id=memory.id, guard=report, pending=True)
        if found.grown is not None:
            return self._grow(operation, command, found.grown, text, features, report, neighbours)
        holders = replaceable.holders(self._state, text)
        if holders:
            report = replace(report, verdict=Verdict.UPDATE)
        slots, report = superseding.by_saved(text, report, holders, neighbours)
        self._ledger.check_external_id(fields.external_id, command.agent_id, row=0)
        # Before the first write: a store at the other end of a wire has sent nothing by then.
        chosen = self.chosen_links(
            text, report, neighbours, slots, bool(features.stored), command.links_max
        )
        memory = self._added(operation, command, fields, text.content_hash, features)
        done = self.take_place(operation, memory, text, report, neighbours, slots, chosen)
        self._declare_distinct(operation, command, memory)
        return done

    def chosen_links(
        self,
        text: GuardedText,
        report: GuardReport,
        neighbours: Neighbours,
        slots: tuple[int, ...],
        has_vector: bool,
        links_max: int | None = None,
    ) -> dict[tuple[int, LinkType], Link]:
        """Choose the links of a memory that takes the place of some slots."""
        return choose(
            self._state,
            neighbours,
            slots,
            report.outdated,
            report.maybe_replaced_ids,
            has_vector=has_vector,
            distance_below=text.policy.link_distance_below,
            count_max=limits.AUTO_LINKS_PER_REMEMBER if links_max is None else links_max,
        )

    def take_place(
        self,
        operation: Operation,
        memory: Memory,
        text: GuardedText,
        report: GuardReport,
        neighbours: Neighbours,
        slots: tuple[int, ...],
        chosen: Mapping[tuple[int, LinkType], Link],
    ) -> Remembered:
        """Give a live memory without links those chosen, and let it supersede some slots."""
        self._score_later(memory, neighbours)
        links = put_links(self._state, memory, chosen, operation.touched)
        linked = [link.target_id for link in links]
        report = with_linked(report, linked, neighbours, operation.now_us)
        before = [
            self._ledger.by_slot(slot)
            for slot in slots
            if replaceable.gives_way(self._state, text, slot)
        ]
        for older in before:
            self._ledger.supersede(operation, older, memory.id)
        return Remembered(
            saved=True,
            memory_id=memory.id,
            guard=report,
            links=links,
            superseded_ids=tuple(older.id for older in before),
        )

    def _score_later(self, memory: Memory, neighbours: Neighbours | None) -> None:
        """Leave a memory to the next Consolidate, if the own judge had no time for its pairs."""
        if neighbours is not None and neighbours.unread:
            unscored.add(self._ledger.file, memory.row, memory.row)

    def _added(
        self,
        operation: Operation,
        command: Remember,
        fields: Fields,
        content_hash: bytes,
        features: Features,
        status: Status = Status.ACTIVE,
    ) -> Memory:
        """Write a new memory, and return it."""
        created_us = operation.now_us if fields.created_us is None else fields.created_us
        memory = Memory(
            row=self._state.take_row(),
            id=self._ledger.new_id(),
            content=command.content,
            content_hash=content_hash,
            vector=features.stored,
            agent_id=command.agent_id,
            fields=replace(fields, created_us=None),
            created_us=created_us,
            updated_us=operation.now_us,
            status=status,
            superseded_by="",
            revision=operation.revision,
        )
        self._ledger.add(operation, memory, features)
        return memory

    def _refused(
        self,
        operation: Operation,
        found: PreparedDraft,
        text: GuardedText,
        report: GuardReport,
        neighbours: Neighbours | None,
    ) -> Remembered:
        """Answer a refused text.

        The duplicate supersedes the memories that the text would have superseded.
        """
        assert report.duplicate is not None
        if not operation.on_trial:
            self._put_off(report.duplicate.memory_id, operation.now_us)
        answer = Remembered(saved=False, memory_id=report.duplicate.memory_id, guard=report)
        if found.grown is not None or found.waits:
            # A text that grows a memory supersedes nothing, nor does one that would wait.
            return answer
        ledger = self._ledger
        taken = superseding.by_duplicate(ledger, text, report, neighbours)
        if taken is None:
            return answer
        kept, gone = taken
        links = link_updated(ledger, operation, kept, gone)
        for memory in gone:
            ledger.supersede(operation, memory, kept.id)
        superseded_ids = tuple(memory.id for memory in gone)
        return replace(answer, links=links, superseded_ids=superseded_ids)

    def _put_off(self, memory_id: str, now_us: int) -> None:
        """Count a refusal as a read of the memory that refused, if reads put its expiry off."""
        index = self._ledger.index
        slot = index.slot_by_id.get(memory_id)
        view = index.arrays.writer_view()
        if slot is None or not view.value("expires_after", slot):
            return
        count = int(view.value("access_count", slot)) + 1
        index.set_access(slot, now_us, count)
        row = int(view.value("row", slot))
        self._ledger.file.recalls.put_access([(row, now_us, count)])

    def _check_room(self) -> None:
        if len(self._ledger.index.slot_by_row) >= limits.MEMORIES_PER_COLLECTION_MAX:
            raise Quota(
                "QUOTA_EXCEEDED",
                f"the collection holds {limits.MEMORIES_PER_COLLECTION_MAX} memories, the most",
            )

    def _declare_distinct(self, operation: Operation, command: Remember, memory: Memory) -> None:
        """Dismiss the pairs of a saved memory that its caller declared to be different."""
        for other in _distinct(self._ledger, command):
            put_dismissal(
                self._ledger,
                operation,
                memory,
                other,
                command.agent_id,
                "distinct_from",
                fields=("distinct_from", "distinct_from"),
            )

    def _grow(
        self,
        operation: Operation,
        command: Remember,
        before: Memory,
        text: GuardedText,
        features: Features,
        report: GuardReport,
        neighbours: Neighbours,
    ) -> Remembered:
        """Write the next version of a memory; its links stay, as with an Update."""
        memory = replace(
            before,
            content=text.content,
            content_hash=text.content_hash,
            vector=features.stored,
            fields=text.fields,
        )
        memory = self._ledger.replace(operation, before, memory, features)
        self._score_again(operation, memory, text, features, neighbours)
        self._declare_distinct(operation, command, memory)
        report = replace(self._not_dismissed(memory, report), verdict=Verdict.UPDATE)
        return Remembered(saved=True, memory_id=memory.id, guard=report, grown_id=memory.id)

    def _not_dismissed(self, memory: Memory, report: GuardReport) -> GuardReport:
        """Return the report on a memory that was there without a nearest one already dismissed."""
        if report.nearest is None:
            return report
        rows = self._ledger.rows
        other = rows.row_of_id(report.nearest.memory_id)
        assert other is not None, "it is live"
        return replace(report, nearest=None) if rows.dismissed([(memory.row, other)]) else report

    def _score_again(
        self,
        operation: Operation,
        memory: Memory,
        text: GuardedText,
        features: Features,
        neighbours: Neighbours | None,
    ) -> None:
        self._score_later(memory, neighbours)
        likely.score_again(
            self._ledger,
            self._guarding,
            operation,
            memory,
            replace(text, replaced=(self._ledger.slot_of(memory),)),
            features,
            () if neighbours is None else neighbours.likely,
        )

    def update(self, operation: Operation, command: Update, vector: Vector | None) -> Updated:
        """Change the fields of a live memory that the mask names; a new text passes the guard.

        Parameters
        ----------
        vector : float32[dim] or None
            Unit vector of the text; `None` if none is known.

        Raises
        ------
        NotFound, Precondition, StaleRevision
            There is no such live memory, or it changed since the caller read it.
        NotOwner
            Another agent's memory would become private.
        InvalidArgument
            The old and new fields do not go together, or the vector has another dimension.
        NeedsVector, NeedsOpinion, AlreadyExists
            As `remember`.
        """
        before = self._ledger.live(command.memory_id, command.agent_id)
        self._ledger.check_expected(before, command.expected_revision)
        named = {name: getattr(command.fields, name) for name in command.mask if name in _FIELDS}
        fields = expiry.updated(
            before.fields,
            replace(before.fields, **named),
            frozenset(command.mask),
            self._state.last_access_us(before.row),
            operation.now_us,
        )
        turned = fields.private is not before.fields.private
        if turned and before.agent_id != command.agent_id:
            raise NotOwner(
                f"private of {before.id} may be changed only by the agent that it belongs to",
                memory_id=before.id,
                field="private",
            )
        self._check_merged(fields)
        if turned or fields.external_id != before.fields.external_id:
            self._ledger.check_external_id(fields.external_id, command.agent_id, row=before.row)
        if vector is not None:
            self._state.check_dimension(len(vector))
        content = command.content if "content" in command.mask else before.content
        if content == before.content and "vector" not in command.mask:
            vector = vector_of(before, self._state.info.model.dimension)
        text = GuardedText(
            policy=self._state.info.guard,
            # The caller's sight: text that only the owner may read is not quoted to others.
            agent_id=command.agent_id,
            content=content,
            content_hash=refusing_hash(content),
            fields=fields,
            force=command.force,
            replaced=(self._ledger.slot_of(before),),
            next_vector=operation.next_vectors.get(content),
        )
        report, neighbours = None, None
        new_text = _COMPARED & set(command.mask)
        # A whole file that becomes a text like others is compared for the first time.
        new_text |= {"category"} if fields.compared and not before.fields.compared else set()
        if new_text:
            report = self._guarding.by_text(text, operation.now_us)
        if report is None:
            vector = operation.vector_for(content, vector, self._state.info.model.dimension)
        if vector is not None:
            features = Features.of(content, vector, self._ledger.index.tokenizer)
        if new_text and report is None:
            report, neighbours = self._guarding.by_all(
                text, features, operation.now_us, operation.may_ask, reading=operation.reading
            )
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
        # After a change of privacy, others may hold the same key.
        holders = replaceable.holders(self._state, text) if turned else ()
        gone = [
            self._ledger.by_slot(slot)
            for slot in holders
            if replaceable.gives_way(self._state, text, slot)
        ]
        memory = self._ledger.replace(operation, before, memory, features)
        if new_text:
            self._score_again(operation, memory, text, features, neighbours)
        if report is not None:
            report = self._not_dismissed(memory, report)
        for older in gone:
            self._ledger.supersede(operation, older, memory.id)
        return Updated(
            updated=True, memory=self._ledger.shown(memory, command.agent_id), guard=report
        )

    def _check_merged(self, fields: Fields) -> None:
        """Check the combination of old and new values, which `validate.fields` could not see."""
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
_COMPARED = frozenset({"content", "vector", "payload", "state_kind", "private", "namespace"})
"""Fields that decide with what, and as what, a memory is compared."""
