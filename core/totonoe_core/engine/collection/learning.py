"""Learning from answers: where those of callers move the bounds of a collection's guard.

Merge, Resolve and Dismiss are answers. After every LEARNED_EVERY of them, and after the first since
the collection was opened, the newest are read again, away from the writer: each pair is compared as
the guard compares it, and read by the daemon's own judge. Bounds that move are a change of settings
like any other: with a reason, a revision, and an Undo.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future

from totonoe_core.base import limits
from totonoe_core.base.clock import Clock
from totonoe_core.domain.collections import ChangeSettings, CollectionInfo
from totonoe_core.domain.commands import Applied, Command
from totonoe_core.domain.dismissals import Dismiss
from totonoe_core.domain.memories import Merge
from totonoe_core.domain.questions import Resolve
from totonoe_core.engine.commands.judged_pairs import JudgedPair
from totonoe_core.engine.state.comparing import comparison_at
from totonoe_core.engine.state.futures import attempt, ready, submit, then
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.judging import JudgingService, TextPair, cascade
from totonoe_core.judging.hearing import stated_for
from totonoe_core.rules.learned_bounds import AnsweredPair, learned, reason
from totonoe_core.text.normalize import refusing_hash

_ANSWERS = Merge | Resolve | Dismiss


class Learning:
    """Counts the answers of one collection and moves its bounds. Safe from any thread.

    Parameters
    ----------
    read : callable
        Returns the newest pairs that callers answered, at most so many of each kind.
    apply : callable
        As that of the collection.
    """

    def __init__(
        self,
        state: CollectionState,
        read: Callable[[int], Future[list[JudgedPair]]],
        apply: Callable[[Sequence[tuple[str, Sequence[Command]]]], list[Future[Applied]]],
        executor: Executor,
        clock: Clock,
        judging: JudgingService | None,
    ) -> None:
        self._state, self._read, self._apply = state, read, apply
        self._executor, self._clock = executor, clock
        self._judging = judging if judging is not None and judging.is_own else None
        self._lock = threading.Lock()
        self._left = 1
        self._stopped = False
        self.running = False
        """True while answers are read."""

    def watch(self, commands: Sequence[Command], future: Future[Applied]) -> None:
        """Count the commands of an operation that are answers, once it has succeeded."""
        count = sum(isinstance(command, _ANSWERS) for command in commands)
        if count:
            future.add_done_callback(lambda done: self._ended(done, count))

    def stop(self) -> None:
        """Begin nothing any more."""
        self._stopped = True

    def _ended(self, done: Future[Applied], count: int) -> None:
        if done.cancelled() or done.exception() is not None or done.result().replayed:
            return
        with self._lock:
            self._left -= count
            begins = self._left <= 0 and not self.running and not self._stopped
            if begins:
                self._left, self.running = limits.LEARNED_EVERY, True
        if begins:
            self._learn().add_done_callback(self._over)

    def _over(self, _: Future[None]) -> None:
        # A failure (the daemon stops, settings changed meanwhile) waits for the next answers.
        self.running = False

    def _learn(self) -> Future[None]:
        guard = self._state.published.guard
        if not (guard.learns and guard.asks):
            return ready(None)
        pairs = attempt(lambda: self._read(limits.LEARNED_FROM_MAX))
        return then(then(pairs, self._opinions), self._move)

    def _opinions(self, pairs: list[JudgedPair]) -> Future[list[JudgedPair]]:
        """Have the judge read the pairs, a few at a time, so that saves are not kept waiting."""
        if self._judging is None or len(pairs) < limits.LEARNED_FROM_MIN:
            return ready(pairs)
        judging, size = self._judging, limits.JUDGE_PAIRS_PER_SCORE
        texts = [found for pair in pairs if not judging.look_up(found := _texts(pair))[0]]

        def go_on(at: int) -> Future[list[JudgedPair]]:
            if at >= len(texts) or self._stopped or not judging.accepts:
                return ready(pairs)
            return then(judging.submit(texts[at : at + size]), lambda _: go_on(at + size))

        return go_on(0)

    def _move(self, pairs: list[JudgedPair]) -> Future[None]:
        if self._stopped or len(pairs) < limits.LEARNED_FROM_MIN:
            return ready(None)
        return then(
            submit(self._executor, lambda: self._change(pairs)),
            lambda change: ready(None) if change is None else self._applied(change),
        )

    def _applied(self, change: ChangeSettings) -> Future[None]:
        return then(self._apply([("", [change])])[0], lambda _: ready(None))

    def _change(self, pairs: Sequence[JudgedPair]) -> ChangeSettings | None:
        """Return the change of settings that the answers ask for, if any."""
        info = self._state.published
        answers = [answer for pair in pairs if (answer := self._answered(info, pair)) is not None]
        bounds = learned(answers, info.guard, info.learned, self._clock())
        if bounds is None:
            return None
        return ChangeSettings(
            "",
            (
                ("guard.likely_from", bounds.likely_from),
                ("guard.certain_from", bounds.certain_from),
            ),
            expected_revision=info.settings_revision,
            reason=reason(bounds),
            learned=bounds,
        )

    def _answered(self, info: CollectionInfo, judged: JudgedPair) -> AnsweredPair | None:
        """Return what a pair was answered, with its probability now; `None` if it differs hard."""
        compared = comparison_at(info, judged.b, judged.a, judged.cosine, by_vectors=True)
        judgement = compared.judgement
        if judgement.hard:
            return None
        if self._judging is not None and cascade.is_read(compared, judgement, judged.b, judged.a):
            texts = _texts(judged)
            _, opinion = self._judging.look_up(texts)
            if opinion is not None:
                pair = cascade.OpenPair(0, compared, judgement)
                judgement = cascade.judged_by(
                    pair, stated_for(opinion, texts, judged.b), info.guard
                )
        return AnsweredPair(judgement.same_probability, judged.same)


def _texts(pair: JudgedPair) -> TextPair:
    return TextPair.of(pair.b, refusing_hash(pair.b), pair.a, refusing_hash(pair.a))
