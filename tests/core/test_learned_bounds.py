"""Where answers move the bounds of a guard: the rule alone."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from totonoe_core.base import limits
from totonoe_core.domain.collections import LearnedBounds
from totonoe_core.domain.policy import CERTAIN_FROM, LIKELY_FROM, PRESETS, GuardPolicy, Preset
from totonoe_core.rules.learned_bounds import AnsweredPair, learned

STANDARD = PRESETS[Preset.STANDARD]


def answers(probability: float, same: int, different: int) -> list[AnsweredPair]:
    return [AnsweredPair(probability, True)] * same + [AnsweredPair(probability, False)] * different


def moved(found: list[AnsweredPair], guard: GuardPolicy = STANDARD) -> LearnedBounds:
    made = learned(found, guard, None, 7)
    assert made is not None
    return made


def test_answers_as_expected_move_nothing() -> None:
    assert learned(answers(0.6, 60, 40), STANDARD, None, 7) is None


def test_too_few_answers_move_nothing() -> None:
    most = limits.LEARNED_FROM_MIN - 1
    assert learned(answers(0.5, 10, most - 10), STANDARD, None, 7) is None
    assert learned(answers(0.5, 10, most - 9), STANDARD, None, 7) is not None


def test_more_sameness_than_expected_asks_earlier() -> None:
    made = moved(answers(0.5, 90, 15))
    assert made.likely_from is not None
    assert 0.3 <= made.likely_from < LIKELY_FROM
    assert (made.answer_count, made.same_count, made.learned_us) == (105, 90, 7)
    assert made.shift > 0


def test_less_sameness_than_expected_asks_later() -> None:
    made = moved(answers(0.5, 10, 70))
    assert made.likely_from is not None
    assert LIKELY_FROM < made.likely_from <= 0.7
    assert made.shift < 0


def test_who_only_confirms_lowers_no_bound() -> None:
    assert learned(answers(0.5, 200, 0), STANDARD, None, 7) is None
    assert learned(answers(0.5, 200, 9), STANDARD, None, 7) is None
    assert learned(answers(0.5, 200, 10), STANDARD, None, 7) is not None


def test_certain_goes_down_only_where_enough_answers_are_all_same() -> None:
    low = answers(0.5, 60, 10)
    few, enough = answers(0.76, 40, 0), answers(0.76, 50, 0)
    assert moved([*low, *few]).certain_from == CERTAIN_FROM
    found = moved([*low, *enough]).certain_from
    assert found is not None
    assert 0.75 <= found < 0.76
    wrong = AnsweredPair(0.765, False)
    assert moved([*low, *enough, wrong]).certain_from == CERTAIN_FROM


@pytest.mark.parametrize(("probability", "bound"), [(0.9, 0.91), (0.999, 0.97)])
def test_certain_goes_above_what_a_caller_called_different(
    probability: float, bound: float
) -> None:
    found = [*answers(0.6, 60, 40), AnsweredPair(probability, False)]
    assert moved(found).certain_from == bound


def test_a_bound_that_a_caller_set_stays() -> None:
    less = answers(0.5, 10, 70)
    own = replace(STANDARD, likely_from=0.5)
    made = moved(less, own)
    assert made.likely_from == 0.5
    assert made.certain_from != CERTAIN_FROM
    before = replace(made, likely_from=0.5, certain_from=CERTAIN_FROM)
    again = learned(less, own, before, 8)
    assert again is not None
    assert again.likely_from == moved(less).likely_from


def test_a_frozen_guard_and_one_without_bounds_learn_nothing() -> None:
    less = answers(0.5, 10, 70)
    assert learned(less, replace(STANDARD, learns=False), None, 7) is None
    assert learned(less, PRESETS[Preset.EGO], None, 7) is None


pairs = st.lists(st.tuples(st.floats(0.0, 1.0), st.booleans()), max_size=120)


@given(pairs)
def test_bounds_stay_within_their_limits_and_are_stable(found: list[tuple[float, bool]]) -> None:
    given_answers = [AnsweredPair(*item) for item in found]
    made = learned(given_answers, STANDARD, None, 7)
    assert made == learned(given_answers[::-1], STANDARD, None, 7)
    if made is None:
        return
    assert made.likely_from is not None
    assert made.certain_from is not None
    assert 0.3 <= made.likely_from <= 0.7
    assert 0.75 <= made.certain_from <= 0.97
    after = replace(STANDARD, likely_from=made.likely_from, certain_from=made.certain_from)
    assert learned(given_answers, after, made, 8) is None
    if made.certain_from < CERTAIN_FROM:
        assert all(
            answer.same for answer in given_answers if answer.probability >= made.certain_from
        )
