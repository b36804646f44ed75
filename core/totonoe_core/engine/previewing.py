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
from totonoe_core.engine.futures import ready, settled, then
from totonoe_core.engine.ledger import NeedsVector, Operation
from totonoe_core.engine.state import CollectionState
from totonoe_core.engine.vectors import Embedded, Vectors
from totonoe_core.store.collection_file import Touched
from totonoe_core.tidy import Tidied, Tidy

T = TypeVar("T")


class Previewing:
    """The dry runs of one collection. Safe from any thread.

    `on_writer` runs work on the writer's thread; `vectors` embeds texts and works out a
    calibration off it.
    """

    def __init__(
        self,
        state: CollectionState,
        clock: Clock,
        on_writer: Callable[[Callable[[], Any]], Future[Any]],
        vectors: Vectors,
    ) -> None:
        self._state = state
        self._clock = clock
        self._on_writer = on_writer
        self._vectors = vectors

    def forget(self, command: Forget) -> Future[tuple[int, Forgotten]]:
        """What Forget would answer now."""
        return self._previewed(command, lambda decider: decider.forgetting.preview(command))

    def undo(self, command: Undo) -> Future[tuple[int, Undone]]:
        """What Undo would take back now; texts that come back may have to be embedded first."""

        def preview(found: Embedded) -> Future[tuple[int, Undone]]:
            return self._previewed(
                command, lambda decider: decider.undoing.preview(command, self._looking(found))
            )

        def again(first: Future[tuple[int, Undone]]) -> Future[tuple[int, Undone]]:
            error = first.exception()
            if not isinstance(error, NeedsVector):
                return first
            return then(self._vectors.embedded(error.texts), preview)

        return then(settled(preview(Embedded({}, ""))), again)

    def _looking(self, found: Embedded) -> Operation:
        """An operation that is only looked at. On the writer's thread."""
        state = self._state
        own = found.key == state.info.model.key
        return Operation(
            state.revision + 1,
            state.last_time_us,
            Touched(),
            embedded=found.vectors if own else {},
            ahead={} if own else found.vectors,
        )

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
            self._vectors.fitted(command),
            lambda found: ready((self._state.published.revision, Calibrated(found))),
        )

    def _previewed(self, command: Command, work: Callable[[Decider], T]) -> Future[tuple[int, T]]:
        validate.command(command, self._clock())
        return self._on_writer(lambda: (self._state.revision, work(Decider(self._state))))
