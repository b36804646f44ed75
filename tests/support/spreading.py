"""Slow twin of `search/diversity.py`: one candidate at a time, in plain Python.

It imports nothing of the package and is the specification of the picks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

NEAR_FROM, RELEVANCE_SHARE_MIN = 0.8, 0.5


def spread(
    relevance: Sequence[float],
    vectors: Sequence[Sequence[float]],
    groups: Sequence[tuple[Sequence[int], float]],
    mmr_lambda: float,
    k: int,
) -> tuple[list[int], list[list[int]]]:
    """Picked candidates in order, and for each place the candidates that a budget kept waiting.

    Candidates less than half as relevant as the best that waits are passed over. Each of the others
    either fits a budget or does not. Those that may be picked are the ones whose
    answers, the most important budget first, are the best that any waiting candidate has.
    """
    k = min(k, len(relevance))
    picked: list[int] = []
    kept_waiting: list[list[int]] = []
    for _ in range(k):
        waiting = [number for number in range(len(relevance)) if number not in picked]
        strong = [
            number
            for number in waiting
            if relevance[number] >= RELEVANCE_SHARE_MIN * relevance[waiting[0]]
        ]
        answers = {
            number: tuple(fits(codes, share, number, picked, k) for codes, share in groups)
            for number in strong
        }
        best = max(answers.values())
        choice = [number for number in strong if answers[number] == best]
        chosen, chosen_gain = -1, -math.inf
        for number in choice:
            nearest = max([0.0, *(dot(vectors[number], vectors[other]) for other in picked)])
            repeats = max(0.0, nearest - NEAR_FROM) / (1.0 - NEAR_FROM)
            gain = mmr_lambda * relevance[number] / relevance[0] - (1 - mmr_lambda) * repeats
            if gain > chosen_gain + 1e-9:
                chosen, chosen_gain = number, gain
        kept_waiting.append(
            [number for number in strong if number not in choice and number < chosen]
        )
        picked.append(chosen)
    return picked, kept_waiting


def fits(codes: Sequence[int], share: float, one: int, picked: Sequence[int], k: int) -> bool:
    """Whether the group of a candidate has a place left, or the candidate is in no group."""
    taken = sum(codes[other] == codes[one] for other in picked)
    return codes[one] < 0 or taken < max(1, math.ceil(share * k))


def dot(one: Sequence[Any], other: Sequence[Any]) -> float:
    """Inner product."""
    return sum(float(x) * float(y) for x, y in zip(one, other, strict=True))
