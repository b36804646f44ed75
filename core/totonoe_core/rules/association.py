"""Spreading activation over links: ranks the memories that can be reached from given ones.

The idea is Collins & Loftus, "A Spreading-Activation Theory of Semantic Processing" (1975):
activation flows from a memory along its links, becomes weaker with every step, and adds up where
several paths meet. docs/sources.md, 001 spreads from a memory over its links in the same way.

    a(s) = 1                                         for a start s
    a(m) = min(1, sum over links p -> m of a(p) * confidence * hop_decay)

where m belongs to the hop at which it is first reached, and p runs over the memories of the hop
before: what flows back, sideways or by longer ways does not count. So, as long as nothing exceeds
1, a(m) is the sum over all shortest ways of the product of confidence * hop_decay of their links.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from totonoe_core.domain.records import Link

LOOKED_AT_ONCE = 64
"""Memories whose links are read together; reads beyond `links_max` are at most theirs."""


@dataclass(frozen=True, slots=True)
class ReachedMemory:
    """A memory that activation reached: `via` is the link from `via_id` that contributed most."""

    depth: int
    activation: float
    via_id: str
    via: Link


@dataclass(frozen=True, slots=True)
class Spread:
    """The reached memories by id, without the starts. `truncated` if it left links out."""

    reached: dict[str, ReachedMemory]
    truncated: bool


def spread(
    starts: Iterable[str],
    links_of: Callable[[Sequence[str]], Mapping[str, Sequence[Link]]],
    follows: Callable[[Link], bool],
    *,
    depth: int,
    hop_decay: float,
    links_max: int,
) -> Spread:
    """Spread activation from some memories, hop by hop, by the formula above.

    The answer depends on the links alone, not on the order in which they come: sums are exact
    (`math.fsum`), and ties are broken by id.

    A hop looks at its memories by activation, then id, each with all its links. The first memory
    whose links would exceed `links_max`, those behind it and all farther hops are left out.

    Parameters
    ----------
    starts : iterable of str
        Ids of activation 1. They are never reached.
    links_of : callable
        The links that some ids hold, read together, at most LOOKED_AT_ONCE ids.
    follows : callable
        Returns whether activation flows along a link; it is called for every link.
    depth : int
        Hops at most, from 1.
    hop_decay : float
        Share of activation that each hop passes on, above 0 to 1.
    links_max : int
        Links that are looked at, followed or not.
    """
    known = set(starts)
    hop = dict.fromkeys(known, 1.0)
    reached: dict[str, ReachedMemory] = {}
    left = links_max
    for number in range(1, depth + 1):
        arriving: dict[str, list[tuple[float, str, Link]]] = {}
        for memory_id, links in _in_order(hop, links_of):
            left -= len(links)
            if left < 0:
                break
            flow = hop[memory_id] * hop_decay
            for link in links:
                if link.target_id not in known and follows(link):
                    arrived = flow * link.confidence, memory_id, link
                    arriving.setdefault(link.target_id, []).append(arrived)
        found = {target: _reached(number, ways) for target, ways in arriving.items()}
        reached.update(found)
        if left < 0:
            return Spread(reached, truncated=True)
        known.update(found)
        hop = {memory_id: near.activation for memory_id, near in found.items()}
    return Spread(reached, truncated=False)


def _in_order(
    hop: Mapping[str, float], links_of: Callable[[Sequence[str]], Mapping[str, Sequence[Link]]]
) -> Iterator[tuple[str, Sequence[Link]]]:
    """Yield the memories of a hop with their links, by activation, then id."""
    ordered = sorted(hop, key=lambda memory_id: (-hop[memory_id], memory_id))
    for start in range(0, len(ordered), LOOKED_AT_ONCE):
        part = ordered[start : start + LOOKED_AT_ONCE]
        links = links_of(part)
        for memory_id in part:
            yield memory_id, links[memory_id]


def _reached(depth: int, ways: Sequence[tuple[float, str, Link]]) -> ReachedMemory:
    activation = min(1.0, math.fsum(flow for flow, _, _ in ways))
    _, via_id, via = min(ways, key=lambda way: (-way[0], way[1], way[2].type))
    return ReachedMemory(depth, activation, via_id, via)
