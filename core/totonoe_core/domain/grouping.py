"""Groups in which every two members are a pair (complete link)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def complete_link(pairs: Iterable[tuple[int, int]], order: Sequence[int]) -> list[tuple[int, ...]]:
    """Form the greedy groups of docs/sources.md, 002, "Greedy Clustering", from similar pairs.

    The first item without a group opens one. Later items without a group join it, in order, if they
    are a pair with every member so far. A chain a-b, b-c without the pair a-c is never one group.
    002 takes items as its database returns them; here the caller gives the order, so equal input
    gives equal groups.

    Parameters
    ----------
    pairs : iterable of (int, int)
        Items that may share a group, in any order and either way round; may repeat.
    order : sequence of int
        Each item once, by descending priority. Pairs with other items are ignored.

    Returns
    -------
    list of tuple of int
        Groups of two and more, in the order of their first members; members in order.
    """
    place = {item: at for at, item in enumerate(order)}
    near: dict[int, set[int]] = {}
    for a, b in pairs:
        if a != b and a in place and b in place:
            near.setdefault(a, set()).add(b)
            near.setdefault(b, set()).add(a)
    grouped: set[int] = set()
    groups = []
    for first in order:
        if first in grouped or first not in near:
            continue
        group = [first]
        # Only neighbours of the first can join, and each that joins narrows them down.
        fit = near[first] - grouped
        for item in sorted(fit, key=place.__getitem__):
            if item in fit and place[item] > place[first]:
                group.append(item)
                fit &= near[item] | {item}
        if len(group) > 1:
            grouped.update(group)
            groups.append(tuple(group))
    return groups
