"""Grouping of a session's memories that say the same. Pure: numbers in, groups out.

Every two members of a group are similar (docs/sources.md, 002, "Greedy Clustering"). This includes
the memories that a member superseded at the end of an earlier session: it stands for them. So a
second run finds nothing new.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from totonoe_core.domain.grouping import complete_link


def groups_of(
    head_of: Sequence[int], head_count: int, pairs: Mapping[tuple[int, int], float]
) -> list[tuple[int, ...]]:
    """Group heads so that all items under them are similar two by two; members by their rank.

    Parameters
    ----------
    head_of : sequence of int
        For each item the head that stands for it. Items 0 .. head_count - 1 are the heads, by
        descending priority, and stand for themselves.
    pairs : mapping of (int, int) to float
        Items that may be together, the smaller number first, and how similar they are. Pairs
        under one head are left out.
    """
    sizes = Counter(head_of)
    met: Counter[tuple[int, int]] = Counter()
    for a, b in pairs:
        one, other = head_of[a], head_of[b]
        met[min(one, other), max(one, other)] += 1
    whole = [pair for pair, count in met.items() if count == sizes[pair[0]] * sizes[pair[1]]]
    return complete_link(whole, range(head_count))


def pair_sum(group: Sequence[int], pairs: Mapping[tuple[int, int], float]) -> float:
    """Add up the similarities of all pairs of a group, in the order of its members."""
    return sum(pairs[min(a, b), max(a, b)] for at, a in enumerate(group) for b in group[at + 1 :])
