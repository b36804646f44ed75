"""Dispatch of commands to the modules that carry them out, on the writer thread.

Nothing here commits or publishes. If a command raises, or lacks a vector, the caller rolls the
whole operation back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from totonoe_core.base.errors import StaleRevision
from totonoe_core.domain.cleanup import CleanUpDuplicates, Decay, EndSession, Planned
from totonoe_core.domain.collections import Calibrate, Calibrated, ChangeSettings, SettingsChanged
from totonoe_core.domain.commands import Command, Result
from totonoe_core.domain.consolidate import ReplayEvents, Score
from totonoe_core.domain.dismissals import Dismiss, Undismiss
from totonoe_core.domain.expiry import Expire
from totonoe_core.domain.graph import CreateEpisode, DeleteEpisode, LinkMemories, UnlinkMemories
from totonoe_core.domain.memories import Forget, Merge, Purge, Remember, Update
from totonoe_core.domain.questions import Resolve, Review
from totonoe_core.domain.reembed import Reembed
from totonoe_core.domain.tidy import ApplyTidyPlan, Tidy, TidyUpsert
from totonoe_core.domain.transfer import ImportRows
from totonoe_core.domain.undo import Undo
from totonoe_core.engine.commands import (
    clean_up_duplicates,
    decay,
    dismiss,
    end_session,
    episodes,
    expire,
    model_swap,
    replay,
    score,
)
from totonoe_core.engine.commands.forget import Forgetting
from totonoe_core.engine.commands.import_rows import import_rows
from totonoe_core.engine.commands.merge import Merging
from totonoe_core.engine.commands.purge import Purging
from totonoe_core.engine.commands.remember import Remembering
from totonoe_core.engine.commands.resolve import Resolving
from totonoe_core.engine.commands.review import Reviewing
from totonoe_core.engine.commands.settings import changed
from totonoe_core.engine.commands.tidy import Tidying
from totonoe_core.engine.commands.tidy_plan import TidyPlans
from totonoe_core.engine.commands.undo import Undoing
from totonoe_core.engine.guarding import linking
from totonoe_core.engine.guarding.guarding import Guarding
from totonoe_core.engine.state.ledger import Ledger, NeedsVector, Operation
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.judging import JudgingService


class Decider:
    """Carries out commands on one collection."""

    def __init__(self, state: CollectionState, judging: JudgingService | None = None) -> None:
        self._state = state
        self._ledger = Ledger(state)
        self.guarding = Guarding(state, judging)
        self._remembering = Remembering(self._ledger, self.guarding)
        self._reviewing = Reviewing(self._ledger, self.guarding, self._remembering)
        self.forgetting = Forgetting(self._ledger)
        self.merging = Merging(self._ledger, self.guarding)
        self.resolving = Resolving(self._ledger, self.merging)
        self.purging = Purging(self._ledger)
        self.undoing = Undoing(self._ledger, self.guarding)
        self.tidying = Tidying(self._ledger)
        self._tidy_plans = TidyPlans(self._ledger, self._remembering)

    def check_vectors(
        self, commands: Sequence[Command], vectors: Sequence[NDArray[np.float32] | None]
    ) -> None:
        """Raise `NeedsVector` if the first command surely needs one, before anything is read."""
        first = commands[0]
        if isinstance(first, Remember) and vectors[0] is None:
            self._remembering.check_vector(first)

    def apply(
        self,
        operation: Operation,
        commands: Sequence[Command],
        vectors: Sequence[NDArray[np.float32] | None],
    ) -> tuple[Result, ...]:
        """Carry out the commands in order; each sees the effects of the ones before it.

        Raises `NeedsVector` if a text must be embedded first, `NeedsOpinion` if a judge should
        decide, and every error that the commands name; the caller rolls the operation back.
        """
        results = tuple(
            self._one(operation, command, vector)
            for command, vector in zip(commands, vectors, strict=True)
        )
        if len(commands) > 1:
            # It does more than an Undo: undoing it would not only redo what that Undo reverted.
            operation.undoes = None
        return self.purging.unsaid(results)

    def _one(
        self, operation: Operation, command: Command, vector: NDArray[np.float32] | None
    ) -> Result:
        match command:
            case Remember():
                return self._remembering.remember(operation, command, vector)
            case Update():
                return self._remembering.update(operation, command, vector)
            case Forget():
                return self.forgetting.forget(operation, command)
            case LinkMemories():
                return linking.link(self._ledger, operation, command)
            case UnlinkMemories():
                return linking.unlink(self._ledger, operation, command)
            case Merge():
                return self.merging.merge(operation, command, vector)
            case Purge():
                return self.purging.purge(operation, command)
            case Undo():
                return self.undoing.undo(operation, command)
            case CreateEpisode():
                return episodes.create(self._ledger, operation, command)
            case DeleteEpisode():
                return episodes.delete(self._ledger, operation, command)
            case Resolve():
                return self.resolving.resolve(operation, command, vector)
            case Review():
                return self._reviewing.review(operation, command)
            case Dismiss():
                return dismiss.dismiss(self._ledger, operation, command)
            case Undismiss():
                return dismiss.undismiss(self._ledger, operation, command)
            case ChangeSettings():
                return self._change_settings(operation, command)
            case Calibrate():
                return self._calibrate(operation, command)
            case EndSession() | CleanUpDuplicates() | Decay():
                return self._clean_up(operation, command)
            case ReplayEvents():
                return replay.replay(self._ledger, operation, command)
            case Score():
                return score.score(self._ledger, self.guarding, operation, command)
            case ImportRows():
                return import_rows(self._ledger, operation, command)
            case Tidy():
                return self.tidying.tidy(operation, command)
            case ApplyTidyPlan():
                return self._tidy_plans.apply(operation, command)
            case TidyUpsert():
                return self._tidy_plans.upsert(operation, command, vector)
            case Reembed():
                return model_swap.swap(self._ledger, operation, command)
            case Expire():
                return expire.expire(self._ledger, operation, command)

    def _clean_up(self, operation: Operation, command: Planned) -> Result:
        if command.plan is None:
            raise NeedsVector
        match command:
            case EndSession():
                return end_session.apply(self._ledger, operation, command)
            case CleanUpDuplicates():
                return clean_up_duplicates.apply(self._ledger, operation, command)
            case Decay():
                return decay.apply(self._ledger, operation, command)

    # -- Settings

    def _change_settings(self, operation: Operation, command: ChangeSettings) -> SettingsChanged:
        before = self._state.info
        if command.expected_revision and before.settings_revision != command.expected_revision:
            raise StaleRevision(
                name=f"settings of {before.name}",
                expected=command.expected_revision,
                actual=before.settings_revision,
            )
        info = changed(before, command.changes)
        if command.learned is not None:
            info = replace(info, learned=command.learned)
        info = self._ledger.put_settings(operation, info)
        return SettingsChanged(replace(info, revision=operation.revision))

    def _calibrate(self, operation: Operation, command: Calibrate) -> Calibrated:
        if command.fitted is None:
            raise NeedsVector
        calibration = command.fitted.calibration
        self._ledger.put_settings(operation, replace(self._state.info, calibration=calibration))
        return Calibrated(command.fitted)
