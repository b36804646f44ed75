"""Settings of a collection: their checks, and applying changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from totonoe_core.base import limits
from totonoe_core.base.errors import InvalidArgument
from totonoe_core.domain.collections import CollectionInfo
from totonoe_core.domain.policy import (
    PRESETS,
    Action,
    BlastPolicy,
    DecayPolicy,
    DiversityPolicy,
    GuardPolicy,
    Preset,
    RetentionPolicy,
    TidyPolicy,
    Tokenizer,
)
from totonoe_core.domain.records import Source
from totonoe_core.rules import validate

_THRESHOLDS = {
    "likely_from": (0.0, 1.0),
    "shown_from": (0.0, 1.0),
    "certain_from": (0.0, 1.0),
    "judged_from": (-1.0, 1.0),
    "jaccard_above": (0.0, 1.0),
    "cosine_distance_below": (0.0, 2.0),
    "cosine_at_least": (-1.0, 1.0),
    "session_cosine_at_least": (-1.0, 1.0),
}
_GUARD_NUMBERS = {"similar_above": (-1.0, 1.0), "link_distance_below": (0.0, 2.0)}
_BLAST = {"rows_min": (0, limits.MEMORIES_PER_COLLECTION_MAX), "percent": (0.0, 100.0)}
_TIDY = {
    "first_turn": (1, 1_000_000),
    "every_turns": (1, 1_000_000),
    "closes_max": (1, limits.TIDY_CLOSES_MAX),
    "read_max": (1, limits.TIDY_READ_MAX),
}
_RETENTION = {"purge_forgotten_days": (0.0, 36500.0)}
_DECAY = {"rate_per_day": (0.0, 1.0), "min_interval_days": (0.0, 36500.0), "floor": (0.0, 1.0)}
_DECAY_RATES = [name for name in DecayPolicy.__dataclass_fields__ if name not in _DECAY]


def check(info: CollectionInfo) -> None:
    """Raise `InvalidArgument` for a setting out of its range."""
    validate.optional_text(info.description, "description", limits.DESCRIPTION_BYTES_MAX)
    for name, (low, high) in (_THRESHOLDS | _GUARD_NUMBERS).items():
        value = getattr(info.guard, name)
        if value is not None:
            validate.number(value, f"guard.{name}", low, high)
    if info.guard != info.guard.in_order():
        raise InvalidArgument(
            "OUT_OF_RANGE",
            field="guard.shown_from",
            got=info.guard.shown_from,
            allowed=f"at most {info.guard.likely_from}, which guard.likely_from is",
        )
    for item in fields(DiversityPolicy):
        if item.name != "enabled":
            value = getattr(info.diversity, item.name)
            validate.number(value, f"diversity.{item.name}", 0.0, 1.0)
    for name, (low, high) in _DECAY.items():
        validate.number(getattr(info.decay, name), f"decay.{name}", low, high)
    for name in _DECAY_RATES:
        rate = getattr(info.decay, name)
        if rate is not None:
            validate.number(rate, f"decay.{name}", 0.0, 1.0)
    for name, (low, high) in _RETENTION.items():
        validate.number(getattr(info.retention, name), f"retention.{name}", low, high)
    for name, (low, high) in _BLAST.items():
        validate.number(getattr(info.blast, name), f"blast.{name}", low, high)
    for name, (low, high) in _TIDY.items():
        validate.number(getattr(info.tidy, name), f"tidy.{name}", low, high)


def changed(info: CollectionInfo, changes: Sequence[tuple[str, Any]]) -> CollectionInfo:
    """Return the settings after the changes of a `ChangeSettings`, in order, checked.

    A `shown_from` that no change names goes down with `likely_from`.
    """
    for path, value in changes:
        part, _, name = path.partition(".")
        if path == "description":
            info = replace(info, description=value or "")
        elif part == "guard" and name in GuardPolicy.__dataclass_fields__:
            info = replace(info, guard=_guard(info.guard, name, value))
        elif part == "diversity" and name in DiversityPolicy.__dataclass_fields__:
            value = getattr(DiversityPolicy(), name) if value is None else value
            info = replace(info, diversity=replace(info.diversity, **{name: value}))
        elif part == "decay" and name in DecayPolicy.__dataclass_fields__:
            value = getattr(DecayPolicy(), name) if value is None else value
            info = replace(info, decay=replace(info.decay, **{name: value}))
        elif part == "retention" and name in RetentionPolicy.__dataclass_fields__:
            value = getattr(RetentionPolicy(), name) if value is None else value
            info = replace(info, retention=replace(info.retention, **{name: value}))
        elif part == "blast" and name in BlastPolicy.__dataclass_fields__:
            value = getattr(BlastPolicy(), name) if value is None else value
            value = int(value) if name == "rows_min" else value
            info = replace(info, blast=replace(info.blast, **{name: value}))
        elif part == "tidy" and name in TidyPolicy.__dataclass_fields__:
            value = getattr(TidyPolicy(), name) if value is None else value
            info = replace(info, tidy=replace(info.tidy, **{name: value}))
        else:
            raise InvalidArgument(
                "BAD_UPDATE_MASK",
                field="update_mask",
                got=path,
                allowed=(
                    "description, guard.FIELD, diversity.FIELD, decay.FIELD, retention.FIELD,"
                    " blast.FIELD, tidy.FIELD"
                ),
            )
    if "guard.shown_from" not in dict(changes):
        info = replace(info, guard=info.guard.in_order())
    if info.learned is not None and not info.learned.holds(info.guard):
        info = replace(info, learned=None)
    check(info)
    return info


def _guard(policy: GuardPolicy, name: str, value: Any) -> GuardPolicy:
    if name == "preset":
        return replace(PRESETS[Preset(value or Preset.STANDARD)], review_from=policy.review_from)
    if value is None and name not in _THRESHOLDS:
        value = getattr(PRESETS[policy.preset], name)
    if name == "tokenizer":
        value = Tokenizer(value)
    elif name.startswith("on_"):
        value = Action(value)
    elif name == "review_from" and value is not None:
        value = Source(value)
    return replace(policy, **{name: value})
