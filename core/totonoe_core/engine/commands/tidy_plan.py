"""ApplyTidyPlan on a collection: checks, closes, then upserts, each a command of one operation.

Closing comes first, so that the texts that replace closed states do not repeat them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from totonoe_core.base.errors import InvalidArgument, Precondition
from totonoe_core.domain import blast, tidy
from totonoe_core.domain.keeping import protected
from totonoe_core.domain.memories import Remember, Remembered, Update, Updated
from totonoe_core.domain.records import Fields, Memory, Source, StateKind, least_trusted
from totonoe_core.domain.tidy import ApplyTidyPlan, PlanApplied, TidyOp, TidyUpdate, TidyUpsert
from totonoe_core.engine.commands import planning
from totonoe_core.engine.commands.remember import Remembering
from totonoe_core.engine.guarding.growing import joined_evidence
from totonoe_core.engine.state.ledger import Ledger, Operation, check_state
from totonoe_core.index.collection_index import payload_hash


class TidyPlans:
    """Carries out plans on one collection."""

    def __init__(self, ledger: Ledger, remembering: Remembering) -> None:
        self._ledger = ledger
        self._remembering = remembering

    def apply(self, operation: Operation, command: ApplyTidyPlan) -> PlanApplied:
        """Check all updates of a plan against the collection, and close the states that they close.

        Raises
        ------
        NotFound
            A state or a memory of the evidence is not there, or private to another agent.
        StaleRevision
            A state is not at the revision that the plan expects.
        Precondition
            NOT_ACTIVE; APPEND_ONLY for a log; PROTECTED for what no plan may close.
        InvalidArgument
            BAD_PLAN, BAD_TIME, LIMIT_EXCEEDED.
        Quota
            BLAST_RADIUS: it closes more than the collection allows.
        """
        memories: dict[int, Memory] = {}
        for at, update in command.updates:
            memory = self._checked(command, at, update, operation.now_us)
            if memory is not None:
                if memory in memories.values():
                    # By its id, and by its external id.
                    raise _bad(at, "state_id", f"{memory.id} again", "each state once")
                memories[at] = memory
        ends = [(at, update) for at, update in command.updates if update.op is not TidyOp.UPSERT]
        state, rows = self._ledger.state, self._ledger.rows
        found_blast = planning.blast_of(state, rows, len(ends), operation.now_us)
        blast.refuse_over(found_blast, state.info.name)
        closed: list[tuple[int, str]] = []
        done: list[tuple[int, str]] = []
        for at, update in ends:
            self._close(operation, memories[at], update)
            (closed if update.op is TidyOp.CLOSE else done).append((at, memories[at].id))
        upserts = tuple(at for at, update in command.updates if update.op is TidyOp.UPSERT)
        return PlanApplied(tuple(closed), tuple(done), upserts)

    def _checked(
        self, command: ApplyTidyPlan, at: int, update: TidyUpdate, now_us: int
    ) -> Memory | None:
        """Return the state that an update names, if it may be carried out; `None` for a new one."""
        for evidence_id in update.evidence_ids:
            self._ledger.visible(evidence_id, command.agent_id)
        if not update.state_id:
            return None
        memory = self._ledger.visible(update.state_id, command.agent_id)
        # Before its status: a caller that read it before it was closed must read again.
        self._ledger.check_expected(memory, update.expected_revision)
        self._ledger.check_live(memory, command.agent_id)
        check_state(memory)
        fields = memory.fields
        if update.kind not in (StateKind.NONE, fields.state_kind):
            raise _bad(at, "kind", update.kind.value, f"{fields.state_kind.value}, its own")
        if update.op is TidyOp.UPSERT:
            begin_us = (
                fields.valid_from_us if update.valid_from_us is None else update.valid_from_us
            )
            end_us = fields.valid_to_us if update.valid_to_us is None else update.valid_to_us
        else:
            begin_us, end_us = fields.valid_from_us, _end(memory, update, now_us)
        if begin_us is not None and end_us is not None and end_us <= begin_us:
            raise InvalidArgument(
                "BAD_TIME",
                field=f"state_updates[{at}].valid_to_ts",
                got="an end not after the state's beginning",
                allowed="from < to",
            )
        if update.op is TidyOp.MARK_DONE and fields.state_kind is not StateKind.TASK:
            raise _bad(at, "op", f"mark_done of a {fields.state_kind.value}", "of a task only")
        if update.op is TidyOp.CLOSE and protected(fields):
            raise Precondition(
                "PROTECTED", f"memory {memory.id} is protected from tidying", memory_id=memory.id
            )
        return memory

    def _close(self, operation: Operation, memory: Memory, update: TidyUpdate) -> None:
        now_us = operation.now_us
        payload = tidy.noted(
            memory.fields.payload, plan=str(operation.revision), reason=update.reason
        )
        fields = replace(memory.fields, valid_to_us=_end(memory, update, now_us), payload=payload)
        if update.op is TidyOp.MARK_DONE:
            fields = replace(fields, done_us=now_us)
        self._ledger.close(operation, memory, fields)

    def _source(self, own: Source, update: TidyUpdate, agent_id: str) -> Source:
        """Return the least trusted source of a new text and of the evidence that it rests on."""
        found = (self._ledger.visible(evidence, agent_id) for evidence in update.evidence_ids)
        return least_trusted((own, *(memory.fields.source for memory in found)))

    def upsert(
        self, operation: Operation, command: TidyUpsert, vector: NDArray[np.float32] | None
    ) -> Remembered | Updated:
        """Change a state, or remember one past the guard, which may refuse it.

        A remembered summary or long mood grows the one of its scope, like any other.
        """
        update = command.update
        names = ("confidence", "salience", "valid_from_us", "valid_to_us", "last_confirmed_us")
        values: dict[str, Any] = {
            name: value for name in names if (value := getattr(update, name)) is not None
        }
        notes = {"plan": str(operation.revision), "reason": update.reason}
        if not update.state_id:
            values |= {
                "payload": tidy.noted(update.payload, **notes),
                "evidence_ids": update.evidence_ids,
            }
            source = self._source(Source.AGENT, update, command.agent_id)
            fields = Fields(state_kind=update.kind, source=source, **values)
            new = Remember(command.agent_id, update.body_text, fields, update.vector)
            return self._remembering.remember(operation, new, vector)
        before = self._ledger.live(update.state_id, command.agent_id)
        own = before.fields
        values["payload"] = tidy.noted(update.payload or own.payload, **notes)
        if update.evidence_ids:
            values["evidence_ids"] = joined_evidence(own, update.evidence_ids)
        same_text = update.body_text in ("", before.content)
        if not same_text:
            values["source"] = self._source(own.source, update, command.agent_id)
        same_vector = not update.vector or (
            vector is not None and vector.tobytes() == before.vector
        )
        same_payload = payload_hash(replace(own, payload=values["payload"])) == payload_hash(own)
        mask = [*values]
        mask += ["content"] if update.body_text else []
        mask += ["vector"] if update.vector else []
        change = Update(
            command.agent_id,
            before.id,
            tuple(mask),
            replace(own, **values),
            update.body_text,
            update.vector,
            # An unchanged text is not new, so that the guard must not refuse it.
            force=same_text and same_vector and same_payload,
        )
        return self._remembering.update(operation, change, vector)


def _end(memory: Memory, update: TidyUpdate, now_us: int) -> int:
    """Return the end of validity of a closed state."""
    if update.valid_to_us is not None:
        return update.valid_to_us
    fields = memory.fields
    end_us = now_us if fields.valid_to_us is None else min(fields.valid_to_us, now_us)
    # Its validity has not begun: a range must not end before it begins.
    return end_us if fields.valid_from_us is None else max(end_us, fields.valid_from_us + 1)


def _bad(at: int, name: str, got: str, allowed: str) -> InvalidArgument:
    return InvalidArgument(
        "BAD_PLAN", field=f"state_updates[{at}].{name}", got=got, allowed=allowed
    )
