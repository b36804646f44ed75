"""EndSession: what a session said several times over is said by one memory.

items    what may be grouped (heads), and what they took the place of at the end of sessions
pairs    by exact joins of tokens or vectors, the nearest; then both texts are read: what
         updates or contradicts the other stays apart
groups   complete link, in the order of `keeping.rank`
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from totonoe_core import keeping, limits, sessions
from totonoe_core.cleanup import (
    THRESHOLDS,
    EndSession,
    Group,
    GroupBy,
    Measure,
    Replaced,
    SessionEnded,
    SessionPlan,
)
from totonoe_core.decay import recalled_lately
from totonoe_core.engine import fading, planning
from totonoe_core.engine.futures import shutting_down
from totonoe_core.engine.ledger import Ledger, Operation
from totonoe_core.engine.state import CollectionState
from totonoe_core.guard import verdict
from totonoe_core.guard.calibration import weights_for
from totonoe_core.index import masks
from totonoe_core.index.arrays import View
from totonoe_core.index.collection_index import CollectionIndex, key_hash, payload_hash
from totonoe_core.joins.cosine import cosine_pairs
from totonoe_core.joins.jaccard import jaccard_pairs
from totonoe_core.kernels.cosine import similarity64
from totonoe_core.records import Memory, Status, Verdict
from totonoe_core.store.reader import Rows
from totonoe_core.text.normalize import snippet

CONSOLIDATABLE_MIN = 3
"""Fewer in the whole session: nothing happens (002, "Algorithm", step 2)."""
_APART = frozenset({Verdict.UPDATE, Verdict.CONTRADICTION})

_Pairs = dict[tuple[int, int], float]


@dataclass(frozen=True, slots=True)
class _Items:
    """Heads by rank, then what they stand for: slots and memories, and whose they are."""

    slots: NDArray[np.int64]
    memories: Sequence[Memory]
    head_of: NDArray[np.int64]
    head_count: int


def plan(
    state: CollectionState, rows: Rows, command: EndSession, now_us: int, stop: threading.Event
) -> SessionPlan:
    """What an EndSession would do.

    Raises `Unavailable` (SHUTTING_DOWN) when `stop` is set meanwhile.
    """
    index, view = state.index, state.index.view()
    heads, left_out_count = _heads(index, view, rows, command)
    groups: list[Group] = []
    unread_count, taken = 0, np.zeros(0, np.int64)
    gone: list[Memory] = []
    if len(heads) >= CONSOLIDATABLE_MIN:
        items = _with_followers(index, view, rows, command, heads)
        near, unread_count = _near(view, items, command, stop)
        pairs = _read(state, view, items, command, near, stop)
        found = sessions.groups_of(items.head_of.tolist(), items.head_count, pairs)
        last_us = view.take("last_access", items.slots)
        recalled = recalled_lately(last_us, now_us)
        for numbers in found:
            members = [items.memories[number] for number in numbers]
            groups.append(_group(numbers, members, pairs, recalled))
            gone += members
        taken = items.slots[[number for numbers in found for number in numbers[1:]]]
    ended = SessionEnded(
        groups=tuple(groups),
        consolidatable_count=len(heads),
        decay=fading.report(state, view, command.agent_id, now_us, without=taken),
        left_out_count=left_out_count,
        unread_pair_count=unread_count,
    )
    return SessionPlan(ended, planning.seen(gone))


def apply(ledger: Ledger, operation: Operation, command: EndSession) -> SessionEnded:
    """Supersedes what was planned; a group of which anything changed since stays as it is."""
    planned = command.plan
    assert planned is not None
    memories = planning.unchanged(ledger, planned.seen)
    groups = tuple(
        group
        for group in planned.ended.groups
        if {group.kept_id, *(one.memory_id for one in group.superseded)} <= memories.keys()
    )
    for group in groups:
        for one in group.superseded:
            ledger.supersede(operation, memories[one.memory_id], group.kept_id)
    return replace(planned.ended, groups=groups)


# -- What may be grouped


def _heads(
    index: CollectionIndex, view: View, rows: Rows, command: EndSession
) -> tuple[list[tuple[int, Memory]], int]:
    """(slot, memory) of what may be grouped, the most wanted first, and how many are left out."""
    mask = planning.live(index, view, command.agent_id) & _asked(index, view, command)
    slots = np.flatnonzero(mask & ~planning.protected(index, view))
    slots, left_out_count = _newest(view, slots)
    counts = dict(zip(slots.tolist(), view.take("access_count", slots).tolist(), strict=True))
    found = [
        (slot, replace(memory, access_count=counts[slot]))
        for slot, memory in planning.read(rows, view, slots)
        if not keeping.protected(memory.fields)
    ]
    return sorted(found, key=lambda one: keeping.rank(one[1])), left_out_count


def _asked(index: CollectionIndex, view: View, command: EndSession) -> planning.Mask:
    """Slots of the session, or of the agent."""
    if command.by is GroupBy.SESSION:
        name, code = "session", index.arrays.sessions.find(command.session_id)
    else:
        name, code = "agent", index.arrays.agents.find(command.agent_id)
    mask: planning.Mask = view.column(name) == code
    return mask


def _newest(view: View, slots: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """The newest SESSION_MEMORIES_MAX, and how many are older."""
    order = np.lexsort((view.take("row", slots), view.take("created", slots)))
    kept = slots[order[-limits.SESSION_MEMORIES_MAX :]]
    return kept, len(slots) - len(kept)


def _with_followers(
    index: CollectionIndex,
    view: View,
    rows: Rows,
    command: EndSession,
    heads: Sequence[tuple[int, Memory]],
) -> _Items:
    """The heads, and what an EndSession put them in the place of."""
    mask = masks.of_status(view, (Status.SUPERSEDED,))
    mask &= masks.readable(view, index.arrays.agents.find(command.agent_id))
    slots, _ = _newest(view, np.flatnonzero(mask & _asked(index, view, command)))
    kinds: dict[int, str] = {}
    earlier: dict[str, tuple[int, Memory]] = {}
    for slot, memory in planning.read(rows, view, slots, status=Status.SUPERSEDED):
        if memory.revision not in kinds:
            made = rows.history.operation(memory.revision)
            kinds[memory.revision] = "" if made is None else made.kind
        if kinds[memory.revision] == EndSession.__name__:
            earlier[memory.id] = slot, memory
    number = {memory.id: at for at, (_, memory) in enumerate(heads)}
    followers, head_of = [], list(range(len(heads)))
    for slot, memory in earlier.values():
        by = memory.superseded_by
        # A chain has no cycles.
        while by in earlier:
            by = earlier[by][1].superseded_by
        if by in number:
            followers.append((slot, memory))
            head_of.append(number[by])
    everything = [*heads, *followers]
    return _Items(
        slots=np.array([slot for slot, _ in everything], np.int64),
        memories=[memory for _, memory in everything],
        head_of=np.array(head_of, np.int64),
        head_count=len(heads),
    )


# -- Pairs


def _near(
    view: View, items: _Items, command: EndSession, stop: threading.Event
) -> tuple[_Pairs, int]:
    """The nearest pairs above the threshold that may be one, and how many more there are."""
    order = np.argsort(items.slots)
    slots, room = items.slots[order], _rooms(items)
    # Kept sorted all along: what is cut off does not depend on the order in which pairs come.
    similarity = np.zeros(0)
    pairs = np.zeros((2, 0), np.int64)
    count = 0
    for a, b, found in _joined(view, items.slots, command, stop):
        both = np.sort(order[np.searchsorted(slots, np.stack([a, b]))], axis=0)
        fits = (room[both[0]] == room[both[1]]) & (items.head_of[both[0]] != items.head_of[both[1]])
        count += int(np.count_nonzero(fits))
        pairs = np.concatenate([pairs, both[:, fits]], axis=1)
        similarity = np.concatenate([similarity, found[fits]])
        best = np.lexsort((pairs[1], pairs[0], -similarity))[: limits.SESSION_PAIRS_READ_MAX]
        pairs, similarity = pairs[:, best], similarity[best]
    if stop.is_set():
        raise shutting_down()
    near = dict(zip(zip(*pairs.tolist(), strict=True), similarity.tolist(), strict=True))
    return near, count - len(near)


def _joined(
    view: View, slots: NDArray[np.int64], command: EndSession, stop: threading.Event
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]]:
    """Slots and similarities of all pairs above the threshold."""
    above = THRESHOLDS[command.measure] if command.threshold is None else command.threshold
    if command.measure is Measure.JACCARD:
        for found in jaccard_pairs(view, slots, above, stop=stop):
            yield found.a, found.b, found.similarity
    else:
        for near in cosine_pairs(view, slots, 1.0 - above, stop=stop):
            yield near.a, near.b, 1.0 - near.distance


def _rooms(items: _Items) -> NDArray[np.int64]:
    """A number for each item: only those with the same may be one.

    Category as 002 has it; and nobody may lose sight of what is public, nor a value of a key, a
    state or a payload of its own.
    """
    known: dict[tuple[object, ...], int] = {}
    numbers = [
        known.setdefault(
            (
                fields.category,
                fields.state_kind,
                fields.private,
                key_hash(fields.key),
                payload_hash(fields),
            ),
            len(known),
        )
        for fields in (memory.fields for memory in items.memories)
    ]
    return np.array(numbers, np.int64)[items.head_of]


def _read(
    state: CollectionState,
    view: View,
    items: _Items,
    command: EndSession,
    near: _Pairs,
    stop: threading.Event,
) -> _Pairs:
    """Those pairs whose texts, once read, do not stand against each other."""
    info = state.published
    weights = weights_for(info.calibration, info.model)
    fits: Callable[[Verdict], bool] = (
        Verdict.DUPLICATE.__eq__
        if command.measure is Measure.VERDICT
        else lambda found: found not in _APART
    )
    pairs: _Pairs = {}
    for (a, b), similarity in near.items():
        if stop.is_set():
            raise shutting_down()
        vectors = view.vectors(items.slots[[a, b]])
        cosine = float(similarity64(vectors[0], vectors[1]))
        one, other = items.memories[a].content, items.memories[b].content
        if fits(verdict.judged(one, other, cosine, weights).verdict):
            pairs[a, b] = similarity
    return pairs


# -- The answer


def _group(
    numbers: Sequence[int],
    members: Iterable[Memory],
    pairs: _Pairs,
    recalled: NDArray[np.bool_],
) -> Group:
    kept, *others = members
    first, *rest = numbers
    return Group(
        kept_id=kept.id,
        snippet=snippet(kept.content, limits.SNIPPET_CHARS),
        category=kept.fields.category,
        superseded=tuple(
            Replaced(
                one.id,
                kept.id,
                pairs[first, number],
                snippet(one.content, limits.SNIPPET_CHARS),
                bool(recalled[number]),
            )
            for number, one in zip(rest, others, strict=True)
        ),
        pair_sum=sessions.pair_sum(numbers, pairs),
    )
