"""Turns of a conversation, and the runs of tidying that they start."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import replace

from totonoe_core.base import names
from totonoe_core.base.clock import Clock
from totonoe_core.base.ids import new_operation_id
from totonoe_core.domain import tidy
from totonoe_core.domain.commands import Applied
from totonoe_core.domain.queries import TurnRecorded
from totonoe_core.domain.tidy import RecordTurn, Tidy, TurnCounted
from totonoe_core.engine.commands import tidy as tidying
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.engine.writer import replies
from totonoe_core.engine.writer.writer import Group, Job, Writer
from totonoe_core.rules import validate


class Turns:
    """Counts the turns of one collection."""

    def __init__(self, state: CollectionState, writer: Writer, clock: Clock) -> None:
        self._state = state
        self._writer = writer
        self._clock = clock
        self.running = False
        """True while a run waits for the writer or works. Only the writer's thread sets it."""

    def record(self, operation_id: str, agent_id: str) -> Future[TurnRecorded]:
        """Count a turn, and start a run if it is due; once for each operation id."""
        validate.operation_id(operation_id)
        names.check(agent_id, "agent_id")
        return self._writer.call(lambda: self._count(operation_id, RecordTurn(agent_id)))

    def _count(self, operation_id: str, asked: RecordTurn) -> TurnRecorded:
        """Count a turn on the writer's thread, so that no two turns start a run."""
        file, policy = self._state.file, self._state.info.tidy
        digest = replies.digest_of(asked)
        with file.transaction():
            first = replies.first_answer(file, asked.agent_id, operation_id, digest)
            if first is not None:
                return TurnRecorded(first)
            before = tidying.state_of(file.rows)
            turn = before.turns + 1
            # A run due when the daemon ended is still due, unless tidying was switched off.
            due = turn if tidy.begins(turn, policy) else before.due if policy.enabled else 0
            began = due > 0 and not self.running
            tidying.keep_state(file, replace(before, turns=turn, due=due))
            counted = (TurnCounted(turn, began),)
            answer = Applied(operation_id or new_operation_id(), self._state.revision, counted)
            if operation_id:
                replies.keep(file, asked.agent_id, digest, answer, self._clock())
        if not began:
            return TurnRecorded(answer)
        self.running = True
        job = Job("", (Tidy("", turn=due),), [None])
        job.future.add_done_callback(self._ended)
        self._writer.submit(Group([job]))
        return TurnRecorded(answer, job.future)

    def _ended(self, _: Future[Applied]) -> None:
        self.running = False
