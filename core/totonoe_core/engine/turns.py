"""Turns of a conversation, and the run of tidying that some of them begin."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import replace

from totonoe_core import limits, tidy, validate
from totonoe_core.commands import Applied
from totonoe_core.engine import tidying
from totonoe_core.engine.state import CollectionState
from totonoe_core.engine.writer import Group, Job, Writer
from totonoe_core.queries import TurnRecorded
from totonoe_core.tidy import Tidy


class Turns:
    """Counts the turns of one collection."""

    def __init__(self, state: CollectionState, writer: Writer) -> None:
        self._state = state
        self._writer = writer
        self.running = False
        """A run waits for the writer or is under way. The writer's thread alone sets it."""

    def record(self, agent_id: str) -> Future[TurnRecorded]:
        """Counts a turn, and begins a run that is due."""
        validate.optional_text(agent_id, "agent_id", limits.NAME_BYTES_MAX)
        return self._writer.call(self._count)

    def _count(self) -> TurnRecorded:
        """On the writer's thread, which is why no two turns begin a run."""
        file, policy = self._state.file, self._state.info.tidy
        with file.transaction():
            before = tidying.state_of(file.rows)
            turn = before.turns + 1
            # What was due when the daemon ended is due still; what was switched off is not.
            due = turn if tidy.begins(turn, policy) else before.due if policy.enabled else 0
            tidying.keep_state(file, replace(before, turns=turn, due=due))
        if not due or self.running:
            return TurnRecorded(self._state.revision, turn)
        self.running = True
        job = Job("", (Tidy("", turn=due),), [None])
        job.future.add_done_callback(self._ended)
        self._writer.submit(Group([job]))
        return TurnRecorded(self._state.revision, turn, job.future)

    def _ended(self, _: Future[Applied]) -> None:
        self.running = False
