"""What a command would answer now: found out on the writer's thread, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from totonoe_core import validate
from totonoe_core.clock import Clock
from totonoe_core.commands import (
    Calibrate,
    Calibrated,
    Command,
    Forget,
    Forgotten,
    Purge,
    Purged,
    Undo,
    Undone,
)
from totonoe_core.engine.decide import Decider
from totonoe_core.engine.futures import ready, then
from totonoe_core.engine.state import CollectionState
from totonoe_core.guard.calibration import Fitted
from totonoe_core.tidy import Tidied, Tidy

T = TypeVar("T")


class Previewing:
    """The dry runs of one collection. Safe from any thread.

    `on_writer` runs work on the writer's thread; `fitted` works out a calibration off it.
    """

    def __init__(
        self,
        state: CollectionState,
        clock: Clock,
        on_writer: Callable[[Callable[[], Any]], Future[Any]],
        fitted: Callable[[Calibrate], Future[Fitted]],
    ) -> None:
        self._state = state
        self._clock = clock
        self._on_writer = on_writer
        self._fitted = fitted

    def forget(self, command: Forget) -> Future[tuple[int, Forgotten]]:
        """What Forget would answer now."""
        return self._previewed(command, lambda decider: decider.forgetting.preview(command))

    def undo(self, command: Undo) -> Future[tuple[int, Undone]]:
        """What Undo would take back now."""
        return self._previewed(command, lambda decider: decider.undoing.preview(command))

    def purge(self, command: Purge) -> Future[tuple[int, Purged]]:
        """What Purge would take now."""
        return self._previewed(command, lambda decider: decider.purging.preview(command))

    def tidy(self, command: Tidy) -> Future[tuple[int, Tidied]]:
        """What Tidy would close now."""
        return self._previewed(
            command, lambda decider: decider.tidying.preview(command, self._clock())
        )

    def calibration(self, command: Calibrate) -> Future[tuple[int, Calibrated]]:
        """What Calibrate would answer now. Nothing of it is done on the writer's thread."""
        validate.command(command, self._clock())
        return then(
            self._fitted(command),
            lambda found: ready((self._state.published.revision, Calibrated(found))),
        )

    def _previewed(self, command: Command, work: Callable[[Decider], T]) -> Future[tuple[int, T]]:
        validate.command(command, self._clock())
        return self._on_writer(lambda: (self._state.revision, work(Decider(self._state))))
