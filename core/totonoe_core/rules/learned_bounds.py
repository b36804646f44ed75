"""Bounds of the guard that callers' answers move: from which `same_probability` on it acts.

`same_probability` is calibrated on texts of others. In a collection whose pairs say the same more
often than it expects, the same bound asks too late; where they do so less often, too early. The
answers of its callers say by how much: the intercept of a logistic regression on the log odds
("recalibration in the large"; Cox, Biometrika 45, 1958), pulled to 0 where answers are few. Each
bound moves to the probability that now means what the default meant.

Pure, and the same answers always give the same bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log
from typing import NamedTuple

import numpy as np

from totonoe_core.base import limits
from totonoe_core.domain.collections import LearnedBounds
from totonoe_core.domain.policy import PRESETS, GuardPolicy

_LIKELY_BETWEEN, _CERTAIN_BETWEEN = (0.3, 0.7), (0.75, 0.97)
"""How far the bounds move. Below 0.75 look-alikes are lost that no small number of answers shows
(docs/quality.md, the judge)."""
_PULL = 4.0
"""Inverse variance of the shift before any answer: a shift of 0.5 is one standard deviation."""
_OF_EACH_MIN = 10
"""Answers of either kind below which no bound goes down: who only confirms says little."""
_REFUSED_MIN = 50
"""Answers from a lower `certain_from` on, all of them *same*, without which it does not go down."""
_LEAST_MOVE = 0.02
_NEWTON_STEPS, _LOG_ODDS_MAX = 30, 6.0


class AnsweredPair(NamedTuple):
    """A pair that a caller answered, with its `same_probability` now."""

    probability: float
    same: bool


def learned(
    answers: Sequence[AnsweredPair], guard: GuardPolicy, before: LearnedBounds | None, now_us: int
) -> LearnedBounds | None:
    """Return where answers move the bounds of a policy; `None` if they stay.

    Parameters
    ----------
    answers : sequence of AnsweredPair
        Without pairs that differ hard: no bound concerns them.
    before : LearnedBounds or None
        What was learned last, if the policy still has it.
    """
    if not (guard.learns and guard.asks) or len(answers) < limits.LEARNED_FROM_MIN:
        return None
    shift = _shift(answers)
    of_either = sum(answer.same for answer in answers), sum(not answer.same for answer in answers)
    may_fall = min(of_either) >= _OF_EACH_MIN
    default = PRESETS[guard.preset]
    own = (None, None) if before is None else (before.likely_from, before.certain_from)
    likely, certain = guard.likely_from, guard.certain_from
    if _is_free(likely, default.likely_from, own[0]):
        likely = _moved(default.likely_from, shift, _LIKELY_BETWEEN, may_fall)
    if _is_free(certain, default.certain_from, own[1]):
        certain = _safe(
            _moved(default.certain_from, shift, _CERTAIN_BETWEEN, may_fall),
            default.certain_from,
            answers,
        )
    moves = ((guard.likely_from, likely), (guard.certain_from, certain))
    if all(now is None or to is None or abs(now - to) < _LEAST_MOVE for now, to in moves):
        return None
    return LearnedBounds(len(answers), of_either[0], round(shift, 3), likely, certain, now_us)


def reason(bounds: LearnedBounds) -> str:
    """Return why the bounds moved, for the history."""
    return f"learned from {bounds.answer_count} answers, {bounds.same_count} of them same"


def _is_free(now: float | None, default: float | None, learned: float | None) -> bool:
    """Return whether a bound is on, and no caller has set it."""
    return now is not None and default is not None and now in (default, learned)


def _shift(answers: Sequence[AnsweredPair]) -> float:
    """Return by how much the answers' log odds are above the expected ones (Newton's method)."""
    odds = np.array([_log_odds(answer.probability) for answer in answers])
    same = np.array([answer.same for answer in answers], np.float64)
    shift = 0.0
    for _ in range(_NEWTON_STEPS):
        p = 1.0 / (1.0 + np.exp(-(odds + shift)))
        step = float((same - p).sum() - _PULL * shift) / float((p * (1.0 - p)).sum() + _PULL)
        shift += step
        if abs(step) < 1e-9:
            break
    return shift


def _log_odds(p: float) -> float:
    if not 0.0 < p < 1.0:
        return _LOG_ODDS_MAX if p >= 1.0 else -_LOG_ODDS_MAX
    return max(-_LOG_ODDS_MAX, min(_LOG_ODDS_MAX, log(p) - log(1.0 - p)))


def _moved(
    default: float | None, shift: float, between: tuple[float, float], may_fall: bool
) -> float:
    """Return the probability that now means what the default meant."""
    assert default is not None
    low, high = between
    moved = 1.0 / (1.0 + exp(shift - _log_odds(default)))
    return round(min(max(moved, low if may_fall else default), high), 2)


def _safe(certain: float, default: float | None, answers: Sequence[AnsweredPair]) -> float:
    """Return a bound from which on no answer says *different*, if the highest allows that.

    It lies below the default only where enough answers show that.
    """
    assert default is not None
    wrong = max((answer.probability for answer in answers if not answer.same), default=0.0)
    right = sum(answer.same and answer.probability >= certain for answer in answers)
    if certain < default and (wrong >= certain or right < _REFUSED_MIN):
        certain = default
    if wrong >= certain:
        certain = min(round(wrong + 0.01, 2), _CERTAIN_BETWEEN[1])
    return certain
