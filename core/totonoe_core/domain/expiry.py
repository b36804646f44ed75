"""Expiry of memories: from an instant on a memory counts as forgotten, without a write.

The instant is a pure function of the stored fields and the last access, so that a read that puts it
off costs no more than any access. The writer forgets expired memories soon after (`engine/commands/
expire.py`); until then every read treats them as forgotten.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from totonoe_core.domain.records import Fields, Memory, Status

GONE = frozenset({Status.FORGOTTEN, Status.PURGED})


@dataclass(frozen=True, slots=True)
class Expire:
    """Forget memories that have expired. Only the daemon sends it.

    Those that are unknown, forgotten, or were put off meanwhile are left out.
    """

    agent_id: str
    ids: tuple[str, ...]
    reason: str = "expired"


@dataclass(frozen=True, slots=True)
class Expired:
    """Ids of the memories that an `Expire` forgot."""

    ids: tuple[str, ...]


def expires_us(fields: Fields, last_access_us: int | None) -> int | None:
    """Return the instant from which a memory counts as forgotten; `None`: never."""
    if fields.expires_us is None or fields.expires_after_s is None or last_access_us is None:
        return fields.expires_us
    return max(fields.expires_us, last_access_us + after_us(fields))


def after_us(fields: Fields) -> int:
    """Return how long a read puts the instant off; 0: it does not."""
    return 0 if fields.expires_after_s is None else max(1, round(fields.expires_after_s * 1e6))


def has_expired(memory: Memory, last_access_us: int | None, now_us: int) -> bool:
    """Return whether a memory counts as forgotten, though its row says otherwise."""
    if memory.fields.expires_us is None or memory.status in GONE:
        return False
    instant = expires_us(memory.fields, last_access_us)
    return instant is not None and instant <= now_us


def as_seen(memory: Memory, last_access_us: int | None, now_us: int) -> Memory:
    """Return a memory with the status that it has at a time."""
    if has_expired(memory, last_access_us, now_us):
        return replace(memory, status=Status.FORGOTTEN)
    return memory


def begun(fields: Fields, now_us: int) -> Fields:
    """Return fields of a write with their instant: `expires_after_s` after it if none is given."""
    if fields.expires_us is None and fields.expires_after_s is not None:
        return replace(fields, expires_us=now_us + after_us(fields))
    return fields


def lasting(fields: Fields) -> Fields:
    """Return fields without expiry."""
    return replace(fields, expires_us=None, expires_after_s=None)


def updated(
    before: Fields,
    after: Fields,
    mask: frozenset[str],
    last_access_us: int | None,
    now_us: int,
) -> Fields:
    """Return the fields of an Update, with the instant that its mask leads to.

    Clearing the instant clears both fields. A time after reads alone counts from the Update; if it
    is cleared alone, the instant stays where reads have put it.
    """
    if "expires_us" in mask and after.expires_us is not None:
        return after
    if "expires_after_s" in mask and after.expires_after_s is not None:
        return begun(replace(after, expires_us=None), now_us)
    if "expires_us" in mask:
        return lasting(after)
    if "expires_after_s" in mask:
        return replace(after, expires_us=expires_us(before, last_access_us))
    return after
