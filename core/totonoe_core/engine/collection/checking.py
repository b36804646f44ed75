"""Check: returns the answer that a Remember would give, by the same steps; changes nothing.

writer   equal text, tombstones      then the embedder; both steps are one if a vector was given
writer   all layers of the guard     then a judge, if it should read pairs, and again
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from totonoe_core.base.clock import Clock
from totonoe_core.domain.asking import Previewed
from totonoe_core.domain.memories import Checked, Remember
from totonoe_core.domain.records import GuardReport, Verdict
from totonoe_core.engine.collection.vectors import Embedded
from totonoe_core.engine.commands import superseding
from totonoe_core.engine.commands.remember import Wanted, wanted
from totonoe_core.engine.guarding import tombstones
from totonoe_core.engine.guarding.guarding import Guarding, NeedsOpinion, Neighbours
from totonoe_core.engine.state.futures import ready, settled, then
from totonoe_core.engine.state.ledger import Ledger
from totonoe_core.engine.state.scans import guarded
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.index.collection_index import Features
from totonoe_core.judging import JudgingService

Vector = NDArray[np.float32]
Found = tuple[Vector, int] | Embedded
"""A given vector, with the number of its model; or an embedded one."""
T = TypeVar("T")


class OnWriter(Protocol):
    """Runs work on the writer's thread."""

    def __call__(self, work: Callable[[], T], vector: Vector | None = None) -> Future[T]:
        """Return the future of the work's result. The guard will look for `vector`, if given."""
        ...


class Checking:
    """Checks on one collection. Safe from any thread.

    `embedded(texts)` returns vectors of the running model, or raises if the collection has another.
    """

    def __init__(
        self,
        state: CollectionState,
        judging: JudgingService | None,
        clock: Clock,
        embedded: Callable[[Sequence[str]], Future[Embedded]],
        on_writer: OnWriter,
    ) -> None:
        self._state = state
        self._judging = judging
        self._clock = clock
        self._embedded = embedded
        self._on_writer = on_writer

    def check(
        self, command: Remember, vector: Vector | None, model_number: int
    ) -> Future[Previewed[Checked]]:
        """Return the answer that Remember would give now.

        `vector` is the one given with it, of the model with that number.
        """
        if vector is not None:
            return self._decided(command, (vector, model_number))

        def embedded(refused: Previewed[Checked] | None) -> Future[Previewed[Checked]]:
            if refused is not None:
                return ready(refused)
            if self._state.words_only:
                return self._decided(command, None)
            return then(
                self._embedded([command.content]), lambda found: self._decided(command, found)
            )

        return then(self._on_writer(lambda: self._by_text(command)), embedded)

    def _decided(self, command: Remember, made: Found | None) -> Future[Previewed[Checked]]:
        """Run all layers; if a judge is wanted, again with its opinions."""
        judging = self._judging
        vector = _vector(made) if guarded(command) else None

        def on_writer(may_ask: bool) -> Future[Previewed[Checked]]:
            return self._on_writer(lambda: self._by_layers(command, made, may_ask), vector)

        def decided(rounds: int) -> Future[Previewed[Checked]]:
            """Decide after so many rounds of asking."""
            if judging is None or rounds == judging.rounds_max:
                return on_writer(False)

            def again(found: Future[Previewed[Checked]]) -> Future[Previewed[Checked]]:
                error = found.exception()
                if not isinstance(error, NeedsOpinion):
                    return found
                return then(judging.submit(error.pairs), lambda _: decided(rounds + 1))

            return then(settled(on_writer(True)), again)

        return decided(0)

    # -- On the writer's thread

    def _by_layers(
        self, command: Remember, made: Found | None, may_ask: bool
    ) -> Previewed[Checked]:
        """Check by the text, if it was not checked before its vector was sought; then by all."""
        refused = self._by_text(command) if isinstance(made, tuple) else None
        return self._by_all(command, made, may_ask) if refused is None else refused

    def _by_text(self, command: Remember) -> Previewed[Checked] | None:
        now_us = self._clock()
        found = wanted(Ledger(self._state), command, now_us)
        report = Guarding(self._state).by_text(found.text, now_us)
        if report is None:
            report = tombstones.refusal(self._state, found.text, now_us)
            return (
                None if report is None else Previewed(self._state.revision, Checked(False, report))
            )
        return self._refused(found, report, None, None, now_us)

    def _refused(
        self,
        found: Wanted,
        report: GuardReport,
        features: Features | None,
        neighbours: Neighbours | None,
        now_us: int,
    ) -> Previewed[Checked]:
        taken, state = None, self._state
        if found.grown is None:
            ledger, guarding = Ledger(state), Guarding(state)
            decided = report, features, neighbours
            report, neighbours = superseding.looked_back(
                ledger, guarding, found.text, decided, now_us
            )
            taken = superseding.by_duplicate(ledger, guarding, found.text, report, neighbours)
        gone = () if taken is None else tuple(memory.id for memory in taken[1])
        return Previewed(state.revision, Checked(False, report, superseded_ids=gone))

    def _by_all(self, command: Remember, made: Found | None, may_ask: bool) -> Previewed[Checked]:
        state, now_us = self._state, self._clock()
        found = wanted(Ledger(state), command, now_us)
        text, vector = found.text, np.zeros(state.info.model.dimension, np.float32)
        if isinstance(made, Embedded):
            (own,) = made.vectors.values()
            if made.key == state.info.model.key:
                vector = own
            else:
                text = replace(text, ahead=own)
        elif made is not None and made[1] == state.info.model_number:
            vector = made[0]
        state.check_dimension(len(vector))
        features = Features.of(command.content, vector, state.index.tokenizer)
        guarding = Guarding(state, self._judging)
        report, neighbours = guarding.by_all(text, features, now_us, may_ask)
        if report.duplicate is not None:
            found = replace(found, text=text)
            return self._refused(found, report, features, neighbours, now_us)
        report = replace(
            report, forgotten=tombstones.match(state, text, features.canonical, now_us)
        )
        if found.grown is not None:
            report = replace(report, verdict=Verdict.UPDATE)
            return Previewed(state.revision, Checked(True, report, grown_id=found.grown.id))
        ledger, holders = Ledger(state), guarding.holders(text)
        decided = report, features, neighbours
        report, _ = superseding.looked_back(ledger, guarding, text, decided, now_us)
        slots, report = superseding.by_saved(guarding, text, report, holders, neighbours)
        gone = tuple(ledger.by_slot(slot).id for slot in slots if guarding.gives_way(text, slot))
        if holders:
            report = replace(report, verdict=Verdict.UPDATE)
        return Previewed(state.revision, Checked(True, report, superseded_ids=gone))


def _vector(made: Found | None) -> Vector | None:
    """Return the vector that was given or embedded."""
    if isinstance(made, Embedded):
        return next(iter(made.vectors.values()))
    return None if made is None else made[0]
