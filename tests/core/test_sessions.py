"""Groups of a session: a pure function, whatever the order in which pairs come."""

from __future__ import annotations

import itertools
import random

import pytest

from totonoe_core.rules.sessions import groups_of, pair_sum


def near(*pairs: tuple[int, int]) -> dict[tuple[int, int], float]:
    return {pair: 0.6 + sum(pair) / 100 for pair in pairs}


def test_every_two_of_a_group_are_a_pair() -> None:
    assert groups_of(range(4), 4, near((0, 1), (1, 2), (0, 2), (2, 3))) == [(0, 1, 2)]
    assert groups_of(range(3), 3, near((0, 1), (1, 2))) == [(0, 1)]
    assert groups_of(range(3), 3, {}) == []


def test_a_head_joins_only_with_all_that_it_stands_for() -> None:
    # 2 and 3 are what 0 and 1 took the place of.
    head_of = [0, 1, 0, 1]
    whole = list(itertools.product((0, 2), (1, 3)))
    pairs = near(*(tuple(sorted(pair)) for pair in whole))  # type: ignore[misc]
    assert groups_of(head_of, 2, pairs) == [(0, 1)]
    for missing in pairs:
        rest = {pair: judged for pair, judged in pairs.items() if pair != missing}
        assert groups_of(head_of, 2, rest) == []


def test_groups_of_shuffled_pairs_are_equal_and_a_second_run_finds_none() -> None:
    seeded = random.Random(3)
    for _ in range(100):
        count = seeded.randrange(3, 14)
        every = list(itertools.combinations(range(count), 2))
        chosen = seeded.sample(every, seeded.randrange(len(every) + 1))
        pairs = near(*chosen)
        groups = groups_of(range(count), count, pairs)
        shuffled = dict(seeded.sample(sorted(pairs.items()), len(pairs)))
        assert groups_of(range(count), count, shuffled) == groups
        assert all(
            pair in pairs for group in groups for pair in itertools.combinations(sorted(group), 2)
        )
        # Those that stay, in their order, then the others under them.
        head = list(range(count))
        for first, *others in groups:
            for other in others:
                head[other] = first
        stays = [at for at in range(count) if head[at] == at]
        items = [*stays, *(at for at in range(count) if head[at] != at)]
        number = {item: at for at, item in enumerate(items)}
        head_of = [number[head[item]] for item in items]
        again = {}
        for (a, b), similarity in pairs.items():
            if head[a] != head[b]:
                again[tuple(sorted((number[a], number[b])))] = similarity
        assert groups_of(head_of, len(stays), again) == []  # type: ignore[arg-type]


def test_similarities_are_added_up_over_all_pairs() -> None:
    pairs = near((0, 2), (0, 3), (2, 3), (1, 2))
    assert pair_sum((3, 0, 2), pairs) == pytest.approx(0.63 + 0.62 + 0.65)
