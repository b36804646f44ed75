"""Boolean masks over a view that select slots."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from totonoe_core.domain.decay import effective_confidence
from totonoe_core.domain.filter import ORDERING, Filter, Operator
from totonoe_core.domain.policy import DecayPolicy
from totonoe_core.domain.records import (
    ANY_TIME,
    FILE_CATEGORY,
    TRUST,
    Kind,
    Source,
    Status,
    TimeRange,
)
from totonoe_core.index.arrays import (
    KINDS,
    NO_TIME,
    RETIRED,
    STATE_KINDS,
    STATUSES,
    Names,
    View,
)
from totonoe_core.index.collection_index import CollectionIndex
from totonoe_core.index.lexical import label_terms, namespace_terms, value_term
from totonoe_core.kernels.masks import select_visible

Mask = NDArray[np.bool_]


def readable(view: View, agent_code: int) -> Mask:
    """Return slots that an agent may see: public ones and its own."""
    mask: Mask = (view.column("private") == 0) | (view.column("agent") == agent_code)
    return mask


def files(index: CollectionIndex, view: View) -> Mask:
    """Return slots of whole files (`records.FILE_CATEGORY`)."""
    mask: Mask = view.column("category") == index.arrays.categories.find(FILE_CATEGORY)
    return mask


def compared(index: CollectionIndex, view: View) -> Mask:
    """Return slots that the guard and clean-up compare: `records.Fields.compared`."""
    mask: Mask = (view.column("kind") == KINDS[Kind.STATE]) & ~files(index, view)
    return mask


def of_status(view: View, statuses: Collection[Status]) -> Mask:
    """Return slots of some statuses: of each memory the newest version in the view.

    A purged one has no status.

    A retired slot was live, and still is to a reader whose view ends before its next version.
    """
    mask = np.isin(view.column("status"), _codes_of(statuses))
    return mask & (view.column("replaced_by") >= view.count)


def _codes_of(statuses: Collection[Status]) -> list[int]:
    codes = [STATUSES[status] for status in statuses if status is not Status.PURGED]
    if Status.ACTIVE in statuses:
        codes.append(RETIRED)
    return codes


def visible(view: View, statuses: Collection[Status], agent_code: int) -> Mask:
    """Return slots of some statuses that an agent may see: `of_status` and `readable` at once."""
    wanted, out = np.zeros(256, np.uint8), np.empty(view.count, np.uint8)
    wanted[_codes_of(statuses)] = 1
    for base, size, chunk in view.parts():
        columns, where = chunk.columns, slice(base, base + size)
        select_visible(
            columns["status"][:size],
            columns["replaced_by"][:size],
            columns["private"][:size],
            columns["agent"][:size],
            wanted,
            view.count,
            agent_code,
            out[where],
        )
    return out.view(np.bool_)


def matching(
    index: CollectionIndex,
    view: View,
    where: Filter,
    agent_id: str,
    decay: DecayPolicy,
    now_us: int,
) -> Mask:
    """Return slots that meet all conditions of a filter, for an agent."""
    arrays = index.arrays
    agent_code = arrays.agents.find(agent_id)
    mask = _visible_now(index, view, where.statuses or (Status.ACTIVE,), agent_code, now_us)
    if where.kinds:
        mask &= np.isin(view.column("kind"), [KINDS[kind] for kind in where.kinds])
    if where.state_kinds:
        codes = [STATE_KINDS[kind] for kind in where.state_kinds]
        mask &= np.isin(view.column("state_kind"), codes)
    if where.sources:
        mask &= np.isin(view.column("source"), [TRUST[source] for source in where.sources])
    if where.min_source is not Source.EXTERNAL:
        mask &= view.column("source") >= TRUST[where.min_source]
    for column, names, wanted in (
        ("category", arrays.categories, where.categories),
        ("agent", arrays.agents, where.agent_ids),
        ("session", arrays.sessions, where.session_ids),
        ("thread", arrays.threads, where.thread_ids),
    ):
        if wanted:
            mask &= np.isin(view.column(column), _codes(names, wanted))
    for column, time_range in (("created", where.created), ("updated", where.updated)):
        if time_range != ANY_TIME:
            times = view.column(column)
            mask &= _overlaps(times, times + 1, time_range)
    if where.about != ANY_TIME:
        begin, end = view.column("about_from"), view.column("about_to")
        mask &= ((begin != NO_TIME) | (end != NO_TIME)) & _overlaps(begin, end, where.about)
    if where.valid != ANY_TIME:
        mask &= _overlaps(view.column("valid_from"), view.column("valid_to"), where.valid)
    if where.min_importance > 0:
        mask &= view.column("importance") >= where.min_importance
    if where.min_confidence > 0.0:
        mask &= confidences(view, decay, now_us) >= where.min_confidence
    terms = label_terms(where.tags, where.entities, where.attributes)
    terms += namespace_terms(where.namespace_prefix)[-1:]
    terms += [
        value_term(comparison.path, comparison.value)
        for comparison in where.comparisons
        if comparison.operator is Operator.EQ
    ]
    if terms:
        mask &= _held(index.labels.slots_with_all(terms), len(mask))
    for comparison in where.comparisons:
        if comparison.operator is Operator.NE:
            slots = index.labels.slots_with_all([value_term(comparison.path, comparison.value)])
            mask &= ~_held(slots, len(mask))
        elif comparison.operator in ORDERING:
            mask &= _held(index.numbers.slots_where(comparison, index.labels.key), len(mask))
    return mask


def recalled(
    index: CollectionIndex,
    view: View,
    where: Filter,
    agent_id: str,
    decay: DecayPolicy,
    now_us: int,
) -> Mask:
    """Return slots that a Recall searches: those of its filter, whole files only if it names them.

    `search.filters.not_recalled` says the same of one memory.
    """
    mask = matching(index, view, where, agent_id, decay, now_us)
    if FILE_CATEGORY in where.categories or index.arrays.categories.find(FILE_CATEGORY) == -1:
        return mask
    return mask & ~files(index, view)


def _visible_now(
    index: CollectionIndex,
    view: View,
    statuses: Collection[Status],
    agent_code: int,
    now_us: int,
) -> Mask:
    """Return `visible` slots at a time: from its instant on a memory counts as forgotten."""
    mask = visible(view, statuses, agent_code)
    expired = index.expired(view, now_us)
    if expired is not None:
        mask &= ~expired
        if Status.FORGOTTEN in statuses:
            mask |= visible(view, tuple(Status), agent_code) & expired
    return mask


def _held(slots: NDArray[np.int32], count: int) -> Mask:
    """Return the mask of some slots; those from `count` on are newer than the view."""
    held = np.zeros(count, np.bool_)
    held[slots[slots < count]] = True
    return held


def confidences(view: View, decay: DecayPolicy, now_us: int) -> NDArray[np.float64]:
    """Return each slot's effective confidence: float64[view.count]."""
    rates = decay_rates(view, decay)
    return effective_confidence(*decay_columns(view), decay, now_us, rates)


def decay_columns(view: View) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return base confidence, and the time from which decay counts (last access, else creation)."""
    last_access = view.column("last_access")
    since = np.where(last_access == NO_TIME, view.column("created"), last_access)
    return view.column("confidence"), since


_RATED = tuple((kind, state) for kind in KINDS for state in STATE_KINDS)


def decay_rates(view: View, decay: DecayPolicy) -> NDArray[np.float64] | None:
    """Return loss a day of each slot: float64[view.count]; `None` if all have the same."""
    rates = np.array([decay.rate_of(kind, state) for kind, state in _RATED])
    if (rates == decay.rate_per_day).all():
        return None
    kinds = view.column("kind").astype(np.int64)
    of_slots: NDArray[np.float64] = rates[kinds * len(STATE_KINDS) + view.column("state_kind")]
    return of_slots


def _codes(names: Names, wanted: tuple[str, ...]) -> list[int]:
    return [names.find(name) for name in wanted]


def _overlaps(begin: NDArray[np.int64], end: NDArray[np.int64], asked: TimeRange) -> Mask:
    """Return whether [begin, end) and the requested range overlap; NO_TIME is an open end."""
    mask = np.ones(len(begin), np.bool_)
    if asked.to_us is not None:
        mask &= (begin == NO_TIME) | (begin < asked.to_us)
    if asked.from_us is not None:
        mask &= (end == NO_TIME) | (end > asked.from_us)
    return mask
