"""Resolve: answers whether two memories say the same, and closes the question about them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from totonoe_core.base.errors import InvalidArgument, StaleRevision
from totonoe_core.domain.memories import Merge, Merged
from totonoe_core.domain.questions import Answer, Resolve, Resolved
from totonoe_core.domain.records import Memory, Verdict
from totonoe_core.engine.commands.dismiss import put_dismissal
from totonoe_core.engine.commands.merge import Merging
from totonoe_core.engine.guarding.linking import link_updated
from totonoe_core.engine.state.ledger import Ledger, Operation, check_state
from totonoe_core.rules.consolidate import keeper

_REASON = "resolve: "


class Resolving:
    """Carries out Resolve on one collection."""

    def __init__(self, ledger: Ledger, merging: Merging) -> None:
        self._ledger = ledger
        self._merging = merging

    def resolve(
        self, operation: Operation, command: Resolve, vector: NDArray[np.float32] | None
    ) -> Resolved:
        """Merge, dismiss or supersede, as the answer says.

        Raises
        ------
        NotFound
            A memory does not exist, or is private to another agent.
        StaleRevision
            A memory is not at the revision that the caller expects; it names the operation.
        Precondition
            NOT_ACTIVE, or APPEND_ONLY for a log.
        InvalidArgument
            SELF_LINK: it names one memory twice. BAD_MERGE: a private memory would replace a public
            one, or they cannot become one.
        NeedsVector
            The text is new and has no vector yet.
        """
        memory, other = self._named(command)
        match command.answer:
            case Answer.SAME:
                done = self._merging.merge(operation, _merge_of(command, memory, other), vector)
                return _same(done)
            case Answer.DIFFERENT:
                put_dismissal(
                    self._ledger,
                    operation,
                    memory,
                    other,
                    command.agent_id,
                    command.reason or _REASON + command.answer.value,
                    fields=("memory_id", "other_id"),
                )
                return Resolved(True, self._ledger.shown(memory, command.agent_id))
            case Answer.REPLACES:
                return self._replaced(operation, command, memory, other)
            case Answer.REPLACED_BY:
                return self._replaced(operation, command, other, memory)

    def preview(
        self, operation: Operation, command: Resolve, vector: NDArray[np.float32] | None
    ) -> Resolved:
        """Return what a Resolve would be answered now. Raises as `resolve`."""
        memory, other = self._named(command)
        if command.answer is Answer.SAME:
            merge = _merge_of(command, memory, other)
            return _same(self._merging.preview(operation, merge, vector))
        if command.answer is Answer.DIFFERENT:
            return Resolved(True, self._ledger.shown(memory, command.agent_id))
        if command.answer is Answer.REPLACED_BY:
            memory, other = other, memory
        _check_sight(memory, other)
        return Resolved(True, self._ledger.shown(memory, command.agent_id), other.id)

    def _named(self, command: Resolve) -> tuple[Memory, Memory]:
        ledger, agent_id = self._ledger, command.agent_id
        memory = ledger.visible(command.memory_id, agent_id)
        other = ledger.visible(command.other_id, agent_id)
        if memory.row == other.row:
            raise InvalidArgument(
                "SELF_LINK", field="other_id", got=other.id, allowed="another memory"
            )
        # Before their status: the loser of a race must hear who won it.
        for named, expected in (
            (memory, command.expected_revision),
            (other, command.other_expected_revision),
        ):
            if expected and named.revision != expected:
                raise StaleRevision(
                    name=named.id,
                    expected=expected,
                    actual=named.revision,
                    operation_id=self._operation_of(named.revision),
                )
        for named in (memory, other):
            ledger.check_live(named, agent_id)
            check_state(named)
        return memory, other

    def _operation_of(self, revision: int) -> str:
        """Return the id of the operation that made a revision; empty if its history expired."""
        row = self._ledger.rows.history.operation(revision)
        return "" if row is None else row.operation_id

    def _replaced(
        self, operation: Operation, command: Resolve, by: Memory, gone: Memory
    ) -> Resolved:
        _check_sight(by, gone)
        link_updated(self._ledger, operation, by, [gone])
        self._ledger.supersede(operation, gone, by.id)
        by = self._ledger.by_row(by.row)
        return Resolved(True, self._ledger.shown(by, command.agent_id), gone.id)


def _merge_of(command: Resolve, memory: Memory, other: Memory) -> Merge:
    """Return the Merge that the answer SAME is."""
    a, b = sorted((memory, other), key=lambda memory: (memory.created_us, memory.id))
    kept, _ = keeper(a, b, Verdict.DUPLICATE)
    gone = b if kept is a else a
    return Merge(
        agent_id=command.agent_id,
        keep_id=kept.id,
        remove_ids=(gone.id,),
        content=command.content,
        vector=command.vector,
    )


def _same(done: Merged) -> Resolved:
    closed = done.sources[0].id if done.merged else ""
    return Resolved(done.merged, done.memory, closed, done.guard, done.lost)


def _check_sight(by: Memory, gone: Memory) -> None:
    """Raise `InvalidArgument` (BAD_MERGE) if a public memory would be replaced by a private one."""
    if by.fields.private and not gone.fields.private:
        raise InvalidArgument(
            "BAD_MERGE",
            field="answer",
            got=f"{by.id}, which is private, in place of {gone.id}, which is public",
            allowed="private memories: nobody else would see what takes its place",
        )
