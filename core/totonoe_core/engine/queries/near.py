"""Clusters of near states, for a plan: by their vectors first, then by their rows.

It runs in the readers' pool, changes nothing, and holds no lock.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from totonoe_core.base import limits
from totonoe_core.domain.calibration import bundled, weights_for
from totonoe_core.domain.collections import CollectionInfo
from totonoe_core.domain.grouping import complete_link
from totonoe_core.domain.keeping import protected, rank
from totonoe_core.domain.queries import ClustersQuery, NearCluster, NearGroups, NearPair, NearQuery
from totonoe_core.domain.records import ANY_TIME, Judgement, Memory, Status, TimeRange, Verdict
from totonoe_core.engine.commands.tidy import tidied_now, window
from totonoe_core.engine.state import paging
from totonoe_core.engine.state.state import CollectionState
from totonoe_core.guard import verdict
from totonoe_core.index import masks
from totonoe_core.index.arrays import View
from totonoe_core.index.collection_index import payload_hash
from totonoe_core.joins.cosine import cosine_pairs
from totonoe_core.kernels.cosine import similarity64
from totonoe_core.store.seam import Rows
from totonoe_core.text.reading.budget import ReadingBudget

_DAY_US = 86_400_000_000


def groups(
    state: CollectionState, rows: Rows, query: NearQuery, now_us: int, stop: threading.Event
) -> NearGroups:
    """Group near states of one state kind, public or the caller's own, by their vectors.

    Pairs have at least one state of the window; the nearest TIDY_PAIRS_MAX are grouped.
    """
    asked = ("tidy", f"{query.distance_below!r}")
    given = paging.position(query.page_token, (int,), *asked)
    index, revision = state.index, state.published.revision
    view = index.view()
    mask = masks.of_status(view, (Status.ACTIVE,))
    mask &= masks.readable(view, index.arrays.agents.find(query.agent_id))
    mask &= tidied_now(index, now_us)(view.column)
    slots = np.flatnonzero(mask)
    numbers = view.take("row", slots)
    after = 0 if given is None else cast(int, given[0])
    within, last = window(numbers, after, state.published.tidy.read_max)
    # Kinds, and private beside public, never mix: each is joined by itself.
    said = view.take("state_kind", slots).astype(np.int64) * 2 + view.take("private", slots)
    pairs: list[tuple[float, int, int]] = []
    for label in np.unique(said).tolist():
        mine = said == label
        changed = slots[mine & within].tolist()
        for found in cosine_pairs(
            view, slots[mine], query.distance_below, changed=changed, stop=stop
        ):
            pairs += zip(found.distance.tolist(), found.a.tolist(), found.b.tolist(), strict=True)
            if len(pairs) > 2 * limits.TIDY_PAIRS_MAX:
                pairs = sorted(pairs)[: limits.TIDY_PAIRS_MAX]
    pairs = sorted(pairs)[: limits.TIDY_PAIRS_MAX]
    grouped = _grouped(view, pairs)
    told = grouped[: query.clusters_max]
    row_of = dict(zip(slots.tolist(), numbers.tolist(), strict=True))
    id_of = rows.ids([row_of[slot] for group in told for slot in group])
    return NearGroups(
        revision=revision,
        groups=tuple(tuple(id_of[row_of[slot]] for slot in group) for group in told),
        read_count=int(np.count_nonzero(within)),
        left_out_count=len(grouped) - len(told),
        next_page_token=paging.token((last,), *asked) if last else "",
    )


def _grouped(view: View, pairs: Sequence[tuple[float, int, int]]) -> list[tuple[int, ...]]:
    """Group items that are pairs two by two, the nearest first, up to the size of a cluster."""
    members = np.array(sorted({slot for _, *both in pairs for slot in both}), np.int64)
    if not len(members):
        return []
    # As `keeping.rank`, by columns; if all of them are equal the older row comes first.
    keys = (
        view.take("row", members),
        -view.take("created", members),
        -view.take("access_count", members),
        -view.take("confidence", members),
    )
    order = members[np.lexsort(keys)].tolist()
    found = complete_link([(a, b) for _, a, b in pairs], order)
    most = limits.TIDY_CLUSTER_MEMORIES_MAX
    # The rest beyond the limit is a cluster of its own.
    parts = [group[at : at + most] for group in found for at in range(0, len(group), most)]
    parts = [part for part in parts if len(part) > 1]
    nearest: dict[int, float] = {}
    for distance, a, b in pairs:
        for slot in (a, b):
            nearest.setdefault(slot, distance)
    place = {slot: at for at, slot in enumerate(order)}
    return sorted(parts, key=lambda part: (min(nearest[slot] for slot in part), place[part[0]]))


def clusters(state: CollectionState, rows: Rows, query: ClustersQuery) -> tuple[NearCluster, ...]:
    """Read the texts of a group of memories, and return its clusters: one, several, or none.

    States that certainly differ are separated.
    """
    info, agent_id = state.published, query.agent_id
    with rows.snapshot():
        group = [row for each in query.memory_ids if (row := rows.row_of_id(each)) is not None]
        read = list(rows.beside.of_model(info.model_number, rows.memories(group).values()))
    memories = [
        memory
        for memory in read
        # It may have changed since the group was made.
        if memory.status is Status.ACTIVE
        and (not memory.fields.private or memory.agent_id == agent_id)
    ]
    members = sorted(state.shown(rows, memories, agent_id), key=rank)
    both = list(itertools.combinations(members, 2))
    nearest_first = sorted(((_cosine(*two), *two) for two in both), key=lambda found: -found[0])
    reading = ReadingBudget(limits.CLUSTER_PIECES_READ_MAX)
    judgements = {
        (first.row, other.row): _judged(info, first, other, cosine, reading)
        for cosine, first, other in nearest_first
    }
    pairs = {
        (first.row, other.row): _pair(
            first, other, cosine, judgements[first.row, other.row].verdict
        )
        for cosine, first, other in nearest_first
    }
    keys = [(first.row, other.row) for first, other in both]
    together = [key for key in keys if not judgements[key].differs]
    by_row = {memory.row: memory for memory in members}
    parts = complete_link(together, [memory.row for memory in members])
    return tuple(_cluster([by_row[row] for row in part], pairs) for part in parts)


def _cluster(members: Sequence[Memory], pairs: dict[tuple[int, int], NearPair]) -> NearCluster:
    own = [pairs[first.row, other.row] for first, other in itertools.combinations(members, 2)]
    return NearCluster(
        state_kind=members[0].fields.state_kind,
        members=tuple(members),
        protected=frozenset(memory.id for memory in members if protected(memory.fields)),
        pairs=tuple(sorted(own, key=lambda pair: (pair.distance, pair.a_id, pair.b_id))),
    )


def _judged(
    info: CollectionInfo, one: Memory, other: Memory, cosine: float, reading: ReadingBudget
) -> Judgement:
    weights = weights_for(info.calibration, info.model)
    budget = ReadingBudget(limits.READ_PIECES_MAX, within=reading)
    compared = verdict.compare(
        one.content, other.content, cosine, weights, budget, bundled=bundled(info.model)
    )
    judged = info.guard.settled(compared.judgement)
    same_payload = payload_hash(one.fields) == payload_hash(other.fields)
    if judged.verdict is Verdict.DUPLICATE and not same_payload:
        # As in the guard: with another payload, or under another key.
        return replace(judged, verdict=Verdict.UPDATE)
    return judged


def _pair(one: Memory, other: Memory, cosine: float, judged: Verdict) -> NearPair:
    own, its = one.fields, other.fields
    return NearPair(
        a_id=one.id,
        b_id=other.id,
        distance=max(0.0, 1.0 - cosine),
        verdict=judged,
        valid_together=_share_a_moment(
            TimeRange(own.valid_from_us, own.valid_to_us),
            TimeRange(its.valid_from_us, its.valid_to_us),
        ),
        about_gap_days=_about_gap_days(own.about_time, its.about_time),
        same_thread=bool(own.thread_id) and own.thread_id == its.thread_id,
        shared_entities=tuple(name for name in own.entities if name in set(its.entities)),
    )


def _about_gap_days(one: TimeRange, other: TimeRange) -> float | None:
    """Return the days between two times; `None` if one is no time."""
    if ANY_TIME in (one, other):
        return None
    gaps_us = [
        second.from_us - first.to_us
        for first, second in ((one, other), (other, one))
        if first.to_us is not None and second.from_us is not None
    ]
    return max([0, *gaps_us]) / _DAY_US


def _share_a_moment(one: TimeRange, other: TimeRange) -> bool:
    """Return whether two ranges overlap. Ranges are half-open: [from, to)."""
    return all(
        first.to_us is None or second.from_us is None or second.from_us < first.to_us
        for first, second in ((one, other), (other, one))
    )


def _cosine(one: Memory, other: Memory) -> float:
    """Return the cosine of two memories; 0 if one has no vector."""
    if not (one.vector and other.vector):
        return 0.0
    own, its = (np.frombuffer(memory.vector, np.float32) for memory in (one, other))
    return float(similarity64(own, its))
