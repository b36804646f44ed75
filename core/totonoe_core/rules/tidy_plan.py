"""A plan for tidying: its updates, their checks, and the JSON form of docs/sources.md, 004. Pure.

    {"state_updates": [{"op": "upsert|close|mark_done", "state_id": "mem_...", "kind":
      "fact|relation|task|summary|long_mood_state", "body_text": "...", "payload": {},
      "confidence": 0.8, "salience": 0.5, "valid_from_ts": "2026-01-10T14:06:59+09:00",
      "valid_to_ts": null, "last_confirmed_at": null, "reason": "...",
      "evidence_event_ids": ["mem_..."], "expected_revision": 7}]}

Ids are those of memories; an empty, absent or null `state_id`, or 0, is a new state. Another whole
number, as that page has them, is an external id: 123 is `ext:123`. An absent, null or
empty value leaves the stored one. Errors name the field by its path, `state_updates[0].kind`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Never

from totonoe_core.base import limits
from totonoe_core.base.errors import InvalidArgument
from totonoe_core.domain.commands import Command
from totonoe_core.domain.records import StateKind, TimeRange
from totonoe_core.domain.tidy import ApplyTidyPlan, TidyOp, TidyUpdate, TidyUpsert
from totonoe_core.rules import validate

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


_KINDS = {
    "fact": StateKind.FACT,
    "relation": StateKind.RELATION,
    "task": StateKind.TASK,
    "summary": StateKind.SUMMARY,
    "long_mood_state": StateKind.LONG_MOOD,
}
_KIND_NAMES = {kind: name for name, kind in _KINDS.items()}


# -- JSON


def loads(text: str) -> tuple[TidyUpdate, ...]:
    """Read the updates of a plan from its JSON form.

    Raises
    ------
    InvalidArgument
        LIMIT_EXCEEDED, MALFORMED_MESSAGE (no JSON, a value of another type, an unknown name),
        MISSING_FIELD, UNKNOWN_ENUM, BAD_TIME. `check` checks the values.
    """
    size = len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))
    if size > limits.TIDY_PLAN_BYTES_MAX:
        allowed = f"at most {limits.TIDY_PLAN_BYTES_MAX}"
        raise InvalidArgument(
            "LIMIT_EXCEEDED", field="plan_json", got=f"{size} bytes", allowed=allowed
        )
    try:
        data = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise _malformed("plan_json", "text that is no JSON", "a JSON object") from None
    items = _object(data, "plan_json", {"state_updates"}).get("state_updates")
    if not isinstance(items, list):
        raise _malformed("state_updates", _type(items), "a list")
    validate.count(len(items), "state_updates", limits.TIDY_UPDATES_MAX, 1)
    return tuple(_update(item, f"state_updates[{at}]") for at, item in enumerate(items))


def dumps(updates: Iterable[TidyUpdate]) -> str:
    """Return the JSON form of updates, with every name of it; times in UTC."""
    items = [
        {
            "op": update.op.value,
            "state_id": update.state_id,
            "kind": _KIND_NAMES.get(update.kind),
            "body_text": update.body_text,
            "payload": update.payload,
            "confidence": update.confidence,
            "salience": update.salience,
            "valid_from_ts": _text_of(update.valid_from_us),
            "valid_to_ts": _text_of(update.valid_to_us),
            "last_confirmed_at": _text_of(update.last_confirmed_us),
            "reason": update.reason,
            "evidence_event_ids": list(update.evidence_ids),
            "expected_revision": update.expected_revision,
        }
        for update in updates
    ]
    return json.dumps({"state_updates": items}, ensure_ascii=False)


_NAMES = (
    "op",
    "state_id",
    "kind",
    "body_text",
    "payload",
    "confidence",
    "salience",
    "valid_from_ts",
    "valid_to_ts",
    "last_confirmed_at",
    "reason",
    "evidence_event_ids",
    "expected_revision",
)


def _update(data: Any, field: str) -> TidyUpdate:
    values = _object(data, field, _NAMES)

    def value(name: str, read: Callable[[Any, str], Any], absent: Any) -> Any:
        found = values.get(name)
        return absent if found is None else read(found, f"{field}.{name}")

    op = value("op", _text, None)
    if op is None:
        raise InvalidArgument(
            "MISSING_FIELD", field=f"{field}.op", got="nothing", allowed=", ".join(TidyOp)
        )
    if op not in tuple(TidyOp):
        raise _unknown(f"{field}.op", op, tuple(TidyOp))
    kind = value("kind", _text, "")
    if kind and kind not in _KINDS:
        raise _unknown(f"{field}.kind", kind, tuple(_KINDS))
    return TidyUpdate(
        op=TidyOp(op),
        state_id=value("state_id", _id, ""),
        kind=_KINDS.get(kind, StateKind.NONE),
        body_text=value("body_text", _text, ""),
        payload=value("payload", _object, {}),
        confidence=value("confidence", _number, None),
        salience=value("salience", _number, None),
        valid_from_us=value("valid_from_ts", _time, None),
        valid_to_us=value("valid_to_ts", _time, None),
        last_confirmed_us=value("last_confirmed_at", _time, None),
        reason=value("reason", _text, ""),
        evidence_ids=value("evidence_event_ids", _ids, ()),
        expected_revision=value("expected_revision", _whole, 0),
    )


def _object(value: Any, field: str, known: Iterable[str] | None = None) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _malformed(field, _type(value), "an object")
    unknown = sorted(set(value) - set(known)) if known is not None else []
    if known is not None and unknown:
        raise _malformed(f"{field}.{unknown[0][:64]}", "an unknown name", ", ".join(sorted(known)))
    return value


def _text(value: Any, field: str) -> str:
    if not isinstance(value, str):
        raise _malformed(field, _type(value), "a string")
    return value


def _id(value: Any, field: str) -> str:
    """Return the id that a string or a whole number names."""
    if isinstance(value, int) and not isinstance(value, bool):
        return f"ext:{value}" if value else ""
    if not isinstance(value, str):
        raise _malformed(field, _type(value), "a string, or a whole number for an external id")
    return value


def _ids(value: Any, field: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise _malformed(field, _type(value), "a list of ids")
    return tuple(_id(item, f"{field}[{at}]") for at, item in enumerate(value))


def _number(value: Any, field: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _malformed(field, _type(value), "a number")
    try:
        return float(value)
    except OverflowError:
        return math.inf  # out of every range, so that `check` reports it


def _whole(value: Any, field: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _malformed(field, _type(value), "a whole number")
    return value


def _time(value: Any, field: str) -> int:
    """Parse ISO 8601 with a zone to UTC microseconds."""
    text = _text(value, field)
    try:
        moment = datetime.fromisoformat(text)
        if "T" in text.upper() and moment.utcoffset() is not None:
            return (moment - _EPOCH) // _MICROSECOND
    except (ValueError, OverflowError):
        pass
    raise InvalidArgument(
        "BAD_TIME",
        field=field,
        got=repr(text[:64]),
        allowed="ISO 8601 with a zone, such as 2026-01-10T14:06:59+09:00",
    )


def _text_of(time_us: int | None) -> str | None:
    return None if time_us is None else (_EPOCH + time_us * _MICROSECOND).isoformat()


def _no_number(name: str) -> Never:
    raise ValueError(name)


def _type(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a truth value"}
    return "nothing" if value is None else names.get(type(value), "a number")


def _malformed(field: str, got: str, allowed: str) -> InvalidArgument:
    return InvalidArgument("MALFORMED_MESSAGE", field=field, got=got, allowed=allowed)


def _unknown(field: str, got: str, allowed: Iterable[str]) -> InvalidArgument:
    return InvalidArgument(
        "UNKNOWN_ENUM", field=field, got=repr(got[:64]), allowed=", ".join(allowed)
    )


# -- commands and checks


def commands(
    agent_id: str, updates: Sequence[TidyUpdate], only: Sequence[int], reason: str
) -> tuple[Command, ...]:
    """Return the commands that carry out a plan, or some of its updates, as one operation.

    Raises `InvalidArgument` for places that the plan does not have.
    """
    named = chosen(updates, only)
    upserts = [update for _, update in named if update.op is TidyOp.UPSERT]
    head = ApplyTidyPlan(agent_id, named, reason)
    return (head, *(TidyUpsert(agent_id, update) for update in upserts))


def chosen(
    updates: Sequence[TidyUpdate], only: Sequence[int]
) -> tuple[tuple[int, TidyUpdate], ...]:
    """Return the requested updates with their places, in the order of the plan.

    Raises
    ------
    InvalidArgument
        LIMIT_EXCEEDED or MISSING_FIELD for their number, BAD_PLAN for a place that is not there.
    """
    validate.count(len(updates), "state_updates", limits.TIDY_UPDATES_MAX, 1)
    for at in only:
        if not 0 <= at < len(updates):
            raise InvalidArgument(
                "BAD_PLAN", field="only", got=at, allowed=f"0 to {len(updates) - 1}"
            )
    wanted = set(only) or range(len(updates))
    return tuple((at, update) for at, update in enumerate(updates) if at in wanted)


def check(indexed: Sequence[tuple[int, TidyUpdate]], now_us: int) -> None:
    """Raise `InvalidArgument` for errors that can be seen in the updates alone."""
    seen: set[str] = set()
    for at, update in indexed:
        _check(update, f"state_updates[{at}]", now_us)
        if update.state_id and update.state_id in seen:
            raise InvalidArgument(
                "BAD_PLAN",
                field=f"state_updates[{at}].state_id",
                got=f"{update.state_id} again",
                allowed="each state once",
            )
        seen.add(update.state_id)


def _check(update: TidyUpdate, field: str, now_us: int) -> None:
    inserts = update.op is TidyOp.UPSERT and not update.state_id
    if update.state_id:
        validate.memory_id(update.state_id, f"{field}.state_id")
    elif not inserts:
        _missing(f"{field}.state_id", "the id of a state")
    if inserts and update.kind is StateKind.NONE:
        _missing(f"{field}.kind", ", ".join(_KINDS))
    if update.body_text or inserts:
        validate.text(update.body_text, f"{field}.body_text")
    elif update.vector:
        _missing(f"{field}.body_text", "a text with a vector")
    validate.json_object(update.payload, f"{field}.payload", limits.PAYLOAD_BYTES_MAX)
    for name in ("confidence", "salience"):
        value = getattr(update, name)
        if value is not None:
            validate.number(value, f"{field}.{name}", 0.0, 1.0)
    validate.time_range(TimeRange(update.valid_from_us, update.valid_to_us), f"{field}.valid_to_ts")
    latest_us = now_us + limits.CLOCK_SKEW_ALLOWED_S * 1_000_000
    if update.op is not TidyOp.UPSERT and (update.valid_to_us or 0) > latest_us:
        raise InvalidArgument(
            "BAD_TIME",
            field=f"{field}.valid_to_ts",
            got="a time in the future",
            allowed="up to now",
        )
    validate.optional_text(update.reason, f"{field}.reason", limits.REASON_BYTES_MAX)
    path = f"{field}.evidence_event_ids"
    validate.count(len(update.evidence_ids), path, limits.EVIDENCE_IDS_PER_MEMORY_MAX)
    for evidence_id in update.evidence_ids:
        validate.evidence_id(evidence_id, path)
    validate.number(update.expected_revision, f"{field}.expected_revision", 0, 2**62)
    if update.expected_revision and not update.state_id:
        _missing(f"{field}.state_id", "the id of the state that has this revision")


def _missing(field: str, allowed: str) -> Never:
    raise InvalidArgument("MISSING_FIELD", field=field, got="nothing", allowed=allowed)
