"""EndSession: replaces memories that repeat each other in a session by one of them.

items    memories that may be grouped (heads), and those they superseded at the end of sessions
pairs    the nearest, by exact joins of tokens or vectors; then both texts are read: pairs that
         update or contradict each other stay apart
groups   complete link, in the order of `keeping.rank`
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from totonoe_core.base import limits
from totonoe_core.domain import keeping
from totonoe_core.domain.calibration import CAREFUL, bundled, weights_for
from totonoe_core.domain.cleanup import (
    THRESHOLDS,
    EndSession,
    Group,
    GroupBy,
    Measure,
    ReplacedMemory,
    SessionEnded,
    SessionPlan,
)
from totonoe_core.domain.decay import recalled_lately
from totonoe_core.domain.records import Memory, Status, Verdict
from totonoe_core.engine.commands import decay as fading
from totonoe_core.engine.commands import planning
from totonoe_core.engine.state.futures import shutting_down
from totonoe_core.engine.state.ledger import Ledger, Operation
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.guard import verdict
from totonoe_core.index import masks
from totonoe_core.index.arrays import View
from totonoe_core.index.collection_index import CollectionIndex, key_hash, payload_hash
from totonoe_core.joins.cosine import cosine_pairs
from totonoe_core.joins.jaccard import jaccard_pairs
from totonoe_core.kernels.cosine import similarity64
from totonoe_core.kernels.jaccard import jaccard_pair
from totonoe_core.rules import sessions
from totonoe_core.store.seam import Rows
from totonoe_core.text.normalize import snippet
from totonoe_core.text.reading.budget import ReadingBudget

CONSOLIDATABLE_MIN = 3
"""A session with fewer stays as it is (docs/sources.md, 002, "Algorithm", step 2)."""

_Pairs = dict[tuple[int, int], float]


@dataclass(frozen=True, slots=True)
class _Items:
    """Heads by rank, then the memories that they stand for: slots, memories, and their heads."""

    slots: NDArray[np.int64]
    memories: Sequence[Memory]
    head_of: NDArray[np.int64]
    head_count: int


def plan(
    state: CollectionState, rows: Rows, command: EndSession, now_us: int, stop: threading.Event
) -> SessionPlan:
    """Plan an EndSession.

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
        pairs, over_budget_count = _read(state, view, items, command, near, stop)
        unread_count += over_budget_count
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
    """Supersede as planned; a group with any change since stays as it is."""
    planned = command.plan
    assert planned is not None
    memories = planning.unchanged(ledger, planned.seen)
    groups = tuple(
        group
        for group in planned.ended.groups
        if {group.kept_id, *(memory.memory_id for memory in group.superseded)} <= memories.keys()
    )
    for group in groups:
        for memory in group.superseded:
            ledger.supersede(operation, memories[memory.memory_id], group.kept_id)
    return replace(planned.ended, groups=groups)


# -- Memories that may be grouped


def _heads(
    index: CollectionIndex, view: View, rows: Rows, command: EndSession
) -> tuple[list[tuple[int, Memory]], int]:
    """Return (slot, memory) of the heads, by rank, and how many are left out."""
    mask = planning.live(index, view, command.agent_id) & _asked(index, view, command)
    slots = np.flatnonzero(mask & ~planning.protected(index, view))
    slots, left_out_count = _newest(view, slots)
    counts = dict(zip(slots.tolist(), view.take("access_count", slots).tolist(), strict=True))
    found = [
        (slot, replace(memory, access_count=counts[slot]))
        for slot, memory in planning.read(rows, view, slots)
        if not keeping.protected(memory.fields)
    ]
    return sorted(found, key=lambda item: keeping.rank(item[1])), left_out_count


def _asked(index: CollectionIndex, view: View, command: EndSession) -> planning.Mask:
    """Return slots of the session, or of the agent."""
    if command.by is GroupBy.SESSION:
        name, code = "session", index.arrays.sessions.find(command.session_id)
    else:
        name, code = "agent", index.arrays.agents.find(command.agent_id)
    mask: planning.Mask = view.column(name) == code
    return mask


def _newest(view: View, slots: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """Return the newest SESSION_MEMORIES_MAX, and the number of older ones."""
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
    """Return the heads, and the memories that an EndSession superseded by them."""
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
    """Return the nearest pairs above the threshold that may be one, and the number of others."""
    order = np.argsort(items.slots)
    slots, room = items.slots[order], _rooms(items)
    # Always kept sorted, so that the cut does not depend on the order of the pairs.
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
    """Yield slots and similarities of all pairs above the threshold."""
    above = THRESHOLDS[command.measure] if command.threshold is None else command.threshold
    if command.measure is Measure.JACCARD:
        for pairs in jaccard_pairs(view, slots, above, stop=stop):
            yield pairs.a, pairs.b, pairs.similarity
    else:
        for near in cosine_pairs(view, slots, 1.0 - above, stop=stop):
            yield near.a, near.b, 1.0 - near.distance


def _rooms(items: _Items) -> NDArray[np.int64]:
    """Number each item: only items with the same number may be one.

    Items differ by category, as in docs/sources.md, 002. They also differ so that no public memory
    is lost from sight, nor a key's value, a state kind, a source or a payload.
    """
    known: dict[tuple[object, ...], int] = {}
    numbers = [
        known.setdefault(
            (
                fields.category,
                fields.state_kind,
                fields.private,
                fields.source,
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
) -> tuple[_Pairs, int]:
    """Return the pairs whose texts do not certainly differ, the nearest first.

    Also returns the number of pairs that were not read to their end, and are undecided.
    """
    info = state.published
    weights = weights_for(info.calibration, info.model)
    by_verdict = command.measure is Measure.VERDICT
    pairs: _Pairs = {}
    unread_count = 0
    reading = ReadingBudget(limits.SESSION_PIECES_READ_MAX)
    for (a, b), similarity in near.items():
        if stop.is_set():
            raise shutting_down()
        slots = items.slots[[a, b]]
        one, other = items.memories[a].content, items.memories[b].content
        if view.has_vector(slots).all():
            similarity_read, by = float(similarity64(*view.vectors(slots))), weights
            known = bundled(info.model)
        else:
            similarity_read, by = jaccard_pair(*map(view.tokens, slots.tolist())), CAREFUL
            known = False
        budget = ReadingBudget(limits.READ_PIECES_MAX, within=reading)
        compared = verdict.compare(one, other, similarity_read, by, budget, bundled=known)
        judgement = info.guard.settled(compared.judgement)
        if judgement.over_budget:
            unread_count += 1
        elif judgement.verdict is Verdict.DUPLICATE if by_verdict else not judgement.differs:
            pairs[a, b] = similarity
    return pairs, unread_count


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
            ReplacedMemory(
                memory.id,
                kept.id,
                pairs[first, number],
                snippet(memory.content, limits.SNIPPET_CHARS),
                bool(recalled[number]),
            )
            for number, memory in zip(rest, others, strict=True)
        ),
        pair_sum=sessions.pair_sum(numbers, pairs),
    )
