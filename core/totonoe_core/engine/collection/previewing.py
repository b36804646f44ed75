"""Dry runs: what a command would be answered now. Nothing changes.

What a rule plans is read beside the writer; everything else is decided on the writer's thread. A
Remember is carried out there, and taken back: so Check says what Remember would.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from totonoe_core.base.clock import Clock
from totonoe_core.domain.asking import Previewable, Previewed
from totonoe_core.domain.cleanup import CleanUpDuplicates, Decay, EndSession
from totonoe_core.domain.collections import Calibrate, Calibrated
from totonoe_core.domain.commands import Applied, Command
from totonoe_core.domain.memories import (
    Checked,
    Forget,
    ForgetMatching,
    Forgotten,
    Merge,
    Merged,
    Purge,
    Purged,
    Remember,
    Remembered,
)
from totonoe_core.domain.questions import Resolve, Resolved
from totonoe_core.domain.tidy import Tidied, Tidy
from totonoe_core.domain.undo import Undo, Undone
from totonoe_core.engine.collection.vectors import EmbeddedTexts, Vectors
from totonoe_core.engine.guarding.judging import NeedsOpinion
from totonoe_core.engine.queries.reads import Reads
from totonoe_core.engine.state.futures import ready, settled, then
from totonoe_core.engine.state.ledger import NeedsVector, Operation
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.engine.writer.decide import Decider
from totonoe_core.engine.writer.writer import Job
from totonoe_core.judging import JudgingService
from totonoe_core.rules import validate
from totonoe_core.store.records import Touched

T = TypeVar("T")


class Previewing:
    """The dry runs of one collection. Safe from any thread.

    `on_writer` runs work on the writer's thread, and `trial` a job whose results are taken back;
    `vectors` embeds texts and works out a calibration off it.
    """

    def __init__(
        self,
        state: CollectionState,
        clock: Clock,
        on_writer: Callable[[Callable[[], Any]], Future[Any]],
        trial: Callable[[Job], Future[Applied]],
        judging: JudgingService | None,
        vectors: Vectors,
        reads: Reads,
    ) -> None:
        self._state = state
        self._clock = clock
        self._on_writer = on_writer
        self._trial = trial
        self._judging = judging
        self._vectors = vectors
        self._by_command: dict[type, Callable[[Any], Future[Any]]] = {
            Remember: self._check,
            Forget: self._forget,
            Undo: self._undo,
            Merge: self._merge,
            Resolve: self._resolve,
            Purge: self._purge,
            Tidy: self._tidy,
            Calibrate: self._calibrate,
            ForgetMatching: reads.forget_matching,
            EndSession: reads.end_session,
            CleanUpDuplicates: reads.clean_up_duplicates,
            Decay: reads.decay,
        }

    def preview(self, command: Previewable[T]) -> Future[Previewed[T]]:
        """Shows what a command would be answered now."""
        return self._by_command[type(command)](command)

    def _check(self, command: Remember) -> Future[Previewed[Checked]]:
        number = self._state.published.model_number
        vectors = self._vectors.checked("", (command,))
        return then(
            self._tried(Job("", (command,), vectors, model_number=number, on_trial=True)),
            lambda applied: ready(Previewed(applied.revision, _checked(applied))),
        )

    def _tried(self, job: Job) -> Future[Applied]:
        """Try a job; again with a vector or a judge's opinions, as the writer does."""

        def embedded(found: EmbeddedTexts) -> Future[Applied]:
            job.embedded, job.embedded_by = dict(found.vectors), found.key
            return self._tried(job)

        def again(first: Future[Applied]) -> Future[Applied]:
            error = first.exception()
            if isinstance(error, NeedsVector):
                return then(self._vectors.embedded(_texts(job)), embedded)
            if isinstance(error, NeedsOpinion) and self._judging is not None:
                job.asked_count += 1
                return then(self._judging.submit(error.pairs), lambda _: self._tried(job))
            return first

        return then(settled(self._trial(job)), again)

    def _forget(self, command: Forget) -> Future[Previewed[Forgotten]]:
        return self._previewed(command, lambda decider: decider.forgetting.preview(command))

    def _undo(self, command: Undo) -> Future[Previewed[Undone]]:
        return self._embedding(
            command, (), lambda decider, looking: decider.undoing.preview(looking, command)
        )

    def _merge(self, command: Merge) -> Future[Previewed[Merged]]:
        (vector,) = self._vectors.checked("", (command,))
        return self._embedding(
            command,
            (command.content,),
            lambda decider, looking: decider.merging.preview(looking, command, vector),
        )

    def _resolve(self, command: Resolve) -> Future[Previewed[Resolved]]:
        (vector,) = self._vectors.checked("", (command,))
        return self._embedding(
            command,
            (command.content,),
            lambda decider, looking: decider.resolving.preview(looking, command, vector),
        )

    def _embedding(
        self, command: Command, texts: Sequence[str], work: Callable[[Decider, Operation], T]
    ) -> Future[Previewed[T]]:
        """Preview a command; once more if texts of it, or of old versions, need vectors."""

        def preview(found: EmbeddedTexts) -> Future[Previewed[T]]:
            return self._previewed(command, lambda decider: work(decider, self._looking(found)))

        def again(first: Future[Previewed[T]]) -> Future[Previewed[T]]:
            error = first.exception()
            if not isinstance(error, NeedsVector):
                return first
            return then(self._vectors.embedded(error.texts or texts), preview)

        return then(settled(preview(EmbeddedTexts({}, ""))), again)

    def _looking(self, found: EmbeddedTexts) -> Operation:
        """Make an operation for a dry run. On the writer's thread."""
        state = self._state
        own = found.key == state.info.model.key
        return Operation(
            state.revision + 1,
            state.last_time_us,
            Touched(),
            embedded=found.vectors if own else {},
            next_vectors={} if own else found.vectors,
            words_only=state.words_only,
        )

    def _purge(self, command: Purge) -> Future[Previewed[Purged]]:
        return self._previewed(command, lambda decider: decider.purging.preview(command))

    def _tidy(self, command: Tidy) -> Future[Previewed[Tidied]]:
        return self._previewed(
            command, lambda decider: decider.tidying.preview(command, self._clock())
        )

    def _calibrate(self, command: Calibrate) -> Future[Previewed[Calibrated]]:
        validate.command(command, self._clock())
        return then(
            self._vectors.fitted(command),
            lambda fitted: ready(Previewed(self._state.published.revision, Calibrated(fitted))),
        )

    def _previewed(self, command: Command, work: Callable[[Decider], T]) -> Future[Previewed[T]]:
        validate.command(command, self._clock())
        return self._on_writer(lambda: Previewed(self._state.revision, work(Decider(self._state))))


def _checked(applied: Applied) -> Checked:
    (done,) = applied.results
    assert isinstance(done, Remembered)
    return Checked(done.saved, done.guard, done.grown_id, done.superseded_ids, done.pending)


def _texts(job: Job) -> list[str]:
    return [command.content for command in job.commands if isinstance(command, Remember)]
