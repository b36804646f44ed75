"""Identities: who may call, proved by what, with which grants and limits; and their JSON form."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from totonoe_core.base import limits, names
from totonoe_core.base.errors import InvalidArgument
from totonoe_server.access.errors import SettingError
from totonoe_server.access.grants import Grant, checked_pattern, parse_grant
from totonoe_server.access.tokens import SECRET_BYTES

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]*")
_NAME_CHARS_MAX = 64


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of an identity on the collections of one pattern, together; `None`: no bound.

    Attributes
    ----------
    writes_per_s, reads_per_s : float or None
        Calls, and items of RememberMany, a second. A second's worth may come at once.
    calls_at_once, streams_at_once : int or None
        Calls that run at the same time.
    memories, bytes : int or None
        Of each of the collections: memories of every status, size of the database file. At the
        bound nothing is added.
    """

    writes_per_s: float | None = None
    reads_per_s: float | None = None
    calls_at_once: int | None = None
    streams_at_once: int | None = None
    memories: int | None = None
    bytes: int | None = None

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            whole = "float" not in str(item.type)
            if value is None:
                continue
            if (
                isinstance(value, bool)
                or not isinstance(value, int if whole else (int, float))
                or not math.isfinite(value)
                or value <= 0
            ):
                kind = "a whole number" if whole else "a number"
                raise SettingError(
                    f"{item.name}: got {value!r}, allowed: {kind} above 0 "
                    "(`totonoe tokens revoke` ends all calls of an identity)"
                )


@dataclass(frozen=True, slots=True)
class Key:
    """A token of an identity: its SHA-256, and when it stops to count (microseconds; 0: never)."""

    digest: bytes
    expires_us: int = 0


def _check_name(value: str, field: str) -> None:
    try:
        names.check(value, field)
    except InvalidArgument as error:
        got, allowed = error.details["got"], error.details["allowed"]
        raise SettingError(f"{field}: got {got}, allowed: {allowed}") from None


@dataclass(frozen=True, slots=True)
class Identity:
    """Somebody who may call.

    Attributes
    ----------
    name : str
        Name in lists and logs, unique in the file.
    agent_id : str
        The one agent that it speaks as.
    grants : tuple of Grant
    subject : str
        Common name of the client certificate that proves it; empty: none does.
    keys : tuple of Key
        Tokens that prove it.
    limits : mapping of str to Limits
        By pattern of collections.
    created_us, expires_us, revoked_us : int
        Microseconds since 1970; 0: never.
    """

    name: str
    agent_id: str
    grants: tuple[Grant, ...]
    subject: str = ""
    keys: tuple[Key, ...] = ()
    limits: Mapping[str, Limits] = field(default_factory=dict)
    created_us: int = 0
    expires_us: int = 0
    revoked_us: int = 0

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name) or len(self.name) > _NAME_CHARS_MAX:
            raise SettingError(
                f"name: got {self.name!r}, allowed: 1 to {_NAME_CHARS_MAX} of letters, digits, "
                "`_`, `.`, `@`, `-`, beginning with a letter or digit"
            )
        if not 0 < len(self.agent_id.encode()) <= limits.NAME_BYTES_MAX:
            raise SettingError(f"agent: allowed: 1 to {limits.NAME_BYTES_MAX} bytes")
        _check_name(self.agent_id, "agent")
        if not 0 < len(self.grants) <= limits.GRANTS_PER_IDENTITY_MAX:
            raise SettingError(
                f"grant: got {len(self.grants)}, allowed: 1 to {limits.GRANTS_PER_IDENTITY_MAX}"
            )
        if not (self.subject or self.keys or self.revoked_us):
            raise SettingError("name: an identity needs a token or the subject of a certificate")
        if self.subject:
            _check_name(self.subject, "subject")
        if len(self.limits) > limits.GRANTS_PER_IDENTITY_MAX:
            raise SettingError(
                f"limits: got {len(self.limits)} patterns, "
                f"allowed: {limits.GRANTS_PER_IDENTITY_MAX}"
            )

    @property
    def end_us(self) -> int:
        """When its last proof ends, in microseconds since 1970; 0: never.

        A token that another one replaced ends earlier, and that is no news.
        """
        keys_us = [key.expires_us for key in self.keys]
        last_us = max(keys_us) if keys_us and all(keys_us) else 0
        return min((us for us in (self.expires_us, last_us) if us), default=0)


def identity_to_json(identity: Identity) -> dict[str, Any]:
    """Convert an identity to its form in the file. It holds no token, only digests."""
    return {
        "name": identity.name,
        "agent": identity.agent_id,
        "grants": [str(grant) for grant in identity.grants],
        "subject": identity.subject,
        "keys": [{"sha256": k.digest.hex(), "expires_us": k.expires_us} for k in identity.keys],
        "limits": {
            pattern: {name: value for name, value in asdict(bounds).items() if value is not None}
            for pattern, bounds in identity.limits.items()
        },
        "created_us": identity.created_us,
        "expires_us": identity.expires_us,
        "revoked_us": identity.revoked_us,
    }


def identity_from_json(value: Mapping[str, Any]) -> Identity:
    """Make an identity of its form in the file.

    Raises
    ------
    ValueError, TypeError, KeyError, AttributeError
        It has another form; a `SettingError` says which value is wrong.
    """
    known = {"name", "agent", "grants", "subject", "keys", "limits"}
    times = ("created_us", "expires_us", "revoked_us")
    if not isinstance(value, dict):
        raise TypeError("an identity is an object")
    if set(value) != known | set(times):
        raise SettingError(f"fields: got {sorted(value)}, allowed: {sorted(known | set(times))}")
    keys = tuple(Key(bytes.fromhex(k["sha256"]), int(k["expires_us"])) for k in value["keys"])
    if any(len(key.digest) != SECRET_BYTES for key in keys):
        raise SettingError("sha256: allowed: 64 hex digits")
    return Identity(
        name=str(value["name"]),
        agent_id=str(value["agent"]),
        grants=tuple(parse_grant(text) for text in value["grants"]),
        subject=str(value["subject"]),
        keys=keys,
        limits={
            checked_pattern(pattern): Limits(**bounds)
            for pattern, bounds in value["limits"].items()
        },
        created_us=int(value[times[0]]),
        expires_us=int(value[times[1]]),
        revoked_us=int(value[times[2]]),
    )
