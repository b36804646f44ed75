"""The conditions of a `Filter` on one memory, for what no index holds: the past, and changes.

`index.masks.matching` answers the same for all slots at once; a test holds the two together.
"""

from __future__ import annotations

import numpy as np

from totonoe_core.decay import effective_confidence
from totonoe_core.guard.policy import DecayPolicy
from totonoe_core.index.lexical import label_terms
from totonoe_core.queries import Filter
from totonoe_core.records import ANY_TIME, Memory, Status, TimeRange


def matches(memory: Memory, where: Filter, decay: DecayPolicy, now_us: int) -> bool:
    """Whether a memory meets all conditions of a filter; who may see it is not asked.

    Parameters
    ----------
    memory : Memory
        Confidence fades since its last access, or since it was created if there was none. A
        purged one meets no filter.
    now_us : int
        The moment that `min_confidence` is about, UTC microseconds.
    """
    fields = memory.fields
    if memory.status is Status.PURGED or memory.status not in (where.statuses or (Status.ACTIVE,)):
        return False
    for wanted, value in (
        (where.kinds, fields.kind),
        (where.state_kinds, fields.state_kind),
        (where.categories, fields.category),
        (where.agent_ids, memory.agent_id),
        (where.session_ids, fields.session_id),
        (where.thread_ids, fields.thread_id),
    ):
        if wanted and value not in wanted:
            return False
    for time_us, asked in (
        (memory.created_us, where.created),
        (memory.updated_us, where.updated),
    ):
        if not _overlaps(time_us, time_us + 1, asked):
            return False
    about = fields.about_time
    if where.about != ANY_TIME and (
        about == ANY_TIME or not _overlaps(about.from_us, about.to_us, where.about)
    ):
        return False
    if not _overlaps(fields.valid_from_us, fields.valid_to_us, where.valid):
        return False
    if fields.importance < where.min_importance:
        return False
    terms = label_terms(where.tags, where.entities, where.attributes)
    if terms:
        held = label_terms(fields.tags, fields.entities, fields.attributes)
        if not set(terms).issubset(held):
            return False
    return where.min_confidence <= 0.0 or _confidence(memory, decay, now_us) >= where.min_confidence


def _overlaps(begin: int | None, end: int | None, asked: TimeRange) -> bool:
    """Whether [begin, end) and the range asked share a moment; `None` is an open end."""
    if asked.to_us is not None and begin is not None and begin >= asked.to_us:
        return False
    return asked.from_us is None or end is None or end > asked.from_us


def _confidence(memory: Memory, decay: DecayPolicy, now_us: int) -> float:
    since_us = memory.created_us if memory.last_access_us is None else memory.last_access_us
    fields = memory.fields
    base, since = np.array([fields.confidence]), np.array([since_us], np.int64)
    rates = np.array([decay.rate_of(fields.kind, fields.state_kind)])
    return float(effective_confidence(base, since, decay, now_us, rates)[0])
