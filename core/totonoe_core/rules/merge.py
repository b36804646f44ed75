"""Rules of a Merge: fields and links of the merged memory.

Pure: memories in, plain data out. In every join the memory that stays comes first, then
the others in the order in which they were named; a limit cuts off the last.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from totonoe_core.base import limits
from totonoe_core.domain.records import (
    ANY_TIME,
    Fields,
    Link,
    LinkType,
    Memory,
    TimeRange,
    TypedKey,
    least_trusted,
)

# -- Fields


def joined(
    keep: Memory,
    removed: Sequence[Memory],
    same_key: Callable[[TypedKey | None, TypedKey | None], bool],
) -> Memory:
    """Return the memory that stays with the fields it takes over; text, vector and status stay.

    ======================================  =================================================
    created                                 the earliest
    importance, confidence, salience        the highest
    last confirmed                          the latest
    source                                  the least trusted
    tags, entities, evidence ids            each once, up to their limits; not its own id
    attributes                              the first that has a name wins; what does not fit
                                            in ATTRIBUTES_BYTES_MAX is left out
    valid from / to                         from the earliest to the latest; an open end of
                                            one stays open
    about time                              the same, without those that name no time
    typed key                               its own, or else the only one among the others
    emotion, perception type, life stage    its own, or else the first of the others
    everything else                         its own
    ======================================  =================================================

    Parameters
    ----------
    same_key : callable
        Returns whether two typed keys name the same value.
    """
    everyone = (keep, *removed)
    all_fields = [memory.fields for memory in everyone]
    evidence = (each for source in all_fields for each in source.evidence_ids if each != keep.id)
    about = [source.about_time for source in all_fields if source.about_time != ANY_TIME]
    confirmed = [
        source.last_confirmed_us for source in all_fields if source.last_confirmed_us is not None
    ]
    fields = replace(
        keep.fields,
        importance=max(source.importance for source in all_fields),
        confidence=max(source.confidence for source in all_fields),
        salience=max(source.salience for source in all_fields),
        last_confirmed_us=max(confirmed, default=None),
        source=least_trusted(source.source for source in all_fields),
        tags=_each_once((source.tags for source in all_fields), limits.TAGS_PER_MEMORY_MAX),
        entities=_each_once(
            (source.entities for source in all_fields), limits.ENTITIES_PER_MEMORY_MAX
        ),
        evidence_ids=_each_once((evidence,), limits.EVIDENCE_IDS_PER_MEMORY_MAX),
        attributes=_attributes([source.attributes for source in all_fields]),
        valid_from_us=_first([source.valid_from_us for source in all_fields]),
        valid_to_us=_last([source.valid_to_us for source in all_fields]),
        about_time=TimeRange(
            _first([span.from_us for span in about]), _last([span.to_us for span in about])
        ),
        key=_key(all_fields, same_key),
        emotion=_first_label(source.emotion for source in all_fields),
        perception_type=_first_label(source.perception_type for source in all_fields),
        life_stage=_first_label(source.life_stage for source in all_fields),
        **_expiry(all_fields),
    )
    return replace(keep, fields=fields, created_us=min(memory.created_us for memory in everyone))


def _each_once(values: Iterable[Iterable[str]], limit: int) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each for some in values for each in some))[:limit]


def _first_label(values: Iterable[str]) -> str:
    return next((value for value in values if value), "")


def _attributes(values: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Join attributes: all names, the first value of each, at most ATTRIBUTES_BYTES_MAX as JSON."""
    out: dict[str, Any] = {}
    size = 1  # "{"; each entry ends in a comma or the last in "}"
    for some in values:
        for name, value in some.items():
            if name in out:
                continue
            entry = json.dumps({name: value}, ensure_ascii=False, separators=(",", ":"))
            # Without its braces, with the comma after it.
            more = len(entry.encode()) - 1
            if size + more <= limits.ATTRIBUTES_BYTES_MAX:
                out[name] = value
                size += more
    return out


def _first(times: Sequence[int | None]) -> int | None:
    known = [time for time in times if time is not None]
    return min(known) if known and len(known) == len(times) else None


def _last(times: Sequence[int | None]) -> int | None:
    known = [time for time in times if time is not None]
    return max(known) if known and len(known) == len(times) else None


def _expiry(fields: Sequence[Fields]) -> dict[str, Any]:
    """Join expiry: what one memory keeps for good is kept, else the longest time counts."""
    instant = _last([source.expires_us for source in fields])
    after = [source.expires_after_s for source in fields if source.expires_after_s is not None]
    return {
        "expires_us": instant,
        "expires_after_s": None if instant is None else max(after, default=None),
    }


def _key(
    fields: Sequence[Fields], same_key: Callable[[TypedKey | None, TypedKey | None], bool]
) -> TypedKey | None:
    if fields[0].key is not None:
        return fields[0].key
    keys = [source.key for source in fields if source.key is not None]
    return keys[0] if keys and all(same_key(keys[0], key) for key in keys) else None


# -- Links

Ends = tuple[int, LinkType]
"""Row of the other end, and the holder's relation to it."""


def links_after(
    own: Iterable[tuple[int, Link]], brought: Iterable[tuple[int, Link]], merged: set[int]
) -> dict[Ends, Link]:
    """Return the links that the remaining memory holds after a merge.

    Links among the merged memories are dropped. Of doubles (same end, same type) the one with the
    highest confidence stays, at a tie its own. Of more than LINKS_PER_MEMORY_MAX the strongest
    stay.

    Parameters
    ----------
    own, brought : iterable of (int, Link)
        (row of the other end, link) of the one that stays and of the others.
    merged : set of int
        Rows of all of them.
    """
    best: dict[Ends, Link] = {}
    for target, link in (*own, *brought):
        if target in merged:
            continue
        held = best.get((target, link.type))
        if held is None or link.confidence > held.confidence:
            best[target, link.type] = link
    # A stable sort: of equally strong links its own come first.
    strongest = sorted(best.items(), key=lambda item: -item[1].confidence)
    return dict(strongest[: limits.LINKS_PER_MEMORY_MAX])
