"""Check: what a Remember would answer, on the way that a Remember goes; nothing is changed.

writer   equal text, tombstones      then the embedder, if no vector was given
writer   all layers of the guard     then a judge, if one should be asked, and once more
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from totonoe_core.clock import Clock
from totonoe_core.commands import Remember
from totonoe_core.engine import tombstones
from totonoe_core.engine.futures import ready, settled, then
from totonoe_core.engine.guarding import Guarding, NeedsOpinion
from totonoe_core.engine.ledger import Ledger
from totonoe_core.engine.remembering import wanted
from totonoe_core.engine.state import CollectionState
from totonoe_core.engine.vectors import Embedded
from totonoe_core.index.collection_index import Features
from totonoe_core.judging import JudgingService
from totonoe_core.queries import Checked
from totonoe_core.records import GuardReport, Verdict

Vector = NDArray[np.float32]
Found = tuple[Vector, int] | Embedded
"""A vector that was given, with the number of its model; or one that was embedded."""
T = TypeVar("T")


class OnWriter(Protocol):
    """Has work done on the writer's thread."""

    def __call__(self, work: Callable[[], T]) -> Future[T]:
        """The future of what the work returns."""
        ...


class Checking:
    """Checks on one collection. Safe from any thread.

    `embedded(texts)` asks for vectors of the model that runs, or raises if it is none of the
    collection's.
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

    def check(self, command: Remember, vector: Vector | None, model_number: int) -> Future[Checked]:
        """What Remember would answer now; `vector` is the one that was given with it, of the
        model with that number."""
        given = None if vector is None else (vector, model_number)

        def embedded(report: GuardReport | None) -> Future[Checked]:
            if report is not None:
                return ready(Checked(self._state.revision, False, report))
            if given is not None:
                return self._decided(command, given)
            return then(
                self._embedded([command.content]), lambda found: self._decided(command, found)
            )

        return then(self._on_writer(lambda: self._by_text(command)), embedded)

    def _decided(self, command: Remember, vector: Found) -> Future[Checked]:
        judging = self._judging
        if judging is None:
            return self._on_writer(lambda: self._by_all(command, vector, False))

        def again(first: Future[Checked]) -> Future[Checked]:
            error = first.exception()
            if not isinstance(error, NeedsOpinion):
                return first
            return then(
                judging.submit(error.pairs),
                lambda _: self._on_writer(lambda: self._by_all(command, vector, False)),
            )

        return then(settled(self._on_writer(lambda: self._by_all(command, vector, True))), again)

    # -- On the writer's thread

    def _by_text(self, command: Remember) -> GuardReport | None:
        now_us = self._clock()
        text = wanted(Ledger(self._state), command, now_us).text
        report = Guarding(self._state).by_text(text, now_us)
        return report or tombstones.refusal(self._state, text, now_us)

    def _by_all(self, command: Remember, made: Found, may_ask: bool) -> Checked:
        state, now_us = self._state, self._clock()
        found = wanted(Ledger(state), command, now_us)
        text, vector = found.text, np.zeros(state.info.model.dimension, np.float32)
        if isinstance(made, Embedded):
            (own,) = made.vectors.values()
            if made.key == state.info.model.key:
                vector = own
            else:
                text = replace(text, ahead=own)
        elif made[1] == state.info.model_number:
            vector = made[0]
        state.check_dimension(len(vector))
        features = Features.of(command.content, vector, state.index.tokenizer)
        report, _ = Guarding(state, self._judging).by_all(text, features, now_us, may_ask)
        if report.duplicate is None:
            forgotten = tombstones.match(state, text, features.canonical, now_us)
            report = replace(report, forgotten=forgotten)
        if report.duplicate is not None or found.grown is None:
            return Checked(state.revision, report.duplicate is None, report)
        report = replace(report, verdict=Verdict.UPDATE)
        return Checked(state.revision, True, report, grown_id=found.grown.id)
