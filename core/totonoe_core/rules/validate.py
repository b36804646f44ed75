"""Checks of requests, before anything is queued or changed.

Every function raises `InvalidArgument` that names field, value and allowed range, and never quotes
the text of a memory. Vectors come out as unit float32.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from totonoe_core.base import ids, limits
from totonoe_core.base.errors import InvalidArgument, over_limit
from totonoe_core.base.names import check as named
from totonoe_core.domain.calibration import FALSE_MERGE_BUDGET_MAX
from totonoe_core.domain.cleanup import CleanUpDuplicates, Decay, EndSession, GroupBy
from totonoe_core.domain.collections import Calibrate, ChangeSettings
from totonoe_core.domain.commands import Command
from totonoe_core.domain.consolidate import (
    DISTANCE_BELOW_MAX,
    JACCARD_ABOVE_MAX,
    JACCARD_ABOVE_MIN,
    ConsolidateQuery,
    ReplayEvents,
)
from totonoe_core.domain.dismissals import Dismiss, Undismiss
from totonoe_core.domain.expiry import Expire
from totonoe_core.domain.filter import NO_FILTER, ORDERING, Comparison, Filter
from totonoe_core.domain.graph import CreateEpisode, DeleteEpisode, LinkMemories, UnlinkMemories
from totonoe_core.domain.memories import Forget, Merge, Purge, Remember, Update
from totonoe_core.domain.queries import (
    NamespacesQuery,
    NearQuery,
    NeighborsQuery,
    OperationFilter,
    RecallMode,
    RecallQuery,
)
from totonoe_core.domain.questions import Answer, Resolve, Review
from totonoe_core.domain.records import Fields, Kind, StateKind, TimeRange
from totonoe_core.domain.tidy import ApplyTidyPlan, Tidy, TidyUpsert
from totonoe_core.domain.transfer import ImportRows
from totonoe_core.domain.undo import Undo
from totonoe_core.rules.audit import AuditQuery
from totonoe_core.text.normalize import shows_nothing

SETTABLE = frozenset(Fields.__dataclass_fields__) - {"kind", "created_us", "key"} | {
    "content",
    "vector",
}
"""Names that an update mask may contain."""


SIMILARITY_ABOVE_MAX = 1.0 - 1e-9
"""Highest threshold that a similarity can still exceed."""


def text(value: str, field: str, limit_bytes: int = limits.CONTENT_BYTES_MAX) -> None:
    """Check a text that must not be empty: a visible character, no NUL, within the limit."""
    if shows_nothing(value):
        raise InvalidArgument(
            "EMPTY_TEXT", field=field, got="blank text", allowed="text with a visible character"
        )
    optional_text(value, field, limit_bytes)


def optional_text(value: str, field: str, limit_bytes: int) -> None:
    """Check a text that may be empty: no NUL, valid Unicode, within the limit."""
    if "\0" in value:
        raise InvalidArgument(
            "NUL_IN_TEXT", field=field, got="a NUL character", allowed="text without NUL"
        )
    try:
        size = len(value) if value.isascii() else len(value.encode())
    except UnicodeEncodeError:
        raise InvalidArgument(
            "MALFORMED_MESSAGE", field=field, got="a lone surrogate", allowed="valid Unicode"
        ) from None
    if size > limit_bytes:
        raise over_limit(field, f"{size} bytes", limit_bytes)


def number(value: float, field: str, low: float, high: float) -> None:
    """Check that a number is finite and within [low, high]."""
    if not (math.isfinite(value) and low <= value <= high):
        raise InvalidArgument("OUT_OF_RANGE", field=field, got=value, allowed=f"{low} to {high}")


def count(size: int, field: str, limit: int, least: int = 0) -> None:
    """Check that a list's length is within [least, limit]."""
    if size > limit:
        raise over_limit(field, size, limit)
    if size < least:
        raise InvalidArgument("MISSING_FIELD", field=field, got=size, allowed=f"at least {least}")


def labels(values: Iterable[str], field: str, limit: int) -> None:
    """Check a list of non-empty labels."""
    values = tuple(values)
    count(len(values), field, limit)
    for value in values:
        text(value, field, limits.NAME_BYTES_MAX)


def time_range(value: TimeRange, field: str) -> None:
    """Check that a range ends after it begins."""
    if value.from_us is not None and value.to_us is not None and value.to_us <= value.from_us:
        raise InvalidArgument(
            "BAD_TIME", field=field, got="an end not after its beginning", allowed="from < to"
        )


def json_object(value: dict[str, Any], field: str, limit_bytes: int) -> None:
    """Check size and depth of a JSON object."""
    if not value:
        return
    _depth(value, field, 1)
    size = len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())
    if size > limit_bytes:
        raise over_limit(field, f"{size} bytes of JSON", limit_bytes)


def _depth(value: Any, field: str, depth: int) -> None:
    if depth > limits.STRUCT_DEPTH_MAX:
        raise over_limit(
            field,
            f"more than {limits.STRUCT_DEPTH_MAX} levels",
            f"{limits.STRUCT_DEPTH_MAX} levels",
        )
    if isinstance(value, dict):
        for item in value.values():
            _depth(item, field, depth + 1)
    elif isinstance(value, list):
        for item in value:
            _depth(item, field, depth + 1)
    elif isinstance(value, float) and not math.isfinite(value):
        raise InvalidArgument("OUT_OF_RANGE", field=field, got=value, allowed="finite numbers")


def vector(value: bytes, field: str, dimension: int) -> NDArray[np.float32]:
    """Return unit float32[dimension] from little-endian float32 bytes."""
    if len(value) != 4 * dimension:
        raise InvalidArgument(
            "DIMENSION_MISMATCH",
            field=field,
            got=f"{len(value)} bytes",
            allowed=f"{4 * dimension} bytes ({dimension} float32)",
        )
    wide = np.frombuffer(value, dtype="<f4").astype(np.float64)
    # The squares of finite float32 have a finite sum, and no other number has.
    norm = math.sqrt(np.square(wide).sum())
    if not math.isfinite(norm):
        raise InvalidArgument(
            "NON_FINITE_VECTOR", field=field, got="NaN or infinity", allowed="finite numbers"
        )
    if norm == 0.0:
        raise InvalidArgument(
            "ZERO_VECTOR", field=field, got="length 0", allowed="a vector that is not zero"
        )
    wide /= norm
    return wide.astype(np.float32)


def memory_id(value: str, field: str) -> None:
    """Check the name of a memory: its id, or `ext:` and an external id.

    A name of another form is that of no memory, which whoever looks it up reports.
    """
    if value.startswith("ext:"):
        text(value[4:], field, limits.EXTERNAL_ID_BYTES_MAX)
    elif not value:
        raise _bad_memory_id(value, field)
    else:
        named(value, field, limits.EXTERNAL_ID_BYTES_MAX)


def evidence_id(value: str, field: str) -> None:
    """Check a memory id that is stored and not looked up, or `ext:` and an external id."""
    if value.startswith("ext:"):
        memory_id(value, field)
    elif not ids.MEMORY_ID.match(value):
        raise _bad_memory_id(value, field)


def _bad_memory_id(value: str, field: str) -> InvalidArgument:
    return InvalidArgument(
        "BAD_NAME", field=field, got=repr(value[:64]), allowed="mem_ and 12 to 32 hex digits"
    )


def episode_id(value: str, field: str) -> None:
    """Check an id of an episode."""
    if not ids.EPISODE_ID.match(value):
        raise InvalidArgument(
            "BAD_NAME", field=field, got=repr(value[:64]), allowed="ep_ and 12 to 32 hex digits"
        )


def expected_revisions(values: tuple[tuple[str, int], ...]) -> None:
    """Check (id, revision) pairs of memories that must not have changed."""
    count(len(values), "expected_revisions", limits.IDS_PER_REQUEST_MAX)
    for name, revision in values:
        memory_id(name, "expected_revisions")
        number(revision, "expected_revisions", 1, 2**62)


def id_list(values: tuple[str, ...], field: str) -> None:
    """Check a list of 1 to 1,000 ids."""
    count(len(values), field, limits.IDS_PER_REQUEST_MAX, 1)
    for value in values:
        memory_id(value, field)


def collection_name(value: str) -> None:
    """Check a name for a collection."""
    if not ids.COLLECTION_NAME.match(value):
        raise InvalidArgument(
            "BAD_NAME",
            field="collection",
            got=repr(value[:80]),
            allowed=f"1 to {limits.COLLECTION_NAME_CHARS_MAX} of a-z 0-9 _ . -,"
            " beginning with a letter or digit",
        )


def operation_id(value: str) -> None:
    """Check an operation id, which may be empty."""
    named(value, "operation_id", limits.OPERATION_ID_BYTES_MAX)


_LABELS = ("category", "emotion", "perception_type", "life_stage", "session_id", "thread_id")


def field_names(value: Fields) -> None:
    """Check that the names in the fields of a new memory show what they are.

    Rows of an import are not checked for it: what an older daemon stored comes back.
    """
    for name in _LABELS:
        named(getattr(value, name), "memory." + name)
    if value.key is not None:
        named(value.key.subject, "memory.key.subject")
        named(value.key.attribute, "memory.key.attribute")
    for field in ("tags", "entities"):
        for label in getattr(value, field):
            named(label, "memory." + field)


def fields(value: Fields, now_us: int, prefix: str = "memory.") -> None:
    """Check all fields of a memory to be written."""
    for name in _LABELS:
        optional_text(getattr(value, name), prefix + name, limits.NAME_BYTES_MAX)
    optional_text(value.external_id, prefix + "external_id", limits.EXTERNAL_ID_BYTES_MAX)
    if value.key is not None:
        for name in ("subject", "attribute"):
            text(getattr(value.key, name), f"{prefix}key.{name}", limits.NAME_BYTES_MAX)
        if value.kind is not Kind.STATE:
            raise InvalidArgument(
                "UNKNOWN_ENUM",
                field=prefix + "kind",
                got=value.kind.value,
                allowed="state, for a memory with a key",
            )
    labels(value.tags, prefix + "tags", limits.TAGS_PER_MEMORY_MAX)
    labels(value.entities, prefix + "entities", limits.ENTITIES_PER_MEMORY_MAX)
    count(len(value.evidence_ids), prefix + "evidence_ids", limits.EVIDENCE_IDS_PER_MEMORY_MAX)
    for item in value.evidence_ids:
        evidence_id(item, prefix + "evidence_ids")
    json_object(value.attributes, prefix + "attributes", limits.ATTRIBUTES_BYTES_MAX)
    json_object(value.payload, prefix + "payload", limits.PAYLOAD_BYTES_MAX)
    number(value.importance, prefix + "importance", limits.IMPORTANCE_MIN, limits.IMPORTANCE_MAX)
    number(value.confidence, prefix + "confidence", 0.0, 1.0)
    number(value.salience, prefix + "salience", 0.0, 1.0)
    if value.kind is Kind.STATE and value.state_kind is StateKind.NONE:
        raise InvalidArgument(
            "UNKNOWN_ENUM", field=prefix + "state_kind", got="none", allowed="a state kind"
        )
    if value.kind is not Kind.STATE and value.state_kind is not StateKind.NONE:
        raise InvalidArgument(
            "UNKNOWN_ENUM",
            field=prefix + "state_kind",
            got=value.state_kind.value,
            allowed=f"none, for kind {value.kind.value}",
        )
    names(value.namespace, prefix + "namespace")
    if value.expires_after_s is not None and not (
        0.0 < value.expires_after_s <= limits.EXPIRES_AFTER_S_MAX
    ):
        raise InvalidArgument(
            "OUT_OF_RANGE",
            field=prefix + "expires_after_s",
            got=value.expires_after_s,
            allowed=f"above 0, at most {limits.EXPIRES_AFTER_S_MAX}",
        )
    time_range(value.about_time, prefix + "about_time")
    time_range(TimeRange(value.valid_from_us, value.valid_to_us), prefix + "valid_to_time")
    latest_us = now_us + limits.CLOCK_SKEW_ALLOWED_S * 1_000_000
    if value.created_us is not None and value.created_us > latest_us:
        raise InvalidArgument(
            "BAD_TIME",
            field=prefix + "created_time",
            got="a time in the future",
            allowed="up to now",
        )


def names(value: tuple[str, ...], field: str, least: int = 0) -> None:
    """Check the names of a namespace, or of a part of one."""
    count(len(value), field, limits.NAMESPACE_NAMES_MAX, least)
    for name in value:
        if not name:
            raise InvalidArgument(
                "EMPTY_TEXT", field=field, got="an empty name", allowed="names that are not empty"
            )
        optional_text(name, field, limits.NAME_BYTES_MAX)


def expiry(value: Fields, now_us: int) -> None:
    """Check the instant of a memory to be written. An import may bring one that is past."""
    if value.expires_us is not None and value.expires_us <= now_us:
        raise InvalidArgument(
            "BAD_TIME",
            field="memory.expires_time",
            got="a time that is past",
            allowed="a time to come",
        )


def touching(touch: bool, past: bool) -> None:
    """Check that a read of the past counts no access."""
    if touch and past:
        raise InvalidArgument(
            "OUT_OF_RANGE", field="touch", got="true", allowed="false with `as_of`"
        )


def namespaces(value: NamespacesQuery) -> None:
    """Check the query of a ListNamespaces."""
    named(value.agent_id, "agent_id")
    where(value.filter)
    count(len(value.patterns), "patterns", limits.NAMESPACE_PATTERNS_MAX)
    for pattern in value.patterns:
        names(pattern.names, "patterns.names", 1)
    number(value.max_depth, "max_depth", 0, limits.NAMESPACE_NAMES_MAX)
    number(value.limit, "limit", 1, limits.PAGE_SIZE_MAX)
    number(value.offset, "offset", 0, 2**31 - 1)


def comparison(value: Comparison) -> None:
    """Check a comparison of attributes."""
    field = "filter.comparisons"
    count(len(value.path), f"{field}.path", limits.STRUCT_DEPTH_MAX, 1)
    for key in value.path:
        optional_text(key, f"{field}.path", limits.NAME_BYTES_MAX)
    json_object({"value": value.value}, f"{field}.value", limits.ATTRIBUTES_BYTES_MAX)
    if value.operator in ORDERING and type(value.value) not in (int, float):
        raise InvalidArgument(
            "OUT_OF_RANGE",
            field=f"{field}.value",
            got=_JSON_NAMES.get(type(value.value), "another type"),
            allowed=f"a number, for {value.operator.value}",
        )


_JSON_NAMES = {str: "a string", bool: "a boolean", dict: "an object", list: "a list"}


def command(value: Command, now_us: int) -> None:
    """Check one command, as far as possible without the collection."""
    named(value.agent_id, "agent_id")
    match value:
        case Remember():
            _remember(value, now_us)
        case Update():
            _update(value, now_us)
        case Forget() | Purge():
            id_list(value.ids, "ids")
            optional_text(value.reason, "reason", limits.REASON_BYTES_MAX)
            if isinstance(value, Forget):
                expected_revisions(value.expected_revisions)
        case Merge():
            _merge(value)
        case Undo():
            _undo(value)
        case CreateEpisode():
            text(value.summary, "episode.summary")
            id_list(value.memory_ids, "episode.memory_ids")
            number(
                value.importance,
                "episode.importance",
                limits.IMPORTANCE_MIN,
                limits.IMPORTANCE_MAX,
            )
        case DeleteEpisode():
            episode_id(value.episode_id, "id")
            optional_text(value.reason, "reason", limits.REASON_BYTES_MAX)
        case Resolve():
            _resolve(value)
        case Review():
            memory_id(value.memory_id, "memory_id")
            number(value.expected_revision, "expected_revision", 0, 2**62)
            optional_text(value.reason, "reason", limits.REASON_BYTES_MAX)
        case Dismiss() | Undismiss():
            memory_id(value.id_a, "id_a")
            memory_id(value.id_b, "id_b")
            optional_text(value.reason, "reason", limits.REASON_BYTES_MAX)
        case LinkMemories() | UnlinkMemories():
            memory_id(value.source_id, "source_id")
            memory_id(value.target_id, "target_id")
            if isinstance(value, LinkMemories):
                number(value.confidence, "confidence", 0.0, 1.0)
                optional_text(value.note, "note", limits.NOTE_BYTES_MAX)
        case ChangeSettings():
            count(len(value.changes), "update_mask", 64, 1)
            optional_text(value.reason, "reason", limits.REASON_BYTES_MAX)
            number(value.expected_revision, "expected_revision", 0, 2**62)
        case EndSession():
            _end_session(value)
        case CleanUpDuplicates():
            number(value.limit, "limit", 1, limits.DOUBLES_PER_RUN_MAX)
            optional_text(value.reason, "reason", limits.REASON_BYTES_MAX)
        case Decay():
            if value.close_below is not None:
                number(value.close_below, "close_below", 0.0, 1.0)
            number(value.limit, "limit", 1, limits.DECAY_CLOSED_MAX)
            optional_text(value.reason, "reason", limits.REASON_BYTES_MAX)
        case Tidy():
            number(value.limit, "limit", 0, limits.TIDY_CLOSES_MAX)
            optional_text(value.reason, "reason", limits.REASON_BYTES_MAX)
        case ApplyTidyPlan():  # `tidy_plan.check` checks its updates
            optional_text(value.reason, "reason", limits.REASON_BYTES_MAX)
        case TidyUpsert():
            pass
        case Calibrate():
            number(value.false_merge_budget, "false_merge_budget", 0.0, FALSE_MERGE_BUDGET_MAX)
        case ImportRows():
            # Each record was checked when its line was read.
            count(len(value.records), "records", limits.IMPORT_BATCH_LINES)
        case Expire():  # the daemon's own
            count(len(value.ids), "ids", limits.EXPIRED_PER_OPERATION_MAX)
        case ReplayEvents():
            number(value.max_events, "max_replay_events", 1, limits.REPLAY_EVENTS_MAX)


def _resolve(value: Resolve) -> None:
    memory_id(value.memory_id, "memory_id")
    memory_id(value.other_id, "other_id")
    optional_text(value.reason, "reason", limits.REASON_BYTES_MAX)
    for name in ("expected_revision", "other_expected_revision"):
        number(getattr(value, name), name, 0, 2**62)
    if value.content:
        text(value.content, "content")
    if (value.content or value.vector) and value.answer is not Answer.SAME:
        raise InvalidArgument(
            "BAD_MERGE",
            field="content",
            got=f"a text with the answer {value.answer.value}",
            allowed="none: only memories that say the same become one",
        )


def _remember(value: Remember, now_us: int) -> None:
    text(value.content, "memory.content")
    fields(value.fields, now_us)
    field_names(value.fields)
    expiry(value.fields, now_us)
    count(len(value.supersede_ids), "supersede_ids", limits.SUPERSEDE_IDS_MAX)
    for name in ("cosine_distance_below", "link_distance_below"):
        if (distance := getattr(value, name)) is not None:
            number(distance, name, 0.0, 2.0)
    if value.links_max is not None:
        number(value.links_max, "links_max", 0, limits.AUTO_LINKS_PER_REMEMBER_MAX)
    for superseded_id in value.supersede_ids:
        memory_id(superseded_id, "supersede_ids")
    count(len(value.distinct_from), "distinct_from", limits.DISTINCT_FROM_MAX)
    for distinct_id in value.distinct_from:
        memory_id(distinct_id, "distinct_from")
    if value.supersede_ids and value.fields.kind is not Kind.STATE:
        raise InvalidArgument(
            "UNKNOWN_ENUM",
            field="memory.kind",
            got=value.fields.kind.value,
            allowed="state, for a memory that takes the place of others",
        )


def _update(value: Update, now_us: int) -> None:
    memory_id(value.memory_id, "memory_id")
    if not value.mask or not SETTABLE.issuperset(value.mask):
        raise InvalidArgument(
            "BAD_UPDATE_MASK",
            field="update_mask",
            got=", ".join(sorted(set(value.mask) - SETTABLE)) or "nothing",
            allowed=", ".join(sorted(SETTABLE)),
        )
    if "content" in value.mask:
        text(value.content, "memory.content")
    fields(value.fields, now_us)
    field_names(value.fields)
    if "expires_us" in value.mask:
        expiry(value.fields, now_us)
    optional_text(value.reason, "reason", limits.REASON_BYTES_MAX)
    number(value.expected_revision, "expected_revision", 0, 2**62)


def _merge(value: Merge) -> None:
    memory_id(value.keep_id, "keep_id")
    count(len(value.remove_ids), "remove_ids", limits.MERGE_IDS_MAX, 1)
    for removed_id in value.remove_ids:
        memory_id(removed_id, "remove_ids")
    if value.content:
        text(value.content, "content")
    elif value.vector:
        raise InvalidArgument(
            "MISSING_FIELD", field="content", got="nothing", allowed="a text with a vector"
        )
    optional_text(value.reason, "reason", limits.REASON_BYTES_MAX)
    expected_revisions(value.expected_revisions)


def _undo(value: Undo) -> None:
    number(value.revision, "target_revision", 0, 2**62)
    optional_text(value.operation_id, "target_operation_id", limits.OPERATION_ID_BYTES_MAX)
    if bool(value.revision) is bool(value.operation_id):
        raise InvalidArgument(
            "MISSING_FIELD",
            field="target",
            got="revision 0 and no operation id" if not value.revision else "both",
            allowed="a revision from 1 on, or an operation id",
        )
    optional_text(value.reason, "reason", limits.REASON_BYTES_MAX)


def _end_session(value: EndSession) -> None:
    name, allowed = (
        ("session_id", "session") if value.by is GroupBy.SESSION else ("agent_id", "agent")
    )
    if not getattr(value, name):
        raise InvalidArgument("MISSING_FIELD", field=name, got="nothing", allowed=f"a {allowed}")
    named(value.session_id, "session_id")
    if value.by is GroupBy.AGENT and value.session_id:
        raise InvalidArgument(
            "OUT_OF_RANGE", field="session_id", got="a session", allowed="none, by agent"
        )
    if value.threshold is not None:
        number(value.threshold, "threshold", 0.0, SIMILARITY_ABOVE_MAX)
    optional_text(value.reason, "reason", limits.REASON_BYTES_MAX)


def neighbors(value: NeighborsQuery) -> None:
    """Check the query of a Neighbors."""
    named(value.agent_id, "agent_id")
    count(len(value.ids), "ids", limits.NEIGHBOR_SEEDS_MAX, 1)
    for item in value.ids:
        memory_id(item, "ids")
    number(value.depth, "depth", 1, limits.NEIGHBOR_DEPTH_MAX)
    number(value.limit, "limit", 1, limits.NEIGHBORS_MAX)
    count(len(value.types), "types", limits.FILTER_VALUES_MAX)
    number(value.min_confidence, "min_confidence", 0.0, 1.0)
    number(value.hop_decay, "hop_decay", 0.01, 1.0)


def audit(value: AuditQuery) -> None:
    """Check the query of an Audit."""
    named(value.agent_id, "agent_id")
    number(value.days, "days", 1, limits.AUDIT_DAYS_MAX)
    number(value.confidence_below, "confidence_below", 0.0, 1.0)


def near(value: NearQuery) -> None:
    """Check the query for near states of a Tidy."""
    named(value.agent_id, "agent_id")
    number(value.distance_below, "distance_below", 1e-6, NEAR_DISTANCE_MAX)
    number(value.clusters_max, "clusters_max", 1, limits.TIDY_CLUSTERS_MAX)


NEAR_DISTANCE_MAX = 0.5
"""Beyond this distance states have little in common, and too many are pairs."""


def consolidate(value: ConsolidateQuery) -> None:
    """Check the query of a Consolidate."""
    named(value.agent_id, "agent_id")
    number(value.window_hours, "window_hours", 0.0, limits.WINDOW_HOURS_MAX)
    number(value.distance_below, "distance_below", 0.0, DISTANCE_BELOW_MAX)
    if value.jaccard_above is not None:
        number(value.jaccard_above, "jaccard_above", JACCARD_ABOVE_MIN, JACCARD_ABOVE_MAX)
    number(value.max_merge_candidates, "max_merge_candidates", 0, limits.MERGE_CANDIDATES_MAX)
    number(value.max_replay_events, "max_replay_events", 0, limits.REPLAY_EVENTS_MAX)
    number(value.since_revision, "since_revision", 0, 2**62)


def operations(value: OperationFilter) -> None:
    """Check the conditions of a ListOperations."""
    for name in ("agent_ids", "kinds"):
        values = getattr(value, name)
        count(len(values), name, limits.FILTER_VALUES_MAX)
        for item in values:
            optional_text(item, name, limits.NAME_BYTES_MAX)
    time_range(value.time, "time")
    if value.memory_id:
        memory_id(value.memory_id, "memory_id")
    optional_text(value.reason_contains, "reason_contains", limits.REASON_BYTES_MAX)


def where(value: Filter) -> None:
    """Check the filter of a Recall or List."""
    if value is NO_FILTER:
        return
    for name in ("categories", "tags", "agent_ids", "session_ids", "thread_ids", "entities"):
        values = getattr(value, name)
        count(len(values), "filter." + name, limits.FILTER_VALUES_MAX)
        for item in values:
            optional_text(item, "filter." + name, limits.NAME_BYTES_MAX)
    for name in ("kinds", "state_kinds", "statuses", "sources"):
        count(len(getattr(value, name)), "filter." + name, limits.FILTER_VALUES_MAX)
    for name in ("created", "updated", "about", "valid"):
        time_range(getattr(value, name), "filter." + name)
    number(value.min_confidence, "filter.min_confidence", 0.0, 1.0)
    number(value.min_importance, "filter.min_importance", 0, limits.IMPORTANCE_MAX)
    json_object(value.attributes, "filter.attributes", limits.ATTRIBUTES_BYTES_MAX)
    count(len(value.attributes), "filter.attributes", limits.FILTER_VALUES_MAX)
    count(len(value.comparisons), "filter.comparisons", limits.COMPARISONS_MAX)
    for item in value.comparisons:
        comparison(item)
    names(value.namespace_prefix, "filter.namespace_prefix")


def recall(value: RecallQuery, dimension: int) -> NDArray[np.float32] | None:
    """Check the query of a Recall on a collection of this dimension; return its unit vector."""
    named(value.agent_id, "agent_id")
    optional_text(value.text, "text", limits.QUERY_BYTES_MAX)
    if not value.vector and shows_nothing(value.text):
        raise InvalidArgument(
            "MISSING_FIELD", field="text", got="neither text nor vector", allowed="at least one"
        )
    if value.mode is RecallMode.LEXICAL and not value.text:
        raise InvalidArgument(
            "MISSING_FIELD", field="text", got="empty", allowed="a text in lexical mode"
        )
    number(value.k, "k", 1, limits.RECALL_K_MAX)
    number(value.min_relevance, "min_relevance", 0.0, 1.0)
    given = vector(value.vector, "vector", dimension) if value.vector else None
    if value.diversity is not None:
        number(value.diversity.mmr_lambda, "diversity.mmr_lambda", 0.0, 1.0)
        for name in ("kind", "state_kind", "life_stage", "thread"):
            field = f"{name}_share_max"
            number(getattr(value.diversity, field), f"diversity.{field}", 0.0, 1.0)
    where(value.filter)
    return given
