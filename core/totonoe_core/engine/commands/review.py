"""Review: confirms or rejects a memory that was saved pending."""

from __future__ import annotations

from dataclasses import replace

from totonoe_core.base.errors import Precondition
from totonoe_core.domain.questions import Review, ReviewAnswer, Reviewed
from totonoe_core.domain.records import Memory, Status, Verdict
from totonoe_core.engine.commands import superseding
from totonoe_core.engine.commands.remember import Remembering
from totonoe_core.engine.guarding import replaceable
from totonoe_core.engine.guarding.guarding import Guarding
from totonoe_core.engine.guarding.texts import GuardedText
from totonoe_core.engine.state.ledger import Ledger, Operation


class Reviewing:
    """Carries out Review on one collection."""

    def __init__(self, ledger: Ledger, guarding: Guarding, remembering: Remembering) -> None:
        self._ledger = ledger
        self._guarding = guarding
        self._remembering = remembering

    def review(self, operation: Operation, command: Review) -> Reviewed:
        """Let a pending memory become one like others, or forget it.

        Raises
        ------
        NotFound
            It does not exist, or is private to another agent.
        StaleRevision
            It is not at the revision that the caller expects.
        Precondition
            NOT_PENDING: it does not wait for a review, or no more.
        """
        ledger = self._ledger
        memory = ledger.visible(command.memory_id, command.agent_id)
        ledger.check_expected(memory, command.expected_revision)
        if memory.status is not Status.PENDING:
            raise Precondition(
                "NOT_PENDING",
                f"memory {memory.id} is {memory.status}: it waits for no review",
                memory_id=memory.id,
                status=memory.status.value,
            )
        if command.answer is ReviewAnswer.CONFIRM:
            return self._confirm(operation, command, memory)
        gone = ledger.replace(operation, memory, replace(memory, status=Status.FORGOTTEN))
        return Reviewed(True, ledger.shown(gone, command.agent_id))

    def _confirm(self, operation: Operation, command: Review, found: Memory) -> Reviewed:
        """Pass a text through the guard as a Remember would, unless a live memory says it."""
        ledger, guarding = self._ledger, self._guarding
        text = GuardedText(
            policy=ledger.state.info.guard,
            # The caller's sight: text that only the owner may read is not quoted to others.
            agent_id=command.agent_id,
            content=found.content,
            content_hash=found.content_hash,
            fields=found.fields,
            force=False,
        )
        features = ledger.features_of(found)
        report = guarding.by_text(text, operation.now_us)
        neighbours = None
        if report is None:
            report, neighbours = guarding.by_all(
                text, features, operation.now_us, operation.may_ask, reading=operation.reading
            )
        if neighbours is None or report.duplicate is not None:
            return Reviewed(False, ledger.shown(found, command.agent_id), report)
        decided = report, features, neighbours
        report, _ = superseding.looked_back(
            ledger, guarding, text, decided, operation.now_us, operation.reading
        )
        holders = replaceable.holders(ledger.state, text)
        if holders:
            report = replace(report, verdict=Verdict.UPDATE)
        slots, report = superseding.by_saved(text, report, holders, neighbours)
        chosen = self._remembering.chosen_links(
            text, report, neighbours, slots, bool(ledger.state.current(found).vector)
        )
        memory = ledger.replace(operation, found, replace(found, status=Status.ACTIVE))
        done = self._remembering.take_place(
            operation, memory, text, report, neighbours, slots, chosen
        )
        memory = ledger.shown(ledger.by_row(memory.row), command.agent_id)
        return Reviewed(True, memory, done.guard, done.superseded_ids)
