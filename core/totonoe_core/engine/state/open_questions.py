"""Open questions of a collection that an agent may be asked: those of which it may read both sides.

A question is not stored. It is a link `likely_same` or `may_replace` between two live memories
whose pair is not dismissed.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from totonoe_core.base import limits
from totonoe_core.domain.records import Memory
from totonoe_core.engine.state.sight import may_see
from totonoe_core.store.records import AskedPair, PairPlace
from totonoe_core.store.seam import Rows

_READ_AT_ONCE = 256
TOP: PairPlace = (2.0, 0, 0)
"""Above every pair: no confidence reaches it."""

Open = tuple[AskedPair, Memory, Memory]
"""A pair, and its memories in the order of their rows."""


def below(
    rows: Rows, agent_id: str | None, place: PairPlace = TOP, about: int = 0
) -> Iterator[Open]:
    """Yield the open questions below a place, those of the most confident link first.

    `agent_id` `None` yields all. A row in `about` yields those about one memory.
    """
    while True:
        if about:
            part = rows.questions.of_row(about, place)
        else:
            part = rows.questions.below(place, _READ_AT_ONCE)
        memories = rows.memories(sorted({row for pair in part for row in (pair.low, pair.high)}))
        for pair in part:
            one, other = memories.get(pair.low), memories.get(pair.high)
            if one is not None and other is not None and _may_ask(agent_id, one, other):
                yield pair, one, other
        if about or len(part) < _READ_AT_ONCE:
            return
        place = part[-1][:3]


def _may_ask(agent_id: str | None, *both: Memory) -> bool:
    return agent_id is None or all(may_see(memory, agent_id) for memory in both)


def count(rows: Rows, agent_id: str | None) -> int:
    """Return the number of open questions, at most QUESTIONS_COUNTED_MAX."""
    return sum(1 for _ in islice(below(rows, agent_id), limits.QUESTIONS_COUNTED_MAX))
