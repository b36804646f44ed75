"""Commands to changes: who carries out which, on the writer thread.

Nothing here commits or publishes. A command that raises, or that lacks a vector, leaves
its operation to be rolled back whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from totonoe_core.cleanup import CleanUpDuplicates, Decay, EndSession, Planned
from totonoe_core.commands import (
    Calibrate,
    Calibrated,
    ChangeSettings,
    Command,
    CreateEpisode,
    DeleteEpisode,
    Dismiss,
    Forget,
    LinkMemories,
    Merge,
    Purge,
    Remember,
    Result,
    SettingsChanged,
    Undismiss,
    Undo,
    UnlinkMemories,
    Update,
)
from totonoe_core.consolidate import ReplayEvents
from totonoe_core.engine import (
    dismissing,
    doubles,
    ending,
    episodes,
    fading,
    linking,
    model_swap,
    replaying,
)
from totonoe_core.engine.forgetting import Forgetting
from totonoe_core.engine.guarding import Guarding
from totonoe_core.engine.import_rows import import_rows
from totonoe_core.engine.ledger import Ledger, NeedsVector, Operation
from totonoe_core.engine.merging import Merging
from totonoe_core.engine.purging import Purging
from totonoe_core.engine.remembering import Remembering
from totonoe_core.engine.settings import changed
from totonoe_core.engine.state import CollectionState
from totonoe_core.engine.tidy_plans import TidyPlans
from totonoe_core.engine.tidying import Tidying
from totonoe_core.engine.undoing import Undoing
from totonoe_core.errors import StaleRevision
from totonoe_core.judging import JudgingService
from totonoe_core.reembed import Reembed
from totonoe_core.tidy import ApplyTidyPlan, Tidy, TidyUpsert
from totonoe_core.transfer import ImportRows


class Decider:
    """Carries out commands on one collection."""

    def __init__(self, state: CollectionState, judging: JudgingService | None = None) -> None:
        self._state = state
        self._ledger = Ledger(state)
        self.guarding = Guarding(state, judging)
        self._remembering = Remembering(self._ledger, self.guarding)
        self.forgetting = Forgetting(self._ledger)
        self._merging = Merging(self._ledger, self.guarding)
        self.purging = Purging(self._ledger)
        self.undoing = Undoing(self._ledger, self.guarding)
        self.tidying = Tidying(self._ledger)
        self._tidy_plans = TidyPlans(self._ledger, self._remembering)

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
        results = tuple(
            self._one(operation, command, vector)
            for command, vector in zip(commands, vectors, strict=True)
        )
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
                return self._merging.merge(operation, command, vector)
            case Purge():
                return self.purging.purge(operation, command)
            case Undo():
                return self.undoing.undo(operation, command)
            case CreateEpisode():
                return episodes.create(self._ledger, operation, command)
            case DeleteEpisode():
                return episodes.delete(self._ledger, operation, command)
            case Dismiss():
                return dismissing.dismiss(self._ledger, operation, command)
            case Undismiss():
                return dismissing.undismiss(self._ledger, operation, command)
            case ChangeSettings():
                return self._change_settings(operation, command)
            case Calibrate():
                return self._calibrate(operation, command)
            case EndSession() | CleanUpDuplicates() | Decay():
                return self._clean_up(operation, command)
            case ReplayEvents():
                return replaying.replay(self._ledger, operation, command)
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

    def _clean_up(self, operation: Operation, command: Planned) -> Result:
        if command.plan is None:
            raise NeedsVector
        match command:
            case EndSession():
                return ending.apply(self._ledger, operation, command)
            case CleanUpDuplicates():
                return doubles.apply(self._ledger, operation, command)
            case Decay():
                return fading.apply(self._ledger, operation, command)

    # -- Settings

    def _change_settings(self, operation: Operation, command: ChangeSettings) -> SettingsChanged:
        before = self._state.info
        if command.expected_revision and before.settings_revision != command.expected_revision:
            raise StaleRevision(
                name=f"settings of {before.name}",
                expected=command.expected_revision,
                actual=before.settings_revision,
            )
        info = self._ledger.put_settings(operation, changed(before, command.changes))
        return SettingsChanged(replace(info, revision=operation.revision))

    def _calibrate(self, operation: Operation, command: Calibrate) -> Calibrated:
        if command.fitted is None:
            raise NeedsVector
        calibration = command.fitted.calibration
        self._ledger.put_settings(operation, replace(self._state.info, calibration=calibration))
        return Calibrated(command.fitted)
