"""Conditions of a `Filter` on one memory, for the past and for changes, which no index holds.

`index.masks.matching` does the same for all slots at once; a test keeps the two equal.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from totonoe_core.domain.decay import effective_confidence
from totonoe_core.domain.filter import Comparison, Filter, Operator
from totonoe_core.domain.policy import DecayPolicy
from totonoe_core.domain.records import ANY_TIME, FILE_CATEGORY, TRUST, Memory, Status, TimeRange
from totonoe_core.index.lexical import label_terms, value_term


class Unmet(NamedTuple):
    """A condition of a `Filter`, by the name of its field, that a memory does not meet.

    `asked` and `held` are the values of filter and memory; for conditions of several values (tags,
    entities, attributes) `asked` is the missing ones.
    """

    condition: str
    asked: Any
    held: Any


def matches(memory: Memory, where: Filter, decay: DecayPolicy, now_us: int) -> bool:
    """Return whether a memory meets all conditions of a filter; sight is not checked.

    Parameters
    ----------
    memory : Memory
        Confidence fades since its last access, or since it was created if there was none. A
        purged one meets no filter.
    now_us : int
        The time for `min_confidence`, UTC microseconds.
    """
    return next(unmet(memory, where, decay, now_us), None) is None


def unmet(memory: Memory, where: Filter, decay: DecayPolicy, now_us: int) -> Iterator[Unmet]:
    """Yield the conditions of a filter that a memory does not meet; arguments as for `matches`."""
    fields = memory.fields
    statuses = where.statuses or (Status.ACTIVE,)
    if memory.status is Status.PURGED or memory.status not in statuses:
        yield Unmet("statuses", statuses, memory.status)
    for name, wanted, value in (
        ("kinds", where.kinds, fields.kind),
        ("state_kinds", where.state_kinds, fields.state_kind),
        ("sources", where.sources, fields.source),
        ("categories", where.categories, fields.category),
        ("agent_ids", where.agent_ids, memory.agent_id),
        ("session_ids", where.session_ids, fields.session_id),
        ("thread_ids", where.thread_ids, fields.thread_id),
    ):
        if wanted and value not in wanted:
            yield Unmet(name, wanted, value)
    for name, time_us, asked in (
        ("created", memory.created_us, where.created),
        ("updated", memory.updated_us, where.updated),
    ):
        if not _overlaps(time_us, time_us + 1, asked):
            yield Unmet(name, asked, TimeRange(time_us, time_us + 1))
    about = fields.about_time
    if where.about != ANY_TIME and (
        about == ANY_TIME or not _overlaps(about.from_us, about.to_us, where.about)
    ):
        yield Unmet("about", where.about, about)
    if not _overlaps(fields.valid_from_us, fields.valid_to_us, where.valid):
        yield Unmet("valid", where.valid, TimeRange(fields.valid_from_us, fields.valid_to_us))
    if fields.importance < where.min_importance:
        yield Unmet("min_importance", where.min_importance, fields.importance)
    if TRUST[fields.source] < TRUST[where.min_source]:
        yield Unmet("min_source", where.min_source, fields.source)
    for name in ("tags", "entities"):
        held = getattr(fields, name)
        missing = tuple(wanted for wanted in getattr(where, name) if wanted not in held)
        if missing:
            yield Unmet(name, missing, held)
    if where.attributes:
        own = set(label_terms((), (), fields.attributes))
        lacking = {
            key: value
            for key, value in where.attributes.items()
            if not own.issuperset(label_terms((), (), {key: value}))
        }
        if lacking:
            yield Unmet("attributes", lacking, fields.attributes)
    unlike = tuple(
        comparison
        for comparison in where.comparisons
        if not _compares(fields.attributes, comparison)
    )
    if unlike:
        yield Unmet("comparisons", unlike, fields.attributes)
    prefix = where.namespace_prefix
    if fields.namespace[: len(prefix)] != prefix:
        yield Unmet("namespace_prefix", prefix, fields.namespace)
    if where.min_confidence > 0.0:
        confidence = confidence_now(memory, decay, now_us)
        if confidence < where.min_confidence:
            yield Unmet("min_confidence", where.min_confidence, confidence)


def not_recalled(memory: Memory, where: Filter, decay: DecayPolicy, now_us: int) -> Iterator[Unmet]:
    """Yield why a Recall leaves a memory out: the unmet conditions, or that it is a whole file."""
    yield from unmet(memory, where, decay, now_us)
    if memory.fields.category == FILE_CATEGORY and not where.categories:
        yield Unmet("categories", (f"any but {FILE_CATEGORY}",), FILE_CATEGORY)


_ORDERED: dict[Operator, Callable[[float, float], bool]] = {
    Operator.GT: operator.gt,
    Operator.GTE: operator.ge,
    Operator.LT: operator.lt,
    Operator.LTE: operator.le,
}


def _compares(attributes: dict[str, Any], asked: Comparison) -> bool:
    """Return whether the value at a path of attributes meets a comparison."""
    held: Any = attributes
    for key in asked.path:
        if not isinstance(held, dict) or key not in held:
            return asked.operator is Operator.NE
        held = held[key]
    if asked.operator in _ORDERED:
        return type(held) in (int, float) and _ORDERED[asked.operator](held, asked.value)
    same = value_term(asked.path, held) == value_term(asked.path, asked.value)
    return same is (asked.operator is Operator.EQ)


def _overlaps(begin: int | None, end: int | None, asked: TimeRange) -> bool:
    """Return whether [begin, end) and the requested range overlap; `None` is an open end."""
    if asked.to_us is not None and begin is not None and begin >= asked.to_us:
        return False
    return asked.from_us is None or end is None or end > asked.from_us


def confidence_now(memory: Memory, decay: DecayPolicy, now_us: int) -> float:
    """Return a memory's effective confidence at a time, UTC microseconds."""
    since_us = memory.created_us if memory.last_access_us is None else memory.last_access_us
    fields = memory.fields
    base, since = np.array([fields.confidence]), np.array([since_us], np.int64)
    rates = np.array([decay.rate_of(fields.kind, fields.state_kind)])
    return float(effective_confidence(base, since, decay, now_us, rates)[0])
